//! Compares what agents work on. Nothing here is stored: the tool stores what is found.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{BuildHasher as _, RandomState};

use mainstay_core::Result;
use mainstay_store::{ActivityQuery, AgentState, DetectedConflict};

use super::targets::{Operations, Targets};
use crate::agents::AgentTools;

/// How many activities of each agent are read, the newest ones.
const MAX_ACTIVITIES: usize = 5000;
const PAGE: u32 = 200;

/// The most words of a current task that are looked up as component names.
const MAX_TASK_WORDS: usize = 100;

type Names = BTreeSet<String>;

/// Names of agents by what they work on.
type AgentsByTarget = BTreeMap<String, Names>;

/// What each agent's unfinished activities work on.
type TargetsByAgent = BTreeMap<String, Targets>;

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
                targets.add(&details);
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

/// Two agents work on a component, or one works on it and another owns it (active).
async fn component_conflicts(
    tools: &AgentTools,
    targets: &TargetsByAgent,
    task_words: &BTreeMap<String, Names>,
) -> Result<Vec<DetectedConflict>> {
    let mut workers = AgentsByTarget::new();
    for (agent, targets) in targets {
        for component in &targets.components {
            workers.entry(component.clone()).or_default().insert(agent.clone());
        }
    }
    let names: Names = workers.keys().chain(task_words.values().flatten()).cloned().collect();
    for component in tools.agents().components_named(names.into_iter().collect()).await? {
        let agents = workers.entry(component.name.clone()).or_default();
        let by_task = task_words.iter().filter(|(_, words)| words.contains(&component.name));
        agents.extend(by_task.map(|(agent, _)| agent.clone()));
        if component.status == "active" && targets.contains_key(&component.owner) {
            agents.insert(component.owner);
        }
    }
    Ok(workers
        .into_iter()
        .filter_map(|(component, agents)| conflict("component", component, "medium", agents))
        .collect())
}

/// Two agents work on the same method of a path; a path without a method stands for all methods.
fn route_conflicts(targets: &TargetsByAgent) -> Vec<DetectedConflict> {
    let mut paths: BTreeMap<&str, BTreeMap<Option<&str>, Names>> = BTreeMap::new();
    for (agent, targets) in targets {
        for route in &targets.routes {
            let methods = paths.entry(&route.path).or_default();
            methods.entry(route.method.as_deref()).or_default().insert(agent.clone());
        }
    }
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

/// Which agents change each target, and which remove it.
fn by_operation<'t>(
    targets: impl Iterator<Item = (&'t String, &'t BTreeMap<String, Operations>)>,
) -> (AgentsByTarget, AgentsByTarget) {
    let (mut changing, mut removing) = (AgentsByTarget::new(), AgentsByTarget::new());
    for (agent, targets) in targets {
        for (target, operations) in targets {
            for (applies, agents) in [(operations.changed, &mut changing), (operations.removed, &mut removing)] {
                if applies {
                    agents.entry(target.clone()).or_default().insert(agent.clone());
                }
            }
        }
    }
    (changing, removing)
}

/// Two agents change or remove the same table; critical if one removes what another changes.
fn table_conflicts(targets: &TargetsByAgent) -> Vec<DetectedConflict> {
    let (mut changing, removing) = by_operation(targets.iter().map(|(agent, targets)| (agent, &targets.tables)));
    let changed: Names = changing.keys().cloned().collect();
    let removed: Names = removing.keys().cloned().collect();
    for (table, agents) in removing {
        changing.entry(table).or_default().extend(agents);
    }
    let found = changing.into_iter().filter_map(|(table, agents)| {
        let severity = if changed.contains(&table) && removed.contains(&table) { "critical" } else { "high" };
        conflict("schema", table, severity, agents)
    });
    found.collect()
}

/// One agent edits a file that another removes, by itself or with a directory above it.
fn file_conflicts(targets: &TargetsByAgent) -> Vec<DetectedConflict> {
    let (changing, removing) = by_operation(targets.iter().map(|(agent, targets)| (agent, &targets.files)));
    let mut found = Vec::new();
    for (file, editors) in changing {
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
