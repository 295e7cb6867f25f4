//! The HTML pages: a consent request, signing in, an error. They have no scripts, and values are always escaped.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use mainstay_auth::consent::{CONSENT_PATH, ConsentState, ConsentView};
use mainstay_core::{Principal, Result};

use super::cookie::browser_id_or_new;
use super::csrf::FormAction;
use super::{Consents, Visitor};

// Templates with `{{name}}` for values, see `filled`. A template engine would replace 28 lines and need about as many to
// set up: minijinja adds 26 s of CPU time to a release build and 1 MB to the binary, askama 9 s; neither escapes the
// backtick, which a test requires.
const PAGE: &str = include_str!("../../../assets/consent/page.html");
const FORM: &str = include_str!("../../../assets/consent/form.html");
const PREVIEW: &str = r#"<pre class="lost" id="preview">{{preview}}</pre>"#;
const NO_PREVIEW: &str = r#"<p class="hint" id="preview">This tool cannot tell beforehand what it would change.</p>"#;
const SIGN_IN: &str = include_str!("../../../assets/consent/sign_in.html");
const CLIENT: &str = include_str!("../../../assets/consent/client.html");
const SIGN_OUT: &str = include_str!("../../../assets/consent/sign_out.html");
const ERROR: &str = include_str!("../../../assets/consent/error.html");
/// The style sheet of all pages, served under `/assets/consent.css`.
pub(crate) const STYLE: &str = include_str!("../../../assets/consent/page.css");

/// `form-action` is enforced on the redirect after signing in, too.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// The page of a request, with what this visitor can do there.
pub(super) async fn request(consents: &Consents, visitor: &Visitor<'_>, consent: &ConsentView) -> Response {
    let browser = browser_id_or_new(visitor.headers);
    let (action, sign_out) = match forms(consents, visitor, consent, &browser).await {
        Ok(forms) => forms,
        Err(failed) => return error(StatusCode::SERVICE_UNAVAILABLE, &failed.public),
    };
    let (heading, status) = headline(consent);
    let tool = consents.engine.registry().tool(&consent.operation);
    let preview = consent.preview.as_deref().filter(|preview| !preview.is_empty());
    let text = filled(
        PAGE,
        &[
            ("state", consent.status.as_str()),
            ("heading", heading),
            ("requester", &consent.requester),
            ("operation", &consent.operation),
            ("does", tool.map_or("", |tool| first_sentence(tool.info().description))),
            ("status", &status),
            ("!preview", &preview.map_or(NO_PREVIEW.to_owned(), |preview| filled(PREVIEW, &[("preview", preview)]))),
            ("arguments", &consent.arguments),
            ("holds", &holds(consent)),
            ("requested_by", &consent.requested_by),
            ("vouched", vouched(consent)),
            ("expires_at", &consent.expires_at),
            ("!action", &action),
            ("!sign_out", &sign_out),
        ],
    );
    with_cookie(html(StatusCode::OK, text), &consents.cookies.browser(&browser))
}

/// The form to decide, or why there is none; and the form to sign out, if the visitor signed in.
async fn forms(
    consents: &Consents,
    visitor: &Visitor<'_>,
    consent: &ConsentView,
    browser: &str,
) -> Result<(String, String)> {
    let (engine, by) = (&consents.engine, visitor.caller.principal.as_str());
    let allowed = engine.consent().may_decide(&visitor.caller, &consent.requested_by);
    let action = match (consent.status, allowed) {
        (ConsentState::Pending, Ok(())) => {
            let csrf = consents.csrf.token(engine, browser, FormAction::Decide { id: &consent.id, by }).await?;
            filled(FORM, &[("path", &format!("{CONSENT_PATH}{}", consent.id)), ("csrf", &csrf)])
        }
        (ConsentState::Pending, Err(refusal)) => format!("<p>{}</p>", escaped(&refusal.public)),
        (ConsentState::Approved | ConsentState::Denied | ConsentState::Used | ConsentState::Expired, _) => {
            String::new()
        }
    };
    let sign_out = if visitor.signed_in {
        filled(SIGN_OUT, &[("csrf", &consents.csrf.token(engine, browser, FormAction::SignIn).await?), ("by", by)])
    } else {
        String::new()
    };
    Ok((action, sign_out))
}

/// The page that asks for a token; `message` says why the last one was rejected.
pub(super) async fn sign_in(consents: &Consents, headers: &HeaderMap, status: StatusCode, message: &str) -> Response {
    let browser = browser_id_or_new(headers);
    let csrf = match consents.csrf.token(&consents.engine, &browser, FormAction::SignIn).await {
        Ok(csrf) => csrf,
        Err(failed) => return error(StatusCode::SERVICE_UNAVAILABLE, &failed.public),
    };
    let (hint, client) = if consents.authenticator.authorization_server().is_some() {
        let hint = "Add a client with `mainstay client add NAME --scope consent`; it gets a token from /oauth/token if \
             it requests that scope.";
        (hint, filled(CLIENT, &[("csrf", &csrf)]))
    } else {
        ("You get one from the authorization server that this server trusts.", String::new())
    };
    let text = filled(SIGN_IN, &[("message", message), ("csrf", &csrf), ("hint", hint), ("!client", &client)]);
    with_cookie(html(status, text), &consents.cookies.browser(&browser))
}

pub(super) fn with_cookie(mut response: Response, cookie: &str) -> Response {
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

/// The page for a request that is not shown or not decided.
pub(super) fn error(status: StatusCode, reason: &str) -> Response {
    html(status, filled(ERROR, &[("reason", reason)]))
}

/// A tool's description begins with what it does.
fn first_sentence(description: &str) -> &str {
    description.find(". ").map_or(description, |end| &description[..=end])
}

/// What a decision is good for, and how long.
fn holds(consent: &ConsentView) -> String {
    let until = &consent.expires_at;
    match consent.status {
        ConsentState::Pending => format!(
            "Decide within {}. Approving lets exactly this call run once; denying refuses it. Either holds until {until}.",
            time_left(consent.expires_in_seconds)
        ),
        ConsentState::Approved => {
            format!("The approval holds until {until}, for one call with exactly these arguments.")
        }
        ConsentState::Denied => format!("The same call is refused until {until}."),
        ConsentState::Used | ConsentState::Expired => String::new(),
    }
}

fn time_left(seconds: i64) -> String {
    let (number, unit) = if seconds < 60 { (seconds, "second") } else { (seconds / 60, "minute") };
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

/// How far the name of the caller can be trusted.
fn vouched(consent: &ConsentView) -> &'static str {
    if Principal::from_stored(&consent.requested_by).is_local() {
        "No token was sent, so the name is only what the program calls itself."
    } else {
        "The token's owner is verified; what its client calls itself is not."
    }
}

/// Heading and status line.
fn headline(consent: &ConsentView) -> (&'static str, String) {
    let by = consent.decided_by.as_deref().map_or(String::new(), |by| format!(" by {by}"));
    let why = consent.reason.as_deref().map_or(String::new(), |reason| format!(": {reason}"));
    match consent.status {
        ConsentState::Pending => ("Waits for your decision", "Nothing has happened yet.".into()),
        ConsentState::Approved => ("Approved", format!("Approved{by}{why}. The same call can now run once.")),
        ConsentState::Denied => ("Denied", format!("Denied{by}{why}. The call does not run.")),
        ConsentState::Used => ("Approved and used", format!("Approved{by}{why}. The call was made.")),
        ConsentState::Expired => ("Expired", "This request has expired. Make the call again to get a new one.".into()),
    }
}

/// Pages are never cached: they contain CSRF tokens and the arguments of calls.
fn html(status: StatusCode, text: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
        // With `no-referrer` a browser sends the form with `Origin: null`, which the guard rejects.
        (header::REFERRER_POLICY, "same-origin"),
    ];
    (status, headers, text).into_response()
}

/// Puts values in their places, in one walk: a value that looks like a place stays text. A name with `!` before it is
/// put there as it is; every other is escaped.
fn filled(template: &str, values: &[(&str, &str)]) -> String {
    let mut page = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else { break };
        let value = values.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| *value);
        page.push_str(before);
        page.push_str(&if name.starts_with('!') { value.to_owned() } else { escaped(value) });
        rest = after;
    }
    page + rest
}

/// Escapes every character that could end a text or a quoted attribute.
fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut safe, c| {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '`' => safe.push_str("&#96;"),
            other => safe.push(other),
        }
        safe
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATES: [&str; 8] = [PAGE, FORM, PREVIEW, NO_PREVIEW, ERROR, SIGN_IN, CLIENT, SIGN_OUT];

    const PAYLOADS: [&str; 12] = [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' autofocus onfocus=alert(1) x='",
        "</pre></dd></dl><form action=https://evil.example>",
        "</title><svg onload=alert(1)>",
        "{{csrf}}",
        "{{!action}}<b>",
        "javascript:alert(1)//`${1}`",
        "<!--",
        "]]><![CDATA[<x>",
        "&lt;b&gt; &#60;i&#62;",
        "<a href=\"//evil.example\">Approve</a>",
    ];

    #[test]
    fn every_payload_stays_text_in_every_place() {
        for payload in PAYLOADS {
            for template in TEMPLATES {
                let names: Vec<&str> = template
                    .split("{{")
                    .skip(1)
                    .filter_map(|part| part.split_once("}}"))
                    .map(|(name, _)| name)
                    .collect();
                let values: Vec<_> =
                    names.iter().filter(|name| !name.starts_with('!')).map(|name| (*name, payload)).collect();
                let bland: Vec<_> = values.iter().map(|(name, _)| (*name, "x")).collect();
                let (hostile, plain) = (filled(template, &values), filled(template, &bland));
                for mark in ['<', '>', '"', '\'', '`'] {
                    assert_eq!(hostile.matches(mark).count(), plain.matches(mark).count(), "{payload}: {hostile}");
                }
            }
        }
    }

    #[test]
    fn what_is_escaped_can_be_read_back() {
        let back = |text: &str| {
            let pairs =
                [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#96;", "`"), ("&amp;", "&")];
            pairs.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
        };
        for payload in PAYLOADS {
            assert_eq!(back(&escaped(payload)), payload);
        }
    }

    #[test]
    fn what_is_left_is_told_in_minutes_and_then_in_seconds() {
        let told = [1800, 119, 60, 59, 1, 0].map(time_left);
        assert_eq!(told, ["30 minutes", "1 minute", "1 minute", "59 seconds", "1 second", "0 seconds"]);
        assert_eq!(first_sentence("Removes a file. Use it with care."), "Removes a file.");
        assert_eq!(first_sentence("Removes a.b files"), "Removes a.b files");
    }

    #[test]
    fn no_template_has_a_script_or_a_style_of_its_own() {
        for template in TEMPLATES {
            for word in ["<script", "<style", " style=", "javascript:"] {
                assert!(!template.to_ascii_lowercase().contains(word), "{word}");
            }
            assert!(!template.split_ascii_whitespace().any(|part| part.starts_with("on") && part.contains('=')));
        }
    }
}
