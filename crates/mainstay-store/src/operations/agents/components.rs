//! Who owns which component. An active component stays with its owner; any other can be taken over.

use super::{Agents, states};
use crate::sql::{Select, from_columns, params};
use crate::writer::transaction;
use crate::{Result, WriteMode};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewComponent {
    pub name: String,
    pub owner: String,
    pub status: String,
    /// `None` keeps the metadata of a component that the owner has registered before.
    pub metadata: Option<String>,
    pub now_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    pub name: String,
    pub owner: String,
    pub status: String,
    pub updated_ms: i64,
    pub metadata: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Registration {
    Registered,
    /// Another agent owns the component and has it active; nothing was changed.
    OwnedBy(String),
}

/// Components that match every filter that is set, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ComponentQuery {
    pub owner: Option<String>,
    pub status: Option<String>,
    /// Only those whose names come after this one.
    pub after: String,
    pub limit: u32,
}

const FIND: &str = "SELECT name, owner, status, last_updated, metadata FROM components WHERE name = $1";
const LIST: &str = "SELECT name, owner, status, last_updated, metadata FROM components WHERE name > $1";
const UPSERT: &str = "INSERT INTO components (name, owner, status, last_updated, metadata) \
     VALUES ($1, $2, $3, $4, $5) \
     ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, status = excluded.status, \
     last_updated = excluded.last_updated, metadata = excluded.metadata";

impl Agents<'_> {
    /// Registers a component, or takes over one that its owner has not active.
    pub async fn register(self, component: NewComponent, mode: WriteMode) -> Result<Registration> {
        transaction!(self.0.writer, mode, component, |db, new| {
            let NewComponent { name, owner, status, metadata, now_ms } = new;
            let known: Option<Component> = db.one(FIND, &params![name]).await?;
            let own = known.as_ref().filter(|known| known.owner == *owner);
            if let Some(other) = known.as_ref().filter(|other| own.is_none() && other.status == "active") {
                return Ok(Registration::OwnedBy(other.owner.clone()));
            }
            let metadata = metadata.as_ref().or(own.map(|own| &own.metadata)).map_or("{}", String::as_str);
            db.execute(UPSERT, &params![name, owner, status, now_ms, metadata]).await?;
            states::mark_seen(db, owner, *now_ms).await?;
            Ok(Registration::Registered)
        })
    }

    /// Those of these names that exist.
    pub async fn components_named(self, names: Vec<String>) -> Result<Vec<Component>> {
        let mut connection = self.0.readers.acquire().await?;
        let mut found = Vec::new();
        for name in names {
            found.extend(connection.conn().one(FIND, &params![name]).await?);
        }
        Ok(found)
    }

    pub async fn components(self, query: ComponentQuery) -> Result<Vec<Component>> {
        let select = Select::new(LIST, params![query.after])
            .filter("owner", query.owner.as_deref())
            .filter("status", query.status.as_deref())
            .then(" ORDER BY name")
            .limit(query.limit);
        select.all(&self.0.readers).await
    }
}

from_columns!(Component { name, owner, status, updated_ms, metadata });
