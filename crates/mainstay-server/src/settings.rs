//! The server's section of the configuration.

use std::net::SocketAddr;

use mainstay_auth::AuthSettings;
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
    /// Connections open at once; at most half of the files the process may have open. Past this, idle connections are
    /// closed for new ones, unidentified ones first. A request beside others on a connection of HTTP/2 counts as one, too.
    pub connections: usize,
    /// Memory in bytes for requests that have not arrived completely; one principal has a quarter of it.
    pub unfinished_bytes: usize,
    /// Memory in bytes for responses that their clients have not read; one principal has half of it. While half of that is
    /// taken, further requests wait. On stdio it is the memory of the one client.
    pub unsent_bytes: usize,
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
            unfinished_bytes: 256 * 1024 * 1024,
            unsent_bytes: 256 * 1024 * 1024,
            websockets: 1000,
            auth: None,
        }
    }
}
