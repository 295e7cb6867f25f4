//! What protects the server, as it is set.

use mainstay_auth::oauth::ACCESS_LIFETIME;
use serde_json::{Value, json};

use super::Api;

impl Api {
    pub(super) fn security(&self) -> Value {
        let (engine, dialect) = (&self.dispatcher.engine, &self.dispatcher.dialect);
        let settings = engine.settings();
        let quota = engine.quota(dialect.policy());
        let per_minute = quota.map(|quota| u64::from(quota.calls) * 60 / u64::from(quota.seconds.max(1)));
        let consent = &settings.consent;
        let consent = !consent.required_for.is_empty()
            || !consent.required_for_tools.is_empty()
            || !consent.required_for_words.is_empty();
        json!({
            "security": {
                "oauth_enabled": self.issues_tokens,
                "consent_flow": consent,
                "path_protection": !self.protected.is_empty(),
                "rate_limiting": true,
                "audit_logging": true,
                "dangerous_operations": settings.consent.required_for_words,
            },
            "policies": {
                "token_expiry_hours": ACCESS_LIFETIME.as_secs() / 3600,
                "consent_expiry_minutes": settings.consent.minutes,
                "rate_limit_per_minute": per_minute,
                "path_blacklist": self.protected,
            },
        })
    }
}
