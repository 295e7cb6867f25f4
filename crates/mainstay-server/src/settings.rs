//! The server's section of the configuration.

use std::net::SocketAddr;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the server listens and whom it listens to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServerSettings {
    /// Address and port. Anything but a loopback address needs `auth`.
    #[schemars(with = "String")]
    pub listen: SocketAddr,
    /// A second address, whose `/` speaks the dialect `mira`; it is on `/rpc` of the first in any case.
    #[schemars(with = "Option<String>")]
    pub mira_listen: Option<SocketAddr>,
    /// Names (`host` or `host:port`) this server is reached by, besides its own loopback address.
    pub allowed_hosts: Vec<String>,
    /// Origins (`scheme://host:port`) whose web pages may call this server, besides its own.
    pub allowed_origins: Vec<String>,
    /// The longest message, in bytes.
    pub message_bytes: usize,
    /// Sessions of older protocol versions held in memory at once.
    pub sessions: usize,
    /// Seconds after which an unused session leaves memory; it is still found in the store for a day.
    pub session_idle_seconds: u64,
    /// Connections open at once, on each address.
    pub connections: usize,
    /// How many may listen on `/ws` at once; one principal has a tenth of these places, and at least ten.
    pub websockets: usize,
    pub auth: Option<AuthSettings>,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8099)),
            mira_listen: None,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            message_bytes: 8 * 1024 * 1024,
            sessions: 10_000,
            session_idle_seconds: 1800,
            connections: 20_000,
            websockets: 1000,
            auth: None,
        }
    }
}

/// Whose access tokens are accepted. Present means that every call needs one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "AuthSection", into = "AuthSection")]
pub enum AuthSettings {
    External(External),
    Local(Local),
}

/// Those of an issuer elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct External {
    pub issuer: String,
    pub audience: String,
    pub keys: PathBuf,
}

/// Those that this server issues itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Local {
    pub audience: Option<String>,
}

/// As it is written.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AuthSection {
    /// `external` accepts the tokens of an issuer elsewhere; with `local` this server issues them, to the clients that
    /// `mainstay client add` makes.
    #[serde(default)]
    mode: Mode,
    /// The `iss` of the tokens: the external authorization server's URL.
    issuer: Option<String>,
    /// The `aud` of the tokens: this server's own URL, as clients know it. With `local`, the address it listens on if
    /// it is not set.
    audience: Option<String>,
    /// A file with the external issuer's public keys: a JWK set, or one key in PEM.
    keys: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
            format!("server.auth.{name} is missing: set it, or mode = \"local\" if this server is to issue the tokens")
        };
        match section {
            AuthSection { mode: Mode::External, issuer, audience, keys } => Ok(Self::External(External {
                issuer: issuer.ok_or_else(|| missing("issuer"))?,
                audience: audience.ok_or_else(|| missing("audience"))?,
                keys: keys.ok_or_else(|| missing("keys"))?,
            })),
            AuthSection { mode: Mode::Local, issuer: None, audience, keys: None } => {
                Ok(Self::Local(Local { audience }))
            }
            AuthSection { mode: Mode::Local, .. } => Err(
                "server.auth.issuer and server.auth.keys are for another's tokens: remove them, or mode = \"local\""
                    .into(),
            ),
        }
    }
}

impl From<AuthSettings> for AuthSection {
    fn from(settings: AuthSettings) -> Self {
        match settings {
            AuthSettings::External(External { issuer, audience, keys }) => {
                Self { mode: Mode::External, issuer: Some(issuer), audience: Some(audience), keys: Some(keys) }
            }
            AuthSettings::Local(Local { audience }) => Self { mode: Mode::Local, issuer: None, audience, keys: None },
        }
    }
}

impl AuthSettings {
    /// Scheme, host and port of the audience: where clients find this server.
    pub(crate) fn origin(&self) -> Option<String> {
        match self {
            Self::External(external) => origin(&external.audience),
            Self::Local(local) => origin(local.audience.as_deref()?),
        }
    }
}

/// Scheme, host and port of a URL.
pub(crate) fn origin(url: &str) -> Option<String> {
    let url = url.parse::<http::Uri>().ok()?;
    Some(format!("{}://{}", url.scheme_str()?, url.authority()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<AuthSettings, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn authentication_is_anothers_or_our_own_and_nothing_between() {
        let external = r#"{"issuer": "https://i", "audience": "https://a/mcp", "keys": "k"}"#;
        assert!(matches!(read(external), Ok(AuthSettings::External(_))));
        assert_eq!(read(r#"{"mode": "local"}"#), Ok(AuthSettings::Local(Local::default())));
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
    fn what_was_read_is_written_the_same() {
        let local = AuthSettings::Local(Local { audience: Some("https://a/mcp".into()) });
        assert_eq!(read(&serde_json::to_string(&local).unwrap()), Ok(local));
    }
}
