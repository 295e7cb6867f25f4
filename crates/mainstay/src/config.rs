//! The configuration: a file, then the environment, then the flags. Each section is declared by the crate that uses it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use mainstay_engine::EngineSettings;
use mainstay_sandbox::FilesSettings;
use mainstay_sandbox::exec::ExecSettings;
use mainstay_server::ServerSettings;
use mainstay_tools::{AgentsSettings, ContextSettings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::cli::Flags;
use crate::log::LogSettings;

/// Everything that can be set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The directory the tools work on; the current directory if it is not set.
    pub workspace: Option<PathBuf>,
    /// Where the server keeps its own files.
    pub data_dir: Option<PathBuf>,
    /// `sqlite:PATH` or `postgres://…`; a SQLite file in the data directory if it is not set.
    pub store: Option<String>,
    /// The tool families to offer; all of them if it is empty.
    pub tools: Vec<String>,
    /// Tools that are switched off, by name.
    pub disabled_tools: Vec<String>,
    pub log: LogSettings,
    pub server: ServerSettings,
    pub engine: EngineSettings,
    pub files: FilesSettings,
    pub exec: ExecSettings,
    pub agents: AgentsSettings,
    pub context: ContextSettings,
    /// Where it was read from.
    #[serde(skip)]
    pub file: Option<PathBuf>,
}

/// The configuration in force and the file it began with.
pub(crate) struct Loaded {
    pub(crate) config: Config,
    pub(crate) file: Option<PathBuf>,
}

/// A nested setting in the environment: `MAINSTAY__ENGINE__DEADLINE_SECONDS=10`.
const NESTED: &str = "MAINSTAY__";

/// What contract 002 calls `context.tool_timeout_secs`.
const TOOL_TIMEOUT: &str = "CONTEXT_TOOL_TIMEOUT_SECS";

pub(crate) fn load(flags: &Flags, environment: impl Iterator<Item = (String, String)>) -> anyhow::Result<Loaded> {
    let file = match &flags.config {
        Some(file) => Some(file.clone()),
        None => home_file("XDG_CONFIG_HOME", ".config", "mainstay/config.toml").filter(|file| file.exists()),
    };
    let mut table = match &file {
        Some(file) => read(file)?,
        None => Table::new(),
    };
    let mut tool_timeout = None;
    for (name, value) in environment {
        if name == TOOL_TIMEOUT {
            tool_timeout = Some(seconds(&value)?);
        } else if let Some(path) = name.strip_prefix(NESTED) {
            let keys: Vec<String> = path.split("__").map(str::to_ascii_lowercase).collect();
            set(&mut table, &keys, parse_value(&value))
                .with_context(|| format!("{name} does not fit the configuration"))?;
        }
    }
    let mut config: Config = Value::Table(table).try_into().map_err(|error: toml::de::Error| {
        let origin = file.as_deref().map_or("the environment".to_owned(), |file| file.display().to_string());
        anyhow::anyhow!("the configuration ({origin}) is not valid: {}", error.message())
    })?;
    overlay(&mut config, flags);
    config.context.tool_timeout_secs = tool_timeout.unwrap_or(config.context.tool_timeout_secs);
    if config.context.tool_timeout_secs == 0 {
        bail!("context.tool_timeout_secs is 0, and no call is done in no time; set it to 1 or more");
    }
    config.file.clone_from(&file);
    Ok(Loaded { config, file })
}

fn read(file: &Path) -> anyhow::Result<Table> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read the configuration {}", file.display()))?;
    text.parse().with_context(|| format!("the configuration {} is not TOML", file.display()))
}

/// `10`, `true` and `[1, 2]` mean what they mean in the file; anything else is text.
fn parse_value(text: &str) -> Value {
    match format!("v = {text}").parse::<Table>() {
        Ok(mut table) => table.remove("v").unwrap_or_else(|| Value::String(text.to_owned())),
        Err(_) => Value::String(text.to_owned()),
    }
}

fn seconds(text: &str) -> anyhow::Result<u64> {
    let seconds = text.parse().ok().filter(|seconds| *seconds > 0);
    seconds.with_context(|| format!("{TOOL_TIMEOUT} is {text:?}; it has to be a whole number of seconds, 1 or more"))
}

fn set(table: &mut Table, keys: &[String], value: Value) -> anyhow::Result<()> {
    match keys {
        [] => bail!("the name is empty"),
        [last] => _ = table.insert(last.clone(), value),
        [first, rest @ ..] => {
            let section = table.entry(first.clone()).or_insert_with(|| Value::Table(Table::new()));
            let Value::Table(inner) = section else { bail!("{first} is {}, not a section", section.type_str()) };
            set(inner, rest, value)?;
        }
    }
    Ok(())
}

/// Flags, and the variables that stand for them, win over everything.
fn overlay(config: &mut Config, flags: &Flags) {
    let Flags { config: _, workspace, data_dir, store, listen, tools, cache_root, log, log_format } = flags.clone();
    config.workspace = workspace.or(config.workspace.take());
    config.data_dir = data_dir.or(config.data_dir.take());
    config.store = store.or(config.store.take());
    config.server.listen = listen.unwrap_or(config.server.listen);
    config.tools = tools.unwrap_or(std::mem::take(&mut config.tools));
    config.context.cache_root = cache_root.or(config.context.cache_root.take());
    config.log.level = log.unwrap_or(std::mem::take(&mut config.log.level));
    config.log.format = log_format.unwrap_or(config.log.format);
}

impl Config {
    pub fn workspace(&self) -> anyhow::Result<PathBuf> {
        let directory = match &self.workspace {
            Some(directory) => directory.clone(),
            None => std::env::current_dir().context("the current directory cannot be read; give --workspace")?,
        };
        std::fs::canonicalize(&directory)
            .with_context(|| format!("the workspace {} cannot be opened", directory.display()))
    }

    pub fn data_dir(&self) -> anyhow::Result<PathBuf> {
        let found = self.data_dir.clone().or_else(|| home_file("XDG_DATA_HOME", ".local/share", "mainstay"));
        found.context(
            "there is no home directory to keep data in; set HOME, or name a directory with --data-dir or MAINSTAY_DATA_DIR",
        )
    }

    /// Whether context caches are all that is served. They have a root of their own.
    pub(crate) fn caches_alone(&self) -> bool {
        self.tools == ["context"]
    }

    /// Where context caches lie.
    pub fn cache_root(&self) -> anyhow::Result<PathBuf> {
        match &self.context.cache_root {
            Some(directory) => Ok(directory.clone()),
            None => Ok(self.data_dir()?.join("caches")),
        }
    }

    pub fn store_url(&self) -> anyhow::Result<String> {
        match &self.store {
            Some(url) => Ok(url.clone()),
            None => Ok(format!("sqlite:{}", self.data_dir()?.join("mainstay.db").display())),
        }
    }

    /// As it may be shown: passwords in the store's URL are left out.
    pub(crate) fn redacted(&self) -> Self {
        let store = self.store.as_ref().map(|url| match (url.find("://"), url.rfind('@')) {
            (Some(scheme), Some(at)) if at > scheme => format!("{}***{}", &url[..scheme + 3], &url[at..]),
            _ => url.clone(),
        });
        Self { store: store.map(|url| mask_query(&url)), ..self.clone() }
    }
}

fn mask_query(url: &str) -> String {
    let Some((place, query)) = url.split_once('?') else { return url.to_owned() };
    let masked = query.split('&').map(|pair| match pair.split_once('=') {
        // A key that is itself encoded may be any.
        Some((key, _)) if key.to_ascii_lowercase().ends_with("password") || key.contains('%') => format!("{key}=***"),
        Some(_) | None => pair.to_owned(),
    });
    format!("{place}?{}", masked.collect::<Vec<_>>().join("&"))
}

fn home_file(variable: &str, beneath_home: &str, name: &str) -> Option<PathBuf> {
    let base = std::env::var_os(variable).filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let base = base.or_else(|| {
        std::env::var_os("HOME").filter(|dir| !dir.is_empty()).map(|home| PathBuf::from(home).join(beneath_home))
    });
    base.map(|base| base.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_text(text: &str, environment: &[(&str, &str)], flags: Flags) -> anyhow::Result<Config> {
        let file = std::env::temp_dir().join(format!("mainstay-config-{}.toml", mainstay_core::new_id()));
        std::fs::write(&file, text).unwrap();
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let loaded = load(&Flags { config: Some(file.clone()), ..flags }, environment);
        std::fs::remove_file(&file).unwrap();
        loaded.map(|loaded| loaded.config)
    }

    #[test]
    fn a_flag_wins_over_the_environment_and_that_over_the_file() {
        let text = "[engine]\ndeadline_seconds = 1\ndrain_seconds = 2\n[server]\nlisten = \"127.0.0.1:1\"";
        let flags = Flags { listen: Some("127.0.0.1:3".parse().unwrap()), ..Flags::default() };
        let config = load_text(text, &[("MAINSTAY__ENGINE__DRAIN_SECONDS", "9")], flags).unwrap();
        assert_eq!((config.engine.deadline_seconds, config.engine.drain_seconds), (1, 9));
        assert_eq!(config.server.listen.port(), 3);
    }

    #[test]
    fn the_variables_of_contract_002_are_heard() {
        let text = "[context]\ntool_timeout_secs = 5\ncache_root = \"a\"";
        let timeout = |value| [("MAINSTAY__CONTEXT__TOOL_TIMEOUT_SECS", "6"), (TOOL_TIMEOUT, value)];
        let flags = Flags { cache_root: Some("b".into()), ..Flags::default() };
        let config = load_text(text, &timeout("7"), flags).unwrap();
        assert_eq!((config.context.tool_timeout_secs, config.context.cache_root), (7, Some("b".into())));
        let config = load_text(text, &timeout("7")[..1], Flags::default()).unwrap();
        assert_eq!((config.context.tool_timeout_secs, config.context.cache_root), (6, Some("a".into())));
        for wrong in ["0", "-1", "1.5", "soon", ""] {
            let error = load_text("", &timeout(wrong), Flags::default()).unwrap_err().to_string();
            assert!(error.contains(TOOL_TIMEOUT) && error.contains(&format!("{wrong:?}")), "{error}");
        }
        let error = load_text("[context]\ntool_timeout_secs = 0", &[], Flags::default()).unwrap_err();
        assert!(error.to_string().contains("tool_timeout_secs is 0"), "{error}");
    }

    #[test]
    fn a_setting_that_does_not_exist_is_named() {
        let error = load_text("[engine]\ndeadlin_seconds = 1", &[], Flags::default()).unwrap_err();
        assert!(error.to_string().contains("deadlin_seconds"), "{error}");
    }

    #[test]
    fn a_password_is_never_shown() {
        for (store, shown) in [
            ("postgres://me:secret@host/db", "postgres://***@host/db"),
            (
                "postgres://host/db?user=me&password=secret&sslmode=on",
                "postgres://host/db?user=me&password=***&sslmode=on",
            ),
            ("postgres://me:secret@host/db?sslPassword=secret", "postgres://***@host/db?sslPassword=***"),
            ("postgres://host/db?p%61ssword=secret", "postgres://host/db?p%61ssword=***"),
            ("postgres://host/db?password=sec@ret", "postgres://***@ret"),
            ("sqlite:/a/b.db?mode=rwc", "sqlite:/a/b.db?mode=rwc"),
        ] {
            let config = Config { store: Some(store.into()), ..Config::default() };
            assert_eq!(config.redacted().store.unwrap(), shown);
        }
    }
}
