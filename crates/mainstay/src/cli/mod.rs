//! The command line. The doc comments here are the text of `--help` and of the shell completions.

pub(crate) mod analyze;
pub(crate) mod search;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use mainstay_wire::{DIALECTS, DialectEntry};

/// An MCP server and gateway: tools for AI agents, with permissions, limits and an audit log.
///
/// Add it to an MCP client as the command `mainstay stdio --workspace DIR`, or run `mainstay serve` and give the client
/// the URL http://127.0.0.1:8099/mcp. `mainstay doctor` checks the setup.
///
/// Settings come from the configuration file, then from environment variables, then from options; the last one wins.
#[derive(Debug, Parser)]
#[command(name = "mainstay", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

/// The options of every command. Each has an environment variable, and overrides the same setting in the file.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Flags {
    /// Configuration file [default: mainstay/config.toml in your configuration directory, if it exists]
    #[arg(long, global = true, env = "MAINSTAY_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Directory that the tools work on [default: the current directory]
    #[arg(long, global = true, env = "MAINSTAY_WORKSPACE", value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Directory of the server's own files [default: mainstay in your data directory]
    #[arg(long, global = true, env = "MAINSTAY_DATA_DIR", value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Database: sqlite:PATH or postgres://… [default: mainstay.db in the data directory]
    #[arg(long, global = true, env = "MAINSTAY_STORE", value_name = "URL", hide_env_values = true)]
    pub(crate) store: Option<String>,
    /// Address and port of the HTTP server [default: 127.0.0.1:8099]
    #[arg(long, global = true, env = "MAINSTAY_LISTEN", value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
    /// Tool families to offer, separated by commas [default: all]
    #[arg(long, global = true, env = "MAINSTAY_TOOLS", value_name = "FAMILY,…", value_delimiter = ',')]
    pub(crate) tools: Option<Vec<String>>,
    /// Directory that contains the context caches [default: caches in the data directory]
    #[arg(long, global = true, env = "CONTEXT_CACHE_ROOT", value_name = "DIR")]
    pub(crate) cache_root: Option<PathBuf>,
    /// Directory with another embedding model for search [default: the built-in model]
    #[arg(long, global = true, env = "MAINSTAY_MODEL_DIR", value_name = "DIR")]
    pub(crate) model_dir: Option<PathBuf>,
    /// Log level on standard error: error, warn, info, debug, trace, or a filter such as info,mainstay_engine=debug
    #[arg(long, global = true, env = "MAINSTAY_LOG", value_name = "LEVEL")]
    pub(crate) log: Option<String>,
    /// Log format
    #[arg(long, global = true, env = "MAINSTAY_LOG_FORMAT", value_name = "FORMAT")]
    pub(crate) log_format: Option<crate::log::Format>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the HTTP server: /mcp, /rpc, /jsonrpc, /api/mcp, /ws, /oauth, consent pages, /docs, /health and /metrics
    Serve,
    /// Serve one client over standard input and output
    Stdio {
        /// Protocol to speak
        #[arg(long, default_value = STANDARD, value_parser = dialect_names(&[]))]
        dialect: String,
    },
    /// List the tools, of this program or of another server
    Tools {
        #[command(flatten)]
        server: RemoteArgs,
        /// Print all fields, schemas included, as JSON
        #[arg(long)]
        json: bool,
    },
    /// Call one tool and print its reply
    ///
    /// Arguments are key=value pairs, or one JSON object, or - to read the object from standard input.
    /// Values are parsed according to the tool's schema: as text where it wants a string, as JSON elsewhere.
    #[command(
        after_help = "Examples:\n  mainstay call server_echo text=hello\n  mainstay call server_echo '{\"text\": \"hello\"}'\n  mainstay call --url http://127.0.0.1:8099/rpc files/read path=README.md"
    )]
    Call(CallArgs),
    /// Build, query and check context caches: collections of documents that are packed into a budget of tokens
    #[command(subcommand, after_help = EXIT_CODES)]
    Context(Context),
    /// Generate the files of a new project from templates: Makefile, README, .gitignore and your own
    ///
    /// Without --into the files are printed. With it they are written, all or none; a file that exists is not replaced
    /// without --force.
    #[command(
        after_help = "Examples:\n  mainstay scaffold --list\n  mainstay scaffold rust --name demo -p description='A demo' --into .\n  mainstay scaffold deno makefile --name demo -p permissions=--allow-net,--allow-read"
    )]
    Scaffold(ScaffoldArgs),
    /// Find code and text by meaning or by name, and print the best matches
    ///
    /// The first search of a directory builds its index; later ones index what has changed. A git repository is indexed
    /// as a whole, and searched from the current directory down.
    #[command(after_help = search::EXAMPLES)]
    Search(search::SearchArgs),
    /// Build the search index of a directory, or show what is indexed
    Index(search::IndexArgs),
    /// Measure source code and its history: complexity of functions, churn of files, and hotspots, where both meet
    #[command(subcommand, after_help = analyze::HELP)]
    Analyze(analyze::Analyze),
    /// Check the setup of this machine, and say how to fix what does not work
    Doctor,
    /// Verify and print the audit log
    #[command(subcommand)]
    Audit(Audit),
    /// Manage the OAuth clients that get access tokens from this server
    #[command(subcommand)]
    Client(Client),
    /// List the calls that wait for a person's consent, approve or deny them
    #[command(subcommand)]
    Consent(Consent),
    /// Print the configuration in use, or its JSON Schema
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print a completion script for a shell
    Completions { shell: clap_complete::Shell },
}

/// The standard protocol, served over the SDK; every other one is in the list of dialects.
pub(crate) const STANDARD: &str = "mcp";

/// The values of `--dialect`: the standard, the built-in dialects and `more`.
pub(crate) fn dialect_names(more: &[DialectEntry]) -> PossibleValuesParser {
    let standard = PossibleValue::new(STANDARD).help("The Model Context Protocol");
    let dialects = DIALECTS.iter().chain(more).map(|dialect| PossibleValue::new(dialect.name).help(dialect.about));
    PossibleValuesParser::new(std::iter::once(standard).chain(dialects))
}

/// The server to ask, if it is not this program itself.
#[derive(Debug, Args)]
pub(crate) struct RemoteArgs {
    /// URL of another server, which speaks the Model Context Protocol or mira. MAINSTAY_TOKEN may contain an access token
    /// for it
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Time limit of each request to that server; a whole list may take ten times as long
    #[arg(long, value_name = "SECONDS", default_value_t = 10, requires = "url", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: u64,
}

// No doc comment: clap would show it in place of the command's description.
#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    #[command(flatten)]
    pub(crate) server: RemoteArgs,
    /// Name of the tool, as `mainstay tools` prints it
    pub(crate) tool: String,
    /// key=value …, or a JSON object, or -
    #[arg(value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<String>,
    /// Run the call once: a second call with the same key returns the first one's reply
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    /// Print the whole reply as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

// No doc comment: clap would show it in place of the command's description.
#[derive(Debug, Args)]
pub(crate) struct ScaffoldArgs {
    /// rust, deno, python-uv, or a toolchain of your own templates
    #[arg(required_unless_present = "list")]
    pub(crate) toolchain: Option<String>,
    /// Templates to generate: makefile, readme, gitignore, or your own [default: all of the toolchain]
    #[arg(value_name = "TEMPLATE")]
    pub(crate) templates: Vec<String>,
    /// Name of the project and of its directory
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Parameter of the templates; the words of a list are separated by commas
    #[arg(short, long = "param", value_name = "KEY=VALUE")]
    pub(crate) params: Vec<String>,
    /// Existing directory that the project's directory is written into
    #[arg(long, value_name = "DIR")]
    pub(crate) into: Option<PathBuf>,
    /// Write nothing; print what would be written as a diff
    #[arg(long, requires = "into")]
    pub(crate) dry_run: bool,
    /// Replace files that exist
    #[arg(long, requires = "into")]
    pub(crate) force: bool,
    /// List the templates with their parameters
    #[arg(long, conflicts_with_all = ["name", "params", "into", "templates"])]
    pub(crate) list: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Verify the whole hash chain and print the first row that was changed, moved or removed
    Verify {
        /// A head printed earlier (NUMBER:HASH): the rows up to it must be the same as then
        #[arg(long, value_name = "NUMBER:HASH")]
        head: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the newest rows, one JSON object per line
    Show {
        /// The most rows to print
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// Only rows of this session
        #[arg(long)]
        session: Option<String>,
    },
}

pub(crate) const EXIT_CODES: &str = "Exit codes: 0 success, 1 usage error, 2 invalid query, 3 invalid budget, 4 no such cache, 5 invalid cache, 6 I/O error, 7 internal error.";

#[derive(Debug, Subcommand)]
pub(crate) enum Context {
    /// Build a cache from all .md files below a directory
    ///
    /// The same files always produce the same cache; with SOURCE_DATE_EPOCH set, this includes the time in its manifest.
    /// Replacing a cache is atomic: readers see the whole old one or the whole new one.
    Build {
        /// Directory with the documents
        #[arg(long, value_name = "DIR")]
        sources: PathBuf,
        /// Directory to create
        #[arg(long, value_name = "DIR")]
        cache: PathBuf,
        /// Replace an existing cache
        #[arg(long)]
        force: bool,
    },
    /// Print the documents that match a query best and fit into a budget together
    Resolve {
        /// Directory of the cache
        #[arg(long, value_name = "DIR")]
        cache: PathBuf,
        /// Words to search for, separated by white space; may be empty
        #[arg(long, allow_hyphen_values = true)]
        query: OsString,
        /// The most tokens, at four bytes each
        #[arg(long, value_name = "TOKENS", allow_hyphen_values = true)]
        budget: OsString,
        /// Output format
        #[arg(long, value_enum, default_value_t = JsonFormat::Json)]
        format: JsonFormat,
    },
    /// Print a cache's document count, size and version, after verifying every document's hash
    Inspect {
        /// Directory of the cache
        #[arg(long, value_name = "DIR")]
        cache: PathBuf,
    },
    /// Verify a cache against its manifest and print every problem
    Verify {
        /// Directory of the cache
        #[arg(long, value_name = "DIR")]
        cache: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum JsonFormat {
    /// On one line
    Json,
    /// Indented
    Pretty,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Client {
    /// Create a client and print its id and secret; the secret is not stored and cannot be printed again
    Add {
        /// Display name
        name: String,
        /// Scopes it may request: read, write, execute, delete, consent, admin; several are separated by spaces
        #[arg(long, value_name = "SCOPES", required = true)]
        scope: Vec<String>,
        /// Client id [default: random]
        #[arg(long)]
        id: Option<String>,
        /// Read the secret from standard input instead of generating one of 256 random bits
        #[arg(long)]
        secret_stdin: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the clients
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Disable a client: its tokens stop working within seconds
    Disable {
        /// Client id
        id: String,
    },
    /// Sign new tokens with a new key; tokens of the old key stay valid until they expire
    RotateKey {
        /// Invalidate the old keys, and all tokens signed with them, at once: for when a key may have leaked
        #[arg(long)]
        now: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Consent {
    /// List the pending requests, oldest first
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Approve a call, which may then run once
    Approve(Decision),
    /// Deny a call
    Deny(Decision),
}

#[derive(Debug, Args)]
pub(crate) struct Decision {
    /// Id of the request, as `mainstay consent list` prints it
    pub(crate) id: String,
    /// The reason, which is recorded in the audit log
    #[arg(long)]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the JSON Schema of the configuration file
    Schema,
    /// Print the configuration in use, and which file it was read from
    Show,
}
