//! The contract's resources: files of the workspace, the database schema, the OpenAPI document and the supervisor's
//! configuration.
//!
//! Files go through the sandbox like those of the files tools: protected names and paths outside are denied, in the
//! contract's words. A file that was read is watched from then on, and changes are announced to subscribers.

use std::path::Path;

use mainstay_core::{
    Body, BoxFuture, Contents, Context, Error, Kind, Reason, ResourceInfo, ResourceProvider, ResourceTemplate, Result,
};
use mainstay_sandbox::{Workspace, WorkspacePath, is_outside_workspace};
use mainstay_store::Store;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use crate::progress::blocking;
use crate::setup::{LazyDocument, Setup};
use crate::watch::ResourceWatcher;

const FILE: &str = "file://";
const README: &str = "file://README.md";
const SCHEMA: &str = "db://schema/";
const COMPLETE_SCHEMA: &str = "db://schema/complete";
const OPENAPI: &str = "api://swagger/spec";
const SUPERVISOR: &str = "config://agents/supervisor";
const JSON: &str = "application/json";

/// The tables that the contract lists; the database has more.
const CONTRACT_TABLES: [&str; 5] = ["activities", "agent_states", "components", "conflicts", "decisions"];

/// Reads the resources by URI.
pub(super) struct AgentResources {
    workspace: Workspace,
    store: Store,
    openapi: LazyDocument,
    watcher: ResourceWatcher,
    /// The largest file that is returned, in bytes.
    max_bytes: u64,
}

impl AgentResources {
    /// The README is watched from the start: it is listed, so clients may subscribe to it without having read it.
    pub(super) fn new(setup: &Setup) -> Self {
        if let Ok(readme) = find_file(&setup.workspace, README) {
            setup.watcher.add_file_as(&readme, README.into());
        }
        Self {
            workspace: setup.workspace.clone(),
            store: setup.store.clone(),
            openapi: setup.openapi.clone(),
            watcher: setup.watcher.clone(),
            max_bytes: setup.files.read_bytes,
        }
    }

    async fn read_uri(&self, uri: &str) -> Result<Contents> {
        if uri.starts_with(FILE) {
            return self.read_file(uri).await;
        }
        let value = match uri {
            COMPLETE_SCHEMA => self.tables().await?,
            OPENAPI => (**self.openapi).clone(),
            SUPERVISOR => json!({
                "name": "supervisor",
                "role": "coordination",
                "capabilities": ["task_delegation", "conflict_resolution"],
            }),
            other => match other.strip_prefix(SCHEMA) {
                Some(table) => self.table(table).await?.ok_or_else(|| not_found(uri))?,
                None => return Err(not_found(uri)),
            },
        };
        Ok(Contents { uri: uri.to_owned(), mime: Some(JSON.into()), body: Body::Text(value.to_string()) })
    }

    /// The contract's tables that exist, as the database names them.
    async fn tables(&self) -> Result<Value> {
        let mut tables = self.store.agents().tables().await?;
        tables.retain(|table| CONTRACT_TABLES.contains(&table.as_str()));
        Ok(json!({ "tables": tables }))
    }

    /// The columns of a table; `None` if it is not one of this family's.
    async fn table(&self, table: &str) -> Result<Option<Value>> {
        let columns = self.store.agents().columns(table).await?;
        let columns: Vec<Value> = columns
            .iter()
            .map(|column| json!({"name": column.name, "type": column.kind, "nullable": column.nullable}))
            .collect();
        Ok((!columns.is_empty()).then(|| json!({ "table": table, "columns": columns })))
    }

    /// Text if the file is UTF-8, bytes otherwise; clients get those in base64.
    async fn read_file(&self, uri: &str) -> Result<Contents> {
        let (workspace, watcher, uri) = (self.workspace.clone(), self.watcher.clone(), uri.to_owned());
        let max_bytes = self.max_bytes;
        blocking(move || {
            let path = find_file(&workspace, &uri).map_err(|error| denied(error, &uri))?;
            let file = path.open_file().map_err(|error| denied(error, &uri))?;
            // Before the content is read: a change in between is then announced.
            watcher.add_file(&path);
            let bytes = file.read_whole(max_bytes).map_err(|error| denied(error, &uri))?;
            let bytes = bytes.ok_or_else(|| {
                let message = format!(
                    "{uri} is larger than {max_bytes} bytes (files.read_bytes); read it in parts with files_read."
                );
                Error::new(Kind::TooLarge, message).with_reason(Reason::uri(&*uri))
            })?;
            let (default_mime, body) = match String::from_utf8(bytes) {
                Ok(text) => ("text/plain", Body::Text(text)),
                Err(error) => ("application/octet-stream", Body::Bytes(error.into_bytes())),
            };
            let mime = mime_type(file.display()).unwrap_or(default_mime).to_owned();
            Ok(Contents { uri, mime: Some(mime), body })
        })
        .await
    }
}

/// The file that a URI names. Its path may be percent-encoded or not; `README.md` and `%52EADME.md` are the same.
fn find_file(workspace: &Workspace, uri: &str) -> Result<WorkspacePath> {
    let path = uri.strip_prefix(FILE).unwrap_or(uri);
    let path = percent_decode_str(path).decode_utf8().map_err(|_| Error::field("uri", "The path is not UTF-8."))?;
    workspace.find(&path)
}

/// The contract's message and reason for a path that may not be read; other errors are kept.
fn denied(error: Error, uri: &str) -> Error {
    let (message, reason) = if is_outside_workspace(&error) {
        ("Access denied: Path outside project directory", "path_traversal_attempt")
    } else if error.kind == Kind::Denied {
        ("Access denied: Protected path", "protected_path")
    } else {
        return error.with_reason(Reason::uri(uri));
    };
    Error::denied(message).with_reason(Reason::Resource { uri: uri.to_owned(), reason: Some(reason.to_owned()) })
}

fn not_found(uri: &str) -> Error {
    Error::not_found(format!("There is no resource {uri:?}.")).with_reason(Reason::uri(uri))
}

/// By the extension; content is not examined.
fn mime_type(path: &str) -> Option<&'static str> {
    let extension = Path::new(path).extension()?.to_str()?.to_ascii_lowercase();
    Some(match extension.as_str() {
        "md" | "markdown" => "text/markdown",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "js" | "mjs" => "text/javascript",
        "json" => JSON,
        "toml" => "application/toml",
        "yaml" | "yml" => "application/yaml",
        "xml" => "application/xml",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "svg" => "image/svg+xml",
        "webp" => "image/webp",
        _ => return None,
    })
}

impl ResourceProvider for AgentResources {
    /// The contract's four, in its order, whether or not they can be read now.
    fn list(&self) -> Vec<ResourceInfo> {
        let listed = [
            (README, "Project README", "Main project documentation", "text/markdown"),
            (COMPLETE_SCHEMA, "Database Schema", "Complete database schema definition", JSON),
            (OPENAPI, "API Specification", "OpenAPI description of this server", JSON),
            (SUPERVISOR, "Supervisor Configuration", "Configuration of the supervisor agent", JSON),
        ];
        let info = |(uri, name, description, mime): (&str, &str, &str, &str)| ResourceInfo {
            uri: uri.into(),
            name: name.into(),
            description: Some(description.into()),
            mime: Some(mime.into()),
            ..ResourceInfo::default()
        };
        listed.map(info).into()
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        let template = |uri: &str, name: &str, description: &str, mime: Option<&str>| ResourceTemplate {
            uri: uri.into(),
            name: name.into(),
            description: Some(description.into()),
            mime: mime.map(Into::into),
            ..ResourceTemplate::default()
        };
        vec![
            template("file://{+path}", "Workspace File", "A file of the workspace, by its path", None),
            template("db://schema/{table}", "Table Schema", "The columns of one table of the team's data", Some(JSON)),
        ]
    }

    /// By prefix: a URI of an unknown table is ours, and answered with not found.
    fn owns(&self, uri: &str) -> bool {
        [FILE, SCHEMA, OPENAPI, SUPERVISOR].iter().any(|own| uri.starts_with(own))
    }

    fn read<'a>(&'a self, uri: &'a str, _context: &'a Context) -> BoxFuture<'a, Result<Vec<Contents>>> {
        Box::pin(async move { self.read_uri(uri).await.map(|contents| vec![contents]) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Team;
    use super::*;

    async fn read(team: &Team, uri: &str) -> Result<Contents> {
        let resources = team.family().resources.pop().unwrap();
        assert!(resources.owns(uri), "{uri}");
        resources.read(uri, &Context::detached()).await.map(|mut contents| contents.pop().unwrap())
    }

    async fn json_of(team: &Team, uri: &str) -> Value {
        let contents = read(team, uri).await.unwrap();
        let Body::Text(text) = contents.body else { panic!("{uri} is no text") };
        assert_eq!(contents.mime.as_deref(), Some(JSON));
        serde_json::from_str(&text).unwrap()
    }

    #[tokio::test]
    async fn contract_resources_are_listed_in_order_even_without_a_readme() {
        let team = Team::new().await;
        let listed: Vec<(String, String)> =
            team.family().resources[0].list().into_iter().map(|info| (info.uri, info.name)).collect();
        let expected = [
            (README, "Project README"),
            (COMPLETE_SCHEMA, "Database Schema"),
            (OPENAPI, "API Specification"),
            (SUPERVISOR, "Supervisor Configuration"),
        ];
        assert_eq!(listed, expected.map(|(uri, name)| (uri.to_owned(), name.to_owned())));
        let missing = read(&team, README).await.unwrap_err();
        assert_eq!((missing.kind, *missing.reason.unwrap()), (Kind::NotFound, Reason::uri(README)));
    }

    #[tokio::test]
    async fn workspace_files_are_read_by_plain_and_percent_encoded_paths() {
        let team = Team::new().await;
        std::fs::write(team.root().join("README.md"), "# Hello").unwrap();
        std::fs::write(team.root().join("a b%.bin"), [0, 159, 146]).unwrap();
        let readme = read(&team, README).await.unwrap();
        assert_eq!((readme.mime.as_deref(), readme.body), (Some("text/markdown"), Body::Text("# Hello".into())));
        let absolute = format!("file://{}", std::fs::canonicalize(team.root()).unwrap().join("README.md").display());
        assert_eq!(read(&team, &absolute).await.unwrap().body, Body::Text("# Hello".into()));
        for uri in ["file://a b%.bin", "file://a%20b%25.bin"] {
            let file = read(&team, uri).await.unwrap();
            let expected = (Some("application/octet-stream"), Body::Bytes(vec![0, 159, 146]));
            assert_eq!((file.mime.as_deref(), file.body), expected);
        }
    }

    #[tokio::test]
    async fn outside_and_protected_paths_are_denied_with_the_contracts_messages() {
        let team = Team::new().await;
        std::fs::write(team.root().join(".env"), "SECRET=1").unwrap();
        std::fs::create_dir(team.root().join("a")).unwrap();
        std::fs::create_dir(team.root().join(".git")).unwrap();
        std::fs::write(team.root().join(".git/config"), "x").unwrap();
        std::os::unix::fs::symlink("/etc", team.root().join("out")).unwrap();
        std::os::unix::fs::symlink(".env", team.root().join("innocent")).unwrap();
        let outside = ("Access denied: Path outside project directory", "path_traversal_attempt");
        let protected = ("Access denied: Protected path", "protected_path");
        for (uri, (reply, reason)) in [
            ("file://../../etc/passwd", outside),
            ("file://%2e%2e/%2e%2e/etc/passwd", outside),
            ("file://a/../../x", outside),
            ("file:///etc/passwd", outside),
            ("file://out/passwd", outside),
            ("file://.env", protected),
            ("file://.ENV", protected),
            ("file://.git/config", protected),
            ("file://%2egit/config", protected),
            ("file://innocent", protected),
        ] {
            let refused = read(&team, uri).await.unwrap_err();
            assert_eq!((refused.kind, refused.public.as_ref()), (Kind::Denied, reply), "{uri}");
            let expected = Reason::Resource { uri: uri.to_owned(), reason: Some(reason.to_owned()) };
            assert_eq!(*refused.reason.unwrap(), expected);
        }
    }

    #[tokio::test]
    async fn file_over_the_size_limit_is_rejected() {
        let mut team = Team::new().await;
        team.setup.files.read_bytes = 3;
        std::fs::write(team.root().join("a"), "four").unwrap();
        assert_eq!(read(&team, "file://a").await.unwrap_err().kind, Kind::TooLarge);
    }

    #[tokio::test]
    async fn schema_is_read_from_the_database() {
        let team = Team::new().await;
        assert_eq!(json_of(&team, COMPLETE_SCHEMA).await, json!({ "tables": CONTRACT_TABLES }));
        let table = json_of(&team, "db://schema/components").await;
        assert_eq!(table["columns"][0], json!({"name": "name", "type": "text", "nullable": false}));
        for uri in ["db://schema/audit", "db://schema/", "api://swagger/specs", "config://agents/supervisor/x"] {
            assert_eq!(read(&team, uri).await.unwrap_err().kind, Kind::NotFound, "{uri}");
        }
    }

    #[tokio::test]
    async fn api_description_is_the_servers() {
        let team = Team::new().await;
        assert_eq!(json_of(&team, OPENAPI).await, json!({"openapi": "3.1.0"}));
        assert_eq!(json_of(&team, SUPERVISOR).await["role"], "coordination");
    }
}
