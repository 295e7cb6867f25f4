//! Accounts before and after a simulation, for nodes that do not list balances with it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use solana_address::Address;

use super::super::programs::{TOKEN, is_token_program};
use super::super::wire::Reader;
use super::balances::{Deltas, Holding, sol_deltas, token_deltas};
use super::fields::{DeltaError, address, invalid, number, optional, required, token_amount};

/// A token account of either program begins with these many bytes; the Token program's has no more.
const TOKEN_ACCOUNT_BYTES: usize = 165;
/// What Token-2022 writes after them, to tell accounts from mints.
const TOKEN_2022_ACCOUNT_MARK: u8 = 2;
/// The length of a multisig account, which no account with extensions has.
const MULTISIG_BYTES: usize = 355;

/// The changes between two states of the same accounts: `before` is the `value` of `getMultipleAccounts`, `after` is `accounts`
/// of `simulateTransaction`. An account that does not exist is `null`. Tokens are read from the encodings `jsonParsed` and
/// `base64`. The fee is not known here.
pub fn deltas_of_accounts(addresses: &[Address], before: &[Value], after: &[Value]) -> Result<Deltas, DeltaError> {
    for (field, found) in [("the accounts before", before.len()), ("the accounts after", after.len())] {
        if found != addresses.len() {
            return Err(DeltaError::Count { field: field.to_owned(), found, expected: addresses.len() });
        }
    }
    let lamports = |accounts: &[Value]| accounts.iter().map(lamports).collect::<Result<Vec<_>, _>>();
    let holdings = |accounts: &[Value]| {
        let all = addresses.iter().zip(accounts).map(|(address, account)| holding(*address, account));
        all.filter_map(Result::transpose).collect::<Result<Vec<_>, _>>()
    };
    Ok(Deltas {
        fee: None,
        sol: sol_deltas(addresses, &lamports(before)?, &lamports(after)?),
        tokens: token_deltas(holdings(before)?, holdings(after)?),
    })
}

fn lamports(account: &Value) -> Result<u64, DeltaError> {
    if account.is_null() { Ok(0) } else { number(required(account, "lamports")?, "lamports") }
}

/// The tokens that an account holds, if it is a token account.
fn holding(account: Address, value: &Value) -> Result<Option<Holding>, DeltaError> {
    if value.is_null() {
        return Ok(None);
    }
    let program = address(required(value, "owner")?, "owner")?;
    if !is_token_program(&program) {
        return Ok(None);
    }
    let data = required(value, "data")?;
    match (data.get("parsed"), data.as_array().map(Vec::as_slice)) {
        (Some(parsed), _) => parsed_holding(account, parsed),
        (None, Some([encoded, encoding])) if encoding == "base64" => {
            let bytes = encoded.as_str().and_then(|text| STANDARD.decode(text).ok());
            let bytes = bytes.ok_or_else(|| invalid("data", encoded, "base64"))?;
            Ok(raw_holding(account, program, &bytes))
        }
        // Leaving tokens out without a word would understate what is spent.
        _ => Err(invalid("data", data, "an account in base64 or jsonParsed")),
    }
}

fn parsed_holding(account: Address, parsed: &Value) -> Result<Option<Holding>, DeltaError> {
    if parsed.get("type").and_then(Value::as_str) != Some("account") {
        return Ok(None);
    }
    let info = required(parsed, "info")?;
    // An account that is not initialized has no amount.
    let Some(amount) = optional(info, "tokenAmount") else { return Ok(None) };
    let (amount, decimals) = token_amount(amount, "tokenAmount")?;
    Ok(Some(Holding {
        account,
        owner: Some(address(required(info, "owner")?, "owner")?),
        mint: address(required(info, "mint")?, "mint")?,
        amount,
        decimals: Some(decimals),
    }))
}

/// Mint, owner and amount are the first fields of a token account. Mints are shorter; Token-2022 pads a mint with extensions
/// to the length of an account and marks which of the two it is.
fn raw_holding(account: Address, program: Address, bytes: &[u8]) -> Option<Holding> {
    let is_account = match bytes.get(TOKEN_ACCOUNT_BYTES) {
        None => bytes.len() == TOKEN_ACCOUNT_BYTES,
        Some(mark) => program != TOKEN && *mark == TOKEN_2022_ACCOUNT_MARK && bytes.len() != MULTISIG_BYTES,
    };
    let mut reader = Reader::new(bytes);
    let mint = reader.address("the mint").ok().filter(|_| is_account)?;
    let owner = reader.address("the owner").ok()?;
    let amount = reader.u64("the amount").ok()?;
    Some(Holding { account, owner: Some(owner), mint, amount, decimals: None })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::programs::{SYSTEM, TOKEN_2022};
    use super::super::balances::TokenDelta;
    use super::*;

    fn key(number: u8) -> Address {
        Address::new_from_array([number; 32])
    }

    fn raw(program: Address, amount: u64, extension: &[u8]) -> Value {
        let mut bytes = [[50; 32], [60; 32]].concat();
        bytes.extend_from_slice(&amount.to_le_bytes());
        bytes.resize(TOKEN_ACCOUNT_BYTES, 0);
        bytes.extend_from_slice(extension);
        json!({"lamports": 2_039_280, "owner": program.to_string(), "data": [STANDARD.encode(bytes), "base64"]})
    }

    fn parsed(amount: &str) -> Value {
        let info = json!({
            "mint": key(50).to_string(), "owner": key(60).to_string(),
            "tokenAmount": {"amount": amount, "decimals": 6},
        });
        let data = json!({"program": "spl-token", "parsed": {"type": "account", "info": info}});
        json!({"lamports": 2_039_280, "owner": TOKEN.to_string(), "data": data})
    }

    fn delta(amount: i128, decimals: Option<u8>) -> TokenDelta {
        TokenDelta { account: key(1), owner: Some(key(60)), mint: key(50), amount, decimals }
    }

    fn tokens(before: Value, after: Value) -> Vec<TokenDelta> {
        deltas_of_accounts(&[key(1)], &[before], &[after]).unwrap().tokens
    }

    #[test]
    fn lamports_of_created_and_closed_accounts_count() {
        let system = |lamports: u64| json!({"lamports": lamports, "owner": SYSTEM.to_string(), "data": ["", "base64"]});
        let before = [system(u64::MAX), Value::Null, system(7)];
        let after = [system(1), system(5), Value::Null];
        let deltas = deltas_of_accounts(&[key(1), key(2), key(3)], &before, &after).unwrap();
        assert_eq!(deltas.sol, [(key(1), 1 - i128::from(u64::MAX)), (key(2), 5), (key(3), -7)]);
        assert_eq!(deltas.fee, None);
    }

    #[test]
    fn tokens_are_read_from_bytes_and_from_parsed_accounts() {
        assert_eq!(tokens(raw(TOKEN, 10, &[]), raw(TOKEN, 3, &[])), [delta(-7, None)]);
        assert_eq!(tokens(raw(TOKEN_2022, 10, &[2, 7]), raw(TOKEN_2022, 11, &[2, 7])), [delta(1, None)]);
        assert_eq!(tokens(parsed("10"), parsed("12")), [delta(2, Some(6))]);
        // Between the two encodings the decimal places are known from one.
        assert_eq!(tokens(raw(TOKEN, 10, &[]), parsed("12")), [delta(2, Some(6))]);
        assert_eq!(tokens(Value::Null, parsed("12")), [delta(12, Some(6))]);
    }

    #[test]
    fn mints_and_accounts_of_other_programs_hold_no_tokens() {
        let mint = raw(TOKEN_2022, 10, &[1, 7]);
        assert_eq!(tokens(mint, Value::Null), []);
        assert_eq!(tokens(raw(SYSTEM, 10, &[]), Value::Null), []);
        // A multisig account is longer than a token account, and its bytes are keys.
        for program in [TOKEN, TOKEN_2022] {
            assert_eq!(tokens(raw(program, 10, &[2; 190]), Value::Null), []);
        }
    }

    #[test]
    fn accounts_that_cannot_be_read_are_errors() {
        let packed = json!({"lamports": 1, "owner": TOKEN.to_string(), "data": ["KLUv", "base64+zstd"]});
        let told = deltas_of_accounts(&[key(1)], &[packed], &[Value::Null]).unwrap_err().to_string();
        assert_eq!(told, "The node's answer has an array for data, which is not an account in base64 or jsonParsed.");
        let told = deltas_of_accounts(&[key(1)], &[Value::Null], &[]).unwrap_err().to_string();
        assert_eq!(told, "There are 0 entries in the accounts after, but 1 accounts.");
        assert!(deltas_of_accounts(&[key(1)], &[json!({})], &[Value::Null]).is_err());
    }
}
