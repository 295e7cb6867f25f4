//! The listing of a whole tree, to its end.

use std::time::Instant;

use anyhow::{Result, ensure};
use memchr::memmem;
use serde::Deserialize;
use serde_json::json;
use yardstick::message::tool_call;
use yardstick::{progress, turns};

use crate::Settings;
use crate::contender::{FILESYSTEM, Field, MAINSTAY};
use crate::ground::Ground;
use crate::reply;
use crate::timing::{Timed, Timing};

pub(crate) const WHOLE: &str = "every file";
pub(crate) const KEPT: &str = "every file that .gitignore leaves in";
pub(crate) const FIRST_PAGE: &str = "the first page";

const PAGE: usize = 10_000;
const DEEP: usize = 64;

#[derive(Clone, Copy)]
enum Ask {
    Pages { ignored: bool },
    FirstPage,
    Peer,
}

pub(crate) async fn run(field: &mut Field, ground: &Ground, settings: &Settings) -> Result<Vec<Timing>> {
    let mut entries = vec![(Ask::Peer, Timing::new(WHOLE, FILESYSTEM))];
    if !settings.peers_only {
        entries.push((Ask::Pages { ignored: true }, Timing::new(WHOLE, MAINSTAY)));
        entries.push((Ask::Pages { ignored: false }, Timing::new(KEPT, MAINSTAY)));
        entries.push((Ask::FirstPage, Timing::new(FIRST_PAGE, MAINSTAY)));
    }
    for round in 0..=settings.rounds {
        progress(&format!("tree, round {round} of {}", settings.rounds));
        for at in turns(round, entries.len()) {
            let (ask, timing) = &mut entries[at];
            let timed = list(field, ground, *ask).await?;
            // The first round brings the directories into memory.
            if round > 0 {
                timing.push(timed);
            }
        }
    }
    Ok(entries.into_iter().map(|(_, timing)| timing).collect())
}

async fn list(field: &mut Field, ground: &Ground, ask: Ask) -> Result<Timed> {
    let (timed, wanted) = match ask {
        Ask::Peer => (whole_by_peer(field, ground).await?, Some(ground.tree.files)),
        Ask::Pages { ignored: true } => (pages(field, true, usize::MAX).await?, Some(ground.tree.files)),
        Ask::Pages { ignored: false } => (pages(field, false, usize::MAX).await?, Some(ground.tree.kept)),
        Ask::FirstPage => (pages(field, false, 1).await?, None),
    };
    if let Some(wanted) = wanted {
        ensure!(timed.found == wanted, "a listing of {} files, where there are {wanted}", timed.found);
    }
    Ok(timed)
}

async fn whole_by_peer(field: &mut Field, ground: &Ground) -> Result<Timed> {
    let peer = field.named(FILESYSTEM)?;
    let call = tool_call("directory_tree", &json!({ "path": ground.root.join("tree") }));
    let started = Instant::now();
    let line = peer.server.ask(&call).await?;
    let took = started.elapsed();
    reply::check(&line)?;
    // The text comes twice, as content and as structured content.
    let files = memmem::find_iter(&line, br#"\"type\": \"file\""#).count() / 2;
    Ok(Timed { took, found: files })
}

#[derive(Deserialize)]
struct Page {
    next_cursor: Option<String>,
    files: usize,
}

async fn pages(field: &mut Field, ignored: bool, most: usize) -> Result<Timed> {
    let mainstay = field.named(MAINSTAY)?;
    let mut cursor = None;
    let mut files = 0;
    let started = Instant::now();
    for _ in 0..most {
        let arguments = json!({ "path": "tree", "depth": DEEP, "limit": PAGE, "ignored": ignored, "cursor": cursor });
        let line = mainstay.server.ask(&tool_call("files_tree", &arguments)).await?;
        let page: Page = reply::structured(&line)?;
        files += page.files;
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    Ok(Timed { took: started.elapsed(), found: files })
}
