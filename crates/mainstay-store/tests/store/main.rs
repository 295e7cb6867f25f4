//! One test suite: every case is written once, against `Store`, and runs on both engines.
//!
//! PostgreSQL comes from `MAINSTAY_TEST_POSTGRES`, the URL of a server on which databases may be created and dropped.
//! Without it the cases on PostgreSQL are skipped, except on CI, where they fail.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stderr, reason = "that half of the suite is skipped has to be seen")]

/// Runs cases, each a function that takes a fresh [`testing::TestDatabase`], on both engines.
macro_rules! on_both_engines {
    ($($case:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                crate::testing::on_sqlite(super::$case).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                crate::testing::on_postgres(super::$case).await;
            })*
        }
    };
}

mod agents;
mod audit;
mod consents;
mod failures;
mod feed;
mod idempotency;
mod lifecycle;
mod limits;
mod nonces;
mod oauth;
mod retention;
mod search;
mod secrets;
mod sent_transactions;
mod sessions;
mod signing_keys;
mod testing;
