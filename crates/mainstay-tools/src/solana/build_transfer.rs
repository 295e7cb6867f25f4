//! `buildTransfer`: an unsigned transaction that moves SOL or tokens, and what it would change.

use std::str::FromStr as _;

use mainstay_core::{Context, Effect, Error, Reply, Result, Spec, Spelling, Tool, hex, quoted};
use mainstay_solana::rpc::RpcError;
use mainstay_solana::transaction::{BuildError, Message, TokenTransfer, Transaction, transfer_sol, transfer_token};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use solana_address::Address;
use solana_hash::Hash;

use super::chain::{Chain, failed, reply};
use super::describe::{ask, simulated};
use super::{DIALECT, spec};

pub(super) struct BuildTransfer(pub(super) Chain);

#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
    /// Who signs and pays.
    from: String,
    /// Who receives: a wallet, also for tokens.
    to: String,
    /// Amount of SOL in lamports; without mint.
    lamports: Option<u64>,
    /// Token to move.
    mint: Option<String>,
    /// Amount in the smallest unit of the token, as decimal text.
    amount: Option<String>,
    network: Option<String>,
}

/// What is moved.
enum Moved {
    Sol { lamports: u64 },
    Token { mint: Address, amount: u64 },
}

impl Tool for BuildTransfer {
    const SPEC: Spec = Spec {
        title: "Build a Solana transfer",
        description: "Builds an unsigned transaction that moves SOL (lamports) or tokens (mint and amount) and simulates \
                      it: fee, balance changes, warnings. Nothing is signed or sent.",
        spellings: &[Spelling { dialect: DIALECT, name: "buildTransfer" }],
        dialects_only: true,
        ..spec("build_transfer", Effect::Reads)
    };
    type Args = Args;
    type Output = Reply;

    async fn call(&self, args: Args, context: &Context) -> Result<Reply> {
        let network = args.network.clone().unwrap_or_else(|| self.0.client().default_network().to_owned());
        match self.build(&args, &network, context).await? {
            Ok(reply) => Ok(reply),
            Err(error) => Ok(failed(&error, context)),
        }
    }
}

impl BuildTransfer {
    async fn build(
        &self,
        args: &Args,
        network: &str,
        context: &Context,
    ) -> Result<std::result::Result<Reply, RpcError>> {
        let (from, to) = (address("from", &args.from)?, address("to", &args.to)?);
        let moved = moved(args)?;
        let latest = match ask(&self.0, "getLatestBlockhash", &json!({ "network": network }), context).await? {
            Ok((_, latest)) => latest,
            Err(error) => return Ok(Err(error)),
        };
        let blockhash = latest["blockhash"].as_str().and_then(|hash| Hash::from_str(hash).ok());
        let blockhash = blockhash.ok_or_else(|| Error::internal("the node's blockhash is none"))?;
        let message = match moved {
            Moved::Sol { lamports } => transfer_sol(from, to, lamports, blockhash).map_err(|error| wrong(&error))?,
            Moved::Token { mint, amount } => {
                match self.token_message(network, from, to, mint, amount, blockhash, context).await? {
                    Ok(message) => message,
                    Err(error) => return Ok(Err(error)),
                }
            }
        };
        let (hash, transaction) = (message.hash(), Transaction::unsigned(message));
        let found = match simulated(&self.0, network, &transaction, context).await? {
            Ok(found) => found,
            Err(error) => return Ok(Err(error)),
        };
        let mut members = found.to_json(network);
        members.insert("transaction".to_owned(), transaction.to_base64().into());
        members.insert("messageHash".to_owned(), hex(&hash).into());
        members.insert("lastValidBlockHeight".to_owned(), latest["lastValidBlockHeight"].clone());
        members.insert("summary".to_owned(), found.words().into());
        Ok(Ok(reply(members, context.clock.now())))
    }

    /// The mint says which program it belongs to and how many decimals it has; a transfer that names others is refused.
    #[expect(clippy::too_many_arguments, reason = "each is a part of the transfer")]
    async fn token_message(
        &self,
        network: &str,
        from: Address,
        to: Address,
        mint: Address,
        amount: u64,
        blockhash: Hash,
        context: &Context,
    ) -> Result<std::result::Result<Message, RpcError>> {
        let args = json!({"pubkey": mint.to_string(), "network": network});
        let account = match ask(&self.0, "getAccountInfo", &args, context).await? {
            Ok((_, account)) => account,
            Err(error) => return Ok(Err(error)),
        };
        let parsed = &account["data"]["parsed"];
        let decimals = parsed["info"]["decimals"].as_u64().and_then(|decimals| u8::try_from(decimals).ok());
        let program = account["owner"].as_str().and_then(|owner| Address::from_str(owner).ok());
        let (Some(decimals), Some(token_program), true) = (decimals, program, parsed["type"] == "mint") else {
            return Err(Error::field("mint", format!("{mint} is not the mint of a token on {network}.")));
        };
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
        transfer_token(&transfer, blockhash).map(Ok).map_err(|error| wrong(&error))
    }
}

/// Either an amount of SOL, or a token with its amount.
fn moved(args: &Args) -> Result<Moved> {
    match (args.lamports, &args.mint, &args.amount) {
        (Some(lamports), None, None) => Ok(Moved::Sol { lamports }),
        (None, Some(mint), Some(amount)) => {
            let wrong =
                || Error::field("amount", format!("{} is not a whole number of the smallest unit.", quoted(amount)));
            Ok(Moved::Token { mint: address("mint", mint)?, amount: amount.parse().map_err(|_| wrong())? })
        }
        _ => Err(Error::field("lamports", "Pass either lamports, or mint and amount.")),
    }
}

fn address(argument: &'static str, text: &str) -> Result<Address> {
    Address::from_str(text)
        .map_err(|_| Error::field(argument, "It must be an address: 32 bytes in base58, without 0, O, I and l."))
}

fn wrong(error: &BuildError) -> Error {
    Error::invalid(error.to_string())
}
