//! What a call that needs consent does: use an existing approval, or request one and wait for it.

use std::time::Duration;

use mainstay_core::{
    AnswerAction, CancellationToken, Context, Effect, Error, Kind, PlannedChange, Question, Reason, Result,
    escape_invisible, iso8601, new_id, redacted_full,
};
use mainstay_store::{Approval, AuditEntry, Binding, Consent, ConsentState};
use serde_json::{Value, json};

use super::policy::{CONSENT_PATH, ConsentPolicy};
use super::stored::audit_entry;

/// Prefix of the keys of questions that ask for consent.
pub const CONSENT_KEY: &str = "consent-";

/// How often the stored state is read while a person has the page open.
const POLL: Duration = Duration::from_millis(250);

/// The call to approve. An approval is bound to the principal, the target and the digest of the arguments.
pub struct ConsentRequest<'a> {
    pub target: &'a str,
    /// The name people know the target by.
    pub display_name: &'a str,
    pub effect: Effect,
    pub args: &'a Value,
    pub args_digest: &'a str,
    /// What the call would change, if it has been planned. An approval is bound to its state, too.
    pub plan: Option<&'a PlannedChange>,
    /// How long the call may wait for a person.
    pub timeout: Duration,
    /// Cancelled when the server stops.
    pub shutdown: &'a CancellationToken,
}

/// The client's part in asking the person.
enum Prompted {
    /// The client opened the page; the decision will be in the store.
    Page,
    /// The client showed the question itself, and this is the person's answer.
    Answer(AnswerAction),
    /// The client cannot ask, the person did not open the page, or the answer would not count.
    NotAsked,
}

impl ConsentPolicy {
    /// Uses up an approval of exactly this call. Without one, requests it and waits; fails if that does not lead to an
    /// approval in time. `preview` finds out what the call would do, for the person; if it fails, nobody is asked.
    pub async fn obtain(
        &self,
        context: &Context,
        request: &ConsentRequest<'_>,
        preview: impl Future<Output = Result<Option<String>>> + Send,
    ) -> Result<()> {
        let binding = Binding {
            principal: context.caller.principal.to_string(),
            target: request.target.to_owned(),
            args_digest: request.args_digest.to_owned(),
            policy: match request.plan {
                Some(plan) => format!("{} {}", self.rules_version, plan.state),
                None => self.rules_version.clone(),
            },
        };
        if self.use_approval(context, &binding).await? {
            return Ok(());
        }
        let consent = self.file(context, request, binding.clone(), preview.await?).await?;
        if let Prompted::Answer(action) = self.prompt_and_wait(context, &consent, request).await? {
            self.record_answer(context, &consent, action).await?;
        }
        // The answer is not trusted: only the stored state counts, and the first decision wins.
        if self.use_approval(context, &binding).await? { Ok(()) } else { Err(self.required(request, &consent)) }
    }

    /// Whether there was an approval. It is used up by this.
    async fn use_approval(&self, context: &Context, binding: &Binding) -> Result<bool> {
        let consents = self.requests.store.consents();
        match consents.use_approval(binding.clone(), context.clock.now_ms()).await? {
            Approval::Approved { id } => {
                if let Some(consent) = consents.find(&id).await? {
                    self.audit(context, &consent, "used").await?;
                }
                Ok(true)
            }
            Approval::Denied(consent) => Err(denied(*consent)),
            Approval::None => Ok(false),
        }
    }

    /// Stores the request, unless the same one is pending already.
    async fn file(
        &self,
        context: &Context,
        request: &ConsentRequest<'_>,
        binding: Binding,
        preview: Option<String>,
    ) -> Result<Consent> {
        let now_ms = context.clock.now_ms();
        let lifetime = i64::try_from(self.lifetime().as_millis()).unwrap_or(i64::MAX);
        let requester = requester(context);
        let new = Consent {
            id: new_id(),
            binding,
            summary: summary(&requester, request),
            requester,
            preview,
            arguments: redacted_full(request.args)?,
            state: ConsentState::Pending,
            decided_by: None,
            reason: None,
            created_ms: now_ms,
            expires_ms: now_ms.saturating_add(lifetime),
        };
        let id = new.id.clone();
        let consent = match self.requests.store.consents().request(new).await? {
            mainstay_store::ConsentRequest::Pending(consent) => *consent,
            mainstay_store::ConsentRequest::TooMany { limit, oldest } => return Err(self.too_many(limit, *oldest)),
        };
        if consent.id == id {
            self.audit(context, &consent, "asked").await?;
        }
        Ok(consent)
    }

    /// How long a request, and an approval, is valid.
    fn lifetime(&self) -> Duration {
        Duration::from_secs(60 * u64::from(self.settings.minutes))
    }

    /// Asks the person through the client, and waits. A waiting call holds a slot that other calls need, so it waits no
    /// longer than a call may take, and each principal has few that wait; the others make the call again after the
    /// decision.
    async fn prompt_and_wait(
        &self,
        context: &Context,
        consent: &Consent,
        request: &ConsentRequest<'_>,
    ) -> Result<Prompted> {
        let longest = request.timeout.min(self.lifetime());
        let slot = self.take_wait_slot(&context.caller.principal, longest).await?;
        let Some(slot) = slot else { return Ok(Prompted::NotAsked) };
        let prompted = async {
            let prompted = self.prompt(context, consent).await?;
            if matches!(prompted, Prompted::Page) {
                self.wait_for_decision(consent).await?;
            }
            Ok::<_, Error>(prompted)
        };
        let outcome = tokio::select! {
            biased;
            () = context.cancel.cancelled() => Err(Error::new(Kind::Cancelled, "The call was cancelled.")),
            () = request.shutdown.cancelled() => Err(Error::unavailable("The server stopped before this call was finished.")),
            prompted = tokio::time::timeout(longest, prompted) => match prompted {
                Ok(Err(error)) if error.kind == Kind::TimedOut => Ok(Prompted::NotAsked),
                Ok(prompted) => prompted,
                Err(_) => Ok(Prompted::NotAsked),
            },
        };
        self.free_wait_slot(slot).await;
        outcome
    }

    /// Sends the person to the page if the client can open it; otherwise asks by a form, if this caller's own answer
    /// counts.
    async fn prompt(&self, context: &Context, consent: &Consent) -> Result<Prompted> {
        if let Some(url) = self.page_url(&consent.id) {
            let question = Question::Page { message: consent.summary.clone(), url, id: consent.id.clone() };
            match ask(context, &format!("{CONSENT_KEY}page-{}", consent.id), question).await? {
                Some(AnswerAction::Accept) => return Ok(Prompted::Page),
                // Not opening the page is not a decision.
                Some(AnswerAction::Decline | AnswerAction::Cancel) => return Ok(Prompted::NotAsked),
                None => {}
            }
        }
        if self.may_decide(&context.caller, &consent.binding.principal).is_err() {
            return Ok(Prompted::NotAsked);
        }
        let preview = consent.preview.as_deref().map_or(String::new(), |preview| format!("{preview}\n"));
        let message = format!("{}\n{preview}{}", consent.summary, consent.arguments);
        let question = Question::Form { message, schema: json!({"type": "object", "properties": {}}) };
        let answer = ask(context, &format!("{CONSENT_KEY}{}", consent.id), question).await?;
        Ok(answer.map_or(Prompted::NotAsked, Prompted::Answer))
    }

    /// Resolves when the request is no longer pending, whoever decided it.
    async fn wait_for_decision(&self, consent: &Consent) -> Result<()> {
        loop {
            match self.requests.store.consents().find(&consent.id).await? {
                Some(found) if found.state == ConsentState::Pending => tokio::time::sleep(POLL).await,
                Some(_) | None => return Ok(()),
            }
        }
    }

    /// Records the answer given in the client as a decision by the caller.
    async fn record_answer(&self, context: &Context, consent: &Consent, action: AnswerAction) -> Result<()> {
        let approve = match action {
            AnswerAction::Accept => true,
            AnswerAction::Decline => false,
            AnswerAction::Cancel => return Ok(()),
        };
        match self.requests.decide(&consent.id, &context.caller, approve, None).await {
            // Somebody else decided first, or it expired: the stored state says what that means for the call.
            Err(error) if matches!(error.kind, Kind::Conflict | Kind::NotFound) => Ok(()),
            decided => decided.map(drop),
        }
    }

    async fn audit(&self, context: &Context, consent: &Consent, outcome: &str) -> Result<()> {
        let entry = audit_entry(consent, &context.caller, context.request_id.clone(), context.clock.now_ms());
        let (session, outcome) = (context.session.clone(), outcome.to_owned().into());
        self.requests.store.audit().append(AuditEntry { session, outcome, ..entry }).await?;
        Ok(())
    }

    /// A person has to decide something else before they can be asked about this call: a need for consent, then, and not
    /// a rate that becomes free by itself. The error leads to the request that has waited longest.
    fn too_many(&self, limit: u32, oldest: Consent) -> Error {
        let Consent { id, expires_ms, binding, .. } = oldest;
        let at = self.page_url(&id).map_or(String::new(), |url| format!(" The oldest is at {url}."));
        let message = format!(
            "{limit} of your calls already wait for consent, which is the limit, so no person was asked about this one.{at} Have some of them decided (`mainstay consent list` shows them), or wait until they expire, and make this call again."
        );
        let url = format!("{CONSENT_PATH}{id}");
        let reason = Reason::PendingConsents { pending: limit, id, url, operation: binding.target, expires_ms };
        Error::new(Kind::ConsentRequired, message).with_reason(reason)
    }

    fn required(&self, request: &ConsentRequest<'_>, consent: &Consent) -> Error {
        let id = &consent.id;
        let at = self.page_url(id).map_or(String::new(), |url| format!(" at {url} or"));
        let operation = request.display_name.to_owned();
        let message = format!(
            "Consent required for {operation}: a person has to approve this call{at} with `mainstay consent approve {id}`. Make the same call again after that."
        );
        let (url, expires_ms) = (format!("{CONSENT_PATH}{id}"), consent.expires_ms);
        let reason = Reason::ConsentNeeded { id: id.clone(), url, operation, expires_ms };
        Error::new(Kind::ConsentRequired, message).with_reason(reason)
    }
}

/// Who asks for what, and what is special about it.
fn summary(requester: &str, request: &ConsentRequest<'_>) -> String {
    let notice = request.plan.and_then(|plan| plan.notice.as_deref()).map(escape_invisible);
    let (tool, effect) = (request.display_name, request.effect.as_str());
    let notice = notice.map_or(String::new(), |notice| format!(" {notice}"));
    format!("{requester} asks to run {tool}, which {effect} something.{notice}")
}

/// Who asks, by name: what the operator called the token's owner, and what the client calls itself. Without a token
/// nobody vouches for more than the machine.
fn requester(context: &Context) -> String {
    let caller = &context.caller;
    let client = context.client.as_deref().map(escape_invisible);
    if caller.principal.is_local() {
        return format!("{} on this machine", client.as_deref().unwrap_or("A program"));
    }
    let name = escape_invisible(caller.name.as_deref().unwrap_or(caller.principal.subject()));
    client.map_or(name.clone(), |client| format!("{name} (with {client})"))
}

/// The refusal of a call that a person denied, in their words if they gave any: the caller can react to those.
fn denied(consent: Consent) -> Error {
    let Consent { id, reason, expires_ms, .. } = consent;
    let why = reason.as_deref().map_or_else(|| " No reason was given.".to_owned(), |why| format!(" The reason: {why}"));
    let until = iso8601(expires_ms);
    let message = format!(
        "This call was not approved (consent {id}).{why}\nThe same call is refused until {until}; another call can be requested."
    );
    Error::denied(message).with_reason(Reason::ConsentDenied { id, reason, expires_ms })
}

/// `None` if the client cannot be asked this kind of question, or does not answer in time.
async fn ask(context: &Context, key: &str, question: Question) -> Result<Option<AnswerAction>> {
    match context.ask(key, question).await {
        Ok(answer) => Ok(Some(answer.action)),
        Err(error) if matches!(error.kind, Kind::Unsupported | Kind::TimedOut) => Ok(None),
        Err(error) => Err(error),
    }
}
