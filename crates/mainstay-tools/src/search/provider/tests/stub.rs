//! A service on this machine that answers as a test tells it.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use axum::routing::any;
use parking_lot::Mutex;
use serde_json::{Value, json};

/// What the stub does with a request.
#[derive(Clone)]
pub(super) enum Reply {
    /// Vectors of the texts, as [`vector`] makes them.
    Vectors,
    /// The same, the last one first.
    Shuffled,
    Http {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: String,
    },
    /// A body without a length.
    Unbounded {
        bytes: usize,
    },
    /// No response at all.
    Silence,
    After(Duration, Box<Reply>),
}

impl Reply {
    pub(super) fn json(body: &Value) -> Self {
        Self::Http { status: 200, headers: Vec::new(), body: body.to_string() }
    }

    pub(super) fn status(status: u16) -> Self {
        Self::Http { status, headers: Vec::new(), body: String::new() }
    }
}

/// A request that arrived.
#[derive(Clone)]
pub(super) struct Seen {
    pub(super) body: Value,
    pub(super) authorization: Option<String>,
    pub(super) path: String,
}

type Script = Arc<dyn Fn(usize) -> Reply + Send + Sync>;

#[derive(Clone)]
struct Shared {
    script: Script,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// How many requests run, and how many did at most.
    running: Arc<Mutex<(usize, usize)>>,
}

pub(super) struct Stub {
    pub(super) url: String,
    shared: Shared,
    task: tokio::task::JoinHandle<()>,
}

impl Stub {
    /// Starts a service that answers by this function of the number of the request, from 0.
    pub(super) async fn start(script: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1/embeddings", listener.local_addr().unwrap());
        let shared = Shared { script: Arc::new(script), seen: Arc::default(), running: Arc::default() };
        let router = Router::new().fallback(any(answer)).with_state(shared.clone());
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, shared, task }
    }

    /// Starts a service that answers everything the same way.
    pub(super) async fn always(reply: Reply) -> Self {
        Self::start(move |_| reply.clone()).await
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().clone()
    }

    pub(super) fn most_at_a_time(&self) -> usize {
        self.shared.running.lock().1
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The vector of a text: its number of bytes, and 1. Not of length 1, as those of some models.
pub(super) fn vector(text: &str) -> [f64; 2] {
    [f64::from(u32::try_from(text.len()).unwrap()), 1.0]
}

async fn answer(State(shared): State<Shared>, uri: axum::http::Uri, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let body: Value = serde_json::from_slice(&body).unwrap();
    let authorization = headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
    let number = {
        let mut seen = shared.seen.lock();
        seen.push(Seen { body: body.clone(), authorization, path: uri.path().to_owned() });
        seen.len() - 1
    };
    {
        let mut running = shared.running.lock();
        running.0 += 1;
        running.1 = running.1.max(running.0);
    }
    let response = respond((shared.script)(number), &body).await;
    shared.running.lock().0 -= 1;
    response
}

async fn respond(mut reply: Reply, request: &Value) -> Response<Body> {
    while let Reply::After(wait, then) = reply {
        tokio::time::sleep(wait).await;
        reply = *then;
    }
    let texts: Vec<&str> = request["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    let mut data: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| json!({"object": "embedding", "index": index, "embedding": vector(text)}))
        .collect();
    match reply {
        Reply::Vectors => Response::new(json!({"object": "list", "data": data}).to_string().into()),
        Reply::Shuffled => {
            data.reverse();
            Response::new(json!({"object": "list", "data": data}).to_string().into())
        }
        Reply::Http { status, headers, body } => {
            let mut response = Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            response.body(body.into()).unwrap()
        }
        Reply::Unbounded { bytes } => {
            let pieces = std::iter::repeat_n(Bytes::from(vec![b' '; 1024]), bytes / 1024).map(Ok::<_, std::io::Error>);
            Response::new(Body::from_stream(futures::stream::iter(pieces)))
        }
        Reply::Silence => std::future::pending().await,
        Reply::After(..) => unreachable!("waited for above"),
    }
}
