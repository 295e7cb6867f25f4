//! Probes with an effect on disk: a test counts lines to see how often a call was executed.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use mainstay_core::{Context, Effect, Error, Result, Spec, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::probe;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct AppendArgs {
    /// The file's name
    #[schemars(regex(pattern = "^[A-Za-z0-9]{1,64}$"))]
    file: String,
    /// The line, without its end
    #[schemars(regex(pattern = "^[^\\r\\n]*$"))]
    line: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct AppendReport {
    lines_written: u32,
}

/// One write and one sync for each call, so that a line is there whole or not at all, and stays.
pub(crate) struct Append(pub(crate) PathBuf);

impl Tool for Append {
    const SPEC: Spec = probe("append", Effect::Writes, "Appends one line to a file.");
    type Args = AppendArgs;
    type Output = AppendReport;

    async fn call(&self, args: AppendArgs, _context: &Context) -> Result<AppendReport> {
        let path = inside(&self.0, &args.file)?;
        if args.line.contains(['\r', '\n']) {
            return Err(Error::invalid("A line has no line ends in it."));
        }
        let line = args.line + "\n";
        blocking(move || {
            let mut file = OpenOptions::new().create(true).append(true).open(path)?;
            file.write_all(line.as_bytes())?;
            file.sync_all()
        })
        .await?;
        Ok(AppendReport { lines_written: 1 })
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct DestroyArgs {
    /// The file's name
    #[schemars(regex(pattern = "^[A-Za-z0-9]{1,64}$"))]
    file: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct DestroyReport {
    destroyed: String,
}

pub(crate) struct Destroy(pub(crate) PathBuf);

impl Tool for Destroy {
    const SPEC: Spec = probe("destroy", Effect::Destroys, "Deletes a file.");
    type Args = DestroyArgs;
    type Output = DestroyReport;

    async fn call(&self, args: DestroyArgs, _context: &Context) -> Result<DestroyReport> {
        let path = inside(&self.0, &args.file)?;
        blocking(move || fs::remove_file(path)).await?;
        Ok(DestroyReport { destroyed: args.file })
    }
}

/// The schema checks this already; a path is not built from an argument that only the schema has checked.
fn inside(dir: &Path, file: &str) -> Result<PathBuf> {
    if !file.is_empty() && file.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Ok(dir.join(file));
    }
    Err(Error::invalid(format!("{file:?} is no name for a probe's file: use letters and digits.")))
}

async fn blocking(work: impl FnOnce() -> io::Result<()> + Send + 'static) -> Result<()> {
    match tokio::task::spawn_blocking(work).await.map_err(Error::internal)? {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Error::not_found("There is no such file.").with_detail(error))
        }
        Err(error) => Err(Error::internal(error)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use mainstay_core::{Kind, erase};

    #[tokio::test]
    async fn each_call_appends_one_line() {
        let dir = tempfile::tempdir().unwrap();
        let tool = Append(dir.path().to_owned());
        for line in ["one", "", "zwei ü"] {
            let args = AppendArgs { file: "log".into(), line: line.into() };
            assert_eq!(tool.call(args, &Context::detached()).await.unwrap().lines_written, 1);
        }
        assert_eq!(fs::read_to_string(dir.path().join("log")).unwrap(), "one\n\nzwei ü\n");
    }

    #[tokio::test]
    async fn what_was_destroyed_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("log"), "x").unwrap();
        let tool = Destroy(dir.path().to_owned());
        tool.call(DestroyArgs { file: "log".into() }, &Context::detached()).await.unwrap();
        assert!(!dir.path().join("log").exists());
        let again = tool.call(DestroyArgs { file: "log".into() }, &Context::detached()).await;
        assert_eq!(again.err().unwrap().kind, Kind::NotFound);
    }

    #[tokio::test]
    async fn no_name_leads_out_of_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let tool = erase(Append(dir.path().to_owned()));
        for file in ["", ".", "..", "../x", "a/b", "/etc/passwd", "a.b", "a\0", "a\n"] {
            let args = json!({"file": file, "line": "x"});
            assert_eq!(tool.check(&args).unwrap_err().kind, Kind::Invalid, "{file:?}");
            let past_the_schema = tool.call(args, &Context::detached()).await;
            assert_eq!(past_the_schema.unwrap_err().kind, Kind::Invalid, "{file:?}");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn one_call_never_writes_two_lines() {
        let dir = tempfile::tempdir().unwrap();
        let tool = erase(Append(dir.path().to_owned()));
        for line in ["a\nb", "a\n", "\r"] {
            let args = json!({"file": "log", "line": line});
            assert_eq!(tool.check(&args).unwrap_err().kind, Kind::Invalid, "{line:?}");
            assert_eq!(tool.call(args, &Context::detached()).await.unwrap_err().kind, Kind::Invalid, "{line:?}");
        }
    }
}
