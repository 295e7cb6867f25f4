//! Everything that can speak against a transaction, before a person is asked.

use mainstay_core::{Context, Error, hex};
use mainstay_solana::transaction::{Deltas, Message, Transaction, format_sol, uses_durable_nonce};
use mainstay_store::Spend;
use serde_json::{Value, json};
use solana_address::Address;

use super::super::describe::ask;
use super::super::explanation::Explanation;
use super::super::settings::SendLevel;
use super::Sender;
use super::policy::{NetworkPolicy, SOL, SpendLimit};
use super::simulation::Simulation;
use super::stop::Stop;

/// A blockhash is valid for this many blocks. When those of a transaction that others have built end is not known, but
/// not later than this many from now.
const BLOCKHASH_BLOCKS: u64 = 150;

/// A transaction to send.
pub(in super::super) enum Source {
    /// Others have signed it.
    Signed(Transaction),
    /// The wallet of the network is to sign it.
    Wallet { message: Message, last_valid_height: u64 },
}

/// A transaction that nothing speaks against but that nobody has approved yet.
pub(in super::super) struct Checked {
    pub(super) network: String,
    pub(super) source: Source,
    pub(super) last_valid_height: u64,
    pub(super) explanation: Explanation,
    pub(super) spends: Vec<Spend>,
}

impl Checked {
    /// What an approval is bound to: the message, and for one that is built here, the message without its blockhash.
    pub(super) fn message_hash(&self) -> String {
        match &self.source {
            Source::Signed(transaction) => hex(&transaction.message().hash()),
            Source::Wallet { message, .. } => hex(&message.hash_without_blockhash()),
        }
    }

    /// For the person who decides, and for a dry run: one line for each thing to know.
    pub(super) fn lines(&self) -> Vec<String> {
        self.explanation.words(false).lines().map(str::to_owned).collect()
    }

    /// The reply of a dry run.
    pub(in super::super) fn verdict(&self) -> Value {
        json!({
            "verdict": "allowed",
            "reasons": [],
            "needs": "the approval of a person",
            "messageHash": self.message_hash(),
            "lastValidBlockHeight": self.last_valid_height,
            "summary": self.lines(),
        })
    }
}

/// The reply of a dry run of a transaction that is refused.
pub(in super::super) fn refusal(reasons: &[String]) -> Value {
    json!({"verdict": "refused", "reasons": reasons})
}

impl Sender {
    /// What is allowed on a network; if nothing is, says so.
    pub(in super::super) fn allowed(&self, network: &str, level: SendLevel) -> Result<&NetworkPolicy, Stop> {
        let setting = format!("solana.networks.{network}.sending.level");
        match self.policy(network) {
            Some(policy) if policy.level() >= level => Ok(policy),
            Some(_) => Err(Stop::refused(format!(
                "This server has no wallet on {network}. Build the transaction with buildTransfer, have it signed, and send \
                 it with sendTransaction; or the operator sets {setting} to \"wallet\"."
            ))),
            None => Err(Stop::refused(format!(
                "Sending transactions to {network} is off. The operator can allow it: {setting}."
            ))),
        }
    }

    /// Verifies, applies the policy and simulates.
    pub(in super::super) async fn check(
        &self,
        network: &str,
        source: Source,
        context: &Context,
    ) -> Result<Checked, Stop> {
        let level = match source {
            Source::Signed(_) => SendLevel::Relay,
            Source::Wallet { .. } => SendLevel::Wallet,
        };
        let policy = self.allowed(network, level)?;
        let chain = &self.0.chain;
        let (transaction, last_valid_height) = match &source {
            Source::Signed(transaction) => {
                check_signatures(transaction)?;
                (transaction.clone(), self.last_valid_height(network, transaction.message(), context).await?)
            }
            Source::Wallet { message, last_valid_height } => {
                (Transaction::unsigned(message.clone()), *last_valid_height)
            }
        };
        let simulation = Simulation::of(chain, network, &transaction, context).await?;
        if let Some(failure) = simulation.failure() {
            return Err(Stop::refused(failure));
        }
        let spends = spends(policy, transaction.message(), &simulation)?;
        self.check_day(network, &spends, context).await?;
        let explanation =
            Explanation::of_simulated(&transaction, &simulation.value).with_deltas(simulation.deltas.clone());
        Ok(Checked { network: network.to_owned(), source, last_valid_height, explanation, spends })
    }

    /// The highest block height at which a transaction of others may still be executed.
    async fn last_valid_height(&self, network: &str, message: &Message, context: &Context) -> Result<u64, Stop> {
        let chain = &self.0.chain;
        let blockhash = message.recent_blockhash().to_string();
        let args = json!({"blockhash": blockhash, "commitment": "processed", "network": network});
        let (slot, valid) = ask(chain, "isBlockhashValid", &args, context).await??;
        if valid != true {
            return Err(Stop::refused(format!(
                "The blockhash {blockhash} of the transaction has expired or is not one of {network}. Build and sign the \
                 transaction anew; a blockhash is valid for about a minute."
            )));
        }
        // The height of a node that is behind would be too low, and so would be the end: the node must have reached the
        // slot at which the blockhash was found to be valid. Not every node heeds the option.
        let slot = slot.unwrap_or_default();
        let args = json!({"commitment": "processed", "minContextSlot": slot, "network": network});
        let (_, epoch) = ask(chain, "getEpochInfo", &args, context).await??;
        match (epoch["blockHeight"].as_u64(), epoch["absoluteSlot"].as_u64()) {
            (Some(height), Some(reached)) if reached >= slot => Ok(height.saturating_add(BLOCKHASH_BLOCKS)),
            (Some(_), Some(_)) => Err(Error::unavailable("The nodes differ in how far they are. Try again.").into()),
            _ => Err(Error::internal("the node's epoch has no block height").into()),
        }
    }

    /// Whether the day's limits leave room. What decides is the reservation when the transaction is recorded; here a
    /// person is kept from being asked in vain.
    async fn check_day(&self, network: &str, spends: &[Spend], context: &Context) -> Result<(), Stop> {
        for spend in spends {
            let transactions = self.0.store.sent_transactions();
            let spent = transactions.spent(network, &spend.account, &spend.asset, context.clock.now_ms()).await;
            let spent = spent.map_err(Error::from)?;
            if spent.saturating_add(spend.amount) > spend.limit {
                return Err(over_day(&spend.asset, spent, spend.limit));
            }
        }
        Ok(())
    }
}

/// The refusal of a transaction that exceeds the limit of 24 hours.
pub(super) fn over_day(asset: &str, spent: u64, limit: u64) -> Stop {
    let amount = |amount: u64| shown(asset, amount);
    Stop::refused(format!(
        "The limit of 24 hours would be exceeded: {} of {} are spent or reserved.",
        amount(spent),
        amount(limit)
    ))
}

fn check_signatures(transaction: &Transaction) -> Result<(), Stop> {
    let mut reasons = Vec::new();
    if let Err(wrong) = transaction.verify() {
        let wrong: Vec<String> = wrong.iter().map(Address::to_string).collect();
        reasons.push(format!("The signature is missing or does not fit the message for: {}.", wrong.join(", ")));
    }
    if uses_durable_nonce(transaction.message()) {
        reasons.push(
            "The transaction uses a durable nonce. It could be executed at any later time, so whether it was sent could \
             never be told for certain; use a recent blockhash."
                .to_owned(),
        );
    }
    if reasons.is_empty() { Ok(()) } else { Err(Stop::Refused(reasons)) }
}

/// What the transaction takes from its signers, as far as that is limited. Fails if that is too much or not known.
fn spends(policy: &NetworkPolicy, message: &Message, simulation: &Simulation) -> Result<Vec<Spend>, Stop> {
    let Some(deltas) = &simulation.deltas else {
        if policy.has_limits() {
            return Err(Stop::refused(
                "The node does not tell what the transaction would change, so it cannot be compared with the limits. Use \
                 another node.",
            ));
        }
        return Ok(Vec::new());
    };
    let mut spends = Vec::new();
    let mut reasons = Vec::new();
    let mut add = |account: &Address, asset: String, amount: u64, limit: Option<SpendLimit>| {
        let Some(SpendLimit { per_transaction, per_day, setting }) = limit.filter(|_| amount > 0) else { return };
        if amount > per_transaction {
            let (amount, most) = (shown(&asset, amount), shown(&asset, per_transaction));
            reasons.push(format!(
                "The transaction would take {amount} from {account}; at most {most} are allowed ({setting})."
            ));
        }
        spends.push(Spend { account: account.to_string(), asset, amount, limit: per_day });
    };
    for signer in message.signers() {
        let pays = *signer == message.fee_payer();
        add(signer, SOL.to_owned(), lamports_from(signer, deltas, simulation.fee, pays), policy.sol_limit());
        for (mint, amount) in tokens_from(signer, deltas) {
            add(signer, mint.to_string(), amount, policy.token_limit(signer, &mint));
        }
    }
    if reasons.is_empty() { Ok(spends) } else { Err(Stop::Refused(reasons)) }
}

/// Lamports that leave an account. Where balances were compared by accounts, the node may have left the fee out: then
/// it counts on top, which is never too little.
fn lamports_from(account: &Address, deltas: &Deltas, fee: u64, pays: bool) -> u64 {
    let change: i128 = deltas.sol.iter().filter(|(changed, _)| changed == account).map(|(_, change)| change).sum();
    let fee = if pays && deltas.fee.is_none() { i128::from(fee) } else { 0 };
    u64::try_from((-change).saturating_add(fee).max(0)).unwrap_or(u64::MAX)
}

/// What an owner loses of each token, over all its token accounts.
fn tokens_from(owner: &Address, deltas: &Deltas) -> Vec<(Address, u64)> {
    let mut changes: Vec<(Address, i128)> = Vec::new();
    for delta in deltas.tokens.iter().filter(|delta| delta.owner == Some(*owner)) {
        match changes.iter_mut().find(|(mint, _)| *mint == delta.mint) {
            Some((_, change)) => *change += delta.amount,
            None => changes.push((delta.mint, delta.amount)),
        }
    }
    let lost = |(mint, change): (Address, i128)| (mint, u64::try_from((-change).max(0)).unwrap_or(u64::MAX));
    changes.into_iter().map(lost).filter(|(_, amount)| *amount > 0).collect()
}

/// An amount for people.
fn shown(asset: &str, amount: u64) -> String {
    if asset == SOL {
        format!("{} SOL", format_sol(amount.into()))
    } else {
        format!("{amount} (smallest unit) of the token {asset}")
    }
}
