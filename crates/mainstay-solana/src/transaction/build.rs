//! Builders of unsigned messages: the transfers that a wallet here may sign.

use solana_address::Address;
use solana_hash::Hash;

use super::error::DecodeError;
use super::message::{Header, Instruction, Message, MessageParts, Version};
use super::programs::{ASSOCIATED_TOKEN, SYSTEM, TOKEN, TOKEN_2022, is_token_program};

/// Instruction numbers of the programs. The unchecked transfer of tokens (3) is not used: it takes any mint and any number of
/// decimal places.
const SYSTEM_TRANSFER: u32 = 2;
const TOKEN_TRANSFER_CHECKED: u8 = 12;
const ASSOCIATED_CREATE_IDEMPOTENT: u8 = 1;

/// Why a message cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    #[error("{0} is not a token program. Use {TOKEN} (Token) or {TOKEN_2022} (Token-2022), whichever owns the mint.")]
    NotATokenProgram(Address),
    #[error("There is no associated token address for the owner {owner} and the mint {mint}.")]
    NoAssociatedAddress { owner: Address, mint: Address },
    #[error(transparent)]
    Invalid(#[from] DecodeError),
}

/// A transfer of tokens between the associated token accounts of two owners.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenTransfer {
    /// Signs, pays the fee and, where asked, for the account of the destination.
    pub owner: Address,
    /// The token account to take from. Default: the owner's associated token account.
    pub source: Option<Address>,
    pub mint: Address,
    /// The owner of the account that receives, not that account.
    pub destination_owner: Address,
    /// In the smallest unit of the token.
    pub amount: u64,
    /// As the mint has it. The program refuses the transfer otherwise, so that a misread amount moves nothing.
    pub decimals: u8,
    /// The program that owns the mint.
    pub token_program: Address,
    /// Create the associated token account of the destination if it does not exist; its rent comes from the owner.
    pub create_destination: bool,
}

/// An account in an instruction that is not yet part of a message.
#[derive(Clone, Copy)]
struct AccountUse {
    address: Address,
    is_signer: bool,
    is_writable: bool,
}

/// An instruction with addresses where a message has indices.
struct Call {
    program: Address,
    accounts: Vec<AccountUse>,
    data: Vec<u8>,
}

/// An account that signs and is not written to.
const fn signer(address: Address) -> AccountUse {
    AccountUse { address, is_signer: true, is_writable: false }
}

const fn paying_signer(address: Address) -> AccountUse {
    AccountUse { address, is_signer: true, is_writable: true }
}

const fn writable(address: Address) -> AccountUse {
    AccountUse { address, is_signer: false, is_writable: true }
}

const fn readonly(address: Address) -> AccountUse {
    AccountUse { address, is_signer: false, is_writable: false }
}

/// A message that moves lamports; `from` signs and pays the fee.
pub fn transfer_sol(from: Address, to: Address, lamports: u64, blockhash: Hash) -> Result<Message, BuildError> {
    let mut data = SYSTEM_TRANSFER.to_le_bytes().to_vec();
    data.extend_from_slice(&lamports.to_le_bytes());
    let call = Call { program: SYSTEM, accounts: vec![paying_signer(from), writable(to)], data };
    compile(from, &[call], blockhash)
}

/// A message that moves tokens; the owner signs and pays the fee. Mints of Token-2022 with a transfer hook need accounts that
/// only their program knows, and their simulation fails.
pub fn transfer_token(transfer: &TokenTransfer, blockhash: Hash) -> Result<Message, BuildError> {
    let TokenTransfer { owner, mint, destination_owner, token_program, .. } = *transfer;
    let source = match transfer.source {
        Some(source) => source,
        None => associated_token_address(owner, mint, token_program)?,
    };
    let destination = associated_token_address(destination_owner, mint, token_program)?;
    let mut calls = Vec::new();
    if transfer.create_destination {
        calls.push(Call {
            program: ASSOCIATED_TOKEN,
            accounts: vec![
                paying_signer(owner),
                writable(destination),
                readonly(destination_owner),
                readonly(mint),
                readonly(SYSTEM),
                readonly(token_program),
            ],
            data: vec![ASSOCIATED_CREATE_IDEMPOTENT],
        });
    }
    let mut data = vec![TOKEN_TRANSFER_CHECKED];
    data.extend_from_slice(&transfer.amount.to_le_bytes());
    data.push(transfer.decimals);
    calls.push(Call {
        program: token_program,
        accounts: vec![writable(source), readonly(mint), writable(destination), signer(owner)],
        data,
    });
    compile(owner, &calls, blockhash)
}

/// The address of the token account that wallets use for an owner and a mint.
pub fn associated_token_address(owner: Address, mint: Address, token_program: Address) -> Result<Address, BuildError> {
    if !is_token_program(&token_program) {
        return Err(BuildError::NotATokenProgram(token_program));
    }
    let seeds = [owner.as_ref(), token_program.as_ref(), mint.as_ref()];
    // None of 255 tries would be off the curve with probability 2^-255.
    Address::try_find_program_address(&seeds, &ASSOCIATED_TOKEN)
        .map(|(address, _)| address)
        .ok_or(BuildError::NoAssociatedAddress { owner, mint })
}

/// Lists every account once, with all the rights that any instruction asks for: the fee payer, then the groups of the header,
/// each sorted by address as the chain's own library does, so that both give the same bytes.
fn compile(fee_payer: Address, calls: &[Call], recent_blockhash: Hash) -> Result<Message, BuildError> {
    let mut uses = vec![paying_signer(fee_payer)];
    for call in calls {
        for used in call.accounts.iter().copied().chain([readonly(call.program)]) {
            match uses.iter_mut().find(|known| known.address == used.address) {
                Some(known) => {
                    known.is_signer |= used.is_signer;
                    known.is_writable |= used.is_writable;
                }
                None => uses.push(used),
            }
        }
    }
    // `false` sorts before `true`.
    uses.sort_by_key(|used| (used.address != fee_payer, !used.is_signer, !used.is_writable, used.address));
    let count = |is_signer: bool, is_writable: Option<bool>| {
        let matches = |used: &&AccountUse| {
            used.is_signer == is_signer && is_writable.is_none_or(|writable| used.is_writable == writable)
        };
        to_index(uses.iter().filter(matches).count())
    };
    let header = Header {
        required_signatures: count(true, None)?,
        readonly_signed: count(true, Some(false))?,
        readonly_unsigned: count(false, Some(false))?,
    };
    let account_keys: Vec<Address> = uses.iter().map(|used| used.address).collect();
    let index_of = |address: Address| {
        // Every address of a call was listed above; a missing one would be refused as out of range.
        to_index(account_keys.iter().position(|key| *key == address).unwrap_or(account_keys.len()))
    };
    let instruction = |call: &Call| {
        Ok::<_, DecodeError>(Instruction {
            program_index: index_of(call.program)?,
            accounts: call.accounts.iter().map(|used| index_of(used.address)).collect::<Result<_, _>>()?,
            data: call.data.clone(),
        })
    };
    let instructions = calls.iter().map(instruction).collect::<Result<_, _>>()?;
    let parts = MessageParts {
        version: Version::Legacy,
        header,
        account_keys,
        recent_blockhash,
        instructions,
        lookups: Vec::new(),
    };
    Ok(Message::from_parts(parts)?)
}

/// Counts of the header and indices of accounts are one byte.
fn to_index(number: usize) -> Result<u8, DecodeError> {
    u8::try_from(number).map_err(|_| DecodeError::TooManyAccounts(number))
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    fn token_transfer(token_program: Address) -> TokenTransfer {
        TokenTransfer {
            owner: testing::address(testing::FIRST),
            source: None,
            mint: Address::new_from_array([5; 32]),
            destination_owner: testing::address(testing::SECOND),
            amount: 1_500_000,
            decimals: 6,
            token_program,
            create_destination: true,
        }
    }

    #[test]
    fn a_transfer_of_sol_has_the_bytes_of_the_chains_library() {
        let (from, to) = (testing::address(testing::FIRST), testing::address(testing::SECOND));
        let built = transfer_sol(from, to, 5_000_000_000, testing::blockhash()).unwrap();
        assert_eq!(built, *testing::transaction(testing::SOL_TRANSFER).message());
        let to_self = transfer_sol(from, from, 1, testing::blockhash()).unwrap();
        assert_eq!(to_self, *testing::transaction(testing::SELF_TRANSFER).message());
    }

    #[test]
    fn a_transfer_of_tokens_has_the_bytes_of_the_chains_library() {
        for (program, vector) in [(TOKEN, testing::TOKEN_TRANSFER), (TOKEN_2022, testing::TOKEN_2022_TRANSFER)] {
            let built = transfer_token(&token_transfer(program), testing::blockhash()).unwrap();
            assert_eq!(built, *testing::transaction(vector).message());
        }
    }

    #[test]
    fn without_the_creation_of_the_destination_only_the_transfer_is_left() {
        let transfer = TokenTransfer { amount: 1, decimals: 0, create_destination: false, ..token_transfer(TOKEN) };
        let built = transfer_token(&transfer, testing::blockhash()).unwrap();
        assert_eq!(built, *testing::transaction(testing::TOKEN_TRANSFER_ONLY).message());
    }

    #[test]
    fn another_source_account_takes_the_place_of_the_associated_one() {
        let source = Address::new_from_array([77; 32]);
        let transfer = TokenTransfer { source: Some(source), create_destination: false, ..token_transfer(TOKEN) };
        let built = transfer_token(&transfer, testing::blockhash()).unwrap();
        let instruction = &built.instructions()[0];
        assert_eq!(built.account_keys()[usize::from(instruction.accounts[0])], source);
        assert!(built.is_writable(usize::from(instruction.accounts[0])));
    }

    #[test]
    fn associated_addresses_are_those_of_the_chains_library() {
        let mint = Address::new_from_array([5; 32]);
        for (owner, program, expected) in [
            (testing::FIRST, TOKEN, "A5i5gEh5tPM1oEF8zoGeXtbwtABTLWkbEbqq4v6axWHN"),
            (testing::SECOND, TOKEN, "4HnG3ZwVSKuPrL18Dqfu7oWRh7C6KiL52K75KyboP2P3"),
            (testing::FIRST, TOKEN_2022, "3a492GBz265mCdaqK3CvLjbZYAYmgPyPYuLWcy4T7nVc"),
            (testing::SECOND, TOKEN_2022, "a5bbSAjdKEasNJcxWDaB8mZJN5GNE6m2Qoe4C829EvC"),
        ] {
            let found = associated_token_address(testing::address(owner), mint, program).unwrap();
            assert_eq!(found.to_string(), expected);
        }
    }

    #[test]
    fn a_program_that_holds_no_tokens_is_refused() {
        let error = transfer_token(&token_transfer(SYSTEM), testing::blockhash()).unwrap_err();
        assert_eq!(error, BuildError::NotATokenProgram(SYSTEM));
        assert!(error.to_string().contains("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA (Token)"), "{error}");
    }

    #[test]
    fn tokens_to_oneself_and_sol_to_the_system_program_still_give_valid_messages() {
        let owner = testing::address(testing::FIRST);
        let to_self = TokenTransfer { destination_owner: owner, ..token_transfer(TOKEN) };
        let built = transfer_token(&to_self, testing::blockhash()).unwrap();
        assert_eq!(built.signers(), [owner]);
        // The program is also the receiver, so it is listed once, as writable.
        let built = transfer_sol(owner, SYSTEM, 1, testing::blockhash()).unwrap();
        assert_eq!(built.account_keys(), [owner, SYSTEM]);
        assert!(built.is_writable(1));
    }
}
