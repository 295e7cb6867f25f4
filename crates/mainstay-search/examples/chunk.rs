//! Cuts the files whose names come on standard input into chunks, and prints the chunks or the time it takes.
//!
//! ```text
//! find src -type f | cargo run --release -p mainstay-search --example chunk [--time]
//! ```

use std::io::{self, BufRead, Write};
use std::time::{Duration, Instant};

use mainstay_search::chunk::chunks;

fn main() -> io::Result<()> {
    let is_timed = std::env::args().any(|argument| argument == "--time");
    let mut output = io::BufWriter::new(io::stdout().lock());
    let mut files = Vec::new();
    for path in io::stdin().lock().lines() {
        let path = path?;
        let source = std::fs::read(&path)?;
        files.push((path, source));
    }
    if is_timed {
        return time(&mut output, &files);
    }
    for (path, source) in &files {
        let Ok(cut) = chunks(path, source, &|| true) else { continue };
        writeln!(output, "{path} {} {:?}", cut.language, cut.tags)?;
        for (index, chunk) in cut.chunks.iter().enumerate() {
            let lines = (chunk.first_line, chunk.last_line);
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            let names: Vec<_> = cut.definitions_of(index).iter().map(|definition| &*definition.name).collect();
            let doc = chunk.doc_text(source);
            let doc = doc.lines().next().unwrap_or_default();
            writeln!(
                output,
                "  {lines:?} {} B {:?} {} #{} {names:?} [{}] {doc}",
                chunk.bytes.len(),
                chunk.kind,
                chunk.name,
                chunk.part,
                chunk.signature_text(source).split_whitespace().collect::<Vec<_>>().join(" "),
            )?;
        }
    }
    Ok(())
}

/// The best of several rounds: the others had to share the processor.
fn time(output: &mut impl Write, files: &[(String, Vec<u8>)]) -> io::Result<()> {
    let bytes: usize = files.iter().map(|(_, source)| source.len()).sum();
    let mut best = Duration::MAX;
    let (mut count, mut definitions, mut references) = (0, 0, 0);
    for _ in 0..5 {
        (count, definitions, references) = (0, 0, 0);
        let start = Instant::now();
        for (path, source) in files {
            let Ok(cut) = chunks(path, source, &|| true) else { continue };
            count += cut.chunks.len();
            definitions += cut.definitions.len();
            references += cut.references.len();
        }
        best = best.min(start.elapsed());
    }
    let seconds = best.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let (rate, megabytes) = (files.len() as f64 / seconds, bytes as f64 / 1e6);
    writeln!(
        output,
        "{} files, {megabytes:.2} MB, {count} chunks, {definitions} definitions, {references} references: {:.1} ms, \
         {rate:.0} files/s, {:.1} MB/s",
        files.len(),
        seconds * 1e3,
        megabytes / seconds,
    )
}
