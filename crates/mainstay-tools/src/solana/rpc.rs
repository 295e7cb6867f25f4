//! `solanaRpc`: any method of the chain that reads, with the positional parameters of its RPC interface.

use std::sync::Arc;

use mainstay_core::{
    AnyTool, BoxFuture, Context, Effect, Error, Reply, Result, Spec, Spelling, UntypedTool, quoted, untyped,
};
use mainstay_solana::methods::{self, Commitment, Method, MethodEffect, Params};
use serde_json::{Map, Value, json};

use super::chain::{Chain, failed, invalid, reply};
use super::{DIALECT, output_schema, spec};

const SPEC: Spec = Spec {
    title: "Call any Solana RPC method",
    description: "Calls any read method of the Solana JSON-RPC interface with its positional params, for methods that have \
                  no tool of their own here.",
    spellings: &[Spelling { dialect: DIALECT, name: "solanaRpc" }],
    ..spec("rpc", Effect::Reads)
};

struct Rpc(Chain);

pub(super) fn tool(chain: &Chain) -> Arc<dyn AnyTool> {
    let mut properties = json!({
        "method": {"type": "string", "maxLength": 64, "description": "Such as getBlockProduction."},
        "params": {"type": "array", "default": []},
    });
    let networks = chain.networks();
    if networks.len() > 1 {
        properties["network"] = json!({ "enum": networks });
    }
    let schema = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["method"],
        "properties": properties,
    });
    untyped(
        SPEC,
        schema.as_object().cloned().unwrap_or_default(),
        Some(output_schema(|member| matches!(member, "context" | "cached" | "ageMs"))),
        Rpc(chain.clone()),
    )
}

impl UntypedTool for Rpc {
    fn call<'a>(&'a self, args: Map<String, Value>, context: &'a Context) -> BoxFuture<'a, Result<Reply>> {
        Box::pin(async move {
            let method = find(args.get("method").and_then(Value::as_str).unwrap_or_default())?;
            let sent = args.get("params").and_then(Value::as_array).cloned().unwrap_or_default();
            method.params_from_array(&sent).map_err(|problems| invalid(&problems))?;
            let params = params(method, sent);
            Ok(match self.0.ask(self.0.network(&args), method, &params, context).await {
                Ok(reading) => reply(reading.envelope(), reading.time(context.clock.now())),
                Err(error) => failed(&error, context),
            })
        })
    }
}

/// A method that changes nothing.
fn find(name: &str) -> Result<&'static Method> {
    let Some(method) = methods::find(name) else {
        return Err(match methods::replacement(name) {
            Some(replacement) => Error::field("method", replacement),
            None => Error::field("method", format!("{} is not a method of the Solana RPC interface.", quoted(name))),
        });
    };
    match method.effect {
        MethodEffect::Reads | MethodEffect::Simulates => Ok(method),
        MethodEffect::Sends | MethodEffect::Airdrops => {
            Err(Error::field("method", format!("{name} changes the chain; solanaRpc only reads.")))
        }
    }
}

/// What the client has to know of parameters that a caller put together.
fn params(method: &Method, sent: Vec<Value>) -> Params {
    let options = sent.last().and_then(Value::as_object);
    let option = |name: &str| options.and_then(|options| options.get(name));
    let commitment = option("commitment").and_then(Value::as_str).and_then(Commitment::parse);
    let min_context_slot = option("minContextSlot").and_then(Value::as_u64);
    // The one method that adds the context only when it is asked to.
    let has_context = match method.name {
        "getProgramAccounts" => option("withContext") == Some(&Value::Bool(true)),
        _ => method.has_context,
    };
    Params { sent, commitment, min_context_slot, limit: None, has_context }
}
