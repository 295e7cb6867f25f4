//! Why a request to another server failed, and what to do about it.

use mainstay_wire::client::Fault;

/// Each message names the URL, without secrets, and most of them say what to do. Texts of the server may be part of it, so
/// whoever prints it has to escape control characters.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    #[error("{url:?} is not a valid URL ({reason}); write it as http://host:port/path")]
    Url { url: String, reason: String },
    #[error("{url} contains a user name or password, which is never sent; put an access token into MAINSTAY_TOKEN")]
    Userinfo { url: String },
    #[error("the token in MAINSTAY_TOKEN is not sent to {url}: without https anybody on the network could read it")]
    Unprotected { url: String },
    #[error("cannot reach {url}: {reason}. Is a server running there?")]
    Unreachable { url: String, reason: String },
    #[error("{url} did not answer within {seconds} s; allow more time with --timeout")]
    TimedOut { url: String, seconds: u64 },
    #[error("{url} answered with HTTP status {status}. {}", advice(*.status))]
    Status { url: String, status: u16 },
    #[error("{url} violates its protocol: {what}")]
    Protocol { url: String, what: String },
    #[error("{url} sent a response of more than {limit} bytes, which is the limit")]
    TooLong { url: String, limit: usize },
    #[error("{url} answered with {fault}")]
    Rejected { url: String, fault: Fault },
}

impl RemoteError {
    /// Whether the server does not know the method it was sent, so that another protocol version may work.
    /// Servers differ in how they say so: with the code of JSON-RPC, or with an HTTP status alone.
    pub(super) fn is_unsupported_method(&self) -> bool {
        matches!(self, Self::Rejected { fault, .. } if fault.is_unknown_method())
            || matches!(self, Self::Status { status: 400 | 404 | 405 | 406 | 501, .. })
    }
}

/// What a person can do about an HTTP status.
fn advice(status: u16) -> &'static str {
    match status {
        401 | 403 => "Put an access token for it into MAINSTAY_TOKEN, and use the host name that the server expects.",
        301..=308 => "The server has moved; use the URL it has moved to.",
        404 | 405 => {
            "Check the path: the standard protocol is usually at /mcp, the dialect mira of this program at /rpc."
        }
        _ => "The server's log may say why.",
    }
}
