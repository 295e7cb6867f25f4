//! The command line. What is said here is what `--help` and the shell completions say.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// A workspace for AI agents that people can trust: an MCP server and gateway.
///
/// Add it to a client as `mainstay stdio --workspace DIR`, or run `mainstay serve` and give the client the URL
/// http://127.0.0.1:8099/mcp. Every setting can be given in a file, in the environment, or as a flag; a later one wins.
#[derive(Debug, Parser)]
#[command(name = "mainstay", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

/// Settings that every command understands.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Flags {
    /// The configuration file [default: mainstay/config.toml in your configuration directory, if it is there]
    #[arg(long, global = true, env = "MAINSTAY_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The directory the tools work on [default: the current directory]
    #[arg(long, global = true, env = "MAINSTAY_WORKSPACE", value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Where the server keeps its own files [default: mainstay in your data directory]
    #[arg(long, global = true, env = "MAINSTAY_DATA_DIR", value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// The store: sqlite:PATH or postgres://… [default: mainstay.db in the data directory]
    #[arg(long, global = true, env = "MAINSTAY_STORE", value_name = "URL", hide_env_values = true)]
    pub(crate) store: Option<String>,
    /// Address and port of the HTTP server [default: 127.0.0.1:8099]
    #[arg(long, global = true, env = "MAINSTAY_LISTEN", value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
    /// Only these tool families, separated by commas [default: all]
    #[arg(long, global = true, env = "MAINSTAY_TOOLS", value_name = "FAMILY,…", value_delimiter = ',')]
    pub(crate) tools: Option<Vec<String>>,
    /// The directory that holds context caches [default: caches in the data directory]
    #[arg(long, global = true, env = "CONTEXT_CACHE_ROOT", value_name = "DIR")]
    pub(crate) cache_root: Option<PathBuf>,
    /// What is logged to standard error: error, warn, info, debug, trace, or a filter such as info,mainstay_engine=debug
    #[arg(long, global = true, env = "MAINSTAY_LOG", value_name = "LEVEL")]
    pub(crate) log: Option<String>,
    /// The form of the log
    #[arg(long, global = true, env = "MAINSTAY_LOG_FORMAT", value_name = "FORMAT")]
    pub(crate) log_format: Option<crate::log::Format>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve over HTTP: /mcp, /rpc, /jsonrpc, /api/mcp, /ws, /oauth, consent pages, /docs, /health and /metrics
    Serve,
    /// Serve the program that started this one over standard input and output
    Stdio {
        /// What is spoken on the pipe
        #[arg(long, value_enum, default_value_t = Dialect::Mcp)]
        dialect: Dialect,
    },
    /// List the tools
    Tools {
        #[command(flatten)]
        server: Elsewhere,
        /// With every schema, as JSON
        #[arg(long)]
        json: bool,
    },
    /// Call one tool and print its reply
    ///
    /// Arguments are key=value pairs, or one JSON object, or - to read the object from standard input.
    /// A value is read as the tool's schema says: text where it wants text, JSON elsewhere.
    #[command(
        after_help = "Examples:\n  mainstay call server_echo text=hello\n  mainstay call server_echo '{\"text\": \"hello\"}'\n  mainstay call --url http://127.0.0.1:8099/rpc files/read path=README.md"
    )]
    Call {
        #[command(flatten)]
        server: Elsewhere,
        /// The tool's name, as `mainstay tools` shows it
        tool: String,
        /// key=value …, or a JSON object, or -
        #[arg(value_name = "ARGUMENT")]
        arguments: Vec<String>,
        /// Do it once: a second call with the same key returns the first one's reply
        #[arg(long, value_name = "KEY")]
        idempotency_key: Option<String>,
        /// Print the whole reply as JSON
        #[arg(long)]
        json: bool,
    },
    /// Build caches of documents, and pack what fits a query into a budget of tokens
    #[command(subcommand, after_help = EXIT_CODES)]
    Context(Context),
    /// Say what works on this machine, and what to do about what does not
    Doctor,
    /// Look at the audit
    #[command(subcommand)]
    Audit(Audit),
    /// Look after the clients that get access tokens from this server
    #[command(subcommand)]
    Client(Client),
    /// See which calls wait for a person's consent, and decide
    #[command(subcommand)]
    Consent(Consent),
    /// Look at the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print a completion script for a shell
    Completions { shell: Shell },
}

/// What `mainstay stdio` speaks.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Dialect {
    /// The Model Context Protocol
    Mcp,
    /// A tool's name is the method, its value the whole result
    Mira,
    /// Documents from context caches within a budget, and no other tools; needs --cache-root
    Context,
}

/// A server to ask instead of this program itself.
#[derive(Debug, Args)]
pub(crate) struct Elsewhere {
    /// Ask the server at this URL: any that speaks the Model Context Protocol, or mira. An access token for it is taken
    /// from MAINSTAY_TOKEN
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// How long each request to that server may take; the whole of a list may take ten times as long
    #[arg(long, value_name = "SECONDS", default_value_t = 10, requires = "url", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: u64,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Walk the whole chain and name the first row that was changed, moved or removed
    Verify {
        /// The head you noted earlier (NUMBER:HASH): rows up to it must still be the same
        #[arg(long, value_name = "NUMBER:HASH")]
        head: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the newest rows, one JSON object a line
    Show {
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// Only this session
        #[arg(long)]
        session: Option<String>,
    },
}

pub(crate) const EXIT_CODES: &str = "Exit codes: 0 done, 1 wrong usage, 2 the query is invalid, 3 the budget is, 4 there is no such cache, 5 the cache is invalid, 6 something cannot be read or written, 7 a fault of the program.";

/// What can be done with a context cache.
#[derive(Debug, Subcommand)]
pub(crate) enum Context {
    /// Make a cache of every .md file beneath a directory
    ///
    /// The same files always give the same cache; with SOURCE_DATE_EPOCH set, down to the time in its manifest. Whoever
    /// reads a cache that is replaced finds the whole old one or the whole new one.
    Build {
        /// The directory that holds the documents
        #[arg(long, value_name = "DIR")]
        sources: PathBuf,
        /// The directory to make
        #[arg(long, value_name = "DIR")]
        cache: PathBuf,
        /// Replace a cache that is there already
        #[arg(long)]
        force: bool,
    },
    /// Print the documents of a cache that fit a query best and together are within a budget
    Resolve {
        /// The directory of the cache
        #[arg(long, value_name = "DIR")]
        cache: PathBuf,
        /// Words to look for, separated by white space; may be empty
        #[arg(long, allow_hyphen_values = true)]
        query: OsString,
        /// The most tokens, at four bytes each
        #[arg(long, value_name = "TOKENS", allow_hyphen_values = true)]
        budget: OsString,
        #[arg(long, value_enum, default_value_t = Output::Json)]
        format: Output,
    },
    /// Print what a cache is, after holding every document against its hash
    Inspect {
        /// The directory of the cache
        #[arg(long, value_name = "DIR")]
        cache: PathBuf,
    },
    /// Hold a cache against everything it says of itself, and name what is wrong
    Verify {
        /// The directory of the cache
        #[arg(long, value_name = "DIR")]
        cache: PathBuf,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Output {
    /// On one line
    Json,
    /// On many lines
    Pretty,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Client {
    /// Make a client, and print its id and its secret; the secret is never shown again
    Add {
        /// What people call it
        name: String,
        /// What it may do: read, write, execute, delete, consent, admin; several of them separated by spaces
        #[arg(long, value_name = "SCOPES", required = true)]
        scope: Vec<String>,
        /// The id it is known by [default: a random one]
        #[arg(long)]
        id: Option<String>,
        /// Read the secret from standard input instead of making one of 256 random bits
        #[arg(long)]
        secret_stdin: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// List the clients
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Disable a client: its tokens stop working within seconds
    Disable { id: String },
    /// Sign with a new key from now on; the old one is good until its last token has expired
    RotateKey {
        /// End the old keys at once, and every token that they signed: for when somebody else may have them
        #[arg(long)]
        now: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Consent {
    /// Show the requests that wait, oldest first
    List {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Let the call run once
    Approve(Verdict),
    /// Refuse the call
    Deny(Verdict),
}

#[derive(Debug, Args)]
pub(crate) struct Verdict {
    /// The request, as `mainstay consent list` shows it
    pub(crate) id: String,
    /// Why; kept in the audit
    #[arg(long)]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the JSON Schema of the configuration file
    Schema,
    /// Print the configuration in force, and where it came from
    Show,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}
