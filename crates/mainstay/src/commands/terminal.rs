//! Output of the commands. Text from callers, clients and other servers is made safe for a terminal first: characters that
//! move the cursor, hide text or reverse its direction are replaced, and in JSON escaped.

use std::io::Write as _;
use std::process::ExitCode;

/// Makes JSON safe without changing its value.
pub(super) use mainstay_core::escape_invisible_json as json;
use serde::Serialize;

/// Prints a line to standard output. A reader that has gone away is not an error.
pub(super) fn print_line(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Prints a value as indented JSON, safe for a terminal.
pub(super) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    print_line(json(&serde_json::to_string_pretty(value)?));
    Ok(())
}

/// Prints whole text to standard output. A closed pipe is not an error, as in `| head`; a full disk is.
pub(super) fn print_all(text: &str) -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The message of an error with its detail: a command has no log that could be looked into, and the person who runs it
/// may know everything.
pub(super) fn error_message(error: mainstay_core::Error) -> String {
    match error.detail.filter(|detail| !error.public.contains(detail.as_str())) {
        Some(detail) => format!("{} ({})", error.public, detail.trim()),
        None => error.public.into_owned(),
    }
}

/// The exit code of a command that found out whether something is right.
pub(super) fn exit_code(success: bool) -> ExitCode {
    if success { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Makes text of several lines safe.
pub(super) fn text(raw: &str) -> String {
    raw.replace("\r\n", "\n")
        .chars()
        .map(|c| if c != '\n' && c != '\t' && is_control(c) { '\u{fffd}' } else { c })
        .collect()
}

/// Makes text safe that has to stay on one line.
pub(super) fn line(raw: &str) -> String {
    raw.chars().map(|c| if is_control(c) { '\u{fffd}' } else { c }).collect()
}

/// Control characters of ASCII and Latin-1, and those that change the direction of text.
fn is_control(c: char) -> bool {
    let reverses = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || reverses
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}]0;t\u{7}b\r\u{9b}2J\u{7f}\u{202e}c\u{2066}d\u{8}\u{200f}";

    #[test]
    fn control_characters_are_replaced() {
        let harmless = "a�]0;t�b��2J��c�d��";
        assert_eq!(text(&format!("{HOSTILE}\r\n\tü — 日本")), format!("{harmless}\n\tü — 日本"));
        assert_eq!(line("a\nb\tc\u{1b}ü"), "a�b�c�ü");
    }

    #[test]
    fn json_keeps_its_value_and_has_no_control_characters() {
        let value = serde_json::json!({ "k": HOSTILE, HOSTILE: ["\n\t ü"] });
        let shown = json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(shown.chars().all(|c| c == '\n' || c == 'ü' || (' '..='~').contains(&c)), "{shown:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
