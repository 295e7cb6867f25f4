//! `mainstay context`, and the program under the name `context`. What it prints and how it ends is frozen: programs
//! read it.

use std::ffi::OsStr;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use mainstay_core::{Clock as _, Error, SystemClock};
use mainstay_tools::context::{Failure, Format, Plan, Progress, examine_at, resolve_at};
use serde::Serialize;

use super::printable;
use crate::cli::{Context, Output};

/// What a mistake on the command line ends with.
pub(crate) const USAGE: u8 = 1;

const EPOCH: &str = "SOURCE_DATE_EPOCH";

/// Why a command failed: the code it ends with, and what is told.
struct Refusal(u8, String);

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let failure = Failure::of(&error);
        let told = match error.detail.filter(|detail| !error.public.contains(detail.as_str())) {
            Some(detail) => format!("{} ({detail})", error.public),
            None => error.public.into_owned(),
        };
        Self::of(failure, told)
    }
}

impl Refusal {
    fn of(failure: Failure, told: impl Into<String>) -> Self {
        let code = match failure {
            Failure::InvalidQuery => 2,
            Failure::InvalidBudget => 3,
            Failure::CacheMissing => 4,
            Failure::CacheInvalid => 5,
            Failure::Io => 6,
            Failure::Internal => 7,
        };
        Self(code, told.into())
    }
}

/// In plainer words where a file was named instead of a directory. By now that changes nothing but what is told.
fn refusal(directory: &Path, error: Error) -> Refusal {
    let Refusal(code, told) = error.into();
    let is_a_file = directory.metadata().is_ok_and(|facts| !facts.is_dir());
    Refusal(code, if is_a_file { format!("{} is not a directory.", directory.display()) } else { told })
}

pub(crate) fn run(command: &Context) -> ExitCode {
    let done = match command {
        Context::Build { sources, cache, force } => build(sources, cache, *force),
        Context::Resolve { cache, query, budget, format } => resolve(cache, query, budget, *format),
        Context::Inspect { cache } => inspect(cache),
        Context::Verify { cache, json } => verify(cache, *json),
    };
    done.unwrap_or_else(|Refusal(code, told)| {
        complain(&format!("error: {}", printable::line(&told)));
        ExitCode::from(code)
    })
}

fn build(sources: &Path, cache: &Path, force: bool) -> Result<ExitCode, Refusal> {
    let plan = Plan { sources, cache, force, created_at: created_at()? };
    let built = shown("Building", |progress| plan.build(progress)).map_err(|error| refusal(sources, error))?;
    complain(&format!("Built cache: {} documents, version {}", built.documents, built.cache_version));
    Ok(ExitCode::SUCCESS)
}

/// Now, unless a build that has to give the same bytes again says otherwise.
fn created_at() -> Result<Timestamp, Refusal> {
    let Some(given) = std::env::var_os(EPOCH) else { return Ok(SystemClock.now()) };
    let seconds = given.to_str().and_then(|text| text.trim().parse().ok());
    let wrong =
        || Refusal(USAGE, format!("{EPOCH} is \"{}\"; it has to be a number of seconds since 1970", given.display()));
    seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()).ok_or_else(wrong)
}

fn resolve(cache: &Path, query: &OsStr, budget: &OsStr, format: Output) -> Result<ExitCode, Refusal> {
    let query = query.to_str().ok_or_else(|| Refusal::of(Failure::InvalidQuery, "The query is not UTF-8."))?;
    let parsed = budget.to_str().and_then(|text| text.parse::<u64>().ok());
    let wrong = || {
        Refusal::of(
            Failure::InvalidBudget,
            format!("The budget is \"{}\"; it has to be a whole number of tokens, 0 or more.", budget.display()),
        )
    };
    let format = match format {
        Output::Json => Format::Json,
        Output::Pretty => Format::Pretty,
    };
    let resolved = resolve_at(cache, query, parsed.ok_or_else(wrong)?, format);
    print(&resolved.map_err(|error| refusal(cache, error))?)?;
    Ok(ExitCode::SUCCESS)
}

fn inspect(cache: &Path) -> Result<ExitCode, Refusal> {
    let examined = shown("Reading", |progress| examine_at(cache, progress)).map_err(|error| refusal(cache, error))?;
    if let Some(flaw) = examined.no_cache() {
        return Err(Refusal::of(Failure::CacheInvalid, format!("{} is no cache; {flaw}.", cache.display())));
    }
    print_pretty(&examined.inspection())?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
struct Verified<'a> {
    valid: bool,
    cache_version: &'a str,
    document_count: u64,
    problems: Vec<String>,
}

fn verify(cache: &Path, json: bool) -> Result<ExitCode, Refusal> {
    let examined = shown("Verifying", |progress| examine_at(cache, progress)).map_err(|error| refusal(cache, error))?;
    let inspection = examined.inspection();
    let problems: Vec<String> = examined.flaws.iter().map(ToString::to_string).collect();
    let (valid, count) = (problems.is_empty(), problems.len());
    if json {
        let (cache_version, document_count) = (inspection.cache_version.as_str(), inspection.document_count);
        print_pretty(&Verified { valid, cache_version, document_count, problems })?;
    } else if valid {
        let (version, count) = (&inspection.cache_version, inspection.document_count);
        print(&format!("The cache is whole: every hash is right. Documents: {count}, version: {version}\n"))?;
    } else {
        let lines: String = problems.iter().flat_map(|problem| [printable::line(problem), "\n".into()]).collect();
        print(&lines)?;
    }
    if valid {
        return Ok(ExitCode::SUCCESS);
    }
    let problems = if count == 1 { "problem" } else { "problems" };
    Err(Refusal::of(
        Failure::CacheInvalid,
        format!("The cache {} is not as it was built: {count} {problems}.", cache.display()),
    ))
}

fn print_pretty(value: &impl Serialize) -> Result<(), Refusal> {
    let text =
        serde_json::to_string_pretty(value).map_err(|error| Refusal::of(Failure::Internal, error.to_string()))?;
    print(&(text + "\n"))
}

/// A reader that has gone away is not an error; a full disk is.
fn print(text: &str) -> Result<(), Refusal> {
    let mut output = std::io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Refusal::of(Failure::Io, format!("Standard output cannot be written: {error}.")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Does long work. Whoever looks on is told how far it is.
fn shown<T>(doing: &str, work: impl FnOnce(&Progress) -> mainstay_core::Result<T>) -> mainstay_core::Result<T> {
    let progress = Progress::default();
    if !std::io::stderr().is_terminal() {
        return work(&progress);
    }
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let teller = scope.spawn(|| tell(doing, &progress, &over));
        let done = work(&progress);
        over.store(true, Ordering::Relaxed);
        teller.thread().unpark();
        done
    })
}

/// Writes one line again and again, and clears it away at the end.
fn tell(doing: &str, progress: &Progress, over: &AtomicBool) {
    const PACE: Duration = Duration::from_millis(100);
    let mut told = false;
    loop {
        std::thread::park_timeout(PACE);
        if over.load(Ordering::Relaxed) {
            break;
        }
        if let (done, Some(total)) = progress.so_far() {
            let _ = write!(std::io::stderr(), "\r{doing}: {done} of {total} documents");
            told = true;
        }
    }
    if told {
        let _ = write!(std::io::stderr(), "\r\u{1b}[K");
    }
}
