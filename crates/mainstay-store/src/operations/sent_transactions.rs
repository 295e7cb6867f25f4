//! Transactions of a blockchain that were signed here, recorded before they are sent.
//!
//! After a crash a recorded transaction is sent again as it is or given up, but never signed anew while it could still
//! be executed, so nothing is paid twice. What it spends is reserved together with it, so that transactions sent at
//! once, by any replica, stay within a limit together.

use mainstay_core::string_enum;

use super::Database;
use crate::sql::{Columns, Conn, FromColumns as _, from_columns, params};
use crate::writer::transaction;
use crate::{Result, StoreError};

string_enum! {
    /// What is known of a recorded transaction.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum SendState {
        /// Recorded; it may have been sent.
        Pending = "pending",
        Confirmed = "confirmed",
        /// Executed for good, with or without an error.
        Finalized = "finalized",
        /// Its blockhash can no longer be used, and the chain does not have it.
        Expired = "expired",
        /// A node refused it before it went anywhere.
        Rejected = "rejected",
    }
}

impl SendState {
    /// Whether nothing more can become of the transaction.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Finalized | Self::Expired | Self::Rejected)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentTransaction {
    pub network: String,
    pub signature: String,
    pub principal: String,
    /// The idempotency key of the call, if it had one.
    pub key: Option<String>,
    pub args_digest: String,
    pub message_hash: String,
    /// The signed transaction in base64, to send it again.
    pub transaction: String,
    /// The last block height at which its blockhash can be used.
    pub last_valid_height: u64,
    pub state: SendState,
    pub slot: Option<u64>,
    /// The error of the chain or of a node, as JSON text.
    pub error: Option<String>,
    pub created_ms: i64,
    /// When it may be deleted, if its state is final.
    pub expires_ms: i64,
}

/// What a transaction takes from an account, at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spend {
    pub account: String,
    /// `SOL`, counted in lamports, or the address of a token's mint.
    pub asset: String,
    pub amount: u64,
    /// The most that this account may spend of the asset until spends expire.
    pub limit: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSend {
    /// Stored as pending, without slot and error: it has not been sent yet.
    pub transaction: SentTransaction,
    /// Several for one account and asset add up, under the lowest of their limits.
    pub spends: Vec<Spend>,
    /// Until when the spends count against the limits.
    pub spends_expire_ms: i64,
}

/// What became of a new transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// It is recorded, durably, and what it spends is reserved: send it.
    New,
    /// This one has the same signature, or the same principal and key. Nothing was stored.
    Known(Box<SentTransaction>),
    /// Nothing was stored. `spent` is what is spent or reserved already.
    OverLimit { asset: String, limit: u64, spent: u64 },
}

/// What is known now of a recorded transaction; replaces what was known before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendUpdate {
    pub network: String,
    pub signature: String,
    pub state: SendState,
    pub slot: Option<u64>,
    pub error: Option<String>,
    /// The lamports charged for a transaction that failed on the chain, if they are known.
    pub fee: Option<u64>,
}

/// The columns of a sent transaction, in the order in which they are read.
macro_rules! select_sent {
    ($rest:literal) => {
        concat!(
            "SELECT network, signature, principal, key, args_digest, message_hash, encoded, last_valid_height, \
             state, slot, error, created_ms, expires_ms FROM sent_transaction ",
            $rest
        )
    };
}

const FIND: &str = select_sent!("WHERE network = $1 AND signature = $2");
const FIND_KEY: &str = select_sent!("WHERE principal = $1 AND key = $2");
const UNFINISHED: &str =
    select_sent!("WHERE state IN ('pending', 'confirmed') ORDER BY created_ms, network, signature LIMIT $1");
const INSERT: &str = "INSERT INTO sent_transaction (network, signature, principal, key, args_digest, message_hash, \
     encoded, last_valid_height, state, created_ms, expires_ms) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'pending', $9, $10)";
const UPDATE: &str = "UPDATE sent_transaction SET state = $3, slot = $4, error = $5 \
     WHERE network = $1 AND signature = $2 AND state IN ('pending', 'confirmed')";
const DELETE_REJECTED: &str = "DELETE FROM sent_transaction WHERE state = 'rejected' \
     AND ((network = $1 AND signature = $2) OR (principal = $3 AND key = $4))";

// In halves of 32 bits, because the sum of amounts may exceed BIGINT: spends that one replica's clock takes for expired
// still count by the clock of another. The transaction itself is left out: it may have been recorded, finished and
// deleted before, and the chain executes it only once.
const SPENT: &str = "SELECT CAST(COALESCE(SUM(amount >> 32), 0) AS BIGINT), \
     CAST(COALESCE(SUM(amount & 4294967295), 0) AS BIGINT) FROM sent_transaction_spend \
     WHERE network = $1 AND account = $2 AND asset = $3 AND expires_ms > $4 AND signature <> $5";
const INSERT_SPEND: &str = "INSERT INTO sent_transaction_spend \
     (network, signature, account, asset, amount, expires_ms) VALUES ($1, $2, $3, $4, $5, $6)";
const RELEASE: &str = "DELETE FROM sent_transaction_spend WHERE network = $1 AND signature = $2";
const RELEASE_TOKENS: &str =
    "DELETE FROM sent_transaction_spend WHERE network = $1 AND signature = $2 AND asset <> 'SOL'";
const RELEASE_ALL_BUT_FEE: &str = "UPDATE sent_transaction_spend SET amount = $3 \
     WHERE network = $1 AND signature = $2 AND asset = 'SOL' AND amount > $3";

/// The sent transactions of all principals.
#[derive(Clone, Copy)]
pub struct SentTransactions<'s>(pub(crate) &'s Database);

impl SentTransactions<'_> {
    /// Records a transaction and reserves what it spends, unless it is known or exceeds a limit. A rejected one with
    /// the same signature, or the same principal and key, is replaced: it went nowhere. A known one with the same
    /// signature may be that of another principal.
    pub async fn record(self, new: NewSend) -> Result<Recorded> {
        let spends = add_up(&new.spends);
        transaction!(self.0.writer, (new, spends), |db, (new, spends)| {
            if let Some(known) = find_known(db, &new.transaction).await? {
                return Ok(Recorded::Known(Box::new(known)));
            }
            for spend in spends {
                let spent = spent(db, &new.transaction, spend).await?;
                if exceeds(spent, spend) {
                    let (asset, limit) = (spend.asset.clone(), spend.limit);
                    return Ok(Recorded::OverLimit { asset, limit, spent: u64::try_from(spent).unwrap_or(u64::MAX) });
                }
            }
            insert(db, &new.transaction).await?;
            let SentTransaction { network, signature, .. } = &new.transaction;
            for Spend { account, asset, amount, .. } in spends {
                let values = params![network, signature, account, asset, to_column(*amount), new.spends_expire_ms];
                db.execute(INSERT_SPEND, &values).await?;
            }
            Ok(Recorded::New)
        })
    }

    pub async fn find(self, network: &str, signature: &str) -> Result<Option<SentTransaction>> {
        self.0.readers.one(FIND, &params![network, signature]).await
    }

    /// The one that was recorded with an idempotency key.
    pub async fn find_key(self, principal: &str, key: &str) -> Result<Option<SentTransaction>> {
        self.0.readers.one(FIND_KEY, &params![principal, key]).await
    }

    /// Stores what is known now; resolves with whether it was stored. A final state is never changed.
    ///
    /// What an expired or rejected transaction would have spent is released. One that failed on the chain has spent
    /// only its fee: everything else is released, or only tokens if the fee is not known.
    pub async fn update(self, update: SendUpdate) -> Result<bool> {
        transaction!(self.0.writer, update, |db, update| {
            let SendUpdate { network, signature, state, slot, error, fee } = update;
            let values = params![network, signature, state.as_str(), slot.map(to_column), error];
            if db.execute(UPDATE, &values).await? == 0 {
                return Ok(false);
            }
            match state {
                SendState::Expired | SendState::Rejected => {
                    db.execute(RELEASE, &params![network, signature]).await?;
                }
                SendState::Finalized if error.is_some() => {
                    db.execute(RELEASE_TOKENS, &params![network, signature]).await?;
                    if let Some(fee) = fee {
                        db.execute(RELEASE_ALL_BUT_FEE, &params![network, signature, to_column(*fee)]).await?;
                    }
                }
                SendState::Pending | SendState::Confirmed | SendState::Finalized => {}
            }
            Ok(true)
        })
    }

    /// What an account has spent or reserved of an asset.
    pub async fn spent(self, network: &str, account: &str, asset: &str, now_ms: i64) -> Result<u64> {
        let sums: Option<(i64, i64)> = self.0.readers.one(SPENT, &params![network, account, asset, now_ms, ""]).await?;
        Ok(u64::try_from(total(sums)).unwrap_or(u64::MAX))
    }

    /// Those whose state is not final, oldest first.
    pub async fn unfinished(self, limit: u32) -> Result<Vec<SentTransaction>> {
        self.0.readers.all(UNFINISHED, &params![limit]).await
    }
}

/// One spend for each account and asset, in the order in which they first occur.
fn add_up(spends: &[Spend]) -> Vec<Spend> {
    let mut totals: Vec<Spend> = Vec::with_capacity(spends.len());
    for spend in spends {
        match totals.iter_mut().find(|total| (&total.account, &total.asset) == (&spend.account, &spend.asset)) {
            Some(total) => {
                total.amount = total.amount.saturating_add(spend.amount);
                total.limit = total.limit.min(spend.limit);
            }
            None => totals.push(spend.clone()),
        }
    }
    totals
}

/// Also if the sum is more than a column can hold, whatever the limit is.
fn exceeds(spent: u128, spend: &Spend) -> bool {
    spent + u128::from(spend.amount) > u128::from(spend.limit.min(i64::MAX.unsigned_abs()))
}

async fn find_known(db: &mut Conn<'_>, new: &SentTransaction) -> Result<Option<SentTransaction>> {
    let is_known = |found: &SentTransaction| found.state != SendState::Rejected;
    let same = db.one(FIND, &params![new.network, new.signature]).await?.filter(is_known);
    let (None, Some(key)) = (&same, &new.key) else { return Ok(same) };
    Ok(db.one(FIND_KEY, &params![new.principal, key]).await?.filter(is_known))
}

/// What the account has spent or reserved of the asset, without this transaction.
async fn spent(db: &mut Conn<'_>, new: &SentTransaction, spend: &Spend) -> Result<u128> {
    let values = params![new.network, spend.account, spend.asset, new.created_ms, new.signature];
    Ok(total(db.one(SPENT, &values).await?))
}

/// The sum from its halves.
fn total(sums: Option<(i64, i64)>) -> u128 {
    let (high, low) = sums.unwrap_or_default();
    (u128::from(high.unsigned_abs()) << 32) + u128::from(low.unsigned_abs())
}

/// Replaces a rejected one, and what was spent by the same transaction if that is still counted.
async fn insert(db: &mut Conn<'_>, new: &SentTransaction) -> Result<()> {
    let SentTransaction { network, signature, principal, key, .. } = new;
    db.execute(DELETE_REJECTED, &params![network, signature, principal, key]).await?;
    db.execute(RELEASE, &params![network, signature]).await?;
    let values = params![
        network,
        signature,
        principal,
        key,
        new.args_digest,
        new.message_hash,
        new.transaction,
        to_column(new.last_valid_height),
        new.created_ms,
        new.expires_ms
    ];
    db.execute(INSERT, &values).await.map(drop)
}

/// No chain has slots, heights or fees beyond BIGINT; a node that reports one must not make the write fail. Amounts are
/// checked before.
fn to_column(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

from_columns!(SentTransaction {
    network,
    signature,
    principal,
    key,
    args_digest,
    message_hash,
    transaction,
    last_valid_height: read_number,
    state: read_state,
    slot: read_slot,
    error,
    created_ms,
    expires_ms
});

fn read_number(columns: &mut Columns<'_>) -> Result<u64> {
    i64::read(columns).map(i64::unsigned_abs)
}

fn read_slot(columns: &mut Columns<'_>) -> Result<Option<u64>> {
    Option::<i64>::read(columns).map(|slot| slot.map(i64::unsigned_abs))
}

fn read_state(columns: &mut Columns<'_>) -> Result<SendState> {
    let name = String::read(columns)?;
    let state = SendState::ALL.into_iter().find(|state| state.as_str() == name);
    state.ok_or_else(|| StoreError::failed(format!("a sent transaction has no known state: {name}")))
}
