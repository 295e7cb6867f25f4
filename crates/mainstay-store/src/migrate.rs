//! Bringing a database up to date when it is opened.
//!
//! A database records each migration with a checksum of its text, so that tables that differ from what the operations
//! expect are noticed on opening and not by a failing statement later.

use sha2::{Digest as _, Sha256};

use crate::sql::{Engine, WriteConnection, params};
use crate::{Result, StoreError};

/// Never edit one that has been released, because databases have recorded its checksum: add another.
struct Migration {
    number: i64,
    sqlite: &'static str,
    postgres: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration {
        number: 1,
        sqlite: include_str!("../migrations/sqlite/0001_initial.sql"),
        postgres: include_str!("../migrations/postgres/0001_initial.sql"),
    },
    Migration {
        number: 2,
        sqlite: include_str!("../migrations/sqlite/0002_retention.sql"),
        postgres: include_str!("../migrations/postgres/0002_retention.sql"),
    },
    Migration {
        number: 3,
        sqlite: include_str!("../migrations/sqlite/0003_consent_preview.sql"),
        postgres: include_str!("../migrations/postgres/0003_consent_preview.sql"),
    },
    Migration {
        number: 4,
        sqlite: include_str!("../migrations/sqlite/0004_sent_transactions.sql"),
        postgres: include_str!("../migrations/postgres/0004_sent_transactions.sql"),
    },
    Migration {
        number: 5,
        sqlite: include_str!("../migrations/sqlite/0005_search_documents.sql"),
        postgres: include_str!("../migrations/postgres/0005_search_documents.sql"),
    },
];

// Both engines change tables inside a transaction, so an interrupted migration leaves nothing behind. The lock is held
// until it commits: the second of two programs that start at once waits, and finds nothing left to do. The number of
// PostgreSQL's lock is arbitrary, and must not be that of another lock in the same database.
const SQLITE_BEGIN: &str = "BEGIN IMMEDIATE";
const POSTGRES_BEGIN: &str = "BEGIN; SET LOCAL lock_timeout = '60s'; SELECT pg_advisory_xact_lock(5570193301)";

const SQLITE_TABLE: &str = "CREATE TABLE IF NOT EXISTS migration \
     (number INTEGER PRIMARY KEY, checksum BLOB NOT NULL, applied TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP) STRICT";
const POSTGRES_TABLE: &str = "CREATE TABLE IF NOT EXISTS migration \
     (number BIGINT PRIMARY KEY, checksum BYTEA NOT NULL, applied TIMESTAMPTZ NOT NULL DEFAULT now())";

/// Applies the migrations that the database does not have, all in one transaction.
pub(crate) async fn migrate(connection: &mut WriteConnection) -> Result<()> {
    let begin = connection.conn().engine().pick(SQLITE_BEGIN, POSTGRES_BEGIN);
    connection.conn().script(begin).await?;
    match apply(connection).await {
        Ok(()) => connection.conn().script("COMMIT").await,
        Err(error) => {
            // The connection is dropped with the error, so this only lets others go on sooner.
            let _ = connection.conn().script("ROLLBACK").await;
            Err(error)
        }
    }
}

async fn apply(connection: &mut WriteConnection) -> Result<()> {
    let mut db = connection.conn();
    let engine = db.engine();
    db.script(engine.pick(SQLITE_TABLE, POSTGRES_TABLE)).await?;
    let mut newest = 0;
    let applied = "SELECT number, checksum FROM migration ORDER BY number";
    for (number, checksum) in db.all::<(i64, Vec<u8>)>(applied, &[]).await? {
        let known = MIGRATIONS.iter().find(|migration| migration.number == number);
        check(number, known.map(|migration| migration.checksum(engine)), &checksum)?;
        newest = number;
    }
    for migration in MIGRATIONS.iter().filter(|migration| migration.number > newest) {
        db.script(migration.text(engine)).await?;
        let checksum = migration.checksum(engine);
        db.execute("INSERT INTO migration (number, checksum) VALUES ($1, $2)", &params![migration.number, checksum])
            .await?;
    }
    Ok(())
}

/// Whether an applied migration is one of ours, unchanged; otherwise the error says which version to use.
fn check(number: i64, known: Option<Vec<u8>>, found: &[u8]) -> Result<()> {
    let Some(known) = known else {
        let newest = MIGRATIONS.iter().map(|migration| migration.number).max().unwrap_or(0);
        return Err(StoreError::Open(format!(
            "the database was created by a newer version: it has migration {number}, and this version has migrations \
             up to {newest}. Use the newer version, or a copy of the database from before it"
        )));
    };
    if known == found {
        return Ok(());
    }
    Err(StoreError::Open(format!(
        "migration {number} in the database is not the one this version has, so its tables differ. \
         Use the version that created the database, or start with a new one"
    )))
}

impl Migration {
    fn text(&self, engine: Engine) -> &'static str {
        engine.pick(self.sqlite, self.postgres)
    }

    fn checksum(&self, engine: Engine) -> Vec<u8> {
        Sha256::digest(self.text(engine)).to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_are_numbered_without_gaps() {
        assert!(MIGRATIONS.iter().map(|migration| migration.number).eq(1..=i64::try_from(MIGRATIONS.len()).unwrap()));
    }
}
