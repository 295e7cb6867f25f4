//! Where agents get in each other's way.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{BuildHasher as _, RandomState};

use mainstay_core::Result;
use mainstay_store::{Activity, ActivityQuery, AgentState, DetectedConflict};
use serde_json::{Map, Value};

use super::targets::{Done, Touches};
use crate::agents::Desk;

/// How many activities of each agent are looked at, the newest ones.
const LOOKED_AT: usize = 5000;
const PAGE: u32 = 200;

/// The most words of a current task that are looked up as components.
const WORDS: usize = 100;

type Names = BTreeSet<String>;

/// Agents by what they have their hands on.
type Hands = BTreeMap<String, Names>;

/// Everything in dispute among these agents, ordered by kind and name.
pub(crate) async fn find(desk: &Desk, agents: &Names, now_ms: i64) -> Result<Vec<DetectedConflict>> {
    let since_ms = now_ms - i64::from(desk.settings.conflict_hours) * 3_600_000;
    let mut touched = BTreeMap::new();
    let mut tasks = BTreeMap::new();
    for agent in agents {
        touched.insert(agent.clone(), touches(desk, agent, since_ms).await?);
        if let Some(state) = desk.agents().state(agent).await? {
            tasks.insert(agent.clone(), words(&state));
        }
    }
    let mut found = components(desk, &touched, &tasks).await?;
    found.extend(files(&touched));
    found.extend(routes(&touched));
    found.extend(tables(&touched));
    Ok(found)
}

/// What an agent's activities touch that are under way: not ended by a later row of the same activity.
async fn touches(desk: &Desk, agent: &str, since_ms: i64) -> Result<Touches> {
    // Texts may be long; their hashes tell them apart as well.
    let (hasher, mut ended) = (RandomState::new(), HashSet::new());
    let (mut touches, mut before) = (Touches::default(), None);
    for _ in 0..LOOKED_AT / PAGE as usize {
        let query = ActivityQuery { agent: Some(agent.to_owned()), before, limit: PAGE, ..ActivityQuery::default() };
        let page = desk.agents().activities(query).await?;
        for row in page.iter().filter(|row| row.at_ms >= since_ms) {
            let activity = hasher.hash_one(&row.activity);
            if matches!(row.status.as_deref(), Some("completed" | "failed")) {
                ended.insert(activity);
            } else if !ended.contains(&activity)
                && let Some(details) = details(row)
            {
                touches.add(&details);
            }
        }
        before = page.last().filter(|row| row.at_ms >= since_ms).map(|row| row.id);
        if before.is_none() {
            break;
        }
    }
    Ok(touches)
}

fn details(row: &Activity) -> Option<Map<String, Value>> {
    serde_json::from_str(row.details.as_deref()?).ok()
}

/// What may be a component's name in an agent's current task: every word of it, and the whole.
fn words(state: &AgentState) -> Names {
    let Some(task) = state.current_task.as_deref().filter(|_| state.status != "offline") else { return Names::new() };
    let word = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let words = task.split_whitespace().take(WORDS).map(word).filter(|word| !word.is_empty());
    words.chain([task.trim().to_owned()]).collect()
}

/// Two own it or work on it.
async fn components(
    desk: &Desk,
    touched: &BTreeMap<String, Touches>,
    tasks: &BTreeMap<String, Names>,
) -> Result<Vec<DetectedConflict>> {
    let mut hands = Hands::new();
    for (agent, touches) in touched {
        for component in &touches.components {
            hands.entry(component.clone()).or_default().insert(agent.clone());
        }
    }
    let named: Names = hands.keys().chain(tasks.values().flatten()).cloned().collect();
    for component in desk.agents().components_named(named.into_iter().collect()).await? {
        let agents = hands.entry(component.name.clone()).or_default();
        agents
            .extend(tasks.iter().filter(|(_, words)| words.contains(&component.name)).map(|(agent, _)| agent.clone()));
        if component.status == "active" && touched.contains_key(&component.owner) {
            agents.insert(component.owner);
        }
    }
    let shared = hands.into_iter().filter(|(_, agents)| agents.len() > 1);
    Ok(shared.map(|(component, agents)| dispute("component", component, "medium", agents)).collect())
}

/// Two touch the same method of a path; a path without a method stands for all of them.
fn routes(touched: &BTreeMap<String, Touches>) -> Vec<DetectedConflict> {
    let mut paths: BTreeMap<&str, BTreeMap<Option<&str>, Names>> = BTreeMap::new();
    for (agent, touches) in touched {
        for route in &touches.routes {
            let methods = paths.entry(&route.path).or_default();
            methods.entry(route.method.as_deref()).or_default().insert(agent.clone());
        }
    }
    let mut found = Vec::new();
    for (path, mut methods) in paths {
        let of_all = methods.remove(&None).unwrap_or_default();
        if methods.is_empty() && of_all.len() > 1 {
            found.push(dispute("route", path.to_owned(), "medium", of_all.clone()));
        }
        for (method, agents) in methods {
            let agents: Names = agents.union(&of_all).cloned().collect();
            if agents.len() > 1 {
                let route = format!("{} {path}", method.unwrap_or_default());
                found.push(dispute("route", route, "medium", agents));
            }
        }
    }
    found
}

/// Who changes each thing, and who removes it.
fn doers<'t>(things: impl Iterator<Item = (&'t String, &'t BTreeMap<String, Done>)>) -> (Hands, Hands) {
    let (mut changing, mut removing) = (Hands::new(), Hands::new());
    for (agent, things) in things {
        for (thing, done) in things {
            for (did, hands) in [(done.changed, &mut changing), (done.removed, &mut removing)] {
                if did {
                    hands.entry(thing.clone()).or_default().insert(agent.clone());
                }
            }
        }
    }
    (changing, removing)
}

/// Two change the same table; worse, one removes what another changes.
fn tables(touched: &BTreeMap<String, Touches>) -> Vec<DetectedConflict> {
    let (changing, removing) = doers(touched.iter().map(|(agent, touches)| (agent, &touches.tables)));
    let tables: BTreeSet<&String> = changing.keys().chain(removing.keys()).collect();
    let mut found = Vec::new();
    for table in tables {
        let both = changing.contains_key(table) && removing.contains_key(table);
        let agents: Names =
            [&changing, &removing].into_iter().filter_map(|hands| hands.get(table)).flatten().cloned().collect();
        if agents.len() > 1 {
            found.push(dispute("schema", table.clone(), if both { "critical" } else { "high" }, agents));
        }
    }
    found
}

/// One edits what another removes, by itself or with a directory above it.
fn files(touched: &BTreeMap<String, Touches>) -> Vec<DetectedConflict> {
    let (changing, removing) = doers(touched.iter().map(|(agent, touches)| (agent, &touches.files)));
    let mut found = Vec::new();
    for (file, editors) in changing {
        let above = file.match_indices('/').map(|(at, _)| &file[..at]).chain([file.as_str()]);
        let removers: Names = above.filter_map(|path| removing.get(path)).flatten().cloned().collect();
        let agents: Names = editors.union(&removers).cloned().collect();
        if !removers.is_empty() && agents.len() > 1 {
            found.push(dispute("file", file, "critical", agents));
        }
    }
    found
}

fn dispute(kind: &str, component: String, severity: &str, agents: Names) -> DetectedConflict {
    DetectedConflict { component, kind: kind.into(), severity: severity.into(), agents: agents.into_iter().collect() }
}
