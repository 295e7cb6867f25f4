//! Params that a caller wrote for the node itself.
//!
//! They become arguments by name and are then checked by the same rules as those of a tool, so that no limit is written
//! twice. They are sent as they came: no defaults are inserted.

use serde_json::{Map, Value};

use super::check::{ArgumentProblem, Problems, names};
use super::definition::{Kind, Method, Param};
use super::rules;

impl Method {
    /// Checks an array of the RPC's own params: the positional ones, the limits, and those options that the table knows.
    /// Options that it does not know pass, because a newer node may. Every problem is reported.
    pub fn params_from_array(&self, params: &[Value]) -> Result<(), Vec<ArgumentProblem>> {
        let mut problems = Problems::default();
        let named = self.named(params, &mut problems);
        let expected: Vec<&'static Param> = self.sent_arguments().collect();
        let checked = problems.members("", expected.iter().copied(), &named);
        rules::check(self, &checked, &named, &mut problems);
        for param in self.options {
            if let Kind::Fixed(value) = param.kind
                && !named.contains_key(param.name)
            {
                // The parameters are checked in this encoding, and the node's default is another.
                problems.report(param.name, format!("must be set to {value} in the options"));
            }
        }
        problems.or(())
    }

    /// The arguments that reach the node, with those whose value is fixed.
    fn sent_arguments(&self) -> impl Iterator<Item = &'static Param> {
        let local = self.local;
        let fixed = self.options.iter().filter(|param| matches!(param.kind, Kind::Fixed(_)));
        self.arguments().filter(move |param| !local.iter().any(|other| other.name == param.name)).chain(fixed)
    }

    /// The array as arguments by name. `null` is what clients send for an argument that is not given. Options that the
    /// table does not have are left out; one with the name of a positional parameter must not take its place.
    fn named(&self, params: &[Value], problems: &mut Problems) -> Map<String, Value> {
        let mut named = Map::new();
        let mut rest = params.iter();
        for param in self.positional {
            // The node takes the options in place of an optional slot before them.
            if !param.required && rest.as_slice().first().is_some_and(Value::is_object) {
                break;
            }
            match (param.kind, rest.next()) {
                (_, None | Some(Value::Null)) => {}
                (Kind::OneOf(members), Some(Value::Object(given))) => {
                    for name in given.keys().filter(|name| !members.iter().any(|member| member.name == **name)) {
                        problems.report(name, format!("is not known here; there are {}", names(members.iter())));
                    }
                    let known = members.iter().filter_map(|member| given.get_key_value(member.name));
                    named.extend(known.map(|(name, value)| (name.clone(), value.clone())));
                }
                (Kind::OneOf(members), Some(_)) => {
                    problems.report(param.name, format!("must be an object with one of {}", names(members.iter())));
                }
                (_, Some(value)) => {
                    named.insert(param.name.to_owned(), value.clone());
                }
            }
        }
        match rest.next() {
            Some(Value::Object(options)) if !self.options.is_empty() => {
                let known = self.options.iter().filter_map(|param| options.get_key_value(param.name));
                let given = known.filter(|(_, value)| !value.is_null());
                named.extend(given.map(|(name, value)| (name.clone(), value.clone())));
            }
            None | Some(Value::Null) => {}
            Some(_) if self.options.is_empty() => {
                problems.report("params", format!("has too many items; {} takes {}", self.name, self.positional.len()));
            }
            Some(_) => problems.report("params", "must end with the options, an object"),
        }
        if rest.next().is_some() {
            problems.report("params", format!("has items after the options of {}", self.name));
        }
        named
    }
}
