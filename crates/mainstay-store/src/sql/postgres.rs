//! How a PostgreSQL server is spoken to.

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
        // A replica that hangs inside a group would keep every other replica from writing.
        ("idle_in_transaction_session_timeout", "30s"),
    ])
}

pub(super) fn reading(server: PgConnectOptions, options: &StoreOptions) -> PgPool {
    PoolOptions::new()
        .max_connections(options.readers.max(1))
        .acquire_timeout(Duration::from_secs(10))
        .connect_lazy_with(configured(server, options))
}
