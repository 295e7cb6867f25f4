//! The server bounds what it keeps by itself.

use std::time::Duration;

use mainstay_engine::EngineSettings;
use mainstay_store::{Activity, ActivityQuery, AuditEntry, Phase, WriteMode};

use crate::testing::Fixture;

const NOW_MS: i64 = 1_800_000_000_000;

fn entry(number: i64) -> AuditEntry {
    AuditEntry {
        at_ms: NOW_MS + number,
        phase: Phase::Ended,
        request_id: format!("request-{number}").into(),
        principal: "ann".into(),
        session: None,
        ip: None,
        target: "files_read".into(),
        effect: "reads".into(),
        args_digest: format!("{number:064}"),
        outcome: "ok".into(),
        duration_us: 1,
    }
}

#[tokio::test]
async fn a_sweep_archives_old_audit_rows_and_says_so_in_the_audit() {
    let fixture = Fixture::new().await;
    for number in 0..6000 {
        fixture.store.audit().enqueue(&entry(number)).unwrap();
    }
    fixture.store.audit().flush().await.unwrap();
    fixture.engine.sweep().await.unwrap();
    assert!(fixture.store.audit().segments().await.unwrap().is_empty(), "nothing is old by default");
    fixture.clock.advance(Duration::from_hours(91 * 24));
    fixture.engine.sweep().await.unwrap();
    let segments = fixture.store.audit().segments().await.unwrap();
    assert_eq!(segments.len(), 1);
    let report = fixture.store.audit().verify().await.unwrap();
    assert_eq!((report.rows, report.archived, report.fault), (6001, segments[0].last, None));
    let rows = fixture.audit().await;
    let last = &rows.last().unwrap().entry;
    assert_eq!(*last.target, format!("audit/archive {}", segments[0].file_name()));

    fixture.clock.advance(Duration::from_hours(800 * 24));
    fixture.engine.sweep().await.unwrap();
    let report = fixture.store.audit().verify().await.unwrap();
    assert_eq!((report.archived, report.removed, report.fault), (0, segments[0].last, None));
}

#[tokio::test]
async fn a_sweep_deletes_old_activities_unless_it_is_told_not_to() {
    let mut settings = EngineSettings::default();
    settings.retention.agents_days = 0;
    let fixture = Fixture::new().await;
    let unlimited = fixture.again(settings).await;
    let activity = Activity {
        id: 0,
        agent: "ann".into(),
        at_ms: NOW_MS,
        activity: "work".into(),
        category: "task".into(),
        status: None,
        details: None,
    };
    fixture.store.agents().log(activity, WriteMode::Commit).await.unwrap();
    let left = async || {
        let query = ActivityQuery { limit: 9, ..ActivityQuery::default() };
        fixture.store.agents().activities(query).await.unwrap().len()
    };
    fixture.clock.advance(Duration::from_hours(89 * 24));
    fixture.engine.sweep().await.unwrap();
    fixture.clock.advance(Duration::from_hours(48));
    unlimited.engine.sweep().await.unwrap();
    assert_eq!(left().await, 1);
    fixture.engine.sweep().await.unwrap();
    assert_eq!(left().await, 0);
}
