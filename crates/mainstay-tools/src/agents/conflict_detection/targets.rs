//! What an activity touches, as its details say.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// The most things of one agent that are compared.
const MOST: usize = 1000;

/// Longer names are not compared.
const LONGEST: usize = 500;

/// What is done to a table or a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) changed: bool,
    pub(crate) removed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Route {
    pub(crate) path: String,
    /// In capitals; none stands for every method.
    pub(crate) method: Option<String>,
}

/// Everything an agent has its hands on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Touches {
    pub(crate) components: BTreeSet<String>,
    pub(crate) routes: BTreeSet<Route>,
    pub(crate) tables: BTreeMap<String, Done>,
    pub(crate) files: BTreeMap<String, Done>,
}

impl Touches {
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
        for (table, done) in acts(details, ["table", "tables"], REMOVED_TABLE) {
            if self.has_room() {
                self.tables.entry(table.to_owned()).or_default().also(done);
            }
        }
        for (file, done) in acts(details, ["file", "files"], REMOVED_FILE) {
            let file: Vec<&str> = file.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
            if self.has_room() {
                self.files.entry(file.join("/")).or_default().also(done);
            }
        }
    }

    fn has_room(&self) -> bool {
        self.components.len() + self.routes.len() + self.tables.len() + self.files.len() < MOST
    }
}

impl Done {
    fn also(&mut self, done: Self) {
        self.changed |= done.changed;
        self.removed |= done.removed;
    }
}

const REMOVED_TABLE: &[&str] = &["drop", "remove", "delete", "destroy", "truncate"];
const REMOVED_FILE: &[&str] = &["drop", "remove", "delete", "destroy", "move", "rename"];

/// Operations that leave everything as it is.
const LOOKED_AT: &[&str] = &["read", "select", "query", "view", "inspect", "list", "search"];

/// Both spellings may hold one thing or a list of them.
fn items<'d>(details: &'d Map<String, Value>, one: &str, many: &str) -> impl Iterator<Item = &'d Value> {
    let given = [details.get(one), details.get(many)].into_iter().flatten();
    given.flat_map(|given| given.as_array().map_or(std::slice::from_ref(given), Vec::as_slice))
}

/// A thing is named by a text, or by a member of an object.
fn name<'d>(item: &'d Value, members: &[&str]) -> Option<&'d str> {
    let named = item.as_str().or_else(|| members.iter().find_map(|member| item.get(member)?.as_str()));
    named.map(str::trim).filter(|name| comparable(name))
}

fn comparable(name: &str) -> bool {
    !name.is_empty() && name.chars().count() <= LONGEST && !name.contains('\0')
}

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
    (short && comparable(path)).then(|| Route { path: path.to_owned(), method })
}

/// The first word, in small letters: "DROP TABLE" is a drop.
fn operation(item: &Map<String, Value>) -> Option<String> {
    let said = item.get("operation")?.as_str()?;
    said.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty()).map(str::to_lowercase)
}

/// Things and what is done to each. What an item says of itself counts more than what is said of all; something done
/// that is not told is a change.
fn acts<'d>(
    details: &'d Map<String, Value>,
    [one, many]: [&'static str; 2],
    removals: &'static [&'static str],
) -> impl Iterator<Item = (&'d str, Done)> {
    let general = operation(details);
    items(details, one, many).filter_map(move |item| {
        let own = item.as_object().and_then(operation);
        let operation = own.as_ref().or(general.as_ref()).map_or("", String::as_str);
        if LOOKED_AT.contains(&operation) {
            return None;
        }
        let removed = removals.contains(&operation);
        Some((name(item, &["name", "path", one])?, Done { changed: !removed, removed }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn touched(details: &Value) -> Touches {
        let mut touches = Touches::default();
        touches.add(details.as_object().unwrap());
        touches
    }

    #[test]
    fn every_spelling_of_a_thing_is_understood() {
        for details in [
            json!({"component": "api"}),
            json!({"component": ["api"]}),
            json!({"components": ["api", "", 7, null, {"other": 1}]}),
            json!({"components": [{"name": " api "}]}),
        ] {
            assert_eq!(touched(&details).components, BTreeSet::from(["api".to_owned()]), "{details}");
        }
        for details in [
            json!({"route": "get /users/"}),
            json!({"routes": [{"method": "GET", "path": "/users"}]}),
            json!({"routes": ["GET   /users"]}),
        ] {
            let route = Route { path: "/users".into(), method: Some("GET".into()) };
            assert_eq!(touched(&details).routes, BTreeSet::from([route]), "{details}");
        }
        let any = touched(&json!({"routes": ["/", "* /a", {"path": "/b"}]})).routes;
        assert!(any.iter().all(|route| route.method.is_none()) && any.len() == 3, "{any:?}");
    }

    #[test]
    fn an_operation_is_a_change_a_removal_or_only_a_look() {
        let (change, removal) = (Done { changed: true, removed: false }, Done { changed: false, removed: true });
        for (details, expected) in [
            (json!({"table": "t"}), Some(change)),
            (json!({"table": "t", "operation": "ALTER TABLE"}), Some(change)),
            (json!({"table": "t", "operation": "Drop table"}), Some(removal)),
            (json!({"table": "t", "operation": "rename"}), Some(change)),
            (json!({"table": "t", "operation": "select"}), None),
            (json!({"tables": [{"name": "t", "operation": "drop"}], "operation": "alter"}), Some(removal)),
            (json!({"tables": [{"table": "t"}], "operation": "drop"}), Some(removal)),
        ] {
            assert_eq!(touched(&details).tables.get("t").copied(), expected, "{details}");
        }
        let files = touched(&json!({"files": ["./a//b", {"path": "c", "operation": "rename"}], "operation": "edit"}));
        assert_eq!(files.files, BTreeMap::from([("a/b".to_owned(), change), ("c".to_owned(), removal)]));
    }

    #[test]
    fn what_cannot_be_compared_is_left_out_and_there_is_an_end_to_it() {
        let many: Vec<String> = (0..5000).map(|number| number.to_string()).collect();
        assert_eq!(touched(&json!({"components": many})).components.len(), MOST);
        let odd =
            json!({"components": ["x".repeat(501), "a\0b"], "tables": 7, "files": {"x": 1}, "routes": [{"method": 1}]});
        assert_eq!(touched(&odd), Touches::default());
    }
}
