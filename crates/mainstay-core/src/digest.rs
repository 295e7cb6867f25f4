//! A digest of JSON that does not depend on the order of an object's keys: it binds an audit row, an idempotency key and
//! an approval to the arguments of one call.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// SHA-256 of the canonical form, in hex. Equal values have equal digests, whatever the order of their keys.
pub fn canonical_digest(value: &Value) -> String {
    let mut hasher = Sha256::new();
    feed(value, &mut hasher);
    hex(&hasher.finalize())
}

/// Every part is prefixed with its kind and length, so that no two different values have the same canonical form.
fn feed(value: &Value, hasher: &mut Sha256) {
    match value {
        Value::Null => hasher.update(b"n"),
        Value::Bool(true) => hasher.update(b"t"),
        Value::Bool(false) => hasher.update(b"f"),
        Value::Number(number) => feed_text(b"#", &number.to_string(), hasher),
        Value::String(text) => feed_text(b"s", text, hasher),
        Value::Array(items) => {
            hasher.update(b"[");
            for item in items {
                feed(item, hasher);
            }
            hasher.update(b"]");
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| *key);
            hasher.update(b"{");
            for (key, value) in fields {
                feed_text(b"k", key, hasher);
                feed(value, hasher);
            }
            hasher.update(b"}");
        }
    }
}

fn feed_text(kind: &[u8], text: &str, hasher: &mut Sha256) {
    hasher.update(kind);
    hasher.update((text.len() as u64).to_be_bytes());
    hasher.update(text.as_bytes());
}

/// Bytes as text: in lower case, two digits each.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = |byte: &u8| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    // As bytes and not as chars: every audit row has a hash, and `String::push` takes most of the time of writing one.
    let text: Vec<[u8; 2]> = bytes.iter().map(digits).collect();
    String::from_utf8(text.into_flattened()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn equal_values_have_equal_digests_and_others_do_not() {
        let ordered: Value = serde_json::from_str(r#"{"a":1,"b":[true,null]}"#).unwrap();
        let turned: Value = serde_json::from_str(r#"{"b":[true,null],"a":1}"#).unwrap();
        assert_eq!(canonical_digest(&ordered), canonical_digest(&turned));
        let different = [
            json!({"a": "b"}),
            json!({"ab": ""}),
            json!(["a", "b"]),
            json!([["a"], "b"]),
            json!("1"),
            json!(1),
            json!([]),
            json!({}),
        ];
        let digests: std::collections::HashSet<_> = different.iter().map(canonical_digest).collect();
        assert_eq!(digests.len(), different.len());
    }

    #[test]
    fn every_byte_has_two_digits() {
        assert_eq!(hex(&[0, 10, 255]), "000aff");
    }
}
