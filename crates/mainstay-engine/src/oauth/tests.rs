use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Clock, ManualClock, Registry, Scope, Scopes};
use mainstay_store::{AuditQuery, AuditRow, Store, StoreOptions};
use tempfile::TempDir;

use super::*;
use crate::EngineSettings;

const HERE: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));

/// A store, a clock, and replicas of one authority on them.
struct House {
    store: Store,
    clock: Arc<ManualClock>,
    _data: TempDir,
}

impl House {
    async fn open() -> Self {
        let data = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", data.path().join("store.db").display());
        let store = Store::open(&url, StoreOptions::default()).await.unwrap();
        Self { store, clock: Arc::new(ManualClock::at_ms(1_800_000_000_000)), _data: data }
    }

    fn replica(&self) -> Authority {
        let registry = Registry::new(Vec::new()).unwrap();
        let engine = Engine::new(EngineSettings::default(), registry, self.store.clone(), self.clock.clone()).unwrap();
        Authority::new(&engine, "https://own.example".into(), "https://own.example/mcp".into())
    }

    fn clients(&self) -> Clients {
        Clients::new(self.store.clone(), self.clock.clone() as Arc<dyn Clock>, "cli:me".into())
    }

    async fn client(&self, scopes: &str) -> Registered {
        let new = NewClient { name: "app".into(), scopes: Scopes::parse(scopes), id: None, secret: None };
        self.clients().add(new).await.unwrap()
    }

    async fn rows(&self) -> Vec<AuditRow> {
        self.store.audit().flush().await.unwrap();
        self.store.audit().query(AuditQuery { limit: 100, ..AuditQuery::default() }).await.unwrap()
    }
}

fn shows(client: &Registered) -> Proof {
    Proof { client: client.id.clone(), secret: client.secret.clone() }
}

async fn issued(authority: &Authority, client: &Registered, scope: Option<&str>) -> Result<Issued, Refusal> {
    authority.grant(shows(client), Grant::Client { scope: scope.map(str::to_owned) }, HERE).await
}

async fn renewed(
    authority: &Authority,
    client: &Registered,
    token: &str,
    scope: Option<&str>,
) -> Result<Issued, Refusal> {
    let grant = Grant::Refresh { token: token.to_owned(), scope: scope.map(str::to_owned) };
    authority.grant(shows(client), grant, HERE).await
}

async fn identity(authority: &Authority, token: &str) -> Option<Identity> {
    match authority.verify(token).await.unwrap() {
        Verdict::Good(identity) => Some(identity),
        Verdict::Bad(_) => None,
    }
}

fn reason<T>(refused: Result<T, Refusal>) -> Reason {
    refused.err().unwrap().reason
}

#[tokio::test]
async fn a_token_stands_for_its_client_on_every_replica_until_it_expires() {
    let house = House::open().await;
    let (one, two, client) = (house.replica(), house.replica(), house.client("read write").await);
    let given = issued(&one, &client, Some("read")).await.unwrap();
    for replica in [&one, &two] {
        let identity = identity(replica, &given.access_token).await.unwrap();
        assert_eq!(identity.principal, Principal::new("https://own.example", &client.id));
        assert_eq!(identity.scopes, [Scope::Read].into_iter().collect());
    }
    house.clock.advance(ACCESS_LIFE.checked_sub(Duration::from_secs(1)).unwrap());
    assert!(identity(&one, &given.access_token).await.is_some());
    house.clock.advance(Duration::from_secs(1));
    assert!(identity(&one, &given.access_token).await.is_none());
}

#[tokio::test]
async fn a_scope_is_given_if_the_client_has_it_and_what_is_not_asked_for_is_the_harmless_part() {
    let house = House::open().await;
    let (authority, all) = (house.replica(), house.client("read write consent admin").await);
    assert_eq!(issued(&authority, &all, None).await.unwrap().scopes.to_string(), "read write");
    assert_eq!(issued(&authority, &all, Some(" ")).await.unwrap().scopes.to_string(), "read write");
    assert_eq!(issued(&authority, &all, Some("admin read")).await.unwrap().scopes.to_string(), "read admin");
    let (reader, boss) = (house.client("read").await, house.client("admin").await);
    let long = "read ".repeat(300);
    for asked in ["write", "read write", "admin", "openid", "read  Read", long.as_str()] {
        assert_eq!(reason(issued(&authority, &reader, Some(asked)).await), Reason::Scope, "{asked}");
    }
    assert_eq!(reason(issued(&authority, &boss, None).await), Reason::Scope);
    assert_eq!(issued(&authority, &boss, Some("write")).await.unwrap().scopes.to_string(), "write");
}

#[tokio::test]
async fn a_refresh_token_is_good_once_and_asking_for_too_much_does_not_spend_it() {
    let house = House::open().await;
    let (authority, client) = (house.replica(), house.client("read write").await);
    let first = issued(&authority, &client, None).await.unwrap();
    assert_eq!(reason(renewed(&authority, &client, &first.refresh_token, Some("delete")).await), Reason::Scope);
    let second = renewed(&authority, &client, &first.refresh_token, Some("read")).await.unwrap();
    assert_eq!(second.scopes.to_string(), "read");
    let third = renewed(&authority, &client, &second.refresh_token, None).await.unwrap();
    assert_eq!(third.scopes.to_string(), "read write");
    let other = house.client("read write").await;
    assert_eq!(reason(renewed(&authority, &other, &third.refresh_token, None).await), Reason::Grant);
    // The first one again: somebody has a copy, and nothing that came of it is good any more.
    assert!(identity(&authority, &third.access_token).await.is_some());
    assert_eq!(reason(renewed(&authority, &client, &first.refresh_token, None).await), Reason::Grant);
    assert_eq!(reason(renewed(&authority, &client, &third.refresh_token, None).await), Reason::Grant);
    for given in [first, second, third] {
        assert!(identity(&authority, &given.access_token).await.is_none());
    }
    assert!(issued(&authority, &client, None).await.is_ok());
}

#[tokio::test]
async fn a_revoked_token_is_refused_at_once_here_and_another_clients_is_left_alone() {
    let house = House::open().await;
    let (authority, client, thief) = (house.replica(), house.client("read").await, house.client("read").await);
    let (one, two) =
        (issued(&authority, &client, None).await.unwrap(), issued(&authority, &client, None).await.unwrap());
    let revoke = async |who: &Registered, token: &str| authority.revoke(shows(who), token, HERE).await.unwrap();
    for token in [&one.access_token, &one.refresh_token, &"unknown".to_owned()] {
        revoke(&thief, token).await;
    }
    assert!(identity(&authority, &one.access_token).await.is_some());
    revoke(&client, &one.access_token).await;
    assert!(identity(&authority, &one.access_token).await.is_none());
    // Its refresh token lives on, until that is revoked.
    let renewed_one = renewed(&authority, &client, &one.refresh_token, None).await.unwrap();
    revoke(&client, &renewed_one.refresh_token).await;
    assert!(identity(&authority, &renewed_one.access_token).await.is_none());
    assert_eq!(reason(renewed(&authority, &client, &renewed_one.refresh_token, None).await), Reason::Grant);
    assert!(identity(&authority, &two.access_token).await.is_some());
}

#[tokio::test]
async fn a_disabled_client_gets_nothing_and_what_it_has_ends() {
    let house = House::open().await;
    let (authority, client) = (house.replica(), house.client("read").await);
    let given = issued(&authority, &client, None).await.unwrap();
    house.clients().disable(&client.id).await.unwrap();
    assert!(identity(&authority, &given.access_token).await.is_none());
    assert_eq!(reason(issued(&authority, &client, None).await), Reason::Client);
    assert_eq!(reason(renewed(&authority, &client, &given.refresh_token, None).await), Reason::Client);
    assert!(house.clients().disable("nobody").await.is_err());
}

#[tokio::test]
async fn a_new_key_signs_at_once_where_it_is_known_and_the_old_one_counts_until_its_tokens_have_expired() {
    let house = House::open().await;
    let (one, client) = (house.replica(), house.client("read").await);
    let old = issued(&one, &client, None).await.unwrap();
    let kid = house.clients().rotate_key(OldKeys::Fade).await.unwrap();
    let two = house.replica();
    let new = issued(&two, &client, None).await.unwrap();
    let header = jsonwebtoken::decode_header(&new.access_token).unwrap();
    assert_eq!((header.kid, header.typ.as_deref()), (Some(kid.clone()), Some("at+jwt")));
    // A replica that has not looked since learns of the key from the token.
    for token in [&old.access_token, &new.access_token] {
        assert!(identity(&one, token).await.is_some() && identity(&two, token).await.is_some());
    }
    let keys = two.public_keys().await.unwrap();
    assert_eq!((keys["keys"].as_array().unwrap().len(), &keys["keys"][0]["kid"]), (2, &json!(kid)));
    assert!(!keys.to_string().contains("\"d\""), "{keys}");
    house.clock.advance(2 * ACCESS_LIFE);
    assert_eq!(house.replica().public_keys().await.unwrap()["keys"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_key_that_is_ended_takes_its_tokens_along() {
    let house = House::open().await;
    let client = house.client("read").await;
    let old = issued(&house.replica(), &client, None).await.unwrap();
    house.clients().rotate_key(OldKeys::Fade).await.unwrap();
    let newer = issued(&house.replica(), &client, None).await.unwrap();
    assert!(identity(&house.replica(), &old.access_token).await.is_some());
    house.clients().rotate_key(OldKeys::End).await.unwrap();
    let replica = house.replica();
    for token in [&old.access_token, &newer.access_token] {
        assert!(identity(&replica, token).await.is_none());
    }
    let newest = renewed(&replica, &client, &newer.refresh_token, None).await.unwrap();
    assert!(identity(&replica, &newest.access_token).await.is_some());
}

#[tokio::test]
async fn a_token_allows_no_more_than_its_client_has_now() {
    let house = House::open().await;
    let (authority, client) = (house.replica(), house.client("read write").await);
    let ring = authority.keys.ring(&authority.engine).await.unwrap();
    for (said, left) in [("read delete", "read"), ("admin", "read write"), ("write", "write"), ("execute", "")] {
        let claims = token::Claims::new(&authority, &client.id, Scopes::parse(said), &mainstay_core::new_id());
        let identity = identity(&authority, &claims.sign(&ring[0]).unwrap()).await.unwrap();
        assert_eq!(identity.scopes.to_string(), left, "{said}");
    }
}

#[tokio::test]
async fn what_a_stranger_calls_a_key_is_neither_looked_up_often_nor_repeated() {
    let house = House::open().await;
    let authority = house.replica();
    let ring = authority.keys.ring(&authority.engine).await.unwrap();
    let claims = token::Claims::new(&authority, "c", Scopes::all(), "f");
    let token = claims.sign(&ring[0]).unwrap();
    let named = |kid: &str| {
        let header = json!({"alg": "EdDSA", "typ": "at+jwt", "kid": kid}).to_string();
        let header = base64::Engine::encode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, header);
        format!("{header}.{}", token.split_once('.').unwrap().1)
    };
    for kid in ["canary", "", &"canary".repeat(1000), "../canary", &"A".repeat(32), &"0".repeat(32)] {
        let Verdict::Bad(reason) = authority.verify(&named(kid)).await.unwrap() else { panic!("{kid}") };
        assert!(!reason.contains("canary") && !reason.contains("000"), "{reason}");
    }
    // The last of them was a name like ours: the store has been asked, and is not asked again at once.
    let loaded = authority.keys.ring(&authority.engine).await.unwrap();
    assert!(!Arc::ptr_eq(&ring, &loaded));
    assert!(matches!(authority.verify(&named(&"1".repeat(32))).await.unwrap(), Verdict::Bad(_)));
    assert!(Arc::ptr_eq(&loaded, &authority.keys.ring(&authority.engine).await.unwrap()));
}

#[tokio::test]
async fn too_many_failures_are_stopped_for_that_client_from_there_alone() {
    let house = House::open().await;
    let (authority, client, other) = (house.replica(), house.client("read").await, house.client("read").await);
    let wrong = |id: &str| Proof { client: id.to_owned(), secret: "wrong".into() };
    let tried = async |proof: Proof| reason(authority.grant(proof, Grant::Client { scope: None }, HERE).await);
    for number in 0..10 {
        assert_eq!(tried(wrong(&client.id)).await, Reason::Client);
        assert_eq!(tried(wrong(&format!("made up {number}"))).await, Reason::Client);
    }
    assert!(matches!(tried(wrong(&client.id)).await, Reason::TooMany { .. }));
    assert!(matches!(tried(shows(&client)).await, Reason::TooMany { .. }));
    // To one that does not exist nothing else is said than before: that would tell it from one that does.
    assert_eq!(tried(wrong("made up again")).await, Reason::Client);
    assert!(issued(&authority, &other, None).await.is_ok());
    let elsewhere = authority.grant(shows(&client), Grant::Client { scope: None }, Some([10, 0, 0, 1].into())).await;
    assert!(elsewhere.is_ok());
    let at_once = futures::future::join_all((0..40).map(|_| {
        authority.grant(wrong(&other.id), Grant::Client { scope: None }, Some("2001:db8::1".parse().unwrap()))
    }));
    let looked_at = at_once.await.into_iter().filter(|tried| tried.as_ref().err().unwrap().reason == Reason::Client);
    assert_eq!(looked_at.count(), 10);
    let neighbour = authority.grant(shows(&other), Grant::Client { scope: None }, Some("2001:db8::2".parse().unwrap()));
    assert!(matches!(reason(neighbour.await), Reason::TooMany { .. }));
}

#[tokio::test]
async fn whatever_is_given_or_refused_is_in_the_audit_and_no_secret_is() {
    let house = House::open().await;
    let (authority, client) = (house.replica(), house.client("read").await);
    let given = issued(&authority, &client, None).await.unwrap();
    assert!(issued(&authority, &client, Some("write")).await.is_err());
    let wrong = Proof { client: client.id.clone(), secret: "canary".into() };
    assert!(authority.grant(wrong, Grant::Client { scope: None }, HERE).await.is_err());
    let made_up = Proof { client: "canary".into(), secret: "canary".into() };
    assert!(authority.grant(made_up, Grant::Client { scope: None }, HERE).await.is_err());
    authority.revoke(shows(&client), &given.access_token, HERE).await.unwrap();
    let rows = house.rows().await;
    let own = format!("https://own.example {}", client.id);
    let told: Vec<_> = rows
        .iter()
        .rev()
        .map(|row| (row.entry.target.as_str(), row.entry.principal.as_str(), row.entry.outcome.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("oauth/client/add", "cli:me", "ok"),
            ("oauth/token", own.as_str(), "ok"),
            ("oauth/token", own.as_str(), "denied"),
            ("oauth/token", own.as_str(), "unauthorized"),
            ("oauth/token", "nobody", "unauthorized"),
            ("oauth/revoke", own.as_str(), "ok"),
        ]
    );
    assert!(rows.iter().all(|row| row.entry.target.starts_with("oauth/client") || row.entry.ip.is_some()));
    let text = serde_json::to_string(&rows).unwrap();
    for secret in [&client.secret, &given.refresh_token, &given.access_token, &"canary".to_owned()] {
        assert!(!text.contains(secret.as_str()), "{secret}");
    }
}

#[tokio::test]
async fn without_a_store_nothing_is_given() {
    let house = House::open().await;
    let (authority, client) = (house.replica(), house.client("read").await);
    assert!(issued(&authority, &client, None).await.is_ok());
    house.store.close().await.unwrap();
    assert_eq!(reason(issued(&authority, &client, None).await), Reason::Unavailable);
}

#[tokio::test]
async fn a_client_that_makes_no_sense_is_not_made() {
    let house = House::open().await;
    let good = || NewClient { name: "app".into(), scopes: Scopes::parse("read"), id: None, secret: None };
    let taken = NewClient { id: Some("test_client".into()), secret: Some("test_secret".into()), ..good() };
    assert_eq!(house.clients().add(taken).await.unwrap().secret, "test_secret");
    for (what, new) in [
        ("a taken id", NewClient { id: Some("test_client".into()), ..good() }),
        ("an id with a space", NewClient { id: Some("a b".into()), ..good() }),
        ("a short secret", NewClient { secret: Some("short".into()), ..good() }),
        ("no name", NewClient { name: String::new(), ..good() }),
        ("no scope", NewClient { scopes: Scopes::default(), ..good() }),
    ] {
        assert!(house.clients().add(new).await.is_err(), "{what}");
    }
}
