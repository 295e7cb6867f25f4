//! The sections of the configuration for authentication (`server.auth`) and consent (`engine.consent`).

use std::net::SocketAddr;
use std::path::PathBuf;

use mainstay_core::Effect;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whose access tokens are accepted. If this section is present, every call needs a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "AuthSection", tag = "mode", rename_all = "lowercase")]
#[schemars(with = "AuthSection")]
pub enum AuthSettings {
    External(ExternalAuth),
    /// This server issues the tokens itself.
    Local {
        audience: Option<String>,
    },
}

/// Tokens of another issuer are accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExternalAuth {
    pub issuer: String,
    pub audience: String,
    pub keys: PathBuf,
}

/// The section as written in the configuration: which fields are allowed depends on `mode`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AuthSection {
    /// `external` accepts the tokens of another issuer; with `local` this server issues them, to clients added with
    /// `mainstay client add`.
    #[serde(default)]
    mode: Mode,
    /// The `iss` of the tokens: the external authorization server's URL.
    issuer: Option<String>,
    /// The `aud` of the tokens: this server's URL as clients know it. With `local` the default is the address the
    /// server listens on.
    audience: Option<String>,
    /// A file with the external issuer's public keys: a JWK set or one PEM key.
    keys: Option<PathBuf>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    #[default]
    External,
    Local,
}

impl TryFrom<AuthSection> for AuthSettings {
    type Error = String;

    fn try_from(section: AuthSection) -> Result<Self, String> {
        let missing = |name: &str| {
            format!(
                "server.auth.{name} is missing: set it, or set mode = \"local\" to let this server issue the tokens"
            )
        };
        match section {
            AuthSection { mode: Mode::External, issuer, audience, keys } => Ok(Self::External(ExternalAuth {
                issuer: issuer.ok_or_else(|| missing("issuer"))?,
                audience: audience.ok_or_else(|| missing("audience"))?,
                keys: keys.ok_or_else(|| missing("keys"))?,
            })),
            AuthSection { mode: Mode::Local, issuer: None, audience, keys: None } => Ok(Self::Local { audience }),
            AuthSection { mode: Mode::Local, .. } => Err(
                "server.auth.issuer and server.auth.keys are for mode = \"external\": remove them, or remove mode = \"local\""
                    .into(),
            ),
        }
    }
}

impl AuthSettings {
    /// Scheme, host and port of the audience: where clients reach this server.
    pub fn origin(&self) -> Option<String> {
        match self {
            Self::External(external) => url_origin(&external.audience),
            Self::Local { audience } => url_origin(audience.as_deref()?),
        }
    }
}

/// Scheme, host and port of a URL.
pub fn url_origin(url: &str) -> Option<String> {
    let url = url.parse::<http::Uri>().ok()?;
    Some(format!("{}://{}", url.scheme_str()?, url.authority()?))
}

/// Why authentication cannot be set up as configured.
#[derive(Debug, thiserror::Error)]
pub enum AuthConfigError {
    #[error("cannot use the keys in {path}: {reason}")]
    Keys { path: String, reason: String },
    #[error(
        "cannot issue tokens for {0}, an address clients cannot use: set server.auth.audience to this server's URL"
    )]
    Audience(SocketAddr),
    #[error("server.auth.audience is {0:?}, which is not a URL; write it as https://host/mcp")]
    Issuer(String),
}

/// Which calls a person has to approve, and who may do so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ConsentSettings {
    /// Effects of calls that need approval.
    pub required_for: Vec<Effect>,
    /// Tools whose calls always need approval, by their name in any dialect.
    pub required_for_tools: Vec<String>,
    /// Words in a tool's name by which contract 001 requires approval.
    pub required_for_words: Vec<String>,
    /// Minutes until a request, or an unused approval, expires.
    pub minutes: u32,
    /// With authentication: whether a principal with the scope `consent` may decide its own requests.
    pub self_approval: bool,
    /// Without authentication: whether requests from this machine may decide over HTTP. Never allowed where commands
    /// that the server runs could send such a request.
    pub without_token: bool,
}

/// Contract 001's words for what cannot be undone.
const DANGEROUS: [&str; 4] = ["delete", "drop", "remove", "destroy"];

impl Default for ConsentSettings {
    fn default() -> Self {
        Self {
            required_for: vec![Effect::Destroys],
            required_for_tools: Vec::new(),
            required_for_words: DANGEROUS.map(str::to_owned).to_vec(),
            minutes: 30,
            self_approval: false,
            without_token: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<AuthSettings, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn the_fields_of_the_section_have_to_fit_its_mode() {
        let external = r#"{"issuer": "https://i", "audience": "https://a/mcp", "keys": "k"}"#;
        assert!(matches!(read(external), Ok(AuthSettings::External(_))));
        assert_eq!(read(r#"{"mode": "local"}"#), Ok(AuthSettings::Local { audience: None }));
        for (text, says) in [
            ("{}", "server.auth.issuer is missing"),
            (r#"{"issuer": "https://i", "keys": "k"}"#, "server.auth.audience is missing"),
            (r#"{"mode": "local", "keys": "k"}"#, "remove them"),
            (r#"{"mode": "other"}"#, "unknown variant"),
            (r#"{"mode": "local", "secret": "s"}"#, "unknown field"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn the_section_is_written_as_it_was_read() {
        let local = AuthSettings::Local { audience: Some("https://a/mcp".into()) };
        assert_eq!(read(&serde_json::to_string(&local).unwrap()), Ok(local));
    }
}
