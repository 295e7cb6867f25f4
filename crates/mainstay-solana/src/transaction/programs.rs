//! Programs that everyone knows, by address.

use solana_address::{Address, address};

pub(super) const SYSTEM: Address = address!("11111111111111111111111111111111");
pub(super) const TOKEN: Address = address!("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
pub(super) const TOKEN_2022: Address = address!("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb");
pub(super) const ASSOCIATED_TOKEN: Address = address!("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL");
pub(super) const COMPUTE_BUDGET: Address = address!("ComputeBudget111111111111111111111111111111");
pub(super) const MEMO_V1: Address = address!("Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo");
pub(super) const MEMO_V2: Address = address!("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");

/// Programs of the chain itself, and of the authors of its token and stake programs. A name here says only that the program is
/// the well-known one, not that an instruction of it is harmless.
const NAMES: [(Address, &str); 24] = [
    (SYSTEM, "System"),
    (TOKEN, "Token"),
    (TOKEN_2022, "Token-2022"),
    (ASSOCIATED_TOKEN, "Associated Token"),
    (COMPUTE_BUDGET, "Compute Budget"),
    (MEMO_V1, "Memo v1"),
    (MEMO_V2, "Memo v2"),
    (address!("Stake11111111111111111111111111111111111111"), "Stake"),
    (address!("Vote111111111111111111111111111111111111111"), "Vote"),
    (address!("Config1111111111111111111111111111111111111"), "Config"),
    (address!("AddressLookupTab1e1111111111111111111111111"), "Address Lookup Table"),
    (address!("NativeLoader1111111111111111111111111111111"), "Native Loader"),
    (address!("BPFLoader1111111111111111111111111111111111"), "BPF Loader (deprecated)"),
    (address!("BPFLoader2111111111111111111111111111111111"), "BPF Loader"),
    (address!("BPFLoaderUpgradeab1e11111111111111111111111"), "BPF Upgradeable Loader"),
    (address!("LoaderV411111111111111111111111111111111111"), "Loader v4"),
    (address!("Feature111111111111111111111111111111111111"), "Feature Gate"),
    (address!("Ed25519SigVerify111111111111111111111111111"), "Ed25519 Signature Verification"),
    (address!("KeccakSecp256k11111111111111111111111111111"), "Secp256k1 Signature Verification"),
    (address!("Secp256r1SigVerify1111111111111111111111111"), "Secp256r1 Signature Verification"),
    (address!("ZkTokenProof1111111111111111111111111111111"), "ZK Token Proof"),
    (address!("ZkE1Gama1Proof11111111111111111111111111111"), "ZK ElGamal Proof"),
    (address!("SPoo1Ku8WFXoNDMHPsrGSTSG1Y47rzgn41SLUNakuHy"), "Stake Pool"),
    (address!("metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s"), "Token Metadata"),
];

/// The name of a well-known program.
pub fn program_name(program: &Address) -> Option<&'static str> {
    NAMES.iter().find(|(known, _)| known == program).map(|(_, name)| *name)
}

/// Whether accounts of this program hold tokens.
pub(super) fn is_token_program(program: &Address) -> bool {
    [TOKEN, TOKEN_2022].contains(program)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn programs_are_named_by_their_documented_addresses() {
        for (text, name) in [
            ("11111111111111111111111111111111", "System"),
            ("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", "Token"),
            ("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb", "Token-2022"),
            ("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL", "Associated Token"),
            ("Stake11111111111111111111111111111111111111", "Stake"),
            ("AddressLookupTab1e1111111111111111111111111", "Address Lookup Table"),
        ] {
            assert_eq!(program_name(&text.parse().unwrap()), Some(name), "{text}");
        }
        assert_eq!(SYSTEM.to_bytes(), [0; 32], "the System program is the address of zeros");
        assert_eq!(program_name(&Address::new_from_array([1; 32])), None);
    }

    #[test]
    fn every_address_and_every_name_is_listed_once() {
        assert_eq!(NAMES.iter().map(|(address, _)| *address).collect::<HashSet<_>>().len(), NAMES.len());
        assert_eq!(NAMES.iter().map(|(_, name)| *name).collect::<HashSet<_>>().len(), NAMES.len());
    }

    #[test]
    fn two_programs_hold_tokens() {
        assert_eq!(NAMES.iter().filter(|(address, _)| is_token_program(address)).count(), 2);
    }
}
