//! Which engine a URL means. Nothing said about a URL repeats its password.

use std::path::PathBuf;
use std::str::FromStr as _;

use sqlx::postgres::PgConnectOptions;

use crate::{Result, StoreError};

const ACCEPTED: &str = "use sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/DATABASE";

pub(crate) enum Place {
    Sqlite(PathBuf),
    Postgres(Box<PgConnectOptions>),
}

impl Place {
    pub(crate) fn parse(url: &str) -> Result<Self> {
        match url.split_once(':') {
            Some(("sqlite", path)) => sqlite(path),
            Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => postgres(url),
            Some(("postgres" | "postgresql", _)) => refuse("the store URL lacks the // after postgres:"),
            Some((scheme, _)) if is_scheme(scheme) => {
                refuse(&format!("the store URL begins with {scheme:?}, which is no engine here"))
            }
            // Whatever stands before the colon may be a secret; it is not repeated.
            Some(_) | None => refuse("the store URL names no engine"),
        }
    }
}

/// The file that a URL of SQLite means; none if it means another engine, or nothing at all.
pub fn sqlite_file(url: &str) -> Option<PathBuf> {
    match Place::parse(url) {
        Ok(Place::Sqlite(file)) => Some(file),
        Ok(Place::Postgres(_)) | Err(_) => None,
    }
}

fn refuse<T>(why: &str) -> Result<T> {
    Err(StoreError::Url(format!("{why}; {ACCEPTED}")))
}

fn is_scheme(text: &str) -> bool {
    (1..=16).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_lowercase())
}

fn sqlite(path: &str) -> Result<Place> {
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() {
        return refuse("the store URL sqlite: names no file");
    }
    if path.contains(":memory:") {
        return refuse("sqlite::memory: is not supported, because what is stored must survive a restart");
    }
    if path.contains(['?', '\0']) {
        return refuse("the store URL sqlite: takes a path alone, without options after a question mark");
    }
    Ok(Place::Sqlite(PathBuf::from(path)))
}

fn postgres(url: &str) -> Result<Place> {
    match PgConnectOptions::from_str(url) {
        Ok(options) => Ok(Place::Postgres(Box::new(options))),
        Err(error) => {
            let why = error.to_string();
            let secret = url.rsplit_once('@').and_then(|(user, _)| user.splitn(3, ':').nth(2)).unwrap_or_default();
            if !secret.is_empty() && why.contains(secret) {
                return refuse("the PostgreSQL URL cannot be read");
            }
            refuse(&format!("the PostgreSQL URL cannot be read ({why})"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        match Place::parse(url) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{url} was accepted"),
        }
    }

    #[test]
    fn sqlite_paths_are_taken_as_they_are() {
        for (url, path) in [
            ("sqlite:data/x.db", "data/x.db"),
            ("sqlite:/var/lib/x.db", "/var/lib/x.db"),
            ("sqlite:///var/lib/x y.db", "/var/lib/x y.db"),
            ("sqlite://x.db", "x.db"),
        ] {
            assert!(
                matches!(Place::parse(url), Ok(Place::Sqlite(found)) if found == std::path::Path::new(path)),
                "{url}"
            );
        }
    }

    #[test]
    fn both_spellings_of_postgres_are_taken() {
        for url in ["postgres://u:p@h:1/d", "postgresql://u@h/d?sslmode=disable"] {
            assert!(matches!(Place::parse(url), Ok(Place::Postgres(_))), "{url}");
        }
    }

    #[test]
    fn a_refusal_says_what_was_wrong_and_what_is_accepted() {
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
            let refusal = refusal(url);
            assert!(refusal.contains(said) && refusal.contains(ACCEPTED), "{url}: {refusal}");
        }
    }

    #[test]
    fn a_refusal_never_repeats_the_password() {
        for url in [
            "postgres://user:hunter2@host:badport/db",
            "postgres://user:hunter2",
            "postgres://user:hunter2@/db?sslmode=hunter2",
            "mysql://user:hunter2@host/db",
            "hunter2:user@host",
            "hunter2",
            "postgres:user:hunter2@host",
        ] {
            if let Err(error) = Place::parse(url) {
                let refusal = format!("{error} {error:?}");
                assert!(!refusal.contains("hunter2"), "{url}: {refusal}");
            }
        }
    }
}
