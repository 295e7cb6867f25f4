//! The family `code` in the real program, on a repository that git itself has made.

mod analysis;
mod command_line;
mod history;
mod hostile_sources;
mod project;
