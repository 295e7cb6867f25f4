//! A temporary PostgreSQL server: on a free loopback port, with fresh data, for one run of the tests.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::process;
use crate::scratch::Scratch;

/// The variable that tells tests where they may create databases.
pub(crate) const VARIABLE: &str = "MAINSTAY_TEST_POSTGRES";

const START_LIMIT: Duration = Duration::from_mins(1);
const STOP_LIMIT: Duration = Duration::from_secs(10);
const READY: &str = "database system is ready to accept connections";

/// Stops the server and removes its data when its input ends, however the run ends; `$1` server, `$2` directory.
const KEEPER: &str = r#"
trap '' INT TERM HUP
read -r _
kill -QUIT "$1" 2>/dev/null
tries=0
while kill -0 "$1" 2>/dev/null && [ "$tries" -lt 100 ]; do
  tries=$((tries + 1))
  sleep 0.1
done
rm -rf -- "$2"
"#;

pub(crate) struct Postgres {
    url: String,
    server: Child,
    keeper: Child,
    handle: Option<ChildStdin>,
    _directory: Scratch,
}

impl Postgres {
    /// Starts the server that the Python package in `package` carries.
    pub(crate) fn start(package: &Path) -> Result<Self> {
        let scratch = Scratch::new("postgres")?;
        let directory = scratch.path();
        let data = directory.join("data");
        fs::create_dir(&data)?;

        // PostgreSQL refuses to run as root: there it runs as nobody, who may not be able to reach our target
        // directory and so gets a copy of the programs.
        let owner = if directory.metadata()?.uid() == 0 { Some(nobody()) } else { None };
        let programs = match owner {
            Some((user, group)) => {
                chown(&data, Some(user), Some(group)).context("the data directory could not be given to nobody")?;
                copy_package(package, directory)?
            }
            None => package.to_owned(),
        }
        .join("pginstall/bin");
        let program = |name: &str| {
            let mut command = Command::new(programs.join(name));
            command.current_dir(&data).env("LC_ALL", "C");
            if let Some((user, group)) = owner {
                command.uid(user).gid(group);
            }
            command
        };

        let mut prepare = program("initdb");
        prepare.args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]);
        prepare.arg("--pgdata").arg(&data);
        process::run_logged(START_LIMIT, &mut prepare, &directory.join("initdb.log"))
            .context("PostgreSQL could not prepare its data directory")?;

        let port = free_port()?;
        let log = directory.join("server.log");
        let mut serve = program("postgres");
        // The data does not outlive the run, so nothing is flushed to disk. No Unix socket: only loopback.
        serve.arg("-D").arg(&data).args(["-p", &port.to_string(), "-h", "127.0.0.1", "-k", "", "-F"]);
        serve.args(["-c", "max_connections=300", "-c", "full_page_writes=off", "-c", "synchronous_commit=off"]);
        serve.process_group(0);
        let mut server = process::start_logged(&mut serve, &log)?;
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER, "keeper", &server.id().to_string()])
            .arg(directory)
            .stdin(Stdio::piped())
            .process_group(0)
            .spawn()
            .context("sh could not be started")?;
        let handle = keeper.stdin.take();

        let ready = || fs::read_to_string(&log).is_ok_and(|text| text.contains(READY));
        let started = process::wait_ready(&mut server, START_LIMIT, ready)
            .with_context(|| format!("PostgreSQL did not start; the end of its log:\n{}", process::tail(&log)));
        let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
        let postgres = Self { url, server, keeper, handle, _directory: scratch };
        started.map(|()| postgres)
    }

    /// Where an administrator connects.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(mut handle) = self.handle.take() {
            // If the supervising shell has ended already, it has stopped the server.
            let _ = handle.write_all(b"stop\n");
        }
        let ended = process::wait_ended(&mut self.server, STOP_LIMIT).and_then(|()| Ok(self.keeper.wait()?));
        if let Err(error) = ended {
            println!("warning: PostgreSQL (process {}) did not stop cleanly: {error:#}", self.server.id());
        }
    }
}

/// A port that is free at this moment.
pub(crate) fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("no port of 127.0.0.1 is free")?;
    Ok(listener.local_addr()?.port())
}

/// User and group of `nobody`, by the system's own list.
fn nobody() -> (u32, u32) {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    find_user(&users, "nobody").unwrap_or((65534, 65534))
}

fn find_user(users: &str, name: &str) -> Option<(u32, u32)> {
    let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// Copies a package and its libraries into `directory`, for everyone to read.
fn copy_package(package: &Path, directory: &Path) -> Result<PathBuf> {
    let script = r#"for part in "$1" "$1.libs"; do
        if [ -d "$part" ]; then cp -R -- "$part" "$2" && chmod -R a+rX -- "$2/${part##*/}" || exit 1; fi
    done"#;
    let status = Command::new("sh").args(["-c", script, "copy"]).arg(package).arg(directory).status();
    let copied = status.context("sh could not be started")?.success();
    ensure!(copied, "{} could not be copied to {}", package.display(), directory.display());
    let name = package.file_name().context("a package has a name")?;
    Ok(directory.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_found_in_the_list_of_users() {
        let users = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65533:nobody:/nonexistent:/usr/sbin/nologin\n";
        assert_eq!(find_user(users, "nobody"), Some((65534, 65533)));
        assert_eq!(find_user(users, "nob"), None);
    }
}
