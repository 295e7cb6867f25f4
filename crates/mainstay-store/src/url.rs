//! The location of a database, from its URL.
//!
//! A URL of PostgreSQL holds a password, and errors end up in logs: no error repeats a part of the URL that could be
//! one.

use std::path::PathBuf;
use std::str::FromStr as _;

use sqlx::postgres::PgConnectOptions;

use crate::{Result, StoreError};

const ACCEPTED: &str = "use sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/DATABASE";

/// Which engine, and where its database is.
pub(crate) enum Location {
    Sqlite(PathBuf),
    Postgres(Box<PgConnectOptions>),
}

impl Location {
    pub(crate) fn parse(url: &str) -> Result<Self> {
        match url.split_once(':') {
            Some(("sqlite", path)) => sqlite(path),
            Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => postgres(url),
            Some(("postgres" | "postgresql", _)) => reject("the store URL lacks the // after postgres:"),
            Some((scheme, _)) if is_scheme(scheme) => {
                reject(&format!("the store URL begins with {scheme:?}, which is no engine here"))
            }
            // What comes before the colon does not look like a scheme, so it may be a secret.
            Some(_) | None => reject("the store URL names no engine"),
        }
    }
}

/// The database file of a SQLite URL; `None` if the URL is for another engine or invalid. The program uses it to keep
/// the file out of reach of callers.
pub fn sqlite_file(url: &str) -> Option<PathBuf> {
    match Location::parse(url) {
        Ok(Location::Sqlite(file)) => Some(file),
        Ok(Location::Postgres(_)) | Err(_) => None,
    }
}

/// Every error says what would be accepted.
fn reject<T>(why: &str) -> Result<T> {
    Err(StoreError::Url(format!("{why}; {ACCEPTED}")))
}

/// Short and lower case: safe to repeat in an error.
fn is_scheme(text: &str) -> bool {
    (1..=16).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_lowercase())
}

fn sqlite(path: &str) -> Result<Location> {
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() {
        return reject("the store URL sqlite: names no file");
    }
    if path.contains(":memory:") {
        return reject("sqlite::memory: is not supported, because what is stored must survive a restart");
    }
    if path.contains(['?', '\0']) {
        return reject("the store URL sqlite: takes a path alone, without options after a question mark");
    }
    Ok(Location::Sqlite(PathBuf::from(path)))
}

/// The driver's error may quote the part it could not parse; if that is the password, the error is left out.
fn postgres(url: &str) -> Result<Location> {
    match PgConnectOptions::from_str(url) {
        Ok(options) => Ok(Location::Postgres(Box::new(options))),
        Err(error) => {
            let why = error.to_string();
            let secret = url.rsplit_once('@').and_then(|(user, _)| user.splitn(3, ':').nth(2)).unwrap_or_default();
            if !secret.is_empty() && why.contains(secret) {
                return reject("the PostgreSQL URL cannot be read");
            }
            reject(&format!("the PostgreSQL URL cannot be read ({why})"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejection(url: &str) -> String {
        match Location::parse(url) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{url} was accepted"),
        }
    }

    #[test]
    fn sqlite_paths_are_used_unchanged() {
        for (url, path) in [
            ("sqlite:data/x.db", "data/x.db"),
            ("sqlite:/var/lib/x.db", "/var/lib/x.db"),
            ("sqlite:///var/lib/x y.db", "/var/lib/x y.db"),
            ("sqlite://x.db", "x.db"),
        ] {
            assert!(
                matches!(Location::parse(url), Ok(Location::Sqlite(found)) if found == std::path::Path::new(path)),
                "{url}"
            );
        }
    }

    #[test]
    fn both_spellings_of_postgres_are_accepted() {
        for url in ["postgres://u:p@h:1/d", "postgresql://u@h/d?sslmode=disable"] {
            assert!(matches!(Location::parse(url), Ok(Location::Postgres(_))), "{url}");
        }
    }

    #[test]
    fn a_rejected_url_is_explained_with_what_is_accepted() {
        for (url, said) in [
            ("sqlite::memory:", "not supported"),
            ("sqlite:", "names no file"),
            ("sqlite:x.db?mode=rwc", "question mark"),
            ("mysql://h/d", "\"mysql\""),
            ("data.db", "names no engine"),
            ("", "names no engine"),
            ("postgres:h", "lacks the //"),
            ("postgres://u:secret@h:port/d", "invalid port number"),
        ] {
            let rejection = rejection(url);
            assert!(rejection.contains(said) && rejection.contains(ACCEPTED), "{url}: {rejection}");
        }
    }

    #[test]
    fn a_rejected_url_never_repeats_the_password() {
        for url in [
            "postgres://user:hunter2@host:badport/db",
            "postgres://user:hunter2",
            "postgres://user:hunter2@/db?sslmode=hunter2",
            "mysql://user:hunter2@host/db",
            "hunter2:user@host",
            "hunter2",
            "postgres:user:hunter2@host",
        ] {
            if let Err(error) = Location::parse(url) {
                let rejection = format!("{error} {error:?}");
                assert!(!rejection.contains("hunter2"), "{url}: {rejection}");
            }
        }
    }
}
