//! The names under which the program can be started. As `mcp-context-server` and `context` it has the command lines of
//! contract 002; each is translated to the equivalent command of `mainstay`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::{Arg, CommandFactory as _, FromArgMatches as _, Parser};
use mainstay_wire::DialectEntry;

use crate::cli::{Cli, Command, Context, EXIT_CODES, Flags, dialect_names};
use crate::commands::context::USAGE_ERROR;

const MAINSTAY: &str = "mainstay";

/// The other names, whose command lines and exit codes contract 002 defines.
const CONTEXT_SERVER: &str = "mcp-context-server";
const CONTEXT: &str = "context";

/// Serves documents from context caches, packed into a budget of tokens, over standard input and output
///
/// Add it to a client as the command `mcp-context-server`, with CONTEXT_CACHE_ROOT set to the directory that contains the
/// caches; `context build` builds one from a directory of Markdown files. The protocol is JSON-RPC 2.0, one message per
/// line; the log goes to standard error. Calls time out after 30 seconds, or after CONTEXT_TOOL_TIMEOUT_SECS. The same
/// server is available as `mainstay stdio --dialect context`.
#[derive(Debug, Parser)]
#[command(name = "mcp-context-server", version, max_term_width = 100)]
struct ContextServer {
    #[command(flatten)]
    flags: Flags,
}

/// Builds, queries and checks context caches: collections of documents that are packed into a budget of tokens
#[derive(Debug, Parser)]
#[command(name = "context", version, max_term_width = 100, after_help = EXIT_CODES)]
struct ContextCommands {
    #[command(subcommand)]
    command: Context,
}

/// Options without a meaning for the context server.
const UNUSED: [&str; 3] = ["workspace", "listen", "tools"];

/// The name in the first word of the command line, which may have a directory before it.
pub(crate) fn of(program: Option<&OsStr>) -> &'static str {
    let program = program.and_then(|program| Path::new(program).file_name());
    [CONTEXT_SERVER, CONTEXT].into_iter().find(|other| program == Some(OsStr::new(other))).unwrap_or(MAINSTAY)
}

/// Parses the whole command line, its first word included; `dialects` are those besides the built-in ones. An error
/// comes with the exit code, which is 0 for `--help` and `--version`.
pub(crate) fn parse(name: &str, args: &[OsString], dialects: &[DialectEntry]) -> Result<Cli, (clap::Error, u8)> {
    let parsed = match name {
        CONTEXT_SERVER => context_server(args),
        CONTEXT => context(CONTEXT, args),
        _ => mainstay(args, dialects),
    };
    parsed.map_err(|error| {
        let usage_error = if name == MAINSTAY && !is_context_command(args) { 2 } else { USAGE_ERROR };
        let code = if error.use_stderr() { usage_error } else { 0 };
        (error, code)
    })
}

/// The subcommand `context` uses no server, so it ignores the options and variables of one.
fn mainstay(args: &[OsString], dialects: &[DialectEntry]) -> Result<Cli, clap::Error> {
    if starts_with_context(args) {
        return context("mainstay context", &args[1..]);
    }
    let mut command = Cli::command().mut_arg("cache_root", ignore_empty_variable);
    if !dialects.is_empty() {
        let with_names = |arg: Arg| arg.value_parser(dialect_names(dialects));
        command = command.mut_subcommand("stdio", |stdio| stdio.mut_arg("dialect", with_names));
    }
    Cli::from_arg_matches(&command.try_get_matches_from(args)?)
}

/// `shown` is the program's name in its help.
fn context(shown: &'static str, args: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = ContextCommands::command().bin_name(shown).display_name(shown).try_get_matches_from(args)?;
    let command = Command::Context(ContextCommands::from_arg_matches(&matches)?.command);
    Ok(Cli { command, flags: Flags::default() })
}

fn context_server(args: &[OsString]) -> Result<Cli, clap::Error> {
    let command = ContextServer::command().mut_args(|arg| match arg.get_id().as_str() {
        "cache_root" => ignore_empty_variable(arg).help("Directory that contains the caches (required)"),
        // An invalid variable that is meant for another server must not keep this one from starting.
        unused if UNUSED.contains(&unused) => arg.hide(true).env(None::<&str>),
        _ => arg,
    });
    let flags = ContextServer::from_arg_matches(&command.try_get_matches_from(args)?)?.flags;
    Ok(Cli { command: Command::Stdio { dialect: mainstay_wire::context::NAME.to_owned() }, flags })
}

/// Treats an empty variable as not set; otherwise the error would be about an option that nobody typed.
fn ignore_empty_variable(arg: Arg) -> Arg {
    let empty = arg.get_env().and_then(std::env::var_os).is_some_and(|value| value.is_empty());
    if empty { arg.env(None::<&str>) } else { arg }
}

fn starts_with_context(args: &[OsString]) -> bool {
    args.get(1).is_some_and(|first| first == "context")
}

/// Whether the command is `mainstay context`, even if the rest of the line is wrong.
fn is_context_command(args: &[OsString]) -> bool {
    let parsed = || Cli::command().ignore_errors(true).try_get_matches_from(args);
    starts_with_context(args) || parsed().is_ok_and(|matches| matches.subcommand_name() == Some("context"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &[&str]) -> Result<Cli, u8> {
        let name = of(line.first().map(OsStr::new));
        let line: Vec<OsString> = line.iter().map(OsString::from).collect();
        super::parse(name, &line, &[]).map_err(|(_, code)| code)
    }

    #[test]
    fn the_name_is_recognised_in_any_directory() {
        for (program, name) in [
            ("mainstay", "mainstay"),
            ("/usr/bin/mcp-context-server", "mcp-context-server"),
            ("mcp-context-server", "mcp-context-server"),
            ("./context", "context"),
            ("/context/mainstay-conformance", "mainstay"),
            ("contexts", "mainstay"),
            ("", "mainstay"),
        ] {
            assert_eq!(of(Some(OsStr::new(program))), name, "{program}");
        }
        assert_eq!(of(None), "mainstay");
    }

    #[test]
    fn the_context_server_is_a_dialect_with_the_same_options() {
        let cli = parse(&["bin/mcp-context-server", "--cache-root", "c", "--log", "warn", "--tools", "files"]).unwrap();
        assert!(matches!(cli.command, Command::Stdio { dialect } if dialect == "context"));
        assert_eq!((cli.flags.cache_root, cli.flags.log), (Some("c".into()), Some("warn".into())));
    }

    #[test]
    fn usage_errors_under_the_names_of_contract_002_exit_with_1() {
        for (line, code) in [
            (&["mainstay", "--no-such"][..], 2),
            (&["mcp-context-server", "--no-such"], 1),
            (&["mcp-context-server", "stdio"], 1),
            (&["context", "no-such"], 1),
            (&["context", "resolve", "--cache", "c"], 1),
            (&["context", "build", "--help"], 0),
            (&["mainstay", "context", "build"], 1),
            (&["mainstay", "context", "inspect", "--cache", "c", "--listen", "127.0.0.1:1"], 1),
            (&["mainstay", "context", "--help"], 0),
            (&["mainstay", "--log", "warn", "context", "no-such"], 1),
            (&["mainstay", "call", "context", "--no-such"], 2),
            (&["mcp-context-server", "--help"], 0),
            (&["mcp-context-server", "--version"], 0),
        ] {
            assert_eq!(parse(line).err(), Some(code), "{line:?}");
        }
    }

    #[test]
    fn global_options_before_context_are_accepted() {
        let cli = parse(&["mainstay", "--log", "warn", "context", "inspect", "--cache", "c"]).unwrap();
        assert!(matches!(cli.command, Command::Context(Context::Inspect { .. })));
        assert_eq!(cli.flags.log, Some("warn".into()));
    }
}
