//! The score of a file: how much it is about the query as a whole.
//!
//! Most questions are answered by a file rather than by one function, and a file shows it in ways that no single chunk
//! does: by its name, by several chunks that are near, by words spread over it, by what it defines. The parts are
//! added, because each of them is missing from some good files.

use std::collections::{BTreeSet, HashMap};

use super::candidates::Candidates;
use super::constants::{
    DENSE_CHUNKS, F_DENSE, F_FILE_LEXICAL, F_LEXICAL, F_LINES, F_NAME, F_STEM, F_STEM_SOFT, PREFIX_LETTERS,
    PREFIX_MATCH, STEM_COMPOUND,
};
use super::definitions::DefinitionScore;
use super::dense::QueryVector;
use super::filter::{ChunkPlace, View};
use super::lexical::LexicalScores;
use super::max_sim::Similarities;
use super::penalties::Penalties;
use super::query::{Query, stem_words};
use crate::document::{flat_name, path};
use crate::embedding::StaticModel;
use crate::index::DocumentPlace;
use crate::segment::DocumentRecord;

/// A file with its score.
#[derive(Debug, Clone, Copy)]
pub(super) struct File<'v> {
    pub(super) place: DocumentPlace,
    pub(super) path: &'v str,
    pub(super) score: f32,
    /// What is shown of it when none of its chunks is a candidate.
    pub(super) chunk: Option<ChunkPlace>,
}

/// A file that is looked at.
pub(super) struct Considered<'v> {
    place: DocumentPlace,
    record: DocumentRecord,
    path: &'v str,
    stem_tokens: Vec<u32>,
}

/// The files that can be among the best: their chunks were near, they have the words, or they define what is named.
pub(super) fn considered<'v>(
    view: &'v View<'_>,
    candidates: &Candidates,
    lexical: &LexicalScores,
    definitions: &HashMap<DocumentPlace, DefinitionScore>,
    model: Option<&StaticModel>,
) -> Vec<Considered<'v>> {
    // Sorted, because cosines are computed segment by segment.
    let mut places: BTreeSet<DocumentPlace> = candidates.documents.iter().copied().collect();
    places.extend(lexical.best_documents().iter().map(|(place, _)| *place));
    places.extend(definitions.keys().copied());
    let read = |place: DocumentPlace| {
        let part = view.parts.get(place.part).filter(|part| part.allows_document(place.document))?;
        let record = part.segment.document(place.document)?;
        let path = part.segment.path(&record);
        let stem_tokens = model.map_or_else(Vec::new, |model| model.distinct_name_tokens(path::known_as(path)));
        Some(Considered { place, record, path, stem_tokens })
    };
    places.into_iter().filter_map(read).collect()
}

pub(super) fn add_tokens(considered: &[Considered<'_>], similarities: &mut Similarities<'_>) {
    similarities.add(considered.iter().flat_map(|file| file.stem_tokens.iter().copied()));
}

/// What all files of one query are scored with.
pub(super) struct FileScorer<'q, 'v> {
    pub(super) view: &'v View<'v>,
    pub(super) query: &'q Query,
    pub(super) vector: Option<&'q QueryVector>,
    pub(super) lexical: &'q LexicalScores,
    pub(super) definitions: &'q HashMap<DocumentPlace, DefinitionScore>,
    pub(super) penalties: &'q Penalties<'q>,
    pub(super) similarities: Option<&'q Similarities<'q>>,
}

impl<'v> FileScorer<'_, 'v> {
    /// The files, the best first.
    pub(super) fn score(&self, considered: &[Considered<'v>], candidates: &Candidates) -> Vec<File<'v>> {
        let mut names: HashMap<DocumentPlace, f32> = HashMap::new();
        for candidate in &candidates.chunks {
            let best = names.entry(candidate.document).or_insert(candidate.name);
            *best = best.max(candidate.name);
        }
        let cosines = self.cosines(considered);
        let score = |(file, cosines): (&Considered<'v>, Vec<f32>)| {
            let name = names.get(&file.place).copied().unwrap_or(0.0);
            self.file(file, &cosines, name)
        };
        let mut files: Vec<File<'v>> = considered.iter().zip(cosines).map(score).collect();
        files.sort_by(|one, other| other.score.total_cmp(&one.score).then(one.path.cmp(other.path)));
        files
    }

    /// The cosines of all chunks of each file, computed at one go for each segment.
    fn cosines(&self, considered: &[Considered<'v>]) -> Vec<Vec<f32>> {
        let Some(vector) = self.vector else { return vec![Vec::new(); considered.len()] };
        // Files are in the order of their segments.
        let mut found = Vec::with_capacity(considered.len());
        for of_part in considered.chunk_by(|one, other| one.place.part == other.place.part) {
            let Some(part) = of_part.first().and_then(|file| self.view.parts.get(file.place.part)) else { continue };
            let ranges: Vec<_> = of_part.iter().map(|file| part.chunks_of(&file.record)).collect();
            let chunks: Vec<u32> = ranges.iter().cloned().flatten().collect();
            let mut cosines = vector.cosines(part, &chunks).into_iter();
            found.extend(ranges.iter().map(|range| cosines.by_ref().take(range.len()).collect()));
        }
        found
    }

    /// Words count as shares of the highest, because BM25F grows with the number of words in the query and the other
    /// parts do not. All chunks count here, not only candidates.
    fn file(&self, file: &Considered<'v>, cosines: &[f32], name: f32) -> File<'v> {
        let part = file.place.part;
        let chunks = self.view.parts.get(part).map_or(0..0, |part| part.chunks_of(&file.record));
        let best_words = chunks.clone().map(|chunk| self.lexical.chunk(ChunkPlace { part, chunk })).fold(0.0, f32::max);
        let definition = self.definitions.get(&file.place);
        let (_, stem_soft) =
            self.similarities.map_or((0.0, 0.0), |similarities| similarities.meets(file.stem_tokens.iter().copied()));
        #[expect(clippy::cast_precision_loss, reason = "a count of lines")]
        let lines = (1.0 + file.record.lines as f32).ln();
        let score = F_DENSE * best_cosines(cosines)
            + F_NAME * name
            + F_LEXICAL * share(best_words, self.lexical.highest_chunk)
            + F_FILE_LEXICAL * share(self.lexical.document(file.place), self.lexical.highest_document)
            + F_STEM_SOFT * stem_soft
            + F_LINES * lines
            + F_STEM * self.stem_match(file.path)
            + definition.map_or(0.0, |definition| definition.score)
            - self.penalties.of(file.path, file.record.tags);
        // Of a file that is accepted, a filter by kind may accept only some chunks, or none: then nothing of it is shown.
        let is_shown = |chunk: &u32| self.view.parts.get(part).is_some_and(|part| part.allows_chunk(*chunk));
        let nearest = || {
            let shown = chunks.clone().zip(cosines).filter(|(chunk, _)| is_shown(chunk));
            let (chunk, _) = shown.max_by(|one, other| one.1.total_cmp(other.1))?;
            Some(ChunkPlace { part, chunk })
        };
        let first = || chunks.clone().find(is_shown).map(|chunk| ChunkPlace { part, chunk });
        // The definition that was asked for explains best why the file is shown; then what is nearest.
        let defined = definition.map(|definition| definition.chunk).filter(|place| is_shown(&place.chunk));
        let chunk = defined.or_else(nearest).or_else(first);
        File { place: file.place, path: file.path, score, chunk }
    }

    /// How many of the words of a file's name are in the query, times how much of the query they are.
    /// It takes both factors: a name of one word is easily covered, and a long name easily has one word of the query.
    fn stem_match(&self, path: &str) -> f32 {
        let words = stem_words(path::known_as(path));
        let terms = self.query.terms.iter().zip(&self.lexical.rarities);
        let all: f32 = self.lexical.rarities.iter().sum();
        let mut score = 0.0;
        if !words.is_empty() && all > 0.0 {
            let nearest = |word: &String| self.query.terms.iter().map(|term| near(term, word)).fold(0.0, f32::max);
            #[expect(clippy::cast_precision_loss, reason = "a count of words")]
            let covered = words.iter().map(nearest).sum::<f32>() / words.len() as f32;
            let met = |(term, rarity): (&String, &f32)| {
                rarity * words.iter().map(|word| near(term, word)).fold(0.0, f32::max)
            };
            score = covered * terms.map(met).sum::<f32>() / all;
        }
        let is_compound = self.query.compounds.contains(&flat_name(path::file_stem(path)));
        score + if is_compound { STEM_COMPOUND } else { 0.0 }
    }
}

fn share(score: f32, highest: f32) -> f32 {
    if highest > 0.0 { score / highest } else { 0.0 }
}

/// The mean of the best; where there are fewer, the others count 0.
fn best_cosines(cosines: &[f32]) -> f32 {
    let mut best = cosines.to_vec();
    best.sort_unstable_by(|one, other| other.total_cmp(one));
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let count = DENSE_CHUNKS as f32;
    best.iter().take(DENSE_CHUNKS).sum::<f32>() / count
}

/// 1 for equal words, less if one begins with the other.
fn near(one: &str, other: &str) -> f32 {
    if one == other {
        return 1.0;
    }
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    if short.len() >= PREFIX_LETTERS && long.starts_with(short) { PREFIX_MATCH } else { 0.0 }
}
