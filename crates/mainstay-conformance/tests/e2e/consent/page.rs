//! The consent page as a browser uses it.

use serde_json::json;

use crate::agents::rules::{ask, log};
use crate::consent::approval::{decide, get, with_config};
use crate::testing::program::{Http, Reply, Server, workspace};

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
    for said in ["<strong>A program on this machine</strong> asks to run <code>probe_echo</code>", "hello"] {
        assert!(page.body.contains(said), "{said}: {}", page.body);
    }
    // What the tool does, how long a decision holds, and that there is no dry run to show.
    assert!(page.body.contains("Decide within") && page.body.contains("cannot tell beforehand"), "{}", page.body);
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

/// The text of an element by its id, with the references of HTML left as they are.
fn element<'p>(page: &'p str, id: &str) -> &'p str {
    let from = page.split_once(&format!("id=\"{id}\">")).unwrap_or_else(|| panic!("no {id}: {page}")).1;
    from.split_once("</").unwrap().0
}

#[test]
fn the_page_says_who_asks_by_name_what_would_be_lost_and_how_long_a_decision_holds() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let directory = std::path::Path::new(workspace()).join(data.path().file_name().unwrap());
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("kept"), "three\nlines <b>of</b>\ntext\n").unwrap();
    std::fs::write(directory.join("other"), "x").unwrap();
    let path = directory.file_name().unwrap().to_str().unwrap();
    // The client's own name comes from the request on /mcp, and from the session on /jsonrpc.
    let delete = json!({"name": "files_delete", "arguments": {"path": path, "recursive": true}, "_meta": {
        "io.modelcontextprotocol/clientInfo": {"name": "planner<i>", "version": "2.1"},
        "io.modelcontextprotocol/clientCapabilities": {}}});
    let refused = http.request("tools/call", delete.clone(), &[]).unwrap().message();
    let needed = &refused["result"]["_meta"]["io.mainstay/error"]["data"];
    let url = needed["consent_url"].as_str().unwrap_or_else(|| panic!("{refused}"));
    let page = get(&mut http, url, &[BROWSER]).body;
    assert!(page.contains("<strong>planner&lt;i&gt; 2.1 on this machine</strong> asks to run"), "{page}");
    assert!(page.contains("Removes a file, a link or a directory permanently"), "{page}");
    let lost = element(&page, "preview");
    for said in ["what: removed", "files: 2", "-three", "-lines &lt;b&gt;of&lt;"] {
        assert!(lost.contains(said), "{said}: {lost}");
    }
    let until = needed["expires_at"].as_str().unwrap();
    assert!(element(&page, "holds").contains(until) && element(&page, "holds").contains(" minutes"), "{page}");
    let shown = get(&mut http, url, &[]).message();
    assert_eq!(
        (&shown["requester"], &shown["requested_by"]),
        (&json!("planner<i> 2.1 on this machine"), &json!("local"))
    );
    assert!(shown["preview"].as_str().unwrap().contains("files: 2"), "{shown}");

    // A call that would fail asks nobody.
    let missing = json!({"name": "files_delete", "arguments": {"path": format!("{path}/none")}});
    let failed = http.request("tools/call", missing, &[]).unwrap().message();
    assert_eq!(failed["result"]["_meta"]["io.mainstay/error"]["kind"], "not_found", "{failed}");
    std::fs::remove_dir_all(&directory).unwrap();

    let greeting = json!({"clientInfo": {"name": "crew", "version": "1"}});
    let session = ask(&mut http, &[], "initialize", &greeting).message()["result"]["session_id"].take();
    let headers = [("X-Session-ID", session.as_str().unwrap())];
    ask(&mut http, &headers, "tools/call", &log("one"));
    let all = json!({"name": "delete_all_data", "arguments": {}});
    let needed = ask(&mut http, &headers, "tools/call", &all).message()["error"]["data"].take();
    let page = get(&mut http, needed["consent_url"].as_str().unwrap(), &[BROWSER]).body;
    assert!(page.contains("<strong>crew 1 on this machine</strong>"), "{page}");
    assert!(element(&page, "preview").contains("Would delete 2 rows: activities 1"), "{page}");
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
