use std::sync::Arc;
use std::time::Duration;

use mainstay_store::{AuditQuery, KeyClaim, Session, Store, StoreError, StoreOptions, WriteMode};

use crate::audit::{all, is_sound};
use crate::testing::{TestDatabase, at_once, entry};

on_both_engines![
    everything_is_found_after_reopening,
    closing_writes_the_queued_rows,
    a_dropped_store_writes_its_queued_rows,
    every_call_on_a_closed_store_fails,
    a_new_database_can_be_opened_by_many_at_once,
    a_database_of_a_newer_program_is_rejected,
    a_database_with_another_migration_is_rejected,
    a_sweep_deletes_everything_that_has_expired,
    a_store_knows_its_engine_and_answers_a_ping,
];

fn session() -> Session {
    Session {
        id: "s".into(),
        principal: "ann".into(),
        dialect: "mcp".into(),
        state: "{}".into(),
        created_ms: 1,
        expires_ms: 100,
    }
}

fn key_claim() -> KeyClaim {
    KeyClaim {
        principal: "ann".into(),
        key: "k".into(),
        target: "t".into(),
        args_digest: "d".into(),
        now_ms: 1,
        expires_ms: 100,
    }
}

async fn everything_is_found_after_reopening(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.sessions().open(session()).await.unwrap();
    store.idempotency().claim(key_claim()).await.unwrap();
    store.secrets().claim_nonce("n", 100).await.unwrap();
    store.audit().append(entry(1)).await.unwrap();
    store.close().await.unwrap();

    let store = database.open().await;
    assert_eq!(store.sessions().find("s", 2).await.unwrap(), Some(session()));
    let held = store.idempotency().claim(key_claim()).await.unwrap().unwrap();
    assert_eq!((held.since_ms, held.outcome), (1, None));
    assert!(!store.secrets().claim_nonce("n", 100).await.unwrap());
    assert_eq!(store.audit().append(entry(2)).await.unwrap(), 2);
    is_sound(&store, 2).await;
}

async fn closing_writes_the_queued_rows(database: Arc<TestDatabase>) {
    let store = database.open_with(StoreOptions { linger: Duration::from_mins(10), ..StoreOptions::default() }).await;
    for number in 0..2500 {
        store.audit().enqueue(&entry(number)).unwrap();
    }
    store.close().await.unwrap();
    is_sound(&database.open().await, 2500).await;
}

async fn a_dropped_store_writes_its_queued_rows(database: Arc<TestDatabase>) {
    let store = database.open_with(StoreOptions { linger: Duration::from_mins(10), ..StoreOptions::default() }).await;
    store.audit().enqueue(&entry(1)).unwrap();
    drop(store);
    let store = database.open().await;
    while all(&store).await.is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    is_sound(&store, 1).await;
}

async fn every_call_on_a_closed_store_fails(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.audit().append(entry(1)).await.unwrap();
    let (first, second) = tokio::join!(store.close(), store.close());
    assert_eq!((first, second, store.close().await), (Ok(()), Ok(()), Ok(())));
    let closed = Some(StoreError::Closed);
    assert_eq!(store.audit().append(entry(2)).await.err(), closed);
    assert_eq!(store.audit().enqueue(&entry(2)).err(), closed);
    assert_eq!(store.audit().flush().await.err(), closed);
    assert_eq!(store.audit().query(AuditQuery { limit: 1, ..AuditQuery::default() }).await.err(), closed);
    assert_eq!(store.audit().verify().await.err(), closed);
    assert_eq!(store.sessions().find("s", 0).await.err(), closed);
    assert_eq!(store.sessions().open(session()).await.err(), closed);
    assert_eq!(store.idempotency().claim(key_claim()).await.err(), closed);
    assert_eq!(store.consents().pending(0, 1).await.err(), closed);
    assert_eq!(store.oauth().clients().await.err(), closed);
    assert_eq!(store.secrets().claim_nonce("n", 1).await.err(), closed);
    assert_eq!(store.sent_transactions().unfinished(1).await.err(), closed);
    assert_eq!(store.search().namespace("n").await.err(), closed);
    assert_eq!(store.search().delete_namespace("n", WriteMode::Commit).await.err(), closed);
    assert_eq!(store.sweep(0).await.err(), closed);
    assert_eq!(store.ping().await.err(), closed);
}

async fn a_new_database_can_be_opened_by_many_at_once(database: Arc<TestDatabase>) {
    let stores = at_once(8, |number| {
        let database = database.clone();
        async move {
            let store = database.open().await;
            store.audit().append(entry(number)).await.unwrap();
            store
        }
    });
    for store in stores.await {
        is_sound(&store, 8).await;
    }
}

async fn a_database_of_a_newer_program_is_rejected(database: Arc<TestDatabase>) {
    database.open().await.close().await.unwrap();
    database
        .sql(database.pick(
            "INSERT INTO migration (number, checksum) VALUES (9999, x'00')",
            "INSERT INTO migration (number, checksum) VALUES (9999, '\\x00')",
        ))
        .await;
    let rejected = Store::open(&database.url(), StoreOptions::default()).await.unwrap_err();
    let said = rejected.to_string();
    assert!(matches!(rejected, StoreError::Open(_)), "{said}");
    assert!(said.contains("newer version") && said.contains("9999"), "{said}");
}

async fn a_database_with_another_migration_is_rejected(database: Arc<TestDatabase>) {
    database.open().await.close().await.unwrap();
    database
        .sql(database.pick("UPDATE migration SET checksum = x'00'", "UPDATE migration SET checksum = '\\x00'"))
        .await;
    let rejected = Store::open(&database.url(), StoreOptions::default()).await.unwrap_err();
    assert!(matches!(&rejected, StoreError::Open(why) if why.contains("migration 1 ")), "{rejected}");
}

async fn a_sweep_deletes_everything_that_has_expired(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.sessions().open(session()).await.unwrap();
    store.idempotency().claim(key_claim()).await.unwrap();
    store.secrets().claim_nonce("n", 100).await.unwrap();
    store.oauth().revoke_access("j", 100).await.unwrap();
    store.audit().append(entry(1)).await.unwrap();
    assert_eq!(store.sweep(99).await.unwrap(), 0);
    assert_eq!(store.sweep(100).await.unwrap(), 4);
    is_sound(&store, 1).await;
}

async fn a_store_knows_its_engine_and_answers_a_ping(database: Arc<TestDatabase>) {
    let store = database.open().await;
    assert_eq!(store.engine(), database.pick("sqlite", "postgres"));
    store.ping().await.unwrap();
    assert!(!store.failing());
    assert_eq!((store.queued(), store.lost_audit_rows()), (0, 0));
    assert!(format!("{store:?}").contains(store.engine()));
}

#[tokio::test]
async fn only_the_owner_can_read_a_sqlite_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let store = Store::open(&format!("sqlite:{}", path.display()), StoreOptions::default()).await.unwrap();
    store.audit().append(entry(1)).await.unwrap();
    for name in ["store.db", "store.db-wal", "store.db-shm"] {
        let mode = std::fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    // Closing moves the write-ahead log into the database file.
    store.close().await.unwrap();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_database_that_cannot_be_opened_is_explained() {
    let dir = tempfile::tempdir().unwrap();
    let nowhere = format!("sqlite:{}/missing/store.db", dir.path().display());
    let rejected = Store::open(&nowhere, StoreOptions::default()).await.unwrap_err().to_string();
    assert!(rejected.contains("directory that does not exist"), "{rejected}");

    let path = dir.path().join("no-database");
    std::fs::write(&path, "this is no database, whatever its name may be. ".repeat(100)).unwrap();
    let rejected = Store::open(&format!("sqlite:{}", path.display()), StoreOptions::default()).await.unwrap_err();
    assert!(matches!(&rejected, StoreError::Open(why) if why.contains("not a database")), "{rejected}");

    let nobody = "postgres://user:hunter2@127.0.0.1:1/nobody";
    let rejected = Store::open(nobody, StoreOptions::default()).await.unwrap_err();
    assert!(matches!(rejected, StoreError::Open(_)), "{rejected}");
    assert!(!format!("{rejected:?}").contains("hunter2"));
}
