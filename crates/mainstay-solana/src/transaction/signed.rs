//! Transactions: a message with its signatures.

use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use solana_address::Address;
use solana_signature::Signature;

pub use super::encoding::MAX_TRANSACTION_BYTES;
use super::error::DecodeError;
use super::message::Message;
use super::wire::{Reader, write_length};

/// A message with one signature for each account that must sign. A signature of zeros stands for one that is not there yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    signatures: Vec<Signature>,
    message: Message,
}

impl Transaction {
    /// A message without signatures, as for a simulation or for a wallet to sign.
    pub fn unsigned(message: Message) -> Self {
        Self { signatures: vec![Signature::default(); message.signers().len()], message }
    }

    /// A message that one account signs, with its signature.
    pub(super) fn signed_by_one(message: Message, signature: Signature) -> Self {
        Self { signatures: vec![signature], message }
    }

    /// Reads standard base64 with padding. The decoder refuses other forms, such as unused bits that are not zero.
    pub fn from_base64(text: &str) -> Result<Self, DecodeError> {
        // Refused before anything is allocated for it.
        if text.len() > MAX_TRANSACTION_BYTES.div_ceil(3) * 4 {
            return Err(DecodeError::TooLarge { bytes: text.len() / 4 * 3, limit: MAX_TRANSACTION_BYTES });
        }
        let bytes = STANDARD.decode(text).map_err(|error| DecodeError::NotBase64(error.to_string()))?;
        Self::from_bytes(&bytes)
    }

    /// Reads a transaction that fills all of the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        if bytes.len() > MAX_TRANSACTION_BYTES {
            return Err(DecodeError::TooLarge { bytes: bytes.len(), limit: MAX_TRANSACTION_BYTES });
        }
        let mut reader = Reader::new(bytes);
        let found = reader.length("the number of signatures")?;
        let signatures = (0..found)
            .map(|_| reader.array::<64>("the signatures").map(Signature::from))
            .collect::<Result<Vec<_>, _>>()?;
        let message = Message::read_to_end(&mut reader)?;
        let required = message.header().required_signatures;
        if found != usize::from(required) {
            return Err(DecodeError::SignatureCount { found, required });
        }
        Ok(Self { signatures, message })
    }

    /// The form in which nodes take transactions.
    pub fn to_base64(&self) -> String {
        STANDARD.encode(self.to_bytes())
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(MAX_TRANSACTION_BYTES);
        write_length(&mut bytes, self.signatures.len());
        for signature in &self.signatures {
            bytes.extend_from_slice(signature.as_ref());
        }
        bytes.extend_from_slice(&self.message.to_bytes());
        bytes
    }

    pub fn message(&self) -> &Message {
        &self.message
    }

    /// One for each of [`Message::signers`], in that order.
    pub fn signatures(&self) -> &[Signature] {
        &self.signatures
    }

    /// Checks every signature. The error lists the accounts that must sign and whose signature is missing or wrong.
    pub fn verify(&self) -> Result<(), Vec<Address>> {
        let message = self.message.to_bytes();
        let is_wrong = |(signer, signature): &(&Address, &Signature)| !is_valid(signer, signature, &message);
        let signers = self.message.signers().iter().zip(&self.signatures);
        let wrong: Vec<Address> = signers.filter(is_wrong).map(|(signer, _)| *signer).collect();
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }

    /// Whether every required signature is there and valid.
    pub fn is_fully_signed(&self) -> bool {
        self.verify().is_ok()
    }

    /// The first signature, by which the chain knows the transaction; none before the fee payer has signed.
    pub fn id(&self) -> Option<Signature> {
        self.signatures.first().copied().filter(|signature| *signature != Signature::default())
    }
}

/// Whether a signature is valid by the rules of nodes, which are stricter than those of the cryptographic library.
fn is_valid(signer: &Address, signature: &Signature, message: &[u8]) -> bool {
    let (nonce_point, _) = signature.as_array().split_at(32);
    !is_small_order(signer.as_array())
        && !is_small_order(nonce_point)
        && UnparsedPublicKey::new(&ED25519, signer.as_array()).verify(message, signature.as_ref()).is_ok()
}

/// The y coordinates of the eight points whose order divides 8, also in the forms not reduced modulo 2^255 - 19. Anyone can
/// sign for such a key: one of them is the address of the System program. RFC 8032 lets them pass, nodes refuse them.
const SMALL_ORDER: [[u8; 32]; 7] = [
    little_endian(0x00, 0x00, 0x00),
    little_endian(0x01, 0x00, 0x00),
    [
        0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0, 0xd5, 0xdf,
        0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
    ],
    [
        0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f, 0x2a, 0x20,
        0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
    ],
    little_endian(0xec, 0xff, 0x7f),
    little_endian(0xed, 0xff, 0x7f),
    little_endian(0xee, 0xff, 0x7f),
];

/// A number of 32 bytes, given by its lowest byte, the bytes between, and its highest.
const fn little_endian(lowest: u8, between: u8, highest: u8) -> [u8; 32] {
    let mut bytes = [between; 32];
    bytes[0] = lowest;
    bytes[31] = highest;
    bytes
}

/// Whether the order of a point, given as its encoding, divides 8.
fn is_small_order(point: &[u8]) -> bool {
    let Ok(mut y) = <[u8; 32]>::try_from(point) else { return true };
    // The highest bit is the sign of x.
    y[31] &= 0x7f;
    SMALL_ORDER.contains(&y)
}

#[cfg(test)]
mod tests {
    use solana_hash::Hash;

    use super::super::build::transfer_sol;
    use super::super::message::Version;
    use super::super::testing;
    use super::*;

    const ALL: [&str; 6] = [
        testing::SOL_TRANSFER,
        testing::SELF_TRANSFER,
        testing::TOKEN_TRANSFER,
        testing::TOKEN_2022_TRANSFER,
        testing::TOKEN_TRANSFER_ONLY,
        testing::WITH_LOOKUP,
    ];

    fn bytes(vector: &str) -> Vec<u8> {
        STANDARD.decode(vector).unwrap()
    }

    #[test]
    fn transactions_of_the_chains_library_are_read_verified_and_written_back() {
        for vector in ALL {
            let transaction = testing::transaction(vector);
            assert_eq!(transaction.verify(), Ok(()), "{vector}");
            assert!(transaction.is_fully_signed());
            assert_eq!(transaction.to_base64(), vector);
        }
    }

    #[test]
    fn the_parts_of_a_transfer_are_found() {
        let transaction = testing::transaction(testing::SOL_TRANSFER);
        let message = transaction.message();
        let (first, second) = (testing::address(testing::FIRST), testing::address(testing::SECOND));
        assert_eq!(message.version(), Version::Legacy);
        assert_eq!(message.account_keys(), [first, second, Address::default()]);
        assert_eq!(message.signers(), [first]);
        assert_eq!(message.programs(), [Address::default()]);
        assert_eq!(message.recent_blockhash(), testing::blockhash());
        assert_eq!(message.instructions()[0].data, [2, 0, 0, 0, 0, 0xf2, 0x05, 0x2a, 1, 0, 0, 0]);
        let id = "oUQuc2rt5HvkQcKEYj2JkAUtPnHY5EMVmuDUUm4RPVCLocHeokXfnr5ruxK3tETVCzeTALV3jF3HjTPZ7FdW9T3";
        assert_eq!(transaction.id().unwrap().to_string(), id);
    }

    #[test]
    fn the_hash_of_a_message_is_that_of_the_signed_bytes() {
        let hex = |vector| {
            let hash = testing::transaction(vector).message().hash();
            hash.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
        };
        assert_eq!(hex(testing::SOL_TRANSFER), "d3e9cf8a8970c68a5cc758af640965c552a49705c3afb7f08f85f96051879ecf");
        assert_eq!(hex(testing::WITH_LOOKUP), "a2fa94cba11757a87cabef337b398165f08a77f74aadd9789af98b2d51593c10");
    }

    #[test]
    fn a_transaction_with_a_lookup_table_is_read() {
        let transaction = testing::transaction(testing::WITH_LOOKUP);
        let message = transaction.message();
        assert_eq!(message.version(), Version::V0);
        assert_eq!(message.lookups()[0].table, Address::new_from_array([9; 32]));
        assert_eq!((&*message.lookups()[0].writable, &*message.lookups()[0].readonly), (&[4][..], &[1][..]));
        let writable: Vec<_> = (0..6).map(|index| message.is_writable(index)).collect();
        assert_eq!(writable, [true, false, false, false, true, false]);
    }

    #[test]
    fn a_missing_signature_names_its_signer() {
        let signed = testing::transaction(testing::WITH_LOOKUP);
        let mut partly = signed.clone();
        partly.signatures[1] = Signature::default();
        assert_eq!(partly.verify(), Err(vec![testing::address(testing::SECOND)]));
        assert_eq!(partly.id(), signed.id(), "the fee payer has signed");
        let unsigned = Transaction::unsigned(signed.message().clone());
        assert_eq!(unsigned.verify(), Err(signed.message().signers().to_vec()));
        assert!(!unsigned.is_fully_signed());
        assert_eq!(unsigned.id(), None);
        assert_eq!(Transaction::from_base64(&unsigned.to_base64()), Ok(unsigned), "it can be sent to a wallet");
    }

    #[test]
    fn signatures_in_another_order_are_wrong() {
        let mut swapped = testing::transaction(testing::WITH_LOOKUP);
        swapped.signatures.swap(0, 1);
        assert_eq!(swapped.verify(), Err(swapped.message().signers().to_vec()));
    }

    #[test]
    fn every_change_of_one_byte_fails_to_decode_or_to_verify() {
        for vector in [testing::SOL_TRANSFER, testing::WITH_LOOKUP] {
            let original = bytes(vector);
            for at in 0..original.len() {
                for mask in [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff] {
                    let mut changed = original.clone();
                    changed[at] ^= mask;
                    let accepted = Transaction::from_bytes(&changed).is_ok_and(|decoded| decoded.is_fully_signed());
                    assert!(!accepted, "byte {at} with mask {mask:#x}");
                }
            }
        }
    }

    #[test]
    fn every_cut_and_every_extension_fails_to_decode() {
        for vector in ALL {
            let original = bytes(vector);
            for length in 0..original.len() {
                assert!(Transaction::from_bytes(&original[..length]).is_err(), "{length} bytes");
            }
            let longer = [&original[..], &[0]].concat();
            let told = Transaction::from_bytes(&longer).unwrap_err();
            assert_eq!(told, DecodeError::TrailingBytes { at: original.len(), count: 1 });
        }
    }

    #[test]
    fn a_signature_for_a_key_of_small_order_is_refused() {
        // The identity: the equation holds for any message with this point as both the key and R, and S = 0.
        let identity = little_endian(1, 0, 0);
        let mut forged = Transaction::unsigned(
            transfer_sol(identity.into(), Address::new_from_array([5; 32]), 1, Hash::default()).unwrap(),
        );
        let mut signature = [0; 64];
        signature[0] = 1;
        forged.signatures[0] = signature.into();
        let message = forged.message().to_bytes();
        let library = UnparsedPublicKey::new(&ED25519, &identity).verify(&message, &signature);
        assert!(library.is_ok(), "the equation holds");
        assert_eq!(forged.verify(), Err(vec![identity.into()]));
    }

    #[test]
    fn small_order_is_known_for_the_system_program_and_both_signs() {
        assert!(is_small_order(&[0; 32]), "the System program");
        for y in SMALL_ORDER {
            let mut negative = y;
            negative[31] |= 0x80;
            assert!(is_small_order(&y) && is_small_order(&negative));
        }
        assert!(!is_small_order(testing::address(testing::FIRST).as_array()));
    }

    #[test]
    fn texts_that_are_not_canonical_base64_are_refused() {
        let vector = testing::SOL_TRANSFER;
        let unpadded = vector.trim_end_matches('=');
        let url_safe = vector.replace('/', "_").replace('+', "-");
        // The last character before the padding has unused bits.
        let other_bits = format!("{}B=", &unpadded[..unpadded.len() - 1]);
        for text in [unpadded, &url_safe, &other_bits, &format!(" {vector}"), &format!("{vector}\n"), "?"] {
            let error = Transaction::from_base64(text).unwrap_err();
            assert!(matches!(error, DecodeError::NotBase64(_)), "{text}: {error}");
        }
        assert_eq!(
            Transaction::from_base64(""),
            Err(DecodeError::Truncated { at: 0, field: "the number of signatures" })
        );
    }

    #[test]
    fn a_transaction_larger_than_a_packet_is_refused() {
        let limit = MAX_TRANSACTION_BYTES;
        let told = Transaction::from_bytes(&vec![0; limit + 1]).unwrap_err();
        assert_eq!(told, DecodeError::TooLarge { bytes: 1233, limit });
        let text = "A".repeat(2_000_000);
        assert_eq!(Transaction::from_base64(&text), Err(DecodeError::TooLarge { bytes: 1_500_000, limit }));
        // Data that fills the packet exactly, and one byte more.
        let message = testing::transaction(testing::SOL_TRANSFER);
        let with_data = |length| {
            let mut parts = message.message().parts.clone();
            parts.instructions[0].data = vec![0; length];
            Message::from_parts(parts)
        };
        let rest = limit - (message.to_bytes().len() - 12) - 1;
        let full = Transaction::unsigned(with_data(rest).unwrap());
        assert_eq!(full.to_bytes().len(), limit);
        assert_eq!(Transaction::from_base64(&full.to_base64()), Ok(full));
        assert_eq!(with_data(rest + 1), Err(DecodeError::TooLarge { bytes: limit + 1, limit }));
    }

    #[test]
    fn the_number_of_signatures_must_be_that_of_the_header() {
        let original = bytes(testing::SOL_TRANSFER);
        let twice = [&[2], &original[1..65], &original[1..]].concat();
        assert_eq!(Transaction::from_bytes(&twice), Err(DecodeError::SignatureCount { found: 2, required: 1 }));
        let none = [&[0], &original[65..]].concat();
        assert_eq!(Transaction::from_bytes(&none), Err(DecodeError::SignatureCount { found: 0, required: 1 }));
    }

    #[test]
    fn a_newer_version_and_a_long_form_of_a_length_are_refused() {
        let mut newer = bytes(testing::WITH_LOOKUP);
        assert_eq!(newer[129], 0x80);
        newer[129] = 0x81;
        assert_eq!(Transaction::from_bytes(&newer), Err(DecodeError::UnsupportedVersion(1)));
        let original = bytes(testing::SOL_TRANSFER);
        let long_form = [&[0x81, 0x00], &original[1..]].concat();
        assert_eq!(Transaction::from_bytes(&long_form), Err(DecodeError::NonCanonicalLength { at: 0 }));
    }
}
