//! Values against the kinds that the table declares.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use mainstay_core::schema::spell_integers;
use serde_json::{Map, Value};
use solana_address::Address;
use solana_hash::Hash;
use solana_signature::Signature;

use super::base58;
use super::commitment::Commitment;
use super::definition::{Kind, MEMCMP, Param};

/// The most problems that are reported at once.
const MOST_PROBLEMS: usize = 50;
/// The most bytes of a legacy or v0 transaction: one packet.
const PACKET_BYTES: usize = 1232;
/// The most bytes of a transaction from v1 on, whose first byte is its version with the highest bit set.
const V1_BYTES: usize = 4096;
const V1_PREFIX: u8 = 0x81;
/// The most bytes that a node compares in a memcmp filter.
const MEMCMP_BYTES: usize = 128;

/// What is wrong with one argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentProblem {
    /// The argument's name and the way into it, as an RFC 6901 pointer without its first slash: `filters/0/memcmp/bytes`.
    pub argument: String,
    pub reason: String,
}

impl fmt::Display for ArgumentProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.argument, self.reason)
    }
}

/// The problems found so far. Checking goes on after one, so that a caller can correct all of them with one more call.
#[derive(Default)]
pub(super) struct Problems(Vec<ArgumentProblem>);

impl Problems {
    /// Adds a problem, unless there are already more than anyone reads.
    pub(super) fn report(&mut self, argument: &str, reason: impl Into<String>) {
        if self.0.len() < MOST_PROBLEMS {
            self.0.push(ArgumentProblem { argument: argument.to_owned(), reason: reason.into() });
        }
    }

    /// The value, if there are no problems.
    pub(super) fn or<T>(self, value: T) -> Result<T, Vec<ArgumentProblem>> {
        if self.0.is_empty() { Ok(value) } else { Err(self.0) }
    }

    /// The value as it is sent, or `None` with the problem reported.
    fn value(&mut self, path: &str, kind: &Kind, value: &Value) -> Option<Value> {
        let checked = match kind {
            Kind::Address => base58_text::<Address>(value, "an address", 32),
            Kind::Blockhash => base58_text::<Hash>(value, "a blockhash", 32),
            Kind::Signature => base58_text::<Signature>(value, "a transaction signature", 64),
            Kind::Base64 => transaction(value),
            Kind::Integer { min, max } => integer(value, *min, *max),
            Kind::Boolean => {
                value.is_boolean().then(|| value.clone()).ok_or_else(|| "must be true or false".to_owned())
            }
            Kind::Choice(choices) => choice(value, choices),
            Kind::Commitment(least) => {
                let levels: Vec<_> = least.and_above().map(Commitment::as_str).collect();
                choice(value, &levels)
            }
            Kind::Text { max } => text(value, *max),
            Kind::Fixed(only) => choice(value, &[only]),
            Kind::List { of, min, max } => return self.list(path, of, (*min, *max), value),
            Kind::Object(members) => return self.object(path, members, value),
            Kind::OneOf(members) => return self.one_of(path, members, value),
            Kind::Memcmp => return self.memcmp(path, value),
        };
        checked.map_err(|reason| self.report(path, reason)).ok()
    }

    /// Items of a list that is too long are not looked at: one problem says enough.
    fn list(&mut self, path: &str, of: &Kind, (min, max): (usize, usize), value: &Value) -> Option<Value> {
        let Some(items) = value.as_array() else {
            self.report(path, "must be an array");
            return None;
        };
        if items.len() < min || items.len() > max {
            self.report(path, format!("must have {min} to {max} items; this has {}", items.len()));
            return None;
        }
        let checked: Vec<_> =
            items.iter().enumerate().map(|(at, item)| self.value(&format!("{path}/{at}"), of, item)).collect();
        checked.into_iter().collect()
    }

    /// An object with its defaults inserted: the node has other defaults, or none.
    fn object(&mut self, path: &str, members: &'static [Param], value: &Value) -> Option<Value> {
        let Some(object) = value.as_object() else {
            self.report(path, "must be an object");
            return None;
        };
        let before = self.0.len();
        let mut checked = self.members(&format!("{path}/"), members.iter(), object);
        for param in members {
            if let Some(default) = param.default.filter(|_| !object.contains_key(param.name)) {
                checked.insert(param.name.to_owned(), default.into());
            }
        }
        (self.0.len() == before).then_some(Value::Object(checked))
    }

    /// An object such as a filter of getProgramAccounts, in which the member's name says which kind it is.
    fn one_of(&mut self, path: &str, members: &'static [Param], value: &Value) -> Option<Value> {
        let checked = self.object(path, members, value)?;
        if checked.as_object().is_none_or(|object| object.len() != 1) {
            self.report(path, format!("must have exactly one of {}", names(members.iter())));
            return None;
        }
        Some(checked)
    }

    /// A comparison with bytes. The node decodes them by `encoding`, base58 if there is none, and refuses long ones.
    fn memcmp(&mut self, path: &str, value: &Value) -> Option<Value> {
        let checked = self.object(path, MEMCMP, value)?;
        let bytes = checked["bytes"].as_str().unwrap_or_default();
        let decoded = if checked["encoding"] == "base64" {
            BASE64_STANDARD.decode(bytes).map_err(|error| format!("must be base64: {error}"))
        } else {
            base58::decode(bytes).map_err(|_| "must be base58; for base64 set encoding".to_owned())
        };
        let reason = match decoded {
            Ok(decoded) if decoded.len() <= MEMCMP_BYTES => return Some(checked),
            Ok(decoded) => format!("must be at most {MEMCMP_BYTES} bytes; this decodes to {}", decoded.len()),
            Err(reason) => reason,
        };
        self.report(&format!("{path}/bytes"), reason);
        None
    }

    /// Members of an object, or the arguments of a tool; `prefix` is the way to them. The result has what was given and is
    /// right. A name that is not declared is refused: a misspelled option would otherwise be ignored in silence.
    pub(super) fn members(
        &mut self,
        prefix: &str,
        params: impl Iterator<Item = &'static Param> + Clone,
        given: &Map<String, Value>,
    ) -> Map<String, Value> {
        let mut checked = Map::new();
        for (name, value) in given {
            // A name may be as long as a request.
            let path = format!("{prefix}{}", mainstay_core::recorded(name));
            match params.clone().find(|param| param.name == name) {
                Some(param) => {
                    if let Some(value) = self.value(&path, &param.kind, value) {
                        checked.insert(name.clone(), value);
                    }
                }
                None => self.report(&path, format!("is not known here; there are {}", names(params.clone()))),
            }
        }
        for param in params.filter(|param| param.required && !given.contains_key(param.name)) {
            self.report(&format!("{prefix}{}", param.name), "is required");
        }
        checked
    }
}

/// The names of parameters, for a message.
pub(super) fn names(params: impl Iterator<Item = &'static Param>) -> String {
    let names: Vec<_> = params.map(|param| param.name).collect();
    if names.is_empty() { "no arguments".to_owned() } else { names.join(", ") }
}

/// The value as it is sent, or why it is wrong.
type Checked = Result<Value, String>;

/// The text as it was given: the types only say whether it has the right number of bytes.
fn base58_text<T: FromStr>(value: &Value, wanted: &str, size: usize) -> Checked {
    let Some(text) = value.as_str() else {
        return Err(format!("must be a string: {wanted} in base58"));
    };
    T::from_str(text).map(|_| value.clone()).map_err(|_| base58::refusal(text, wanted, size))
}

/// Base64 with its padding, of at most the bytes that the node takes for this version of a transaction or message.
fn transaction(value: &Value) -> Checked {
    let Some(text) = value.as_str() else {
        return Err("must be a string in base64".to_owned());
    };
    // Base64 is a third longer than its bytes; what is much longer need not be decoded.
    if text.len() > V1_BYTES * 2 {
        return Err(format!("must be at most {V1_BYTES} bytes; this is {} characters of base64", text.len()));
    }
    let bytes = BASE64_STANDARD.decode(text).map_err(|error| format!("must be base64: {error}"))?;
    let Some(first) = bytes.first() else {
        return Err("must not be empty".to_owned());
    };
    let max = if *first >= V1_PREFIX { V1_BYTES } else { PACKET_BYTES };
    if bytes.len() > max {
        return Err(format!("must be at most {max} bytes; this decodes to {}", bytes.len()));
    }
    Ok(value.clone())
}

/// An integer, also if it is written as `5.0`. The number is in the message: callers mistake lamports for SOL.
fn integer(value: &Value, min: u64, max: u64) -> Checked {
    let mut spelled = value.clone();
    spell_integers(&mut spelled);
    match spelled.as_u64() {
        Some(number) if (min..=max).contains(&number) => Ok(number.into()),
        _ if value.is_number() => Err(format!("must be an integer from {min} to {max}; this is {value}")),
        _ => Err(format!("must be an integer from {min} to {max}")),
    }
}

/// One of a few texts, spelled exactly so.
fn choice(value: &Value, choices: &[&str]) -> Checked {
    if value.as_str().is_some_and(|text| choices.contains(&text)) {
        return Ok(value.clone());
    }
    let found = value.as_str().map(|text| format!("; this is {}", mainstay_core::quoted(text))).unwrap_or_default();
    Err(format!("must be one of {}{found}", choices.join(", ")))
}

/// Text that may be written to logs and stored as it is.
fn text(value: &Value, max: usize) -> Checked {
    let printable = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    if value.as_str().is_some_and(|text| (1..=max).contains(&text.len()) && printable(text)) {
        return Ok(value.clone());
    }
    Err(format!("must be a string of 1 to {max} printable ASCII characters"))
}
