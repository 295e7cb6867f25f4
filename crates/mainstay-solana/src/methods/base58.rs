//! Base58 of any length.
//!
//! The types of the chain decode exactly 32 or 64 bytes. The bytes of a filter have any length, and a message that says why
//! a text is no address has to count what it decodes to.

const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// The work grows with the square of the length; nothing that is base58 on this chain is longer than 175 characters.
const MOST_CHARACTERS: usize = 256;

/// Why a text cannot be decoded.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotBase58 {
    TooLong,
    /// This character, the first that is not in the alphabet.
    Character(char),
}

/// The bytes, without leading zeros but for one per leading `1`.
pub(super) fn decode(text: &str) -> Result<Vec<u8>, NotBase58> {
    if text.len() > MOST_CHARACTERS {
        return Err(NotBase58::TooLong);
    }
    // Little-endian while digits are added, each of which multiplies what is there by 58.
    let mut bytes: Vec<u8> = Vec::with_capacity(text.len());
    for character in text.chars() {
        let position = ALPHABET.iter().position(|letter| char::from(*letter) == character);
        let Some(digit) = position.and_then(|position| u32::try_from(position).ok()) else {
            return Err(NotBase58::Character(character));
        };
        let mut carry = digit;
        for byte in &mut bytes {
            carry += u32::from(*byte) * 58;
            [*byte, ..] = carry.to_le_bytes();
            carry >>= 8;
        }
        if carry > 0 {
            let [low, ..] = carry.to_le_bytes();
            bytes.push(low);
        }
    }
    let zeros = text.bytes().take_while(|letter| *letter == b'1').count();
    bytes.resize(bytes.len() + zeros, 0);
    bytes.reverse();
    Ok(bytes)
}

/// Says why a text is not `wanted`, which has so many bytes. The text itself is left out: it may be a secret key, which is
/// written like a signature.
pub(super) fn refusal(text: &str, wanted: &str, size: usize) -> String {
    let found = match decode(text) {
        Ok(bytes) => format!("this decodes to {} bytes", bytes.len()),
        Err(NotBase58::Character(character)) => format!("{character:?} is not a character of base58"),
        Err(NotBase58::TooLong) => format!("this has {} characters", text.len()),
    };
    format!("must be {wanted}, {size} bytes in base58; {found}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use solana_address::Address;
    use solana_signature::Signature;

    use super::*;

    #[test]
    fn known_texts_decode_to_their_bytes() {
        for (text, bytes) in [
            ("", &b""[..]),
            ("1", b"\0"),
            ("2NEpo7TZRRrLZSi2U", b"Hello World!"),
            ("11233QC4", b"\0\0\x28\x7f\xb4\xcd"),
        ] {
            assert_eq!(decode(text).unwrap(), bytes, "{text}");
        }
        assert_eq!(decode("0"), Err(NotBase58::Character('0')));
        assert_eq!(decode("2é"), Err(NotBase58::Character('é')));
        assert_eq!(decode(&"1".repeat(257)), Err(NotBase58::TooLong));
    }

    #[test]
    fn a_refusal_says_what_is_wrong_and_not_the_value() {
        for (text, says) in [
            ("abc", "this decodes to 3 bytes"),
            ("O", "'O' is not a character of base58"),
            (&*"z".repeat(1000), "this has 1000 characters"),
        ] {
            assert_eq!(refusal(text, "an address", 32), format!("must be an address, 32 bytes in base58; {says}"));
        }
    }

    proptest! {
        #[test]
        fn the_chains_own_types_decode_alike(address: [u8; 32], halves: ([u8; 32], [u8; 32])) {
            prop_assert_eq!(decode(&Address::from(address).to_string()).unwrap(), address);
            let signature: Vec<u8> = [halves.0, halves.1].concat();
            let text = Signature::try_from(signature.as_slice()).unwrap().to_string();
            prop_assert_eq!(decode(&text).unwrap(), signature);
        }
    }
}
