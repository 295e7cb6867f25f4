//! The language of templates: a part of Jinja, and how it is rendered.
//!
//! A template is text with `{{ parameter }}`, `{% if … %}`, `{% for … in … %}`, comments and the filters of [`filters`].
//! [`subset`] rejects everything else of Jinja when a template is loaded: without assignments, calls and arithmetic a
//! template has no values but its parameters, and cannot build larger ones from them. So a few limits here are enough to
//! bound every rendering, in time and in memory, whoever wrote the template.

mod filters;
mod subset;

use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value};
use serde_json::{Map, Value as Json};

/// The most instructions of one rendering. The largest template of ours takes about a thousand, and a few for each item
/// of a list.
const FUEL: u64 = 100_000;

/// The longest text that is generated, in bytes.
pub(super) const MAX_OUTPUT: usize = 1024 * 1024;

/// What all renderings share. Filters are registered once; templates are compiled when they are used, which takes some
/// ten microseconds.
static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::empty();
    environment.set_syntax(syntax());
    // What is generated is source text and Markdown: nothing is HTML.
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    environment.set_formatter(|output, _state, value| write_value(output, value));
    filters::register(&mut environment);
    environment
});

/// A line that has nothing but a statement leaves no empty line behind, and the end of the text is kept.
fn syntax() -> SyntaxConfig {
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true);
    // The delimiters are the usual ones, which always build.
    syntax.build().unwrap_or_default()
}

/// Writes a value into the text. A parameter without a value would appear as the word "none", which nobody wants in a
/// file: the template has to ask for it with `if` first.
fn write_value(output: &mut minijinja::Output, value: &Value) -> Result<(), Error> {
    if value.is_none() || value.is_undefined() {
        let detail = "a parameter without a value is printed; put it into an `if`, or give it a default";
        return Err(Error::new(ErrorKind::UndefinedError, detail));
    }
    write!(output, "{value}").map_err(Error::from)
}

/// Checks a text when its template is loaded: whether it is Jinja, keeps to the part of it that is allowed, and uses no
/// variable but these parameters. The error is a sentence for the author of the template.
pub(super) fn check(text: &str, parameters: &[&str]) -> Result<(), String> {
    let parsed = minijinja::machinery::parse(text, "template", syntax()).map_err(|error| sentence(&error))?;
    subset::check(&parsed, parameters)?;
    // Unknown filters are found by the compiler alone.
    ENVIRONMENT.template_from_named_str("template", text).map_err(|error| sentence(&error)).map(|_| ())
}

/// Renders a text with these parameters. The error is a sentence for the author of the template: callers cannot cause
/// one with parameters that the manifest allows, except by the limits.
pub(super) fn render(text: &str, parameters: &Map<String, Json>) -> Result<String, String> {
    let template = ENVIRONMENT.template_from_named_str("template", text).map_err(|error| sentence(&error))?;
    let mut output = LimitedOutput::default();
    let rendered = template.render_captured_to(Value::from(Serde(parameters)), &mut output);
    match rendered {
        _ if output.is_full => Err(format!("it generates more than {MAX_OUTPUT} bytes")),
        Err(error) if error.kind() == ErrorKind::OutOfFuel => Err(format!("it takes more than {FUEL} steps")),
        Err(error) => Err(sentence(&error)),
        Ok(_) => String::from_utf8(output.bytes).map_err(|error| error.to_string()),
    }
}

/// What the engine says, with the line.
fn sentence(error: &Error) -> String {
    let what = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    error.line().map_or_else(|| what.clone(), |line| format!("line {line}: {what}"))
}

/// Takes the text that is generated, up to [`MAX_OUTPUT`].
#[derive(Default)]
struct LimitedOutput {
    bytes: Vec<u8>,
    is_full: bool,
}

impl std::io::Write for &mut LimitedOutput {
    fn write(&mut self, more: &[u8]) -> std::io::Result<usize> {
        if self.bytes.len() + more.len() > MAX_OUTPUT {
            self.is_full = true;
            return Err(std::io::Error::other("the output is full"));
        }
        self.bytes.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rendered(text: &str, parameters: &Json) -> Result<String, String> {
        let parameters = parameters.as_object().unwrap();
        check(text, &parameters.keys().map(String::as_str).collect::<Vec<_>>())?;
        render(text, parameters)
    }

    #[test]
    fn statements_leave_no_empty_lines_and_nothing_is_escaped() {
        let text =
            "a\n{% for x in list %}\n- {{ x }}\n{% endfor %}\n{% if no %}\nno\n{% else %}\nyes <&>\n{% endif %}\n";
        let parameters = json!({"list": ["<b>", "&"], "no": null});
        assert_eq!(rendered(text, &parameters).unwrap(), "a\n- <b>\n- &\nyes <&>\n");
    }

    #[test]
    fn what_is_not_a_value_of_a_parameter_is_refused_when_the_template_is_loaded() {
        for (text, says) in [
            ("{% set a = x ~ x %}", "`set` is not allowed"),
            ("{{ x ~ x }}", "operator"),
            ("{{ x * 1000000000 }}", "operator"),
            ("{{ \"x\" * 1000000000 }}", "operator"),
            ("{{ x + x }}", "operator"),
            ("{% for i in range(100000) %}{% endfor %}", "call"),
            ("{{ x.upper() }}", "call"),
            ("{% for a in [[x, x]] %}{% endfor %}", "list"),
            ("{% for a in x recursive %}{% endfor %}", "recursive"),
            ("{% with a = x %}{% endwith %}", "`with` is not allowed"),
            ("{% filter upper %}x{% endfilter %}", "`filter` is not allowed"),
            ("{{ x[0:1000] }}", "slice"),
            ("{{ y }}", "\"y\""),
            ("{% for a in x %}{% endfor %}{{ a }}", "\"a\""),
            ("{{ x | explode }}", "explode"),
            ("a\n{% if x %}", "line 2"),
            ("{{ x", "line 1"),
        ] {
            let refused = rendered(text, &json!({"x": "1"})).unwrap_err();
            assert!(refused.contains(says), "{text}: {refused}");
        }
    }

    #[test]
    fn rendering_stops_at_its_limits() {
        let items = vec!["x"; 1000];
        let nested = "{% for a in x %}{% for b in x %}{% for c in x %}{% endfor %}{% endfor %}{% endfor %}";
        assert!(rendered(nested, &json!({ "x": items })).unwrap_err().contains("steps"));
        let long = "{% for a in x %}{{ y }}{% endfor %}";
        let parameters = json!({"x": items, "y": "y".repeat(10_000)});
        assert!(rendered(long, &parameters).unwrap_err().contains("bytes"));
        let deep = "{% if x %}".repeat(10_000) + &"{% endif %}".repeat(10_000);
        assert!(rendered(&deep, &json!({"x": true})).is_err());
    }

    #[test]
    fn a_filter_cannot_make_a_value_that_exhausts_memory() {
        let replace =
            "| replace(\"x\", \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\")";
        let text = format!("{{% if x {} %}}{{% endif %}}", replace.repeat(20));
        assert!(rendered(&text, &json!({"x": "x"})).unwrap_err().contains("too long"));
    }

    #[test]
    fn printing_a_parameter_without_a_value_is_an_error_and_not_the_word_none() {
        assert!(rendered("{{ x }}", &json!({"x": null})).unwrap_err().contains("without a value"));
    }
}
