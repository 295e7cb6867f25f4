//! Compares what agents work on. Nothing here is stored: the tool stores what is found.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{BuildHasher as _, RandomState};

use mainstay_core::Result;
use mainstay_store::{ActivityQuery, AgentState, DetectedConflict};

use super::targets::{Target, Targets, add_targets};
use crate::agents::AgentTools;

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
pub(crate) async fn find(tools: &AgentTools, agents: &Names, now_ms: i64) -> Result<Vec<DetectedConflict>> {
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
