//! All tables of the team at once: emptied, and as the database describes them.

use std::collections::BTreeMap;

use super::Agents;
use crate::sql::{Columns, FromColumns as _, from_columns, params};
use crate::writer::transaction;
use crate::{Result, WriteMode};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub kind: String,
    pub nullable: bool,
}

/// Each with the statement that empties it. Only these are described to callers.
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

fn is_team_table(table: &str) -> bool {
    TABLES.iter().any(|(name, _)| *name == table)
}

impl Agents<'_> {
    /// Empties all tables of the team; resolves with the number of rows of each.
    pub async fn delete_all(self, mode: WriteMode) -> Result<BTreeMap<String, u64>> {
        transaction!(self.0.writer, mode, (), |db, ()| {
            let mut deleted = BTreeMap::new();
            for (table, delete) in TABLES {
                deleted.insert(table.to_owned(), db.execute(delete, &[]).await?);
            }
            Ok(deleted)
        })
    }

    /// The tables of the team that the database has, sorted.
    pub async fn tables(self) -> Result<Vec<String>> {
        let sql = self.0.readers.engine().pick(SQLITE_TABLES, POSTGRES_TABLES);
        let mut names: Vec<String> = self.0.readers.all(sql, &[]).await?;
        names.retain(|name| is_team_table(name));
        names.sort();
        Ok(names)
    }

    /// A table's columns, as the database describes them; none if it is not a table of the team.
    pub async fn columns(self, table: &str) -> Result<Vec<Column>> {
        if !is_team_table(table) {
            return Ok(Vec::new());
        }
        let sql = self.0.readers.engine().pick(SQLITE_COLUMNS, POSTGRES_COLUMNS);
        self.0.readers.all(sql, &params![table]).await
    }
}

from_columns!(Column { name, kind: read_lower_case, nullable });

/// SQLite keeps the name of a type as the migration spells it.
fn read_lower_case(columns: &mut Columns<'_>) -> Result<String> {
    String::read(columns).map(|text| text.to_lowercase())
}
