mod archive;
mod tampering;

use std::sync::Arc;
use std::time::Duration;

use mainstay_store::{AuditEntry, AuditQuery, AuditRow, Store, StoreOptions};

use crate::testing::{TestDatabase, at_once, entry};

on_both_engines![
    an_appended_row_is_read_unchanged,
    rows_come_newest_first_in_the_order_they_were_made,
    queued_rows_are_there_after_a_flush,
    queued_rows_are_written_without_a_flush,
    an_appended_row_does_not_wait_for_more,
    pages_of_a_query_follow_each_other,
    a_session_or_principal_is_found_among_others,
    a_rare_session_is_found_far_back,
    ten_thousand_rows_at_once_are_all_durable_and_in_one_chain,
    two_replicas_keep_one_chain,
    verifying_is_correct_while_rows_are_written,
    an_empty_audit_is_sound,
    unusual_texts_are_read_unchanged,
    operators_can_query_the_log_with_sql,
    a_nul_in_a_text_does_not_break_the_view,
];

pub(crate) async fn all(store: &Store) -> Vec<AuditRow> {
    store.audit().query(AuditQuery { limit: u32::MAX, ..AuditQuery::default() }).await.unwrap()
}

pub(crate) async fn is_sound(store: &Store, rows: i64) {
    let report = store.audit().verify().await.unwrap();
    assert_eq!((report.rows, report.head.seq, report.fault), (rows, rows, None));
}

async fn an_appended_row_is_read_unchanged(database: Arc<TestDatabase>) {
    let store = database.open().await;
    for number in [1, 2, 5] {
        store.audit().append(entry(number)).await.unwrap();
    }
    let rows = all(&store).await;
    assert_eq!(rows.iter().map(|row| row.seq).collect::<Vec<_>>(), [3, 2, 1]);
    assert_eq!(rows.iter().map(|row| &row.entry).collect::<Vec<_>>(), [&entry(5), &entry(2), &entry(1)]);
    assert!(rows.iter().all(|row| row.hash.len() == 64));
    let report = store.audit().verify().await.unwrap();
    assert_eq!((report.head.seq, &report.head.hash), (3, &rows[0].hash));
}

async fn rows_come_newest_first_in_the_order_they_were_made(database: Arc<TestDatabase>) {
    let store = database.open().await;
    for number in 0..30 {
        if number % 3 == 0 {
            assert_eq!(store.audit().append(entry(number)).await.unwrap(), i64::try_from(number).unwrap() + 1);
        } else {
            store.audit().enqueue(&entry(number)).unwrap();
        }
    }
    store.audit().flush().await.unwrap();
    let made: Vec<_> = all(&store).await.into_iter().rev().map(|row| row.entry).collect();
    assert_eq!(made, (0..30).map(entry).collect::<Vec<_>>());
    is_sound(&store, 30).await;
}

async fn queued_rows_are_there_after_a_flush(database: Arc<TestDatabase>) {
    let store = database.open_with(StoreOptions { linger: Duration::from_mins(1), ..StoreOptions::default() }).await;
    for number in 0..3000 {
        store.audit().enqueue(&entry(number)).unwrap();
    }
    store.audit().flush().await.unwrap();
    assert_eq!(store.queued(), 0);
    is_sound(&store, 3000).await;
}

async fn queued_rows_are_written_without_a_flush(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.audit().enqueue(&entry(1)).unwrap();
    while all(&store).await.is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    is_sound(&store, 1).await;
}

async fn an_appended_row_does_not_wait_for_more(database: Arc<TestDatabase>) {
    let store = database.open_with(StoreOptions { linger: Duration::from_mins(10), ..StoreOptions::default() }).await;
    store.audit().enqueue(&entry(1)).unwrap();
    // Long enough for the writer to wait for more rows by now.
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(all(&store).await.is_empty());
    assert_eq!(store.audit().append(entry(2)).await.unwrap(), 2);
}

async fn pages_of_a_query_follow_each_other(database: Arc<TestDatabase>) {
    let store = database.open().await;
    for number in 0..100 {
        store.audit().enqueue(&entry(number)).unwrap();
        if number % 7 == 0 {
            store.audit().flush().await.unwrap();
        }
    }
    store.audit().flush().await.unwrap();
    for session in [None, Some("session-3".to_owned())] {
        let query = AuditQuery { session: session.clone(), limit: 9, ..AuditQuery::default() };
        let mut seen = Vec::new();
        let mut before = None;
        loop {
            let page = store.audit().query(AuditQuery { before, ..query.clone() }).await.unwrap();
            assert!(page.len() <= 9);
            let Some(last) = page.last() else { break };
            before = Some(last.seq);
            seen.extend(page);
        }
        let whole = AuditQuery { limit: 1000, ..query };
        assert_eq!(seen, store.audit().query(whole).await.unwrap());
        assert_eq!(
            seen.len(),
            (0..100).filter(|n| session.is_none() || entry(*n).session.as_deref() == session.as_deref()).count()
        );
    }
    let none = AuditQuery { limit: 0, ..AuditQuery::default() };
    assert!(store.audit().query(none).await.unwrap().is_empty());
}

async fn a_session_or_principal_is_found_among_others(database: Arc<TestDatabase>) {
    let store = database.open().await;
    for number in 0..200 {
        store.audit().enqueue(&entry(number)).unwrap();
    }
    store.audit().flush().await.unwrap();
    for (session, principal) in [
        (Some("session-4"), None),
        (None, Some("principal-2")),
        (Some("session-4"), Some("principal-2")),
        (Some("principal-2"), None),
        (Some(""), None),
        (Some("nobody"), Some("principal-2")),
    ] {
        let fits = |entry: &AuditEntry| {
            session.is_none_or(|session| entry.session.as_deref() == Some(session))
                && principal.is_none_or(|principal| &*entry.principal == principal)
        };
        let wanted: Vec<_> = (0..200).rev().map(entry).filter(fits).collect();
        let query = AuditQuery {
            session: session.map(str::to_owned),
            principal: principal.map(str::to_owned),
            before: None,
            limit: 1000,
        };
        let found: Vec<_> = store.audit().query(query).await.unwrap().into_iter().map(|row| row.entry).collect();
        assert_eq!(found, wanted, "{session:?} {principal:?}");
    }
}

async fn a_rare_session_is_found_far_back(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let rare = |number| AuditEntry { session: Some("rare".into()), ..entry(number) };
    for number in 0..20_000 {
        let made = if [3, 4500, 4501, 17_000].contains(&number) { rare(number) } else { entry(number) };
        store.audit().enqueue(&made).unwrap();
        if number % 500 == 0 {
            store.audit().flush().await.unwrap();
        }
    }
    // The next writer does not know what this one has marked.
    store.close().await.unwrap();
    let store = database.open().await;
    store.audit().append(rare(20_000)).await.unwrap();
    let query = |before, limit| AuditQuery { session: Some("rare".into()), before, limit, ..AuditQuery::default() };
    let seqs = |rows: Vec<AuditRow>| rows.into_iter().map(|row| row.seq).collect::<Vec<_>>();
    let found = store.audit().query(query(None, 100)).await.unwrap();
    assert_eq!(seqs(found), [20_001, 17_001, 4502, 4501, 4]);
    let found = store.audit().query(query(Some(17_001), 2)).await.unwrap();
    assert_eq!(seqs(found), [4502, 4501]);
    is_sound(&store, 20_001).await;
}

async fn ten_thousand_rows_at_once_are_all_durable_and_in_one_chain(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let mut seqs = at_once(10_000, |number| {
        let store = store.clone();
        async move { store.audit().append(entry(number)).await.unwrap() }
    })
    .await;
    seqs.sort_unstable();
    assert!(seqs.into_iter().eq(1..=10_000));
    store.close().await.unwrap();
    let store = database.open().await;
    is_sound(&store, 10_000).await;
    let mut made: Vec<_> = all(&store).await.into_iter().map(|row| row.entry.at_ms).collect();
    made.sort_unstable();
    assert!(made.into_iter().eq((0..10_000).map(|number| entry(number).at_ms)));
}

async fn two_replicas_keep_one_chain(database: Arc<TestDatabase>) {
    let stores = [database.open().await, database.open().await];
    let mut seqs = at_once(1000, |number| {
        let store = stores[number % 2].clone();
        async move {
            store.audit().enqueue(&entry(number + 1000)).unwrap();
            store.audit().append(entry(number)).await.unwrap()
        }
    })
    .await;
    seqs.sort_unstable();
    seqs.dedup();
    assert_eq!(seqs.len(), 1000);
    for store in &stores {
        is_sound(store, 2000).await;
        assert_eq!(all(store).await.len(), 2000);
    }
    let wanted = (0..2000).filter(|number| entry(*number).session.as_deref() == Some("session-1")).count();
    let query = AuditQuery { session: Some("session-1".into()), limit: 9999, ..AuditQuery::default() };
    assert_eq!(stores[0].audit().query(query).await.unwrap().len(), wanted);
}

async fn verifying_is_correct_while_rows_are_written(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let writing = tokio::spawn({
        let store = store.clone();
        async move {
            for number in 0..400 {
                store.audit().append(entry(number)).await.unwrap();
            }
        }
    });
    let mut verified = 0;
    while !writing.is_finished() {
        let report = store.audit().verify().await.unwrap();
        assert_eq!((report.rows, report.fault), (report.head.seq, None));
        verified += 1;
    }
    writing.await.unwrap();
    assert!(verified > 1);
    is_sound(&store, 400).await;
}

async fn an_empty_audit_is_sound(database: Arc<TestDatabase>) {
    let store = database.open().await;
    is_sound(&store, 0).await;
    assert!(all(&store).await.is_empty());
    store.audit().flush().await.unwrap();
}

async fn unusual_texts_are_read_unchanged(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let odd = AuditEntry {
        session: Some("a\0b".into()),
        principal: "'; DROP TABLE audit; --".into(),
        target: "🦀\u{202e}\n\t".into(),
        request_id: "".into(),
        at_ms: i64::MIN,
        duration_us: i64::MAX,
        ..entry(1)
    };
    store.audit().append(odd.clone()).await.unwrap();
    let query = AuditQuery { session: odd.session.as_deref().map(str::to_owned), limit: 5, ..AuditQuery::default() };
    assert_eq!(store.audit().query(query).await.unwrap()[0].entry, odd);
    is_sound(&store, 1).await;
}

async fn operators_can_query_the_log_with_sql(database: Arc<TestDatabase>) {
    let store = database.open().await;
    for number in 0..40 {
        let outcome = if number % 10 == 0 { "denied" } else { "ok" };
        store.audit().enqueue(&AuditEntry { outcome: outcome.into(), ..entry(number) }).unwrap();
        if number % 7 == 0 {
            store.audit().flush().await.unwrap();
        }
    }
    store.audit().flush().await.unwrap();
    let rows = all(&store).await;
    let shown = database.select("SELECT seq, hash FROM audit ORDER BY seq DESC").await;
    assert_eq!(shown, rows.iter().map(|row| (row.seq, Some(row.hash.clone()))).collect::<Vec<_>>());
    for (column, value) in [
        ("phase", None),
        ("request_id", Some(entry(5).request_id.to_string())),
        ("principal", Some(entry(5).principal.to_string())),
        ("session", entry(5).session.map(|session| session.to_string())),
        ("ip", entry(5).ip),
        ("target", Some(entry(5).target.to_string())),
        ("effect", Some(entry(5).effect.into_owned())),
        ("args_digest", Some(entry(5).args_digest)),
        ("outcome", Some("ok".into())),
    ] {
        let shown = database.select(&format!("SELECT at_ms, {column} FROM audit WHERE seq = 6")).await;
        let value = if column == "phase" { Some("began".into()) } else { value };
        assert_eq!(shown, [(entry(5).at_ms, value)], "{column}");
    }
    let denied = "SELECT COUNT(*), principal FROM audit WHERE outcome = 'denied' AND duration_us = 250 \
         GROUP BY principal ORDER BY principal";
    let wanted = [(2, "principal-0"), (1, "principal-1"), (1, "principal-2")];
    assert_eq!(database.select(denied).await, wanted.map(|(count, name)| (count, Some(name.to_owned()))));
}

async fn a_nul_in_a_text_does_not_break_the_view(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.audit().append(AuditEntry { target: "a\0b".into(), ..entry(1) }).await.unwrap();
    store.audit().append(entry(2)).await.unwrap();
    let shown = database.select("SELECT seq, request_id FROM audit WHERE seq = 2").await;
    assert_eq!(shown, [(2, Some("request-2".to_owned()))]);
    assert_eq!(database.select("SELECT seq, target FROM audit WHERE seq = 1").await.len(), 1);
}
