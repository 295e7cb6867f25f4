//! Why asking a server came to nothing, and what to do about it.

use mainstay_wire::asking::Fault;

#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    #[error("{url:?} is no URL to call ({reason}); write it as http://host:port/path")]
    Url { url: String, reason: String },
    #[error("{url} has a user name or a password in it, which is not sent; put an access token into MAINSTAY_TOKEN")]
    Userinfo { url: String },
    #[error("the token in MAINSTAY_TOKEN is not sent to {url}: without https anybody on the way could read it")]
    Unprotected { url: String },
    #[error("cannot reach {url}: {reason}. Is a server running there?")]
    Unreachable { url: String, reason: String },
    #[error("{url} did not answer within {seconds} s; allow it more time with --timeout")]
    TimedOut { url: String, seconds: u64 },
    #[error("{url} answered with HTTP status {status}. {}", advice(*.status))]
    Status { url: String, status: u16 },
    #[error("{url} does not keep to its protocol: {what}")]
    Nonsense { url: String, what: String },
    #[error("{url} answered with more than {limit} bytes, which is more than is read")]
    TooLong { url: String, limit: usize },
    #[error("{url} answered with {fault}")]
    Refused { url: String, fault: Fault },
}

fn advice(status: u16) -> &'static str {
    match status {
        401 | 403 => "Put an access token for it into MAINSTAY_TOKEN, or use the name it knows itself by.",
        301..=308 => "It has moved; give the URL it has moved to.",
        404 | 405 => {
            "Check the path: servers of the standard protocol often have it at /mcp, this one has mira at /rpc."
        }
        _ => "Its log may say why.",
    }
}
