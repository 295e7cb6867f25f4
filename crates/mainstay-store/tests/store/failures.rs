//! What happens when the database fails, blocks or closes the connection.

use std::sync::Arc;
use std::time::Duration;

use mainstay_store::{Session, Store, StoreError, StoreOptions};

use crate::audit::{all, is_sound};
use crate::testing::{TestDatabase, at_once, entry};

on_both_engines![
    a_row_that_cannot_be_written_fails_and_queued_ones_are_kept,
    a_failed_commit_fails_every_write_of_its_group,
    one_failing_operation_does_not_fail_the_others_of_its_group,
    rows_that_cannot_be_written_for_too_long_are_counted_as_lost,
    closing_fails_if_queued_rows_could_not_be_written,
    a_full_queue_rejects_rows_and_keeps_those_it_has,
    appends_wait_for_room_in_a_full_queue,
    a_blocked_writer_fails_and_recovers,
];

// Deterministic replacements for a full disk: the audit accepts no more rows.
const BREAK: [&str; 2] = [
    "CREATE TRIGGER broken BEFORE INSERT ON audit_page BEGIN SELECT RAISE(ABORT, 'no room'); END",
    "ALTER TABLE audit_page ADD CONSTRAINT broken CHECK (first_seq < 0) NOT VALID",
];
const MEND: [&str; 2] = ["DROP TRIGGER broken", "ALTER TABLE audit_page DROP CONSTRAINT broken"];

// And for one that fails on commit.
const BREAK_COMMIT: [&str; 2] = [
    "CREATE TABLE nobody (id INTEGER PRIMARY KEY);
     CREATE TABLE broken (id INTEGER REFERENCES nobody DEFERRABLE INITIALLY DEFERRED);
     CREATE TRIGGER broken BEFORE INSERT ON audit_page BEGIN INSERT INTO broken VALUES (1); END",
    "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no room'; END $$;
     CREATE CONSTRAINT TRIGGER broken AFTER INSERT ON audit_page
     DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION broken()",
];
const MEND_COMMIT: [&str; 2] = ["DROP TRIGGER broken", "DROP TRIGGER broken ON audit_page"];

async fn apply(database: &TestDatabase, [sqlite, postgres]: [&str; 2]) {
    database.sql(database.pick(sqlite, postgres)).await;
}

async fn recovery(store: &Store) {
    for _ in 0..400 {
        if !store.failing() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("the store goes on failing");
}

fn is_failed<T: std::fmt::Debug>(outcome: &Result<T, StoreError>) -> bool {
    matches!(outcome, Err(StoreError::Failed(_)))
}

async fn a_row_that_cannot_be_written_fails_and_queued_ones_are_kept(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.audit().append(entry(1)).await.unwrap();
    apply(&database, BREAK).await;
    store.audit().enqueue(&entry(2)).unwrap();
    assert!(is_failed(&store.audit().append(entry(3)).await));
    assert!(is_failed(&store.audit().flush().await));
    assert!(store.failing());
    assert!(is_failed(&store.audit().enqueue(&entry(4))));
    assert!(is_failed(&store.ping().await));
    // Writes without audit rows still succeed.
    assert!(store.secrets().claim_nonce("n", 100).await.unwrap());

    apply(&database, MEND).await;
    recovery(&store).await;
    store.audit().enqueue(&entry(5)).unwrap();
    assert_eq!(store.audit().append(entry(6)).await.unwrap(), 4);
    let made: Vec<_> = all(&store).await.into_iter().rev().map(|row| row.entry).collect();
    assert_eq!(made, [entry(1), entry(2), entry(5), entry(6)]);
    is_sound(&store, 4).await;
    assert_eq!((store.lost_audit_rows(), store.ping().await), (0, Ok(())));
}

async fn a_failed_commit_fails_every_write_of_its_group(database: Arc<TestDatabase>) {
    let store = database.open().await;
    apply(&database, BREAK_COMMIT).await;
    let held = database.block_writers().await;
    store.audit().enqueue(&entry(1)).unwrap();
    let rows = at_once(20, |number| {
        let store = store.clone();
        async move { store.audit().append(entry(number)).await }
    });
    let claims = at_once(20, |number| {
        let store = store.clone();
        async move { (number, store.secrets().claim_nonce(&number.to_string(), 100).await) }
    });
    // By then all of them wait for the same group.
    let (rows, claims, ()) = tokio::join!(rows, claims, async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        drop(held);
    });
    assert!(rows.iter().all(is_failed));
    apply(&database, MEND_COMMIT).await;
    recovery(&store).await;
    // No caller got a success that was rolled back, or a failure that was committed.
    for (number, claimed) in claims {
        assert_eq!(store.secrets().claim_nonce(&number.to_string(), 100).await.unwrap(), claimed.is_err(), "{number}");
    }
    store.audit().flush().await.unwrap();
    assert_eq!(all(&store).await.into_iter().map(|row| row.entry).collect::<Vec<_>>(), [entry(1)]);
    is_sound(&store, 1).await;
}

async fn one_failing_operation_does_not_fail_the_others_of_its_group(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let held = database.block_writers().await;
    let claims = at_once(50, |number| {
        let store = store.clone();
        // A NUL in a text is rejected on both engines.
        let nonce = if number == 25 { "a\0b".to_owned() } else { number.to_string() };
        async move {
            let claimed = store.secrets().claim_nonce(&nonce, 100).await;
            (number, claimed, store.audit().append(entry(number)).await)
        }
    });
    let (claims, ()) = tokio::join!(claims, async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        drop(held);
    });
    for (number, claimed, appended) in claims {
        let expected = if number == 25 { Err(StoreError::Nul) } else { Ok(true) };
        assert_eq!(claimed, expected, "{number}");
        appended.unwrap();
    }
    assert!(!store.failing());
    is_sound(&store, 50).await;
}

async fn rows_that_cannot_be_written_for_too_long_are_counted_as_lost(database: Arc<TestDatabase>) {
    let store = database.open_with(StoreOptions { retry_rows_for: Duration::ZERO, ..StoreOptions::default() }).await;
    apply(&database, BREAK).await;
    store.audit().enqueue(&entry(1)).unwrap();
    store.audit().enqueue(&entry(2)).unwrap();
    while store.lost_audit_rows() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(store.queued(), 0);
    apply(&database, MEND).await;
    recovery(&store).await;
    store.audit().append(entry(3)).await.unwrap();
    is_sound(&store, 1).await;
}

async fn closing_fails_if_queued_rows_could_not_be_written(database: Arc<TestDatabase>) {
    let store = database.open().await;
    apply(&database, BREAK).await;
    store.audit().enqueue(&entry(1)).unwrap();
    let closed = store.close().await;
    assert!(matches!(&closed, Err(StoreError::Failed(why)) if why.contains("1 queued")), "{closed:?}");
    assert_eq!(store.lost_audit_rows(), 1);
}

async fn a_full_queue_rejects_rows_and_keeps_those_it_has(database: Arc<TestDatabase>) {
    let store = database.open_with(StoreOptions { queue: 10, ..StoreOptions::default() }).await;
    let held = database.block_writers().await;
    let mut queued = 0;
    let rejected = loop {
        match store.audit().enqueue(&entry(queued)) {
            Ok(()) => queued += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(rejected, StoreError::Overloaded);
    assert!(queued >= 10 && store.queued() >= 10, "{queued}");
    drop(held);
    store.audit().flush().await.unwrap();
    is_sound(&store, i64::try_from(queued).unwrap()).await;
    store.audit().enqueue(&entry(0)).unwrap();
}

async fn appends_wait_for_room_in_a_full_queue(database: Arc<TestDatabase>) {
    let store = database.open_with(StoreOptions { queue: 2, group: 2, ..StoreOptions::default() }).await;
    let appended = at_once(50, |number| {
        let store = store.clone();
        async move { store.audit().append(entry(number)).await }
    });
    assert!(appended.await.iter().all(Result::is_ok));
    is_sound(&store, 50).await;
}

async fn a_blocked_writer_fails_and_recovers(database: Arc<TestDatabase>) {
    let options = StoreOptions { busy_timeout: Duration::from_millis(100), ..StoreOptions::default() };
    let store = database.open_with(options).await;
    let held = database.block_writers().await;
    assert!(is_failed(&store.audit().append(entry(1)).await));
    assert!(is_failed(&store.secrets().claim_nonce("n", 100).await));
    assert!(store.failing());
    drop(held);
    recovery(&store).await;
    assert!(store.secrets().claim_nonce("n", 100).await.unwrap());
    assert_eq!(store.audit().append(entry(2)).await.unwrap(), 1);
    is_sound(&store, 1).await;
}

/// A full disk, as far as SQLite can imitate one: the file may not grow.
#[tokio::test]
async fn a_full_sqlite_file_rejects_rows_until_there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", dir.path().join("store.db").display());
    let small = StoreOptions { sqlite_max_bytes: Some(450_000), ..StoreOptions::default() };
    let store = Store::open(&url, small).await.unwrap();
    let ballast = Session {
        id: "ballast".into(),
        principal: String::new(),
        dialect: String::new(),
        state: "x".repeat(100_000),
        created_ms: 0,
        expires_ms: 1,
    };
    store.sessions().open(ballast).await.unwrap();

    let mut rows = 0;
    let rejected = loop {
        match store.audit().append(entry(0)).await {
            Ok(_) => rows += 1,
            Err(error) => break error,
        }
        assert!(rows < 10_000, "the file grows without end");
    };
    assert!(matches!(&rejected, StoreError::Failed(why) if why.contains("full")), "{rejected}");
    assert!(rows > 100);
    assert!(store.failing());
    is_sound(&store, rows).await;

    assert_eq!(store.sweep(1).await.unwrap(), 1);
    recovery(&store).await;
    assert_eq!(store.audit().append(entry(1)).await.unwrap(), rows + 1);
    store.close().await.unwrap();

    let store = Store::open(&url, StoreOptions::default()).await.unwrap();
    for number in 0..500 {
        store.audit().enqueue(&entry(number)).unwrap();
    }
    store.audit().flush().await.unwrap();
    is_sound(&store, rows + 501).await;
}

async fn a_closed_connection_is_opened_again(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.audit().append(entry(1)).await.unwrap();
    store.audit().verify().await.unwrap();
    database
        .sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
        .await;
    assert_eq!(store.audit().append(entry(2)).await.unwrap(), 2);
    is_sound(&store, 2).await;
    assert!(!store.failing());
}

#[tokio::test]
async fn a_connection_that_postgres_closed_is_opened_again() {
    crate::testing::on_postgres(a_closed_connection_is_opened_again).await;
}
