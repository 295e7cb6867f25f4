//! The names in the configuration.

use super::super::super::SolanaTokenLimit;
use super::*;

#[test]
fn the_settings_of_sending_have_the_documented_names() {
    let mint = recipient().to_string();
    let written = json!({
        "level": "wallet",
        "key_file": "/keys/wallet.json",
        "max_lamports": 1,
        "max_lamports_per_day": 2,
        "tokens": {mint.clone(): {"max_amount": 3, "max_amount_per_day": 4}},
    });
    let sending = SolanaSending {
        level: SendLevel::Wallet,
        key_file: Some("/keys/wallet.json".into()),
        max_lamports: Some(1),
        max_lamports_per_day: Some(2),
        tokens: [(mint, SolanaTokenLimit { max_amount: 3, max_amount_per_day: 4 })].into(),
    };
    assert_eq!(serde_json::to_value(&sending).unwrap(), written);
    assert_eq!(serde_json::from_value::<SolanaSending>(written).unwrap(), sending);
    for (level, name) in [(SendLevel::Off, "off"), (SendLevel::Relay, "relay"), (SendLevel::Wallet, "wallet")] {
        assert_eq!(serde_json::to_value(level).unwrap(), name);
        assert_eq!(level.as_str(), name);
    }
}

#[test]
fn sending_is_off_unless_a_network_says_otherwise() {
    let network: SolanaNetwork = serde_json::from_value(json!({"urls": ["http://127.0.0.1:1"]})).unwrap();
    assert_eq!(network.sending, SolanaSending::default());
    assert_eq!(network.sending.level, SendLevel::Off);
    // A misspelt limit must not pass as none.
    for wrong in [json!({"max_lamport": 1}), json!({"level": "Wallet"}), json!({"tokens": {"x": {"max_amount": 1}}})] {
        assert!(serde_json::from_value::<SolanaSending>(wrong.clone()).is_err(), "{wrong}");
    }
}
