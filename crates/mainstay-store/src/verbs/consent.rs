use mainstay_core::BoxFuture;

use crate::sql::{Conn, Row};
use crate::store::Inner;
use crate::writer::Deed;
use crate::{Binding, Consent, ConsentState, Consents, Decision, Filed, NewConsent, Result, Ruling, StoreError, Taken};

/// Requests of one principal that wait at once: a person has to be able to look through them.
const MOST_PENDING: u32 = 50;

/// The columns of a consent, in the order [`consent`] reads them.
macro_rules! select_consent {
    ($rest:literal) => {
        concat!(
            "SELECT id, principal, target, args_digest, policy, summary, state, decided_by, created_ms, expires_ms, \
             arguments, reason FROM consent ",
            $rest
        )
    };
}

const FIND: &str = select_consent!("WHERE id = $1");
const PENDING: &str = select_consent!("WHERE state = 'pending' AND expires_ms > $1 ORDER BY created_ms, id LIMIT $2");
const PENDING_LIKE: &str = select_consent!(
    "WHERE principal = $1 AND target = $2 AND args_digest = $3 AND policy = $4 \
     AND state = 'pending' AND expires_ms > $5 ORDER BY created_ms LIMIT 1"
);
// Where both are there, the question that is still open came later than the refusal.
const OPEN_OR_DENIED: &str = select_consent!(
    "WHERE principal = $1 AND target = $2 AND args_digest = $3 AND policy = $4 \
     AND state IN ('pending', 'denied') AND expires_ms > $5 ORDER BY state DESC, created_ms DESC LIMIT 1"
);
const PENDING_OF: &str = "SELECT COUNT(*) FROM consent WHERE principal = $1 AND state = 'pending' AND expires_ms > $2";
const FILE: &str = "INSERT INTO consent \
     (id, principal, target, args_digest, policy, summary, state, created_ms, expires_ms, arguments) \
     VALUES ($1, $2, $3, $4, $5, $6, 'pending', $7, $8, $9) ON CONFLICT DO NOTHING";
const DECIDE: &str = "UPDATE consent SET state = $2, decided_by = $3, reason = NULLIF($4, '') \
     WHERE id = $1 AND state = 'pending' AND expires_ms > $5";
const USE_UP: &str = "UPDATE consent SET state = 'used' WHERE id = \
     (SELECT id FROM consent WHERE principal = $1 AND target = $2 AND args_digest = $3 AND policy = $4 \
     AND state = 'approved' AND expires_ms > $5 ORDER BY created_ms LIMIT 1) RETURNING id";

/// Gives none if the id is taken.
impl Deed for NewConsent {
    type Given = Option<Filed>;

    async fn run(&self, db: &mut Conn<'_>) -> Result<Option<Filed>> {
        let Binding { principal, target, args_digest, policy } = &self.binding;
        let like = [principal.into(), target.into(), args_digest.into(), policy.into(), self.now_ms.into()];
        if let Some(row) = db.row(PENDING_LIKE, &like).await? {
            return Ok(Some(Filed::Waiting(Box::new(consent(&row)?))));
        }
        let pending = match db.row(PENDING_OF, &[principal.into(), self.now_ms.into()]).await? {
            Some(row) => row.int(0)?,
            None => 0,
        };
        if pending >= i64::from(MOST_PENDING) {
            return Ok(Some(Filed::TooMany { most: MOST_PENDING }));
        }
        let values = [
            (&self.id).into(),
            principal.into(),
            target.into(),
            args_digest.into(),
            policy.into(),
            (&self.summary).into(),
            self.now_ms.into(),
            self.expires_ms.into(),
            (&self.arguments).into(),
        ];
        if db.run(FILE, &values).await? == 0 {
            return Ok(None);
        }
        Ok(Some(Filed::Waiting(Box::new(Consent {
            id: self.id.clone(),
            binding: self.binding.clone(),
            summary: self.summary.clone(),
            arguments: self.arguments.clone(),
            state: ConsentState::Pending,
            decided_by: None,
            reason: None,
            created_ms: self.now_ms,
            expires_ms: self.expires_ms,
        }))))
    }
}

impl Deed for Ruling {
    type Given = Decision;

    async fn run(&self, db: &mut Conn<'_>) -> Result<Decision> {
        let state = if self.approve { ConsentState::Approved } else { ConsentState::Denied };
        let reason = self.reason.as_deref().unwrap_or_default();
        let values = [(&self.id).into(), word(state).into(), (&self.by).into(), reason.into(), self.now_ms.into()];
        if db.run(DECIDE, &values).await? > 0 {
            return Ok(Decision::Recorded);
        }
        let Some(row) = db.row(FIND, &[(&self.id).into()]).await? else { return Ok(Decision::NotFound) };
        Ok(match consent(&row)?.state {
            ConsentState::Pending => Decision::Expired,
            state @ (ConsentState::Approved | ConsentState::Denied | ConsentState::Used) => {
                Decision::AlreadyDecided(state)
            }
        })
    }
}

struct Take {
    binding: Binding,
    now_ms: i64,
}

impl Deed for Take {
    type Given = Taken;

    async fn run(&self, db: &mut Conn<'_>) -> Result<Taken> {
        let Binding { principal, target, args_digest, policy } = &self.binding;
        let values = [principal.into(), target.into(), args_digest.into(), policy.into(), self.now_ms.into()];
        if let Some(row) = db.row(USE_UP, &values).await? {
            return Ok(Taken::Approved { id: row.text(0)? });
        }
        let Some(row) = db.row(OPEN_OR_DENIED, &values).await? else { return Ok(Taken::None) };
        let Consent { id, state, expires_ms, .. } = consent(&row)?;
        Ok(match state {
            ConsentState::Pending => Taken::Pending { id, expires_ms },
            ConsentState::Denied => Taken::Denied { id },
            ConsentState::Approved | ConsentState::Used => Taken::None,
        })
    }
}

impl Consents for Inner {
    fn request(&self, consent: NewConsent) -> BoxFuture<'_, Result<Filed>> {
        Box::pin(async move {
            let filed = self.writer.perform(consent).await?;
            filed.ok_or_else(|| StoreError::failed("a consent request with this id exists already"))
        })
    }

    fn find(&self, id: &str) -> BoxFuture<'_, Result<Option<Consent>>> {
        let values = [id.into()];
        Box::pin(async move { self.readers.row(FIND, &values).await?.as_ref().map(consent).transpose() })
    }

    fn pending(&self, now_ms: i64, limit: u32) -> BoxFuture<'_, Result<Vec<Consent>>> {
        let values = [now_ms.into(), i64::from(limit).into()];
        Box::pin(async move { self.readers.rows(PENDING, &values).await?.iter().map(consent).collect() })
    }

    fn decide(&self, ruling: Ruling) -> BoxFuture<'_, Result<Decision>> {
        Box::pin(self.writer.perform(ruling))
    }

    fn take(&self, binding: Binding, now_ms: i64) -> BoxFuture<'_, Result<Taken>> {
        Box::pin(self.writer.perform(Take { binding, now_ms }))
    }

    fn sweep(&self, now_ms: i64) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.writer.change("DELETE FROM consent WHERE expires_ms <= $1", vec![now_ms.into()]))
    }
}

const fn word(state: ConsentState) -> &'static str {
    match state {
        ConsentState::Pending => "pending",
        ConsentState::Approved => "approved",
        ConsentState::Denied => "denied",
        ConsentState::Used => "used",
    }
}

fn consent(row: &Row) -> Result<Consent> {
    let state = match row.text(6)?.as_str() {
        "pending" => ConsentState::Pending,
        "approved" => ConsentState::Approved,
        "denied" => ConsentState::Denied,
        "used" => ConsentState::Used,
        other => return Err(StoreError::failed(format!("a consent has the unknown state {other:?}"))),
    };
    Ok(Consent {
        id: row.text(0)?,
        binding: Binding {
            principal: row.text(1)?,
            target: row.text(2)?,
            args_digest: row.text(3)?,
            policy: row.text(4)?,
        },
        summary: row.text(5)?,
        state,
        decided_by: row.maybe_text(7)?,
        created_ms: row.int(8)?,
        expires_ms: row.int(9)?,
        arguments: row.text(10)?,
        reason: row.maybe_text(11)?,
    })
}
