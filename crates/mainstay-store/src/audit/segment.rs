//! Segments: blocks of the oldest rows, moved out of the database into files that still verify.
//!
//! A file has a row on each line, as in a page. The database keeps for every segment the number and the hash of its last
//! row, so that the chain runs on from file to file and into the pages. A segment is a whole block of the index: what is
//! left of the index still describes exactly the pages that are left. The newest block always stays.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use tokio::task::spawn_blocking;

use super::chain::{self, StoredRow, Tip, check_head};
use super::index::{block_of, block_start};
use crate::sql::{Conn, from_columns, params};
use crate::{AuditEntry, AuditFault, Phase, Result, StoreError};

/// A longer line of a file is no row: every text of a row is cut at 8 KiB, and JSON escapes a byte by six at most.
const LONGEST_LINE: u64 = 1024 * 1024;

const SEGMENTS: &str =
    "SELECT first_seq, last_seq, hash, newest_ms, bytes, removed FROM audit_segment ORDER BY last_seq";
const NEXT_SEGMENT: &str = "SELECT first_seq, last_seq, hash, newest_ms, bytes, removed FROM audit_segment \
     WHERE last_seq > $1 ORDER BY last_seq LIMIT 1";
const LAST_TIP: &str = "SELECT last_seq, hash FROM audit_segment ORDER BY last_seq DESC LIMIT 1";
const FIRST_PAGE: &str = "SELECT first_seq FROM audit_page ORDER BY first_seq LIMIT 1";
const NEXT_BLOCK: &str = "SELECT first_seq FROM audit_page WHERE first_seq >= $1 ORDER BY first_seq LIMIT 1";
const LAST_PAGE: &str =
    "SELECT first_seq, entries FROM audit_page WHERE first_seq < $1 ORDER BY first_seq DESC LIMIT 1";
const PAGES: &str = "SELECT first_seq, entries FROM audit_page WHERE first_seq >= $1 AND first_seq < $2 \
     ORDER BY first_seq LIMIT 8";
const INSERT: &str = "INSERT INTO audit_segment (first_seq, last_seq, hash, newest_ms, bytes) \
     VALUES ($1, $2, $3, $4, $5)";

/// The principal of audit rows about what the server does by itself.
const SERVER: &str = "server";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SegmentOperation {
    Archive,
    Remove,
}

/// A block of rows in a file of the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditSegment {
    pub first: i64,
    pub last: i64,
    /// Of row `last`.
    #[serde(skip)]
    pub(crate) hash: Vec<u8>,
    pub newest_ms: i64,
    pub bytes: i64,
    /// Retention has deleted the file.
    pub removed: bool,
}

from_columns!(AuditSegment { first, last, hash, newest_ms, bytes, removed });

impl AuditSegment {
    /// Numbers have leading zeros, so that a listing of the directory is in order.
    pub fn file_name(&self) -> String {
        format!("audit-{:012}-{:012}.jsonl", self.first, self.last)
    }

    /// The audit row about this segment: that its rows were moved to the file, or that the file is removed.
    pub(crate) fn record(&self, operation: SegmentOperation, at_ms: i64) -> AuditEntry {
        AuditEntry {
            at_ms,
            phase: Phase::Ended,
            request_id: mainstay_core::new_id().into(),
            // The server does this by itself: no caller has this name, because a caller's has its issuer in it.
            principal: SERVER.into(),
            session: None,
            ip: None,
            target: self.target(operation).into(),
            effect: "writes".into(),
            args_digest: String::new(),
            outcome: "ok".into(),
            duration_us: 0,
        }
    }

    pub(super) fn target(&self, operation: SegmentOperation) -> String {
        let verb = match operation {
            SegmentOperation::Archive => "audit/archive",
            SegmentOperation::Remove => "audit/remove",
        };
        format!("{verb} {}", self.file_name())
    }

    fn tip(&self) -> Result<Tip> {
        check_head(Some((self.last, self.hash.clone())))
    }
}

/// All segments, oldest first. Of those whose files retention has deleted only the last is known.
pub(crate) async fn segments(db: &mut Conn<'_>) -> Result<Vec<AuditSegment>> {
    db.all(SEGMENTS, &[]).await
}

/// The first segment that ends after this row. One at a time, because PostgreSQL closes a snapshot that sends no
/// statement while a large archive is read.
pub(super) async fn segment_after(db: &mut Conn<'_>, seq: i64) -> Result<Option<AuditSegment>> {
    db.one(NEXT_SEGMENT, &params![seq]).await
}

/// Where the pages begin: after the last segment.
async fn pages_follow(db: &mut Conn<'_>) -> Result<Tip> {
    match db.one::<(i64, Vec<u8>)>(LAST_TIP, &[]).await? {
        Some(last) => check_head(Some(last)),
        None => Ok(Tip::START),
    }
}

/// Writes the oldest block to its file, if it is complete and `is_due` says so of the time of its newest row. Nothing
/// changes in the database; [`commit`] does that. Rows that do not verify are never moved.
pub(crate) async fn write_oldest(
    db: &mut Conn<'_>,
    directory: &Path,
    is_due: impl Fn(i64) -> bool,
) -> Result<Option<AuditSegment>> {
    let start = pages_follow(db).await?;
    let Some(first) = db.one::<i64>(FIRST_PAGE, &[]).await? else { return Ok(None) };
    if first != start.seq + 1 {
        return Err(damaged(start.seq + 1));
    }
    let end = block_start(block_of(first) + 1);
    if db.one::<i64>(NEXT_BLOCK, &params![end]).await?.is_none() {
        return Ok(None);
    }
    let Some((_, page)) = db.one::<(i64, String)>(LAST_PAGE, &params![end]).await? else { return Ok(None) };
    let newest = chain::rows(&page).last().flatten().and_then(|row| row.entry());
    let newest_ms = newest.ok_or_else(|| damaged(first))?.at_ms;
    if !is_due(newest_ms) {
        return Ok(None);
    }
    let (mut file, mut last, mut next) = (SegmentFile::create(directory).await?, start, first);
    loop {
        let pages = db.all::<(i64, String)>(PAGES, &params![next, end]).await?;
        let Some((newest, _)) = pages.last() else { break };
        next = newest + 1;
        let mut lines = String::new();
        for (first, page) in &pages {
            last = append_lines(&mut lines, last, *first, page)?;
        }
        file = file.write(lines).await?;
    }
    let mut segment =
        AuditSegment { first, last: last.seq, hash: last.hash.to_vec(), newest_ms, bytes: 0, removed: false };
    segment.bytes = file.finish(directory.join(segment.file_name())).await?;
    Ok(Some(segment))
}

/// The rows of a page as lines, each of them checked against the row before it.
fn append_lines(lines: &mut String, mut last: Tip, first: i64, page: &str) -> Result<Tip> {
    if first != last.seq + 1 {
        return Err(damaged(last.seq + 1));
    }
    for row in chain::rows(page) {
        let seq = last.seq + 1;
        let row = row.ok_or_else(|| damaged(seq))?;
        last = row.follows(last).ok_or_else(|| damaged(seq))?;
        lines.push_str(&row.to_text());
        lines.push('\n');
    }
    Ok(last)
}

fn damaged(seq: i64) -> StoreError {
    StoreError::failed(format!(
        "audit row {seq} is damaged or missing, so no rows are archived; run `mainstay audit verify`"
    ))
}

/// In a transaction: the rows that are in the file are deleted from the database. False if another replica was first.
pub(crate) async fn commit(db: &mut Conn<'_>, segment: &AuditSegment) -> Result<bool> {
    if pages_follow(db).await?.seq + 1 != segment.first {
        return Ok(false);
    }
    let AuditSegment { first, last, hash, newest_ms, bytes, .. } = segment;
    db.execute(INSERT, &params![first, last, hash, newest_ms, bytes]).await?;
    db.execute("DELETE FROM audit_page WHERE first_seq <= $1", &params![last]).await?;
    db.execute("DELETE FROM audit_index WHERE first_seq <= $1", &params![last]).await?;
    Ok(true)
}

/// Deletes the file of a segment. One that is not there, as on another replica, is no error.
pub(crate) async fn delete_file(path: PathBuf) -> Result<()> {
    blocking(move || match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(cannot(&path, &error)),
        Ok(()) | Err(_) => Ok(()),
    })
    .await
}

/// In a transaction: the chain that can be checked begins after this segment.
pub(crate) async fn mark_removed(db: &mut Conn<'_>, segment: &AuditSegment) -> Result<()> {
    db.execute("DELETE FROM audit_segment WHERE last_seq < $1", &params![segment.last]).await?;
    db.execute("UPDATE audit_segment SET removed = 1 WHERE last_seq = $1", &params![segment.last]).await.map(drop)
}

/// A file that gets its name when it is complete and on disk.
struct SegmentFile {
    file: File,
    temporary: PathBuf,
    bytes: i64,
}

impl SegmentFile {
    /// Readable by its owner alone, as the database is.
    async fn create(directory: &Path) -> Result<Self> {
        let directory = directory.to_owned();
        blocking(move || {
            let mut builder = DirBuilder::new();
            builder.recursive(true);
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(&directory).map_err(|error| cannot(&directory, &error))?;
            // A name of its own: replicas share the directory.
            let temporary = directory.join(format!(".audit-{}.tmp", mainstay_core::new_id()));
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let file = options.open(&temporary).map_err(|error| cannot(&temporary, &error))?;
            Ok(Self { file, temporary, bytes: 0 })
        })
        .await
    }

    async fn write(mut self, text: String) -> Result<Self> {
        blocking(move || {
            self.file.write_all(text.as_bytes()).map_err(|error| cannot(&self.temporary, &error))?;
            self.bytes = self.bytes.saturating_add(i64::try_from(text.len()).unwrap_or(i64::MAX));
            Ok(self)
        })
        .await
    }

    /// Resolves with the size. After this the rows may be deleted elsewhere, so file and name are both on disk.
    async fn finish(self, path: PathBuf) -> Result<i64> {
        blocking(move || {
            let synced = self.file.sync_all().and_then(|()| std::fs::rename(&self.temporary, &path));
            let named = synced.and_then(|()| path.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all()));
            named.map_err(|error| cannot(&path, &error))?;
            Ok(self.bytes)
        })
        .await
    }
}

/// Of a file that was not finished; a finished one has another name by now.
impl Drop for SegmentFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.temporary);
    }
}

fn cannot(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::failed(format!("the audit archive {}: {error}", path.display()))
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    spawn_blocking(work).await.unwrap_or_else(|error| Err(StoreError::failed(error)))
}

/// What is looked for in the rows while they are checked.
#[derive(Clone, Default)]
pub(super) struct Wanted {
    /// The number of a row, and its hash once it was found.
    pub(super) seq: Option<i64>,
    pub(super) hash: Option<String>,
    /// The target of a row of the server's own; `None` once it was found.
    pub(super) target: Option<String>,
}

impl Wanted {
    /// Looks at a row that is as it should be.
    pub(super) fn look(&mut self, position: Tip, row: &StoredRow<'_>) {
        if self.seq == Some(position.seq) {
            self.hash = Some(mainstay_core::hex(&position.hash));
        }
        // The text first, because a row is decoded only where it can be the one.
        let named = |target: &String| {
            row.canonical.contains(target.as_str())
                && row.entry().is_some_and(|entry| *entry.target == **target && &*entry.principal == SERVER)
        };
        self.target = self.target.take().filter(|target| !named(target));
    }
}

/// What checking a segment's file found.
pub(super) struct CheckedFile {
    /// The newest row that is as it should be.
    pub(super) last: Tip,
    pub(super) wanted: Wanted,
    pub(super) fault: Option<AuditFault>,
}

/// Checks the rows of a segment, which follow `last`, and the last of them against what the database knows of it.
pub(super) async fn check_file(
    directory: Option<PathBuf>,
    segment: AuditSegment,
    last: Tip,
    wanted: Wanted,
) -> Result<CheckedFile> {
    let end = segment.tip()?;
    blocking(move || {
        let mut checked = CheckedFile { last, wanted, fault: None };
        let opened = directory.map(|directory| File::open(directory.join(segment.file_name())));
        let Some(Ok(file)) = opened else {
            let AuditSegment { first, last, .. } = segment;
            checked.fault = Some(AuditFault::SegmentMissing { first, last, file: segment.file_name() });
            return Ok(checked);
        };
        checked.fault = check_lines(&mut checked, file, end);
        Ok(checked)
    })
    .await
}

fn check_lines(checked: &mut CheckedFile, file: File, end: Tip) -> Option<AuditFault> {
    let mut reader = BufReader::new(file);
    loop {
        let mut line = Vec::new();
        let seq = checked.last.seq + 1;
        match reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
            Ok(0) => break,
            // A line that cannot be read is as good as one that was changed.
            Err(_) => return Some(AuditFault::Changed { seq }),
            Ok(_) => {}
        }
        let row = line.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok()).and_then(StoredRow::parse);
        let next = row.filter(|_| seq <= end.seq).and_then(|row| Some((row.follows(checked.last)?, row)));
        let Some((next, row)) = next else { return Some(AuditFault::Changed { seq }) };
        checked.last = next;
        checked.wanted.look(next, &row);
    }
    if checked.last.seq < end.seq {
        return Some(AuditFault::Missing { seq: checked.last.seq + 1 });
    }
    // Every row follows from the one before, and yet the database has another hash for the last one.
    (checked.last.hash != end.hash).then_some(AuditFault::Changed { seq: end.seq })
}
