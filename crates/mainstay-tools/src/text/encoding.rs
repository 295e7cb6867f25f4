//! File content in JSON: UTF-8 text, or any bytes as base64.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use mainstay_core::{Error, Result};

/// How content is written in JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[schemars(inline)]
pub(crate) enum Encoding {
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}

/// Writes padding, and reads base64 with or without it: programs differ.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub(crate) fn encode_base64(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// The bytes that a caller gave as the arguments `content` or `content_base64`. Exactly one of them has to be there.
pub(crate) fn content_bytes(content: Option<String>, base64: Option<String>, encoding: Encoding) -> Result<Vec<u8>> {
    match (content, base64) {
        (Some(text), None) if encoding == Encoding::Base64 => decode_base64("content", &text),
        (Some(text), None) => Ok(text.into_bytes()),
        (None, Some(base64)) => decode_base64("content_base64", &base64),
        (Some(_), Some(_)) => Err(Error::field("content", "Give either content or content_base64, not both.")),
        (None, None) => {
            Err(Error::field("content", "Give content or content_base64; for an empty file, give content as \"\"."))
        }
    }
}

fn decode_base64(field: &str, text: &str) -> Result<Vec<u8>> {
    // Base64 is often wrapped to lines.
    let packed: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    BASE64.decode(packed).map_err(|error| Error::field(field, format!("This is not valid base64: {error}.")))
}

/// A whole file as text. The bytes are not copied.
pub(crate) fn decode_file(bytes: Vec<u8>, path: &str) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| not_utf8(path, error.utf8_error().valid_up_to() as u64))
}

/// A part of a file as text. A character that the end of the part cuts is left out, so that the next part can begin with
/// it. `at_end` says that the file ends where the part does.
pub(crate) fn decode_range(bytes: Vec<u8>, offset: u64, at_end: bool, path: &str) -> Result<String> {
    let error = match String::from_utf8(bytes) {
        Ok(text) => return Ok(text),
        Err(error) => error,
    };
    let valid = error.utf8_error().valid_up_to();
    // The first byte continues a character that began before the offset.
    let starts_inside = valid == 0 && offset > 0 && error.as_bytes().first().is_some_and(|byte| byte & 0xc0 == 0x80);
    if starts_inside {
        let reason =
            format!("Offset {offset} of {path} is inside a character; start up to 3 bytes earlier, or use base64.");
        return Err(Error::field("offset", reason));
    }
    // Without a length the bytes are only incomplete, unless nothing follows them.
    if error.utf8_error().error_len().is_some() || at_end {
        return Err(not_utf8(path, offset + valid as u64));
    }
    if valid == 0 {
        let reason = format!("The range of {path} at offset {offset} ends inside a character; use a greater length.");
        return Err(Error::field("offset", reason));
    }
    let mut bytes = error.into_bytes();
    bytes.truncate(valid);
    decode_file(bytes, path)
}

fn not_utf8(path: &str, at: u64) -> Error {
    Error::field("encoding", format!("{path} is not UTF-8 text (byte {at} is invalid); use base64."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_leaves_out_a_character_that_its_end_cuts() {
        let bytes = "aä€".as_bytes();
        assert_eq!(decode_range(bytes[..2].to_vec(), 0, false, "f").unwrap(), "a");
        assert_eq!(decode_range(bytes[..5].to_vec(), 0, false, "f").unwrap(), "aä");
        assert_eq!(decode_range(bytes[1..].to_vec(), 1, true, "f").unwrap(), "ä€");
    }

    #[test]
    fn a_part_that_begins_or_ends_inside_its_only_character_names_the_offset() {
        let bytes = "aä€".as_bytes();
        for (from, to) in [(2, 6), (3, 4), (4, 6), (5, 6)] {
            let error = decode_range(bytes[from..to].to_vec(), from as u64, to == 6, "f").unwrap_err();
            assert_eq!(error.field_name().unwrap(), "offset", "{from}..{to}");
        }
    }

    #[test]
    fn invalid_utf8_is_an_error_that_names_the_byte_and_base64() {
        for error in
            [decode_file(vec![b'a', 0xff], "f").unwrap_err(), decode_range(vec![b'a', 0xe2], 0, true, "f").unwrap_err()]
        {
            assert!(error.public.contains("base64") && error.public.contains("byte 1"), "{error}");
        }
    }

    #[test]
    fn text_and_base64_give_the_same_bytes() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(content_bytes(text("ü\n"), None, Encoding::Utf8).unwrap(), "ü\n".as_bytes());
        assert_eq!(content_bytes(text("AP8="), None, Encoding::Base64).unwrap(), [0, 255]);
        assert_eq!(content_bytes(None, text("AP\n8"), Encoding::Utf8).unwrap(), [0, 255]);
        assert!(content_bytes(None, text(""), Encoding::Utf8).unwrap().is_empty());
    }

    #[test]
    fn both_neither_and_invalid_base64_name_the_argument() {
        let text = |text: &str| Some(text.to_owned());
        let field = |result: Result<Vec<u8>>| result.unwrap_err().field_name().unwrap().to_owned();
        assert_eq!(field(content_bytes(text("a"), text("YQ=="), Encoding::Utf8)), "content");
        assert_eq!(field(content_bytes(None, None, Encoding::Utf8)), "content");
        assert_eq!(field(content_bytes(None, text("Y!=="), Encoding::Utf8)), "content_base64");
        assert_eq!(field(content_bytes(text("€"), None, Encoding::Base64)), "content");
    }
}
