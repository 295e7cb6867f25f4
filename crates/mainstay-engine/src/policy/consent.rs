//! Has a person approved this very call?

use std::time::Duration;

use mainstay_core::{
    AnswerAction, Caller, Context, Effect, Error, Kind, Principal, Question, Reason, Result, Scope, ToolInfo, new_id,
};
use mainstay_store::{Approval, AuditEntry, Binding, Consent, ConsentRequest, ConsentState, NewConsent};
use serde_json::{Value, json};

use crate::consents::{CONSENT_PATH, ConsentRefusal, about};
use crate::policy::waiting::Waiting;
use crate::settings::ConsentSettings;
use crate::{Decider, Engine, digest, shown};

/// What the key of a question for consent begins with.
pub const CONSENT_KEY: &str = "consent-";

/// How often the stored state is looked at while a person is at the page.
const LOOK: Duration = Duration::from_millis(250);

pub(crate) struct ConsentPolicy {
    settings: ConsentSettings,
    /// Changes with the rules: an approval given under other rules is not good under these.
    version: String,
    waiting: Waiting,
}

/// What is to be approved.
pub(crate) struct Wish<'a> {
    pub(crate) target: &'a str,
    /// The name people know it by.
    pub(crate) shown: &'a str,
    pub(crate) effect: Effect,
    pub(crate) args: &'a Value,
    pub(crate) digest: &'a str,
}

/// What came of asking the client.
enum Heard {
    /// The person was sent to the page; whatever they do there is in the store.
    AtThePage,
    /// The client showed the question and says what the person answered.
    Said(AnswerAction),
    /// There is nobody to ask, or nobody whose word counts.
    Nothing,
}

impl ConsentPolicy {
    pub(crate) fn new(settings: ConsentSettings) -> Self {
        let rules = json!([settings.required_for, settings.required_for_tools, settings.required_for_words]);
        Self { version: digest::of(&rules), settings, waiting: Waiting::default() }
    }

    pub(crate) fn needed(&self, tool: Option<&ToolInfo>, effect: Effect) -> bool {
        self.settings.required_for.contains(&effect)
            || tool.is_some_and(|tool| {
                self.settings.required_for_tools.contains(&tool.listed) || (effect.changes() && self.is_dangerous(tool))
            })
    }

    /// Contract 001 goes by the words in a name; the other families by what a call does.
    fn is_dangerous(&self, tool: &ToolInfo) -> bool {
        let Some(name) = tool.spelling("agents") else { return false };
        let mut words = [name, &tool.name.verb].into_iter().flat_map(|name| name.split(|c: char| !c.is_alphanumeric()));
        words.any(|word| self.settings.required_for_words.iter().any(|bad| bad.eq_ignore_ascii_case(word)))
    }

    /// Whose word counts. The reason is for the one who may not.
    pub(crate) fn may_decide(&self, caller: &Caller, requested_by: &str) -> Result<(), String> {
        if caller.principal.is_local() {
            return match caller.ip {
                None => Ok(()),
                Some(ip) if !ip.is_loopback() => Err("Without a token only this machine may decide.".into()),
                Some(_) if self.settings.without_token => Ok(()),
                Some(_) => Err("Commands of this server could send this request, too, so it does not decide without a token. Use `mainstay consent approve` or `mainstay consent deny` on this machine.".into()),
            };
        }
        if !caller.scopes.allows(Scope::Consent) {
            return Err("Deciding needs the scope \"consent\", which the token does not have.".into());
        }
        if caller.principal.as_str() == requested_by && !self.settings.self_approval {
            return Err("Nobody decides on their own request here; somebody else with the scope \"consent\" has to, or `mainstay consent approve` on the server's machine.".into());
        }
        Ok(())
    }

    /// Whether a program may say it for a person, who need not have seen what is asked. Where nobody needs a token, whoever
    /// asked with one could leave it off and approve its own request.
    pub(crate) fn may_decide_unseen(caller: &Caller, requested_by: &str) -> Result<(), String> {
        if caller.principal.is_local() && !Principal::from_stored(requested_by).is_local() {
            return Err("This was asked for with a token, so a program without one does not decide on it. Open the page of the request in a browser, use `mainstay consent approve` or `mainstay consent deny`, or send a token that has the scope \"consent\".".into());
        }
        Ok(())
    }

    /// Uses up an approval of exactly this call, asking for one if there is none.
    pub(crate) async fn obtain(&self, engine: &Engine, context: &Context, wish: &Wish<'_>) -> Result<()> {
        let binding = Binding {
            principal: context.caller.principal.to_string(),
            target: wish.target.to_owned(),
            args_digest: wish.digest.to_owned(),
            policy: self.version.clone(),
        };
        if self.take(engine, context, &binding).await? {
            return Ok(());
        }
        let consent = self.file(engine, context, wish, binding.clone()).await?;
        match self.hear(engine, context, &consent).await? {
            Heard::Said(action) => self.obey(engine, context, &consent, action).await?,
            Heard::AtThePage | Heard::Nothing => {}
        }
        // Whoever decided first decided; only the stored state counts.
        if self.take(engine, context, &binding).await? { Ok(()) } else { Err(required(engine, wish, &consent)) }
    }

    /// Whether there was an approval, which is used up now.
    async fn take(&self, engine: &Engine, context: &Context, binding: &Binding) -> Result<bool> {
        match engine.store().consents().use_approval(binding.clone(), context.clock.now_ms()).await? {
            Approval::Approved { id } => {
                if let Some(consent) = engine.store().consents().find(&id).await? {
                    record(engine, context, &consent, "used").await?;
                }
                Ok(true)
            }
            Approval::Denied { id } => Err(denied(&id)),
            Approval::Pending { .. } | Approval::None => Ok(false),
        }
    }

    /// Files the request, unless the same one is waiting already.
    async fn file(&self, engine: &Engine, context: &Context, wish: &Wish<'_>, binding: Binding) -> Result<Consent> {
        let now = context.clock.now_ms();
        let life = i64::try_from(self.life().as_millis()).unwrap_or(i64::MAX);
        let arguments = shown::full(wish.args)?;
        let request = NewConsent {
            id: new_id(),
            binding,
            summary: format!(
                "{} asks to run {}, which {} something.",
                shown::plain(context.caller.principal.as_str()),
                wish.shown,
                wish.effect.as_str()
            ),
            arguments,
            now_ms: now,
            expires_ms: now.saturating_add(life),
        };
        let id = request.id.clone();
        let consent = match engine.store().consents().request(request).await? {
            ConsentRequest::Pending(consent) => *consent,
            ConsentRequest::TooMany { limit } => return Err(too_many(limit)),
        };
        if consent.id == id {
            record(engine, context, &consent, "asked").await?;
        }
        Ok(consent)
    }

    fn life(&self) -> Duration {
        Duration::from_secs(60 * u64::from(self.settings.minutes))
    }

    /// Asks, and waits for as long as a call may take: it holds a place that others need, so nobody has many of them
    /// wait. Whoever does not hear in time makes the call again when it has been decided.
    async fn hear(&self, engine: &Engine, context: &Context, consent: &Consent) -> Result<Heard> {
        let Some(_seat) = self.waiting.sit(&context.caller.principal) else { return Ok(Heard::Nothing) };
        let patience = Duration::from_secs(engine.settings().deadline_seconds).min(self.life());
        let hearing = async {
            let heard = self.ask(engine, context, consent).await?;
            if matches!(heard, Heard::AtThePage) {
                decided(engine, consent).await?;
            }
            Ok(heard)
        };
        match engine.within(context, patience, hearing).await.flatten() {
            Err(error) if error.kind == Kind::TimedOut => Ok(Heard::Nothing),
            heard => heard,
        }
    }

    /// Sends the person to the page if the client can, asks by a form if its answer counts.
    async fn ask(&self, engine: &Engine, context: &Context, consent: &Consent) -> Result<Heard> {
        if let Some(url) = page(engine, &consent.id) {
            let question = Question::Page { message: consent.summary.clone(), url, id: consent.id.clone() };
            match put(context, &format!("{CONSENT_KEY}page-{}", consent.id), question).await? {
                Some(AnswerAction::Accept) => return Ok(Heard::AtThePage),
                // Not to open a page is not to decide.
                Some(AnswerAction::Decline | AnswerAction::Cancel) => return Ok(Heard::Nothing),
                None => {}
            }
        }
        if self.may_decide(&context.caller, &consent.binding.principal).is_err() {
            return Ok(Heard::Nothing);
        }
        let message = format!("{}\n{}", consent.summary, consent.arguments);
        let question = Question::Form { message, schema: json!({"type": "object", "properties": {}}) };
        let answer = put(context, &format!("{CONSENT_KEY}{}", consent.id), question).await?;
        Ok(answer.map_or(Heard::Nothing, Heard::Said))
    }

    async fn obey(&self, engine: &Engine, context: &Context, consent: &Consent, action: AnswerAction) -> Result<()> {
        let approve = match action {
            AnswerAction::Accept => true,
            AnswerAction::Decline => false,
            AnswerAction::Cancel => return Ok(()),
        };
        let by = Decider { name: context.caller.principal.to_string(), ip: context.caller.ip };
        match engine.consent_desk().decide(&consent.id, &by, approve, None).await {
            Err(ConsentRefusal::Failed(error)) => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

/// Nothing if the client cannot be asked this.
async fn put(context: &Context, key: &str, question: Question) -> Result<Option<AnswerAction>> {
    match context.ask(key, question).await {
        Ok(answer) => Ok(Some(answer.action)),
        Err(error) if matches!(error.kind, Kind::Unsupported | Kind::TimedOut) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Waits while the person is at the page.
async fn decided(engine: &Engine, consent: &Consent) -> Result<()> {
    loop {
        match engine.store().consents().find(&consent.id).await? {
            Some(found) if found.state == ConsentState::Pending => tokio::time::sleep(LOOK).await,
            Some(_) | None => return Ok(()),
        }
    }
}

async fn record(engine: &Engine, context: &Context, consent: &Consent, outcome: &str) -> Result<()> {
    let caller = &context.caller;
    let now = context.clock.now_ms();
    let row = about(consent, caller.principal.as_str(), caller.ip, context.request_id.to_string(), now);
    let session = context.session.as_deref().map(str::to_owned);
    engine.store().audit().append(AuditEntry { session, outcome: outcome.to_owned(), ..row }).await?;
    Ok(())
}

fn page(engine: &Engine, id: &str) -> Option<String> {
    engine.0.address.get().map(|origin| format!("{origin}{CONSENT_PATH}{id}"))
}

fn required(engine: &Engine, wish: &Wish<'_>, consent: &Consent) -> Error {
    let id = &consent.id;
    let at = page(engine, id).map_or(String::new(), |url| format!(" at {url} or"));
    Error::new(
        Kind::ConsentRequired,
        format!(
            "Consent required for {}: a person has to approve this call{at} with `mainstay consent approve {id}`. Make the same call again after that.",
            wish.shown
        ),
    )
    .with_reason(Reason::ConsentNeeded {
        id: id.clone(),
        url: format!("{CONSENT_PATH}{id}"),
        operation: wish.shown.to_owned(),
        expires_ms: consent.expires_ms,
    })
}

fn too_many(most: u32) -> Error {
    Error::new(
        Kind::RateLimited,
        format!(
            "{most} requests of yours wait for a person already, and no more are taken. Have some of them decided (`mainstay consent list` shows them), or wait until they expire."
        ),
    )
    .with_reason(Reason::PendingConsents { pending: most })
}

fn denied(id: &str) -> Error {
    Error::denied(format!("This call was not approved (consent {id})."))
}
