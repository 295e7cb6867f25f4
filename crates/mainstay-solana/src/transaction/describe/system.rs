//! Instructions of the System program: a number of four bytes, then the fields in little-endian order. The comments have the
//! program's own names and the order of the accounts.

use mainstay_core::quoted;

use super::super::amounts::format_sol;
use super::super::wire::Reader;
use super::instruction::{Accounts, Explained, program_text};

/// The number of the instruction that uses a durable nonce. As the first one of a message it makes the message valid for as
/// long as the nonce stays the same.
pub(super) const ADVANCE_NONCE: u32 = 4;

pub(super) fn explain(data: &mut Reader<'_>, accounts: &Accounts) -> Option<Explained> {
    let name = |place| accounts.name(place);
    Some(match data.u32("instruction").ok()? {
        // CreateAccount: payer, new account.
        0 => {
            let lamports = sol(data)?;
            let space = data.u64("space").ok()?;
            let owner = program(data)?;
            Explained::new(format!(
                "create account {} of {space} bytes with {lamports} from {}, owned by {owner}",
                name(1),
                name(0)
            ))
        }
        // Assign: account.
        1 => assign(&name(0), &program(data)?),
        // Transfer: sender, receiver.
        2 => Explained::new(format!("transfer {} from {} to {}", sol(data)?, name(0), name(1))),
        // CreateAccountWithSeed: payer, new account, base.
        3 => {
            let base = data.address("base").ok()?;
            let seed = seed(data)?;
            let lamports = sol(data)?;
            let space = data.u64("space").ok()?;
            let owner = program(data)?;
            Explained::new(format!(
                "create account {} of {space} bytes with {lamports} from {}, derived from {base} and seed {seed}, owned by \
                 {owner}",
                name(1),
                name(0)
            ))
        }
        // AdvanceNonceAccount: nonce account, recent blockhashes, authority.
        ADVANCE_NONCE => Explained::new(format!("advance nonce account {}, authority {}", name(0), name(2))),
        // WithdrawNonceAccount: nonce account, receiver, recent blockhashes, rent, authority.
        5 => {
            let text =
                format!("withdraw {} from nonce account {} to {}, authority {}", sol(data)?, name(0), name(1), name(4));
            Explained::new(text)
        }
        // InitializeNonceAccount: nonce account, recent blockhashes, rent.
        6 => Explained::new(format!(
            "initialize nonce account {}, authority {}",
            name(0),
            data.address("authority").ok()?
        )),
        // AuthorizeNonceAccount: nonce account, authority.
        7 => {
            let new = data.address("authority").ok()?;
            let text = format!("change the authority of nonce account {} to {new}, authority {}", name(0), name(1));
            Explained::new(text).warn(format!("changes the authority of nonce account {} to {new}", name(0)))
        }
        // Allocate: account.
        8 => Explained::new(format!("allocate {} bytes for account {}", data.u64("space").ok()?, name(0))),
        // AllocateWithSeed: account, base.
        9 => {
            let base = data.address("base").ok()?;
            let seed = seed(data)?;
            let space = data.u64("space").ok()?;
            let owner = program(data)?;
            let text = format!(
                "allocate {space} bytes for account {}, derived from {base} and seed {seed}, and assign it to {owner}",
                name(0)
            );
            Explained::new(text).warn(assignment_warning(&name(0), &owner))
        }
        // AssignWithSeed: account, base.
        10 => {
            let base = data.address("base").ok()?;
            let seed = seed(data)?;
            let owner = program(data)?;
            let text = format!("assign account {}, derived from {base} and seed {seed}, to program {owner}", name(0));
            Explained::new(text).warn(assignment_warning(&name(0), &owner))
        }
        // TransferWithSeed: sender, base, receiver.
        11 => {
            let lamports = sol(data)?;
            let seed = seed(data)?;
            let owner = program(data)?;
            Explained::new(format!(
                "transfer {lamports} from {} to {}, where the sender is derived from {}, seed {seed} and program {owner}",
                name(0),
                name(2),
                name(1)
            ))
        }
        // UpgradeNonceAccount: nonce account.
        12 => Explained::new(format!("upgrade nonce account {}", name(0))),
        // CreateAccountAllowPrefund: new account, payer. The account may hold lamports already; without a payer nothing is added.
        13 => {
            let lamports = sol(data)?;
            let space = data.u64("space").ok()?;
            let owner = program(data)?;
            let text = format!("create account {} of {space} bytes, owned by {owner}, adding {lamports}", name(0));
            Explained::new(if accounts.len() > 1 { format!("{text} from {}", name(1)) } else { text })
        }
        _ => return None,
    })
}

fn assign(account: &str, owner: &str) -> Explained {
    Explained::new(format!("assign account {account} to program {owner}")).warn(assignment_warning(account, owner))
}

/// A program controls the lamports of the accounts it owns.
fn assignment_warning(account: &str, owner: &str) -> String {
    format!("gives the program {owner} control over account {account} and its lamports")
}

fn sol(data: &mut Reader<'_>) -> Option<String> {
    let lamports = data.u64("lamports").ok()?;
    Some(format!("{} SOL", format_sol(lamports.into())))
}

fn program(data: &mut Reader<'_>) -> Option<String> {
    Some(program_text(&data.address("program").ok()?))
}

/// A text after its length of eight bytes.
fn seed(data: &mut Reader<'_>) -> Option<String> {
    let length = usize::try_from(data.u64("seed").ok()?).ok()?;
    Some(quoted(std::str::from_utf8(data.take(length, "seed").ok()?).ok()?))
}
