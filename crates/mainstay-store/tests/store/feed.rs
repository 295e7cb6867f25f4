use std::sync::Arc;

use mainstay_store::{FEED_RETENTION_MS, Feed};

use crate::testing::{TestDatabase, at_once};

on_both_engines![
    events_are_numbered_without_gaps_and_read_after_a_number,
    pages_written_at_once_on_two_replicas_share_one_order,
    an_hour_without_listeners_is_a_gap_and_a_shorter_time_is_not,
    events_older_than_an_hour_are_deleted_and_the_floor_rises,
    numbers_continue_after_a_sweep_and_after_a_restart,
];

const NOW: i64 = 10 * FEED_RETENTION_MS;

async fn append(feed: Feed<'_>, count: u32, now_ms: i64) -> i64 {
    let events = format!("[{}]", vec!["1"; count as usize].join(","));
    feed.append(events, count, now_ms).await.unwrap()
}

async fn events_are_numbered_without_gaps_and_read_after_a_number(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let feed = store.feed();
    assert_eq!((append(feed, 3, NOW).await, append(feed, 2, NOW).await, append(feed, 1, NOW).await), (3, 5, 6));
    let spans = |pages: Vec<mainstay_store::FeedPage>| pages.iter().map(|p| (p.first, p.last)).collect::<Vec<_>>();
    assert_eq!(spans(feed.after(0, 10).await.unwrap()), [(1, 3), (4, 5), (6, 6)]);
    assert_eq!(spans(feed.after(4, 10).await.unwrap()), [(4, 5), (6, 6)]);
    assert_eq!(spans(feed.after(3, 1).await.unwrap()), [(4, 5)]);
    assert_eq!(spans(feed.after(6, 10).await.unwrap()), []);
    assert_eq!(feed.after(5, 1).await.unwrap()[0].events, "[1]");
}

async fn pages_written_at_once_on_two_replicas_share_one_order(database: Arc<TestDatabase>) {
    let stores = [database.open().await, database.open().await];
    let mut last = at_once(60, |number| {
        let store = stores[number % 2].clone();
        async move { append(store.feed(), 2, NOW).await }
    })
    .await;
    last.sort_unstable();
    assert_eq!(last, (1..=60).map(|number| number * 2).collect::<Vec<i64>>());
}

async fn an_hour_without_listeners_is_a_gap_and_a_shorter_time_is_not(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let feed = store.feed();
    let first = feed.listen(NOW).await.unwrap();
    assert_eq!((first.seq, first.floor, first.listened_ms), (1, 1, NOW));
    append(feed, 1, NOW).await;
    let soon = feed.listen(NOW + FEED_RETENTION_MS - 1).await.unwrap();
    assert_eq!((soon.seq, soon.floor), (2, 1));
    let late = feed.listen(soon.listened_ms + FEED_RETENTION_MS).await.unwrap();
    assert_eq!((late.seq, late.floor), (3, 3));
    assert_eq!(feed.head().await.unwrap(), late);
}

async fn events_older_than_an_hour_are_deleted_and_the_floor_rises(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let feed = store.feed();
    append(feed, 2, NOW).await;
    append(feed, 1, NOW + 10).await;
    assert_eq!(store.sweep(NOW + FEED_RETENTION_MS).await.unwrap(), 1);
    assert_eq!((feed.after(0, 10).await.unwrap().len(), feed.head().await.unwrap().floor), (1, 2));
    assert_eq!(store.sweep(NOW + FEED_RETENTION_MS).await.unwrap(), 0);
}

async fn numbers_continue_after_a_sweep_and_after_a_restart(database: Arc<TestDatabase>) {
    let store = database.open().await;
    append(store.feed(), 4, NOW).await;
    store.sweep(NOW + FEED_RETENTION_MS).await.unwrap();
    store.close().await.unwrap();
    let store = database.open().await;
    assert_eq!(append(store.feed(), 1, NOW).await, 5);
    assert_eq!(store.feed().head().await.unwrap().floor, 4);
}
