//! `buildTransfer`: an unsigned transaction that moves SOL or tokens, and what it would change.

use mainstay_core::{Context, Effect, Error, Reply, Result, Spec, Spelling, Tool, hex};
use mainstay_solana::transaction::Transaction;
use schemars::JsonSchema;
use serde::Deserialize;

use super::chain::{Chain, reply};
use super::describe::simulated;
use super::sending::Stop;
use super::transfer::{Built, Moved, address, amount, build};
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
        match self.build(&args, &network, context).await {
            Ok(reply) => Ok(reply),
            Err(stop) => stop.into_reply(context),
        }
    }
}

impl BuildTransfer {
    async fn build(&self, args: &Args, network: &str, context: &Context) -> Result<Reply, Stop> {
        let (from, to) = (address("from", &args.from)?, address("to", &args.to)?);
        let Built { message, last_valid_height } = build(&self.0, network, from, to, moved(args)?, context).await?;
        let (hash, transaction) = (message.hash(), Transaction::unsigned(message));
        let found = simulated(&self.0, network, &transaction, context).await??;
        let mut members = found.to_json(network);
        members.insert("transaction".to_owned(), transaction.to_base64().into());
        members.insert("messageHash".to_owned(), hex(&hash).into());
        members.insert("lastValidBlockHeight".to_owned(), last_valid_height.into());
        members.insert("summary".to_owned(), found.words().into());
        Ok(reply(members, context.clock.now()))
    }
}

/// Either an amount of SOL, or a token with its amount.
fn moved(args: &Args) -> Result<Moved> {
    match (args.lamports, &args.mint, &args.amount) {
        (Some(lamports), None, None) => Ok(Moved::Sol { lamports }),
        (None, Some(mint), Some(text)) => Ok(Moved::Token { mint: address("mint", mint)?, amount: amount(text)? }),
        _ => Err(Error::field("lamports", "Pass either lamports, or mint and amount.")),
    }
}
