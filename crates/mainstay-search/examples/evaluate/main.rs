//! Measures search: NDCG@10, the time to index, memory, and the time of queries.
//!
//! ```text
//! cargo run --release -p mainstay-search --example evaluate -- [--corpus DIR] [--fusion] [--each] FILE.json...
//! ```
//!
//! A file is either a list of questions about a repository (`repository`, `root`, `queries` with `query`, `relevant`,
//! `secondary`, `category`), whose files are in the directory of its name under `--corpus`, or a list of functions
//! and sentences about them (`docs` with `name`, `code`, `lang`, `queries` with `qid`, `query`, `lang`). `--fusion`
//! ranks by vectors and words alone, `--each` prints each query.

mod corpus;
mod figures;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use mainstay_search::embedding::{Embedder, built_in};
use mainstay_search::ranking::{Granularity, MAX_RESULTS, Request, search};
use serde_json::Value;

use corpus::Indexed;
use figures::{Figures, ndcg};

/// Each query is timed so often.
const ROUNDS: usize = 3;

struct Options {
    corpus: PathBuf,
    rerank: bool,
    each: bool,
    files: Vec<PathBuf>,
}

fn main() -> io::Result<()> {
    let embedder = built_in().map_err(io::Error::other)?;
    let mut output = io::BufWriter::new(io::stdout().lock());
    let options = options();
    let mut all = Figures::default();
    let mut times = Vec::new();
    for file in &options.files {
        let content: Value = serde_json::from_slice(&std::fs::read(file)?)?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if content.get("docs").is_some() {
            bench(&mut output, &options, &name, &content, embedder)?;
        } else {
            repository(&mut output, &options, &name, &content, embedder, (&mut all, &mut times))?;
        }
        output.flush()?;
    }
    if !all.is_empty() {
        writeln!(output, "{}", all.summary("mean"))?;
        writeln!(output, "queries: {}", figures::percentiles(&mut times))?;
    }
    writeln!(output, "most memory: {}", figures::most_memory())
}

fn options() -> Options {
    let mut options = Options { corpus: PathBuf::from("."), rerank: true, each: false, files: Vec::new() };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--corpus" => options.corpus = arguments.next().unwrap_or_default().into(),
            "--fusion" => options.rerank = false,
            "--each" => options.each = true,
            file => options.files.push(file.into()),
        }
    }
    options
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn repository(
    output: &mut impl Write,
    options: &Options,
    name: &str,
    content: &Value,
    embedder: &dyn Embedder,
    (all, times): (&mut Figures, &mut Vec<Duration>),
) -> io::Result<()> {
    let root = text(content, "root");
    let indexed = Indexed::of_directory(&options.corpus.join(name).join(root), embedder)?;
    let snapshot = indexed.snapshot();
    let mut figures = Figures::default();
    let mut own_times = Vec::new();
    for query in list(content, "queries") {
        let request =
            Request { query: text(query, "query"), top_k: MAX_RESULTS, rerank: options.rerank, ..Request::default() };
        let mut files: Vec<String> = Vec::new();
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let answer = search(&snapshot, embedder, &request).map_err(io::Error::other)?;
            own_times.push(start.elapsed());
            files.clear();
            for hit in answer.hits {
                let path = if root.is_empty() { hit.path } else { format!("{root}/{}", hit.path) };
                if !files.contains(&path) {
                    files.push(path);
                }
            }
        }
        let relevant = list(query, "relevant").iter().chain(list(query, "secondary"));
        let relevant: Vec<&str> =
            relevant.map(|file| file.as_str().unwrap_or_else(|| text(file, "path")).trim_start_matches("./")).collect();
        let places = files.iter().enumerate().filter(|(_, file)| relevant.contains(&file.as_str()));
        let score = ndcg(places.map(|(place, _)| place), relevant.len());
        figures.add(text(query, "category"), score);
        if options.each {
            let first: Vec<&str> = files.iter().take(3).map(String::as_str).collect();
            writeln!(output, "    {score:.3} {name}|{} {first:?} of {relevant:?}", request.query)?;
        }
    }
    all.extend(&figures);
    all.add_mean(&figures);
    times.extend(&own_times);
    writeln!(output, "{}", figures.summary(name))?;
    writeln!(output, "    {indexed}; queries: {}", figures::percentiles(&mut own_times))
}

fn bench(
    output: &mut impl Write,
    options: &Options,
    name: &str,
    content: &Value,
    embedder: &dyn Embedder,
) -> io::Result<()> {
    let definitions = list(content, "docs").iter().map(|document| (text(document, "name"), text(document, "code")));
    let indexed = Indexed::of_definitions(definitions, embedder)?;
    let snapshot = indexed.snapshot();
    let mut figures = Figures::default();
    let mut times = Vec::new();
    for query in list(content, "queries") {
        let request = Request {
            query: text(query, "query"),
            top_k: MAX_RESULTS,
            rerank: options.rerank,
            granularity: Granularity::Chunk,
            ..Request::default()
        };
        let start = Instant::now();
        let answer = search(&snapshot, embedder, &request).map_err(io::Error::other)?;
        times.push(start.elapsed());
        let wanted = query.get("qid").and_then(Value::as_u64).map(corpus::path_of_definition).unwrap_or_default();
        figures.add(text(query, "lang"), ndcg(answer.hits.iter().position(|hit| hit.path == wanted).into_iter(), 1));
    }
    figures.add_mean(&figures.clone());
    writeln!(output, "{}", figures.summary(name))?;
    writeln!(output, "    {indexed}; queries: {}", figures::percentiles(&mut times))
}
