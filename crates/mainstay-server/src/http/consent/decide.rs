//! Showing a consent request and deciding it, by JSON and by form.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use mainstay_auth::consent::ConsentView;
use mainstay_core::{Call, DialectPolicy, Error, Kind, Quota, QuotaKind, Reason, Result};
use mainstay_wire::agents;
use serde::Deserialize;
use serde_json::json;

use super::csrf::FormAction;
use super::{Consents, Visitor, form_field, page, read_body};
use crate::http::body::{self, Rejection};
use crate::http::{api, request_headers};

const FOREIGN_FORM: &str =
    "This form was not sent from the page of this request, or the page is too old. Open the page again.";

/// How much of an id is recorded: the id in the URL can be any text.
const RECORDED_ID_CHARS: usize = 64;

/// Pages and decisions count apart from everything else: without tokens the person and the agents share an address, and
/// agents that call often must not lock out the person they wait for.
const PERSON: DialectPolicy = DialectPolicy {
    name: "consent",
    quota: Some(Quota { calls: 100, seconds: 60 }),
    quota_kind: QuotaKind::Window,
    counts_apart: true,
    first_result_wins: false,
    deadline: None,
    response_bytes: None,
    whole_output: false,
};

/// Programs that ask again and again what was decided use up a quota of their own.
const PROGRAM: DialectPolicy = DialectPolicy { name: "consent_status", ..PERSON };

/// The names under which the configuration can set the quotas of consent requests, besides those of dialects.
pub const CONSENT_QUOTAS: [&str; 2] = [PERSON.name, PROGRAM.name];

/// A decision as JSON. Unknown members are rejected: a misspelt `reason` must not be lost without notice.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Decision {
    decision: Verdict,
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Approved,
    Denied,
}

/// `GET`: the request as JSON, or as a page for browsers. Programs do not accept `text/html`.
pub(crate) async fn show(
    State(consents): State<Arc<Consents>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Rejection> {
    let (parts, _) = request.into_parts();
    let visitor = Visitor::new(&parts)?;
    let find = consents.engine.consent().find(&visitor.caller, &id);
    if body::accepts(&parts.headers, "text/html") {
        let found = consents.audited(&visitor, PERSON, "show", &id, find).await;
        return Ok(consents.page(&visitor, found).await);
    }
    let found = consents.audited(&visitor, PROGRAM, "show", &id, find).await;
    // Not to be cached: the status changes when somebody decides.
    Ok(consents.to_json(found, |consent| ([(header::CACHE_CONTROL, "no-store")], Json(consent))))
}

/// `POST`: a decision as JSON, or the form of the page.
pub(crate) async fn decide(
    State(consents): State<Arc<Consents>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Rejection> {
    let (parts, body) = request.into_parts();
    let visitor = Visitor::new(&parts)?;
    Ok(match body::media_type(&parts.headers).as_str() {
        body::JSON => consents.decide_by_json(&visitor, &id, &read_body(body).await?).await,
        body::FORM => consents.decide_by_form(&visitor, &id, &read_body(body).await?).await,
        _ => {
            let why = "Send the decision as application/json.";
            body::problem(StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid_request", why)
        }
    })
}

impl Consents {
    /// Programs authenticate with a header, which a foreign page cannot set: no CSRF token is needed. In return a program
    /// without a token may not decide a request that was made with one.
    async fn decide_by_json(&self, visitor: &Visitor<'_>, id: &str, sent: &[u8]) -> Response {
        let Decision { decision, reason } = match serde_json::from_slice(sent) {
            Ok(decision) => decision,
            Err(reason) => {
                let hint =
                    "Send {\"decision\": \"approved\"} or {\"decision\": \"denied\"}, with an optional \"reason\"";
                return body::problem(StatusCode::BAD_REQUEST, "invalid_request", format!("{hint}: {reason}."));
            }
        };
        let (policy, approve) = (self.engine.consent(), decision == Verdict::Approved);
        let deciding = async {
            policy.check_unattended(&visitor.caller, id).await?;
            policy.decide(&visitor.caller, id, approve, reason.as_deref()).await
        };
        let decided = self.audited(visitor, PERSON, "decide", id, deciding).await;
        self.to_json(decided, |consent| {
            Json(json!({"success": true, "consent_id": consent.id, "status": consent.status}))
        })
    }

    /// The form of the page. Only its CSRF token shows that a person saw the request, so it is checked first.
    async fn decide_by_form(&self, visitor: &Visitor<'_>, id: &str, sent: &[u8]) -> Response {
        let action = FormAction::Decide { id, by: visitor.caller.principal.as_str() };
        let deciding = async {
            if !self.csrf.verify(&self.engine, visitor.headers, action, &form_field(sent, "csrf")).await? {
                return Err(Error::denied(FOREIGN_FORM));
            }
            let approve = match form_field(sent, "decision").as_str() {
                "approved" => true,
                "denied" => false,
                _ => return Err(Error::invalid("decision must be approved or denied.")),
            };
            self.engine.consent().decide(&visitor.caller, id, approve, Some(&form_field(sent, "reason"))).await
        };
        let decided = self.audited(visitor, PERSON, "decide", id, deciding).await;
        self.page(visitor, decided).await
    }

    /// The page after the request: the consent in its new state, or the error.
    async fn page(&self, visitor: &Visitor<'_>, found: Result<ConsentView>) -> Response {
        match found {
            Ok(consent) => page::request(self, visitor, &consent).await,
            Err(error) => refused(&error, page::error),
        }
    }

    /// The consent, or the error in the format of the REST API.
    fn to_json<R: IntoResponse>(&self, result: Result<ConsentView>, encode: impl FnOnce(ConsentView) -> R) -> Response {
        match result {
            Ok(consent) => encode(consent).into_response(),
            Err(error) => refused(&error, |status, _| {
                let mut encoded = agents::error(&error, self.engine.clock().now());
                encoded.http.status = status.as_u16();
                api::error_response(encoded)
            }),
        }
    }

    /// Counts against the quota and leaves an audit row, whatever the result: attempts to see or decide the requests of
    /// others are on record. The view has the tool's name as people know it.
    async fn audited(
        &self,
        visitor: &Visitor<'_>,
        quota: DialectPolicy,
        what: &str,
        id: &str,
        work: impl Future<Output = Result<ConsentView>>,
    ) -> Result<ConsentView> {
        let id: String = id.chars().take(RECORDED_ID_CHARS).collect();
        let mut call = Call::new(visitor.caller.clone());
        call.policy = quota;
        call.request_id = request_headers::request_id(visitor.headers);
        let operation = format!("consent/{what} {id}");
        let mut consent = self.engine.audited_query(&operation, &call, None, work).await?;
        if let Some(name) = self.engine.display_name(&consent.operation) {
            consent.operation = name;
        }
        Ok(consent)
    }
}

/// The response to a request that failed. One that came too often is told when to come again.
fn refused(error: &Error, respond: impl FnOnce(StatusCode, &str) -> Response) -> Response {
    let response = respond(status(error), &error.to_string());
    match error.retry_after() {
        Some(seconds) => ([(header::RETRY_AFTER, seconds.to_string())], response).into_response(),
        None => response,
    }
}

fn status(error: &Error) -> StatusCode {
    match (error.kind, error.reason.as_deref()) {
        (Kind::NotFound, _) => StatusCode::NOT_FOUND,
        (Kind::Conflict, Some(Reason::ConsentExpired)) => StatusCode::GONE,
        (Kind::Conflict, _) => StatusCode::CONFLICT,
        (Kind::Denied, _) => StatusCode::FORBIDDEN,
        (Kind::Invalid, _) => StatusCode::BAD_REQUEST,
        (Kind::RateLimited, _) => StatusCode::TOO_MANY_REQUESTS,
        _ => {
            tracing::error!(detail = error.detail, "a consent request could not be shown or decided");
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}
