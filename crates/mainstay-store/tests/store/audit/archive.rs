//! The audit's archive: rows that left the database still verify, and attacks on the files are named.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mainstay_store::{AuditEntry, AuditFault, AuditHead, AuditSegment, Keep, Store, StoreOptions};

use crate::audit::all;
use crate::testing::{TestDatabase, at_once, entry};

on_both_engines![
    archived_rows_leave_the_database_and_still_verify,
    rows_are_archived_by_age_in_whole_blocks,
    a_noted_head_is_found_in_the_archive,
    any_change_of_an_archived_file_is_named,
    a_missing_or_swapped_file_is_named,
    removed_files_leave_a_chain_that_verifies,
    a_beginning_that_was_removed_without_a_record_is_named,
    a_damaged_row_is_never_archived,
    two_replicas_that_archive_at_once_lose_nothing,
    without_an_archive_every_row_stays,
];

const ROWS: i64 = 10_000;

/// So little is kept in the database that every complete block is moved.
const NOTHING: Keep = Keep { age_ms: None, bytes: Some(1) };

fn options(archive: &Path) -> StoreOptions {
    // Rows of one flush are one page: the writer does not take some of them before the flush.
    let linger = Duration::from_mins(10);
    StoreOptions { audit_archive: Some(archive.join("audit")), linger, ..StoreOptions::default() }
}

/// A store with ten pages of a thousand rows, and the directory of its archive.
async fn filled(database: &TestDatabase) -> (Store, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let store = database.open_with(options(dir.path())).await;
    for number in 1..=10_000 {
        store.audit().enqueue(&entry(number)).unwrap();
        if number % 1000 == 0 {
            store.audit().flush().await.unwrap();
        }
    }
    (store, dir)
}

fn file(dir: &tempfile::TempDir, segment: &AuditSegment) -> PathBuf {
    dir.path().join("audit").join(segment.file_name())
}

async fn is_whole(store: &Store, archived: i64, removed: i64) {
    let report = store.audit().verify().await.unwrap();
    assert_eq!(report.fault, None);
    assert_eq!((report.rows, report.archived, report.removed), (report.head.seq - removed, archived, removed));
    assert!(report.head.seq >= ROWS);
}

async fn fault(store: &Store) -> Option<AuditFault> {
    store.audit().verify().await.unwrap().fault
}

async fn archived_rows_leave_the_database_and_still_verify(database: Arc<TestDatabase>) {
    let (store, dir) = filled(&database).await;
    let before = all(&store).await;
    let moved = store.audit().archive(NOTHING, 0).await.unwrap();
    assert_eq!(moved.len(), 2, "two blocks are complete");
    assert_eq!((moved[0].first, moved[1].first), (1, moved[0].last + 1));
    let last = moved[1].last;
    is_whole(&store, last, 0).await;
    let mut after = all(&store).await;
    let about: Vec<String> = after.drain(..2).rev().map(|row| row.entry.target.to_string()).collect();
    assert_eq!(about, [0, 1].map(|at| format!("audit/archive {}", moved[at].file_name())));
    assert_eq!(after, before[..usize::try_from(ROWS - last).unwrap()]);
    // The files have every row that left, in order, and are the owner's alone.
    let lines: Vec<String> = moved
        .iter()
        .flat_map(|segment| {
            use std::os::unix::fs::PermissionsExt as _;
            let path = file(&dir, segment);
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            let text = std::fs::read_to_string(path).unwrap();
            assert_eq!(i64::try_from(text.len()).unwrap(), segment.bytes);
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    assert!(lines.len() == usize::try_from(last).unwrap());
    for (line, row) in lines.iter().zip(before.iter().rev()) {
        assert!(line.contains(&*row.entry.request_id) && line.contains(&row.hash), "{line}");
    }
    assert!(store.audit().archive(NOTHING, 0).await.unwrap().is_empty(), "the newest block stays");
    // The chain goes on, also after a restart.
    store.close().await.unwrap();
    let store = database.open_with(options(dir.path())).await;
    assert_eq!(store.audit().append(entry(1)).await.unwrap(), ROWS + 3);
    is_whole(&store, last, 0).await;
}

async fn rows_are_archived_by_age_in_whole_blocks(database: Arc<TestDatabase>) {
    let (store, _dir) = filled(&database).await;
    let keep = Keep { age_ms: Some(1000), bytes: None };
    let at = |row: usize| entry(row).at_ms + 1000;
    assert!(store.audit().archive(keep, at(1000)).await.unwrap().is_empty(), "the block has newer rows");
    let moved = store.audit().archive(keep, at(6000)).await.unwrap();
    assert_eq!(moved.len(), 1);
    assert_eq!(moved[0].newest_ms, entry(usize::try_from(moved[0].last).unwrap()).at_ms);
    is_whole(&store, moved[0].last, 0).await;
}

async fn a_noted_head_is_found_in_the_archive(database: Arc<TestDatabase>) {
    let (store, _dir) = filled(&database).await;
    let rows = all(&store).await;
    store.audit().archive(NOTHING, 0).await.unwrap();
    let verify = |head: AuditHead| {
        let store = store.clone();
        async move { store.audit().verify_against(&head).await.unwrap().fault }
    };
    for row in [&rows[0], &rows[500], &rows[5000], &rows[9999]] {
        let (seq, hash) = (row.seq, row.hash.clone());
        assert_eq!(verify(AuditHead { seq, hash }).await, None, "row {seq}");
        assert_eq!(verify(AuditHead { seq, hash: "0".repeat(64) }).await, Some(AuditFault::Rewritten { seq }));
    }
    let seq = ROWS + 100;
    assert_eq!(verify(AuditHead { seq, hash: rows[0].hash.clone() }).await, Some(AuditFault::Rewritten { seq }));
}

async fn any_change_of_an_archived_file_is_named(database: Arc<TestDatabase>) {
    let (store, dir) = filled(&database).await;
    let moved = store.audit().archive(NOTHING, 0).await.unwrap();
    let path = file(&dir, &moved[0]);
    let sound = std::fs::read_to_string(&path).unwrap();
    let fourth: usize = sound.split_inclusive('\n').take(3).map(str::len).sum();
    let length = sound[fourth..].find('\n').unwrap();
    for place in (fourth..=fourth + length).step_by(7).chain([fourth + length]) {
        let mut flipped = sound.clone().into_bytes();
        flipped[place] ^= 0x20;
        std::fs::write(&path, flipped).unwrap();
        assert_eq!(fault(&store).await, Some(AuditFault::Changed { seq: 4 }), "byte {place}");
    }
    let lines: Vec<&str> = sound.split_inclusive('\n').collect();
    let last = moved[0].last;
    let without_last = lines[..lines.len() - 1].concat();
    let swapped = [&lines[..10], &[lines[11], lines[10]], &lines[12..]].concat().concat();
    let without_tenth = [&lines[..9], &lines[10..]].concat().concat();
    for (text, found) in [
        (without_last, AuditFault::Missing { seq: last }),
        (String::new(), AuditFault::Missing { seq: 1 }),
        (format!("{sound}{}", lines[0]), AuditFault::Changed { seq: last + 1 }),
        (sound.trim_end().to_owned(), AuditFault::Changed { seq: last }),
        (swapped, AuditFault::Changed { seq: 11 }),
        (without_tenth, AuditFault::Changed { seq: 10 }),
        ("x".repeat(3_000_000), AuditFault::Changed { seq: 1 }),
    ] {
        std::fs::write(&path, text).unwrap();
        assert_eq!(fault(&store).await, Some(found));
    }
    std::fs::write(&path, sound).unwrap();
    is_whole(&store, moved[1].last, 0).await;
}

async fn a_missing_or_swapped_file_is_named(database: Arc<TestDatabase>) {
    let (store, dir) = filled(&database).await;
    let moved = store.audit().archive(NOTHING, 0).await.unwrap();
    let [one, two] = [0, 1].map(|at| file(&dir, &moved[at]));
    let AuditSegment { first, last, .. } = moved[1];
    std::fs::rename(&two, dir.path().join("away")).unwrap();
    assert_eq!(fault(&store).await, Some(AuditFault::SegmentMissing { first, last, file: moved[1].file_name() }));
    std::fs::copy(&one, &two).unwrap();
    assert_eq!(fault(&store).await, Some(AuditFault::Changed { seq: first }));
    std::fs::rename(dir.path().join("away"), &two).unwrap();
    is_whole(&store, last, 0).await;
    // Somebody who can write the database hides that rows were archived.
    database.sql(&format!("DELETE FROM audit_segment WHERE last_seq = {last}")).await;
    assert_eq!(fault(&store).await, Some(AuditFault::Missing { seq: first }));
    database.sql("DELETE FROM audit_segment").await;
    assert_eq!(fault(&store).await, Some(AuditFault::Missing { seq: 1 }));
}

async fn removed_files_leave_a_chain_that_verifies(database: Arc<TestDatabase>) {
    let (store, dir) = filled(&database).await;
    let rows = all(&store).await;
    let moved = store.audit().archive(NOTHING, 0).await.unwrap();
    let keep = Keep { age_ms: Some(0), bytes: None };
    let removed = store.audit().remove_archived(keep, moved[0].newest_ms).await.unwrap();
    assert_eq!(removed, moved[..1]);
    assert!(!file(&dir, &moved[0]).exists() && file(&dir, &moved[1]).exists());
    is_whole(&store, moved[1].last - moved[0].last, moved[0].last).await;
    assert_eq!(store.audit().segments().await.unwrap(), moved[1..]);
    // A head from before can no longer be compared, and the verdict says that rather than "intact" or "rewritten".
    let old = rows.iter().find(|row| row.seq == 5).unwrap();
    let report = store.audit().verify_against(&AuditHead { seq: 5, hash: old.hash.clone() }).await.unwrap();
    assert_eq!(report.fault, Some(AuditFault::NotKept { seq: 5 }));
    let edge = rows.iter().find(|row| row.seq == moved[0].last).unwrap();
    let report = store.audit().verify_against(&AuditHead { seq: edge.seq, hash: edge.hash.clone() }).await.unwrap();
    assert_eq!(report.fault, None);

    let removed = store.audit().remove_archived(NOTHING, 0).await.unwrap();
    assert_eq!(removed, moved[1..]);
    is_whole(&store, 0, moved[1].last).await;
    assert_eq!(std::fs::read_dir(dir.path().join("audit")).unwrap().count(), 0);
}

async fn a_beginning_that_was_removed_without_a_record_is_named(database: Arc<TestDatabase>) {
    let (store, dir) = filled(&database).await;
    let rows = all(&store).await;
    let moved = store.audit().archive(NOTHING, 0).await.unwrap();
    // What retention would do, by somebody who can write the database and the archive.
    std::fs::remove_file(file(&dir, &moved[0])).unwrap();
    database.sql(&format!("UPDATE audit_segment SET removed = 1 WHERE last_seq = {}", moved[0].last)).await;
    let noted = AuditHead { seq: rows[0].seq, hash: rows[0].hash.clone() };
    for report in [store.audit().verify().await, store.audit().verify_against(&noted).await] {
        assert_eq!(report.unwrap().fault, Some(AuditFault::Missing { seq: 1 }));
    }
    // A caller cannot put it on record: its row has its own name.
    let target = format!("audit/remove {}", moved[0].file_name());
    store.audit().append(AuditEntry { target: target.as_str().into(), ..entry(1) }).await.unwrap();
    assert_eq!(fault(&store).await, Some(AuditFault::Missing { seq: 1 }));
    store.audit().append(AuditEntry { target: target.into(), principal: "server".into(), ..entry(1) }).await.unwrap();
    assert_eq!(fault(&store).await, None);
}

async fn a_damaged_row_is_never_archived(database: Arc<TestDatabase>) {
    let (store, dir) = filled(&database).await;
    let page = database.page(2001).await;
    database.put_page(2001, &page.replace("request-2500", "request-2501")).await;
    let refused = store.audit().archive(NOTHING, 0).await.unwrap_err().to_string();
    assert!(refused.contains("row 2500 is damaged"), "{refused}");
    assert_eq!(fault(&store).await, Some(AuditFault::Changed { seq: 2500 }));
    database.put_page(2001, &page).await;
    is_whole(&store, 0, 0).await;
    let archive = std::fs::read_dir(dir.path().join("audit")).unwrap();
    assert!(archive.flatten().all(|file| !file.file_name().to_string_lossy().starts_with("audit-")));
    store.audit().archive(NOTHING, 0).await.unwrap();
    assert_eq!(fault(&store).await, None);
}

async fn two_replicas_that_archive_at_once_lose_nothing(database: Arc<TestDatabase>) {
    let (store, dir) = filled(&database).await;
    let stores = [store, database.open_with(options(dir.path())).await];
    let archived = at_once(8, |number| {
        let store = stores[number % 2].clone();
        async move { store.audit().archive(NOTHING, 0).await }
    });
    let moved: Vec<_> = archived.await.into_iter().flat_map(Result::unwrap).collect();
    assert_eq!(moved.len(), 2);
    is_whole(&stores[1], moved.iter().map(|segment| segment.last).max().unwrap(), 0).await;
}

async fn without_an_archive_every_row_stays(database: Arc<TestDatabase>) {
    let store = database.open().await;
    for number in 1..=9000 {
        store.audit().enqueue(&entry(number)).unwrap();
    }
    store.audit().flush().await.unwrap();
    assert!(store.audit().archive(NOTHING, 0).await.unwrap().is_empty());
    assert_eq!(all(&store).await.len(), 9000);
}
