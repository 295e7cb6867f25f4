//! Finds agents that work on the same thing: reads from the details of their activities what they work on (components,
//! routes, tables and files) and compares the agents. Nothing here is stored: the tool stores what is found.
//!
//! Agents write details freely, so every spelling that is likely to be meant is accepted and anything else is ignored.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{BuildHasher as _, RandomState};

use mainstay_core::Result;
use mainstay_store::{ActivityQuery, AgentState, DetectedConflict};
use serde_json::{Map, Value};

use super::AgentTools;

/// How many activities of each agent are read, the newest ones.
const MAX_ACTIVITIES: usize = 5000;
const PAGE: u32 = 200;

/// The most words of a current task that are looked up as component names.
const MAX_TASK_WORDS: usize = 100;

type Names = BTreeSet<String>;

/// What each agent's unfinished activities work on.
type TargetsByAgent = BTreeMap<String, Targets>;

/// The other way round: names of agents by what they work on.
type AgentsByTarget = BTreeMap<String, Names>;

/// All conflicts among these agents, ordered by kind and name.
pub(super) async fn find(tools: &AgentTools, agents: &Names, now_ms: i64) -> Result<Vec<DetectedConflict>> {
    let since_ms = now_ms - i64::from(tools.settings.conflict_hours) * 3_600_000;
    let mut targets = TargetsByAgent::new();
    let mut task_words = BTreeMap::new();
    for agent in agents {
        targets.insert(agent.clone(), unfinished_targets(tools, agent, since_ms).await?);
        if let Some(state) = tools.agents().state(agent).await? {
            task_words.insert(agent.clone(), words_of_task(&state));
        }
    }
    let mut found = component_conflicts(tools, &targets, &task_words).await?;
    found.extend(file_conflicts(&targets));
    found.extend(route_conflicts(&targets));
    found.extend(table_conflicts(&targets));
    Ok(found)
}

/// What an agent's unfinished activities work on. An activity is finished by a later row with the same text and the
/// status completed or failed, so rows are read from the newest to the oldest.
async fn unfinished_targets(tools: &AgentTools, agent: &str, since_ms: i64) -> Result<Targets> {
    // Texts may have 10,000 characters; a hash of each is enough to tell 5,000 of them apart.
    let (hasher, mut finished) = (RandomState::new(), HashSet::new());
    let (mut targets, mut before) = (Targets::default(), None);
    // Page by page, until an activity is older than the limit or enough have been read.
    for _ in 0..MAX_ACTIVITIES / PAGE as usize {
        let query = ActivityQuery { agent: Some(agent.to_owned()), before, limit: PAGE, ..ActivityQuery::default() };
        let page = tools.agents().activities(query).await?;
        for row in page.iter().filter(|row| row.at_ms >= since_ms) {
            let activity = hasher.hash_one(&row.activity);
            if matches!(row.status.as_deref(), Some("completed" | "failed")) {
                finished.insert(activity);
            } else if !finished.contains(&activity)
                && let Some(details) = row.details.as_deref().and_then(|json| serde_json::from_str(json).ok())
            {
                add_targets(&mut targets, &details);
            }
        }
        before = page.last().filter(|row| row.at_ms >= since_ms).map(|row| row.id);
        if before.is_none() {
            break;
        }
    }
    Ok(targets)
}

/// Possible component names in an agent's current task: every word of it, and the whole text.
fn words_of_task(state: &AgentState) -> Names {
    let Some(task) = state.current_task.as_deref().filter(|_| state.status != "offline") else { return Names::new() };
    let word = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let words = task.split_whitespace().take(MAX_TASK_WORDS).map(word).filter(|word| !word.is_empty());
    words.chain([task.trim().to_owned()]).collect()
}

/// The agents that work on each target of one sort. `name` gives the name of a target of that sort.
fn agents_by_target(targets: &TargetsByAgent, name: fn(&Target) -> Option<&String>) -> AgentsByTarget {
    let mut agents = AgentsByTarget::new();
    for (agent, targets) in targets {
        for target in targets.iter().filter_map(name) {
            agents.entry(target.clone()).or_default().insert(agent.clone());
        }
    }
    agents
}

/// Two agents work on a component, or one works on it and another owns it (active).
async fn component_conflicts(
    tools: &AgentTools,
    targets: &TargetsByAgent,
    task_words: &BTreeMap<String, Names>,
) -> Result<Vec<DetectedConflict>> {
    let mut workers =
        agents_by_target(targets, |target| if let Target::Component(name) = target { Some(name) } else { None });
    let names: Names = workers.keys().chain(task_words.values().flatten()).cloned().collect();
    for component in tools.agents().components_named(names.into_iter().collect()).await? {
        let agents = workers.entry(component.name.clone()).or_default();
        let by_task = task_words.iter().filter(|(_, words)| words.contains(&component.name));
        agents.extend(by_task.map(|(agent, _)| agent.clone()));
        if component.status == "active" && targets.contains_key(&component.owner) {
            agents.insert(component.owner);
        }
    }
    let conflicts = workers.into_iter().filter_map(|(name, agents)| conflict("component", name, "medium", agents));
    Ok(conflicts.collect())
}

/// Two agents work on the same method of a path; a path without a method stands for all methods.
fn route_conflicts(targets: &TargetsByAgent) -> Vec<DetectedConflict> {
    let mut paths: BTreeMap<&str, BTreeMap<Option<&str>, Names>> = BTreeMap::new();
    for (agent, targets) in targets {
        for target in targets {
            if let Target::Route { path, method } = target {
                let methods = paths.entry(path).or_default();
                methods.entry(method.as_deref()).or_default().insert(agent.clone());
            }
        }
    }
    // Agents that named no method conflict with those of every method, but are one conflict if nobody named any.
    let mut found = Vec::new();
    for (path, mut methods) in paths {
        let all_methods = methods.remove(&None).unwrap_or_default();
        if methods.is_empty() {
            found.extend(conflict("route", path.to_owned(), "medium", all_methods.clone()));
        }
        for (method, agents) in methods {
            let route = format!("{} {path}", method.unwrap_or_default());
            found.extend(conflict("route", route, "medium", agents.union(&all_methods).cloned().collect()));
        }
    }
    found
}

/// Two agents change or remove the same table; critical if one removes what another changes.
fn table_conflicts(targets: &TargetsByAgent) -> Vec<DetectedConflict> {
    let mut agents =
        agents_by_target(targets, |target| if let Target::ChangedTable(name) = target { Some(name) } else { None });
    let changed: Names = agents.keys().cloned().collect();
    let removing =
        agents_by_target(targets, |target| if let Target::RemovedTable(name) = target { Some(name) } else { None });
    let removed: Names = removing.keys().cloned().collect();
    for (table, removing) in removing {
        agents.entry(table).or_default().extend(removing);
    }
    let found = agents.into_iter().filter_map(|(table, agents)| {
        let severity = if changed.contains(&table) && removed.contains(&table) { "critical" } else { "high" };
        conflict("schema", table, severity, agents)
    });
    found.collect()
}

/// One agent edits a file that another removes, by itself or with a directory above it.
fn file_conflicts(targets: &TargetsByAgent) -> Vec<DetectedConflict> {
    let editing =
        agents_by_target(targets, |target| if let Target::ChangedFile(path) = target { Some(path) } else { None });
    let removing =
        agents_by_target(targets, |target| if let Target::RemovedFile(path) = target { Some(path) } else { None });
    let mut found = Vec::new();
    for (file, editors) in editing {
        // The file itself and every directory above it.
        let paths = file.match_indices('/').map(|(at, _)| &file[..at]).chain([file.as_str()]);
        let removers: Names = paths.filter_map(|path| removing.get(path)).flatten().cloned().collect();
        if !removers.is_empty() {
            let agents = editors.union(&removers).cloned().collect();
            found.extend(conflict("file", file, "critical", agents));
        }
    }
    found
}

/// Nothing if only one agent works on it.
fn conflict(kind: &str, component: String, severity: &str, agents: Names) -> Option<DetectedConflict> {
    let agents: Vec<String> = Some(agents).filter(|agents| agents.len() > 1)?.into_iter().collect();
    Some(DetectedConflict { component, kind: kind.into(), severity: severity.into(), agents })
}

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
enum Target {
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
type Targets = BTreeSet<Target>;

/// Adds what the details of one activity name, up to the limit.
fn add_targets(targets: &mut Targets, details: &Map<String, Value>) {
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
