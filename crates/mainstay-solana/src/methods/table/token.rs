//! SPL tokens: their mints and token accounts.
//!
//! These are accounts too, and kept for a slot like them.

use super::shared::{ACCOUNTS, COMMITMENT_ONLY, MINT, PUBKEY, READ};
use crate::methods::{CacheClass, Group, Kind, Method, Param};

const TOKEN: Method = Method { group: Group::Token, cache: CacheClass::Slot, has_context: true, ..READ };

/// The second parameter on the wire: `{"mint": …}` or `{"programId": …}`. There are two token programs, and the node
/// searches one of them.
const MINT_OR_PROGRAM: Param = Param::required(
    "mint or programId",
    Kind::OneOf(&[
        Param::optional("mint", Kind::Address).about("Either this or programId"),
        Param::optional("programId", Kind::Address).about("Token program"),
    ]),
);

pub(super) static METHODS: [Method; 5] = [
    Method {
        name: "getTokenAccountsByOwner",
        about: "Token accounts of an owner, of one mint or of one token program, with their amounts.",
        core: true,
        positional: &[Param::required("owner", Kind::Address), MINT_OR_PROGRAM],
        options: ACCOUNTS,
        ..TOKEN
    },
    Method {
        name: "getTokenAccountsByDelegate",
        about: "Token accounts whose approved delegate is this address, of one mint or of one token program.",
        positional: &[Param::required("delegate", Kind::Address), MINT_OR_PROGRAM],
        options: ACCOUNTS,
        ..TOKEN
    },
    Method {
        name: "getTokenAccountBalance",
        about: "Amount and decimals of one token account. For a wallet use getTokenAccountsByOwner.",
        core: true,
        positional: &[PUBKEY],
        options: COMMITMENT_ONLY,
        ..TOKEN
    },
    Method {
        name: "getTokenSupply",
        about: "Total supply and decimals of the token of a mint.",
        core: true,
        positional: &[MINT],
        options: COMMITMENT_ONLY,
        ..TOKEN
    },
    Method {
        name: "getTokenLargestAccounts",
        about: "The 20 largest token accounts of one mint.",
        positional: &[MINT],
        options: COMMITMENT_ONLY,
        ..TOKEN
    },
];
