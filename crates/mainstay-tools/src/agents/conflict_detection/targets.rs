//! What an activity works on, read from its `details`: components, routes, tables and files.
//!
//! Agents write details freely, so every spelling that is likely to be meant is accepted and anything else is ignored.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The most targets of one agent that are compared: details are written by agents and may name any number.
const MAX_TARGETS: usize = 1000;

/// Longer names are not compared.
const MAX_NAME_CHARS: usize = 500;

/// The first words of operations that remove a table, or a file. Moving a file removes it for those who edit it.
const TABLE_REMOVALS: &[&str] = &["drop", "remove", "delete", "destroy", "truncate"];
const FILE_REMOVALS: &[&str] = &["drop", "remove", "delete", "destroy", "move", "rename"];

/// Operations that change nothing and so conflict with nothing.
const READ_ONLY: &[&str] = &["read", "select", "query", "view", "inspect", "list", "search"];

/// Something an agent works on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    Component(String),
    /// The method is in upper case; `None` stands for every method.
    Route {
        path: String,
        method: Option<String>,
    },
    ChangedTable(String),
    RemovedTable(String),
    ChangedFile(String),
    RemovedFile(String),
}

/// Everything an agent works on.
pub(crate) type Targets = BTreeSet<Target>;

/// Adds what the details of one activity name, up to the limit.
pub(crate) fn add_targets(targets: &mut Targets, details: &Map<String, Value>) {
    let components = items(details, "component", "components")
        .filter_map(|item| name(item, &["name", "component"]))
        .map(|name| Target::Component(name.to_owned()));
    let routes = items(details, "route", "routes").filter_map(route);
    let tables = changes(details, ["table", "tables"], TABLE_REMOVALS).map(|(table, is_removed)| {
        let table = table.to_owned();
        if is_removed { Target::RemovedTable(table) } else { Target::ChangedTable(table) }
    });
    let files = changes(details, ["file", "files"], FILE_REMOVALS).map(|(file, is_removed)| {
        let parts: Vec<&str> = file.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        let path = parts.join("/");
        if is_removed { Target::RemovedFile(path) } else { Target::ChangedFile(path) }
    });
    for target in components.chain(routes).chain(tables).chain(files) {
        if targets.len() < MAX_TARGETS {
            targets.insert(target);
        }
    }
}

/// The values of a member in singular or plural; both may hold one value or a list.
fn items<'d>(details: &'d Map<String, Value>, one: &str, many: &str) -> impl Iterator<Item = &'d Value> {
    let given = [details.get(one), details.get(many)].into_iter().flatten();
    given.flat_map(|given| given.as_array().map_or(std::slice::from_ref(given), Vec::as_slice))
}

/// A target is given as a string, or as an object with a member that names it.
fn name<'d>(item: &'d Value, members: &[&str]) -> Option<&'d str> {
    let name = item.as_str().or_else(|| members.iter().find_map(|member| item.get(member)?.as_str()));
    name.map(str::trim).filter(|name| is_comparable(name))
}

/// PostgreSQL cannot look up a name with a NUL character.
fn is_comparable(name: &str) -> bool {
    !name.is_empty() && name.chars().count() <= MAX_NAME_CHARS && !name.contains('\0')
}

/// A route as `"GET /users"`, `"/users"` or `{"method": "GET", "path": "/users"}`.
fn route(item: &Value) -> Option<Target> {
    let (method, path) = match item.as_str() {
        Some(text) => text.trim().split_once(char::is_whitespace).map_or((None, text), |(m, p)| (Some(m), p)),
        None => (item.get("method").and_then(Value::as_str), item.get("path")?.as_str()?),
    };
    let path = path.trim();
    let path = Some(path.trim_end_matches('/')).filter(|path| !path.is_empty()).unwrap_or(path);
    let method = method
        .map(|method| method.trim().to_uppercase())
        .filter(|method| !matches!(method.as_str(), "" | "*" | "ANY" | "ALL"));
    let is_short = method.as_deref().is_none_or(|method| method.len() <= 20);
    (is_short && is_comparable(path)).then(|| Target::Route { path: path.to_owned(), method })
}

/// The first word of `operation` in lower case: "DROP TABLE" is a drop.
fn operation(item: &Map<String, Value>) -> Option<String> {
    let operation = item.get("operation")?.as_str()?;
    operation.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty()).map(str::to_lowercase)
}

/// Tables or files that are changed, and whether they are removed. An operation of the item itself takes precedence over
/// the one of the whole activity; without any, the item counts as changed.
fn changes<'d>(
    details: &'d Map<String, Value>,
    [one, many]: [&'static str; 2],
    removals: &'static [&'static str],
) -> impl Iterator<Item = (&'d str, bool)> {
    let general = operation(details);
    items(details, one, many).filter_map(move |item| {
        let own = item.as_object().and_then(operation);
        let operation = own.as_ref().or(general.as_ref()).map_or("", String::as_str);
        if READ_ONLY.contains(&operation) {
            return None;
        }
        Some((name(item, &["name", "path", one])?, removals.contains(&operation)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn targets_of(details: &Value) -> Targets {
        let mut targets = Targets::default();
        add_targets(&mut targets, details.as_object().unwrap());
        targets
    }

    #[test]
    fn every_spelling_of_a_target_is_understood() {
        for details in [
            json!({"component": "api"}),
            json!({"component": ["api"]}),
            json!({"components": ["api", "", 7, null, {"other": 1}]}),
            json!({"components": [{"name": " api "}]}),
        ] {
            assert_eq!(targets_of(&details), Targets::from([Target::Component("api".into())]), "{details}");
        }
        for details in [
            json!({"route": "get /users/"}),
            json!({"routes": [{"method": "GET", "path": "/users"}]}),
            json!({"routes": ["GET   /users"]}),
        ] {
            let route = Target::Route { path: "/users".into(), method: Some("GET".into()) };
            assert_eq!(targets_of(&details), Targets::from([route]), "{details}");
        }
        let any = targets_of(&json!({"routes": ["/", "* /a", {"path": "/b"}]}));
        let has_no_method = |target: &Target| matches!(target, Target::Route { method: None, .. });
        assert!(any.iter().all(has_no_method) && any.len() == 3, "{any:?}");
    }

    #[test]
    fn operation_is_a_change_a_removal_or_read_only() {
        let (change, removal) = (Target::ChangedTable("t".into()), Target::RemovedTable("t".into()));
        for (details, expected) in [
            (json!({"table": "t"}), Some(&change)),
            (json!({"table": "t", "operation": "ALTER TABLE"}), Some(&change)),
            (json!({"table": "t", "operation": "Drop table"}), Some(&removal)),
            (json!({"table": "t", "operation": "rename"}), Some(&change)),
            (json!({"table": "t", "operation": "select"}), None),
            (json!({"tables": [{"name": "t", "operation": "drop"}], "operation": "alter"}), Some(&removal)),
            (json!({"tables": [{"table": "t"}], "operation": "drop"}), Some(&removal)),
        ] {
            assert_eq!(targets_of(&details), expected.into_iter().cloned().collect(), "{details}");
        }
        let files =
            targets_of(&json!({"files": ["./a//b", {"path": "c", "operation": "rename"}], "operation": "edit"}));
        assert_eq!(files, Targets::from([Target::ChangedFile("a/b".into()), Target::RemovedFile("c".into())]));
    }

    #[test]
    fn malformed_targets_are_ignored_and_their_number_is_limited() {
        let many: Vec<String> = (0..5000).map(|number| number.to_string()).collect();
        assert_eq!(targets_of(&json!({"components": many})).len(), MAX_TARGETS);
        let odd =
            json!({"components": ["x".repeat(501), "a\0b"], "tables": 7, "files": {"x": 1}, "routes": [{"method": 1}]});
        assert_eq!(targets_of(&odd), Targets::default());
    }
}
