//! A person's approval of one particular call.
//!
//! A request is pending until it is decided or expires; an approval is used up by the call it was for. Every step is a
//! conditional update, so that of two replicas that act at once one succeeds.

use serde::Deserialize;

use super::Database;
use crate::sql::{Columns, FromColumns as _, from_columns, params};
use crate::writer::transaction;
use crate::{Result, StoreError};

/// What an approval is good for: this caller, this tool, these arguments, under these rules. Nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    pub principal: String,
    pub target: String,
    pub args_digest: String,
    pub policy: String,
}

/// A request for consent.
#[derive(Debug, Clone)]
pub struct NewConsent {
    pub id: String,
    pub binding: Binding,
    /// What will happen, in words for the person who decides.
    pub summary: String,
    /// The arguments as that person sees them.
    pub arguments: String,
    pub now_ms: i64,
    pub expires_ms: i64,
}

/// Stored under the names of the variants in snake case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConsentState {
    Pending,
    Approved,
    Denied,
    /// Approved, and the one call it was for has been made.
    Used,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    pub id: String,
    pub binding: Binding,
    pub summary: String,
    pub arguments: String,
    pub state: ConsentState,
    pub decided_by: Option<String>,
    /// The reason that was given with the decision.
    pub reason: Option<String>,
    pub created_ms: i64,
    pub expires_ms: i64,
}

/// What became of a new request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConsentRequest {
    /// It is pending, or the one that was pending with the same binding is.
    Pending(Box<Consent>),
    /// This principal has as many pending requests as it may have; this one was not stored.
    TooMany { limit: u32 },
}

/// What a person decides about a request.
#[derive(Debug, Clone)]
pub struct Decision {
    pub id: String,
    pub by: String,
    pub approve: bool,
    pub reason: Option<String>,
    pub now_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecisionOutcome {
    Recorded,
    /// Another decision was first; a decision is never changed.
    AlreadyDecided(ConsentState),
    Expired,
    NotFound,
}

/// Whether a call has been approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approval {
    /// It was approved, and the approval is used up now, durably.
    Approved {
        id: String,
    },
    /// A request with this binding is pending: use it instead of making a second one.
    Pending {
        id: String,
        expires_ms: i64,
    },
    Denied {
        id: String,
    },
    /// There is no request, or it was used up or has expired.
    None,
}

/// Pending requests of one principal: more than a person can look through are no help.
const MOST_PENDING: u32 = 50;

/// The columns of a consent, in the order in which they are read.
macro_rules! select_consent {
    ($rest:literal) => {
        concat!(
            "SELECT id, principal, target, args_digest, policy, summary, arguments, state, decided_by, reason, \
             created_ms, expires_ms FROM consent ",
            $rest
        )
    };
}

const FIND: &str = select_consent!("WHERE id = $1");
const PENDING: &str = select_consent!("WHERE state = 'pending' AND expires_ms > $1 ORDER BY created_ms, id LIMIT $2");
const PENDING_LIKE: &str = select_consent!(
    "WHERE principal = $1 AND target = $2 AND args_digest = $3 AND policy = $4 \
     AND state = 'pending' AND expires_ms > $5 ORDER BY created_ms LIMIT 1"
);
// Where both exist, the pending request came after the denied one.
const PENDING_OR_DENIED: &str = select_consent!(
    "WHERE principal = $1 AND target = $2 AND args_digest = $3 AND policy = $4 \
     AND state IN ('pending', 'denied') AND expires_ms > $5 ORDER BY state DESC, created_ms DESC LIMIT 1"
);
const COUNT_PENDING: &str =
    "SELECT COUNT(*) FROM consent WHERE principal = $1 AND state = 'pending' AND expires_ms > $2";
const INSERT: &str = "INSERT INTO consent \
     (id, principal, target, args_digest, policy, summary, state, created_ms, expires_ms, arguments) \
     VALUES ($1, $2, $3, $4, $5, $6, 'pending', $7, $8, $9) ON CONFLICT DO NOTHING";
const DECIDE: &str = "UPDATE consent SET state = $2, decided_by = $3, reason = NULLIF($4, '') \
     WHERE id = $1 AND state = 'pending' AND expires_ms > $5";
const USE_APPROVAL: &str = "UPDATE consent SET state = 'used' WHERE id = \
     (SELECT id FROM consent WHERE principal = $1 AND target = $2 AND args_digest = $3 AND policy = $4 \
     AND state = 'approved' AND expires_ms > $5 ORDER BY created_ms LIMIT 1) RETURNING id";

/// The consent requests of all principals.
#[derive(Clone, Copy)]
pub struct Consents<'s>(pub(crate) &'s Database);

impl Consents<'_> {
    /// Stores a request, or returns the pending one with the same binding.
    pub async fn request(self, consent: NewConsent) -> Result<ConsentRequest> {
        let outcome = transaction!(self.0.writer, consent, |db, new| {
            let Binding { principal, target, args_digest, policy } = &new.binding;
            let like = params![principal, target, args_digest, policy, new.now_ms];
            if let Some(pending) = db.one(PENDING_LIKE, &like).await? {
                return Ok(Some(ConsentRequest::Pending(Box::new(pending))));
            }
            let pending: Option<i64> = db.one(COUNT_PENDING, &params![principal, new.now_ms]).await?;
            if pending >= Some(i64::from(MOST_PENDING)) {
                return Ok(Some(ConsentRequest::TooMany { limit: MOST_PENDING }));
            }
            let NewConsent { id, binding: _, summary, arguments, now_ms, expires_ms } = new;
            let values = params![id, principal, target, args_digest, policy, summary, now_ms, expires_ms, arguments];
            if db.execute(INSERT, &values).await? == 0 {
                return Ok(None);
            }
            let stored = db.one(FIND, &params![id]).await?;
            Ok(stored.map(|stored| ConsentRequest::Pending(Box::new(stored))))
        })?;
        outcome.ok_or_else(|| StoreError::failed("a consent request with this id exists already"))
    }

    /// Also one that has expired, until it is swept.
    pub async fn find(self, id: &str) -> Result<Option<Consent>> {
        self.0.readers.one(FIND, &params![id]).await
    }

    /// Those that wait for a decision, oldest first.
    pub async fn pending(self, now_ms: i64, limit: u32) -> Result<Vec<Consent>> {
        self.0.readers.all(PENDING, &params![now_ms, limit]).await
    }

    /// Records a decision, if the request is still pending and has not expired.
    pub async fn decide(self, decision: Decision) -> Result<DecisionOutcome> {
        transaction!(self.0.writer, decision, |db, decision| {
            let Decision { id, by, approve, reason, now_ms } = decision;
            let state = if *approve { "approved" } else { "denied" };
            let reason = reason.as_deref().unwrap_or_default();
            if db.execute(DECIDE, &params![id, state, by, reason, now_ms]).await? > 0 {
                return Ok(DecisionOutcome::Recorded);
            }
            Ok(match db.one::<Consent>(FIND, &params![id]).await?.map(|consent| consent.state) {
                None => DecisionOutcome::NotFound,
                Some(ConsentState::Pending) => DecisionOutcome::Expired,
                Some(state @ (ConsentState::Approved | ConsentState::Denied | ConsentState::Used)) => {
                    DecisionOutcome::AlreadyDecided(state)
                }
            })
        })
    }

    /// Uses up an approval with exactly this binding, in one step: of two calls at once, one gets it.
    pub async fn use_approval(self, binding: Binding, now_ms: i64) -> Result<Approval> {
        transaction!(self.0.writer, (binding, now_ms), |db, (binding, now_ms)| {
            let Binding { principal, target, args_digest, policy } = binding;
            let values = params![principal, target, args_digest, policy, now_ms];
            if let Some(id) = db.one(USE_APPROVAL, &values).await? {
                return Ok(Approval::Approved { id });
            }
            let Some(consent) = db.one(PENDING_OR_DENIED, &values).await? else {
                return Ok(Approval::None);
            };
            let Consent { id, state, expires_ms, .. } = consent;
            Ok(match state {
                ConsentState::Pending => Approval::Pending { id, expires_ms },
                ConsentState::Denied => Approval::Denied { id },
                ConsentState::Approved | ConsentState::Used => Approval::None,
            })
        })
    }
}

from_columns!(Binding { principal, target, args_digest, policy });
from_columns!(Consent {
    id,
    binding,
    summary,
    arguments,
    state: read_state,
    decided_by,
    reason,
    created_ms,
    expires_ms
});

fn read_state(columns: &mut Columns<'_>) -> Result<ConsentState> {
    let state = serde_json::Value::String(String::read(columns)?);
    serde_json::from_value(state).map_err(|error| StoreError::failed(format!("a consent has no known state: {error}")))
}
