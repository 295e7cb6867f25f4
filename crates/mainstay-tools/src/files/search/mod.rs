//! Searching the content of files, for `files_grep`.

pub(crate) mod file_searcher;
pub(crate) mod results;
