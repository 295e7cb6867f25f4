//! The tools of the method table: one for each RPC method that reads.

use std::sync::{Arc, LazyLock};

use mainstay_core::{AnyTool, BoxFuture, Context, Effect, Reply, Result, Spec, Spelling, UntypedTool, untyped};
use mainstay_solana::methods::{self, CacheClass, Method, MethodEffect};
use serde_json::{Map, Value};

use super::chain::{Chain, failed, reply};
use super::display;
use super::settings::ToolProfile;
use super::{DIALECT, output_schema, spec};

/// Each method under its own name in the dialect.
static SPELLINGS: LazyLock<Vec<[Spelling; 1]>> =
    LazyLock::new(|| methods::all().iter().map(|method| [Spelling { dialect: DIALECT, name: method.name }]).collect());

/// The method whose results come in pages.
const PAGED: &str = "getSignaturesForAddress";

/// One method of the table.
struct MethodTool {
    method: &'static Method,
    chain: Chain,
}

/// The tools of all methods that change nothing.
pub(super) fn tools(chain: &Chain, profile: &ToolProfile) -> Vec<Arc<dyn AnyTool>> {
    let networks = chain.networks();
    let tool = |(method, spelling): (&'static Method, &'static [Spelling; 1])| {
        let is_read = matches!(method.effect, MethodEffect::Reads | MethodEffect::Simulates);
        is_read.then(|| {
            let spec = Spec {
                title: method.name,
                description: method.about,
                spellings: spelling,
                dialects_only: !profile.lists(method.name, method.core),
                ..spec(method.name, Effect::Reads)
            };
            untyped(
                spec,
                method.input_schema(&networks),
                Some(output_schema(|member| may_return(method, member))),
                MethodTool { method, chain: chain.clone() },
            )
        })
    };
    methods::all().iter().zip(SPELLINGS.iter()).filter_map(tool).collect()
}

impl UntypedTool for MethodTool {
    fn call<'a>(&'a self, args: Map<String, Value>, context: &'a Context) -> BoxFuture<'a, Result<Reply>> {
        Box::pin(async move {
            let (params, mut reading) = match self.chain.read(self.method, &args, context).await? {
                Ok(read) => read,
                Err(error) => return Ok(failed(&error, context)),
            };
            let cut = params.limit.is_some_and(|limit| cut(&mut reading.value, limit));
            let next = next_page(self.method, &params.sent, &reading.value);
            let mut envelope = reading.envelope();
            if let Some(display) = display::of(self.method.name, &reading.value) {
                envelope.insert("display".to_owned(), display);
            }
            if cut {
                envelope.insert("truncated".to_owned(), true.into());
            }
            if let Some(next) = next {
                envelope.insert("next".to_owned(), next);
            }
            Ok(reply(envelope, reading.time(context.clock.now())))
        })
    }
}

/// Whether a result of a method may have a member beside its value.
fn may_return(method: &Method, member: &str) -> bool {
    match member {
        "context" => method.has_context,
        "display" => display::has(method.name),
        "cached" | "ageMs" => method.cache != CacheClass::Never,
        "truncated" => method.local.iter().any(|param| param.name == "limit"),
        "next" => method.name == PAGED,
        _ => false,
    }
}

/// Shortens a list to what was asked for. Says whether anything was left out.
fn cut(value: &mut Value, limit: usize) -> bool {
    let Value::Array(items) = value else { return false };
    let is_longer = items.len() > limit;
    items.truncate(limit);
    is_longer
}

/// The argument `before` of the next page, where the chain pages that way and this page is full.
fn next_page(method: &Method, sent: &[Value], value: &Value) -> Option<Value> {
    if method.name != PAGED {
        return None;
    }
    let limit = sent.last()?.get("limit")?.as_u64()?;
    let items = value.as_array()?;
    let is_full = u64::try_from(items.len()).is_ok_and(|count| count >= limit);
    is_full.then(|| items.last().map(|last| last["signature"].clone())).flatten()
}

#[cfg(test)]
mod unit_tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_is_cut_to_its_limit() {
        let mut value = json!([1, 2, 3]);
        assert!(!cut(&mut value, 3));
        assert!(cut(&mut value, 2));
        assert_eq!(value, json!([1, 2]));
        assert!(!cut(&mut json!({"a": 1}), 0));
    }

    #[test]
    fn a_full_page_of_signatures_says_where_the_next_begins() {
        let method = methods::find("getSignaturesForAddress").unwrap();
        let sent = [json!("address"), json!({"limit": 2})];
        let page = json!([{"signature": "a"}, {"signature": "b"}]);
        assert_eq!(next_page(method, &sent, &page), Some(json!("b")));
        assert_eq!(next_page(method, &sent, &json!([{"signature": "a"}])), None);
        assert_eq!(next_page(methods::find("getBalance").unwrap(), &sent, &page), None);
    }
}
