//! The answers of a node.

use mainstay_solana::transaction::Transaction;
use serde_json::{Value, json};
use solana_address::Address;

use super::{
    CONFIRMED_AFTER, FINALIZED_AFTER, Fault, Ledger, RECENT_BLOCKS, SIGNATURE_FEE, SKIPPED_SLOTS, State, Tells,
    Transfer, VALID_BLOCKS, blockhash, is_valid_at,
};

/// What a local validator might have.
const GENESIS: &str = "11111111111111111111111111111111";

impl Ledger {
    /// The response with its member `result` or `error`, as of so many blocks ago.
    pub(super) fn answered(&self, request: &Value, behind: u64, fault: Option<Fault>) -> Value {
        let method = request["method"].as_str().unwrap();
        let params = &request["params"];
        let mut state = self.state.lock();
        self.run_later(&mut state);
        if let Some(answer) = state.answers.get(method) {
            let answer = answer.clone();
            if method == "sendTransaction" {
                note_arrival(&mut state, params);
            }
            return answer;
        }
        let height = self.height() - behind;
        let height = match method {
            "getLatestBlockhash" | "getEpochInfo" => height - age(&params[0]["commitment"]),
            "isBlockhashValid" | "simulateTransaction" | "getMultipleAccounts" => {
                height - age(&params[1]["commitment"])
            }
            _ => height,
        };
        let with_context = |value: Value| json!({"context": {"slot": height + SKIPPED_SLOTS}, "value": value});
        let result = match method {
            "getLatestBlockhash" => {
                let hash = blockhash(height).to_string();
                with_context(json!({"blockhash": hash, "lastValidBlockHeight": height + VALID_BLOCKS}))
            }
            "isBlockhashValid" => {
                let hash = params[0].as_str().unwrap().parse().unwrap();
                with_context(is_valid_at(&hash, height).into())
            }
            "getBlockHeight" => height.into(),
            "getEpochInfo" => json!({"epoch": 1, "absoluteSlot": height + SKIPPED_SLOTS, "blockHeight": height}),
            "getSignatureStatuses" => {
                let status = |signature: &Value| status(&state, signature.as_str().unwrap(), height, &params[1]);
                with_context(params[0].as_array().unwrap().iter().map(status).collect())
            }
            "simulateTransaction" => with_context(simulated(&state, &decoded(params), height, &params[1])),
            "getMultipleAccounts" => {
                let account = |key: &Value| account(balance(&state, key));
                with_context(params[0].as_array().unwrap().iter().map(account).collect())
            }
            "sendTransaction" => return self.accepted(&mut state, params, height, fault),
            "getGenesisHash" => GENESIS.into(),
            "requestAirdrop" => "1".repeat(64).into(),
            _ => return json!({"error": {"code": -32601, "message": "Method not found"}}),
        };
        json!({ "result": result })
    }

    /// Takes a transaction, as far as the fault lets it.
    fn accepted(&self, state: &mut State, params: &Value, height: u64, fault: Option<Fault>) -> Value {
        let transaction = decoded(params);
        let signature = note_arrival(state, params);
        if transaction.verify().is_err() {
            return json!({"error": {"code": -32003, "message": "Transaction signature verification failure"}});
        }
        if params[1]["skipPreflight"] != true {
            let height = height - age(&params[1]["preflightCommitment"]);
            let value = simulated(state, &transaction, height, &Value::Null);
            if !value["err"].is_null() {
                let message = format!("Transaction simulation failed: {}", value["err"]);
                return json!({"error": {"code": -32002, "message": message, "data": value}});
            }
        }
        match fault {
            Some(Fault::Dropped) => {}
            Some(Fault::Later { blocks }) => state.later.push((self.height() + blocks, transaction)),
            Some(_) | None => state.execute(&transaction, self.height()),
        }
        json!({ "result": signature })
    }
}

/// How many blocks old the state of a commitment is. Nodes take a missing one as finalized.
fn age(commitment: &Value) -> u64 {
    match commitment.as_str() {
        Some("processed") => 0,
        Some("confirmed") => CONFIRMED_AFTER,
        Some(_) | None => FINALIZED_AFTER,
    }
}

fn decoded(params: &Value) -> Transaction {
    Transaction::from_base64(params[0].as_str().unwrap()).unwrap()
}

fn note_arrival(state: &mut State, params: &Value) -> String {
    let signature = decoded(params).id().unwrap().to_string();
    state.arrivals.entry(signature.clone()).or_default().push(params[1].clone());
    signature
}

fn status(state: &State, signature: &str, height: u64, options: &Value) -> Value {
    let Some(executed) = state.executed.get(signature) else { return Value::Null };
    let Some(age) = height.checked_sub(executed.height) else { return Value::Null };
    if age > RECENT_BLOCKS && options["searchTransactionHistory"] != true {
        return Value::Null;
    }
    let status = match age {
        0..CONFIRMED_AFTER => "processed",
        CONFIRMED_AFTER..FINALIZED_AFTER => "confirmed",
        FINALIZED_AFTER.. => "finalized",
    };
    json!({"slot": executed.height + SKIPPED_SLOTS, "err": executed.error, "confirmationStatus": status})
}

/// The value of `simulateTransaction`.
fn simulated(state: &State, transaction: &Transaction, height: u64, options: &Value) -> Value {
    let message = transaction.message();
    let Transfer { from, to, lamports } = Transfer::of(message);
    let failure = state.failures.get(&lamports).cloned().unwrap_or_default();
    if !is_valid_at(&message.recent_blockhash(), height) {
        return json!({"err": "BlockhashNotFound", "logs": []});
    }
    if !failure.is_null() {
        return json!({"err": failure, "logs": ["Program log: transfer: insufficient lamports"]});
    }
    let before = |key: &Address| state.balances.get(key).copied().unwrap_or_default();
    let after = |key: &Address| {
        let taken = if *key == from { lamports + SIGNATURE_FEE } else { 0 };
        before(key) - taken + if *key == to { lamports } else { 0 }
    };
    if before(&from) < lamports + SIGNATURE_FEE {
        return json!({"err": {"InstructionError": [0, {"Custom": 1}]}, "logs": []});
    }
    let keys = message.account_keys();
    let mut value = json!({"err": null, "logs": [], "unitsConsumed": 150});
    match state.tells {
        Tells::Balances => {
            value["fee"] = SIGNATURE_FEE.into();
            value["preBalances"] = keys.iter().map(before).collect();
            value["postBalances"] = keys.iter().map(after).collect();
        }
        Tells::Accounts => {
            let told = options["accounts"]["addresses"].as_array().cloned().unwrap_or_default();
            let told = told.iter().map(|key| account(after(&key.as_str().unwrap().parse().unwrap())));
            value["accounts"] = told.collect();
        }
        Tells::Nothing => {}
    }
    value
}

fn balance(state: &State, key: &Value) -> u64 {
    let key: Address = key.as_str().unwrap().parse().unwrap();
    state.balances.get(&key).copied().unwrap_or_default()
}

fn account(lamports: u64) -> Value {
    let system = Address::default().to_string();
    json!({"lamports": lamports, "owner": system, "data": ["", "base64"], "executable": false, "rentEpoch": 0})
}
