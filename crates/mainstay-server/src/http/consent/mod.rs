//! `/api/mcp/consent/{id}`: a request for consent, as JSON for programs and as a page for people.

mod cookie;
mod page;
mod seal;
mod sign_in;

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, StatusCode, header};
use mainstay_core::{Caller, Error, Kind};
use mainstay_engine::oauth::Failures;
use mainstay_engine::{ConsentRefusal, ConsentView, Engine, Inquiry};
use serde::Deserialize;
use serde_json::json;

use super::auth::Doors;
use super::body;
use crate::connection::Connection;

pub(crate) use cookie::Cookies;
pub(crate) use page::style;
use seal::{Deed, Seal};
use sign_in::SignedIn;
pub(crate) use sign_in::with_sign_in;

/// The longest decision, in bytes.
const DECISION: usize = 16 * 1024;

const FORM: &str = "application/x-www-form-urlencoded";

pub(crate) struct Endpoint {
    engine: Engine,
    doors: Doors,
    cookies: Cookies,
    seal: Seal,
    /// Tokens that were no good, by where they came from.
    failures: Failures,
}

/// Who came.
struct Visitor<'a> {
    caller: Arc<Caller>,
    headers: &'a HeaderMap,
    /// On the page, and not by a header.
    signed_in: bool,
}

impl<'a> Visitor<'a> {
    fn of(parts: &'a Parts) -> Option<Self> {
        let caller = parts.extensions.get::<Connection>()?.caller.clone();
        Some(Self { caller, headers: &parts.headers, signed_in: parts.extensions.get::<SignedIn>().is_some() })
    }
}

const FOREIGN_FORM: &str = "This form does not come from the page of this request, or is too old. Open the page again.";

/// How much of an id that somebody made up is recorded.
const SHOWN_ID: usize = 64;

/// What somebody says to a request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    decision: Word,
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Word {
    Approved,
    Denied,
}

impl Endpoint {
    pub(crate) fn new(engine: Engine, doors: Doors, cookies: Cookies) -> Arc<Self> {
        Arc::new(Self { engine, doors, cookies, seal: Seal::default(), failures: Failures::default() })
    }
}

pub(crate) async fn show(State(endpoint): State<Arc<Endpoint>>, Path(id): Path<String>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let Some(visitor) = Visitor::of(&parts) else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let looked = endpoint.engine.find_consent(&visitor.caller, &id);
    let found = endpoint.attend(&visitor, "show", &id, looked).await;
    if !wants_page(&parts.headers) {
        return match found {
            Ok(consent) => described(&consent).into_response(),
            Err(refusal) => refused(&refusal),
        };
    }
    match found {
        Ok(consent) => page::of(&endpoint, &visitor, &consent).await,
        Err(refusal) => page::refused(status(&refusal), &refusal.to_string()),
    }
}

pub(crate) async fn decide(
    State(endpoint): State<Arc<Endpoint>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let Some(visitor) = Visitor::of(&parts) else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    match kind(&parts.headers).as_str() {
        "application/json" => endpoint.by_json(&visitor, &id, body).await,
        FORM => endpoint.by_form(&visitor, &id, body).await,
        _ => error(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Send the decision as application/json."),
    }
}

impl Endpoint {
    async fn by_json(&self, visitor: &Visitor<'_>, id: &str, body: Body) -> Response {
        let bytes = match read(body).await {
            Ok(bytes) => bytes,
            Err(response) => return *response,
        };
        let said: Said = match serde_json::from_slice(&bytes) {
            Ok(said) => said,
            Err(reason) => {
                let hint =
                    "Send {\"decision\": \"approved\"} or {\"decision\": \"denied\"}, with a \"reason\" if you like";
                return error(StatusCode::BAD_REQUEST, &format!("{hint}: {reason}."));
            }
        };
        let ruling = async {
            self.engine.admit_unseen_decision(&visitor.caller, id).await?;
            self.rule(&visitor.caller, id, &said).await
        };
        match self.attend(visitor, "decide", id, ruling).await {
            Ok(consent) => {
                let status = consent.standing.as_str();
                Json(json!({"success": true, "consent_id": consent.id, "status": status})).into_response()
            }
            Err(refusal) => refused(&refusal),
        }
    }

    async fn by_form(&self, visitor: &Visitor<'_>, id: &str, body: Body) -> Response {
        let bytes = match read(body).await {
            Ok(bytes) => bytes,
            Err(response) => return *response,
        };
        let (mut csrf, mut decision, mut reason) = (None, None, None);
        for (name, value) in form_urlencoded::parse(&bytes) {
            match name.as_ref() {
                "csrf" => csrf = Some(value),
                "decision" => decision = Some(value),
                "reason" => reason = Some(value.into_owned()),
                _ => {}
            }
        }
        let deed = Deed::Decide { id, by: visitor.caller.principal.as_str() };
        let ruling = async {
            if !self.seal.fits(&self.engine, visitor.headers, deed, csrf.as_deref().unwrap_or_default()).await? {
                return Err(ConsentRefusal::NotAllowed(FOREIGN_FORM.to_owned()));
            }
            let decision = match decision.as_deref() {
                Some("approved") => Word::Approved,
                Some("denied") => Word::Denied,
                Some(_) | None => return Err(Error::invalid("The form says neither yes nor no.").into()),
            };
            self.rule(&visitor.caller, id, &Said { decision, reason }).await
        };
        match self.attend(visitor, "decide", id, ruling).await {
            Ok(consent) => page::of(self, visitor, &consent).await,
            Err(refusal) => page::refused(status(&refusal), &refusal.to_string()),
        }
    }

    async fn rule(&self, caller: &Caller, id: &str, said: &Said) -> Result<ConsentView, ConsentRefusal> {
        self.engine.decide_consent(caller, id, said.decision == Word::Approved, said.reason.as_deref()).await
    }

    /// Looking and deciding count against a client's rate like anything else, and whatever comes of it is recorded: who
    /// tries what is not theirs shall not do so unseen.
    async fn attend<T>(
        &self,
        visitor: &Visitor<'_>,
        what: &str,
        id: &str,
        work: impl Future<Output = Result<T, ConsentRefusal>>,
    ) -> Result<T, ConsentRefusal> {
        let id: String = id.chars().take(SHOWN_ID).collect();
        let mut inquiry = Inquiry::new(format!("consent/{what} {id}"), visitor.caller.clone());
        inquiry.dialect = Some("agents");
        let mut ended = None;
        let recorded = self.engine.attend(inquiry, async {
            let result = work.await;
            let told = result.as_ref().map(|_| ()).map_err(ConsentRefusal::error);
            ended = Some(result);
            told
        });
        match (recorded.await, ended) {
            (_, Some(result)) => result,
            (Err(refusal), None) => Err(refusal.into()),
            (Ok(()), None) => Err(Error::internal("an inquiry ended without a result").into()),
        }
    }
}

async fn read(body: Body) -> Result<Bytes, Box<Response>> {
    body::read(body, DECISION, |refusal| json!({"error": refusal.message}).to_string()).await
}

/// What the body is said to be, without what is said about that.
fn kind(headers: &HeaderMap) -> String {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn wants_page(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.any(|value| value.to_ascii_lowercase().contains("text/html"))
}

fn described(consent: &ConsentView) -> impl IntoResponse + use<> {
    let body = Json(json!({
        "consent_id": consent.id,
        "status": consent.standing.as_str(),
        "operation": consent.operation,
        "summary": consent.summary,
        "arguments": consent.arguments,
        "requested_by": consent.requested_by,
        "expires_at": consent.expires_at,
        "decided_by": consent.decided_by,
        "reason": consent.reason,
    }));
    ([(header::CACHE_CONTROL, "no-store")], body)
}

fn refused(refusal: &ConsentRefusal) -> Response {
    error(status(refusal), &refusal.to_string())
}

fn error(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({"success": false, "error": message}))).into_response()
}

fn status(refusal: &ConsentRefusal) -> StatusCode {
    match refusal {
        ConsentRefusal::NotFound(_) => StatusCode::NOT_FOUND,
        ConsentRefusal::Decided(_) => StatusCode::CONFLICT,
        ConsentRefusal::Expired => StatusCode::GONE,
        ConsentRefusal::NotAllowed(_) => StatusCode::FORBIDDEN,
        ConsentRefusal::Failed(error) if error.kind == Kind::Invalid => StatusCode::BAD_REQUEST,
        ConsentRefusal::Failed(error) if error.kind == Kind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        ConsentRefusal::Failed(error) => {
            tracing::error!(detail = error.detail, "a consent could not be looked at or decided");
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}
