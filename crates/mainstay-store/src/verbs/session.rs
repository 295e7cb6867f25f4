use mainstay_core::BoxFuture;

use crate::sql::Row;
use crate::store::Inner;
use crate::{Result, Session, Sessions, StoreError};

impl Sessions for Inner {
    fn open(&self, session: Session) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let Session { id, principal, dialect, state, created_ms, expires_ms } = session;
            let sql = "INSERT INTO session (id, principal, dialect, state, created_ms, expires_ms) \
                 VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
            let values =
                vec![id.into(), principal.into(), dialect.into(), state.into(), created_ms.into(), expires_ms.into()];
            match self.writer.change(sql, values).await? {
                0 => Err(StoreError::failed("a session with this id exists already")),
                _ => Ok(()),
            }
        })
    }

    fn find(&self, id: &str, now_ms: i64) -> BoxFuture<'_, Result<Option<Session>>> {
        let values = [id.into(), now_ms.into()];
        Box::pin(async move {
            let sql = "SELECT id, principal, dialect, state, created_ms, expires_ms FROM session \
                 WHERE id = $1 AND expires_ms > $2";
            self.readers.row(sql, &values).await?.as_ref().map(session).transpose()
        })
    }

    fn extend(&self, id: &str, expires_ms: i64) -> BoxFuture<'_, Result<bool>> {
        let values = vec![id.into(), expires_ms.into()];
        Box::pin(async move {
            Ok(self.writer.change("UPDATE session SET expires_ms = $2 WHERE id = $1", values).await? > 0)
        })
    }

    fn close(&self, id: &str) -> BoxFuture<'_, Result<bool>> {
        let values = vec![id.into()];
        Box::pin(async move { Ok(self.writer.change("DELETE FROM session WHERE id = $1", values).await? > 0) })
    }

    fn count(&self, principal: Option<&str>, now_ms: i64) -> BoxFuture<'_, Result<u64>> {
        let (sql, values) = match principal {
            Some(principal) => (
                "SELECT COUNT(*) FROM session WHERE expires_ms > $1 AND principal = $2",
                vec![now_ms.into(), principal.into()],
            ),
            None => ("SELECT COUNT(*) FROM session WHERE expires_ms > $1", vec![now_ms.into()]),
        };
        Box::pin(async move {
            let count = self.readers.row(sql, &values).await?.map_or(Ok(0), |row| row.int(0))?;
            Ok(count.unsigned_abs())
        })
    }

    fn sweep(&self, now_ms: i64) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.writer.change("DELETE FROM session WHERE expires_ms <= $1", vec![now_ms.into()]))
    }
}

fn session(row: &Row) -> Result<Session> {
    Ok(Session {
        id: row.text(0)?,
        principal: row.text(1)?,
        dialect: row.text(2)?,
        state: row.text(3)?,
        created_ms: row.int(4)?,
        expires_ms: row.int(5)?,
    })
}
