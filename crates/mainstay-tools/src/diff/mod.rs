//! Unified diffs: writing them ([`render`]), reading them ([`unified`], and [`begin_patch`] for the form without line
//! numbers), and applying them ([`apply`]).

pub(crate) mod apply;
mod begin_patch;
mod hunk;
pub(crate) mod line_search;
pub(crate) mod patch;
mod quoted_path;
pub(crate) mod render;
#[cfg(test)]
mod tests;
pub(crate) mod unified;
