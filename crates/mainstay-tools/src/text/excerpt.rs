//! Consecutive lines of a file, as `files_head` and `files_tail` return them.

use mainstay_core::WithText;

use crate::text::line;

/// Lines of a file.
#[derive(Debug, Default, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Excerpt {
    /// Path of the file.
    pub(crate) path: String,
    /// Number of the first line returned; null if the file is too large to count.
    pub(crate) first_line: Option<u64>,
    /// Number of lines returned.
    pub(crate) lines: usize,
    /// The lines, separated by newlines.
    pub(crate) text: String,
    /// There are more lines: after these for files_head, before these for files_tail.
    pub(crate) more: bool,
    /// Some bytes are not UTF-8 and are shown as U+FFFD.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) lossy: bool,
    /// Which of the returned lines, from 1, were too long and were cut.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) cut: Vec<usize>,
}

impl Excerpt {
    /// The reply for clients that read only text: the plain lines, and `more` in brackets if there are more.
    pub(crate) fn with_text(self, more: &str) -> WithText<Self> {
        let text = if self.more { format!("{}\n[{more}]", self.text) } else { self.text.clone() };
        WithText { value: self, text }
    }

    /// Adds a line without its newline. `whole` says that `bytes` is the whole line.
    pub(crate) fn add(&mut self, bytes: &[u8], whole: bool) {
        let displayed = line::display(bytes);
        if self.lines > 0 {
            self.text.push('\n');
        }
        self.text.push_str(&displayed.text);
        self.lines += 1;
        self.lossy |= displayed.lossy;
        if displayed.cut || !whole {
            self.cut.push(self.lines);
        }
    }
}
