//! `sendTransaction`: sends a transaction that others have signed.

use std::sync::Arc;

use mainstay_core::{AnyTool, BoxFuture, Context, Effect, Pace, Reply, Result, Spec, Spelling, UntypedTool, untyped};
use mainstay_solana::methods::{self, Method};
use mainstay_solana::transaction::Transaction;
use serde_json::{Map, Value, json};

use super::chain::{Chain, reply};
use super::explanation::decode;
use super::sending::{SendCall, Sender, Source, Stop, Wait, refusal};
use super::settings::ToolProfile;
use super::{DIALECT, output_schema, spec};

const NAME: &str = "sendTransaction";

struct SendTransaction {
    method: &'static Method,
    chain: Chain,
    sender: Sender,
}

/// The tool. While nothing may be sent, it is not listed on the standard endpoint, where it would cost tokens for
/// nothing.
pub(super) fn tool(chain: &Chain, sender: &Sender, profile: &ToolProfile) -> Option<Arc<dyn AnyTool>> {
    let method = methods::find(NAME)?;
    let spec = Spec {
        title: "Send a Solana transaction",
        description: method.about,
        spellings: &[Spelling { dialect: DIALECT, name: NAME }],
        dialects_only: !(sender.is_on() && profile.lists(NAME, method.core)),
        ..sending_spec(NAME)
    };
    let tool = SendTransaction { method, chain: chain.clone(), sender: sender.clone() };
    Some(untyped(spec, method.input_schema(&chain.networks()), Some(output_schema(|_| false)), tool))
}

/// What all tools that send have in common. A person is asked whatever the effect is, so they need a connection that
/// can ask.
pub(super) const fn sending_spec(verb: &'static str) -> Spec {
    Spec { pace: Pace::Long, dry_run: true, plans: true, may_ask: Some(may_ask), ..spec(verb, Effect::Destroys) }
}

fn may_ask(args: &Value) -> bool {
    args.get("dry_run") != Some(&Value::Bool(true))
}

/// The reply of a dry run: whether the transaction would be allowed, and what it would do.
pub(super) fn verdict(network: &str, value: Value, context: &Context) -> Reply {
    let members = Map::from_iter([("network".to_owned(), json!(network)), ("value".to_owned(), value)]);
    reply(members, context.clock.now())
}

impl UntypedTool for SendTransaction {
    fn call<'a>(&'a self, args: Map<String, Value>, context: &'a Context) -> BoxFuture<'a, Result<Reply>> {
        Box::pin(async move {
            let outcome = self.send(&args, context).await;
            outcome.or_else(|stop| stop.into_reply(context))
        })
    }
}

impl SendTransaction {
    async fn send(&self, args: &Map<String, Value>, context: &Context) -> Result<Reply, Stop> {
        let params = self.chain.params(self.method, args)?;
        let text = |name: &str| args.get(name).and_then(Value::as_str);
        let network = self.chain.network(args);
        let transaction = decode(text("transaction").unwrap_or_default())?;
        if args.get("dry_run") == Some(&Value::Bool(true)) {
            return match self.sender.check(network, Source::Signed(transaction), context).await {
                Ok(checked) => Ok(verdict(network, checked.verdict(), context)),
                Err(Stop::Refused(reasons)) => Ok(verdict(network, refusal(&reasons), context)),
                Err(stop) => Err(stop),
            };
        }
        let call = SendCall {
            key: text("idempotency_key").map(str::to_owned),
            args_digest: digest(network, &transaction),
            wait: Wait::parse(text("wait")),
            options: params
                .sent
                .into_iter()
                .next_back()
                .and_then(|options| options.as_object().cloned())
                .unwrap_or_default(),
        };
        let signature = transaction.id().map(|id| id.to_string());
        if let Some(known) = self.sender.known(network, signature.as_deref(), &call, context).await? {
            return Ok(self.sender.follow(known, None, call.wait, context).await?);
        }
        let checked = self.sender.check(network, Source::Signed(transaction), context).await?;
        self.sender.send(checked, call, context).await
    }
}

fn digest(network: &str, transaction: &Transaction) -> String {
    mainstay_core::canonical_digest(&json!([NAME, network, transaction.to_base64()]))
}
