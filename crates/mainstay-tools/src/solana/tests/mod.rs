//! The family against a stub of a node that answers as it is told.

mod ledger;
mod node;
mod sending;

use mainstay_core::{AnyTool, Context, Effect, Kind, Registry, Reply, Result};
use mainstay_solana::methods::{self, MethodEffect};
use serde_json::{Value, json};

use node::StubNode;

use super::{SendLevel, SolanaSettings};
use crate::testing;

const ADDRESS: &str = "11111111111111111111111111111112";

/// The family with a node of its own.
struct Chain {
    registry: Registry,
    node: StubNode,
}

async fn chain() -> Chain {
    let node = StubNode::start().await;
    let mut settings = SolanaSettings::default();
    settings.use_node(&node.url);
    let store = testing::setup().await.store;
    Chain { registry: Registry::new(vec![super::family(&settings, &store).unwrap()]).unwrap(), node }
}

impl Chain {
    async fn call(&self, name: &str, args: Value) -> Result<Reply> {
        let tool = self.registry.tool(name).unwrap_or_else(|| panic!("there is no tool {name}"));
        tool.check(&args)?;
        tool.call(args, &Context::detached()).await
    }

    async fn value(&self, name: &str, args: Value) -> Value {
        let reply = self.call(name, args).await.unwrap();
        assert!(!reply.failed, "{reply:?}");
        reply.structured.unwrap()
    }
}

/// What is declared is what is dispatched, on the chain's names and on ours.
#[tokio::test]
async fn every_method_has_a_tool_of_its_name() {
    let chain = chain().await;
    for method in methods::all() {
        let tool = chain.registry.tool(method.name).unwrap_or_else(|| panic!("there is no tool {}", method.name));
        let is_read = matches!(method.effect, MethodEffect::Reads | MethodEffect::Simulates);
        assert_eq!(tool.info().effect == Effect::Reads, is_read, "{}", method.name);
        assert_eq!(tool.info().listed, format!("solana_{}", method.name));
        assert_eq!(tool.info().spelling("solana"), Some(method.name));
    }
    for (name, listed) in [
        ("solanaRpc", "solana_rpc"),
        ("solanaNetworks", "solana_networks"),
        ("describeTransaction", "solana_describe_transaction"),
        ("buildTransfer", "solana_build_transfer"),
    ] {
        assert_eq!(chain.registry.tool(name).unwrap().info().listed, listed);
    }
}

/// Every client that lists tools pays for them. Four characters are about one token.
#[tokio::test]
async fn the_core_profile_is_small_enough_to_list() {
    let mut settings = SolanaSettings::default();
    let store = testing::setup().await.store;
    let listed = |settings: &SolanaSettings| {
        let registry = Registry::new(vec![super::family(settings, &store).unwrap()]).unwrap();
        registry.tools_for(&mainstay_core::Caller::local(None), None, 500).unwrap().items
    };
    assert_eq!(listed(&settings).len(), 21, "what sends nothing is not listed");
    settings.networks.entry("devnet".to_owned()).or_default().sending.level = SendLevel::Relay;
    let listed = listed(&settings);
    // With what a list has of each: the annotations are five members of the same length.
    let length = |tool: &dyn AnyTool| {
        let info = tool.info();
        let annotations = 120 + info.title.len();
        let shown = json!({
            "name": info.listed, "title": info.title, "description": info.description,
            "inputSchema": *info.input_schema, "outputSchema": info.output_schema.as_deref(),
        });
        shown.to_string().len() + annotations
    };
    let tokens = listed.iter().map(|tool| length(&**tool)).sum::<usize>() / 4;
    assert_eq!(listed.len(), 22, "{:?}", listed.iter().map(|tool| tool.info().listed.clone()).collect::<Vec<_>>());
    assert!(tokens <= 6_000, "{tokens}");
}

#[tokio::test]
async fn a_balance_is_told_exactly_with_its_slot() {
    let chain = chain().await;
    let huge = 18_446_744_073_709_551_615_u64;
    chain.node.answer("getBalance", json!({"context": {"slot": 7, "apiVersion": "4.1.2"}, "value": huge}));
    let reply = chain.call("getBalance", json!({"pubkey": ADDRESS})).await.unwrap();
    let expected = json!({
        "network": "localnet",
        "context": {"slot": 7, "apiVersion": "4.1.2"},
        "value": huge,
        "display": {"lamports": "18446744073709551615", "sol": "18446744073.709551615"},
    });
    assert_eq!(reply.structured, Some(expected.clone()));
    let block = &reply.content[0];
    assert_eq!(serde_json::from_str::<Value>(block.as_text().unwrap()).unwrap(), expected);
    let annotations = block.annotations.as_ref().unwrap();
    assert!(
        annotations.last_modified.is_some() && annotations.priority == Some(0.8) && annotations.audience.len() == 2
    );
    assert_eq!(chain.node.params("getBalance"), json!([ADDRESS, {"commitment": "confirmed"}]));
}

#[tokio::test]
async fn an_error_of_the_node_is_a_result_that_says_what_to_do() {
    let chain = chain().await;
    chain.node.fail("getBlock", -32007, "Slot 5 was skipped");
    let reply = chain.call("getBlock", json!({"slot": 5})).await.unwrap();
    assert!(reply.failed);
    let error = &reply.structured.unwrap()["error"];
    assert_eq!((&error["code"], &error["message"]), (&json!(-32007), &json!("Slot 5 was skipped")));
    assert!(error["hint"].as_str().unwrap().len() > 10 && error["retryable"] == false, "{error}");
}

#[tokio::test]
async fn arguments_are_checked_before_a_node_is_asked() {
    let chain = chain().await;
    for (name, args) in [
        ("getBalance", json!({"pubkey": "0OIl0OIl0OIl0OIl0OIl0OIl0OIl0OIl"})),
        ("getBalance", json!({"pubkey": ADDRESS, "network": "mars"})),
        ("getMultipleAccounts", json!({"pubkeys": vec![ADDRESS; 101]})),
        ("getTokenAccountsByOwner", json!({"owner": ADDRESS})),
        ("solanaRpc", json!({"method": "getMoon"})),
        ("solanaRpc", json!({"method": "sendTransaction", "params": ["AA=="]})),
        ("solanaRpc", json!({"method": "getRecentBlockhash"})),
        ("getRecentBlockhash", json!({})),
        ("describeTransaction", json!({})),
        ("describeTransaction", json!({"transaction": "AA=="})),
        ("buildTransfer", json!({"from": ADDRESS, "to": ADDRESS})),
        ("buildTransfer", json!({"from": "x", "to": ADDRESS, "lamports": 1})),
    ] {
        let error = chain.call(name, args.clone()).await.unwrap_err();
        assert_eq!(error.kind, Kind::Invalid, "{name} {args}: {error:?}");
    }
    assert_eq!(chain.node.requests(), 0);
    let removed = chain.call("getRecentBlockhash", json!({})).await.unwrap_err();
    assert!(removed.public.contains("getLatestBlockhash"), "{}", removed.public);
}

#[tokio::test]
async fn any_method_that_reads_can_be_called_with_its_own_params() {
    let chain = chain().await;
    chain.node.answer("getBlockTime", json!(1_700_000_000));
    let value = chain.value("solanaRpc", json!({"method": "getBlockTime", "params": [5]})).await;
    assert_eq!((&value["value"], &value["network"]), (&json!(1_700_000_000), &json!("localnet")));
    assert_eq!(chain.node.params("getBlockTime"), json!([5]));
}

/// A session that has seen slot 9 is not shown the state of slot 8.
#[tokio::test]
async fn a_session_does_not_go_back_in_time() {
    let chain = chain().await;
    let mut context = Context::detached();
    context.session = Some("session".into());
    let tool = chain.registry.tool("getBalance").unwrap();
    chain.node.answer("getBalance", json!({"context": {"slot": 9}, "value": 1}));
    tool.call(json!({"pubkey": ADDRESS}), &context).await.unwrap();
    chain.node.answer("getBalance", json!({"context": {"slot": 9}, "value": 2}));
    let other = "11111111111111111111111111111113";
    tool.call(json!({"pubkey": other}), &context).await.unwrap();
    assert_eq!(chain.node.params("getBalance"), json!([other, {"commitment": "confirmed", "minContextSlot": 9}]));
}

#[tokio::test]
async fn accounts_are_resources() {
    let chain = chain().await;
    let account = json!({"lamports": 5, "owner": ADDRESS, "data": ["", "base64"], "executable": false});
    chain.node.answer("getAccountInfo", json!({"context": {"slot": 3}, "value": account}));
    let uri = format!("solana://localnet/account/{ADDRESS}");
    let provider = chain.registry.provider(&uri).unwrap();
    let contents = provider.read(&uri, &Context::detached()).await.unwrap();
    let mainstay_core::Body::Text(text) = &contents[0].body else { panic!("{contents:?}") };
    let value: Value = serde_json::from_str(text).unwrap();
    assert_eq!(value, json!({"network": "localnet", "context": {"slot": 3}, "value": account}));
    for wrong in ["solana://localnet/account", "solana://mars/account/1", "solana://localnet/account/x"] {
        assert_eq!(provider.read(wrong, &Context::detached()).await.unwrap_err().kind, Kind::Invalid, "{wrong}");
    }
    let templates: Vec<String> = provider.templates().into_iter().map(|template| template.uri).collect();
    let kinds = ["account/{pubkey}", "tx/{signature}", "logs/{pubkey}", "slot"];
    assert_eq!(templates, kinds.map(|kind| format!("solana://{{network}}/{kind}")));
}

#[tokio::test]
async fn the_metrics_have_the_contracts_names() {
    let chain = chain().await;
    chain.node.answer("getBalance", json!({"context": {"slot": 7}, "value": 1}));
    chain.value("getBalance", json!({"pubkey": ADDRESS})).await;
    chain.node.fail("getBlock", -32007, "skipped");
    chain.call("getBlock", json!({"slot": 5})).await.unwrap();
    let text: String = chain.registry.metrics().collect();
    for expected in [
        r#"solana_mcp_rpc_requests_total{method="getBalance",network="localnet"} 1"#,
        r#"solana_mcp_rpc_requests_successful_total{method="getBalance",network="localnet"} 1"#,
        r#"solana_mcp_rpc_requests_failed_total{method="getBlock",network="localnet",error_type="node"} 1"#,
        r#"solana_mcp_rpc_errors_total{error_type="node"} 1"#,
        r#"solana_mcp_rpc_request_duration_seconds_count{method="getBalance",network="localnet"} 1"#,
        "solana_mcp_cache_hits_total 0",
        "solana_mcp_cache_misses_total 1",
        "solana_mcp_cache_size ",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert!(!text.contains("# EOF"), "the server ends the text");
}

#[tokio::test]
async fn networks_are_listed_with_their_nodes() {
    let chain = chain().await;
    chain.node.answer("getSlot", json!(42));
    chain.node.answer("getGenesisHash", json!("11111111111111111111111111111111"));
    chain.node.answer("getVersion", json!({"solana-core": "4.1.2", "feature-set": 1}));
    let value = chain.value("solanaNetworks", json!({"network": "localnet"})).await;
    let network = &value["networks"][0];
    assert_eq!((&value["default"], &network["name"]), (&json!("localnet"), &json!("localnet")));
    assert_eq!((&network["slot"], &network["version"]), (&json!(42), &json!("4.1.2")));
    assert_eq!(network["nodes"][0]["circuit"], "closed");
    assert_eq!(chain.call("solanaNetworks", json!({"network": "mars"})).await.unwrap_err().kind, Kind::Invalid);
}
