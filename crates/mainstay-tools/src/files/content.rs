//! Content as a caller gives it: text, or bytes in base64.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use mainstay_core::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;

/// What `content` is: text, or bytes in base64.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub(super) enum Encoding {
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}

/// Programs differ in whether they write the padding; both are read.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The bytes that are meant. Exactly one of the two has to be there.
pub(super) fn bytes(content: Option<String>, base64: Option<String>, encoding: Encoding) -> Result<Vec<u8>> {
    match (content, base64) {
        (Some(text), None) if encoding == Encoding::Base64 => decode("content", &text),
        (Some(text), None) => Ok(text.into_bytes()),
        (None, Some(base64)) => decode("content_base64", &base64),
        (Some(_), Some(_)) => {
            Err(Error::field("content", "Both content and content_base64 are given; give one of them."))
        }
        (None, None) => Err(Error::field(
            "content",
            "Neither content nor content_base64 is given; an empty file is the content \"\".",
        )),
    }
}

fn decode(field: &str, text: &str) -> Result<Vec<u8>> {
    let packed: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    LENIENT.decode(packed).map_err(|error| Error::field(field, format!("This is not base64: {error}.")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_form_gives_the_bytes() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(bytes(text("ü\n"), None, Encoding::Utf8).unwrap(), "ü\n".as_bytes());
        assert_eq!(bytes(text("AP8="), None, Encoding::Base64).unwrap(), [0, 255]);
        assert_eq!(bytes(None, text("AP\n8"), Encoding::Utf8).unwrap(), [0, 255]);
        assert!(bytes(None, text(""), Encoding::Utf8).unwrap().is_empty());
    }

    #[test]
    fn both_neither_and_bad_base64_are_refused_by_field() {
        let text = |text: &str| Some(text.to_owned());
        let field = |result: Result<Vec<u8>>| result.unwrap_err().field_name().unwrap().to_owned();
        assert_eq!(field(bytes(text("a"), text("YQ=="), Encoding::Utf8)), "content");
        assert_eq!(field(bytes(None, None, Encoding::Utf8)), "content");
        assert_eq!(field(bytes(None, text("Y!=="), Encoding::Utf8)), "content_base64");
        assert_eq!(field(bytes(text("€"), None, Encoding::Base64)), "content");
    }
}
