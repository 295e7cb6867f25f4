//! Text from elsewhere, made harmless for a terminal: what moves the cursor, hides or turns around what is shown is
//! replaced. For programs it is only spelled differently.

use std::fmt::Write as _;

/// Text of several lines.
pub(super) fn text(raw: &str) -> String {
    raw.replace("\r\n", "\n")
        .chars()
        .map(|c| if c != '\n' && c != '\t' && is_command(c) { '\u{fffd}' } else { c })
        .collect()
}

/// Text that has to stay on its line.
pub(super) fn line(raw: &str) -> String {
    raw.chars().map(|c| if is_command(c) { '\u{fffd}' } else { c }).collect()
}

/// JSON, which means the same afterwards. Outside of its strings there is nothing to replace, and inside of them what
/// is left of the ASCII controls has been escaped already.
pub(super) fn json(raw: &str) -> String {
    raw.chars().fold(String::with_capacity(raw.len()), |mut json, c| {
        if !c.is_ascii_whitespace() && is_command(c) {
            let _ = write!(json, "\\u{:04x}", u32::from(c));
        } else {
            json.push(c);
        }
        json
    })
}

/// Controls of ASCII and Latin-1, and those of the direction of writing.
fn is_command(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}]0;t\u{7}b\r\u{9b}2J\u{7f}\u{202e}c\u{2066}d\u{8}\u{200f}";

    #[test]
    fn nothing_that_commands_a_terminal_is_left() {
        let harmless = "a�]0;t�b��2J��c�d��";
        assert_eq!(text(&format!("{HOSTILE}\r\n\tü — 日本")), format!("{harmless}\n\tü — 日本"));
        assert_eq!(line("a\nb\tc\u{1b}ü"), "a�b�c�ü");
    }

    #[test]
    fn json_means_the_same_and_has_no_commands_in_it() {
        let value = serde_json::json!({ "k": HOSTILE, HOSTILE: ["\n\t ü"] });
        let shown = json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(shown.chars().all(|c| c == '\n' || c == 'ü' || (' '..='~').contains(&c)), "{shown:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
