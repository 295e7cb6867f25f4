use super::states;
use crate::Result;
use crate::agents::{Component, ComponentQuery, NewComponent, Registration};
use crate::sql::{Conn, Param, Readers, Row};
use crate::writer::Deed;

/// The columns of a component, in the order [`component`] reads them.
macro_rules! select_component {
    ($rest:literal) => {
        concat!("SELECT name, owner, status, last_updated, metadata FROM components ", $rest)
    };
}

const NAMED: &str = select_component!("WHERE name = $1");
const PUT: &str = "INSERT INTO components (name, owner, status, last_updated, metadata) VALUES ($1, $2, $3, $4, $5) \
     ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, status = excluded.status, \
     last_updated = excluded.last_updated, metadata = excluded.metadata";

impl Deed for NewComponent {
    type Given = Registration;

    async fn run(&self, db: &mut Conn<'_>) -> Result<Registration> {
        let known = db.row(NAMED, &[(&self.name).into()]).await?.as_ref().map(component).transpose()?;
        let own = known.as_ref().filter(|known| known.owner == self.owner);
        if let Some(other) = known.as_ref().filter(|other| own.is_none() && other.status == "active") {
            return Ok(Registration::OwnedBy(other.owner.clone()));
        }
        let kept = own.map(|own| own.metadata.clone());
        let metadata = self.metadata.clone().or(kept).unwrap_or_else(|| "{}".into());
        let values = [
            (&self.name).into(),
            (&self.owner).into(),
            (&self.status).into(),
            self.now_ms.into(),
            Param::from(metadata),
        ];
        db.run(PUT, &values).await?;
        states::seen(db, &self.owner, self.now_ms).await?;
        Ok(Registration::Registered)
    }
}

pub(super) async fn named(readers: &Readers, names: &[String]) -> Result<Vec<Component>> {
    let mut lent = readers.lend().await?;
    let mut db = lent.conn();
    let mut found = Vec::new();
    for name in names {
        if let Some(row) = db.row(NAMED, &[name.into()]).await? {
            found.push(component(&row)?);
        }
    }
    Ok(found)
}

pub(super) async fn find(readers: &Readers, query: &ComponentQuery) -> Result<Vec<Component>> {
    let sql = match (query.owner.is_some(), query.status.is_some()) {
        (false, false) => select_component!("WHERE name > $1 ORDER BY name LIMIT $2"),
        (true, false) => select_component!("WHERE name > $1 AND owner = $3 ORDER BY name LIMIT $2"),
        (false, true) => select_component!("WHERE name > $1 AND status = $3 ORDER BY name LIMIT $2"),
        (true, true) => select_component!("WHERE name > $1 AND owner = $3 AND status = $4 ORDER BY name LIMIT $2"),
    };
    let bounds = [(&query.after).into(), i64::from(query.limit).into()];
    let filters = [&query.owner, &query.status].into_iter().flatten().map(Param::from);
    let values: Vec<Param> = bounds.into_iter().chain(filters).collect();
    readers.rows(sql, &values).await?.iter().map(component).collect()
}

fn component(row: &Row) -> Result<Component> {
    Ok(Component {
        name: row.text(0)?,
        owner: row.text(1)?,
        status: row.text(2)?,
        updated_ms: row.int(3)?,
        metadata: row.text(4)?,
    })
}
