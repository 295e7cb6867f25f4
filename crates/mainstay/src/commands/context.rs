//! `mainstay context`, and the program under the name `context`. Contract 002 fixes the exit codes and what goes to
//! standard output, because programs read them; messages on standard error are for people.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use jiff::Timestamp;
use mainstay_core::{CacheFailure, Clock as _, Error, SystemClock};
use mainstay_tools::context::{Format, Plan, Progress, resolve_at, verify_at};
use serde::Serialize;

use super::{progress, terminal};
use crate::cli::{Context, JsonFormat};

/// The exit code of a wrong command line.
pub(crate) const USAGE_ERROR: u8 = 1;

/// Seconds since 1970 that replace the current time, for reproducible builds.
const EPOCH: &str = "SOURCE_DATE_EPOCH";

/// Why a command failed: the exit code and the message.
struct CommandError(u8, String);

impl From<Error> for CommandError {
    fn from(error: Error) -> Self {
        let code = match CacheFailure::of(&error) {
            CacheFailure::InvalidQuery => 2,
            CacheFailure::InvalidBudget => 3,
            CacheFailure::CacheMissing => 4,
            CacheFailure::CacheInvalid => 5,
            CacheFailure::Io => 6,
            CacheFailure::Internal => 7,
        };
        Self(code, terminal::error_message(error))
    }
}

/// The error of a command on a directory, with a plainer message if the path is not one.
fn directory_error(directory: &Path, error: Error) -> CommandError {
    let CommandError(code, message) = error.into();
    let is_file = directory.metadata().is_ok_and(|metadata| !metadata.is_dir());
    CommandError(code, if is_file { format!("{} is not a directory.", directory.display()) } else { message })
}

pub(crate) fn run(command: &Context) -> ExitCode {
    let done = match command {
        Context::Build { sources, cache, force } => build(sources, cache, *force),
        Context::Resolve { cache, query, budget, format } => resolve(cache, query, budget, *format),
        Context::Inspect { cache } => inspect(cache),
        Context::Verify { cache, json } => verify(cache, *json),
    };
    done.unwrap_or_else(|CommandError(code, message)| {
        print_error(&format!("error: {}", terminal::line(&message)));
        ExitCode::from(code)
    })
}

fn build(sources: &Path, cache: &Path, force: bool) -> Result<ExitCode, CommandError> {
    let plan = Plan { sources, cache, force, created_at: created_at()? };
    let built = with_progress("Building", sources, |progress| plan.build(progress))?;
    print_error(&format!("Built cache: {} documents, version {}", built.documents, built.cache_version));
    Ok(ExitCode::SUCCESS)
}

/// The current time, unless SOURCE_DATE_EPOCH asks for reproducible bytes.
fn created_at() -> Result<Timestamp, CommandError> {
    let Some(given) = std::env::var_os(EPOCH) else { return Ok(SystemClock.now()) };
    let seconds = given.to_str().and_then(|text| text.trim().parse().ok());
    let wrong = || {
        let line = format!("{EPOCH} is \"{}\"; it has to be a number of seconds since 1970", given.display());
        CommandError(USAGE_ERROR, line)
    };
    seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()).ok_or_else(wrong)
}

fn resolve(cache: &Path, query: &OsStr, budget: &OsStr, format: JsonFormat) -> Result<ExitCode, CommandError> {
    let query = query.to_str().ok_or_else(|| CacheFailure::InvalidQuery.error("The query is not UTF-8."))?;
    let parsed = budget.to_str().and_then(|text| text.parse::<u64>().ok());
    let wrong = || {
        let shown = budget.display();
        let line = format!("The budget is \"{shown}\"; it has to be a whole number of tokens, 0 or more.");
        CacheFailure::InvalidBudget.error(line)
    };
    let format = match format {
        JsonFormat::Json => Format::Json,
        JsonFormat::Pretty => Format::Pretty,
    };
    let resolved = resolve_at(cache, query, parsed.ok_or_else(wrong)?, format);
    print(&resolved.map_err(|error| directory_error(cache, error))?)?;
    Ok(ExitCode::SUCCESS)
}

fn inspect(cache: &Path) -> Result<ExitCode, CommandError> {
    let verification = with_progress("Reading", cache, |progress| verify_at(cache, progress))?;
    if let Some(defect) = verification.missing_manifest() {
        let line = format!("{} is not a cache; {defect}.", cache.display());
        return Err(CacheFailure::CacheInvalid.error(line).into());
    }
    print_pretty(&verification.inspection())?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
struct VerifyJson<'a> {
    valid: bool,
    cache_version: &'a str,
    document_count: u64,
    problems: Vec<String>,
}

fn verify(cache: &Path, json: bool) -> Result<ExitCode, CommandError> {
    let verification = with_progress("Verifying", cache, |progress| verify_at(cache, progress))?;
    let inspection = verification.inspection();
    let problems: Vec<String> = verification.defects.iter().map(ToString::to_string).collect();
    let (valid, count) = (problems.is_empty(), problems.len());
    if json {
        let (cache_version, document_count) = (inspection.cache_version.as_str(), inspection.document_count);
        print_pretty(&VerifyJson { valid, cache_version, document_count, problems })?;
    } else if valid {
        let (version, count) = (&inspection.cache_version, inspection.document_count);
        print(&format!("The cache is valid: all hashes match. Documents: {count}, version: {version}\n"))?;
    } else {
        let lines: String = problems.iter().flat_map(|problem| [terminal::line(problem), "\n".into()]).collect();
        print(&lines)?;
    }
    if valid {
        return Ok(ExitCode::SUCCESS);
    }
    let problems = if count == 1 { "problem" } else { "problems" };
    let line = format!("The cache {} is damaged: {count} {problems}.", cache.display());
    Err(CacheFailure::CacheInvalid.error(line).into())
}

fn print_pretty(value: &impl Serialize) -> Result<(), CommandError> {
    let text = serde_json::to_string_pretty(value).map_err(|error| CacheFailure::Internal.error(error.to_string()))?;
    print(&(text + "\n"))
}

fn print(text: &str) -> Result<(), CommandError> {
    let failed = |error| CacheFailure::Io.error(format!("Standard output cannot be written: {error}."));
    Ok(terminal::print_all(text).map_err(failed)?)
}

fn print_error(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Does long work on a directory, with its progress shown.
fn with_progress<T>(
    doing: &str,
    directory: &Path,
    work: impl FnOnce(&Progress) -> mainstay_core::Result<T>,
) -> Result<T, CommandError> {
    progress::with_progress(doing, "documents", work).map_err(|error| directory_error(directory, error))
}
