//! The names the program answers to. What it is started as decides what its command line means.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::{Arg, CommandFactory as _, FromArgMatches as _, Parser};

use crate::cli::{Cli, Command, Context, Dialect, EXIT_CODES, Flags};
use crate::commands::context::USAGE;

pub(crate) struct Name {
    /// As errors begin.
    pub(crate) word: &'static str,
    /// Reads the whole command line, its first word included, as `mainstay` would be told the same.
    parse: fn(&[OsString]) -> Result<Cli, clap::Error>,
    /// What a command line that is not understood ends with.
    misunderstood: fn(&[OsString]) -> u8,
}

static MAINSTAY: Name =
    Name { word: "mainstay", parse: mainstay, misunderstood: |args| if is_about_caches(args) { USAGE } else { 2 } };

/// Those that are not its own; contract 002 says how they end.
static OTHERS: [Name; 2] = [
    Name { word: "mcp-context-server", parse: context_server, misunderstood: |_| USAGE },
    Name { word: "context", parse: |args| context("context", args), misunderstood: |_| USAGE },
];

/// Gives the program that started this one documents for its questions, from caches and within a budget of tokens
///
/// Add it to a client as the command `mcp-context-server`, with CONTEXT_CACHE_ROOT set to the directory that holds the
/// caches; `context build` makes one of a directory of Markdown files. It speaks JSON-RPC 2.0 on standard input and
/// output, one message a line, and logs to standard error. A call may take 30 seconds, or as many as
/// CONTEXT_TOOL_TIMEOUT_SECS says. It is the same program as `mainstay stdio --dialect context`.
#[derive(Debug, Parser)]
#[command(name = "mcp-context-server", version, max_term_width = 100)]
struct ContextServer {
    #[command(flatten)]
    flags: Flags,
}

/// Builds caches of documents, and packs what fits a query into a budget of tokens
#[derive(Debug, Parser)]
#[command(name = "context", version, max_term_width = 100, after_help = EXIT_CODES)]
struct ContextCommands {
    #[command(subcommand)]
    command: Context,
}

/// Flags that say nothing about the context server.
const IDLE: [&str; 3] = ["workspace", "listen", "tools"];

impl Name {
    /// `program` is what it was started as, with or without the directory it lies in.
    pub(crate) fn of(program: Option<&OsStr>) -> &'static Self {
        let program = program.and_then(|program| Path::new(program).file_name());
        OTHERS.iter().find(|name| program == Some(OsStr::new(name.word))).unwrap_or(&MAINSTAY)
    }

    /// Reads the command line. What is wrong with it comes with what the program ends with, which is 0 if it was a
    /// question that has been answered.
    pub(crate) fn parse(&self, args: &[OsString]) -> Result<Cli, (clap::Error, u8)> {
        (self.parse)(args).map_err(|error| {
            let code = if error.use_stderr() { (self.misunderstood)(args) } else { 0 };
            (error, code)
        })
    }
}

/// Behind `context` nothing is read of the flags and variables of a server, for there is none.
fn mainstay(args: &[OsString]) -> Result<Cli, clap::Error> {
    if begins_with_context(args) {
        return context("mainstay context", &args[1..]);
    }
    let matches = Cli::command().mut_arg("cache_root", heard).try_get_matches_from(args)?;
    Cli::from_arg_matches(&matches)
}

/// `shown` is what it calls itself in its help.
fn context(shown: &'static str, args: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = ContextCommands::command().bin_name(shown).display_name(shown).try_get_matches_from(args)?;
    let command = Command::Context(ContextCommands::from_arg_matches(&matches)?.command);
    Ok(Cli { command, flags: Flags::default() })
}

fn context_server(args: &[OsString]) -> Result<Cli, clap::Error> {
    let command = ContextServer::command().mut_args(|arg| match arg.get_id().as_str() {
        "cache_root" => heard(arg).help("The directory that holds the caches; it has to be given"),
        // What is set in the environment for another server must not keep this one from starting.
        idle if IDLE.contains(&idle) => arg.hide(true).env(None::<&str>),
        _ => arg,
    });
    let flags = ContextServer::from_arg_matches(&command.try_get_matches_from(args)?)?.flags;
    Ok(Cli { command: Command::Stdio { dialect: Dialect::Context }, flags })
}

/// A variable that is set to nothing is as good as none; else a flag is complained of that nobody typed.
fn heard(arg: Arg) -> Arg {
    let empty = arg.get_env().and_then(std::env::var_os).is_some_and(|value| value.is_empty());
    if empty { arg.env(None::<&str>) } else { arg }
}

fn begins_with_context(args: &[OsString]) -> bool {
    args.get(1).is_some_and(|first| first == "context")
}

/// Whether `mainstay context` was meant, whatever is wrong with the rest.
fn is_about_caches(args: &[OsString]) -> bool {
    let read = || Cli::command().ignore_errors(true).try_get_matches_from(args);
    begins_with_context(args) || read().is_ok_and(|matches| matches.subcommand_name() == Some("context"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &[&str]) -> Result<Cli, u8> {
        let name = Name::of(line.first().map(OsStr::new));
        let line: Vec<OsString> = line.iter().map(OsString::from).collect();
        name.parse(&line).map_err(|(_, code)| code)
    }

    #[test]
    fn a_name_is_known_wherever_the_program_lies() {
        for (program, word) in [
            ("mainstay", "mainstay"),
            ("/usr/bin/mcp-context-server", "mcp-context-server"),
            ("mcp-context-server", "mcp-context-server"),
            ("./context", "context"),
            ("/context/mainstay-conformance", "mainstay"),
            ("contexts", "mainstay"),
            ("", "mainstay"),
        ] {
            assert_eq!(Name::of(Some(OsStr::new(program))).word, word, "{program}");
        }
        assert_eq!(Name::of(None).word, "mainstay");
    }

    #[test]
    fn the_context_server_is_a_dialect_with_the_same_flags() {
        let cli = parse(&["bin/mcp-context-server", "--cache-root", "c", "--log", "warn", "--tools", "files"]).unwrap();
        assert!(matches!(cli.command, Command::Stdio { dialect: Dialect::Context }));
        assert_eq!((cli.flags.cache_root, cli.flags.log), (Some("c".into()), Some("warn".into())));
    }

    #[test]
    fn under_the_contracts_names_a_command_line_that_is_not_understood_ends_with_1() {
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
    fn flags_before_context_are_those_of_every_command() {
        let cli = parse(&["mainstay", "--log", "warn", "context", "inspect", "--cache", "c"]).unwrap();
        assert!(matches!(cli.command, Command::Context(Context::Inspect { .. })));
        assert_eq!(cli.flags.log, Some("warn".into()));
    }
}
