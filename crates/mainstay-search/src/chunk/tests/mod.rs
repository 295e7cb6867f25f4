//! Chunks of small sources, and what holds for those of any.

mod any;
mod languages;
mod shapes;
mod tagging;
mod texts;

use super::lines::MOST_BYTES;
use super::{Chunks, chunks};

/// One line for each chunk: its lines, kind, name, documentation and signature.
fn listing(path: &str, source: &[u8]) -> Vec<String> {
    let cut = chunks(path, source, &|| true).unwrap();
    check(source, &cut);
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let chunks = cut.chunks.iter().map(|chunk| {
        let part = if chunk.part == 0 { String::new() } else { format!("#{}", chunk.part) };
        let lines = format!("{}-{}", chunk.first_line, chunk.last_line);
        let doc = one_line(&chunk.doc_text(source));
        let signature = one_line(&chunk.signature_text(source));
        format!("{lines} {:?} {}{part} | {doc} | {signature}", chunk.kind, chunk.name)
    });
    chunks.collect()
}

#[track_caller]
fn assert_chunks(path: &str, source: &str, expected: &[&str]) {
    assert_eq!(listing(path, source.as_bytes()), expected, "{path}:\n{source}");
}

/// What holds for every document: chunks are in order, within the source, not too long, and no line is left out.
#[track_caller]
fn check(source: &[u8], cut: &Chunks) {
    let length = u32::try_from(source.len()).expect("a small source");
    let lines: Vec<&[u8]> = source.split(|byte| *byte == b'\n').collect();
    let newlines: Vec<usize> = (0..source.len()).filter(|offset| source[*offset] == b'\n').collect();
    let mut covered = vec![false; lines.len()];
    let mut last = (0, 0);
    for chunk in &cut.chunks {
        assert!(chunk.bytes.start < chunk.bytes.end && chunk.bytes.end <= length, "{chunk:?}");
        assert!(chunk.bytes.len() <= MOST_BYTES, "{} bytes: {chunk:?}", chunk.bytes.len());
        assert!(chunk.first_line >= 1 && chunk.first_line <= chunk.last_line, "{chunk:?}");
        assert!(chunk.bytes.start >= last.0 && chunk.first_line >= last.1, "{chunk:?} after {last:?}");
        for range in [&chunk.doc, &chunk.body] {
            assert!(range.start <= range.end && range.end <= length, "{chunk:?}");
        }
        assert!(chunk.signature.start <= chunk.signature.end && chunk.signature.end <= length, "{chunk:?}");
        assert!(usize::from(chunk.qualifier) <= chunk.name.len(), "{chunk:?}");
        let line = |offset: u32| newlines.partition_point(|newline| *newline < offset as usize) + 1;
        assert_eq!(line(chunk.bytes.start), chunk.first_line as usize, "{chunk:?}");
        assert_eq!(line(chunk.bytes.end), chunk.last_line as usize, "{chunk:?}");
        covered[chunk.first_line as usize - 1..chunk.last_line as usize].fill(true);
        last = (chunk.bytes.end, chunk.last_line);
    }
    for (index, line) in lines.iter().enumerate() {
        let is_blank = line.iter().all(u8::is_ascii_whitespace);
        assert!(is_blank || covered[index], "line {} is in no chunk: {:?}", index + 1, String::from_utf8_lossy(line));
    }
    for definition in &cut.definitions {
        assert!(definition.bytes.start <= definition.bytes.end && definition.bytes.end <= length, "{definition:?}");
        let chunk = &cut.chunks[definition.chunk as usize];
        let lines = chunk.first_line..=chunk.last_line;
        assert!(lines.contains(&definition.first_line), "{definition:?} is not in {chunk:?}");
    }
    for pair in cut.references.windows(2) {
        assert!(pair[0].start < pair[1].start, "{pair:?}");
    }
    for reference in &cut.references {
        assert!(reference.start + u32::from(reference.length) <= length, "{reference:?}");
    }
}
