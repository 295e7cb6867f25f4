//! How much the store holds, for an operator who looks after its disk.

use super::Database;
use crate::Result;

/// Bytes on disk, indexes included.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreSizes {
    pub total: u64,
    /// Of deleted rows, used again for new ones. Always 0 on PostgreSQL, which does not say.
    pub free: u64,
    /// By topic, in the order in which they are shown; what belongs to none of them is not in the list.
    pub topics: Vec<(&'static str, u64)>,
    /// Files of the audit's archive, and their bytes.
    pub archive: (usize, u64),
}

/// The tables of each topic.
const TOPICS: [(&str, &[&str]); 8] = [
    ("audit", &["audit_page", "audit_index", "audit_head", "audit_segment"]),
    ("agents", &["activities", "agent_states", "components", "conflicts", "collaborations", "decisions"]),
    ("events", &["feed", "feed_head"]),
    ("keys", &["idempotency"]),
    ("sessions", &["session"]),
    ("consents", &["consent"]),
    ("transactions", &["sent_transaction", "sent_transaction_spend"]),
    ("search", &["search_head", "search_namespace", "search_document", "search_chunk"]),
];

// `dbstat` describes tables and indexes alike; `sqlite_schema` says which table an index belongs to.
const SQLITE_TABLES: &str = "SELECT tbl_name, SUM(pgsize) FROM dbstat JOIN sqlite_schema USING (name) \
     WHERE aggregate = TRUE GROUP BY tbl_name";
const POSTGRES_TABLES: &str = "SELECT CAST(relname AS TEXT), pg_total_relation_size(pg_class.oid) FROM pg_class \
     JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE relkind = 'r' AND nspname = current_schema()";
const SQLITE_TOTAL: &str = "SELECT page_count * page_size, freelist_count * page_size \
     FROM pragma_page_count, pragma_page_size, pragma_freelist_count";
const POSTGRES_TOTAL: &str = "SELECT pg_database_size(current_database()), CAST(0 AS BIGINT)";

pub(crate) async fn sizes(database: &Database) -> Result<StoreSizes> {
    let engine = database.readers.engine();
    let tables: Vec<(String, i64)> = database.readers.all(engine.pick(SQLITE_TABLES, POSTGRES_TABLES), &[]).await?;
    let total: Option<(i64, i64)> = database.readers.one(engine.pick(SQLITE_TOTAL, POSTGRES_TOTAL), &[]).await?;
    let (total, free) = total.unwrap_or_default();
    let of_topic = |names: &[&str]| {
        tables.iter().filter(|(table, _)| names.contains(&table.as_str())).map(|(_, bytes)| bytes.unsigned_abs()).sum()
    };
    let segments = super::AuditLog(database).segments().await?;
    Ok(StoreSizes {
        total: total.unsigned_abs(),
        free: free.unsigned_abs(),
        topics: TOPICS.iter().map(|(topic, names)| (*topic, of_topic(names))).collect(),
        archive: (segments.len(), segments.iter().map(|segment| segment.bytes.unsigned_abs()).sum()),
    })
}
