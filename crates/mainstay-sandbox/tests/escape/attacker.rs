//! The attacking process.

use std::path::PathBuf;

use crate::{attacks, exhaustion, kernel, network, survivors};

/// The result of an attack: `Ok` with what it achieved, `Err` with what stopped it.
pub(crate) type Verdict = Result<String, String>;

pub(crate) type Attack = fn(&Target) -> Verdict;

/// What an attacker knows.
pub(crate) struct Target {
    /// A directory outside, with `secret.txt` in it.
    pub(crate) outside: PathBuf,
    /// A read-only root.
    pub(crate) read_only: PathBuf,
    pub(crate) server: i32,
    pub(crate) port: u16,
    pub(crate) socket: PathBuf,
    /// Memory that two programs of the machine share.
    pub(crate) memory: i32,
}

pub(crate) fn all() -> Vec<(&'static str, Attack)> {
    [attacks::LIST, kernel::LIST, network::LIST, survivors::LIST, exhaustion::LIST].concat()
}

pub(crate) fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// A system call that must fail.
pub(crate) fn must_fail(returned: i64, what: &str) -> Verdict {
    if returned == -1 { Err(std::io::Error::last_os_error().to_string()) } else { Ok(what.to_owned()) }
}

/// A call that the filter itself must refuse, not something that may differ on another machine.
pub(crate) fn must_be_refused(returned: i64, what: &str) -> Verdict {
    match errno() {
        _ if returned != -1 => Ok(what.to_owned()),
        libc::EPERM | libc::ENOSYS => Err(std::io::Error::last_os_error().to_string()),
        other => Ok(format!("{what} was not refused but failed with {other}")),
    }
}

/// Does nothing unless it is started as an attacker.
#[test]
fn attacker() {
    let Ok(name) = std::env::var("ATTACK") else { return };
    let path = |name: &str| std::env::var(name).map(PathBuf::from).unwrap();
    let number = |name: &str| std::env::var(name).unwrap().parse::<i32>().unwrap();
    let target = Target {
        outside: path("OUTSIDE"),
        read_only: path("READ_ONLY"),
        server: number("SERVER"),
        port: u16::try_from(number("PORT")).unwrap(),
        socket: path("SOCKET"),
        memory: number("MEMORY"),
    };
    let (_, attack) = all().into_iter().find(|(known, _)| *known == name).unwrap();
    match attack(&target) {
        Ok(how) => println!("ESCAPED {how}"),
        Err(why) => println!("HELD {why}"),
    }
}
