//! A token from its mint to a transfer by the wallet of the server.

use mainstay_solana::transaction::{
    Header, Instruction, Message, MessageParts, Transaction, Version, associated_token_address,
};
use serde_json::{Value, json};

use super::chain::{Chain, key_pair, wallet};
use super::sending::{WALLET, wallet_settings};

const MINT: u8 = 50;
const SYSTEM: &str = "11111111111111111111111111111111";
const TOKEN: &str = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
const ASSOCIATED_TOKEN: &str = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL";
/// The size of a mint.
const MINT_BYTES: u64 = 82;

/// A transaction that creates a token of 6 decimals and 1,000 of it for the wallet, signed by the wallet and the mint.
fn mint_transaction(rent: u64, blockhash: &str) -> Transaction {
    let owner = wallet(WALLET).address();
    let mint = wallet(MINT).address();
    let [system, token, associated] = [SYSTEM, TOKEN, ASSOCIATED_TOKEN].map(|text| text.parse().unwrap());
    let account = associated_token_address(owner, mint, token).unwrap();
    let call = |program_index, accounts: &[u8], data: &[&[u8]]| Instruction {
        program_index,
        accounts: accounts.to_vec(),
        data: data.concat(),
    };
    let message = Message::from_parts(MessageParts {
        version: Version::Legacy,
        header: Header { required_signatures: 2, readonly_signed: 0, readonly_unsigned: 3 },
        account_keys: vec![owner, mint, account, system, token, associated],
        recent_blockhash: blockhash.parse().unwrap(),
        instructions: vec![
            call(3, &[0, 1], &[&0_u32.to_le_bytes(), &rent.to_le_bytes(), &MINT_BYTES.to_le_bytes(), token.as_ref()]),
            call(4, &[1], &[&[20, 6], owner.as_ref(), &[0]]),
            call(5, &[0, 2, 0, 1, 3, 4], &[&[1]]),
            call(4, &[1, 2, 0], &[&[7], &1_000_000_000_u64.to_le_bytes()]),
        ],
        lookups: Vec::new(),
    })
    .unwrap();
    let bytes = message.to_bytes();
    let signatures = [WALLET, MINT].map(|seed| key_pair(seed).sign(&bytes));
    let all = [&[2], signatures[0].as_ref(), signatures[1].as_ref(), &bytes].concat();
    Transaction::from_bytes(&all).unwrap()
}

#[test]
fn a_token_is_minted_and_transferred() {
    let keys = tempfile::tempdir().unwrap();
    let mint = wallet(MINT).address().to_string();
    let limit = format!(
        "[solana.networks.localnet.sending.tokens.{mint}]\nmax_amount = 300000000\nmax_amount_per_day = 500000000\n"
    );
    let Some(mut chain) = Chain::configured(&wallet_settings(keys.path(), &limit)) else { return };
    let (from, to) = (chain.wallet(WALLET, 2_000_000_000).address().to_string(), wallet(51).address().to_string());
    let rent = chain.value("getMinimumBalanceForRentExemption", &json!({"dataLength": MINT_BYTES}))["value"].as_u64();
    let latest = chain.value("getLatestBlockhash", &json!({}))["value"]["blockhash"].as_str().unwrap().to_owned();
    let minted = mint_transaction(rent.unwrap(), &latest);
    let sent = chain.approved("sendTransaction", &json!({"transaction": minted.to_base64(), "wait": "finalized"}));
    assert_eq!(sent["value"]["status"], "finalized", "{sent}");
    let supply = chain.value("getTokenSupply", &json!({ "mint": mint }));
    assert_eq!(supply["value"]["amount"], "1000000000", "{supply}");

    let args = json!({"to": to, "mint": mint, "amount": "250000000", "wait": "finalized"});
    let id = chain.consent_for("transferToken", &args);
    let shown = chain.consent(&["list"]);
    assert!(shown.contains("-250") && shown.contains(&mint), "{shown}");
    chain.consent(&["approve", &id]);
    let sent = chain.value("transferToken", &args);
    assert_eq!(sent["value"]["status"], "finalized", "{sent}");
    let held = |chain: &mut Chain, owner: &str| -> Value {
        let accounts =
            chain.value("getTokenAccountsByOwner", &json!({"owner": owner, "mint": mint, "commitment": "finalized"}));
        accounts["value"][0]["account"]["data"]["parsed"]["info"]["tokenAmount"]["amount"].clone()
    };
    assert_eq!((held(&mut chain, &from), held(&mut chain, &to)), (json!("750000000"), json!("250000000")));
    let words = chain.text("describeTransaction", &json!({"signature": sent["value"]["signature"]}));
    assert!(words.contains(&format!("{to}: +250.000000 of the token {mint}")), "{words}");

    let too_much = chain.failure("transferToken", &json!({"to": to, "mint": mint, "amount": "300000001"}));
    assert!(too_much["message"].as_str().unwrap().contains("max_amount"), "{too_much}");
    let today = chain.failure("transferToken", &json!({"to": to, "mint": mint, "amount": "260000000"}));
    assert!(today["message"].as_str().unwrap().contains("limit of 24 hours"), "{today}");
}
