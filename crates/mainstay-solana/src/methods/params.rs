//! The params of a request, from the arguments of a tool.

use serde_json::{Map, Value};

use super::check::{ArgumentProblem, Problems};
use super::commitment::Commitment;
use super::definition::{Kind, Method, Param};
use super::rules;

/// The argument that chooses the network. The caller has read it: it is not sent.
pub(super) const NETWORK: &str = "network";

/// What is sent, and what the client needs to know of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// The params array.
    pub sent: Vec<Value>,
    /// The commitment in the options, if the method takes one; for sendTransaction that of the preflight.
    pub commitment: Option<Commitment>,
    /// The slot that the node must have reached, if the caller named one.
    pub min_context_slot: Option<u64>,
    /// The most items to return, for a method that cannot limit them itself. Not sent: the caller applies it to the answer.
    pub limit: Option<usize>,
    /// Whether this call's result is `{context, value}`. Differs from the method's where `withContext` was set to false.
    pub has_context: bool,
}

impl Method {
    /// The params array to send. Checks what a schema cannot, and inserts the table's defaults and `default_commitment`,
    /// which is raised to the least that the method takes. Every problem is reported, each with its argument.
    pub fn params(
        &self,
        args: &Map<String, Value>,
        default_commitment: Commitment,
    ) -> Result<Params, Vec<ArgumentProblem>> {
        let mut problems = Problems::default();
        let mut own = args.clone();
        own.remove(NETWORK);
        let checked = problems.members("", self.arguments(), &own);
        rules::check(self, &checked, &own, &mut problems);
        problems.or(())?;

        let options = self.sent_options(&checked, default_commitment);
        let commitment = self.options.iter().find(|param| matches!(param.kind, Kind::Commitment(_)));
        let commitment = commitment.and_then(|param| options.get(param.name)?.as_str()).and_then(Commitment::parse);
        // getSignaturesForAddress has a limit too, which the node applies.
        let local = |name| self.local.iter().any(|param: &Param| param.name == name);
        Ok(Params {
            commitment,
            min_context_slot: options.get("minContextSlot").and_then(Value::as_u64),
            limit: checked
                .get("limit")
                .filter(|_| local("limit"))
                .and_then(Value::as_u64)
                .and_then(|n| n.try_into().ok()),
            has_context: self.has_context && options.get("withContext") != Some(&Value::Bool(false)),
            sent: self.sent_array(&checked, options),
        })
    }

    /// The options object: what was given, what is fixed, and the defaults.
    fn sent_options(&self, checked: &Map<String, Value>, default_commitment: Commitment) -> Map<String, Value> {
        let mut options = Map::new();
        for param in self.options {
            let value = match (param.kind, checked.get(param.name)) {
                (Kind::Fixed(value), _) => Some(value.into()),
                (_, Some(value)) => Some(value.clone()),
                // The node's own default is finalized, some 13 seconds behind.
                (Kind::Commitment(least), None) => Some(default_commitment.max(least).as_str().into()),
                (_, None) => rules::default_of(param, checked).map(Value::from),
            };
            if let Some(value) = value {
                options.insert(param.name.to_owned(), value);
            }
        }
        options
    }

    /// An optional parameter that is not given is `null` if others follow it, and otherwise left out.
    fn sent_array(&self, checked: &Map<String, Value>, options: Map<String, Value>) -> Vec<Value> {
        let mut sent: Vec<Value> = self.positional.iter().map(|param| positional(param, checked)).collect();
        if !options.is_empty() {
            sent.push(Value::Object(options));
        }
        // Some methods refuse a trailing null as one parameter too many.
        while sent.last().is_some_and(Value::is_null) {
            sent.pop();
        }
        sent
    }
}

/// A parameter before the options, or `null`.
fn positional(param: &Param, checked: &Map<String, Value>) -> Value {
    if let Kind::OneOf(members) = param.kind {
        let given =
            members.iter().filter_map(|member| Some((member.name.to_owned(), checked.get(member.name)?.clone())));
        return Value::Object(given.collect());
    }
    let given = checked.get(param.name).cloned();
    given.or_else(|| rules::default_of(param, checked).map(Value::from)).unwrap_or_default()
}
