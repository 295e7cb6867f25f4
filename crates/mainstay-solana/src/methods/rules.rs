//! Rules that concern several arguments of a call.

use serde_json::{Map, Value};

use super::check::{Problems, names};
use super::definition::{DefaultValue, Kind, MOST_BLOCKS, Method, Param};

/// Checks what the arguments say together. Those in `args` are right by themselves; one that is only in `given` was wrong,
/// which has been reported.
///
/// The rules go by the names of arguments, not of methods: a name means the same in every method.
pub(super) fn check(method: &Method, args: &Map<String, Value>, given: &Map<String, Value>, problems: &mut Problems) {
    for param in method.positional {
        if let Kind::OneOf(members) = param.kind {
            exactly_one(members, given, problems);
        }
    }
    if args.get("sigVerify") == Some(&Value::Bool(true))
        && args.get("replaceRecentBlockhash") == Some(&Value::Bool(true))
    {
        // A new blockhash is a new message, which the signatures do not sign.
        problems.report("sigVerify", "must not be true together with replaceRecentBlockhash");
    }
    if args.contains_key("dataSlice") && args.get("encoding").is_some_and(|encoding| encoding == "jsonParsed") {
        // Parsed accounts would come whole: the node applies the slice to bytes only.
        problems.report("dataSlice", "must not be combined with encoding jsonParsed; use base64");
    }
    if let (Some(start), Some(end)) = (number(args, "startSlot"), number(args, "endSlot")) {
        blocks(start, end, problems);
    }
    if let Some(range) = args.get("range").and_then(Value::as_object)
        && let (Some(first), Some(last)) = (number(range, "firstSlot"), number(range, "lastSlot"))
        && last < first
    {
        // The node refuses this too; here the message names the argument.
        problems.report("range/lastSlot", format!("must not be less than firstSlot, {first}; this is {last}"));
    }
}

/// Looks at what was given, right or wrong: a wrong mint is not a missing one.
fn exactly_one(members: &'static [Param], given: &Map<String, Value>, problems: &mut Problems) {
    let mut named = members.iter().filter(|member| given.contains_key(member.name));
    match (named.next(), named.next()) {
        (Some(_), None) => {}
        (Some(_), Some(second)) => {
            problems.report(second.name, format!("give exactly one of {}", names(members.iter())))
        }
        (None, _) => {
            let name = members.first().map_or("", |member| member.name);
            problems.report(name, format!("is required, exactly one of {}", names(members.iter())));
        }
    }
}

/// The node answers an empty list for a range that goes backwards, which reads as "no blocks".
fn blocks(start: u64, end: u64, problems: &mut Problems) {
    match end.checked_sub(start) {
        None => problems.report("endSlot", format!("must not be less than startSlot, {start}; this is {end}")),
        Some(range) if range > MOST_BLOCKS => {
            problems.report("endSlot", format!("must be at most {MOST_BLOCKS} after startSlot; this is {range} after"));
        }
        Some(_) => {}
    }
}

fn number(args: &Map<String, Value>, name: &str) -> Option<u64> {
    args.get(name)?.as_u64()
}

/// What is sent for an argument that is not given.
pub(super) fn default_of(param: &Param, args: &Map<String, Value>) -> Option<DefaultValue> {
    // A part of the data has no parsed form.
    let sliced = param.name == "encoding" && args.contains_key("dataSlice");
    param.default.map(|default| if sliced { DefaultValue::Text("base64") } else { default })
}
