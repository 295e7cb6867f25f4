use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use mainstay_core::{Clock, ManualClock, Principal, Scope, Scopes};
use mainstay_store::{AuditQuery, AuditRow, Store, StoreOptions};
use serde_json::json;
use tempfile::TempDir;

use super::token::Claims;
use super::*;
use crate::{AuthError, Backend, Identity, Issuer, Observer};

const HERE: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));

/// Metrics are the engine's; here they are dropped.
struct NoMetrics;

impl Observer for NoMetrics {
    fn request(&self, _: &str, _: &'static str, _: Duration) {}
    fn audit_gap(&self) {}
}

/// A store, a clock, and replicas of one authorization server on them.
struct Fixture {
    store: Store,
    clock: Arc<ManualClock>,
    _data: TempDir,
}

impl Fixture {
    async fn open() -> Self {
        let data = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", data.path().join("store.db").display());
        let store = Store::open(&url, StoreOptions::default()).await.unwrap();
        Self { store, clock: Arc::new(ManualClock::at_ms(1_800_000_000_000)), _data: data }
    }

    fn replica(&self) -> AuthorizationServer {
        let backend = Backend { store: self.store.clone(), clock: self.clock.clone(), observer: Arc::new(NoMetrics) };
        let issuer = Issuer { url: "https://own.example".into(), audience: "https://own.example/mcp".into() };
        AuthorizationServer::new(backend, issuer)
    }

    fn clients(&self) -> ClientRegistry {
        ClientRegistry::new(self.store.clone(), self.clock.clone() as Arc<dyn Clock>, "cli:me".into())
    }

    async fn client(&self, scopes: &str) -> RegisteredClient {
        let new = NewClient { name: "app".into(), scopes: Scopes::parse(scopes), id: None, secret: None };
        self.clients().add(new).await.unwrap()
    }

    async fn rows(&self) -> Vec<AuditRow> {
        self.store.audit().flush().await.unwrap();
        self.store.audit().query(AuditQuery { limit: 100, ..AuditQuery::default() }).await.unwrap()
    }
}

fn credentials(client: &RegisteredClient) -> ClientCredentials {
    ClientCredentials { client: client.id.clone(), secret: client.secret.clone() }
}

async fn issued(
    server: &AuthorizationServer,
    client: &RegisteredClient,
    scope: Option<&str>,
) -> Result<IssuedTokens, OAuthError> {
    server.grant(credentials(client), Grant { scope: scope.map(str::to_owned), refresh_token: None }, HERE).await
}

async fn renewed(
    server: &AuthorizationServer,
    client: &RegisteredClient,
    token: &str,
    scope: Option<&str>,
) -> Result<IssuedTokens, OAuthError> {
    let grant = Grant { scope: scope.map(str::to_owned), refresh_token: Some(token.to_owned()) };
    server.grant(credentials(client), grant, HERE).await
}

async fn identity(server: &AuthorizationServer, token: &str) -> Option<Identity> {
    match server.verify(token).await {
        Ok(identity) => Some(identity),
        Err(AuthError::InvalidToken(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

fn kind<T>(rejected: Result<T, OAuthError>) -> OAuthErrorKind {
    rejected.err().unwrap().kind
}

#[tokio::test]
async fn an_access_token_is_valid_on_every_replica_until_it_expires() {
    let fixture = Fixture::open().await;
    let (one, two, client) = (fixture.replica(), fixture.replica(), fixture.client("read write").await);
    let given = issued(&one, &client, Some("read")).await.unwrap();
    for replica in [&one, &two] {
        let identity = identity(replica, &given.access_token).await.unwrap();
        assert_eq!(identity.principal, Principal::new("https://own.example", &client.id));
        assert_eq!(identity.scopes, [Scope::Read].into_iter().collect());
    }
    fixture.clock.advance(ACCESS_LIFETIME.checked_sub(Duration::from_secs(1)).unwrap());
    assert!(identity(&one, &given.access_token).await.is_some());
    fixture.clock.advance(Duration::from_secs(1));
    assert!(identity(&one, &given.access_token).await.is_none());
}

#[tokio::test]
async fn a_client_gets_the_scopes_it_has_and_by_default_neither_consent_nor_admin() {
    let fixture = Fixture::open().await;
    let (server, all) = (fixture.replica(), fixture.client("read write consent admin").await);
    assert_eq!(issued(&server, &all, None).await.unwrap().scopes.to_string(), "read write");
    assert_eq!(issued(&server, &all, Some(" ")).await.unwrap().scopes.to_string(), "read write");
    assert_eq!(issued(&server, &all, Some("admin read")).await.unwrap().scopes.to_string(), "read admin");
    let (reader, boss) = (fixture.client("read").await, fixture.client("admin").await);
    let long = "read ".repeat(300);
    for asked in ["write", "read write", "admin", "openid", "read  Read", long.as_str()] {
        assert_eq!(kind(issued(&server, &reader, Some(asked)).await), OAuthErrorKind::InvalidScope, "{asked}");
    }
    assert_eq!(kind(issued(&server, &boss, None).await), OAuthErrorKind::InvalidScope);
    assert_eq!(issued(&server, &boss, Some("write")).await.unwrap().scopes.to_string(), "write");
}

#[tokio::test]
async fn a_refresh_token_works_once_and_a_rejected_scope_does_not_spend_it() {
    let fixture = Fixture::open().await;
    let (server, client) = (fixture.replica(), fixture.client("read write").await);
    let first = issued(&server, &client, None).await.unwrap();
    assert_eq!(
        kind(renewed(&server, &client, &first.refresh_token, Some("delete")).await),
        OAuthErrorKind::InvalidScope
    );
    let second = renewed(&server, &client, &first.refresh_token, Some("read")).await.unwrap();
    assert_eq!(second.scopes.to_string(), "read");
    let third = renewed(&server, &client, &second.refresh_token, None).await.unwrap();
    assert_eq!(third.scopes.to_string(), "read write");
    let other = fixture.client("read write").await;
    assert_eq!(kind(renewed(&server, &other, &third.refresh_token, None).await), OAuthErrorKind::InvalidGrant);
    // The first one again: somebody has a copy, and nothing that came of it is good any more.
    assert!(identity(&server, &third.access_token).await.is_some());
    assert_eq!(kind(renewed(&server, &client, &first.refresh_token, None).await), OAuthErrorKind::InvalidGrant);
    assert_eq!(kind(renewed(&server, &client, &third.refresh_token, None).await), OAuthErrorKind::InvalidGrant);
    for given in [first, second, third] {
        assert!(identity(&server, &given.access_token).await.is_none());
    }
    assert!(issued(&server, &client, None).await.is_ok());
}

#[tokio::test]
async fn a_revoked_token_is_rejected_at_once_and_another_clients_token_is_not_revoked() {
    let fixture = Fixture::open().await;
    let (server, client, thief) = (fixture.replica(), fixture.client("read").await, fixture.client("read").await);
    let (one, two) = (issued(&server, &client, None).await.unwrap(), issued(&server, &client, None).await.unwrap());
    let revoke =
        async |who: &RegisteredClient, token: &str| server.revoke(credentials(who), token, HERE).await.unwrap();
    for token in [&one.access_token, &one.refresh_token, &"unknown".to_owned()] {
        revoke(&thief, token).await;
    }
    assert!(identity(&server, &one.access_token).await.is_some());
    revoke(&client, &one.access_token).await;
    assert!(identity(&server, &one.access_token).await.is_none());
    // Its refresh token lives on, until that is revoked.
    let renewed_one = renewed(&server, &client, &one.refresh_token, None).await.unwrap();
    revoke(&client, &renewed_one.refresh_token).await;
    assert!(identity(&server, &renewed_one.access_token).await.is_none());
    assert_eq!(kind(renewed(&server, &client, &renewed_one.refresh_token, None).await), OAuthErrorKind::InvalidGrant);
    assert!(identity(&server, &two.access_token).await.is_some());
}

#[tokio::test]
async fn a_disabled_client_gets_no_tokens_and_its_tokens_are_rejected() {
    let fixture = Fixture::open().await;
    let (server, client) = (fixture.replica(), fixture.client("read").await);
    let given = issued(&server, &client, None).await.unwrap();
    fixture.clients().disable(&client.id).await.unwrap();
    assert!(identity(&server, &given.access_token).await.is_none());
    assert_eq!(kind(issued(&server, &client, None).await), OAuthErrorKind::InvalidClient);
    assert_eq!(kind(renewed(&server, &client, &given.refresh_token, None).await), OAuthErrorKind::InvalidClient);
    assert!(fixture.clients().disable("nobody").await.is_err());
}

#[tokio::test]
async fn after_key_rotation_tokens_of_both_keys_are_valid_until_they_expire() {
    let fixture = Fixture::open().await;
    let (one, client) = (fixture.replica(), fixture.client("read").await);
    let old = issued(&one, &client, None).await.unwrap();
    let kid = fixture.clients().rotate_key(OldKeys::Expire).await.unwrap();
    let two = fixture.replica();
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
    fixture.clock.advance(2 * ACCESS_LIFETIME);
    assert_eq!(fixture.replica().public_keys().await.unwrap()["keys"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn revoking_old_keys_invalidates_their_tokens() {
    let fixture = Fixture::open().await;
    let client = fixture.client("read").await;
    let old = issued(&fixture.replica(), &client, None).await.unwrap();
    fixture.clients().rotate_key(OldKeys::Expire).await.unwrap();
    let newer = issued(&fixture.replica(), &client, None).await.unwrap();
    assert!(identity(&fixture.replica(), &old.access_token).await.is_some());
    fixture.clients().rotate_key(OldKeys::Revoke).await.unwrap();
    let replica = fixture.replica();
    for token in [&old.access_token, &newer.access_token] {
        assert!(identity(&replica, token).await.is_none());
    }
    let newest = renewed(&replica, &client, &newer.refresh_token, None).await.unwrap();
    assert!(identity(&replica, &newest.access_token).await.is_some());
}

#[tokio::test]
async fn a_token_has_no_scope_that_its_client_has_lost() {
    let fixture = Fixture::open().await;
    let (server, client) = (fixture.replica(), fixture.client("read write").await);
    let ring = server.keys.keys(&server.backend).await.unwrap();
    for (said, left) in [("read delete", "read"), ("admin", "read write"), ("write", "write"), ("execute", "")] {
        let claims = Claims::new(
            &server.issuer,
            server.backend.now_ms(),
            &client.id,
            Scopes::parse(said),
            &mainstay_core::new_id(),
        );
        let identity = identity(&server, &claims.sign(&ring[0]).unwrap()).await.unwrap();
        assert_eq!(identity.scopes.to_string(), left, "{said}");
    }
}

#[tokio::test]
async fn unknown_key_ids_neither_reload_the_keys_often_nor_reach_the_log() {
    let fixture = Fixture::open().await;
    let server = fixture.replica();
    let ring = server.keys.keys(&server.backend).await.unwrap();
    let claims = Claims::new(&server.issuer, server.backend.now_ms(), "c", Scopes::all(), "f");
    let token = claims.sign(&ring[0]).unwrap();
    let named = |kid: &str| {
        let header = json!({"alg": "EdDSA", "typ": "at+jwt", "kid": kid}).to_string();
        let header = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(header);
        format!("{header}.{}", token.split_once('.').unwrap().1)
    };
    for kid in ["canary", "", &"canary".repeat(1000), "../canary", &"A".repeat(32), &"0".repeat(32)] {
        let Err(AuthError::InvalidToken(reason)) = server.verify(&named(kid)).await else { panic!("{kid}") };
        assert!(!reason.contains("canary") && !reason.contains("000"), "{reason}");
    }
    // The last of them was a name like ours: the store has been asked, and is not asked again at once.
    let loaded = server.keys.keys(&server.backend).await.unwrap();
    assert!(!Arc::ptr_eq(&ring, &loaded));
    assert!(matches!(server.verify(&named(&"1".repeat(32))).await, Err(AuthError::InvalidToken(_))));
    assert!(Arc::ptr_eq(&loaded, &server.keys.keys(&server.backend).await.unwrap()));
}

#[tokio::test]
async fn too_many_failures_block_that_client_from_that_address_alone() {
    let fixture = Fixture::open().await;
    let (server, client, other) = (fixture.replica(), fixture.client("read").await, fixture.client("read").await);
    let wrong = |id: &str| ClientCredentials { client: id.to_owned(), secret: "wrong".into() };
    let tried = async |proof: ClientCredentials, ip| kind(server.grant(proof, Grant::default(), ip).await);
    for _ in 0..10 {
        assert_eq!(tried(wrong(&client.id), HERE).await, OAuthErrorKind::InvalidClient);
    }
    assert!(matches!(tried(wrong(&client.id), HERE).await, OAuthErrorKind::TooManyFailures { .. }));
    assert!(matches!(tried(credentials(&client), HERE).await, OAuthErrorKind::TooManyFailures { .. }));
    let elsewhere = server.grant(credentials(&client), Grant::default(), Some([10, 0, 0, 1].into())).await;
    assert!(elsewhere.is_ok());
    let at_once = futures::future::join_all(
        (0..40).map(|_| server.grant(wrong(&other.id), Grant::default(), Some("2001:db8::1".parse().unwrap()))),
    );
    let looked_at =
        at_once.await.into_iter().filter(|tried| tried.as_ref().err().unwrap().kind == OAuthErrorKind::InvalidClient);
    assert_eq!(looked_at.count(), 10);
    let neighbour = server.grant(credentials(&other), Grant::default(), Some("2001:db8::2".parse().unwrap()));
    assert!(matches!(kind(neighbour.await), OAuthErrorKind::TooManyFailures { .. }));
}

/// The answers to a client that exists and to one that does not are the same, one by one, also past the limit.
#[tokio::test]
async fn the_limit_of_failures_does_not_tell_which_clients_exist() {
    let fixture = Fixture::open().await;
    let (server, client) = (fixture.replica(), fixture.client("read").await);
    let mut answers = Vec::new();
    for (id, last) in [(client.id.as_str(), 1), ("made up", 2)] {
        let mut given = Vec::new();
        for _ in 0..12 {
            let wrong = ClientCredentials { client: id.to_owned(), secret: "wrong".into() };
            let error = server.grant(wrong, Grant::default(), Some([10, 0, 0, last].into())).await.err().unwrap();
            given.push((std::mem::discriminant(&error.kind), error.description));
        }
        answers.push(given);
    }
    assert_eq!(answers[0], answers[1]);
    assert_ne!(answers[0][0], answers[0][11], "the limit was not reached");
}

#[tokio::test]
async fn a_client_id_that_cannot_be_stored_is_an_invalid_request() {
    let fixture = Fixture::open().await;
    let odd = ClientCredentials { client: "a\0b".into(), secret: "s".into() };
    assert_eq!(kind(fixture.replica().grant(odd, Grant::default(), HERE).await), OAuthErrorKind::InvalidRequest);
}

#[tokio::test]
async fn every_grant_and_rejection_is_in_the_audit_without_secrets() {
    let fixture = Fixture::open().await;
    let (server, client) = (fixture.replica(), fixture.client("read").await);
    let given = issued(&server, &client, None).await.unwrap();
    assert!(issued(&server, &client, Some("write")).await.is_err());
    let wrong = ClientCredentials { client: client.id.clone(), secret: "canary".into() };
    assert!(server.grant(wrong, Grant::default(), HERE).await.is_err());
    let made_up = ClientCredentials { client: "canary".into(), secret: "canary".into() };
    assert!(server.grant(made_up, Grant::default(), HERE).await.is_err());
    server.revoke(credentials(&client), &given.access_token, HERE).await.unwrap();
    let rows = fixture.rows().await;
    let own = format!("https://own.example {}", client.id);
    let told: Vec<_> =
        rows.iter().rev().map(|row| (&*row.entry.target, &*row.entry.principal, &*row.entry.outcome)).collect();
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
async fn without_a_store_no_token_is_issued() {
    let fixture = Fixture::open().await;
    let (server, client) = (fixture.replica(), fixture.client("read").await);
    assert!(issued(&server, &client, None).await.is_ok());
    fixture.store.close().await.unwrap();
    assert_eq!(kind(issued(&server, &client, None).await), OAuthErrorKind::Unavailable);
}

#[tokio::test]
async fn invalid_clients_are_not_added() {
    let fixture = Fixture::open().await;
    let good = || NewClient { name: "app".into(), scopes: Scopes::parse("read"), id: None, secret: None };
    let taken = NewClient { id: Some("test_client".into()), secret: Some("test_secret".into()), ..good() };
    assert_eq!(fixture.clients().add(taken).await.unwrap().secret, "test_secret");
    for (what, new) in [
        ("a taken id", NewClient { id: Some("test_client".into()), ..good() }),
        ("an id with a space", NewClient { id: Some("a b".into()), ..good() }),
        ("a short secret", NewClient { secret: Some("short".into()), ..good() }),
        ("no name", NewClient { name: String::new(), ..good() }),
        ("no scope", NewClient { scopes: Scopes::default(), ..good() }),
    ] {
        assert!(fixture.clients().add(new).await.is_err(), "{what}");
    }
}
