//! A person's approval of one particular call.
//!
//! A request is pending until it is decided or expires; an approval is used up by the call it was for. Every step is a
//! conditional update, so that of two replicas that act at once one succeeds.

use mainstay_core::string_enum;
use serde::{Deserialize, Serialize};

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

string_enum! {
    /// Stored, and shown to programs, under these names.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ConsentState {
        Pending = "pending",
        Approved = "approved",
        Denied = "denied",
        /// Approved, and the one call it was for has been made.
        Used = "used",
        /// Never stored: what is pending or approved becomes this when its time is over.
        #[serde(skip_deserializing)]
        Expired = "expired",
    }
}

/// A request for consent, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    pub id: String,
    pub binding: Binding,
    /// What will happen, in words for the person who decides.
    pub summary: String,
    /// Who asks, by name.
    pub requester: String,
    /// What the call would do, if that could be told beforehand.
    pub preview: Option<String>,
    /// The arguments as that person sees them.
    pub arguments: String,
    pub state: ConsentState,
    pub decided_by: Option<String>,
    /// The reason that was given with the decision.
    pub reason: Option<String>,
    pub created_ms: i64,
    pub expires_ms: i64,
}

impl Consent {
    /// The state at this time. Whether something has expired depends on the clock, not on what is stored.
    pub fn state_at(&self, now_ms: i64) -> ConsentState {
        let expires = matches!(self.state, ConsentState::Pending | ConsentState::Approved);
        if expires && self.expires_ms <= now_ms { ConsentState::Expired } else { self.state }
    }
}

/// What became of a new request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConsentRequest {
    /// It is pending, or the one that was pending with the same binding is.
    Pending(Box<Consent>),
    /// This principal has as many pending requests as it may have; this one was not stored.
    TooMany { limit: u32, oldest: Box<Consent> },
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
    /// Another decision was first, or it has expired; a decision is never changed.
    Rejected(ConsentState),
    NotFound,
}

/// Whether a call has been approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approval {
    /// It was approved, and the approval is used up now, durably.
    Approved {
        id: String,
    },
    Denied(Box<Consent>),
    /// There is no request, or it is pending, was used up or has expired.
    None,
}

/// Pending requests of one principal: more than a person can look through are no help.
const MOST_PENDING: u32 = 50;

/// The columns of a consent, in the order in which they are read.
macro_rules! select_consent {
    ($rest:literal) => {
        concat!(
            "SELECT id, principal, target, args_digest, policy, summary, requester, preview, arguments, state, \
             decided_by, reason, created_ms, expires_ms FROM consent ",
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
const OLDEST_PENDING: &str =
    select_consent!("WHERE principal = $1 AND state = 'pending' AND expires_ms > $2 ORDER BY created_ms, id LIMIT 1");
const COUNT_PENDING: &str =
    "SELECT COUNT(*) FROM consent WHERE principal = $1 AND state = 'pending' AND expires_ms > $2";
const INSERT: &str = "INSERT INTO consent \
     (id, principal, target, args_digest, policy, summary, requester, preview, state, created_ms, expires_ms, arguments) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'pending', $9, $10, $11) ON CONFLICT DO NOTHING";
const DECIDE: &str = "UPDATE consent SET state = $2, decided_by = $3, reason = NULLIF($4, '') \
     WHERE id = $1 AND state = 'pending' AND expires_ms > $5";
const USE_APPROVAL: &str = "UPDATE consent SET state = 'used' WHERE id = \
     (SELECT id FROM consent WHERE principal = $1 AND target = $2 AND args_digest = $3 AND policy = $4 \
     AND state = 'approved' AND expires_ms > $5 ORDER BY created_ms LIMIT 1) RETURNING id";

/// The consent requests of all principals.
#[derive(Clone, Copy)]
pub struct Consents<'s>(pub(crate) &'s Database);

impl Consents<'_> {
    /// Stores a pending request, or returns the one that is pending with the same binding.
    pub async fn request(self, consent: Consent) -> Result<ConsentRequest> {
        let outcome = transaction!(self.0.writer, consent, |db, new| {
            let Binding { principal, target, args_digest, policy } = &new.binding;
            let like = params![principal, target, args_digest, policy, new.created_ms];
            if let Some(pending) = db.one(PENDING_LIKE, &like).await? {
                return Ok(Some(ConsentRequest::Pending(Box::new(pending))));
            }
            let pending: Option<i64> = db.one(COUNT_PENDING, &params![principal, new.created_ms]).await?;
            if pending >= Some(i64::from(MOST_PENDING)) {
                let oldest = db.one(OLDEST_PENDING, &params![principal, new.created_ms]).await?;
                return Ok(
                    oldest.map(|oldest| ConsentRequest::TooMany { limit: MOST_PENDING, oldest: Box::new(oldest) })
                );
            }
            let Consent { id, summary, requester, preview, arguments, created_ms, expires_ms, .. } = new;
            let values = params![
                id,
                principal,
                target,
                args_digest,
                policy,
                summary,
                requester,
                preview,
                created_ms,
                expires_ms,
                arguments
            ];
            let stored = db.execute(INSERT, &values).await? > 0;
            Ok(stored.then(|| ConsentRequest::Pending(Box::new(new.clone()))))
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
                Some(ConsentState::Pending) => DecisionOutcome::Rejected(ConsentState::Expired),
                Some(state) => DecisionOutcome::Rejected(state),
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
            let newest: Option<Consent> = db.one(PENDING_OR_DENIED, &values).await?;
            let denied = newest.filter(|consent| consent.state == ConsentState::Denied);
            Ok(denied.map_or(Approval::None, |consent| Approval::Denied(Box::new(consent))))
        })
    }
}

from_columns!(Binding { principal, target, args_digest, policy });
from_columns!(Consent {
    id,
    binding,
    summary,
    requester,
    preview,
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
