//! What people may ask about consents and say to them, whichever way they come.

use std::net::IpAddr;
use std::sync::Arc;

use mainstay_core::{Caller, Clock, Error, Kind, Scope, iso8601, new_id};
use mainstay_store::{AuditEntry, Consent, ConsentState, Decision, DecisionOutcome, Phase, Store, StoreError};

use crate::policy::consent::ConsentPolicy;
use crate::{Engine, shown};

/// Where a consent is looked at and decided; its id follows.
pub const CONSENT_PATH: &str = "/api/mcp/consent/";

/// The longest reason, in characters.
const REASON: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Pending,
    Approved,
    Denied,
    Used,
    Expired,
}

impl Standing {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Used => "used",
            Self::Expired => "expired",
        }
    }

    fn of(state: ConsentState, expired: bool) -> Self {
        match state {
            ConsentState::Pending | ConsentState::Approved if expired => Self::Expired,
            ConsentState::Pending => Self::Pending,
            ConsentState::Approved => Self::Approved,
            ConsentState::Denied => Self::Denied,
            ConsentState::Used => Self::Used,
        }
    }
}

/// A consent as people see it.
#[derive(Debug, Clone)]
pub struct ConsentView {
    pub id: String,
    pub standing: Standing,
    pub operation: String,
    /// What will happen, in words.
    pub summary: String,
    pub arguments: String,
    pub requested_by: String,
    pub decided_by: Option<String>,
    pub reason: Option<String>,
    /// In ISO 8601.
    pub expires_at: String,
}

/// Why a consent is not shown or not decided.
#[derive(Debug, thiserror::Error)]
pub enum ConsentRefusal {
    #[error("There is no consent request {0:?}, or it is not yours to see.")]
    NotFound(String),
    #[error("This request has been decided already: it is {}.", .0.as_str())]
    Decided(Standing),
    #[error("This request has expired. Make the call again; that makes a new one.")]
    Expired,
    #[error("{0}")]
    NotAllowed(String),
    #[error("{0}")]
    Failed(#[from] Error),
}

impl ConsentRefusal {
    /// The same in the words that are recorded.
    pub fn error(&self) -> Error {
        match self {
            Self::NotFound(_) => Error::not_found(self.to_string()),
            Self::Decided(_) | Self::Expired => Error::new(Kind::Conflict, self.to_string()),
            Self::NotAllowed(_) => Error::denied(self.to_string()),
            Self::Failed(error) => error.clone(),
        }
    }
}

impl From<StoreError> for ConsentRefusal {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

/// Whoever decides, as the record names them.
#[derive(Debug, Clone)]
pub struct Decider {
    pub name: String,
    pub ip: Option<IpAddr>,
}

/// The consents of a store. Who may decide is not asked here: a person with the store in their hands may.
pub struct ConsentDesk {
    store: Store,
    clock: Arc<dyn Clock>,
}

impl ConsentDesk {
    pub fn new(store: Store, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Those that wait for a decision, oldest first.
    pub async fn pending(&self, limit: u32) -> Result<Vec<ConsentView>, Error> {
        let found = self.store.consents().pending(self.clock.now_ms(), limit).await?;
        Ok(found.into_iter().map(|consent| self.view(consent)).collect())
    }

    async fn find(&self, id: &str) -> Result<Consent, ConsentRefusal> {
        // No id of ours is long or has anything but letters and digits in it; whatever else is asked for is not there.
        let sound = id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let found = if sound { self.store.consents().find(id).await? } else { None };
        found.ok_or_else(|| ConsentRefusal::NotFound(id.to_owned()))
    }

    fn view(&self, consent: Consent) -> ConsentView {
        let expired = consent.expires_ms <= self.clock.now_ms();
        ConsentView {
            standing: Standing::of(consent.state, expired),
            id: consent.id,
            operation: consent.binding.target,
            summary: consent.summary,
            arguments: consent.arguments,
            requested_by: consent.binding.principal,
            decided_by: consent.decided_by,
            reason: consent.reason,
            expires_at: iso8601(consent.expires_ms),
        }
    }

    /// Decides, once. That it was tried is on record before it is, and what came of it before anybody is told.
    pub async fn decide(
        &self,
        id: &str,
        by: &Decider,
        approve: bool,
        reason: Option<&str>,
    ) -> Result<ConsentView, ConsentRefusal> {
        let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
        if reason.is_some_and(|reason| reason.chars().count() > REASON) {
            return Err(Error::field("reason", format!("A reason has at most {REASON} characters.")).into());
        }
        let reason = reason.map(shown::plain);
        let consent = self.find(id).await?;
        let now_ms = self.clock.now_ms();
        let entry = |phase, outcome| AuditEntry {
            phase,
            outcome,
            ..about(&consent, &by.name, by.ip, new_id(), self.clock.now_ms())
        };
        let began = entry(Phase::Began, String::new());
        let request_id = began.request_id.clone();
        self.store.audit().append(began).await?;
        let ruling = Decision { id: id.to_owned(), by: by.name.clone(), approve, reason: reason.clone(), now_ms };
        let decision = self.store.consents().decide(ruling).await?;
        let outcome = outcome(&decision, approve, reason.as_deref());
        self.store.audit().append(AuditEntry { request_id, ..entry(Phase::Ended, outcome) }).await?;
        match decision {
            DecisionOutcome::Recorded => self.find(id).await.map(|consent| self.view(consent)),
            DecisionOutcome::AlreadyDecided(state) => Err(ConsentRefusal::Decided(Standing::of(state, false))),
            DecisionOutcome::Expired => Err(ConsentRefusal::Expired),
            DecisionOutcome::NotFound => Err(ConsentRefusal::NotFound(id.to_owned())),
        }
    }
}

fn outcome(decision: &DecisionOutcome, approve: bool, reason: Option<&str>) -> String {
    let word = match decision {
        DecisionOutcome::Recorded if approve => "approved",
        DecisionOutcome::Recorded => "denied",
        DecisionOutcome::AlreadyDecided(_) => return "conflict".into(),
        DecisionOutcome::Expired => return "expired".into(),
        DecisionOutcome::NotFound => return "not_found".into(),
    };
    reason.map_or(word.to_owned(), |reason| format!("{word}: {reason}"))
}

/// A row about a consent: bound to the call it is for by the digest of the arguments.
pub(crate) fn about(
    consent: &Consent,
    principal: &str,
    ip: Option<IpAddr>,
    request_id: String,
    at_ms: i64,
) -> AuditEntry {
    AuditEntry {
        at_ms,
        phase: Phase::Ended,
        request_id,
        principal: principal.to_owned(),
        session: None,
        ip: ip.map(|ip| ip.to_string()),
        target: format!("consent/{}", consent.id),
        effect: "writes".into(),
        args_digest: consent.binding.args_digest.clone(),
        outcome: String::new(),
        duration_us: 0,
    }
}

impl Engine {
    /// A consent, if this caller may see it: the one who asked, and those who may decide.
    pub async fn find_consent(&self, caller: &Caller, id: &str) -> Result<ConsentView, ConsentRefusal> {
        let desk = self.consent_desk();
        let consent = desk.find(id).await?;
        if !may_see(caller, &consent) {
            return Err(ConsentRefusal::NotFound(id.to_owned()));
        }
        Ok(self.named(desk.view(consent)))
    }

    /// Why this caller may not decide on it; nothing if they may.
    pub fn bars_from_deciding(&self, caller: &Caller, consent: &ConsentView) -> Option<String> {
        self.consent().may_decide(caller, &consent.requested_by).err()
    }

    /// Fails if this caller may not decide on it by a program, although they may on its page.
    pub async fn admit_unseen_decision(&self, caller: &Caller, id: &str) -> Result<(), ConsentRefusal> {
        let consent = self.consent_desk().find(id).await?;
        ConsentPolicy::may_decide_unseen(caller, &consent.binding.principal).map_err(ConsentRefusal::NotAllowed)
    }

    pub async fn decide_consent(
        &self,
        caller: &Caller,
        id: &str,
        approve: bool,
        reason: Option<&str>,
    ) -> Result<ConsentView, ConsentRefusal> {
        let consent = self.find_consent(caller, id).await?;
        self.consent().may_decide(caller, &consent.requested_by).map_err(ConsentRefusal::NotAllowed)?;
        let by = Decider { name: caller.principal.to_string(), ip: caller.ip };
        Ok(self.named(self.consent_desk().decide(id, &by, approve, reason).await?))
    }

    pub(crate) fn consent_desk(&self) -> ConsentDesk {
        ConsentDesk::new(self.store().clone(), self.0.clock.clone())
    }

    /// Under the name people know the tool by.
    fn named(&self, mut view: ConsentView) -> ConsentView {
        if let Some(tool) = self.registry().tool(&view.operation) {
            shown::tool_name(tool.info()).clone_into(&mut view.operation);
        }
        view
    }
}

fn may_see(caller: &Caller, consent: &Consent) -> bool {
    caller.principal.is_local()
        || caller.scopes.allows(Scope::Consent)
        || caller.principal.as_str() == consent.binding.principal
}
