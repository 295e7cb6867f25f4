//! The names the program answers to. What it is started as decides what its command line means.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _, Parser};

use crate::cli::{Cli, Command, Context, Dialect, EXIT_CODES, Flags};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    Mainstay,
    /// `mainstay stdio --dialect context`
    ContextServer,
    /// `mainstay context`
    Context,
}

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

/// Flags that say nothing about the context server. They are taken all the same: one that is set in the environment for
/// another server must not keep this one from starting.
const IDLE: [&str; 3] = ["workspace", "listen", "tools"];

impl Name {
    /// `program` is what it was started as, with or without the directory it lies in.
    pub(crate) fn of(program: Option<&OsStr>) -> Self {
        match program.and_then(|program| Path::new(program).file_name()).and_then(OsStr::to_str) {
            Some("mcp-context-server") => Self::ContextServer,
            Some("context") => Self::Context,
            Some(_) | None => Self::Mainstay,
        }
    }

    /// As errors begin.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Mainstay => "mainstay",
            Self::ContextServer => "mcp-context-server",
            Self::Context => "context",
        }
    }

    /// Reads the whole command line, its first word included, as `mainstay` would be told the same.
    pub(crate) fn parse(self, args: &[OsString]) -> Result<Cli, clap::Error> {
        match self {
            Self::Mainstay => Cli::try_parse_from(args),
            Self::ContextServer => {
                let flags = context_server(args)?;
                Ok(Cli { command: Command::Stdio { dialect: Dialect::Context }, flags })
            }
            Self::Context => {
                let command = Command::Context(ContextCommands::try_parse_from(args)?.command);
                Ok(Cli { command, flags: Flags::default() })
            }
        }
    }

    /// How the program ends when its command line was not understood, or was a question that has been answered. Contract
    /// 002 has one number for the former.
    pub(crate) fn exit_code(self, args: &[OsString], error: &clap::Error) -> u8 {
        let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
        match self {
            Self::ContextServer | Self::Context => u8::from(!asked),
            Self::Mainstay if is_about_caches(args) => u8::from(!asked),
            Self::Mainstay => u8::try_from(error.exit_code()).unwrap_or(2),
        }
    }
}

/// Whether `mainstay context` was meant, whatever is wrong with the rest.
fn is_about_caches(args: &[OsString]) -> bool {
    let read = Cli::command().ignore_errors(true).try_get_matches_from(args);
    read.is_ok_and(|matches| matches.subcommand_name() == Some("context"))
}

fn context_server(args: &[OsString]) -> Result<Flags, clap::Error> {
    let command = ContextServer::command().mut_args(|arg| match arg.get_id().as_str() {
        "cache_root" => arg.help("The directory that holds the caches; it has to be given"),
        idle if IDLE.contains(&idle) => arg.hide(true),
        _ => arg,
    });
    let matches = command.try_get_matches_from(args)?;
    Ok(ContextServer::from_arg_matches(&matches)?.flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &[&str]) -> Result<Cli, u8> {
        let name = Name::of(line.first().map(OsStr::new));
        let line: Vec<OsString> = line.iter().map(OsString::from).collect();
        name.parse(&line).map_err(|error| name.exit_code(&line, &error))
    }

    #[test]
    fn a_name_is_known_wherever_the_program_lies() {
        for (program, name) in [
            ("mainstay", Name::Mainstay),
            ("/usr/bin/mcp-context-server", Name::ContextServer),
            ("mcp-context-server", Name::ContextServer),
            ("./context", Name::Context),
            ("/context/mainstay-conformance", Name::Mainstay),
            ("contexts", Name::Mainstay),
            ("", Name::Mainstay),
        ] {
            assert_eq!(Name::of(Some(OsStr::new(program))), name, "{program}");
        }
        assert_eq!(Name::of(None), Name::Mainstay);
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
            (&["mainstay", "--log", "warn", "context", "no-such"], 1),
            (&["mainstay", "call", "context", "--no-such"], 2),
            (&["mcp-context-server", "--help"], 0),
            (&["mcp-context-server", "--version"], 0),
        ] {
            assert_eq!(parse(line).err(), Some(code), "{line:?}");
        }
    }
}
