//! The URI of a template: `template://CATEGORY/TOOLCHAIN/VARIANT`.

use std::fmt;

use mainstay_core::{Error, Reason, Result, quoted};

pub(super) const SCHEME: &str = "template://";

/// The longest part of a URI, in bytes.
const MAX_PART: usize = 64;

/// Three names. They are compared with those of manifests and never used as a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TemplateUri {
    pub(super) category: String,
    pub(super) toolchain: String,
    pub(super) variant: String,
}

impl fmt::Display for TemplateUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}/{}", self.category, self.toolchain, self.variant)
    }
}

impl TemplateUri {
    pub(super) fn parse(uri: &str) -> Result<Self> {
        let wrong = |reason: &str| {
            let shown = quoted(uri);
            let line = format!(
                "{shown} is not a template URI: {reason}. It has the form template://CATEGORY/TOOLCHAIN/VARIANT, such as \
                 template://makefile/rust/cli."
            );
            Error::invalid(line)
                .with_reason(Reason::InvalidTemplateUri { uri: shown_uri(uri), reason: reason.to_owned() })
        };
        let parts = uri.strip_prefix(SCHEME).ok_or_else(|| wrong("it does not begin with template://"))?;
        let parts: Vec<&str> = parts.split('/').collect();
        let [category, toolchain, variant] = parts.as_slice() else {
            return Err(wrong(&format!("it has {} parts and not three", parts.len())));
        };
        if let Some(part) = parts.iter().find(|part| !is_part(part)) {
            return Err(wrong(&format!("{} is not a name of {PART_RULE}", quoted(part))));
        }
        let [category, toolchain, variant] = [category, toolchain, variant].map(|part| (*part).to_owned());
        Ok(Self { category, toolchain, variant })
    }
}

/// What a part has to be, for messages.
pub(super) const PART_RULE: &str = "lower-case letters, digits, - and _, at most 64, that begins with a letter";

/// Neither `.` nor `%` is in it, so that no spelling of `..` is.
pub(super) fn is_part(part: &str) -> bool {
    part.len() <= MAX_PART
        && part.starts_with(|c: char| c.is_ascii_lowercase())
        && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b))
}

/// What an error's data repeats of a URI, which may be a megabyte.
fn shown_uri(uri: &str) -> String {
    uri[..uri.floor_char_boundary(4 * MAX_PART)].to_owned()
}

#[cfg(test)]
mod tests {
    use mainstay_core::Kind;

    use super::*;

    #[test]
    fn uri_is_written_as_it_was_read() {
        let uri = TemplateUri::parse("template://makefile/python-uv/cli").unwrap();
        assert_eq!(
            (uri.category.as_str(), uri.toolchain.as_str(), uri.variant.as_str()),
            ("makefile", "python-uv", "cli")
        );
        assert_eq!(uri.to_string(), "template://makefile/python-uv/cli");
    }

    #[test]
    fn whatever_is_not_three_plain_names_is_refused_with_its_reason() {
        let long = format!("template://{}/rust/cli", "a".repeat(1_000_000));
        for uri in [
            "",
            "makefile/rust/cli",
            "http://makefile/rust/cli",
            "Template://makefile/rust/cli",
            "template:/makefile/rust/cli",
            "template://",
            "template://makefile",
            "template://makefile/rust",
            "template://makefile/rust/cli/",
            "template://makefile/rust/cli/x",
            "template://makefile//cli",
            "template:///rust/cli",
            "template://makefile/../cli",
            "template://../../etc",
            "template://makefile/%2e%2e/cli",
            "template://makefile/rust/cli?x",
            "template://makefile/rust/cli#x",
            "template://makefile/rust/cli\n",
            "template://makefile/RUST/cli",
            "template://makefile/rüst/cli",
            "template://makefile\\rust/rust/cli",
            "template://makefile/rust/\0",
            &long,
        ] {
            let error = TemplateUri::parse(uri).unwrap_err();
            assert_eq!(error.kind, Kind::Invalid, "{uri}");
            assert!(matches!(*error.reason.unwrap(), Reason::InvalidTemplateUri { .. }));
            assert!(error.public.len() < 1000, "{}", error.public.len());
        }
    }
}
