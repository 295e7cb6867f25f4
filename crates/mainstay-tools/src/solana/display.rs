//! Amounts as exact decimal text: lamports can exceed what a JavaScript number holds.

use mainstay_solana::transaction::format_sol;
use serde_json::{Value, json};

/// Methods whose value is an amount of lamports.
const LAMPORTS: [&str; 4] =
    ["getBalance", "getMinimumBalanceForRentExemption", "getFeeForMessage", "getStakeMinimumDelegation"];

/// The method whose value is an account, with its lamports.
const ACCOUNT: &str = "getAccountInfo";

/// Whether something may be shown beside the value of a method.
pub(super) fn has(method: &str) -> bool {
    method == ACCOUNT || LAMPORTS.contains(&method)
}

/// What is shown beside the value of a method, if it is an amount or an account with one.
pub(super) fn of(method: &str, value: &Value) -> Option<Value> {
    let lamports = match method {
        ACCOUNT => value.get("lamports")?,
        _ if LAMPORTS.contains(&method) => value,
        _ => return None,
    };
    lamports.as_u64().map(amount)
}

/// An amount in both units.
pub(super) fn amount(lamports: u64) -> Value {
    json!({"lamports": lamports.to_string(), "sol": format_sol(lamports.into())})
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn amounts_are_exact_in_both_units() {
        assert_eq!(
            of("getBalance", &json!(5_000_000_000_u64)),
            Some(json!({"lamports": "5000000000", "sol": "5.000000000"}))
        );
        let all = json!({"lamports": "18446744073709551615", "sol": "18446744073.709551615"});
        assert_eq!(of("getAccountInfo", &json!({"lamports": u64::MAX, "owner": "x"})), Some(all));
        assert_eq!(of("getAccountInfo", &Value::Null), None);
        assert_eq!(of("getSlot", &json!(5)), None);
        assert_eq!(of("getFeeForMessage", &Value::Null), None);
    }
}
