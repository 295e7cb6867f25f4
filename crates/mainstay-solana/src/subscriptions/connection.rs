//! A WebSocket connection to a node. It is upgraded from an HTTP request of the client that all requests use, so that
//! certificates, proxies and redirects are treated alike.

use std::time::Duration;

use reqwest::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use reqwest::{StatusCode, Upgraded, Url};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use crate::rpc::{NetworkSettings, NodeUrl, RpcError, Transport, innermost, retry_after};

pub(super) type Socket = WebSocketStream<Upgraded>;

/// Where the subscriptions of a network are. Without a setting it is the first URL, with the next port where it names one:
/// a validator listens there.
pub(super) fn address(network: &NetworkSettings) -> Result<NodeUrl, String> {
    let named = |reason| format!("network {}: ws_url {reason}", network.name);
    if let Some(url) = &network.ws_url {
        return NodeUrl::websocket(url).map_err(named);
    }
    let first = network.urls.first().ok_or_else(|| format!("network {} has no URL", network.name))?;
    let mut url = NodeUrl::http(first).map_err(named)?.url;
    let scheme = if url.scheme() == "https" { "wss" } else { "ws" };
    if let Some(port) = url.port() {
        let next = port.checked_add(1).ok_or_else(|| named("cannot be derived; set it".to_owned()))?;
        url.set_port(Some(next)).map_err(|()| named("cannot be derived; set it".to_owned()))?;
    }
    url.set_scheme(scheme).map_err(|()| named("cannot be derived; set it".to_owned()))?;
    NodeUrl::websocket(url.as_str()).map_err(named)
}

/// Opens connections to one node.
pub(super) struct Connector {
    pub(super) network: String,
    pub(super) url: NodeUrl,
    pub(super) transport: std::sync::Arc<Transport>,
    pub(super) timeout: Duration,
    pub(super) max_message_bytes: usize,
}

impl Connector {
    pub(super) async fn connect(&self) -> Result<Socket, RpcError> {
        let late = |_| Err(self.unreachable("it did not answer in time"));
        timeout(self.timeout, self.handshake()).await.unwrap_or_else(late)
    }

    /// The handshake of RFC 6455, section 4.1.
    async fn handshake(&self) -> Result<Socket, RpcError> {
        let http = self.transport.http(&self.url).map_err(|reason| self.unreachable(&reason))?;
        let key = generate_key();
        let request = http
            .get(self.http_url()?)
            .header(CONNECTION, "Upgrade")
            .header(UPGRADE, "websocket")
            .header(SEC_WEBSOCKET_VERSION, "13")
            .header(SEC_WEBSOCKET_KEY, &key);
        let response = request.send().await.map_err(|error| self.unreachable(&innermost(&error)))?;
        match response.status() {
            StatusCode::SWITCHING_PROTOCOLS => {}
            StatusCode::TOO_MANY_REQUESTS => {
                let retry_after = retry_after(response.headers());
                return Err(RpcError::RateLimited { network: self.network.clone(), retry_after });
            }
            status => return Err(self.unreachable(&format!("HTTP status {}", status.as_u16()))),
        }
        // A cache or an HTTP server without WebSockets would not know the answer to the key.
        let accepted = response.headers().get(SEC_WEBSOCKET_ACCEPT).map(|accept| accept.as_bytes().to_vec());
        if accepted.as_deref() != Some(derive_accept_key(key.as_bytes()).as_bytes()) {
            return Err(self.unreachable("it does not speak WebSocket"));
        }
        let stream = response.upgrade().await.map_err(|error| self.unreachable(&innermost(&error)))?;
        let limit = Some(self.max_message_bytes);
        let config = WebSocketConfig::default().max_message_size(limit).max_frame_size(limit);
        Ok(WebSocketStream::from_raw_socket(stream, Role::Client, Some(config)).await)
    }

    /// The same URL as the HTTP client wants it.
    fn http_url(&self) -> Result<Url, RpcError> {
        let mut url = self.url.url.clone();
        let scheme = if url.scheme() == "wss" { "https" } else { "http" };
        url.set_scheme(scheme).map_err(|()| self.unreachable("its URL cannot be used"))?;
        Ok(url)
    }

    pub(super) fn unreachable(&self, reason: &str) -> RpcError {
        let reason = self.url.redact(reason.to_owned());
        RpcError::Unreachable { network: self.network.clone(), host: self.url.host.clone(), reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::known_network;

    #[test]
    fn the_address_is_derived_from_the_first_url_unless_it_is_set() {
        let network = |url: &str, ws_url: Option<&str>| NetworkSettings {
            urls: vec![url.to_owned()],
            ws_url: ws_url.map(str::to_owned),
            ..known_network("mainnet").unwrap()
        };
        let derived = |url: &str| address(&network(url, None)).map(|url| url.url.to_string());
        assert_eq!(derived("https://a.example/v2/key"), Ok("wss://a.example/v2/key".to_owned()));
        assert_eq!(derived("http://127.0.0.1:8899"), Ok("ws://127.0.0.1:8900/".to_owned()));
        assert!(derived("http://127.0.0.1:65535").is_err());
        let set = address(&network("https://a.example", Some("wss://b.example"))).unwrap();
        assert_eq!(set.host, "b.example");
    }
}
