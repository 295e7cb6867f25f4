//! Attacks on the audit log by somebody who can write the database: `verify` names the row.

use std::sync::Arc;

use mainstay_store::{AuditFault, Store};

use crate::audit::is_sound;
use crate::testing::{TestDatabase, entry};

on_both_engines![
    any_changed_byte_of_a_row_is_named,
    a_changed_byte_inside_a_group_names_the_row,
    a_missing_row_is_named,
    a_missing_tail_is_named,
    an_emptied_log_is_a_missing_tail,
    a_row_cut_out_of_its_group_is_named,
    rows_whose_contents_were_swapped_are_named,
    rows_whose_numbers_were_swapped_are_named,
    a_row_that_was_moved_is_named,
    a_row_forged_at_the_end_is_beyond_the_head,
    a_row_forged_into_the_last_group_is_beyond_the_head,
    a_head_that_was_set_back_leaves_rows_beyond_it,
    a_head_with_another_hash_is_named,
    a_row_hidden_from_its_session_is_named,
];

const ROWS: i64 = 8;

/// Eight rows, each in a group of its own.
async fn single_rows(database: &TestDatabase) -> Store {
    let store = database.open().await;
    for number in 1..=8 {
        store.audit().append(entry(number)).await.unwrap();
    }
    is_sound(&store, ROWS).await;
    store
}

/// Rows 1 to 10 in one group and 11 to 20 in the next.
async fn two_groups(database: &TestDatabase) -> Store {
    let store = database.open().await;
    for number in 1..=20 {
        store.audit().enqueue(&entry(number)).unwrap();
        if number % 10 == 0 {
            store.audit().flush().await.unwrap();
        }
    }
    is_sound(&store, 20).await;
    assert!(!database.page(11).await.is_empty());
    store
}

async fn fault(store: &Store) -> Option<AuditFault> {
    store.audit().verify().await.unwrap().fault
}

/// The rows of a page.
fn rows(page: &str) -> Vec<&str> {
    page.strip_prefix('[').unwrap().strip_suffix(']').unwrap().split(",\n").collect()
}

/// A page of these rows, as the store would write it.
fn page_of(rows: &[&str]) -> String {
    format!("[{}]", rows.join(",\n"))
}

async fn any_changed_byte_of_a_row_is_named(database: Arc<TestDatabase>) {
    let store = single_rows(&database).await;
    let sound = database.page(4).await;
    for place in 0..sound.len() {
        let mut flipped = sound.clone().into_bytes();
        flipped[place] ^= 0x20;
        database.put_page(4, &String::from_utf8(flipped).unwrap()).await;
        assert_eq!(fault(&store).await, Some(AuditFault::Changed { seq: 4 }), "byte {place} of {sound}");
    }
    let twice = page_of(&[rows(&sound)[0]; 2]);
    for other in
        [format!("{sound}x"), sound.repeat(2), String::new(), "[]".into(), sound.replacen("[[", "[ [", 1), twice]
    {
        database.put_page(4, &other).await;
        assert!(matches!(fault(&store).await, Some(AuditFault::Changed { seq: 4 | 5 })), "{other}");
    }
    database.put_page(4, &sound).await;
    is_sound(&store, ROWS).await;
}

async fn a_changed_byte_inside_a_group_names_the_row(database: Arc<TestDatabase>) {
    let store = two_groups(&database).await;
    let page = database.page(11).await;
    database.put_page(11, &page.replace("request-17", "request-07")).await;
    let report = store.audit().verify().await.unwrap();
    assert_eq!((report.rows, report.fault), (16, Some(AuditFault::Changed { seq: 17 })));
}

async fn a_missing_row_is_named(database: Arc<TestDatabase>) {
    let store = single_rows(&database).await;
    database.sql("DELETE FROM audit_page WHERE first_seq IN (5, 6)").await;
    assert_eq!(fault(&store).await, Some(AuditFault::Missing { seq: 5 }));
    database.sql("DELETE FROM audit_page WHERE first_seq = 1").await;
    assert_eq!(fault(&store).await, Some(AuditFault::Missing { seq: 1 }));
}

async fn a_missing_tail_is_named(database: Arc<TestDatabase>) {
    let store = single_rows(&database).await;
    database.sql("DELETE FROM audit_page WHERE first_seq >= 7").await;
    assert_eq!(fault(&store).await, Some(AuditFault::TailMissing { seq: 7, head: 8 }));
}

async fn an_emptied_log_is_a_missing_tail(database: Arc<TestDatabase>) {
    let store = single_rows(&database).await;
    database.sql("DELETE FROM audit_page").await;
    assert_eq!(fault(&store).await, Some(AuditFault::TailMissing { seq: 1, head: 8 }));
}

async fn a_row_cut_out_of_its_group_is_named(database: Arc<TestDatabase>) {
    let store = two_groups(&database).await;
    let sound = database.page(1).await;
    for (cut, found) in [(4, AuditFault::Changed { seq: 4 }), (10, AuditFault::Missing { seq: 10 })] {
        let mut kept = rows(&sound);
        kept.remove(cut - 1);
        database.put_page(1, &page_of(&kept)).await;
        assert_eq!(fault(&store).await, Some(found));
    }
}

async fn rows_whose_contents_were_swapped_are_named(database: Arc<TestDatabase>) {
    let store = single_rows(&database).await;
    let (third, sixth) = (database.page(3).await, database.page(6).await);
    database.put_page(3, &sixth).await;
    database.put_page(6, &third).await;
    assert_eq!(fault(&store).await, Some(AuditFault::Changed { seq: 3 }));
}

async fn rows_whose_numbers_were_swapped_are_named(database: Arc<TestDatabase>) {
    let store = single_rows(&database).await;
    for (from, to) in [(3, -1), (6, 3), (-1, 6)] {
        database.sql(&format!("UPDATE audit_page SET first_seq = {to} WHERE first_seq = {from}")).await;
    }
    assert_eq!(fault(&store).await, Some(AuditFault::Changed { seq: 3 }));
}

async fn a_row_that_was_moved_is_named(database: Arc<TestDatabase>) {
    let store = single_rows(&database).await;
    database.sql("UPDATE audit_page SET first_seq = -5 WHERE first_seq = 4").await;
    assert_eq!(fault(&store).await, Some(AuditFault::Changed { seq: -5 }));
    database.sql("UPDATE audit_page SET first_seq = 40 WHERE first_seq = -5").await;
    assert_eq!(fault(&store).await, Some(AuditFault::Missing { seq: 4 }));
}

async fn a_row_forged_at_the_end_is_beyond_the_head(database: Arc<TestDatabase>) {
    let store = single_rows(&database).await;
    let copy = database.page(2).await;
    database.put_page(9, &copy).await;
    assert_eq!(fault(&store).await, Some(AuditFault::BeyondHead { seq: 9, head: 8 }));
    database.sql("UPDATE audit_page SET first_seq = 12 WHERE first_seq = 9").await;
    assert_eq!(fault(&store).await, Some(AuditFault::BeyondHead { seq: 12, head: 8 }));
}

async fn a_row_forged_into_the_last_group_is_beyond_the_head(database: Arc<TestDatabase>) {
    let store = single_rows(&database).await;
    let (last, second) = (database.page(8).await, database.page(2).await);
    let forged = page_of(&[rows(&last)[0], rows(&second)[0]]);
    database.put_page(8, &forged).await;
    assert_eq!(fault(&store).await, Some(AuditFault::BeyondHead { seq: 9, head: 8 }));
}

async fn a_head_that_was_set_back_leaves_rows_beyond_it(database: Arc<TestDatabase>) {
    let store = single_rows(&database).await;
    database.sql("UPDATE audit_head SET seq = 6").await;
    assert_eq!(fault(&store).await, Some(AuditFault::BeyondHead { seq: 7, head: 6 }));
}

async fn a_head_with_another_hash_is_named(database: Arc<TestDatabase>) {
    let store = single_rows(&database).await;
    database
        .sql(database.pick(
            "UPDATE audit_head SET hash = zeroblob(32)",
            "UPDATE audit_head SET hash = decode(repeat('00', 32), 'hex')",
        ))
        .await;
    assert_eq!(fault(&store).await, Some(AuditFault::Changed { seq: 8 }));
}

async fn a_row_hidden_from_its_session_is_named(database: Arc<TestDatabase>) {
    let store = single_rows(&database).await;
    // Row 4 is the first of its session.
    database.sql("DELETE FROM audit_index WHERE first_seq = 4").await;
    assert_eq!(fault(&store).await, Some(AuditFault::Changed { seq: 4 }));
}
