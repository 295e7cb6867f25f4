//! Consent requests in the store: listing, finding, deciding, and how people see them.

use std::sync::Arc;

use mainstay_core::{Caller, Clock, Error, Kind, Reason, Result, escape_invisible, iso8601, new_id};
use mainstay_store::{AuditEntry, Consent, ConsentState, Decision, DecisionOutcome, Phase, Store};
use serde::Serialize;

/// The reason is shown on the page and recorded in the audit.
const MAX_REASON_CHARS: usize = 500;

/// A consent request for display. Programs read it as JSON, so the names of the fields stay.
#[derive(Debug, Clone, Serialize)]
pub struct ConsentView {
    #[serde(rename = "consent_id")]
    pub id: String,
    pub status: ConsentState,
    /// The tool's listed name.
    pub operation: String,
    /// One sentence: who wants to run what.
    pub summary: String,
    /// Who asks, by name. The name of a client is what it calls itself.
    pub requester: String,
    /// What the call would do, as its dry run said when the request was made.
    pub preview: Option<String>,
    /// The call's arguments as indented JSON, with secrets replaced.
    pub arguments: String,
    /// The principal.
    pub requested_by: String,
    pub decided_by: Option<String>,
    pub reason: Option<String>,
    /// In ISO 8601. Until then the request can be decided, an approval can be used, and a denial holds.
    pub expires_at: String,
    /// Zero once it has expired.
    pub expires_in_seconds: i64,
}

/// The consent requests of a store. Permission to decide is not checked here but in `policy.rs`: `mainstay consent`
/// works on the store directly, and whoever can open the store may decide.
pub struct ConsentStore {
    pub(super) store: Store,
    pub(super) clock: Arc<dyn Clock>,
}

impl ConsentStore {
    pub fn new(store: Store, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Pending requests, oldest first.
    pub async fn pending(&self, limit: u32) -> Result<Vec<ConsentView>> {
        let found = self.store.consents().pending(self.clock.now_ms(), limit).await?;
        Ok(found.into_iter().map(|consent| self.view(consent)).collect())
    }

    /// The stored request, whoever asks.
    pub(super) async fn find(&self, id: &str) -> Result<Consent> {
        // Ids come from URLs. Those of another form than ours cannot exist, and are not passed to the store.
        let is_valid = id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let found = if is_valid { self.store.consents().find(id).await? } else { None };
        found.ok_or_else(|| not_found(id))
    }

    /// The request for display.
    pub(super) fn view(&self, consent: Consent) -> ConsentView {
        let now_ms = self.clock.now_ms();
        ConsentView {
            status: consent.state_at(now_ms),
            expires_in_seconds: (consent.expires_ms - now_ms).max(0) / 1000,
            requester: consent.requester,
            preview: consent.preview,
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

    /// Decides a request. The first decision counts; later ones fail. The attempt is in the audit before the state
    /// changes, and the outcome before this returns.
    pub async fn decide(&self, id: &str, by: &Caller, approve: bool, reason: Option<&str>) -> Result<ConsentView> {
        let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
        if reason.is_some_and(|reason| reason.chars().count() > MAX_REASON_CHARS) {
            return Err(Error::field("reason", format!("A reason has at most {MAX_REASON_CHARS} characters.")));
        }
        let reason = reason.map(escape_invisible);
        let consent = self.find(id).await?;
        let now_ms = self.clock.now_ms();
        let request_id: Arc<str> = new_id().into();
        let entry = |phase, outcome| AuditEntry {
            phase,
            outcome,
            ..audit_entry(&consent, by, request_id.clone(), self.clock.now_ms())
        };
        self.store.audit().append(entry(Phase::Began, "".into())).await?;
        let by = by.principal.to_string();
        let decision = Decision { id: id.to_owned(), by, approve, reason: reason.clone(), now_ms };
        let decided = self.store.consents().decide(decision).await?;
        self.store.audit().append(entry(Phase::Ended, outcome(&decided, approve, reason.as_deref()).into())).await?;
        match decided {
            DecisionOutcome::Recorded => self.find(id).await.map(|consent| self.view(consent)),
            DecisionOutcome::Rejected(ConsentState::Expired) => {
                let line = "This request has expired. Make the call again to get a new one.";
                Err(Error::new(Kind::Conflict, line).with_reason(Reason::ConsentExpired))
            }
            DecisionOutcome::Rejected(state) => {
                let line = format!("This request is already decided: it is {}.", state.as_str());
                Err(Error::new(Kind::Conflict, line))
            }
            DecisionOutcome::NotFound => Err(not_found(id)),
        }
    }
}

/// Also the answer to a caller who may not see it: whether it exists is not revealed.
pub(super) fn not_found(id: &str) -> Error {
    Error::not_found(format!("There is no consent request {id:?}, or you may not see it."))
}

/// The outcome in the audit.
fn outcome(decided: &DecisionOutcome, approve: bool, reason: Option<&str>) -> String {
    let word = match decided {
        DecisionOutcome::Recorded if approve => "approved",
        DecisionOutcome::Recorded => "denied",
        DecisionOutcome::Rejected(ConsentState::Expired) => return "expired".into(),
        DecisionOutcome::Rejected(_) => return "conflict".into(),
        DecisionOutcome::NotFound => return "not_found".into(),
    };
    reason.map_or(word.to_owned(), |reason| format!("{word}: {reason}"))
}

/// An audit row about a consent request. The digest of the arguments ties it to the rows of the call.
pub(super) fn audit_entry(consent: &Consent, by: &Caller, request_id: Arc<str>, at_ms: i64) -> AuditEntry {
    AuditEntry {
        at_ms,
        phase: Phase::Ended,
        request_id,
        principal: by.principal.to_shared(),
        session: None,
        ip: by.ip.map(|ip| ip.to_string()),
        target: format!("consent/{}", consent.id).into(),
        effect: "writes".into(),
        args_digest: consent.binding.args_digest.clone(),
        outcome: "".into(),
        duration_us: 0,
    }
}
