//! The HTTP listener: its routes, its connections, and how it stops.

mod auth;
pub(crate) mod guard;
mod health;
mod mcp;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{any, get};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulConnection, GracefulShutdown};
use hyper_util::service::TowerToHyperService;
use mainstay_core::CancellationToken;
use mainstay_engine::{Engine, Lane};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tower::ServiceExt as _;

use crate::mcp::Shared;
use crate::{About, ServerSettings, StartError};

/// From the end of the last call to the end of its reply.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// How long a reader may take to take in what was written for it before.
const CLOSING: Duration = Duration::from_secs(3);

/// A connection that has not said by then what it wants is closed.
const HEADERS: Duration = Duration::from_secs(30);

/// What the accept loop knows of a connection; every request on it carries this.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) peer: SocketAddr,
    pub(crate) lane: Lane,
}

/// A listener that has its address and has not begun to serve.
pub struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
    engine: Engine,
    connections: usize,
    open: CancellationToken,
}

/// Takes the address and makes everything ready; refuses what would be unsafe to serve.
pub async fn bind(engine: &Engine, about: &About, settings: &ServerSettings) -> Result<Bound, StartError> {
    if settings.auth.is_none() && !settings.listen.ip().is_loopback() {
        return Err(StartError::PublicWithoutAuth(settings.listen));
    }
    let verifier = settings.auth.as_ref().map(auth::Verifier::new).transpose()?.map(Arc::new);
    let listen_error = |reason| StartError::Listen { address: settings.listen, reason };
    let listener = TcpListener::bind(settings.listen).await.map_err(listen_error)?;
    let address = listener.local_addr().map_err(listen_error)?;
    let guard = Arc::new(guard::Guard::new(address, settings)?);
    let open = CancellationToken::new();
    let endpoint = Arc::new(mcp::Endpoint::new(Arc::new(Shared::new(engine.clone(), about)), settings, open.clone()));
    let doors = auth::Doors { verifier };
    let router = routes(engine, &endpoint, &doors, guard);
    Ok(Bound { listener, address, router, engine: engine.clone(), connections: settings.connections, open })
}

/// Every route there is: the router is built from this list and the tests walk it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    Mcp,
    Metrics,
    Health,
    Metadata,
    McpMetadata,
}

/// Who may use a route when authentication is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Token,
    Everybody,
}

impl Route {
    pub const ALL: [Self; 5] = [Self::Mcp, Self::Metrics, Self::Health, Self::Metadata, Self::McpMetadata];

    pub fn path(self) -> &'static str {
        match self {
            Self::Mcp => "/mcp",
            Self::Metrics => "/metrics",
            Self::Health => "/health",
            Self::Metadata => "/.well-known/oauth-protected-resource",
            Self::McpMetadata => "/.well-known/oauth-protected-resource/mcp",
        }
    }

    pub fn access(self) -> Access {
        match self {
            Self::Mcp | Self::Metrics => Access::Token,
            // A load balancer has no token, and a client without one has to learn where to get it.
            Self::Health | Self::Metadata | Self::McpMetadata => Access::Everybody,
        }
    }
}

/// A request meets the guard first, then the token check of its route.
fn routes(engine: &Engine, endpoint: &Arc<mcp::Endpoint>, doors: &auth::Doors, guard: Arc<guard::Guard>) -> Router {
    let mut router = Router::new();
    for route in Route::ALL {
        let handler = match route {
            Route::Mcp => any(mcp::serve).with_state(endpoint.clone()),
            Route::Metrics => get(health::metrics).with_state(engine.clone()),
            Route::Health => get(health::health).with_state(engine.clone()),
            Route::Metadata | Route::McpMetadata => get(auth::metadata).with_state(doors.clone()),
        };
        let handler = match route.access() {
            Access::Token => handler.layer(from_fn_with_state(doors.clone(), auth::identify)),
            Access::Everybody => handler,
        };
        router = router.route(route.path(), handler);
    }
    router.layer(from_fn(move |request, next| {
        let guard = guard.clone();
        async move { guard.check(request, next).await }
    }))
}

impl Bound {
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop`, then lets the requests under way finish.
    pub async fn serve(self, stop: CancellationToken) {
        let places = Arc::new(Semaphore::new(self.connections.max(1)));
        let graceful = GracefulShutdown::new();
        loop {
            let place = places.clone().acquire_owned();
            let (place, accepted) = tokio::select! {
                accepted = async { (place.await, self.listener.accept().await) } => accepted,
                () = stop.cancelled() => break,
            };
            match accepted {
                Ok((stream, peer)) => {
                    let connection = self.connection(stream, peer);
                    let watched = graceful.watch(connection);
                    tokio::spawn(async move {
                        if let Err(error) = watched.await {
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
        drop(self.listener);
        let closed = tokio::spawn(graceful.shutdown());
        self.engine.drain().await;
        // The last replies are on their way; what is still open after them are streams that would stay so for ever.
        tokio::time::sleep(LAST_WORDS).await;
        self.open.cancel();
        let _ = tokio::time::timeout(CLOSING, closed).await;
    }

    fn connection(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
    ) -> impl GracefulConnection<Error = hyper::Error> + Send + 'static {
        // Small answers must not wait for the client's acknowledgement of the last one.
        let _ = stream.set_nodelay(true);
        let connection = Connection { peer, lane: self.engine.lane() };
        let service = self.router.clone().map_request(move |mut request: http::Request<Incoming>| {
            request.extensions_mut().insert(connection.clone());
            request.map(axum::body::Body::new)
        });
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADERS)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service))
    }
}
