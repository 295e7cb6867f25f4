//! One outcome as bytes. A run decodes thousands of functions that have not changed, so their figures have a fixed width,
//! and their names are one text that is checked once.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Outcome;
use crate::definition::FunctionKind;
use crate::languages::Language;
use crate::metrics::{FileMetrics, FunctionMetrics, Halstead, Lines, SkippedFunction, Span};
use crate::parse::NotMeasured;

/// The whole numbers and the others of one function.
const WHOLE: usize = 17;
const REAL: usize = 4;
const RECORD_BYTES: usize = WHOLE * size_of::<u32>() + REAL * size_of::<f64>();

#[derive(Serialize, Deserialize)]
struct StoredFile<'a> {
    language: Language,
    skipped: Vec<SkippedFunction>,
    lines: Lines,
    halstead: Halstead,
    maintainability: f64,
    /// Of each function.
    kinds: Vec<FunctionKind>,
    /// The names of all functions, one after the other. A record has the length of its function's name.
    names: &'a str,
    /// A record for each function.
    records: &'a [u8],
}

pub(super) fn encode(outcome: &Outcome) -> Vec<u8> {
    let (mut names, mut records) = (String::new(), Vec::new());
    let stored = outcome.as_ref().map_err(|reason| *reason).map(|metrics| {
        let FileMetrics { language, functions, skipped, lines, halstead, maintainability } = &**metrics;
        for function in functions {
            names.push_str(&function.name);
            push_record(&mut records, function);
        }
        StoredFile {
            language: *language,
            skipped: skipped.clone(),
            lines: *lines,
            halstead: *halstead,
            maintainability: *maintainability,
            kinds: functions.iter().map(|function| function.kind).collect(),
            names: &names,
            records: &records,
        }
    });
    // Writing to memory cannot fail; should it, what was written cannot be decoded and the file is measured again.
    postcard::to_stdvec(&stored).unwrap_or_default()
}

/// `None` for what was not written by [`encode`].
pub(super) fn decode(bytes: &[u8]) -> Option<Outcome> {
    let stored: Result<StoredFile<'_>, NotMeasured> = postcard::from_bytes(bytes).ok()?;
    let StoredFile { language, skipped, lines, halstead, maintainability, kinds, mut names, records } = match stored {
        Ok(stored) => stored,
        Err(reason) => return Some(Err(reason)),
    };
    let (records, rest) = records.as_chunks::<RECORD_BYTES>();
    if records.len() != kinds.len() || !rest.is_empty() {
        return None;
    }
    let mut functions = Vec::with_capacity(kinds.len());
    for (kind, record) in kinds.into_iter().zip(records) {
        functions.push(function(kind, record, &mut names)?);
    }
    Some(Ok(Arc::new(FileMetrics { language, functions, skipped, lines, halstead, maintainability })))
}

fn push_record(records: &mut Vec<u8>, function: &FunctionMetrics) {
    // By name, so that a new figure cannot be forgotten here.
    let FunctionMetrics {
        name,
        kind: _,
        span,
        cyclomatic,
        cognitive,
        nesting,
        parameters,
        lines,
        halstead,
        maintainability,
    } = function;
    let Span { start_line, end_line, start_byte, end_byte } = *span;
    let Lines { total, code, comment, blank } = *lines;
    let Halstead { n1, n2, total_n1, total_n2, volume, difficulty, effort } = *halstead;
    // The name of a function is a part of a source file, whose size has a limit.
    let length = u32::try_from(name.len()).unwrap_or(u32::MAX);
    let position = [length, start_line, end_line, start_byte, end_byte];
    let complexity = [*cyclomatic, *cognitive, *nesting, *parameters];
    let counts = [total, code, comment, blank, n1, n2, total_n1, total_n2];
    for number in position.into_iter().chain(complexity).chain(counts) {
        records.extend_from_slice(&number.to_le_bytes());
    }
    for number in [volume, difficulty, effort, *maintainability] {
        records.extend_from_slice(&number.to_le_bytes());
    }
}

/// The function of a record, whose name is taken from the beginning of `names`.
fn function(kind: FunctionKind, record: &[u8; RECORD_BYTES], names: &mut &str) -> Option<FunctionMetrics> {
    let (whole, real) = record.split_at(WHOLE * size_of::<u32>());
    let (whole, real) = (whole.as_chunks::<4>().0, real.as_chunks::<8>().0);
    let mut whole = whole.iter().map(|bytes| u32::from_le_bytes(*bytes));
    let mut real = real.iter().map(|bytes| f64::from_le_bytes(*bytes));
    let (mut whole, mut real) = (|| whole.next(), || real.next());
    let (name, rest) = names.split_at_checked(whole()? as usize)?;
    *names = rest;
    // Fields are read in the order in which they are written here.
    Some(FunctionMetrics {
        name: name.to_owned(),
        kind,
        span: Span { start_line: whole()?, end_line: whole()?, start_byte: whole()?, end_byte: whole()? },
        cyclomatic: whole()?,
        cognitive: whole()?,
        nesting: whole()?,
        parameters: whole()?,
        lines: Lines { total: whole()?, code: whole()?, comment: whole()?, blank: whole()? },
        halstead: Halstead {
            n1: whole()?,
            n2: whole()?,
            total_n1: whole()?,
            total_n2: whole()?,
            volume: real()?,
            difficulty: real()?,
            effort: real()?,
        },
        maintainability: real()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::analyze;

    const SOURCE: &[u8] =
        b"class A:\n    def f\xc3\xbc(self, a):\n        if a and self:\n            return 1\n# end\ndef g(): pass\n";

    #[test]
    fn every_figure_is_decoded_as_it_was_encoded() {
        let broken: Outcome = Err(NotMeasured::Syntax { line: 3 });
        let sources = [
            (Language::Python, SOURCE),
            (Language::C, b"int f(void) { #if\n return 1; }\nint g() {}"),
            (Language::Rust, b""),
        ];
        let measured = sources.map(|(language, source)| analyze(language, source, &|| true).map(Arc::new));
        assert!(measured[0].as_ref().unwrap().functions.len() > 1);
        for outcome in measured.into_iter().chain([broken]) {
            assert_eq!(decode(&encode(&outcome)), Some(outcome));
        }
    }

    #[test]
    fn what_is_cut_or_damaged_is_never_read_beyond_its_end() {
        let bytes = encode(&analyze(Language::Python, SOURCE, &|| true).map(Arc::new));
        for at in 0..bytes.len() {
            assert_eq!(decode(&bytes[..at]), None);
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xff;
            // Some other figure, or nothing.
            let _ = decode(&damaged);
        }
    }
}
