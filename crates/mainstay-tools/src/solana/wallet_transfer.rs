//! `transferSol` and `transferToken`: transfers that the wallet of the server signs.

use std::time::Duration;

use mainstay_core::{Context, Reply, Result, Spec, Spelling, Tool, canonical_digest};
use mainstay_solana::transaction::Wallet;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, json};
use solana_address::Address;
use tokio::time::sleep;

use super::DIALECT;
use super::chain::Chain;
use super::send_transaction::{sending_spec, verdict};
use super::sending::{SendCall, Sender, Source, Stop, Wait, refusal};
use super::settings::SendLevel;
use super::transfer::{Built, Moved, address, amount, build};

/// How often and how long to wait for a newer blockhash, if the wallet has signed the same transfer with the newest
/// one.
const NEWER_BLOCKS: u32 = 10;
const BLOCK: Duration = Duration::from_millis(400);

pub(super) struct TransferSol(pub(super) Chain, pub(super) Sender);
pub(super) struct TransferToken(pub(super) Chain, pub(super) Sender);

/// How long to wait.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum WaitFor {
    None,
    #[default]
    Confirmed,
    Finalized,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct SolArgs {
    /// Who receives.
    to: String,
    lamports: u64,
    #[serde(flatten)]
    how: How,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct TokenArgs {
    /// Who receives: a wallet, whose token account is created if necessary.
    to: String,
    mint: String,
    /// In the smallest unit of the token, as decimal text.
    amount: String,
    #[serde(flatten)]
    how: How,
}

/// What transfers have in common.
#[derive(Deserialize, JsonSchema)]
pub(super) struct How {
    network: Option<String>,
    /// Simulate and check only
    #[serde(default)]
    dry_run: bool,
    /// Same key: sent once
    idempotency_key: Option<String>,
    /// Return after
    #[serde(default)]
    wait: WaitFor,
}

impl Tool for TransferSol {
    const SPEC: Spec = Spec {
        title: "Transfer SOL from the wallet",
        description: "Sends SOL from this server's wallet, within its limits and after a person has approved it. It cannot \
                      be undone; use dry_run first.",
        spellings: &[Spelling { dialect: DIALECT, name: "transferSol" }],
        ..sending_spec("transfer_sol")
    };
    type Args = SolArgs;
    type Output = Reply;

    async fn call(&self, args: SolArgs, context: &Context) -> Result<Reply> {
        let moved = Moved::Sol { lamports: args.lamports };
        transfer(&self.0, &self.1, &args.to, moved, args.how, context).await
    }
}

impl Tool for TransferToken {
    const SPEC: Spec = Spec {
        title: "Transfer tokens from the wallet",
        description: "Sends tokens from this server's wallet, within its limits and after a person has approved it. It \
                      cannot be undone; use dry_run first.",
        spellings: &[Spelling { dialect: DIALECT, name: "transferToken" }],
        ..sending_spec("transfer_token")
    };
    type Args = TokenArgs;
    type Output = Reply;

    async fn call(&self, args: TokenArgs, context: &Context) -> Result<Reply> {
        let moved = Moved::Token { mint: address("mint", &args.mint)?, amount: amount(&args.amount)? };
        transfer(&self.0, &self.1, &args.to, moved, args.how, context).await
    }
}

/// Boxed: the two tools share it, and it is large.
async fn transfer(
    chain: &Chain,
    sender: &Sender,
    to: &str,
    moved: Moved,
    how: How,
    context: &Context,
) -> Result<Reply> {
    let to = address("to", to)?;
    Box::pin(send(chain, sender, to, moved, how, context)).await.or_else(|stop| stop.into_reply(context))
}

async fn send(
    chain: &Chain,
    sender: &Sender,
    to: Address,
    moved: Moved,
    how: How,
    context: &Context,
) -> Result<Reply, Stop> {
    let network = how.network.as_deref().unwrap_or_else(|| chain.client().default_network());
    let what = match moved {
        Moved::Sol { lamports } => json!(["SOL", lamports.to_string()]),
        Moved::Token { mint, amount } => json!([mint.to_string(), amount.to_string()]),
    };
    let call = SendCall {
        key: how.idempotency_key,
        args_digest: canonical_digest(&json!(["transfer", network, to.to_string(), what])),
        wait: match how.wait {
            WaitFor::None => Wait::None,
            WaitFor::Confirmed => Wait::Confirmed,
            WaitFor::Finalized => Wait::Finalized,
        },
        // The node's default is a final state, which does not know a new blockhash for some ten seconds.
        options: Map::from_iter([("preflightCommitment".to_owned(), "processed".into())]),
    };
    if !how.dry_run
        && let Some(known) = sender.known(network, None, &call, context).await?
    {
        return Ok(sender.follow(known, None, call.wait, context).await?);
    }
    let checked = async || {
        let policy = sender.allowed(network, SendLevel::Wallet)?;
        let from = policy.wallet().map(Wallet::address).unwrap_or_default();
        let Built { message, last_valid_height } = build(chain, network, from, to, moved, context).await?;
        sender.check(network, Source::Wallet { message, last_valid_height }, context).await
    };
    if how.dry_run {
        return match checked().await {
            Ok(checked) => Ok(verdict(network, checked.verdict(), context)),
            Err(Stop::Refused(reasons)) => Ok(verdict(network, refusal(&reasons), context)),
            Err(stop) => Err(stop),
        };
    }
    for _ in 0..NEWER_BLOCKS {
        match sender.send(checked().await?, call.clone(), context).await {
            // The approval is for the message without its blockhash, so it holds for the next one.
            Err(Stop::SameSignature) => sleep(BLOCK).await,
            sent => return sent,
        }
    }
    Err(Stop::SameSignature)
}
