//! The HTTP listener: its routes, its connections, and how it stops.

mod api;
mod auth;
mod body;
mod consent;
mod docs;
mod guard;
mod health;
mod jsonrpc;
mod mcp;
mod oauth;
mod openapi;
mod routes;
mod rpc;
mod visit;
mod write_timeout;
mod ws;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::any;
use futures::future::join_all;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use mainstay_auth::{AuthSettings, Authenticator};
use mainstay_core::CancellationToken;
use mainstay_engine::Engine;
use mainstay_wire::mira::{Place, Transport};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use crate::agents;
use crate::connection::Peer;
use crate::mcp::Shared;
use crate::mira;
use crate::{About, ServerSettings, StartError};

pub use api::View;
pub use openapi::openapi;
pub use routes::{Access, Route};

use routes::{Endpoints, routes};
use write_timeout::WriteTimeout;

/// From the end of the last call to the end of its reply.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// How long a reader may take to take in what was written for it before.
const CLOSING: Duration = Duration::from_secs(3);

/// A connection that has not said by then what it wants is closed.
const HEADERS: Duration = Duration::from_secs(30);

/// A server that has its addresses and has not begun to serve.
pub struct Bound {
    main: Listener,
    mira: Option<Listener>,
    engine: Engine,
    connections: usize,
    lines: Lines,
}

/// The connections that are open, and the two words they end at.
#[derive(Clone, Default)]
struct Lines {
    all: TaskTracker,
    /// No further request is read.
    closing: CancellationToken,
    /// Streams, which would stay open for ever, end.
    open: CancellationToken,
}

struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    router: Router,
}

/// Takes the addresses and makes everything ready; refuses what would be unsafe to serve.
pub async fn bind(engine: &Engine, about: &About, settings: &ServerSettings) -> Result<Bound, StartError> {
    let lines = Lines::default();
    let (socket, address) = take(settings.listen, "--listen", settings).await?;
    let authenticator = Authenticator::new(engine.auth_backend(), settings.auth.as_ref(), address, Route::Mcp.path())?;
    let desk = Arc::new(mira::Desk::new(engine.clone())?);
    let rpc = |endpoint: Option<String>| {
        let place = Place { transport: Transport::Http { endpoint }, auth_required: settings.auth.is_some() };
        Arc::new(rpc::Endpoint { desk: desk.clone(), place: Arc::new(place), message_bytes: settings.message_bytes })
    };
    let shared = Arc::new(Shared::new(engine.clone(), about));
    let standard = Arc::new(mcp::Endpoint::new(shared, settings, authenticator.clone(), lines.open.clone()));
    let origin = origin(address, settings);
    let consents = consent::Consents::new(engine.clone(), authenticator.clone(), origin.as_deref());
    if let Some(origin) = origin {
        engine.consent().set_origin(origin);
    }
    let agents = Arc::new(agents::Desk { engine: engine.clone() });
    let message_bytes = settings.message_bytes;
    let endpoints = Endpoints {
        standard,
        rpc: rpc(endpoint(address, settings)),
        jsonrpc: Arc::new(jsonrpc::Endpoint { desk: agents.clone(), message_bytes }),
        api: Arc::new(api::Api {
            desk: agents,
            protected: about.protected.clone(),
            issues_tokens: authenticator.authorization_server().is_some(),
        }),
        consent: consents,
        ws: ws::Endpoint::new(engine.clone(), authenticator.clone(), settings.websockets, lines.clone()),
        document: openapi(about.version).to_string().into(),
    };
    let router = routes(engine, &endpoints, &authenticator);
    let main = Listener { socket, address, router: guarded(router, address, settings)? };
    let mira = match settings.mira_listen {
        None => None,
        Some(wanted) => {
            let (socket, address) = take(wanted, "server.mira_listen", settings).await?;
            let handler = any(rpc::serve).with_state(rpc(own_endpoint(address)));
            let router = Router::new().route("/", handler.layer(from_fn_with_state(authenticator, auth::identify)));
            Some(Listener { socket, address, router: guarded(router, address, settings)? })
        }
    };
    Ok(Bound { main, mira, engine: engine.clone(), connections: settings.connections, lines })
}

/// Where this server is found: under the name the tokens are for, or else at an address that is one.
fn origin(address: SocketAddr, settings: &ServerSettings) -> Option<String> {
    let public = settings.auth.as_ref().and_then(AuthSettings::origin);
    public.or_else(|| (!address.ip().is_unspecified()).then(|| format!("http://{address}")))
}

/// Where clients find `/rpc`.
fn endpoint(address: SocketAddr, settings: &ServerSettings) -> Option<String> {
    Some(origin(address, settings)? + Route::Rpc.path())
}

/// Where clients find the listener of mira's own, if its address is one: under which name it is reached from outside
/// is written nowhere.
fn own_endpoint(address: SocketAddr) -> Option<String> {
    (!address.ip().is_unspecified()).then(|| format!("http://{address}/"))
}

async fn take(
    wanted: SocketAddr,
    setting: &'static str,
    settings: &ServerSettings,
) -> Result<(TcpListener, SocketAddr), StartError> {
    if settings.auth.is_none() && !wanted.ip().is_loopback() {
        return Err(StartError::PublicWithoutAuth(wanted));
    }
    let refused = |reason| StartError::Listen { address: wanted, setting, reason };
    let socket = TcpListener::bind(wanted).await.map_err(refused)?;
    let address = socket.local_addr().map_err(refused)?;
    Ok((socket, address))
}

/// Puts the guard of Host and Origin before everything a listener serves.
fn guarded(router: Router, address: SocketAddr, settings: &ServerSettings) -> Result<Router, StartError> {
    let guard = Arc::new(guard::Guard::new(address, settings)?);
    Ok(router.layer(from_fn(move |request, next| {
        let guard = guard.clone();
        async move { guard.check(request, next).await }
    })))
}

impl Bound {
    pub fn address(&self) -> SocketAddr {
        self.main.address
    }

    /// Where the dialect `mira` has a listener of its own.
    pub fn mira_address(&self) -> Option<SocketAddr> {
        self.mira.as_ref().map(|listener| listener.address)
    }

    /// Serves until `stop`, then lets the requests under way finish.
    pub async fn serve(self, stop: CancellationToken) {
        let listeners = std::iter::once(self.main).chain(self.mira);
        let accepting = listeners.map(|listener| listener.accept(&self.engine, self.connections, &self.lines, &stop));
        join_all(accepting).await;
        self.lines.closing.cancel();
        self.lines.all.close();
        self.engine.drain().await;
        // The last replies are on their way; what is still open after them are streams that would stay so for ever.
        tokio::time::sleep(LAST_WORDS).await;
        self.lines.open.cancel();
        let _ = tokio::time::timeout(CLOSING, self.lines.all.wait()).await;
    }
}

impl Listener {
    /// Takes connections until `stop`; then the address is free again.
    async fn accept(self, engine: &Engine, connections: usize, lines: &Lines, stop: &CancellationToken) {
        let places = Arc::new(Semaphore::new(connections.max(1)));
        loop {
            let place = places.clone().acquire_owned();
            let (place, accepted) = tokio::select! {
                accepted = async { (place.await, self.socket.accept().await) } => accepted,
                () = stop.cancelled() => break,
            };
            match accepted {
                Ok((stream, peer)) => {
                    let served = self.serve(engine, stream, peer, lines.closing.clone());
                    lines.all.spawn(async move {
                        if let Err(error) = served.await {
                            tracing::debug!(%peer, %error, "connection ended");
                        }
                        drop(place);
                    });
                }
                // Out of file descriptors or a connection that broke at once: neither is a reason to stop.
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    /// Serves one connection to its end, or, once `closing` is said, to the end of the request under way.
    fn serve(
        &self,
        engine: &Engine,
        stream: TcpStream,
        peer: SocketAddr,
        closing: CancellationToken,
    ) -> impl Future<Output = hyper::Result<()>> + Send + use<> {
        // Small answers must not wait for the client's acknowledgement of the last one.
        let _ = stream.set_nodelay(true);
        let peer = Peer { address: peer, lane: engine.lane() };
        let service = self.router.clone().map_request(move |mut request: http::Request<Incoming>| {
            request.extensions_mut().insert(peer.clone());
            request.map(axum::body::Body::new)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADERS)
            .serve_connection(TokioIo::new(WriteTimeout::new(stream)), TowerToHyperService::new(service))
            .with_upgrades();
        async move {
            let mut connection = std::pin::pin!(connection);
            tokio::select! {
                ended = connection.as_mut() => return ended,
                () = closing.cancelled() => connection.as_mut().graceful_shutdown(),
            }
            connection.await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_endpoint_is_the_one_clients_know_or_none() {
        let auth =
            |audience: &str| AuthSettings::Local(mainstay_auth::LocalAuth { audience: Some(audience.to_owned()) });
        let public = "https://mainstay.example:8443/mcp";
        for (address, audience, rpc, own) in [
            ("127.0.0.1:80", None, Some("http://127.0.0.1:80/rpc"), Some("http://127.0.0.1:80/")),
            ("[::1]:80", None, Some("http://[::1]:80/rpc"), Some("http://[::1]:80/")),
            ("0.0.0.0:80", Some(public), Some("https://mainstay.example:8443/rpc"), None),
            ("[::]:80", Some(public), Some("https://mainstay.example:8443/rpc"), None),
            ("0.0.0.0:80", Some("urn:mainstay"), None, None),
            ("10.0.0.1:80", Some("urn:mainstay"), Some("http://10.0.0.1:80/rpc"), Some("http://10.0.0.1:80/")),
        ] {
            let (address, settings) =
                (address.parse().unwrap(), ServerSettings { auth: audience.map(auth), ..ServerSettings::default() });
            assert_eq!(endpoint(address, &settings).as_deref(), rpc, "{address} {audience:?}");
            assert_eq!(own_endpoint(address).as_deref(), own, "{address} {audience:?}");
        }
    }
}
