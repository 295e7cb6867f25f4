//! Has a person approved this very call?

use std::time::Duration;

use mainstay_core::{AnswerAction, Context, Effect, Error, Kind, Question, Result, new_id};
use mainstay_store::{Binding, NewConsent, Taken};
use serde_json::{Value, json};

use crate::settings::ConsentSettings;
use crate::{Engine, digest};

/// What the key of a question for consent begins with.
pub const CONSENT_KEY: &str = "consent-";

pub(crate) struct ConsentPolicy {
    settings: ConsentSettings,
    /// Changes with the rules: an approval given under other rules is not good under these.
    version: String,
}

impl ConsentPolicy {
    pub(crate) fn new(settings: ConsentSettings) -> Self {
        let version = digest::of(&json!([settings.required_for, settings.required_for_tools]));
        Self { settings, version }
    }

    pub(crate) fn needed(&self, target: &str, effect: Effect) -> bool {
        self.settings.required_for.contains(&effect)
            || self.settings.required_for_tools.iter().any(|name| name == target)
    }

    /// Uses up an approval of exactly this call, asking for one if there is none.
    pub(crate) async fn obtain(
        &self,
        engine: &Engine,
        context: &Context,
        target: &str,
        effect: Effect,
        args: &Value,
        args_digest: &str,
    ) -> Result<()> {
        let consents = engine.store().consents();
        let binding = Binding {
            principal: context.caller.principal.to_string(),
            target: target.to_owned(),
            args_digest: args_digest.to_owned(),
            policy: self.version.clone(),
        };
        match consents.take(binding.clone(), context.clock.now_ms()).await? {
            Taken::Approved { .. } => return Ok(()),
            Taken::Denied { id } => return Err(denied(&id)),
            Taken::Pending { .. } | Taken::None => {}
        }
        let now = context.clock.now_ms();
        let life = Duration::from_secs(60 * u64::from(self.settings.minutes));
        let request = NewConsent {
            id: new_id(),
            binding: binding.clone(),
            summary: summary(context, target, effect, args),
            now_ms: now,
            expires_ms: now.saturating_add(i64::try_from(life.as_millis()).unwrap_or(i64::MAX)),
        };
        let consent = consents.request(request).await?;
        let question =
            Question::Form { message: consent.summary.clone(), schema: json!({"type": "object", "properties": {}}) };
        let key = format!("{CONSENT_KEY}{}", consent.id);
        let answer = match engine.within(context, life, context.ask(&key, question)).await.flatten() {
            Ok(answer) => answer,
            Err(error) if matches!(error.kind, Kind::Unsupported | Kind::TimedOut) => {
                return Err(required(&consent.id, consent.expires_ms));
            }
            Err(error) => return Err(error),
        };
        let by = context.caller.principal.as_str();
        match answer.action {
            AnswerAction::Accept => consents.decide(&consent.id, by, true, context.clock.now_ms()).await?,
            AnswerAction::Decline => {
                consents.decide(&consent.id, by, false, context.clock.now_ms()).await?;
                return Err(denied(&consent.id));
            }
            AnswerAction::Cancel => return Err(required(&consent.id, consent.expires_ms)),
        };
        // Whoever decided first decided; only the stored state counts.
        match consents.take(binding, context.clock.now_ms()).await? {
            Taken::Approved { .. } => Ok(()),
            Taken::Denied { id } => Err(denied(&id)),
            Taken::Pending { .. } | Taken::None => Err(required(&consent.id, consent.expires_ms)),
        }
    }
}

/// What will happen, for the person who decides. Long arguments are cut: the digest binds the whole of them.
fn summary(context: &Context, target: &str, effect: Effect, args: &Value) -> String {
    const SHOWN: usize = 600;
    let args = args.to_string();
    let shown: String = args.chars().take(SHOWN).collect();
    let cut = if shown.len() < args.len() { " …" } else { "" };
    format!("{} asks to run {target}, which {} something: {shown}{cut}", context.caller.principal, effect.as_str())
}

fn required(id: &str, expires_ms: i64) -> Error {
    Error::new(
        Kind::ConsentRequired,
        format!("A person has to approve this call first (consent {id}). Make the same call again after that."),
    )
    .with_data(json!({ "consent_id": id, "expires_at_ms": expires_ms }))
}

fn denied(id: &str) -> Error {
    Error::denied(format!("This call was not approved (consent {id})."))
}
