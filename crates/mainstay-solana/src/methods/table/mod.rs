//! The table: one file per group.
//!
//! Parameters and limits are those of Agave 4.1; a limit that the node enforces is declared, so that a wrong call is refused
//! here, with its reason, and costs no request.

mod account;
mod block;
mod cluster;
mod economics;
mod shared;
mod token;
mod transaction;

use super::Method;

/// Every method. The size is written out: a method that is added or lost changes it.
pub(super) static ALL: [Method; 54] = joined(&[
    &account::METHODS,
    &token::METHODS,
    &transaction::METHODS,
    &block::METHODS,
    &cluster::METHODS,
    &economics::METHODS,
]);

/// The groups one after the other, when compiled. Too few or too many methods do not compile.
const fn joined<const N: usize>(groups: &[&[Method]]) -> [Method; N] {
    let mut all = [shared::READ; N];
    let (mut group, mut count) = (0, 0);
    while group < groups.len() {
        let mut at = 0;
        while at < groups[group].len() {
            all[count] = groups[group][at];
            at += 1;
            count += 1;
        }
        group += 1;
    }
    assert!(count == N, "the size of ALL is not the number of methods");
    all
}
