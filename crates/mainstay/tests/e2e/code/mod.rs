//! The family `code` in the real program, on a repository that git itself has made.

mod analysis;
mod history;
mod project;
