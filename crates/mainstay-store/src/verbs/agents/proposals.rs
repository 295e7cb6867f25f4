use std::collections::BTreeMap;

use super::{below, lost, states};
use crate::agents::{Changed, NewProposal, Proposal, Vote};
use crate::sql::{Conn, Param, Readers, Row};
use crate::writer::Deed;
use crate::{Result, StoreError};

/// The columns of a decision, in the order [`proposal`] reads them.
macro_rules! select_decision {
    ($rest:literal) => {
        concat!(
            "SELECT id, category, question, proposed_by, status, timestamp, metadata, votes, resolution, resolved_at \
             FROM decisions ",
            $rest
        )
    };
}

const FIND: &str = select_decision!("WHERE id = $1");
const ALL: &str = select_decision!("WHERE id < $1 ORDER BY id DESC LIMIT $2");
const WITH_STATUS: &str = select_decision!("WHERE id < $1 AND status = $3 ORDER BY id DESC LIMIT $2");
const PROPOSE: &str = "INSERT INTO decisions (category, question, proposed_by, timestamp, metadata) \
     VALUES ($1, $2, $3, $4, COALESCE($5, '{}')) RETURNING id";
const VOTE: &str = "UPDATE decisions SET votes = $2 WHERE id = $1";
const RESOLVE: &str = "UPDATE decisions SET status = $2, resolution = $3, resolved_at = $4 \
     WHERE id = $1 AND status = 'open'";

impl Deed for NewProposal {
    type Given = i64;

    async fn run(&self, db: &mut Conn<'_>) -> Result<i64> {
        states::seen(db, &self.proposed_by, self.now_ms).await?;
        let values = [
            (&self.category).into(),
            (&self.question).into(),
            (&self.proposed_by).into(),
            self.now_ms.into(),
            self.metadata.as_ref().into(),
        ];
        db.row(PROPOSE, &values).await?.ok_or_else(lost)?.int(0)
    }
}

pub(super) struct Cast {
    pub(super) id: i64,
    pub(super) agent: String,
    pub(super) vote: Vote,
    pub(super) most: usize,
}

impl Deed for Cast {
    type Given = Changed<Proposal>;

    async fn run(&self, db: &mut Conn<'_>) -> Result<Changed<Proposal>> {
        let Some(row) = db.row(FIND, &[self.id.into()]).await? else { return Ok(Changed::NotFound) };
        let mut decision = proposal(&row)?;
        let room = decision.votes.len() < self.most || decision.votes.contains_key(&self.agent);
        if decision.status != "open" || !room {
            return Ok(Changed::Refused(decision));
        }
        decision.votes.insert(self.agent.clone(), self.vote.clone());
        let votes = serde_json::to_string(&decision.votes).map_err(StoreError::failed)?;
        db.run(VOTE, &[self.id.into(), votes.into()]).await?;
        states::seen(db, &self.agent, self.vote.at_ms).await?;
        Ok(Changed::Done(decision))
    }
}

pub(super) struct Resolve {
    pub(super) id: i64,
    pub(super) status: String,
    pub(super) resolution: Option<String>,
    pub(super) now_ms: i64,
}

impl Deed for Resolve {
    type Given = Changed<Proposal>;

    async fn run(&self, db: &mut Conn<'_>) -> Result<Changed<Proposal>> {
        let Some(before) = db.row(FIND, &[self.id.into()]).await? else { return Ok(Changed::NotFound) };
        let values = [self.id.into(), (&self.status).into(), self.resolution.as_ref().into(), self.now_ms.into()];
        if db.run(RESOLVE, &values).await? == 0 {
            return proposal(&before).map(Changed::Refused);
        }
        let after = db.row(FIND, &[self.id.into()]).await?.ok_or_else(lost)?;
        proposal(&after).map(Changed::Done)
    }
}

pub(super) async fn page(
    readers: &Readers,
    status: Option<&String>,
    before: Option<i64>,
    limit: u32,
) -> Result<Vec<Proposal>> {
    let sql = if status.is_some() { WITH_STATUS } else { ALL };
    let bounds = [below(before).into(), i64::from(limit).into()];
    let values: Vec<Param> = bounds.into_iter().chain(status.map(Param::from)).collect();
    readers.rows(sql, &values).await?.iter().map(proposal).collect()
}

fn proposal(row: &Row) -> Result<Proposal> {
    let votes: BTreeMap<String, Vote> = serde_json::from_str(&row.text(7)?).map_err(StoreError::failed)?;
    Ok(Proposal {
        id: row.int(0)?,
        category: row.text(1)?,
        question: row.text(2)?,
        proposed_by: row.text(3)?,
        status: row.text(4)?,
        at_ms: row.int(5)?,
        metadata: row.text(6)?,
        votes,
        resolution: row.maybe_text(8)?,
        resolved_ms: row.maybe_int(9)?,
    })
}
