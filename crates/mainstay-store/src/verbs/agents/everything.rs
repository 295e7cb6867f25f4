//! All tables of the team at once: emptied, and as the database describes them.

use std::collections::BTreeMap;

use crate::Result;
use crate::agents::Column;
use crate::sql::{Conn, Readers, Row};
use crate::writer::Deed;

/// Each with the statement that empties it.
const TABLES: [(&str, &str); 6] = [
    ("activities", "DELETE FROM activities"),
    ("agent_states", "DELETE FROM agent_states"),
    ("collaborations", "DELETE FROM collaborations"),
    ("components", "DELETE FROM components"),
    ("conflicts", "DELETE FROM conflicts"),
    ("decisions", "DELETE FROM decisions"),
];

const SQLITE_TABLES: &str = "SELECT name FROM sqlite_master WHERE type = 'table'";
const POSTGRES_TABLES: &str = "SELECT CAST(table_name AS TEXT) FROM information_schema.tables \
     WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'";
const SQLITE_COLUMNS: &str = "SELECT name, type, CASE WHEN \"notnull\" = 0 AND pk = 0 THEN 1 ELSE 0 END \
     FROM pragma_table_info($1) ORDER BY cid";
const POSTGRES_COLUMNS: &str = "SELECT CAST(column_name AS TEXT), CAST(data_type AS TEXT), \
     CAST(CASE WHEN is_nullable = 'YES' THEN 1 ELSE 0 END AS BIGINT) FROM information_schema.columns \
     WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position";

pub(super) struct DeleteAll;

impl Deed for DeleteAll {
    type Given = BTreeMap<String, u64>;

    async fn run(&self, db: &mut Conn<'_>) -> Result<Self::Given> {
        let mut deleted = BTreeMap::new();
        for (table, delete) in TABLES {
            deleted.insert(table.to_owned(), db.run(delete, &[]).await?);
        }
        Ok(deleted)
    }
}

fn ours(table: &str) -> bool {
    TABLES.iter().any(|(name, _)| *name == table)
}

pub(super) async fn tables(readers: &Readers) -> Result<Vec<String>> {
    let rows = readers.rows(readers.engine().pick(SQLITE_TABLES, POSTGRES_TABLES), &[]).await?;
    let names = rows.iter().map(|row| row.text(0)).collect::<Result<Vec<_>>>()?;
    let mut names: Vec<String> = names.into_iter().filter(|name| ours(name)).collect();
    names.sort();
    Ok(names)
}

pub(super) async fn columns(readers: &Readers, table: &str) -> Result<Vec<Column>> {
    if !ours(table) {
        return Ok(Vec::new());
    }
    let sql = readers.engine().pick(SQLITE_COLUMNS, POSTGRES_COLUMNS);
    readers.rows(sql, &[table.into()]).await?.iter().map(column).collect()
}

fn column(row: &Row) -> Result<Column> {
    Ok(Column { name: row.text(0)?, kind: row.text(1)?.to_lowercase(), nullable: row.int(2)? != 0 })
}
