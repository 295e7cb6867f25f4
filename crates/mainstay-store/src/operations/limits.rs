//! Counters that all replicas share: how much of a limit is in use.
//!
//! A replica takes a part of the limit at once, a lease, and uses it without asking again. A lease counts in full until it
//! expires, so all replicas together never exceed the limit; what a replica did not use it can give back.

use super::Database;
use crate::sql::params;
use crate::writer::transaction;
use crate::{Result, StoreError};

/// A part of a limit that a replica wants for itself.
#[derive(Debug, Clone)]
pub struct LeaseRequest {
    /// What is counted, such as the calls of one client under one limit.
    pub counter: String,
    /// The most that all replicas may have leased at once.
    pub limit: u32,
    /// How much is wanted. What is granted is at least one and at most an eighth of what is left, so that one replica
    /// does not hold back from the others what it may never use.
    pub wanted: u32,
    /// What is left of a lease before, which is given back first.
    pub unused: Option<(i64, u32)>,
    pub now_ms: i64,
    pub expires_ms: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    Granted {
        id: i64,
        units: u32,
    },
    /// Everything is in use; the next part of it expires at this time.
    Exhausted {
        until_ms: i64,
    },
}

const IN_USE: &str = "SELECT CAST(COALESCE(SUM(units), 0) AS BIGINT), COALESCE(MIN(expires_ms), 0) FROM limit_lease \
     WHERE counter = $1 AND expires_ms > $2 AND units > 0";
const INSERT: &str = "INSERT INTO limit_lease (counter, units, expires_ms) VALUES ($1, $2, $3) RETURNING id";
const GIVE_BACK: &str = "UPDATE limit_lease SET units = units - $2 WHERE id = $1 AND units >= $2";

/// The counters of all replicas.
#[derive(Clone, Copy)]
pub struct Limits<'s>(pub(crate) &'s Database);

impl Limits<'_> {
    /// Takes a part of what is left of a limit. Of several replicas that ask at once, none gets what another has.
    pub async fn lease(self, request: LeaseRequest) -> Result<Lease> {
        let lease = transaction!(self.0.writer, request, |db, request| {
            let LeaseRequest { counter, limit, wanted, unused, now_ms, expires_ms } = request;
            if let Some((id, units)) = unused {
                db.execute(GIVE_BACK, &params![id, units]).await?;
            }
            let (used, until_ms) = db.one::<(i64, i64)>(IN_USE, &params![counter, now_ms]).await?.unwrap_or((0, 0));
            let left = u32::try_from(i64::from(*limit).saturating_sub(used)).unwrap_or(0);
            if left == 0 {
                return Ok(Some(Lease::Exhausted { until_ms }));
            }
            let units = (*wanted).clamp(1, (left / 8).max(1));
            let id: Option<i64> = db.one(INSERT, &params![counter, units, expires_ms]).await?;
            Ok(id.map(|id| Lease::Granted { id, units }))
        })?;
        lease.ok_or_else(|| StoreError::failed("a lease that was written cannot be read"))
    }

    /// Gives back what was not used of a lease, or is used no longer.
    pub async fn give_back(self, id: i64, units: u32) -> Result<()> {
        self.0.writer.change(GIVE_BACK, params![id, units]).await.map(drop)
    }
}
