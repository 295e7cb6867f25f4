//! A key that signs messages.
//!
//! A wallet signs a [`Message`], never bytes: what it signs was checked and can be described.

use std::fmt;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use serde::Deserializer;
use serde::de::{Error, SeqAccess, Visitor};
use solana_address::Address;
use solana_signature::Signature;
use zeroize::Zeroizing;

use super::message::Message;
use super::signed::Transaction;

/// The secret seed, then the public key.
const KEY_FILE_BYTES: usize = 64;
const SEED_BYTES: usize = 32;

/// Why the contents of a file are not a key. The messages never quote the contents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WalletError {
    #[error("The key file is not a JSON array of 64 numbers from 0 to 255. Create one with `solana-keygen new`.")]
    Format,
    #[error("The public half of the key file does not belong to its secret half. The file is damaged; restore it.")]
    Mismatch,
}

/// Why a message was not signed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    #[error("The wallet {wallet} signs only messages whose one signer it is; this one requires: {}.", list(.required))]
    NotTheOnlySigner { wallet: Address, required: Vec<Address> },
    #[error("The cryptographic library failed to sign. Nothing was signed; try again.")]
    Failed,
}

fn list(addresses: &[Address]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// A key pair in memory. The cryptographic library wipes its memory when it is dropped; copies made here are wiped as well.
pub struct Wallet {
    pair: Ed25519KeyPair,
    address: Address,
}

impl Wallet {
    /// Reads the JSON array that `solana-keygen` writes. The caller wipes its own copy of the text.
    pub fn from_file_contents(text: &str) -> Result<Self, WalletError> {
        // The parser's messages quote what they found, which may be a part of the secret.
        let bytes = parse_key_file(text).map_err(|_| WalletError::Format)?;
        let (seed, public) = bytes.split_at(SEED_BYTES);
        let pair = Ed25519KeyPair::from_seed_and_public_key(seed, public).map_err(|_| WalletError::Mismatch)?;
        let address = Address::try_from(pair.public_key().as_ref()).map_err(|_| WalletError::Mismatch)?;
        Ok(Self { pair, address })
    }

    pub fn address(&self) -> Address {
        self.address
    }

    /// Signs a message that requires the signature of this wallet and no other.
    pub fn sign(&self, message: &Message) -> Result<Transaction, SignError> {
        if message.signers() != [self.address] {
            return Err(SignError::NotTheOnlySigner { wallet: self.address, required: message.signers().to_vec() });
        }
        let signed = self.pair.try_sign(&message.to_bytes()).map_err(|_| SignError::Failed)?;
        let signature = Signature::try_from(signed.as_ref()).map_err(|_| SignError::Failed)?;
        Ok(Transaction::signed_by_one(message.clone(), signature))
    }
}

/// The address alone: the key must not reach a log.
impl fmt::Debug for Wallet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Wallet").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Anything after the array but white space is refused.
fn parse_key_file(text: &str) -> Result<Zeroizing<[u8; KEY_FILE_BYTES]>, serde_json::Error> {
    let mut parser = serde_json::Deserializer::from_str(text);
    let bytes = parser.deserialize_seq(KeyFile)?;
    parser.end()?;
    Ok(bytes)
}

/// Fills an array in place. A vector would leave a part of the secret behind each time it grows.
struct KeyFile;

impl<'de> Visitor<'de> for KeyFile {
    type Value = Zeroizing<[u8; KEY_FILE_BYTES]>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "an array of {KEY_FILE_BYTES} numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Self::Value, A::Error> {
        let mut bytes = Zeroizing::new([0; KEY_FILE_BYTES]);
        for byte in bytes.iter_mut() {
            *byte = numbers.next_element()?.ok_or_else(|| A::Error::custom("too few numbers"))?;
        }
        match numbers.next_element::<u8>()? {
            None => Ok(bytes),
            Some(_) => Err(A::Error::custom("too many numbers")),
        }
    }
}

/// The bits of a mode that say what kind of file it is, and their value for a regular file.
const FILE_KIND: u32 = 0o170_000;
const REGULAR_FILE: u32 = 0o100_000;

/// Checks that only this user can read a key file. `mode` is that of the file's metadata, with or without the kind of file;
/// `uid_matches` says whether its owner is the user of this process.
pub fn check_key_file_mode(mode: u32, uid_matches: bool) -> Result<(), String> {
    let kind = mode & FILE_KIND;
    if kind != 0 && kind != REGULAR_FILE {
        return Err("The key file is not a regular file. Give the path of the file itself.".to_owned());
    }
    if !uid_matches {
        return Err("The key file belongs to another user. Make the user of this process its owner: chown.".to_owned());
    }
    match mode & 0o7777 {
        0o600 | 0o400 => Ok(()),
        permissions => Err(format!(
            "The key file has mode {permissions:04o}; others may read or change it. Make it private: chmod 600."
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::build::transfer_sol;
    use super::super::testing;
    use super::*;

    fn wallet() -> Wallet {
        Wallet::from_file_contents(testing::FIRST_KEY_FILE).unwrap()
    }

    #[test]
    fn a_key_file_gives_its_address() {
        assert_eq!(wallet().address().to_string(), testing::FIRST);
        assert!(
            Wallet::from_file_contents(&format!("{}\n", testing::FIRST_KEY_FILE)).is_ok(),
            "a line break may follow"
        );
    }

    #[test]
    fn a_signed_transfer_is_that_of_the_chains_library() {
        for vector in [testing::SOL_TRANSFER, testing::TOKEN_TRANSFER, testing::TOKEN_2022_TRANSFER] {
            let expected = testing::transaction(vector);
            let signed = wallet().sign(expected.message()).unwrap();
            assert_eq!(signed.to_base64(), vector);
            assert!(signed.is_fully_signed());
        }
    }

    #[test]
    fn a_message_with_another_or_a_further_signer_is_refused() {
        let other = testing::address(testing::SECOND);
        let foreign = transfer_sol(other, wallet().address(), 1, testing::blockhash()).unwrap();
        let refusal = wallet().sign(&foreign).unwrap_err();
        assert_eq!(refusal, SignError::NotTheOnlySigner { wallet: wallet().address(), required: vec![other] });
        assert_eq!(
            refusal.to_string(),
            format!(
                "The wallet {} signs only messages whose one signer it is; this one requires: {other}.",
                testing::FIRST
            )
        );
        let two = testing::transaction(testing::WITH_LOOKUP);
        assert!(wallet().sign(two.message()).is_err());
    }

    #[test]
    fn contents_that_are_not_64_bytes_are_refused_without_being_quoted() {
        let numbers = testing::FIRST_KEY_FILE;
        for text in [
            "",
            "{}",
            "[]",
            "\"secret\"",
            &numbers.replace("92]", "92,1]"),
            &numbers.replace(",92]", "]"),
            &numbers.replace("92]", "256]"),
            &numbers.replace("92]", "-1]"),
            &numbers.replace("92]", "92.5]"),
            &format!("{numbers} [1]"),
        ] {
            let error = Wallet::from_file_contents(text).unwrap_err();
            assert_eq!(error, WalletError::Format, "{text}");
            assert!(!error.to_string().contains("92"), "{error}");
        }
    }

    #[test]
    fn a_public_half_of_another_key_is_refused() {
        let damaged = testing::FIRST_KEY_FILE.replace(",92]", ",93]");
        assert_eq!(Wallet::from_file_contents(&damaged).unwrap_err(), WalletError::Mismatch);
        let other_secret = testing::FIRST_KEY_FILE.replacen("[1,", "[2,", 1);
        assert_eq!(Wallet::from_file_contents(&other_secret).unwrap_err(), WalletError::Mismatch);
    }

    #[test]
    fn debug_output_shows_the_address_alone() {
        assert_eq!(format!("{:?}", wallet()), format!("Wallet {{ address: {}, .. }}", testing::FIRST));
    }

    #[test]
    fn a_key_file_must_be_private_regular_and_of_this_user() {
        for mode in [0o600, 0o400, 0o100_600, 0o100_400] {
            assert_eq!(check_key_file_mode(mode, true), Ok(()), "{mode:o}");
            assert!(check_key_file_mode(mode, false).unwrap_err().contains("another user"));
        }
        for mode in [0o644, 0o640, 0o660, 0o700, 0o604, 0o200, 0o000, 0o4600, 0o100_644] {
            let told = check_key_file_mode(mode, true).unwrap_err();
            assert!(told.contains(&format!("mode {:04o}", mode & 0o7777)) && told.contains("chmod 600"), "{told}");
        }
        // A directory, a symbolic link and a named pipe.
        for kind in [0o040_000, 0o120_000, 0o010_000] {
            assert!(check_key_file_mode(kind | 0o600, true).unwrap_err().contains("regular file"));
        }
    }
}
