//! The configuration: the file, then environment variables, then options. Each section is declared by the crate that uses
//! it; this module only puts them together.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use mainstay_engine::EngineSettings;
use mainstay_sandbox::FilesSettings;
use mainstay_sandbox::exec::ExecSettings;
use mainstay_server::ServerSettings;
use mainstay_tools::search::SearchSettings;
use mainstay_tools::{AgentsSettings, CodeSettings, ContextSettings, SolanaSettings, TemplatesSettings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::cli::Flags;
use crate::log::LogSettings;

/// All settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Directory that the tools work on. Default: the current directory.
    pub workspace: Option<PathBuf>,
    /// Directory of the server's own files.
    pub data_dir: Option<PathBuf>,
    /// `sqlite:PATH` or `postgres://…`. Default: a SQLite file in the data directory.
    pub store: Option<String>,
    /// Tool families to offer. Default: all.
    pub tools: Vec<String>,
    /// Names of tools that are disabled.
    pub disabled_tools: Vec<String>,
    pub log: LogSettings,
    pub server: ServerSettings,
    pub engine: EngineSettings,
    pub files: FilesSettings,
    pub exec: ExecSettings,
    pub agents: AgentsSettings,
    pub context: ContextSettings,
    pub code: CodeSettings,
    pub templates: TemplatesSettings,
    pub search: SearchSettings,
    pub solana: SolanaSettings,
    /// The file it was read from, if there was one.
    #[serde(skip)]
    pub file: Option<PathBuf>,
}

/// The prefix of a variable for any setting: `MAINSTAY__ENGINE__DEADLINE_SECONDS=10` sets `engine.deadline_seconds`.
const PREFIX: &str = "MAINSTAY__";

/// Where the XDG variables point to if they are not set, below the home directory.
const CONFIG_HOME: &str = ".config";
const DATA_HOME: &str = ".local/share";

/// Contract 002's variable for `context.tool_timeout_secs`.
const TOOL_TIMEOUT: &str = "CONTEXT_TOOL_TIMEOUT_SECS";

/// The variables by which other tools of the Solana chain are told a node and a commitment.
const SOLANA_NODE: &str = "SOLANA_RPC_URL";
const SOLANA_COMMITMENT: &str = "SOLANA_COMMITMENT";

/// Reads the configuration. A setting that does not exist is an error, so that a typing mistake does not go unnoticed.
pub(crate) fn load(flags: &Flags, environment: impl Iterator<Item = (String, String)>) -> anyhow::Result<Config> {
    let file = match &flags.config {
        Some(file) => Some(file.clone()),
        None => default_file().filter(|file| file.exists()),
    };
    let mut table = match &file {
        Some(file) => read(file)?,
        None => Table::new(),
    };
    // Applied last, because contract 002 gives it precedence over the file and other variables.
    let mut tool_timeout = None;
    let mut solana_node = None;
    for (name, value) in environment {
        if name == TOOL_TIMEOUT {
            tool_timeout = Some(seconds(&value)?);
        } else if name == SOLANA_NODE {
            solana_node = Some(value);
        } else if name == SOLANA_COMMITMENT {
            set(&mut table, &["solana".to_owned(), "commitment".to_owned()], Value::String(value))?;
        } else if let Some(path) = name.strip_prefix(PREFIX) {
            let keys: Vec<String> = path.split("__").map(str::to_ascii_lowercase).collect();
            set(&mut table, &keys, parse_value(&value)).with_context(|| format!("{name} is not a valid setting"))?;
        }
    }
    let mut config: Config = Value::Table(table).try_into().map_err(|error: toml::de::Error| {
        let source = file.as_deref().map_or("the environment".to_owned(), |file| file.display().to_string());
        anyhow::anyhow!("the configuration ({source}) is not valid: {}", error.message())
    })?;
    apply_flags(&mut config, flags);
    config.context.tool_timeout_secs = tool_timeout.unwrap_or(config.context.tool_timeout_secs);
    if config.context.tool_timeout_secs == 0 {
        bail!("context.tool_timeout_secs is 0, so every call would time out; set it to 1 or more");
    }
    if let Some(url) = solana_node.filter(|url| !url.is_empty()) {
        config.solana.use_node(&url);
    }
    config.file = file;
    Ok(config)
}

/// Reads the file as a table, so that variables can be merged into it before it is checked.
fn read(file: &Path) -> anyhow::Result<Table> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read the configuration file {}", file.display()))?;
    text.parse().with_context(|| format!("the configuration file {} is not valid TOML", file.display()))
}

/// Parses `10`, `true` and `[1, 2]` as in the file; anything else is a string.
fn parse_value(text: &str) -> Value {
    match format!("v = {text}").parse::<Table>() {
        Ok(mut table) => table.remove("v").unwrap_or_else(|| Value::String(text.to_owned())),
        Err(_) => Value::String(text.to_owned()),
    }
}

/// Parses contract 002's variable; its error has to name the variable and the value.
fn seconds(text: &str) -> anyhow::Result<u64> {
    let seconds = text.parse().ok().filter(|seconds| *seconds > 0);
    seconds.with_context(|| format!("{TOOL_TIMEOUT} is {text:?}; it must be a whole number of seconds, 1 or more"))
}

/// Sets a value in nested tables, which are created as needed.
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

/// Options, and the variables that clap reads for them, override everything else.
fn apply_flags(config: &mut Config, flags: &Flags) {
    let Flags { config: _, workspace, data_dir, store, listen, tools, cache_root, model_dir, log, log_format } =
        flags.clone();
    config.workspace = workspace.or(config.workspace.take());
    config.data_dir = data_dir.or(config.data_dir.take());
    config.store = store.or(config.store.take());
    config.server.listen = listen.unwrap_or(config.server.listen);
    config.tools = tools.unwrap_or(std::mem::take(&mut config.tools));
    config.context.cache_root = cache_root.or(config.context.cache_root.take());
    config.search.model_dir = model_dir.or(config.search.model_dir.take());
    config.log.level = log.unwrap_or(std::mem::take(&mut config.log.level));
    config.log.format = log_format.unwrap_or(config.log.format);
}

impl Config {
    /// The absolute path of the workspace, which has to exist.
    pub fn workspace(&self) -> anyhow::Result<PathBuf> {
        let directory = match &self.workspace {
            Some(directory) => directory.clone(),
            None => std::env::current_dir().context("cannot read the current directory; set --workspace")?,
        };
        std::fs::canonicalize(&directory)
            .with_context(|| format!("cannot open the workspace {}; set --workspace", directory.display()))
    }

    /// The directory of the server's own files. It may not exist yet.
    pub fn data_dir(&self) -> anyhow::Result<PathBuf> {
        let found = self.data_dir.clone().or_else(|| home_file("XDG_DATA_HOME", DATA_HOME, "mainstay"));
        found.context("there is no home directory for the server's data; set HOME, --data-dir or MAINSTAY_DATA_DIR")
    }

    /// The file that the configuration is read from, now or at the next start: the default one may not exist yet.
    pub(crate) fn source_file(&self) -> Option<PathBuf> {
        self.file.clone().or_else(default_file)
    }

    /// What is served, if it needs no workspace.
    pub(crate) fn served_without_workspace(&self) -> Option<&'static str> {
        match self.tools.as_slice() {
            [family] if family == "context" => Some("context caches"),
            [family] if family == "solana" => Some("the Solana chain"),
            _ => None,
        }
    }

    /// The directory that contains the context caches.
    pub fn cache_root(&self) -> anyhow::Result<PathBuf> {
        match &self.context.cache_root {
            Some(directory) => Ok(directory.clone()),
            None => Ok(self.data_dir()?.join("caches")),
        }
    }

    /// The directory that old audit rows are moved to; `None` if there is neither a setting nor a data directory.
    pub(crate) fn audit_archive(&self) -> Option<PathBuf> {
        let configured = self.engine.retention.audit_archive.clone();
        configured.or_else(|| self.data_dir().ok().map(|data| data.join("audit-archive")))
    }

    /// The URL of the store, with its password if it has one. For messages use `Config::redacted`.
    pub fn store_url(&self) -> anyhow::Result<String> {
        match &self.store {
            Some(url) => Ok(url.clone()),
            None => Ok(format!("sqlite:{}", self.data_dir()?.join("mainstay.db").display())),
        }
    }

    /// A copy for printing, without the passwords in the store's URL.
    pub(crate) fn redacted(&self) -> Self {
        let store = self.store.as_ref().map(|url| match (url.find("://"), url.rfind('@')) {
            (Some(scheme), Some(at)) if at > scheme => format!("{}***{}", &url[..scheme + 3], &url[at..]),
            _ => url.clone(),
        });
        let mut solana = self.solana.clone();
        solana.redact();
        Self { store: store.map(|url| mask_query(&url)), solana, ..self.clone() }
    }
}

/// Masks passwords in the query of a URL, where PostgreSQL accepts them as well.
fn mask_query(url: &str) -> String {
    let Some((base, query)) = url.split_once('?') else { return url.to_owned() };
    let masked = query.split('&').map(|pair| match pair.split_once('=') {
        // A percent-encoded key may spell "password" as well.
        Some((key, _)) if key.to_ascii_lowercase().ends_with("password") || key.contains('%') => format!("{key}=***"),
        Some(_) | None => pair.to_owned(),
    });
    format!("{base}?{}", masked.collect::<Vec<_>>().join("&"))
}

/// The configuration file that is read if no option names another.
fn default_file() -> Option<PathBuf> {
    home_file("XDG_CONFIG_HOME", CONFIG_HOME, "mainstay/config.toml")
}

/// The directories that contain the configuration and the data of a server without options, by the XDG variables and
/// without them: the next server may be started from another environment.
pub(crate) fn default_dirs() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for (variable, below_home) in [("XDG_CONFIG_HOME", CONFIG_HOME), ("XDG_DATA_HOME", DATA_HOME)] {
        let below_home = variable_path("HOME").map(|home| home.join(below_home));
        for base in [variable_path(variable), below_home].into_iter().flatten() {
            found.push(base.join("mainstay"));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// A file in the directory that an XDG variable names, or in its default below the home directory.
fn home_file(variable: &str, below_home: &str, name: &str) -> Option<PathBuf> {
    let base = variable_path(variable).or_else(|| Some(variable_path("HOME")?.join(below_home)));
    base.map(|base| base.join(name))
}

fn variable_path(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_text(text: &str, environment: &[(&str, &str)], flags: Flags) -> anyhow::Result<Config> {
        let file = std::env::temp_dir().join(format!("mainstay-config-{}.toml", mainstay_core::new_id()));
        std::fs::write(&file, text).unwrap();
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let config = load(&Flags { config: Some(file.clone()), ..flags }, environment);
        std::fs::remove_file(&file).unwrap();
        config
    }

    #[test]
    fn an_option_overrides_the_environment_which_overrides_the_file() {
        let text = "[engine]\ndeadline_seconds = 1\ndrain_seconds = 2\n[server]\nlisten = \"127.0.0.1:1\"";
        let flags = Flags { listen: Some("127.0.0.1:3".parse().unwrap()), ..Flags::default() };
        let config = load_text(text, &[("MAINSTAY__ENGINE__DRAIN_SECONDS", "9")], flags).unwrap();
        assert_eq!((config.engine.deadline_seconds, config.engine.drain_seconds), (1, 9));
        assert_eq!(config.server.listen.port(), 3);
    }

    #[test]
    fn the_variables_of_contract_002_are_read() {
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
    fn an_unknown_setting_is_an_error_that_names_it() {
        let error = load_text("[engine]\ndeadlin_seconds = 1", &[], Flags::default()).unwrap_err();
        assert!(error.to_string().contains("deadlin_seconds"), "{error}");
    }

    #[test]
    fn a_password_is_never_printed() {
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
