//! How a connection to a PostgreSQL server is configured.

use std::time::Duration;

use sqlx::pool::PoolOptions;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, PgPool};

use crate::StoreOptions;

/// Settings of the session, whatever the server's or the role's defaults are.
pub(super) fn configured(server: PgConnectOptions, options: &StoreOptions) -> PgConnectOptions {
    let patience = format!("{}ms", options.busy_timeout.as_millis().max(1));
    server.application_name("mainstay").disable_statement_logging().options([
        ("synchronous_commit", "on"),
        ("lock_timeout", patience.as_str()),
        // A replica that hangs inside a transaction holds the lock that all other replicas need to write.
        ("idle_in_transaction_session_timeout", "30s"),
    ])
}

/// The pool of connections that read. A request that finds no free connection for ten seconds fails instead of piling
/// up with others.
pub(super) fn reading(server: PgConnectOptions, options: &StoreOptions) -> PgPool {
    PoolOptions::new()
        .max_connections(options.readers.max(1))
        .acquire_timeout(Duration::from_secs(10))
        .connect_lazy_with(configured(server, options))
}
