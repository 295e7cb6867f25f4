//! Messages that move SOL or tokens, for the tools that build and send them.

use std::str::FromStr as _;

use mainstay_core::{Context, Error, Result, quoted};
use mainstay_solana::transaction::{BuildError, Message, TokenTransfer, transfer_sol, transfer_token};
use serde_json::json;
use solana_address::Address;
use solana_hash::Hash;

use super::chain::Chain;
use super::describe::ask;
use super::sending::Stop;

/// What is moved.
#[derive(Clone, Copy)]
pub(super) enum Moved {
    Sol { lamports: u64 },
    Token { mint: Address, amount: u64 },
}

/// A message with the newest blockhash.
pub(super) struct Built {
    pub(super) message: Message,
    /// The last block height at which it is valid.
    pub(super) last_valid_height: u64,
}

/// The message of a transfer; `from` signs and pays.
pub(super) async fn build(
    chain: &Chain,
    network: &str,
    from: Address,
    to: Address,
    moved: Moved,
    context: &Context,
) -> Result<Built, Stop> {
    let (_, latest) = ask(chain, "getLatestBlockhash", &json!({ "network": network }), context).await??;
    let blockhash = latest["blockhash"].as_str().and_then(|hash| Hash::from_str(hash).ok());
    let (Some(blockhash), Some(last_valid_height)) = (blockhash, latest["lastValidBlockHeight"].as_u64()) else {
        return Err(Error::internal("the node's blockhash is none").into());
    };
    let message = match moved {
        Moved::Sol { lamports } => transfer_sol(from, to, lamports, blockhash),
        Moved::Token { mint, amount } => {
            let (token_program, decimals) = mint_of(chain, network, mint, context).await?;
            let transfer = TokenTransfer {
                owner: from,
                source: None,
                mint,
                destination_owner: to,
                amount,
                decimals,
                token_program,
                create_destination: true,
            };
            transfer_token(&transfer, blockhash)
        }
    };
    let message = message.map_err(|error: BuildError| Error::invalid(error.to_string()))?;
    Ok(Built { message, last_valid_height })
}

/// The mint says which program it belongs to and how many decimals it has; a transfer that names others is refused.
async fn mint_of(chain: &Chain, network: &str, mint: Address, context: &Context) -> Result<(Address, u8), Stop> {
    let args = json!({"pubkey": mint.to_string(), "network": network});
    let (_, account) = ask(chain, "getAccountInfo", &args, context).await??;
    let parsed = &account["data"]["parsed"];
    let decimals = parsed["info"]["decimals"].as_u64().and_then(|decimals| u8::try_from(decimals).ok());
    let program = account["owner"].as_str().and_then(|owner| Address::from_str(owner).ok());
    match (decimals, program, parsed["type"] == "mint") {
        (Some(decimals), Some(program), true) => Ok((program, decimals)),
        _ => Err(Error::field("mint", format!("{mint} is not the mint of a token on {network}.")).into()),
    }
}

/// An address among the arguments.
pub(super) fn address(argument: &'static str, text: &str) -> Result<Address> {
    Address::from_str(text)
        .map_err(|_| Error::field(argument, "It must be an address: 32 bytes in base58, without 0, O, I and l."))
}

/// An amount of tokens, as text: it may exceed what a JavaScript number holds.
pub(super) fn amount(text: &str) -> Result<u64> {
    let wrong = || Error::field("amount", format!("{} is not a whole number of the smallest unit.", quoted(text)));
    text.parse().map_err(|_| wrong())
}
