//! Serializing large messages.

use serde::Serialize;

/// A message as it leaves. Most of what leaves is text of files, which is escaped here several times faster than
/// `serde_json` does it. What is written must not hold a `RawValue`: only `serde_json` knows those.
pub fn to_json(message: &impl Serialize) -> std::io::Result<Vec<u8>> {
    sonic_rs::to_vec(message).map_err(std::io::Error::other)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn every_character_and_number_comes_back_as_it_was() {
        let every: String = (0..=0x2_ffff).filter_map(char::from_u32).collect();
        let numbers = json!([0, -1, u64::MAX, i64::MIN, 0.1, 1e300, -0.0, 1.5e-9, true, null]);
        let value = json!({ "every": every, "\"\\\n": "\u{7f}\u{2028}", "numbers": numbers });
        let written = to_json(&value).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&written).unwrap(), value);
        assert!(!written.contains(&b'\n'), "a message is one line");
    }

    #[test]
    fn a_text_of_any_length_ends_where_it_ends() {
        for length in 0..200 {
            let value = json!(format!("{}\"{}", "x".repeat(length), "é".repeat(length % 7)));
            assert_eq!(serde_json::from_slice::<Value>(&to_json(&value).unwrap()).unwrap(), value);
        }
    }
}
