//! The consent page as a browser uses it.

use serde_json::json;

use crate::consent::approval::{decide, get, with_config};
use crate::testing::program::{Http, Reply, Server};

pub(crate) const BROWSER: (&str, &str) = ("Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8");

/// A server on which saying anything needs consent, so that a page can be made to show anything.
fn server(data: &std::path::Path) -> Server {
    with_config(data, "[engine.consent]\nrequired_for_tools = [\"probe_echo\"]\n")
}

fn page_for(http: &mut Http, text: &str) -> String {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "probe/echo", "params": {"text": text}});
    http.rpc("/rpc", &[], &message).message()["error"]["data"]["consent_url"].as_str().unwrap().to_owned()
}

/// What a browser keeps of a page: its cookie and the hidden value of its form.
fn kept(page: &Reply) -> (String, String) {
    let cookie = page.header("set-cookie").unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let csrf = page.body.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    (cookie.split(';').next().unwrap().to_owned(), csrf.to_owned())
}

pub(crate) fn submit(http: &mut Http, path: &str, cookie: &str, form: &str) -> Reply {
    let host = http.host();
    let origin = format!("http://{host}");
    let mut headers = vec![
        ("Host", host.as_str()),
        ("Origin", &origin),
        BROWSER,
        ("Content-Type", "application/x-www-form-urlencoded"),
    ];
    if !cookie.is_empty() {
        headers.push(("Cookie", cookie));
    }
    http.send(&format!("POST {path}"), &headers, form.as_bytes()).unwrap()
}

#[test]
fn a_person_approves_on_the_page() {
    let data = tempfile::tempdir().unwrap();
    let server = server(data.path());
    let mut http = server.connect();
    let path = page_for(&mut http, "hello");
    let page = get(&mut http, &path, &[BROWSER]);
    assert_eq!(page.status, 200);
    assert!(page.body.contains("local asks to run probe_echo") && page.body.contains("hello"), "{}", page.body);
    let policy = page.header("content-security-policy").unwrap();
    for rule in ["default-src 'none'", "style-src 'self'", "form-action 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert_ne!(page.header("referrer-policy"), Some("no-referrer"), "a form would come from nowhere");
    let style = page.body.split("href=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(get(&mut http, style, &[]).header("content-type"), Some("text/css; charset=utf-8"));
    let (cookie, csrf) = kept(&page);
    let done = submit(&mut http, &path, &cookie, &format!("csrf={csrf}&reason=I+know&decision=approved"));
    assert_eq!(done.status, 200, "{}", done.body);
    assert!(done.body.contains("Approved by local: I know") && !done.body.contains("<form"), "{}", done.body);
    let again = submit(&mut http, &path, &cookie, &format!("csrf={csrf}&decision=denied"));
    assert_eq!(again.status, 409);
    assert!(again.body.contains("already decided"), "{}", again.body);
}

#[test]
fn a_form_from_another_origin_is_rejected() {
    let data = tempfile::tempdir().unwrap();
    let server = server(data.path());
    let mut http = server.connect();
    let (path, other) = (page_for(&mut http, "one"), page_for(&mut http, "two"));
    let (cookie, csrf) = kept(&get(&mut http, &path, &[BROWSER]));
    let (_, of_other) = kept(&get(&mut http, &other, &[BROWSER, ("Cookie", &cookie)]));
    let (stranger, strangers) = kept(&get(&mut http, &path, &[BROWSER]));
    let wrong = format!("{}{}", if csrf.starts_with('0') { '1' } else { '0' }, &csrf[1..]);
    for (what, cookie, csrf) in [
        ("no value", cookie.as_str(), String::new()),
        ("no cookie", "", csrf.clone()),
        ("a changed value", &cookie, wrong),
        ("the value of another request", &cookie, of_other),
        ("the value of another browser", &cookie, strangers),
        ("another browser's cookie", &stranger, csrf.clone()),
        ("a cookie we did not make", "mainstay_consent=x", csrf.clone()),
    ] {
        let rejected = submit(&mut http, &path, cookie, &format!("csrf={csrf}&decision=approved"));
        assert_eq!(rejected.status, 403, "{what}");
    }
    assert_eq!(submit(&mut http, &path, &cookie, &format!("csrf={csrf}&decision=perhaps")).status, 400);
    assert_eq!(get(&mut http, &path, &[]).message()["status"], "pending");
    assert_eq!(submit(&mut http, &path, &cookie, &format!("csrf={csrf}&decision=denied")).status, 200);
}

#[test]
fn call_arguments_are_escaped_on_the_page() {
    let data = tempfile::tempdir().unwrap();
    let server = server(data.path());
    let mut http = server.connect();
    for payload in [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "</pre><form action=//evil.example><button>Approve once",
        "{{csrf}}{{!action}}",
        "'><svg/onload=alert(1)>",
    ] {
        let path = page_for(&mut http, payload);
        let page = get(&mut http, &path, &[BROWSER]).body;
        for mark in ["<script", "<img", "<svg", "//evil.example>"] {
            assert!(!page.contains(mark), "{page}");
        }
        assert_eq!((page.matches("<form").count(), page.matches("<button").count()), (1, 2), "{page}");
        // The reason is shown again, too.
        let host = http.host();
        let said = json!({"decision": "denied", "reason": payload}).to_string();
        let json = [("Host", host.as_str()), ("Content-Type", "application/json")];
        assert_eq!(http.send(&format!("POST {path}"), &json, said.as_bytes()).unwrap().status, 200);
        let page = get(&mut http, &path, &[BROWSER]).body;
        assert!(!page.contains("<script") && !page.contains("<img") && !page.contains("<svg"), "{page}");
    }
}

#[test]
fn an_unknown_consent_id_has_an_error_page() {
    let data = tempfile::tempdir().unwrap();
    let server = server(data.path());
    let mut http = server.connect();
    let missing = get(&mut http, "/api/mcp/consent/%3Cscript%3E", &[BROWSER]);
    assert_eq!(missing.status, 404);
    assert!(missing.body.contains("There is no consent request") && !missing.body.contains("<script"));
    assert_eq!(decide(&mut http, "/api/mcp/consent/%3Cscript%3E", "approved", &[]).status, 404);
}
