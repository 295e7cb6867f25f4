//! The filters of the template language. Each of them refuses to make a text that is too long, because filters are the
//! only way in which a template makes a value larger.

use minijinja::{Environment, Error, ErrorKind, Value};

use super::MAX_OUTPUT;

/// Registers all filters.
pub(super) fn register(environment: &mut Environment<'static>) {
    environment.add_filter("lower", |text: &str| text.to_lowercase());
    environment.add_filter("upper", |text: &str| text.to_uppercase());
    environment.add_filter("trim", |text: &str| text.trim().to_owned());
    environment.add_filter("replace", replace);
    environment.add_filter("join", join);
    environment.add_filter("code_block", code_block);
    environment.add_filter("make_escape", make_escape);
}

fn check_length(bytes: usize) -> Result<(), Error> {
    if bytes <= MAX_OUTPUT {
        return Ok(());
    }
    let detail = format!("a filter makes a text of {bytes} bytes, which is too long (at most {MAX_OUTPUT})");
    Err(Error::new(ErrorKind::InvalidOperation, detail))
}

/// `replace(from, to)`: every occurrence.
fn replace(text: &str, from: &str, to: &str) -> Result<String, Error> {
    let occurrences = text.matches(from).count();
    check_length(text.len().saturating_add(occurrences.saturating_mul(to.len())))?;
    Ok(text.replace(from, to))
}

/// `join(separator)`: the items of a list as one text.
fn join(list: &Value, separator: &str) -> Result<String, Error> {
    let mut joined = String::new();
    for (at, item) in list.try_iter()?.enumerate() {
        let item = item.to_string();
        check_length(joined.len() + separator.len() + item.len())?;
        if at > 0 {
            joined.push_str(separator);
        }
        joined.push_str(&item);
    }
    Ok(joined)
}

/// `code_block(language)`: a fenced block of Markdown, with a fence that the text itself cannot close.
fn code_block(text: &str, language: &str) -> Result<String, Error> {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    check_length(text.len().saturating_add(2 * fence.len()).saturating_add(language.len()))?;
    Ok(format!("{fence}{language}\n{}\n{fence}", text.trim_end()))
}

/// `make_escape`: text as the value of a variable in a Makefile. `$` would expand, `#` would begin a comment.
fn make_escape(text: &str) -> Result<String, Error> {
    check_length(text.len().saturating_mul(2))?;
    Ok(text.replace('$', "$$").replace('#', "\\#").replace(['\r', '\n'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_block_cannot_be_closed_by_its_text() {
        assert_eq!(code_block("ls\n", "sh").unwrap(), "```sh\nls\n```");
        assert_eq!(code_block("a\n````\nb", "").unwrap(), "`````\na\n````\nb\n`````");
    }

    #[test]
    fn text_in_a_makefile_neither_expands_nor_begins_a_comment() {
        assert_eq!(make_escape("$(shell id) # x\ny").unwrap(), "$$(shell id) \\# x y");
    }
}
