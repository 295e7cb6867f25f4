//! Signing in on the consent page with a token or a client secret: a browser sends no Authorization header.

use mainstay_server::{Access, routes};
use serde_json::json;

use crate::access::oauth::{Client, local_auth};
use crate::access::routes::{Issuer, request_route, with_auth};
use crate::consent::approval::{create_file, decide, destroy, get, with_config};
use crate::consent::page::{BROWSER, submit};
use crate::testing::program::{Http, Reply, Server, run};

/// A browser that keeps its cookies, each under its name.
struct Browser {
    http: Http,
    path: String,
    jar: Vec<(String, String)>,
}

impl Browser {
    fn at(server: &Server, path: &str) -> Self {
        Self { http: server.connect(), path: path.to_owned(), jar: Vec::new() }
    }

    fn cookies(&self) -> String {
        self.jar.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    }

    fn keep(&mut self, reply: Reply) -> Reply {
        for (_, cookie) in reply.headers.iter().filter(|(name, _)| name == "set-cookie") {
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            self.jar.retain(|(kept, _)| kept != name);
            if !cookie.contains("Max-Age=0") {
                self.jar.push((name.to_owned(), value.to_owned()));
            }
        }
        reply
    }

    fn open(&mut self) -> Reply {
        let cookies = self.cookies();
        let mut headers = vec![BROWSER];
        if !cookies.is_empty() {
            headers.push(("Cookie", &cookies));
        }
        let reply = get(&mut self.http, &self.path, &headers);
        self.keep(reply)
    }

    fn send(&mut self, form: &str) -> Reply {
        let cookies = self.cookies();
        let reply = submit(&mut self.http, &self.path, &cookies, form);
        self.keep(reply)
    }

    /// Opens the page and signs in on it.
    fn sign_in(&mut self, fields: &str) -> Reply {
        let csrf = csrf(&self.open(), "");
        self.send(&format!("csrf={csrf}&{fields}"))
    }

    fn token_cookie(&self) -> Option<String> {
        let found = self.jar.iter().find(|(name, _)| name.contains("token"));
        found.map(|(name, value)| format!("{name}={value}"))
    }
}

/// The hidden value of the form that holds these words.
fn csrf(page: &Reply, words: &str) -> String {
    let form = page.body.split("<form").skip(1).find(|form| form.contains(words));
    let form = form.unwrap_or_else(|| panic!("no form with {words:?}: {}", page.body));
    form.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

/// The cookie a token was put into.
fn token_cookie(reply: &Reply) -> &str {
    let found = reply.headers.iter().find(|(name, value)| name == "set-cookie" && value.contains("token="));
    &found.unwrap_or_else(|| panic!("{} {:?} {}", reply.status, reply.headers, reply.body)).1
}

/// A call of an agent that waits for consent: the path of its page.
fn pending_consent(server: &Server, data: &std::path::Path, bearer: &str) -> String {
    create_file(data, "a");
    let needed = destroy(&mut server.connect(), "a", &[("Authorization", bearer)]).unwrap_err();
    needed["consent_url"].as_str().unwrap_or_else(|| panic!("{needed}")).to_owned()
}

fn asks_to_sign_in(page: &Reply) -> bool {
    page.header("content-security-policy").is_some_and(|policy| policy.contains("default-src 'none'"))
        && page.body.contains("<input id=\"token\" name=\"token\" type=\"password\"")
        && !page.body.contains("decision")
}

#[test]
fn a_person_signs_in_with_a_token_approves_and_the_call_succeeds_once() {
    let data = tempfile::tempdir().unwrap();
    let server = local_auth(data.path());
    let (agent, boss) = (Client::add(data.path(), "read write delete"), Client::add(data.path(), "read consent"));
    let bearer = format!("Bearer {}", agent.token(&server));
    let token = boss.granted(&server, &json!({"scope": "consent"}))["access_token"].as_str().unwrap().to_owned();
    let path = pending_consent(&server, data.path(), &bearer);
    let mut browser = Browser::at(&server, &path);
    let door = browser.open();
    assert!(door.status == 401 && asks_to_sign_in(&door), "{} {}", door.status, door.body);
    assert!(door.header("www-authenticate").unwrap().starts_with("Bearer "));
    assert!(door.body.contains("mainstay client add") && door.body.contains("name=\"client_secret\""), "{}", door.body);
    assert!(!door.body.contains("probe_destroy"), "a stranger learns nothing of the request");
    let back = browser.sign_in(&format!("sign=token&token={token}"));
    assert_eq!((back.status, back.header("location")), (303, Some(path.as_str())));
    // The server is known as https://mainstay.example.
    let cookie = token_cookie(&back);
    assert_eq!(
        cookie,
        format!(
            "__Secure-mainstay_consent_token={token}; Path=/api/mcp/consent; HttpOnly; SameSite=Strict; Secure; \
             Max-Age=1800"
        )
    );
    let page = browser.open();
    assert_eq!(page.status, 200);
    let signed = page.body.lines().find(|line| line.contains("Signed in as")).unwrap_or_default();
    assert!(page.body.contains("probe_destroy") && signed.contains(&boss.id), "{}", page.body);
    let csrf = csrf(&page, "name=\"decision\"");
    let done = browser.send(&format!("csrf={csrf}&reason=I+know&decision=approved"));
    assert!(done.status == 200 && done.body.contains(&boss.id) && done.body.contains(": I know"), "{}", done.body);
    assert!(browser.token_cookie().is_some(), "a person decides several");
    assert!(destroy(&mut server.connect(), "a", &[("Authorization", &bearer)]).is_ok());
    create_file(data.path(), "a");
    assert!(destroy(&mut server.connect(), "a", &[("Authorization", &bearer)]).is_err());
    let (_, rows, _) = run(data.path(), &["audit", "show"]);
    let decided = rows.lines().find(|row| row.contains("approved: I know")).unwrap_or_else(|| panic!("{rows}"));
    assert!(decided.contains(&boss.id) && !rows.contains(&token), "{decided}");
}

#[test]
fn a_client_signs_in_with_its_secret_and_signs_out() {
    let data = tempfile::tempdir().unwrap();
    // Known by its address, which is not https.
    let server = with_config(data.path(), "[server.auth]\nmode = \"local\"\n");
    let (agent, boss) = (Client::add(data.path(), "read delete"), Client::add(data.path(), "consent"));
    let path = pending_consent(&server, data.path(), &format!("Bearer {}", agent.token(&server)));
    let mut browser = Browser::at(&server, &path);
    let without = browser.sign_in(&format!("sign=client&client_id={}&client_secret={}", agent.id, agent.secret));
    assert!(without.status == 403 && without.body.contains("does not have the scope"), "{}", without.body);
    let wrong = browser.sign_in(&format!("sign=client&client_id={}&client_secret=wrong", boss.id));
    assert!(wrong.status == 401 && wrong.body.contains("wrong secret"), "{}", wrong.body);
    assert!(browser.token_cookie().is_none());
    let back = browser.sign_in(&format!("sign=client&client_id={}&client_secret={}", boss.id, boss.secret));
    assert_eq!(back.status, 303, "{}", back.body);
    let cookie = token_cookie(&back);
    assert!(cookie.starts_with("mainstay_consent_token=") && !cookie.contains("Secure"), "{cookie}");
    let page = browser.open();
    assert_eq!(page.status, 200);
    assert_eq!(browser.send(&format!("csrf={}&sign=out", csrf(&page, "decision"))).status, 403, "another form's value");
    let out = browser.send(&format!("csrf={}&sign=out", csrf(&page, "Sign out")));
    assert!(out.status == 303 && token_cookie(&out).contains("Max-Age=0"), "{:?}", out.headers);
    assert!(asks_to_sign_in(&browser.open()));
    let (_, rows, _) = run(data.path(), &["audit", "show"]);
    assert!(rows.contains(&boss.id) && !rows.contains(&boss.secret), "{rows}");
}

#[test]
fn an_invalid_token_or_one_without_the_scope_cannot_sign_in() {
    let data = tempfile::tempdir().unwrap();
    let (issuer, stranger) = (Issuer::new("a"), Issuer::new("a"));
    let server = with_auth(data.path(), &issuer);
    let path = pending_consent(&server, data.path(), &format!("Bearer {}", issuer.token(&json!({"scope": "delete"}))));
    let mut browser = Browser::at(&server, &path);
    let token = |issuer: &Issuer, claims| issuer.token(&claims);
    for (what, token, status, words) in [
        ("garbage", "garbage".to_owned(), 401, "not valid"),
        ("nothing", String::new(), 401, "not valid"),
        ("expired", token(&issuer, json!({"scope": "consent", "exp": 1_000_000})), 401, "has expired"),
        ("another's", token(&stranger, json!({"scope": "consent"})), 401, "not valid"),
        ("read only", token(&issuer, json!({"sub": "bob", "scope": "read"})), 403, "scope &quot;consent&quot;"),
        ("too long", token(&issuer, json!({"scope": "consent", "pad": "x".repeat(4000)})), 400, "a browser keeps"),
    ] {
        let rejected = browser.sign_in(&format!("sign=token&token={token}"));
        assert_eq!(rejected.status, status, "{what}: {}", rejected.body);
        assert!(asks_to_sign_in(&rejected) && rejected.body.contains(words), "{what}: {}", rejected.body);
        assert_eq!(rejected.header("www-authenticate").is_some(), status == 401, "{what}");
        assert!(!rejected.body.contains("client_secret"), "this server issues no tokens");
        assert!(browser.token_cookie().is_none(), "{what}");
    }
    assert_eq!(browser.sign_in("sign=client&client_id=a&client_secret=b").status, 400);
    // A cookie is looked at like any token, and goes when it is no good.
    for token in ["garbage".to_owned(), token(&issuer, json!({"scope": "consent", "exp": 1_000_000}))] {
        browser.jar.push(("__Secure-mainstay_consent_token".to_owned(), token));
        let ended = browser.open();
        assert!(ended.status == 401 && ended.body.contains("Your sign-in has ended"), "{}", ended.body);
        assert!(browser.token_cookie().is_none());
    }
    // Short of its end, a token's cookie goes with it.
    let soon = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() + 600;
    let good = token(&issuer, json!({"sub": "bob", "scope": "consent", "exp": soon}));
    let back = browser.sign_in(&format!("sign=token&token={good}"));
    let life: u64 = token_cookie(&back).split("Max-Age=").nth(1).unwrap().parse().unwrap();
    assert!((1..=600).contains(&life), "{life}");
    // A token's end need not be a whole second.
    browser.jar.clear();
    let good = token(&issuer, json!({"sub": "bob", "scope": "consent", "exp": 4_000_000_000.5_f64}));
    assert_eq!(browser.sign_in(&format!("sign=token&token={good}")).status, 303);
}

#[test]
fn failed_sign_ins_are_limited_and_foreign_forms_do_not_count() {
    let data = tempfile::tempdir().unwrap();
    let issuer = Issuer::new("a");
    let server = with_auth(data.path(), &issuer);
    let mut browser = Browser::at(&server, "/api/mcp/consent/none");
    let good = format!("sign=token&token={}", issuer.token(&json!({"scope": "consent"})));
    for _ in 0..20 {
        browser.open();
        assert_eq!(browser.send("sign=token&token=x").status, 403);
        assert_eq!(browser.send(&format!("csrf={}&{good}", "0".repeat(64))).status, 403);
    }
    let statuses: Vec<u16> = (0..11).map(|_| browser.sign_in("sign=token&token=x").status).collect();
    assert_eq!((&statuses[..10], statuses[10]), (&[401; 10][..], 429));
    let late = browser.sign_in(&good);
    assert!(late.status == 429 && asks_to_sign_in(&late), "{}", late.body);
    assert!(late.header("retry-after").unwrap().parse::<u64>().unwrap() <= 60);
    assert!(browser.token_cookie().is_none());
}

#[test]
fn the_cookie_is_valid_for_the_page_only() {
    let data = tempfile::tempdir().unwrap();
    let issuer = Issuer::new("a");
    let server = with_auth(data.path(), &issuer);
    let path = pending_consent(&server, data.path(), &format!("Bearer {}", issuer.token(&json!({"scope": "delete"}))));
    let boss = issuer.token(&json!({"sub": "boss", "scope": "admin"}));
    let mut browser = Browser::at(&server, &path);
    assert_eq!(browser.sign_in(&format!("sign=token&token={boss}")).status, 303);
    let (host, cookies) = (server.address.to_string(), browser.cookies());
    for route in routes().into_iter().filter(|route| route.access == Access::Token) {
        for accept in ["text/html", "application/json, text/event-stream"] {
            if route.path == "/api/mcp/consent/{id}" && accept == "text/html" {
                continue;
            }
            let reply =
                request_route(&server, route.path, &[("Host", &host), ("Cookie", &cookies), ("Accept", accept)]);
            assert_eq!(reply.status, 401, "{} {accept}", route.path);
        }
    }
    // A decision by JSON has no seal, so it needs the header.
    let mut http = server.connect();
    for accept in ["application/json", "text/html"] {
        let rejected = decide(&mut http, &path, "approved", &[("Cookie", &cookies), ("Accept", accept)]);
        assert_eq!((rejected.status, &rejected.message()["error"]["code"]), (401, &json!(-32001)), "{accept}");
        assert!(rejected.header("www-authenticate").is_some());
    }
    // Beside a header it does not count, and the header's token is not made good by it.
    let bearer = |who: &str| format!("Bearer {}", issuer.token(&json!({"sub": who, "scope": "consent"})));
    let (other, bad) = (bearer("other"), "Bearer garbage");
    let page = get(&mut http, &path, &[BROWSER, ("Cookie", &cookies), ("Authorization", &other)]);
    assert!(page.status == 200 && !page.body.contains("Signed in as"), "{}", page.body);
    let rejected = get(&mut http, &path, &[BROWSER, ("Cookie", &cookies), ("Authorization", bad)]);
    assert!(rejected.status == 401 && asks_to_sign_in(&rejected), "{}", rejected.body);
    assert_eq!(browser.open().status, 200);
}

#[test]
fn a_signed_in_browser_still_needs_the_forms_token_and_origin() {
    let data = tempfile::tempdir().unwrap();
    let issuer = Issuer::new("a");
    let server = with_auth(data.path(), &issuer);
    let path = pending_consent(&server, data.path(), &format!("Bearer {}", issuer.token(&json!({"scope": "delete"}))));
    let mut browser = Browser::at(&server, &path);
    let at_the_door = csrf(&browser.open(), "");
    let token = |who: &str| issuer.token(&json!({"sub": who, "scope": "consent"}));
    assert_eq!(browser.sign_in(&format!("sign=token&token={}", token("other"))).status, 303);
    let page = browser.open();
    let (others, out) = (csrf(&page, "decision"), csrf(&page, "Sign out"));
    assert_eq!(browser.send(&format!("csrf={out}&sign=out")).status, 303);
    assert_eq!(browser.sign_in(&format!("sign=token&token={}", token("boss"))).status, 303);
    let own = csrf(&browser.open(), "decision");
    for (what, csrf) in
        [("none", ""), ("of the door", &at_the_door), ("for signing out", &out), ("of another person's page", &others)]
    {
        assert_eq!(browser.send(&format!("csrf={csrf}&decision=approved")).status, 403, "{what}");
    }
    let (host, cookies, form) =
        (server.address.to_string(), browser.cookies(), format!("csrf={own}&decision=approved"));
    for origin in ["http://evil.example", "null"] {
        let sign_in = format!("csrf={at_the_door}&sign=token&token={}", token("evil"));
        for form in [&form, &sign_in] {
            let headers = [
                ("Host", host.as_str()),
                ("Origin", origin),
                BROWSER,
                ("Cookie", &cookies),
                ("Content-Type", "application/x-www-form-urlencoded"),
            ];
            let rejected = browser.http.send(&format!("POST {path}"), &headers, form.as_bytes()).unwrap();
            assert!(rejected.status == 403 && rejected.header("set-cookie").is_none(), "{origin}");
        }
    }
    let boss = format!("Bearer {}", token("boss"));
    let shown = get(&mut server.connect(), &path, &[("Authorization", &boss)]).message();
    assert_eq!(shown["status"], "pending");
    assert_eq!(browser.send(&form).status, 200);
}

#[test]
fn without_authentication_there_is_no_sign_in() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut browser = Browser::at(&server, "/api/mcp/consent/none");
    browser.jar.push(("mainstay_consent_token".to_owned(), "garbage".to_owned()));
    assert_eq!(browser.open().status, 404);
    assert_eq!(browser.send("sign=token&token=x").status, 403, "it is a decision without a seal");
}
