//! Lamports for tests.

use mainstay_core::Kind;
use mainstay_solana::rpc::known_network;

use super::super::ledger::Fault;
use super::*;

fn args() -> Value {
    json!({"pubkey": recipient().to_string(), "lamports": 5})
}

/// The family with a network of this name, whose node has this genesis.
async fn named(name: &str, genesis: &str) -> (World, Registry) {
    let world = World::relay(Ledger::every(BLOCK)).await;
    world.ledger.answer("getGenesisHash", genesis);
    let network = world.settings.networks[NETWORK].clone();
    let settings = SolanaSettings {
        network: name.to_owned(),
        networks: [(name.to_owned(), network)].into(),
        ..SolanaSettings::default()
    };
    let registry = Registry::new(vec![paced_family(&settings, &world.store, PACE).unwrap()]).unwrap();
    (world, registry)
}

#[tokio::test]
async fn there_is_none_on_mainnet_whatever_its_name() {
    let mainnet = known_network("mainnet").unwrap().genesis_hash.unwrap();
    for name in ["mainnet", "production"] {
        let (world, registry) = named(name, &mainnet).await;
        let tool = registry.tool("requestAirdrop").unwrap();
        let reply = tool.call(args(), &unapproved()).await.unwrap();
        assert!(refusal(&reply).contains("mainnet"), "{reply:?}");
        assert_eq!(world.ledger.requests("requestAirdrop"), 0, "{name}");
    }
    let (world, registry) = named("mainnet", &mainnet).await;
    let mut args = args();
    args["network"] = "mainnet".into();
    let error = registry.tool("requestAirdrop").unwrap().check(&args).unwrap_err();
    assert_eq!(error.kind, Kind::Invalid, "the schema does not offer it either");
    assert_eq!(world.ledger.all_requests(), 0);
}

#[tokio::test]
async fn it_is_asked_for_once() {
    let world = World::with(Ledger::every(BLOCK), 2, PACE, |_| SolanaSending::default()).await;
    let reply = world.call("requestAirdrop", args(), &unapproved()).await.unwrap();
    assert_eq!(value(&reply), &json!("1".repeat(64)));
    let faults = [
        Fault::Status { status: 503, retry_after: None, taken: true },
        Fault::Closed { taken: true },
        Fault::Truncated,
    ];
    for (number, fault) in faults.into_iter().enumerate() {
        world.ledger.inject("requestAirdrop", fault);
        let reply = world.call("requestAirdrop", args(), &unapproved()).await.unwrap();
        let told = error(&reply);
        assert_eq!(told["retryable"], false, "{fault:?}: it may have been paid out");
        assert!(told["hint"].as_str().unwrap().contains("balance"), "{told}");
        assert_eq!(world.ledger.requests("requestAirdrop"), number + 2, "{fault:?}");
    }
}
