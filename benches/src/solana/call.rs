//! The reads, in the words of the node and of Mainstay.

use anyhow::{Result, bail};
use memchr::memmem;
use serde::Serialize;

use crate::bench_support::http_load::Request;
use crate::bench_support::message::{Numbered, PLACEHOLDER, answered_id, digits, shown, tool_call};

/// Stands where the last characters of an address go.
const KEY_PLACEHOLDER: &str = "@@@@@@@@@@";

/// The rest of the address. With it, ten more characters make 32 bytes, whatever they are.
const KEY_PREFIX: &str = "FMainstayBenchmarkofTheSoLanaChain";

/// How many accounts are read again and again where the cache is measured.
const ACCOUNTS: u64 = 16;

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Read {
    /// The balance of another account in each call, so that no call can be answered with the result of another.
    NewBalances,
    /// The balances of a few accounts, which may be cached for one slot.
    SameBalances,
    /// Never changes.
    GenesisHash,
    /// Never changes.
    EpochSchedule,
}

impl Read {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::NewBalances => "getBalance, another account each time",
            Self::SameBalances => "getBalance, 16 accounts",
            Self::GenesisHash => "getGenesisHash",
            Self::EpochSchedule => "getEpochSchedule",
        }
    }

    fn method(self) -> &'static str {
        match self {
            Self::NewBalances | Self::SameBalances => "getBalance",
            Self::GenesisHash => "getGenesisHash",
            Self::EpochSchedule => "getEpochSchedule",
        }
    }

    /// What every right answer contains, also in the text of a tool's result, where quotes are escaped.
    fn expected(self) -> &'static str {
        match self {
            Self::NewBalances | Self::SameBalances => "value",
            Self::GenesisHash => "result",
            Self::EpochSchedule => "slotsPerEpoch",
        }
    }

    fn has_address(self) -> bool {
        self.method() == "getBalance"
    }

    /// The call as the node's JSON-RPC has it.
    pub(crate) fn at_node(self, port: u16) -> ReadRequest {
        let params = if self.has_address() { format!(r#"["{KEY_PREFIX}{KEY_PLACEHOLDER}"]"#) } else { "[]".to_owned() };
        let method = self.method();
        let body = format!(r#"{{"jsonrpc":"2.0","id":{PLACEHOLDER},"method":"{method}","params":{params}}}"#);
        ReadRequest::new(self, &http_post(port, "/", &body))
    }

    /// The call as contract 003 has it.
    pub(crate) fn at_mainstay(self, port: u16) -> ReadRequest {
        let arguments = if self.has_address() {
            serde_json::json!({ "pubkey": format!("{KEY_PREFIX}{KEY_PLACEHOLDER}") })
        } else {
            serde_json::json!({})
        };
        ReadRequest::new(self, &http_post(port, "/api/mcp", &tool_call(self.method(), &arguments)))
    }
}

fn http_post(port: u16, path: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

pub(crate) struct ReadRequest {
    read: Read,
    call: Numbered,
    address: Option<usize>,
    bytes: Vec<u8>,
}

impl ReadRequest {
    fn new(read: Read, request: &str) -> Self {
        let address = memmem::find(request.as_bytes(), KEY_PLACEHOLDER.as_bytes());
        Self { read, call: Numbered::new(request), address, bytes: Vec::new() }
    }
}

impl Request for ReadRequest {
    fn with(&mut self, id: u64) -> &[u8] {
        self.bytes.clear();
        self.bytes.extend_from_slice(self.call.with(id));
        if let Some(at) = self.address {
            let number = if self.read == Read::NewBalances { id } else { id % ACCOUNTS };
            // The alphabet of addresses has no 0.
            let key = digits(number).map(|digit| if digit == b'0' { b'A' } else { digit });
            self.bytes[at..at + key.len()].copy_from_slice(&key);
        }
        &self.bytes
    }

    fn check(&self, body: &[u8], id: u64) -> Result<()> {
        let right = answered_id(body) == Some(id)
            && memmem::find(body, self.read.expected().as_bytes()).is_some()
            && memmem::find(body, br#""error""#).is_none()
            && memmem::find(body, br#""isError":true"#).is_none();
        if right {
            return Ok(());
        }
        bail!("wrong answer to {} of call {id}: {}", self.read.method(), shown(body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(request: &mut ReadRequest, id: u64) -> String {
        let text = String::from_utf8(request.with(id).to_vec()).unwrap();
        let at = text.find(KEY_PREFIX).unwrap();
        text[at..at + 44].to_owned()
    }

    #[test]
    fn every_call_reads_another_account_or_one_of_a_few() {
        for request in [Read::at_node, Read::at_mainstay] {
            let mut new = request(Read::NewBalances, 1);
            assert_ne!(address(&mut new, 1_000_000_001), address(&mut new, 1_000_000_017));
            let mut same = request(Read::SameBalances, 1);
            assert_eq!(address(&mut same, 1_000_000_001), address(&mut same, 1_000_000_017));
            assert_ne!(address(&mut same, 1_000_000_001), address(&mut same, 1_000_000_002));
            assert!(!address(&mut same, 1_000_000_000).contains(['0', 'O', 'I', 'l', '@']));
        }
    }

    #[test]
    fn an_error_or_another_calls_answer_is_a_wrong_answer() {
        let request = Read::NewBalances.at_node(1);
        let right = br#"{"jsonrpc":"2.0","result":{"context":{"slot":1},"value":0},"id":1000000001}"#;
        assert!(request.check(right, 1_000_000_001).is_ok());
        assert!(request.check(right, 1_000_000_002).is_err());
        let error = br#"{"jsonrpc":"2.0","error":{"code":-32602,"message":"value"},"id":1000000001}"#;
        assert!(request.check(error, 1_000_000_001).is_err());
    }
}
