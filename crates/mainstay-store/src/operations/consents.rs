//! A person's approval of one particular call.
//!
//! A request is pending until it is decided or expires; an approval is used up by the call it was for. Every step is a
//! conditional update, so that of two replicas that act at once one succeeds.

use crate::database::Database;
use crate::sql::{Row, params};
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsentState {
    Pending,
    Approved,
    Denied,
    /// Approved, and the one call it was for has been made.
    Used,
}

impl ConsentState {
    const ALL: [Self; 4] = [Self::Pending, Self::Approved, Self::Denied, Self::Used];

    /// As it is stored.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Used => "used",
        }
    }
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

/// The columns of a consent, in the order [`read_consent`] reads them.
macro_rules! select_consent {
    ($rest:literal) => {
        concat!(
            "SELECT id, principal, target, args_digest, policy, summary, state, decided_by, created_ms, expires_ms, \
             arguments, reason FROM consent ",
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
        let transaction = self.0.writer.transaction(consent, |db, new| {
            Box::pin(async move {
                let Binding { principal, target, args_digest, policy } = &new.binding;
                let like = params![principal, target, args_digest, policy, new.now_ms];
                if let Some(pending) = db.one(PENDING_LIKE, &like, read_consent).await? {
                    return Ok(Some(ConsentRequest::Pending(Box::new(pending))));
                }
                let pending = db.one(COUNT_PENDING, &params![principal, new.now_ms], |row| row.get::<i64>(0)).await?;
                if pending >= Some(i64::from(MOST_PENDING)) {
                    return Ok(Some(ConsentRequest::TooMany { limit: MOST_PENDING }));
                }
                let NewConsent { id, binding: _, summary, arguments, now_ms, expires_ms } = new;
                let values =
                    params![id, principal, target, args_digest, policy, summary, now_ms, expires_ms, arguments];
                if db.execute(INSERT, &values).await? == 0 {
                    return Ok(None);
                }
                let stored = db.one(FIND, &params![id], read_consent).await?;
                Ok(stored.map(|stored| ConsentRequest::Pending(Box::new(stored))))
            })
        });
        transaction.await?.ok_or_else(|| StoreError::failed("a consent request with this id exists already"))
    }

    /// Also one that has expired, until it is swept.
    pub async fn find(self, id: &str) -> Result<Option<Consent>> {
        self.0.readers.one(FIND, &params![id], read_consent).await
    }

    /// Those that wait for a decision, oldest first.
    pub async fn pending(self, now_ms: i64, limit: u32) -> Result<Vec<Consent>> {
        self.0.readers.all(PENDING, &params![now_ms, limit], read_consent).await
    }

    /// Records a decision, if the request is still pending and has not expired.
    pub async fn decide(self, decision: Decision) -> Result<DecisionOutcome> {
        let transaction = self.0.writer.transaction(decision, |db, decision| {
            Box::pin(async move {
                let Decision { id, by, approve, reason, now_ms } = decision;
                let state = if *approve { ConsentState::Approved } else { ConsentState::Denied };
                let reason = reason.as_deref().unwrap_or_default();
                if db.execute(DECIDE, &params![id, state.as_str(), by, reason, now_ms]).await? > 0 {
                    return Ok(DecisionOutcome::Recorded);
                }
                Ok(match db.one(FIND, &params![id], read_consent).await?.map(|consent| consent.state) {
                    None => DecisionOutcome::NotFound,
                    Some(ConsentState::Pending) => DecisionOutcome::Expired,
                    Some(state @ (ConsentState::Approved | ConsentState::Denied | ConsentState::Used)) => {
                        DecisionOutcome::AlreadyDecided(state)
                    }
                })
            })
        });
        transaction.await
    }

    /// Uses up an approval with exactly this binding, in one step: of two calls at once, one gets it.
    pub async fn use_approval(self, binding: Binding, now_ms: i64) -> Result<Approval> {
        let transaction = self.0.writer.transaction((binding, now_ms), |db, (binding, now_ms)| {
            Box::pin(async move {
                let Binding { principal, target, args_digest, policy } = binding;
                let values = params![principal, target, args_digest, policy, now_ms];
                if let Some(id) = db.one(USE_APPROVAL, &values, |row| row.get(0)).await? {
                    return Ok(Approval::Approved { id });
                }
                let Some(consent) = db.one(PENDING_OR_DENIED, &values, read_consent).await? else {
                    return Ok(Approval::None);
                };
                let Consent { id, state, expires_ms, .. } = consent;
                Ok(match state {
                    ConsentState::Pending => Approval::Pending { id, expires_ms },
                    ConsentState::Denied => Approval::Denied { id },
                    ConsentState::Approved | ConsentState::Used => Approval::None,
                })
            })
        });
        transaction.await
    }
}

fn read_consent(row: &Row) -> Result<Consent> {
    let state: String = row.get(6)?;
    let known = ConsentState::ALL.into_iter().find(|known| known.as_str() == state);
    Ok(Consent {
        id: row.get(0)?,
        binding: Binding { principal: row.get(1)?, target: row.get(2)?, args_digest: row.get(3)?, policy: row.get(4)? },
        summary: row.get(5)?,
        state: known.ok_or_else(|| StoreError::failed(format!("a consent has the unknown state {state:?}")))?,
        decided_by: row.get(7)?,
        created_ms: row.get(8)?,
        expires_ms: row.get(9)?,
        arguments: row.get(10)?,
        reason: row.get(11)?,
    })
}
