//! Listening: binding the addresses, accepting connections, serving their requests, and stopping.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use futures::future::join_all;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use mainstay_auth::{AuthSettings, Authenticator};
use mainstay_core::{BoxFuture, CancellationToken};
use mainstay_engine::Engine;
use mainstay_wire::{DialectEntry, Endpoint, agents, context, mira};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_io_timeout::TimeoutWriter;

use super::body_memory::{UnfinishedBodies, unsent_limit};
use super::connection_limit::{ConnectionLimit, Place};
use super::dialect::DialectEndpoint;
use super::http2::{self, Streams};
use super::openapi::openapi;
use super::route::message;
use super::routes::{Route, Services, router, routes};
use super::service::{self, ServedBody};
use super::{api, consent, guard, mcp, ws};
use crate::connection::{OpenConnections, Peer};
use crate::dialect::Dispatcher;
use crate::mcp::Shared;
use crate::memory_limit::MemoryLimit;
use crate::{About, ServerSettings, StartError};

/// Between the end of the last call and the end of the streams: its response is still being written.
const RESPONSE_GRACE: Duration = Duration::from_millis(100);

/// How long a stopping server waits for clients to read what was written before.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// A connection that has not sent the headers of a request by then is closed.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a write may wait for the client to read. Without it, a client that stops reading would hold its connection,
/// its call and the buffered response for ever.
const WRITE_TIMEOUT: Duration = Duration::from_mins(1);

/// A server that has its addresses and does not accept connections yet.
pub struct Bound {
    main: Listener,
    mira: Option<Listener>,
    engine: Engine,
    open: OpenConnections,
}

struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    router: Router,
    /// Shared by all listeners: the files that a process may have open are, too.
    limit: ConnectionLimit,
    bodies: UnfinishedBodies,
    unsent: MemoryLimit,
}

/// Binds the addresses and builds the router. Fails if it would be unsafe to serve: on a public address without
/// authentication, for one.
///
/// `dialects` are all that the server knows; `more_routes` are paths for some of them besides those in the route table.
pub async fn bind(
    engine: &Engine,
    about: &About,
    settings: &ServerSettings,
    dialects: &[DialectEntry],
    more_routes: &[(&'static str, &'static str)],
) -> Result<Bound, StartError> {
    let open = OpenConnections::default();
    let (socket, address) = bind_address(settings.listen, "--listen", settings).await?;
    let authenticator = Authenticator::new(engine.auth_backend(), settings.auth.as_ref(), address, mcp::PATH)?;
    let dialect = |name: &'static str, url: Option<String>| {
        let unusable = |reason: String| StartError::Dialect(name, reason);
        let entry = dialects.iter().find(|entry| entry.name == name);
        let entry = entry.ok_or_else(|| unusable("it is not in the list of dialects".to_owned()))?;
        let dialect = (entry.build)(context::DEFAULT_TOOL_TIMEOUT);
        let dialect = dialect.map_err(|error| unusable(error.detail.unwrap_or_default()))?;
        let message_bytes = dialect.limits().message_bytes.unwrap_or(settings.message_bytes);
        let endpoint = Endpoint::Http { url, auth_required: settings.auth.is_some() };
        let dispatcher = Arc::new(Dispatcher::new(engine.clone(), dialect, endpoint, about.version));
        Ok::<_, StartError>(Arc::new(DialectEndpoint { dispatcher, message_bytes }))
    };
    let mut routes = routes();
    routes.extend(more_routes.iter().map(|(path, name)| Route::dialect(path, name, message("dialect", name))));
    let origin = origin(address, settings);
    let shared = Arc::new(Shared::new(engine.clone(), about));
    let consents = consent::Consents::new(engine.clone(), authenticator.clone(), origin.as_deref());
    if let Some(origin) = &origin {
        engine.consent().set_origin(origin.clone());
    }
    let services = Services {
        engine: engine.clone(),
        mcp: Arc::new(mcp::Endpoint::new(shared, settings, authenticator.clone(), open.streams.clone())),
        api: Arc::new(api::Api {
            dispatcher: dialect(agents::NAME, None)?.dispatcher.clone(),
            protected: about.protected.clone(),
            issues_tokens: authenticator.authorization_server().is_some(),
        }),
        consents,
        ws: Arc::new(ws::Endpoint {
            engine: engine.clone(),
            authenticator: authenticator.clone(),
            limit: ws::connection_limit(settings.websockets),
            open: open.clone(),
        }),
        openapi: openapi(about.version, settings.auth.is_some()).to_string().into(),
        dialect: &dialect,
        origin,
        authenticator,
    };
    let limit = ConnectionLimit::within_open_files(settings.connections);
    let bodies = UnfinishedBodies::new(settings.unfinished_bytes);
    let unsent = unsent_limit(settings.unsent_bytes);
    let listener = |socket, address, router| {
        let router = guarded(router, address, settings)?;
        let (limit, bodies, unsent) = (limit.clone(), bodies.clone(), unsent.clone());
        Ok::<_, StartError>(Listener { socket, address, router, limit, bodies, unsent })
    };
    let main = listener(socket, address, router(routes, &services)?)?;
    let mira = match settings.mira_listen {
        None => None,
        Some(wanted) => {
            let (socket, address) = bind_address(wanted, "server.mira_listen", settings).await?;
            // No setting names another URL of the extra listener than its own.
            let services = Services { origin: own_origin(address), ..services };
            let route = Route::dialect("/", mira::NAME, message("mira", "Call a tool by JSON-RPC"));
            Some(listener(socket, address, router(vec![route], &services)?)?)
        }
    };
    Ok(Bound { main, mira, engine: engine.clone(), open })
}

/// Scheme, host and port under which clients reach this server: those of the audience of its tokens, or else of its
/// address, if that is a single one.
fn origin(address: SocketAddr, settings: &ServerSettings) -> Option<String> {
    settings.auth.as_ref().and_then(AuthSettings::origin).or_else(|| own_origin(address))
}

/// Scheme, host and port of a listener, if its address is a single one.
fn own_origin(address: SocketAddr) -> Option<String> {
    (!address.ip().is_unspecified()).then(|| format!("http://{address}"))
}

async fn bind_address(
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

/// Checks the Host and Origin headers of every request before anything else.
fn guarded(router: Router, address: SocketAddr, settings: &ServerSettings) -> Result<Router, StartError> {
    Ok(router.layer(from_fn_with_state(Arc::new(guard::Guard::new(address, settings)?), guard::check)))
}

impl Bound {
    pub fn address(&self) -> SocketAddr {
        self.main.address
    }

    /// The address of the extra listener for the dialect `mira`.
    pub fn mira_address(&self) -> Option<SocketAddr> {
        self.mira.as_ref().map(|listener| listener.address)
    }

    /// Serves until `stop`, then waits for the requests under way. Boxed, so that it is compiled in this crate alone.
    pub fn serve(self, stop: CancellationToken) -> BoxFuture<'static, ()> {
        Box::pin(self.accept_until(stop))
    }

    async fn accept_until(self, stop: CancellationToken) {
        let listeners = std::iter::once(self.main).chain(self.mira);
        let accepting = listeners.map(|listener| listener.accept(&self.engine, &self.open, &stop));
        join_all(accepting).await;
        self.open.closing.cancel();
        self.open.tasks.close();
        self.engine.drain().await;
        tokio::time::sleep(RESPONSE_GRACE).await;
        self.open.streams.cancel();
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.open.tasks.wait()).await;
    }
}

impl Listener {
    /// Accepts connections until `stop`; then the address is released.
    async fn accept(self, engine: &Engine, open: &OpenConnections, stop: &CancellationToken) {
        // While a connection waits for its place, further ones wait in the kernel's queue.
        let accepting = async || {
            let accepted = self.socket.accept().await?;
            Ok::<_, std::io::Error>((accepted, self.limit.take(&open.closing).await))
        };
        while let Some(accepted) = stop.run_until_cancelled(accepting()).await {
            match accepted {
                Ok(((stream, peer), Some(place))) => {
                    let served = self.serve(engine, stream, peer, place, open.closing.clone());
                    open.tasks.spawn(async move {
                        if let Err(error) = served.await {
                            tracing::debug!(%peer, %error, "connection ended");
                        }
                    });
                }
                Ok((_, None)) => break,
                // Out of file descriptors, or the client is already gone: neither is a reason to stop.
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    /// Serves one connection until it ends, until its place is needed for another one or, once `closing` is cancelled,
    /// until the requests under way are answered.
    fn serve(
        &self,
        engine: &Engine,
        stream: TcpStream,
        address: SocketAddr,
        place: Place,
        closing: CancellationToken,
    ) -> impl Future<Output = hyper::Result<()>> + Send + use<> {
        // Without it (Nagle's algorithm), a small response waits for the acknowledgement of the one before.
        let _ = stream.set_nodelay(true);
        let (activity, unsent) = (place.activity.clone(), self.unsent.clone());
        let peer = Peer { address, lane: engine.lane(), activity, unsent };
        let (router, bodies, limit) = (self.router.clone(), self.bodies.clone(), self.limit.clone());
        async move {
            let begun = tokio::time::timeout(HEADER_TIMEOUT, http2::is_begun(&stream));
            match place.close.run_until_cancelled(begun).await {
                Some(Ok(false)) => {
                    let service = service_fn(move |request| {
                        let served = service::serve(router.clone(), peer.clone(), bodies.clone(), None, request);
                        async move { Ok::<_, Infallible>(served.await) }
                    });
                    serve_http1(stream, service, place, closing).await
                }
                Some(Ok(true)) => {
                    let streams = Streams::new(limit);
                    let of_request = streams.clone();
                    let service = service_fn(move |request| {
                        let (peer, streams) = (peer.on_stream(), Some(of_request.clone()));
                        let served = service::serve(router.clone(), peer, bodies.clone(), streams, request);
                        async move { Ok::<_, Infallible>(served.await) }
                    });
                    // Boxed: its state is larger than that of HTTP/1.1, which most connections speak.
                    Box::pin(serve_http2(stream, service, streams, place, closing)).await
                }
                // It has sent nothing.
                Some(Err(_)) | None => Ok(()),
            }
        }
    }
}

async fn serve_http1<S>(stream: TcpStream, service: S, place: Place, closing: CancellationToken) -> hyper::Result<()>
where
    S: Service<Request<Incoming>, Response = Response<ServedBody>, Error = Infallible, Future: Send>,
{
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(with_write_timeout(stream)), service)
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => return ended,
        () = place.close.cancelled() => {}
    }
    if !closing.is_cancelled() {
        return Ok(());
    }
    connection.as_mut().graceful_shutdown();
    connection.await
}

async fn serve_http2<I, S>(
    stream: I,
    service: S,
    streams: Streams,
    place: Place,
    closing: CancellationToken,
) -> hyper::Result<()>
where
    I: AsyncRead + AsyncWrite + 'static,
    S: Service<Request<Incoming>, Response = Response<ServedBody>, Error = Infallible, Future: Send + 'static>,
{
    let connection = http2::builder().serve_connection(TokioIo::new(with_write_timeout(stream)), service);
    let mut connection = std::pin::pin!(connection);
    // A connection that expires is asked to end at first: no further request comes, and those under way are answered, as
    // far as they are read. It may carry requests of others than the one who does not read.
    for idle in [HEADER_TIMEOUT, CLOSE_TIMEOUT] {
        tokio::select! {
            ended = connection.as_mut() => return ended,
            () = place.close.cancelled() => {
                if !closing.is_cancelled() {
                    return Ok(());
                }
                connection.as_mut().graceful_shutdown();
                return connection.await;
            }
            () = streams.expired(&place.activity, idle, WRITE_TIMEOUT) => connection.as_mut().graceful_shutdown(),
        }
    }
    Ok(())
}

/// The stream, whose writes fail after [`WRITE_TIMEOUT`]. The timer runs while a write is pending: an idle stream does
/// not time out.
fn with_write_timeout<S: AsyncWrite>(stream: S) -> Pin<Box<TimeoutWriter<S>>> {
    let mut stream = TimeoutWriter::new(stream);
    stream.set_timeout(Some(WRITE_TIMEOUT));
    Box::pin(stream)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http_body_util::BodyExt as _;
    use hyper::client::conn::http2::SendRequest;
    use hyper_util::rt::TokioExecutor;
    use mainstay_core::Principal;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
    use tokio::task::JoinHandle;
    use tokio::time::Instant;

    use super::super::body_memory::Unsent;
    use super::*;
    use crate::connection::Activity;

    #[test]
    fn the_endpoint_url_is_the_one_clients_use_or_none() {
        let auth = |audience: &str| AuthSettings::Local { audience: Some(audience.to_owned()) };
        let public = "https://mainstay.example:8443/mcp";
        for (address, audience, url, own) in [
            ("127.0.0.1:80", None, Some("http://127.0.0.1:80"), Some("http://127.0.0.1:80")),
            ("[::1]:80", None, Some("http://[::1]:80"), Some("http://[::1]:80")),
            ("0.0.0.0:80", Some(public), Some("https://mainstay.example:8443"), None),
            ("[::]:80", Some(public), Some("https://mainstay.example:8443"), None),
            ("0.0.0.0:80", Some("urn:mainstay"), None, None),
            ("10.0.0.1:80", Some("urn:mainstay"), Some("http://10.0.0.1:80"), Some("http://10.0.0.1:80")),
        ] {
            let (address, settings) =
                (address.parse().unwrap(), ServerSettings { auth: audience.map(auth), ..ServerSettings::default() });
            assert_eq!(origin(address, &settings).as_deref(), url, "{address} {audience:?}");
            assert_eq!(own_origin(address).as_deref(), own, "{address} {audience:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_times_out() {
        let (_reader, writer) = tokio::io::duplex(4);
        let refused = with_write_timeout(writer).write_all(b"more than four").await.unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn slow_reads_and_idle_writes_do_not_time_out() {
        let (mut reader, writer) = tokio::io::duplex(4);
        let writing = tokio::spawn(async move {
            let mut writer = with_write_timeout(writer);
            writer.write_all(b"more than four").await?;
            tokio::time::sleep(10 * WRITE_TIMEOUT).await;
            writer.write_all(b".").await
        });
        let mut read = Vec::new();
        while read.len() < 14 {
            tokio::time::sleep(WRITE_TIMEOUT / 2).await;
            read.push(reader.read_u8().await.unwrap());
        }
        assert_eq!(reader.read_u8().await.unwrap(), b'.');
        writing.await.unwrap().unwrap();
    }

    const LENGTH: usize = 1_000_000;

    /// A connection on which every request is answered with so many bytes.
    fn answering(unsent: &MemoryLimit) -> (DuplexStream, JoinHandle<hyper::Result<()>>) {
        let (client, server) = tokio::io::duplex(4096);
        let (limit, activity) = (unsent.clone(), Arc::new(Activity::default()));
        activity.identified(&Principal::new("https://issuer", "ann"));
        let service = service_fn(move |_| {
            let (body, mut unsent) = (Body::from(vec![b'x'; LENGTH]), Unsent::new(limit.clone(), activity.clone()));
            unsent.reserve(&body).unwrap();
            let body = ServedBody::new(body, unsent, activity.serve(), None);
            std::future::ready(Ok::<_, Infallible>(Response::new(body)))
        });
        let io = TokioIo::new(with_write_timeout(server));
        let connection = http1::Builder::new().timer(TokioTimer::new()).serve_connection(io, service);
        (client, tokio::spawn(connection))
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_is_counted_until_it_is_read() {
        let (unsent, ann) = (unsent_limit(3 * LENGTH), Principal::new("https://issuer", "ann"));
        let (mut client, _serving) = answering(&unsent);
        client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let mut read = vec![0; LENGTH / 2];
        client.read_exact(&mut read).await.unwrap();
        assert!(!unsent.has_room(Some(&ann)), "a part of it is in memory as long as the rest is");
        client.read_exact(&mut read).await.unwrap();
        tokio::time::timeout(Duration::from_secs(1), unsent.room(Some(&ann))).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_whose_response_nobody_reads_is_closed_and_its_memory_given_back() {
        let (unsent, ann) = (unsent_limit(3 * LENGTH), Principal::new("https://issuer", "ann"));
        let (mut client, serving) = answering(&unsent);
        client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        tokio::time::sleep(WRITE_TIMEOUT / 2).await;
        assert!(!unsent.has_room(Some(&ann)));
        assert!(serving.await.unwrap().is_err());
        assert!(unsent.has_room(Some(&ann)));
    }

    /// The same for HTTP/2, with a client that lets a response be written up to 64 KiB ahead.
    async fn answering_http2(unsent: &MemoryLimit) -> (SendRequest<Body>, JoinHandle<hyper::Result<()>>) {
        let (client, server) = tokio::io::duplex(4096);
        let closing = CancellationToken::new();
        let limit = ConnectionLimit::within_open_files(10);
        let place = limit.take(&closing).await.unwrap();
        let (streams, connection, unsent) = (Streams::new(limit), place.activity.clone(), unsent.clone());
        let of_request = streams.clone();
        let service = service_fn(move |_| {
            let (activity, streams, unsent) = (connection.stream(), of_request.clone(), unsent.clone());
            async move {
                let serving = activity.serve();
                let pieces = streams.admit(&serving).await.ok();
                activity.identified(&Principal::new("https://issuer", "ann"));
                let (body, mut unsent) = (Body::from(vec![b'x'; LENGTH]), Unsent::new(unsent, activity));
                unsent.reserve(&body).unwrap();
                Ok::<_, Infallible>(Response::new(ServedBody::new(body, unsent, serving, pieces)))
            }
        });
        let serving = tokio::spawn(serve_http2(server, service, streams, place, closing));
        let mut builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(64 * 1024);
        let (requests, connection) = builder.handshake(TokioIo::new(client)).await.unwrap();
        tokio::spawn(connection);
        (requests, serving)
    }

    fn get() -> Request<Body> {
        Request::get("http://localhost/").body(Body::empty()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_of_http2_is_closed_as_one_of_http1_is() {
        let (mut requests, serving) = answering_http2(&unsent_limit(3 * LENGTH)).await;
        tokio::time::sleep(HEADER_TIMEOUT / 2).await;
        let reply = requests.send_request(get()).await.unwrap();
        assert_eq!(reply.into_body().collect().await.unwrap().to_bytes().len(), LENGTH);
        let begun = Instant::now();
        let _ = serving.await.unwrap();
        assert!((HEADER_TIMEOUT..HEADER_TIMEOUT + CLOSE_TIMEOUT).contains(&begun.elapsed()), "{:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_finish_the_preface_is_disconnected() {
        let (mut client, server) = tokio::io::duplex(4096);
        let (limit, closing) = (ConnectionLimit::within_open_files(10), CancellationToken::new());
        let place = limit.take(&closing).await.unwrap();
        let service = service_fn(|_| std::future::pending());
        let serving = tokio::spawn(serve_http2(server, service, Streams::new(limit), place, closing));
        client.write_all(b"PRI * HTTP/2.0").await.unwrap();
        let begun = Instant::now();
        let _ = serving.await.unwrap();
        assert_eq!(begun.elapsed(), HEADER_TIMEOUT + CLOSE_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_of_http2_whose_response_nobody_reads_is_closed_and_its_memory_given_back() {
        let (unsent, ann) = (unsent_limit(4 * LENGTH), Principal::new("https://issuer", "ann"));
        let (mut requests, serving) = answering_http2(&unsent).await;
        let unread = requests.send_request(get()).await.unwrap();
        tokio::time::sleep(WRITE_TIMEOUT / 2).await;
        assert!(!unsent.has_room(Some(&ann)));
        // Its socket has room, and it answers pings all the while.
        let read = requests.send_request(get()).await.unwrap();
        assert_eq!(read.into_body().collect().await.unwrap().to_bytes().len(), LENGTH);
        let begun = Instant::now();
        let _ = serving.await.unwrap();
        assert!(begun.elapsed() < 2 * WRITE_TIMEOUT, "{:?}", begun.elapsed());
        assert!(unread.into_body().collect().await.is_err());
        tokio::time::timeout(Duration::from_secs(1), unsent.room(Some(&ann))).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_of_http2_that_is_read_slowly_arrives() {
        let (mut requests, _serving) = answering_http2(&unsent_limit(3 * LENGTH)).await;
        let mut body = requests.send_request(get()).await.unwrap().into_body();
        let mut read = 0;
        while let Some(frame) = body.frame().await {
            read += frame.unwrap().into_data().unwrap().len();
            // The client allows more when it has read half of what it allowed before, which is two frames.
            tokio::time::sleep(WRITE_TIMEOUT / 3).await;
        }
        assert_eq!(read, LENGTH);
    }
}
