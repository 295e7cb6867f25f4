//! What an activity works on, read from its `details`: components, routes, tables and files.
//!
//! Agents write details freely, so every spelling that is likely to be meant is accepted and anything else is ignored.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// The most targets of one agent that are compared: details are written by agents and may name any number.
const MAX_TARGETS: usize = 1000;

/// Longer names are not compared.
const MAX_NAME_CHARS: usize = 500;

/// What one agent does to a table or a file: both are possible, by different activities.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Operations {
    pub(crate) changed: bool,
    pub(crate) removed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Route {
    pub(crate) path: String,
    /// In upper case; `None` stands for every method.
    pub(crate) method: Option<String>,
}

/// Everything an agent works on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Targets {
    pub(crate) components: BTreeSet<String>,
    pub(crate) routes: BTreeSet<Route>,
    pub(crate) tables: BTreeMap<String, Operations>,
    pub(crate) files: BTreeMap<String, Operations>,
}

impl Targets {
    pub(crate) fn add(&mut self, details: &Map<String, Value>) {
        for item in items(details, "component", "components").filter_map(|item| name(item, &["name", "component"])) {
            if self.has_room() {
                self.components.insert(item.to_owned());
            }
        }
        for route in items(details, "route", "routes").filter_map(route) {
            if self.has_room() {
                self.routes.insert(route);
            }
        }
        for (table, operations) in operations(details, ["table", "tables"], TABLE_REMOVALS) {
            if self.has_room() {
                self.tables.entry(table.to_owned()).or_default().merge(operations);
            }
        }
        for (file, operations) in operations(details, ["file", "files"], FILE_REMOVALS) {
            let file: Vec<&str> = file.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
            if self.has_room() {
                self.files.entry(file.join("/")).or_default().merge(operations);
            }
        }
    }

    fn has_room(&self) -> bool {
        self.components.len() + self.routes.len() + self.tables.len() + self.files.len() < MAX_TARGETS
    }
}

impl Operations {
    fn merge(&mut self, other: Self) {
        self.changed |= other.changed;
        self.removed |= other.removed;
    }
}

const TABLE_REMOVALS: &[&str] = &["drop", "remove", "delete", "destroy", "truncate"];
const FILE_REMOVALS: &[&str] = &["drop", "remove", "delete", "destroy", "move", "rename"];

/// Operations that change nothing and so conflict with nothing.
const READ_ONLY: &[&str] = &["read", "select", "query", "view", "inspect", "list", "search"];

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
fn route(item: &Value) -> Option<Route> {
    let (method, path) = match item.as_str() {
        Some(text) => text.trim().split_once(char::is_whitespace).map_or((None, text), |(m, p)| (Some(m), p)),
        None => (item.get("method").and_then(Value::as_str), item.get("path")?.as_str()?),
    };
    let path = path.trim();
    let path = Some(path.trim_end_matches('/')).filter(|path| !path.is_empty()).unwrap_or(path);
    let method = method
        .map(|method| method.trim().to_uppercase())
        .filter(|method| !matches!(method.as_str(), "" | "*" | "ANY" | "ALL"));
    let short = method.as_deref().is_none_or(|method| method.len() <= 20);
    (short && is_comparable(path)).then(|| Route { path: path.to_owned(), method })
}

/// The first word of `operation` in lower case: "DROP TABLE" is a drop.
fn operation(item: &Map<String, Value>) -> Option<String> {
    let operation = item.get("operation")?.as_str()?;
    operation.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty()).map(str::to_lowercase)
}

/// Tables or files and what is done to each. An operation of the item itself takes precedence over the one of the whole
/// activity; without any, the item counts as changed.
fn operations<'d>(
    details: &'d Map<String, Value>,
    [one, many]: [&'static str; 2],
    removals: &'static [&'static str],
) -> impl Iterator<Item = (&'d str, Operations)> {
    let general = operation(details);
    items(details, one, many).filter_map(move |item| {
        let own = item.as_object().and_then(operation);
        let operation = own.as_ref().or(general.as_ref()).map_or("", String::as_str);
        if READ_ONLY.contains(&operation) {
            return None;
        }
        let removed = removals.contains(&operation);
        Some((name(item, &["name", "path", one])?, Operations { changed: !removed, removed }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn targets_of(details: &Value) -> Targets {
        let mut targets = Targets::default();
        targets.add(details.as_object().unwrap());
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
            assert_eq!(targets_of(&details).components, BTreeSet::from(["api".to_owned()]), "{details}");
        }
        for details in [
            json!({"route": "get /users/"}),
            json!({"routes": [{"method": "GET", "path": "/users"}]}),
            json!({"routes": ["GET   /users"]}),
        ] {
            let route = Route { path: "/users".into(), method: Some("GET".into()) };
            assert_eq!(targets_of(&details).routes, BTreeSet::from([route]), "{details}");
        }
        let any = targets_of(&json!({"routes": ["/", "* /a", {"path": "/b"}]})).routes;
        assert!(any.iter().all(|route| route.method.is_none()) && any.len() == 3, "{any:?}");
    }

    #[test]
    fn operation_is_a_change_a_removal_or_read_only() {
        let (change, removal) =
            (Operations { changed: true, removed: false }, Operations { changed: false, removed: true });
        for (details, expected) in [
            (json!({"table": "t"}), Some(change)),
            (json!({"table": "t", "operation": "ALTER TABLE"}), Some(change)),
            (json!({"table": "t", "operation": "Drop table"}), Some(removal)),
            (json!({"table": "t", "operation": "rename"}), Some(change)),
            (json!({"table": "t", "operation": "select"}), None),
            (json!({"tables": [{"name": "t", "operation": "drop"}], "operation": "alter"}), Some(removal)),
            (json!({"tables": [{"table": "t"}], "operation": "drop"}), Some(removal)),
        ] {
            assert_eq!(targets_of(&details).tables.get("t").copied(), expected, "{details}");
        }
        let files =
            targets_of(&json!({"files": ["./a//b", {"path": "c", "operation": "rename"}], "operation": "edit"}));
        assert_eq!(files.files, BTreeMap::from([("a/b".to_owned(), change), ("c".to_owned(), removal)]));
    }

    #[test]
    fn malformed_targets_are_ignored_and_their_number_is_limited() {
        let many: Vec<String> = (0..5000).map(|number| number.to_string()).collect();
        assert_eq!(targets_of(&json!({"components": many})).components.len(), MAX_TARGETS);
        let odd =
            json!({"components": ["x".repeat(501), "a\0b"], "tables": 7, "files": {"x": 1}, "routes": [{"method": 1}]});
        assert_eq!(targets_of(&odd), Targets::default());
    }
}
