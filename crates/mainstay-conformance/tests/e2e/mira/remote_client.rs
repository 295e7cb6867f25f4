//! `mainstay call --url` and `mainstay tools --url` against servers of either protocol and against broken ones.

use serde_json::{Value, json};

use crate::testing::fake_server::{client, fake_server, http, is_greeting, method_not_found, request_id};
use crate::testing::program::{Http, Server};

#[test]
fn tools_of_either_protocol_are_listed_and_called_in_either_spelling() {
    let (data, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::start(data.path(), &[]);
    let listed = |url: &str| {
        let (code, out, error) = client(own.path(), &["tools", "--url", url, "--json"], None);
        assert_eq!(code, 0, "{error}");
        serde_json::from_str::<Vec<Value>>(&out).unwrap()
    };
    let (mira, mcp) = (format!("http://{}/rpc", server.address), format!("http://{}/mcp", server.address));
    // Of the family solana the standard endpoint lists the core profile alone.
    let others = |url: &str| {
        let is_other = |tool: &&Value| tool["name"].as_str().is_some_and(|name| !name.starts_with("solana"));
        listed(url).iter().filter(is_other).count()
    };
    assert_eq!(others(&mira), others(&mcp));
    assert!(listed(&mira).len() > 50, "more than one page, so that a cursor is followed");
    for (url, name) in [(&mira, "probe/echo"), (&mcp, "probe_echo")] {
        assert!(listed(url).iter().any(|tool| tool["name"] == name), "{url}");
        let (_, out, _) = client(own.path(), &["tools", "--url", url], None);
        assert!(out.lines().any(|line| line.starts_with(&format!("{name} ")) && line.contains("Returns")), "{out}");
        for spelling in ["probe/echo", "probe_echo"] {
            let (code, out, error) = client(own.path(), &["call", "--url", url, spelling, "text=7"], None);
            assert_eq!(code, 0, "{url} {spelling}: {error}");
            assert_eq!(serde_json::from_str::<Value>(&out).unwrap(), json!({"text": "7"}), "{url} {spelling}");
        }
        let (code, out, _) = client(own.path(), &["call", "--url", url, "probe_big", "bytes=3"], None);
        assert_eq!((code, out.contains("xxx")), (0, true), "{url}: {out}");
    }
    assert!(!own.path().join("mainstay").exists(), "a client needs no store of its own");
}

#[test]
fn server_errors_are_shown() {
    let (data, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::start(data.path(), &[]);
    let (mira, mcp) = (format!("http://{}/rpc", server.address), format!("http://{}/mcp", server.address));
    for (args, words) in [
        (vec!["call", "--url", &mira, "probe/echo", "more=1"], vec![mira.as_str(), "-32602", "more"]),
        (vec!["call", "--url", &mira, "probe/destroy", "file=x"], vec!["1002", "Permission denied", "consent_id"]),
        (vec!["call", "--url", &mira, "no/such"], vec!["\"no/such\"", "mainstay tools --url"]),
        (vec!["call", "--url", &mcp, "no_such"], vec!["\"no_such\"", "mainstay tools --url"]),
        (vec!["tools", "--url", "ftp://x/"], vec!["ftp://x/", "http://host:port/path"]),
        (vec!["tools", "--url", "http://127.0.0.1:1/"], vec!["http://127.0.0.1:1/", "server running"]),
        (vec!["tools", "--timeout", "5"], vec!["--url"]),
    ] {
        let (code, out, error) = client(own.path(), &args, None);
        assert_ne!(code, 0, "{args:?}");
        assert_eq!(out, "", "{args:?}");
        assert!(words.iter().all(|word| error.contains(word)), "{args:?}: {error}");
    }
    let (code, out, _) = client(own.path(), &["call", "--url", &mcp, "probe/destroy", "file=x"], None);
    assert_eq!((code, out.contains("approve")), (1, true), "{out}");
}

#[test]
fn output_is_shown_while_a_call_runs_and_a_key_is_passed_on() {
    let (data, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::start(data.path(), &[]);
    let url = format!("http://{}/rpc", server.address);
    let say = ["call", "--url", &url, "probe/say", r#"{"pieces": ["one ", "two\n"], "stream": true}"#];
    let (code, out, error) = client(own.path(), &say, None);
    assert_eq!((code, error.contains("one two\n")), (0, true), "{error}");
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["pieces"], 2);
    let append = ["call", "--url", &url, "--idempotency-key", "k", "probe_append", "file=a", "line=x"];
    for _ in 0..2 {
        assert_eq!(client(own.path(), &append, None).0, 0);
    }
    assert_eq!(std::fs::read_to_string(data.path().join("probe/a")).unwrap(), "x\n");
}

#[test]
fn a_server_that_never_answers_times_out() {
    let own = tempfile::tempdir().unwrap();
    let url = fake_server(|_| None);
    let (code, _, error) = client(own.path(), &["tools", "--url", &url, "--timeout", "1"], None);
    assert_eq!(code, 1);
    assert!(error.contains(&url) && error.contains("within 1 s") && error.contains("--timeout"), "{error}");
    // And so is one that answers the greeting and then falls silent, in the middle of a body.
    let url = fake_server(|request| {
        if is_greeting(request) {
            return Some(method_not_found());
        }
        Some("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"jsonrpc\"".to_owned())
    });
    let (code, _, error) = client(own.path(), &["tools", "--url", &url, "--timeout", "1"], None);
    assert_eq!(code, 1);
    assert!(error.contains(&url) && error.contains("within 1 s"), "{error}");
}

#[test]
fn a_protocol_violation_is_reported_with_the_servers_url() {
    let own = tempfile::tempdir().unwrap();
    let page = |cursor: &'static str| {
        fake_server(move |request| {
            if is_greeting(request) {
                return Some(method_not_found());
            }
            let id = request_id(request);
            let page = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[],"next_cursor":{cursor}}}}}"#);
            Some(http("200 OK", &page))
        })
    };
    let (code, out, _) = client(own.path(), &["tools", "--url", &page("null"), "--json"], None);
    assert_eq!((code, out.trim()), (0, "[]"));
    for (what, url, words) in [
        ("a cursor that comes back", page("\"again\""), vec!["again", "never ends"]),
        ("no JSON-RPC", fake_server(|_| Some(http("200 OK", "<html></html>"))), vec!["no answer to initialize"]),
        ("no such path", fake_server(|_| Some(http("404 Not Found", ""))), vec!["404", "/mcp", "/rpc"]),
        ("no entry", fake_server(|_| Some(http("401 Unauthorized", ""))), vec!["401", "MAINSTAY_TOKEN"]),
        ("another place", fake_server(|_| Some(http("302 Found", ""))), vec!["302", "moved"]),
    ] {
        let (code, out, error) = client(own.path(), &["tools", "--url", &url], None);
        assert_eq!((code, out.as_str()), (1, ""), "{what}");
        assert!(error.contains(&url) && words.iter().all(|word| error.contains(word)), "{what}: {error}");
    }
}

#[test]
fn a_server_with_only_the_newest_protocol_version_is_supported() {
    let (data, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::start(data.path(), &[]);
    let address = server.address;
    // The real server, with the greeting of the older versions taken away.
    let url = fake_server(move |request| {
        if request.contains("\"initialize\"") {
            return Some(method_not_found());
        }
        let (head, body) = request.rsplit_once('\n').unwrap();
        let headers =
            head.lines().filter_map(|line| line.split_once(": ")).filter(|(name, _)| name.starts_with("mcp-"));
        let reply = Http::connect(address).post(&headers.collect::<Vec<_>>(), body.as_bytes()).unwrap();
        Some(http("200 OK", &reply.message().to_string()))
    });
    let (code, out, error) = client(own.path(), &["call", "--url", &url, "probe/echo", "text=new"], None);
    assert_eq!(code, 0, "{error}");
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap(), json!({"text": "new"}));
}

#[test]
fn the_token_is_sent_to_the_server_and_never_logged() {
    let own = tempfile::tempdir().unwrap();
    let url = fake_server(|request| {
        if is_greeting(request) {
            return Some(method_not_found());
        }
        let authorized = request.to_ascii_lowercase().contains("authorization: bearer canary-token");
        let tools = if authorized { r#"[{"name":"told"}]"# } else { "[]" };
        let id = request_id(request);
        Some(http("200 OK", &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":{tools}}}}}"#)))
    });
    let (code, out, error) = client(own.path(), &["tools", "--url", &url, "--log", "trace"], Some("canary-token"));
    assert_eq!((code, out.trim()), (0, "told"), "{error}");
    assert!(!error.contains("canary"), "{error}");
    let (_, out, _) = client(own.path(), &["tools", "--url", &url], None);
    assert_eq!(out.trim(), "");
}
