//! The balances that a node lists with an executed or simulated transaction.

use serde_json::Value;
use solana_address::Address;

use super::super::message::Message;
use super::super::signed::Transaction;
use super::balances::{Deltas, Holding, sol_deltas, token_deltas};
use super::fields::{DeltaError, address, elements, invalid, number, optional, required, token_amount};

/// An account of a message is named by one byte.
const MAX_ACCOUNTS: usize = 256;

/// The changes of an executed transaction, from the result of `getTransaction` in any of the encodings `json`, `jsonParsed` and
/// `base64`.
pub fn deltas_of_transaction(result: &Value) -> Result<Deltas, DeltaError> {
    deltas_of_meta(&account_keys(required(result, "transaction")?)?, required(result, "meta")?)
}

/// The changes from the `meta` of a transaction. `keys` are the account keys of its message, with or without those loaded from
/// lookup tables; the meta lists these as `loadedAddresses`.
pub fn deltas_of_meta(keys: &[Address], meta: &Value) -> Result<Deltas, DeltaError> {
    let before = lamports(meta, "preBalances")?;
    let after = lamports(meta, "postBalances")?;
    let mut accounts = keys.to_vec();
    if before.len() != accounts.len() {
        accounts.extend(loaded_addresses(meta)?);
    }
    for (field, found) in [("preBalances", before.len()), ("postBalances", after.len())] {
        if found != accounts.len() {
            return Err(DeltaError::Count { field: field.to_owned(), found, expected: accounts.len() });
        }
    }
    at_most("accountKeys", accounts.len(), MAX_ACCOUNTS)?;
    let tokens =
        token_deltas(holdings(meta, "preTokenBalances", &accounts)?, holdings(meta, "postTokenBalances", &accounts)?);
    let fee = optional(meta, "fee").map(|fee| number(fee, "fee")).transpose()?;
    Ok(Deltas { fee, sol: sol_deltas(&accounts, &before, &after), tokens })
}

/// The changes that a simulation reports, from the `value` of `simulateTransaction`. None where the node does not list
/// balances there; then [`super::deltas_of_accounts`] compares accounts.
pub fn deltas_of_simulation(message: &Message, value: &Value) -> Result<Option<Deltas>, DeltaError> {
    match optional(value, "preBalances") {
        None => Ok(None),
        Some(_) => deltas_of_meta(message.account_keys(), value).map(Some),
    }
}

fn at_most(field: &str, found: usize, limit: usize) -> Result<(), DeltaError> {
    if found > limit { Err(DeltaError::TooMany { field: field.to_owned(), found, limit }) } else { Ok(()) }
}

/// The account keys of a `transaction`: an object with the message, or its bytes with the name of the encoding.
fn account_keys(transaction: &Value) -> Result<Vec<Address>, DeltaError> {
    if let Some([encoded, encoding]) = transaction.as_array().map(Vec::as_slice) {
        let bytes = encoded.as_str().filter(|_| encoding == "base64");
        let decoded = bytes.and_then(|text| Transaction::from_base64(text).ok());
        let decoded = decoded.ok_or_else(|| invalid("transaction", transaction, "a transaction in base64"))?;
        return Ok(decoded.message().account_keys().to_vec());
    }
    let keys = required(required(transaction, "message")?, "accountKeys")?;
    let keys = keys.as_array().ok_or_else(|| invalid("accountKeys", keys, "an array"))?;
    // A parsed message has objects with `pubkey`, also for the accounts of lookup tables.
    keys.iter().map(|key| address(key.get("pubkey").unwrap_or(key), "accountKeys")).collect()
}

/// All writable accounts of lookup tables, then all read-only ones, as instructions number them.
fn loaded_addresses(meta: &Value) -> Result<Vec<Address>, DeltaError> {
    let Some(loaded) = optional(meta, "loadedAddresses") else { return Ok(Vec::new()) };
    let all = elements(loaded, "writable")?.iter().chain(elements(loaded, "readonly")?);
    all.map(|text| address(text, "loadedAddresses")).collect()
}

/// One balance for each account. Without them there is nothing to compare, so they must be there.
fn lamports(meta: &Value, field: &str) -> Result<Vec<u64>, DeltaError> {
    required(meta, field)?;
    elements(meta, field)?.iter().map(|value| number(value, field)).collect()
}

/// Token accounts at one time. The oldest transactions have no such list, and then no tokens are known.
fn holdings(meta: &Value, field: &str, accounts: &[Address]) -> Result<Vec<Holding>, DeltaError> {
    let holding = |entry: &Value| {
        let index = required(entry, "accountIndex")?;
        let account = index.as_u64().and_then(|index| accounts.get(usize::try_from(index).ok()?));
        let (amount, decimals) = token_amount(required(entry, "uiTokenAmount")?, field)?;
        Ok(Holding {
            account: *account.ok_or_else(|| invalid(field, index, "the index of an account"))?,
            owner: optional(entry, "owner").map(|owner| address(owner, field)).transpose()?,
            mint: address(required(entry, "mint")?, field)?,
            amount,
            decimals: Some(decimals),
        })
    };
    let entries = elements(meta, field)?;
    at_most(field, entries.len(), accounts.len())?;
    entries.iter().map(holding).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::testing;
    use super::super::balances::TokenDelta;
    use super::*;

    fn key(number: u8) -> Address {
        Address::new_from_array([number; 32])
    }

    fn text(number: u8) -> String {
        key(number).to_string()
    }

    fn held(index: usize, owner: u8, amount: &str) -> Value {
        json!({
            "accountIndex": index, "mint": text(50), "owner": text(owner), "programId": "x",
            "uiTokenAmount": {"amount": amount, "decimals": 6, "uiAmount": 0.1, "uiAmountString": "0.1"},
        })
    }

    fn delta(account: u8, owner: u8, amount: i128) -> TokenDelta {
        TokenDelta { account: key(account), owner: Some(key(owner)), mint: key(50), amount, decimals: Some(6) }
    }

    /// Two keys in the message, one writable and one read-only account of lookup tables.
    fn meta() -> Value {
        json!({
            "err": null, "fee": 5000,
            "preBalances": [1_000_000_000_u64, 7, 0, 1],
            "postBalances": [999_000_000_u64, 7, 995_000, 1],
            "preTokenBalances": [held(1, 60, "18446744073709551615"), held(2, 61, "5")],
            "postTokenBalances": [held(1, 60, "18446744073709551614"), held(2, 61, "6")],
            "loadedAddresses": {"writable": [text(3)], "readonly": [text(4)]},
        })
    }

    fn expected() -> Deltas {
        Deltas {
            fee: Some(5000),
            sol: vec![(key(1), -1_000_000), (key(3), 995_000)],
            tokens: vec![delta(2, 60, -1), delta(3, 61, 1)],
        }
    }

    #[test]
    fn changes_include_accounts_of_lookup_tables_and_the_exact_fee() {
        let result =
            json!({"slot": 1, "meta": meta(), "transaction": {"message": {"accountKeys": [text(1), text(2)]}}});
        let deltas = deltas_of_transaction(&result).unwrap();
        assert_eq!(deltas, expected());
        let sum: i128 = deltas.sol.iter().map(|(_, change)| change).sum();
        assert_eq!(-sum, 5000, "what is missing is the fee");
    }

    #[test]
    fn a_parsed_message_already_has_the_accounts_of_lookup_tables() {
        let mut meta = meta();
        meta.as_object_mut().unwrap().remove("loadedAddresses");
        let keys: Vec<_> = (1..=4).map(|number| json!({"pubkey": text(number), "signer": number == 1})).collect();
        let result = json!({"meta": meta, "transaction": {"message": {"accountKeys": keys}}});
        assert_eq!(deltas_of_transaction(&result).unwrap(), expected());
    }

    #[test]
    fn a_transaction_in_base64_gives_its_own_keys() {
        let meta = json!({
            "fee": 5000, "preBalances": [9_000_000_000_u64, 0, 1], "postBalances": [3_999_995_000_u64, 5_000_000_000_u64, 1],
        });
        let result = json!({"meta": meta, "transaction": [testing::SOL_TRANSFER, "base64"]});
        let deltas = deltas_of_transaction(&result).unwrap();
        let (first, second) = (testing::address(testing::FIRST), testing::address(testing::SECOND));
        assert_eq!(deltas.sol, [(first, -5_000_005_000), (second, 5_000_000_000)]);
        let other = json!({"meta": meta, "transaction": [testing::SOL_TRANSFER, "base58"]});
        assert!(deltas_of_transaction(&other).unwrap_err().to_string().contains("a transaction in base64"));
    }

    #[test]
    fn balances_above_two_to_the_53rd_are_exact() {
        let meta = json!({"fee": 0, "preBalances": [u64::MAX, 0], "postBalances": [0, u64::MAX]});
        let deltas = deltas_of_meta(&[key(1), key(2)], &meta).unwrap();
        assert_eq!(deltas.sol, [(key(1), -i128::from(u64::MAX)), (key(2), i128::from(u64::MAX))]);
    }

    #[test]
    fn created_closed_and_handed_over_token_accounts_count() {
        let keys = [key(1), key(2), key(3)];
        let meta = json!({
            "fee": 5000, "preBalances": [9, 9, 9], "postBalances": [9, 9, 9],
            "preTokenBalances": [held(1, 60, "10"), held(2, 61, "4")],
            "postTokenBalances": [held(0, 62, "10"), held(2, 63, "4")],
        });
        let deltas = deltas_of_meta(&keys, &meta).unwrap();
        assert_eq!(deltas.sol, []);
        assert_eq!(deltas.tokens, [delta(2, 60, -10), delta(3, 61, -4), delta(1, 62, 10), delta(3, 63, 4)]);
    }

    #[test]
    fn a_simulation_is_read_alike_and_may_lack_balances() {
        let message = testing::transaction(testing::SOL_TRANSFER);
        let without = json!({"err": null, "logs": [], "unitsConsumed": 150, "preBalances": null});
        assert_eq!(deltas_of_simulation(message.message(), &without), Ok(None));
        let with = json!({"fee": 5000, "preBalances": [10_000, 0, 1], "postBalances": [4_000, 1_000, 1]});
        let deltas = deltas_of_simulation(message.message(), &with).unwrap().unwrap();
        assert_eq!(deltas.fee, Some(5000));
        assert_eq!(deltas.sol.iter().map(|(_, change)| *change).collect::<Vec<_>>(), [-6_000, 1_000]);
        let table = testing::transaction(testing::WITH_LOOKUP);
        let loaded = json!({
            "preBalances": [1, 1, 1, 1, 5, 5], "postBalances": [1, 1, 1, 1, 47, 5],
            "loadedAddresses": {"writable": [text(24)], "readonly": [text(21)]},
        });
        let deltas = deltas_of_simulation(table.message(), &loaded).unwrap().unwrap();
        assert_eq!((deltas.fee, deltas.sol), (None, vec![(key(24), 42)]));
    }

    #[test]
    fn wrong_answers_are_named() {
        let told = |change: &dyn Fn(&mut Value)| {
            let mut meta = meta();
            change(&mut meta);
            deltas_of_meta(&[key(1), key(2)], &meta).unwrap_err().to_string()
        };
        assert_eq!(
            told(&|meta| meta["preBalances"] = Value::Null),
            "The node's answer has no preBalances, from which balances are read. Ask another node."
        );
        assert_eq!(
            told(&|meta| meta["postBalances"] = json!([1])),
            "There are 1 entries in postBalances, but 4 accounts."
        );
        assert_eq!(
            told(&|meta| meta["loadedAddresses"] = Value::Null),
            "There are 4 entries in preBalances, but 2 accounts."
        );
        assert_eq!(
            told(&|meta| meta["preBalances"][0] = json!(-1)),
            "The node's answer has -1 for preBalances, which is not a whole number of 64 bits."
        );
        assert!(told(&|meta| meta["fee"] = json!(0.5)).contains("0.5 for fee"));
        assert!(
            told(&|meta| meta["preTokenBalances"][0]["accountIndex"] = json!(4)).contains("the index of an account")
        );
        let amount = told(&|meta| meta["preTokenBalances"][0]["uiTokenAmount"]["amount"] = json!("1.5"));
        assert!(amount.contains("\"1.5\" for preTokenBalances"), "{amount}");
        assert!(deltas_of_transaction(&json!({"transaction": {}, "meta": null})).is_err());
        assert!(deltas_of_transaction(&Value::Null).is_err());
        assert_eq!(
            told(&|meta| meta["preTokenBalances"] = (0..5).map(|_| held(1, 60, "1")).collect()),
            "There are 5 entries in preTokenBalances; a transaction has at most 4."
        );
        let many = json!({"preBalances": vec![1; 257], "postBalances": vec![1; 257]});
        let told = deltas_of_meta(&[key(1); 257], &many).unwrap_err().to_string();
        assert_eq!(told, "There are 257 entries in accountKeys; a transaction has at most 256.");
    }
}
