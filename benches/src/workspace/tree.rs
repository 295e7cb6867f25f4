//! The listing of a whole tree, to its end.

use std::time::Instant;

use anyhow::{Result, ensure};
use memchr::memmem;
use serde::Deserialize;
use serde_json::json;

use crate::bench_support::message::tool_call;
use crate::bench_support::options::Settings;
use crate::bench_support::reply;
use crate::bench_support::{progress, turns};
use crate::workspace::contenders::{Contenders, FILESYSTEM, MAINSTAY, named_for};
use crate::workspace::files::WorkspaceFiles;
use crate::workspace::timing::{Elapsed, Timing};

pub(crate) const WHOLE: &str = "every file";
pub(crate) const NOT_IGNORED: &str = "every file that .gitignore leaves in";
pub(crate) const FIRST_PAGE: &str = "the first page";

const PAGE: usize = 10_000;
const DEEP: usize = 64;

#[derive(Clone, Copy)]
enum Listing {
    /// Every page.
    Pages {
        ignored: bool,
    },
    FirstPage,
    /// The peer's one answer.
    Peer,
}

pub(crate) async fn run(
    contenders: &mut Contenders,
    files: &WorkspaceFiles,
    settings: &Settings,
) -> Result<Vec<Timing>> {
    let mut entries = Vec::new();
    if settings.peers {
        entries.push((Listing::Peer, Timing::new(WHOLE, FILESYSTEM)));
    }
    for build in settings.builds.iter().copied() {
        let who = named_for(build, MAINSTAY);
        entries.push((Listing::Pages { ignored: true }, Timing::new(WHOLE, who)));
        entries.push((Listing::Pages { ignored: false }, Timing::new(NOT_IGNORED, who)));
        entries.push((Listing::FirstPage, Timing::new(FIRST_PAGE, who)));
    }
    for round in 0..=settings.rounds {
        progress(&format!("tree, round {round} of {}", settings.rounds));
        for at in turns(round, entries.len()) {
            let (listing, timing) = &mut entries[at];
            let elapsed = list(contenders, files, *listing, timing.who).await?;
            // The first round brings the directories into memory.
            if round > 0 {
                timing.push(elapsed);
            }
        }
    }
    Ok(entries.into_iter().map(|(_, timing)| timing).collect())
}

async fn list(contenders: &mut Contenders, files: &WorkspaceFiles, listing: Listing, who: &str) -> Result<Elapsed> {
    let counts = files.tree;
    let (elapsed, wanted) = match listing {
        Listing::Peer => (whole_by_peer(contenders, files).await?, Some(counts.files)),
        Listing::Pages { ignored: true } => (pages(contenders, who, true, usize::MAX).await?, Some(counts.files)),
        Listing::Pages { ignored: false } => {
            (pages(contenders, who, false, usize::MAX).await?, Some(counts.not_ignored))
        }
        Listing::FirstPage => (pages(contenders, who, false, 1).await?, None),
    };
    if let Some(wanted) = wanted {
        ensure!(elapsed.found == wanted, "{who} lists {} files, where there are {wanted}", elapsed.found);
    }
    Ok(elapsed)
}

async fn whole_by_peer(contenders: &mut Contenders, files: &WorkspaceFiles) -> Result<Elapsed> {
    let peer = contenders.named(FILESYSTEM)?;
    let call = tool_call("directory_tree", &json!({ "path": files.root.join("tree") }));
    let started = Instant::now();
    let line = peer.server.ask(&call).await?;
    let took = started.elapsed();
    reply::check(&line)?;
    // The text comes twice, as content and as structured content.
    let files = memmem::find_iter(&line, br#"\"type\": \"file\""#).count() / 2;
    Ok(Elapsed { took, found: files })
}

#[derive(Deserialize)]
struct Page {
    next_cursor: Option<String>,
    files: usize,
}

async fn pages(contenders: &mut Contenders, who: &str, ignored: bool, most: usize) -> Result<Elapsed> {
    let mainstay = contenders.named(who)?;
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
    Ok(Elapsed { took: started.elapsed(), found: files })
}
