//! The contract's resources, and every file of the workspace.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use mainstay_core::{
    Body, BoxFuture, Contents, Context, Error, Kind, Reason, ResourceInfo, ResourceTemplate, Resources, Result,
};
use mainstay_sandbox::{Workspace, WorkspacePath, is_outside_workspace};
use mainstay_store::Store;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use crate::Setup;
use crate::files::blocking;
use crate::watch::Watch;

const FILE: &str = "file://";
const README: &str = "file://README.md";
const SCHEMA: &str = "db://schema/";
const COMPLETE: &str = "db://schema/complete";
const OPENAPI: &str = "api://swagger/spec";
const SUPERVISOR: &str = "config://agents/supervisor";
const JSON: &str = "application/json";

/// The tables the contract names; the database may have others.
const NAMED: [&str; 5] = ["activities", "agent_states", "components", "conflicts", "decisions"];

pub(super) struct Shelf {
    workspace: Workspace,
    store: Store,
    openapi: Arc<OnceLock<Value>>,
    watch: Watch,
    /// The most bytes of a file that are returned.
    most: u64,
}

impl Shelf {
    pub(super) fn new(setup: &Setup) -> Self {
        if let Ok(readme) = spot(&setup.workspace, README) {
            setup.watch.add_as(&readme, README.into());
        }
        Self {
            workspace: setup.workspace.clone(),
            store: setup.store.clone(),
            openapi: setup.openapi.clone(),
            watch: setup.watch.clone(),
            most: setup.files.read_bytes,
        }
    }

    async fn find(&self, uri: &str) -> Result<Contents> {
        if uri.starts_with(FILE) {
            return self.file(uri).await;
        }
        let value = match uri {
            COMPLETE => self.tables().await?,
            OPENAPI => self.openapi.get().cloned().ok_or_else(|| {
                Error::unavailable("This server has no API description: it does not serve HTTP, or is still starting.")
            })?,
            SUPERVISOR => json!({
                "name": "supervisor",
                "role": "coordination",
                "capabilities": ["task_delegation", "conflict_resolution"],
            }),
            other => match other.strip_prefix(SCHEMA) {
                Some(table) => self.table(table).await?.ok_or_else(|| missing(uri))?,
                None => return Err(missing(uri)),
            },
        };
        Ok(Contents { uri: uri.to_owned(), mime: Some(JSON.into()), body: Body::Text(value.to_string()) })
    }

    async fn tables(&self) -> Result<Value> {
        let tables = self.store.agents().tables().await?;
        let named: Vec<String> = tables.into_iter().filter(|table| NAMED.contains(&table.as_str())).collect();
        Ok(json!({ "tables": named }))
    }

    async fn table(&self, table: &str) -> Result<Option<Value>> {
        let columns = self.store.agents().columns(table).await?;
        let told =
            columns.iter().map(|column| json!({"name": column.name, "type": column.kind, "nullable": column.nullable}));
        let told: Vec<Value> = told.collect();
        Ok((!told.is_empty()).then(|| json!({ "table": table, "columns": told })))
    }

    async fn file(&self, uri: &str) -> Result<Contents> {
        let (workspace, watch, most, uri) = (self.workspace.clone(), self.watch.clone(), self.most, uri.to_owned());
        blocking(move || {
            // Watched first: what changes while it is read is noticed.
            let spot = spot(&workspace, &uri).map_err(|error| refusal(error, &uri))?;
            let file = spot.open_file().map_err(|error| refusal(error, &uri))?;
            watch.add(&spot);
            let bytes = file.read_whole(most).map_err(|error| refusal(error, &uri))?;
            let bytes = bytes.ok_or_else(|| {
                let told =
                    format!("{uri} is larger than {most} bytes (files.read_bytes); read it in parts with files_read.");
                Error::new(Kind::TooLarge, told).with_reason(Reason::uri(&uri))
            })?;
            let (usual, body) = match String::from_utf8(bytes) {
                Ok(text) => ("text/plain", Body::Text(text)),
                Err(error) => ("application/octet-stream", Body::Bytes(error.into_bytes())),
            };
            let mime = mime(file.display()).unwrap_or(usual).to_owned();
            Ok(Contents { uri, mime: Some(mime), body })
        })
        .await
    }
}

/// The path of a file resource is written as it is, or with percent signs as in any URI.
fn spot(workspace: &Workspace, uri: &str) -> Result<WorkspacePath> {
    let path = uri.strip_prefix(FILE).unwrap_or(uri);
    let path = percent_decode_str(path).decode_utf8().map_err(|_| Error::field("uri", "The path is not UTF-8."))?;
    workspace.find(&path)
}

/// The contract's words for a path that is not to be reached.
fn refusal(error: Error, uri: &str) -> Error {
    let (told, reason) = if is_outside_workspace(&error) {
        ("Access denied: Path outside project directory", "path_traversal_attempt")
    } else if error.kind == Kind::Denied {
        ("Access denied: Protected path", "protected_path")
    } else {
        return error.with_reason(Reason::uri(uri));
    };
    Error::denied(told).with_reason(Reason::Resource { uri: uri.to_owned(), reason: Some(reason.to_owned()) })
}

fn missing(uri: &str) -> Error {
    Error::not_found(format!("There is no resource {uri:?}.")).with_reason(Reason::uri(uri))
}

fn mime(path: &str) -> Option<&'static str> {
    let ending = Path::new(path).extension()?.to_str()?.to_ascii_lowercase();
    Some(match ending.as_str() {
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

fn entry(uri: &str, name: &str, description: &str, mime: &str) -> ResourceInfo {
    ResourceInfo {
        uri: uri.into(),
        name: name.into(),
        description: Some(description.into()),
        mime: Some(mime.into()),
        ..ResourceInfo::default()
    }
}

impl Resources for Shelf {
    fn list(&self) -> Vec<ResourceInfo> {
        vec![
            entry(README, "Project README", "Main project documentation", "text/markdown"),
            entry(COMPLETE, "Database Schema", "Complete database schema definition", JSON),
            entry(OPENAPI, "API Specification", "OpenAPI description of this server", JSON),
            entry(SUPERVISOR, "Supervisor Configuration", "Configuration of the supervisor agent", JSON),
        ]
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
            template("file://{+path}", "Workspace File", "Any file of the workspace, by its path", None),
            template("db://schema/{table}", "Table Schema", "The columns of one table of the team's data", Some(JSON)),
        ]
    }

    fn owns(&self, uri: &str) -> bool {
        [FILE, SCHEMA, OPENAPI, SUPERVISOR].iter().any(|own| uri.starts_with(own))
    }

    fn read<'a>(&'a self, uri: &'a str, _context: &'a Context) -> BoxFuture<'a, Result<Vec<Contents>>> {
        Box::pin(async move { self.find(uri).await.map(|contents| vec![contents]) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::testing::Team;

    async fn read(team: &Team, uri: &str) -> Result<Contents> {
        let shelf = team.family().resources.pop().unwrap();
        assert!(shelf.owns(uri), "{uri}");
        shelf.read(uri, &Context::detached()).await.map(|mut contents| contents.pop().unwrap())
    }

    async fn json_of(team: &Team, uri: &str) -> Value {
        let contents = read(team, uri).await.unwrap();
        let Body::Text(text) = contents.body else { panic!("{uri} is no text") };
        assert_eq!(contents.mime.as_deref(), Some(JSON));
        serde_json::from_str(&text).unwrap()
    }

    #[tokio::test]
    async fn the_four_are_listed_in_order_even_if_there_is_no_readme() {
        let team = Team::new().await;
        let listed: Vec<(String, String)> =
            team.family().resources[0].list().into_iter().map(|info| (info.uri, info.name)).collect();
        let expected = [
            (README, "Project README"),
            (COMPLETE, "Database Schema"),
            (OPENAPI, "API Specification"),
            (SUPERVISOR, "Supervisor Configuration"),
        ];
        assert_eq!(listed, expected.map(|(uri, name)| (uri.to_owned(), name.to_owned())));
        let missing = read(&team, README).await.unwrap_err();
        assert_eq!((missing.kind, *missing.reason.unwrap()), (Kind::NotFound, Reason::uri(README)));
    }

    #[tokio::test]
    async fn files_of_the_workspace_are_read_by_plain_and_by_encoded_paths() {
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
    async fn what_lies_outside_or_is_protected_is_denied_in_the_contracts_words() {
        let team = Team::new().await;
        std::fs::write(team.root().join(".env"), "SECRET=1").unwrap();
        std::fs::create_dir(team.root().join("a")).unwrap();
        std::fs::create_dir(team.root().join(".git")).unwrap();
        std::fs::write(team.root().join(".git/config"), "x").unwrap();
        std::os::unix::fs::symlink("/etc", team.root().join("out")).unwrap();
        std::os::unix::fs::symlink(".env", team.root().join("innocent")).unwrap();
        let outside = ("Access denied: Path outside project directory", "path_traversal_attempt");
        let protected = ("Access denied: Protected path", "protected_path");
        for (uri, (told, reason)) in [
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
            assert_eq!((refused.kind, refused.public.as_ref()), (Kind::Denied, told), "{uri}");
            assert_eq!(
                *refused.reason.unwrap(),
                Reason::Resource { uri: uri.to_owned(), reason: Some(reason.to_owned()) }
            );
        }
    }

    #[tokio::test]
    async fn a_file_that_is_too_large_is_refused_by_name() {
        let mut team = Team::new().await;
        team.setup.files.read_bytes = 3;
        std::fs::write(team.root().join("a"), "four").unwrap();
        assert_eq!(read(&team, "file://a").await.unwrap_err().kind, Kind::TooLarge);
    }

    #[tokio::test]
    async fn the_schema_is_the_databases_own() {
        let team = Team::new().await;
        assert_eq!(json_of(&team, COMPLETE).await, json!({ "tables": NAMED }));
        let table = json_of(&team, "db://schema/components").await;
        assert_eq!(table["columns"][0], json!({"name": "name", "type": "text", "nullable": false}));
        for uri in ["db://schema/audit", "db://schema/", "api://swagger/specs", "config://agents/supervisor/x"] {
            assert_eq!(read(&team, uri).await.unwrap_err().kind, Kind::NotFound, "{uri}");
        }
    }

    #[tokio::test]
    async fn the_api_is_described_once_the_server_has_said_how() {
        let team = Team::new().await;
        assert_eq!(read(&team, OPENAPI).await.unwrap_err().kind, Kind::Unavailable);
        team.setup.openapi.set(json!({"openapi": "3.1.0"})).unwrap();
        assert_eq!(json_of(&team, OPENAPI).await, json!({"openapi": "3.1.0"}));
        assert_eq!(json_of(&team, SUPERVISOR).await["role"], "coordination");
    }
}
