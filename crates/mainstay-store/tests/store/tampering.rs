//! Whatever is done to the audit behind the store's back, `verify` names the row.

use std::sync::Arc;

use mainstay_store::{AuditFault, Store};

use crate::audit::is_sound;
use crate::bench::{Bench, entry};

on_both_engines![
    any_flipped_byte_of_a_row_is_named,
    a_flipped_byte_inside_a_group_names_the_very_row,
    a_missing_row_is_named,
    a_missing_tail_is_named,
    everything_gone_is_a_missing_tail,
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
async fn single_rows(bench: &Bench) -> Store {
    let store = bench.open().await;
    for number in 1..=8 {
        store.audit().append(entry(number)).await.unwrap();
    }
    is_sound(&store, ROWS).await;
    store
}

/// Rows 1 to 10 in one group and 11 to 20 in the next.
async fn two_groups(bench: &Bench) -> Store {
    let store = bench.open().await;
    for number in 1..=20 {
        store.audit().enqueue(&entry(number)).unwrap();
        if number % 10 == 0 {
            store.audit().flush().await.unwrap();
        }
    }
    is_sound(&store, 20).await;
    assert!(!bench.page(11).await.is_empty());
    store
}

async fn fault(store: &Store) -> Option<AuditFault> {
    store.audit().verify().await.unwrap().fault
}

fn find(bytes: &[u8], text: &str) -> usize {
    bytes.windows(text.len()).position(|window| window == text.as_bytes()).unwrap()
}

async fn any_flipped_byte_of_a_row_is_named(bench: Arc<Bench>) {
    let store = single_rows(&bench).await;
    let sound = bench.page(4).await;
    for place in 0..sound.len() {
        let mut flipped = sound.clone();
        flipped[place] ^= 0x20;
        bench.put_page(4, &flipped).await;
        assert_eq!(fault(&store).await, Some(AuditFault::Changed { seq: 4 }), "byte {place} of {}", sound.len());
    }
    for longer in [[sound.as_slice(), b"x"].concat(), [sound.as_slice(), sound.as_slice()].concat(), Vec::new()] {
        bench.put_page(4, &longer).await;
        assert!(matches!(fault(&store).await, Some(AuditFault::Changed { seq: 4 | 5 })));
    }
    bench.put_page(4, &sound).await;
    is_sound(&store, ROWS).await;
}

async fn a_flipped_byte_inside_a_group_names_the_very_row(bench: Arc<Bench>) {
    let store = two_groups(&bench).await;
    let mut bytes = bench.page(11).await;
    let place = find(&bytes, "request-17");
    bytes[place] ^= 1;
    bench.put_page(11, &bytes).await;
    let verdict = store.audit().verify().await.unwrap();
    assert_eq!((verdict.rows, verdict.fault), (16, Some(AuditFault::Changed { seq: 17 })));
}

async fn a_missing_row_is_named(bench: Arc<Bench>) {
    let store = single_rows(&bench).await;
    bench.sql("DELETE FROM audit WHERE first_seq IN (5, 6)").await;
    assert_eq!(fault(&store).await, Some(AuditFault::Missing { seq: 5 }));
    bench.sql("DELETE FROM audit WHERE first_seq = 1").await;
    assert_eq!(fault(&store).await, Some(AuditFault::Missing { seq: 1 }));
}

async fn a_missing_tail_is_named(bench: Arc<Bench>) {
    let store = single_rows(&bench).await;
    bench.sql("DELETE FROM audit WHERE first_seq >= 7").await;
    assert_eq!(fault(&store).await, Some(AuditFault::TailMissing { seq: 7, head: 8 }));
}

async fn everything_gone_is_a_missing_tail(bench: Arc<Bench>) {
    let store = single_rows(&bench).await;
    bench.sql("DELETE FROM audit").await;
    assert_eq!(fault(&store).await, Some(AuditFault::TailMissing { seq: 1, head: 8 }));
}

async fn a_row_cut_out_of_its_group_is_named(bench: Arc<Bench>) {
    let store = two_groups(&bench).await;
    let sound = bench.page(1).await;
    let row = |number: usize| {
        // The text is the first of a row's, after its version, phase, two numbers and its own length.
        let start = |number: usize| find(&sound, &format!("request-{number}")) - 20;
        start(number)..if number == 10 { sound.len() } else { start(number + 1) }
    };
    for (cut, found) in [(4, AuditFault::Changed { seq: 4 }), (10, AuditFault::Missing { seq: 10 })] {
        let mut bytes = sound.clone();
        bytes.drain(row(cut));
        bench.put_page(1, &bytes).await;
        assert_eq!(fault(&store).await, Some(found));
    }
}

async fn rows_whose_contents_were_swapped_are_named(bench: Arc<Bench>) {
    let store = single_rows(&bench).await;
    let (third, sixth) = (bench.page(3).await, bench.page(6).await);
    bench.put_page(3, &sixth).await;
    bench.put_page(6, &third).await;
    assert_eq!(fault(&store).await, Some(AuditFault::Changed { seq: 3 }));
}

async fn rows_whose_numbers_were_swapped_are_named(bench: Arc<Bench>) {
    let store = single_rows(&bench).await;
    for (from, to) in [(3, -1), (6, 3), (-1, 6)] {
        bench.sql(&format!("UPDATE audit SET first_seq = {to} WHERE first_seq = {from}")).await;
    }
    assert_eq!(fault(&store).await, Some(AuditFault::Changed { seq: 3 }));
}

async fn a_row_that_was_moved_is_named(bench: Arc<Bench>) {
    let store = single_rows(&bench).await;
    bench.sql("UPDATE audit SET first_seq = -5 WHERE first_seq = 4").await;
    assert_eq!(fault(&store).await, Some(AuditFault::Changed { seq: -5 }));
    bench.sql("UPDATE audit SET first_seq = 40 WHERE first_seq = -5").await;
    assert_eq!(fault(&store).await, Some(AuditFault::Missing { seq: 4 }));
}

async fn a_row_forged_at_the_end_is_beyond_the_head(bench: Arc<Bench>) {
    let store = single_rows(&bench).await;
    let copy = bench.page(2).await;
    bench.put_page(9, &copy).await;
    assert_eq!(fault(&store).await, Some(AuditFault::BeyondHead { seq: 9, head: 8 }));
    bench.sql("UPDATE audit SET first_seq = 12 WHERE first_seq = 9").await;
    assert_eq!(fault(&store).await, Some(AuditFault::BeyondHead { seq: 12, head: 8 }));
}

async fn a_row_forged_into_the_last_group_is_beyond_the_head(bench: Arc<Bench>) {
    let store = single_rows(&bench).await;
    let forged = [bench.page(8).await, bench.page(2).await].concat();
    bench.put_page(8, &forged).await;
    assert_eq!(fault(&store).await, Some(AuditFault::BeyondHead { seq: 9, head: 8 }));
}

async fn a_head_that_was_set_back_leaves_rows_beyond_it(bench: Arc<Bench>) {
    let store = single_rows(&bench).await;
    bench.sql("UPDATE audit_head SET seq = 6").await;
    assert_eq!(fault(&store).await, Some(AuditFault::BeyondHead { seq: 7, head: 6 }));
}

async fn a_head_with_another_hash_is_named(bench: Arc<Bench>) {
    let store = single_rows(&bench).await;
    bench
        .sql(bench.pick(
            "UPDATE audit_head SET hash = zeroblob(32)",
            "UPDATE audit_head SET hash = decode(repeat('00', 32), 'hex')",
        ))
        .await;
    assert_eq!(fault(&store).await, Some(AuditFault::Changed { seq: 8 }));
}

async fn a_row_hidden_from_its_session_is_named(bench: Arc<Bench>) {
    let store = single_rows(&bench).await;
    // Row 4 is the first of its session.
    bench.sql("DELETE FROM audit_seen WHERE first_seq = 4").await;
    assert_eq!(fault(&store).await, Some(AuditFault::Changed { seq: 4 }));
}
