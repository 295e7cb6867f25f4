//! Instructions of the two token programs: a number of one byte, then the fields in little-endian order. The comments have
//! the programs' own names and the order of the accounts; signers of a multisig come after these.

use super::super::amounts::{format_amount, format_sol};
use super::super::wire::Reader;
use super::instruction::{Accounts, Explained};

/// Several instructions in one.
const BATCH: u8 = 255;

pub(super) fn explain(data: &mut Reader<'_>, accounts: &mut Accounts) -> Option<Explained> {
    match data.peek()? {
        BATCH => explain_batch(data, accounts),
        _ => explain_one(data, accounts),
    }
}

fn explain_one(data: &mut Reader<'_>, accounts: &Accounts) -> Option<Explained> {
    let name = |place| accounts.name(place);
    Some(match data.byte("instruction").ok()? {
        // InitializeMint and InitializeMint2: mint.
        0 | 20 => {
            let decimals = data.byte("decimals").ok()?;
            let authority = data.address("mint authority").ok()?;
            let freeze = optional_address(data)?;
            Explained::new(format!(
                "initialize mint {} with {decimals} decimal places, mint authority {authority}, freeze authority {freeze}",
                name(0),
            ))
        }
        // InitializeAccount: account, mint, owner.
        1 => Explained::new(format!("initialize account {} of mint {}, owner {}", name(0), name(1), name(2))),
        // InitializeMultisig and InitializeMultisig2: multisig, then its signers.
        2 | 19 => Explained::new(format!("initialize multisig {} of {} signers", name(0), data.byte("signers").ok()?)),
        // Transfer: source, destination, authority. The amount has no decimal places, as the mint is not given.
        3 => {
            let amount = units(data)?;
            Explained::new(format!("transfer {amount} from {} to {}, authority {}", name(0), name(1), name(2)))
        }
        // Approve: source, delegate, owner.
        4 => approve(&units(data)?, &name(0), &name(1), &name(2)),
        // Revoke: source, owner.
        5 => Explained::new(format!("revoke the delegate of {}, owner {}", name(0), name(1))),
        // SetAuthority: account or mint, current authority.
        6 => set_authority(data, accounts)?,
        // MintTo: mint, account, authority.
        7 => {
            let amount = units(data)?;
            Explained::new(format!("mint {amount} of mint {} to {}, authority {}", name(0), name(1), name(2)))
        }
        // Burn: account, mint, authority.
        8 => burn(&units(data)?, accounts),
        // CloseAccount: account, receiver of its lamports, owner.
        9 => {
            let text = format!("close account {}, its SOL to {}, owner {}", name(0), name(1), name(2));
            Explained::new(text).warn(format!("closes account {}; its SOL goes to {}", name(0), name(1)))
        }
        // FreezeAccount: account, mint, authority.
        10 => {
            let text = format!("freeze account {} of mint {}, authority {}", name(0), name(1), name(2));
            Explained::new(text).warn(format!("freezes account {}: nothing can be moved from it", name(0)))
        }
        // ThawAccount: account, mint, authority.
        11 => Explained::new(format!("thaw account {} of mint {}, authority {}", name(0), name(1), name(2))),
        // TransferChecked: source, mint, destination, authority.
        12 => {
            let amount = checked(data)?;
            Explained::new(format!(
                "transfer {amount} of mint {} from {} to {}, authority {}",
                name(1),
                name(0),
                name(2),
                name(3)
            ))
        }
        // ApproveChecked: source, mint, delegate, owner.
        13 => approve(&format!("{} of mint {}", checked(data)?, name(1)), &name(0), &name(2), &name(3)),
        // MintToChecked: mint, account, authority.
        14 => {
            let amount = checked(data)?;
            Explained::new(format!("mint {amount} of mint {} to {}, authority {}", name(0), name(1), name(2)))
        }
        // BurnChecked: account, mint, authority.
        15 => burn(&checked(data)?, accounts),
        // InitializeAccount2 and InitializeAccount3: account, mint; the owner is in the data.
        16 | 18 => {
            let owner = data.address("owner").ok()?;
            Explained::new(format!("initialize account {} of mint {}, owner {owner}", name(0), name(1)))
        }
        // SyncNative: an account of wrapped SOL.
        17 => Explained::new(format!("set the token amount of {} to the SOL it holds", name(0))),
        // InitializeImmutableOwner: account.
        22 => Explained::new(format!("make the owner of account {} permanent", name(0))),
        // TransferFeeExtension, which has instructions of its own.
        26 => transfer_with_fee(data, accounts)?,
        // WithdrawExcessLamports: source, receiver, authority.
        38 => withdraw("the SOL above the rent", accounts),
        // UnwrapLamports: source, receiver, authority.
        45 => withdraw(&unwrapped(data)?, accounts),
        _ => return None,
    })
}

fn approve(amount: &str, source: &str, delegate: &str, owner: &str) -> Explained {
    Explained::new(format!("approve delegate {delegate} for {amount} from {source}, owner {owner}"))
        .warn(format!("lets {delegate} spend up to {amount} from {source}"))
}

fn burn(amount: &str, accounts: &Accounts) -> Explained {
    let (account, mint, authority) = (accounts.name(0), accounts.name(1), accounts.name(2));
    Explained::new(format!("burn {amount} of mint {mint} from {account}, authority {authority}"))
        .warn(format!("destroys {amount} of mint {mint}"))
}

/// Both move lamports out of a token account to any receiver, which the text names.
fn withdraw(what: &str, accounts: &Accounts) -> Explained {
    let (source, destination, authority) = (accounts.name(0), accounts.name(1), accounts.name(2));
    Explained::new(format!("withdraw {what} from {source} to {destination}, authority {authority}"))
}

/// The way by which an account changes hands without a transfer, so it is always a warning.
fn set_authority(data: &mut Reader<'_>, accounts: &Accounts) -> Option<Explained> {
    let kind = authority_kind(data.byte("authority type").ok()?);
    let new = optional_address(data)?;
    let account = accounts.name(0);
    let text = format!("set {kind} of {account} to {new}, authority {}", accounts.name(1));
    Some(Explained::new(text).warn(format!("changes {kind} of {account} to {new}")))
}

/// The authorities of both programs; those from 4 on belong to extensions of Token-2022.
fn authority_kind(number: u8) -> String {
    let name = match number {
        0 => "mint",
        1 => "freeze",
        2 => return "the owner".to_owned(),
        3 => "close",
        4 => "transfer fee",
        5 => "withheld fee withdrawal",
        6 => "mint close",
        7 => "interest rate",
        8 => return "the permanent delegate".to_owned(),
        9 => "confidential transfer",
        10 => "transfer hook",
        11 => "confidential transfer fee",
        12 => "metadata pointer",
        13 => "group pointer",
        14 => "group member pointer",
        15 => "scaled amount",
        16 => "pause",
        other => return format!("authority number {other}"),
    };
    format!("the {name} authority")
}

/// The second number of the transfer fee extension; the others only configure and collect fees.
const TRANSFER_CHECKED_WITH_FEE: u8 = 1;

fn transfer_with_fee(data: &mut Reader<'_>, accounts: &Accounts) -> Option<Explained> {
    if data.byte("instruction of the extension").ok()? != TRANSFER_CHECKED_WITH_FEE {
        return None;
    }
    let (amount, decimals) = amount_and_decimals(data)?;
    let fee = data.u64("fee").ok()?;
    Some(Explained::new(format!(
        "transfer {} with a fee of {} of mint {} from {} to {}, authority {}",
        format_amount(amount.into(), decimals),
        format_amount(fee.into(), decimals),
        accounts.name(1),
        accounts.name(0),
        accounts.name(2),
        accounts.name(3)
    )))
}

/// Every part has the number of its accounts, the length of its data, and its data; it takes the next of the accounts.
fn explain_batch(data: &mut Reader<'_>, accounts: &mut Accounts) -> Option<Explained> {
    data.byte("instruction").ok()?;
    let mut all = Explained::new(String::new());
    let mut texts = Vec::new();
    while !data.rest().is_empty() {
        let count = usize::from(data.byte("number of accounts").ok()?);
        let length = usize::from(data.byte("length of data").ok()?);
        let mut part = Reader::new(data.take(length, "instruction").ok()?);
        // One part that cannot be read makes the whole batch unreadable; a batch in a batch is refused by the program.
        let explained = explain_one(&mut part, &accounts.split_off_first(count)?)?;
        texts.push(explained.text);
        all.warnings.extend(explained.warnings);
    }
    all.text = format!("batch of {}: {}", texts.len(), texts.join("; "));
    Some(all)
}

/// An amount without decimal places, as these instructions do not have them.
fn units(data: &mut Reader<'_>) -> Option<String> {
    Some(format!("{} units", data.u64("amount").ok()?))
}

/// The fields that all checked instructions begin with.
fn amount_and_decimals(data: &mut Reader<'_>) -> Option<(u64, u8)> {
    Some((data.u64("amount").ok()?, data.byte("decimals").ok()?))
}

fn checked(data: &mut Reader<'_>) -> Option<String> {
    let (amount, decimals) = amount_and_decimals(data)?;
    Some(format_amount(amount.into(), decimals))
}

/// An amount of lamports that may be left out for all.
fn unwrapped(data: &mut Reader<'_>) -> Option<String> {
    match data.byte("option").ok()? {
        0 => Some("all wrapped SOL".to_owned()),
        1 => Some(format!("{} wrapped SOL", format_sol(data.u64("amount").ok()?.into()))),
        _ => None,
    }
}

/// Zero for none, or one and an address; as text.
fn optional_address(data: &mut Reader<'_>) -> Option<String> {
    match data.byte("option").ok()? {
        0 => Some("none".to_owned()),
        1 => Some(data.address("address").ok()?.to_string()),
        _ => None,
    }
}
