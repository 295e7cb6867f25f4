//! What holds for any documents, queries and budgets.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use super::resolve;
use crate::context::query::{WordCount, select};
use crate::context::testing::CacheFixture;

/// The rules as they are written down, without any of the shortcuts.
fn expected(documents: &[(String, String)], query: &str, budget: u64) -> Vec<(String, u64, u64)> {
    let terms: Vec<String> = query.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let mut scored: Vec<(f32, &str, u64, u64)> = documents
        .iter()
        .map(|(id, content)| {
            let lower = content.to_lowercase();
            let words: Vec<&str> = lower.split_whitespace().collect();
            let matches = words.iter().filter(|word| terms.iter().any(|term| term == *word)).count();
            let score = if words.is_empty() {
                0.0
            } else {
                f32::from(u16::try_from(matches).unwrap()) / f32::from(u16::try_from(words.len()).unwrap())
            };
            assert!((0.0..=1.0).contains(&score));
            (score, id.as_str(), matches as u64, content.len().div_ceil(4) as u64)
        })
        .collect();
    scored.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap().then(a.1.cmp(b.1)));
    let mut used = 0;
    let mut selected = Vec::new();
    for (_, id, matches, tokens) in scored {
        if budget > 0 && used + tokens <= budget {
            used += tokens;
            selected.push((id.to_owned(), matches, tokens));
        }
    }
    selected
}

fn document() -> impl Strategy<Value = (String, String)> {
    let word =
        prop_oneof![Just("alpha"), Just("Beta"), Just("GAMMA"), Just("δέλτα"), Just("ΔΈΛΤΑ"), Just("x,"), Just("")];
    let content =
        proptest::collection::vec((word, prop_oneof![Just(" "), Just("\n"), Just("\u{2003}"), Just("")]), 0..12);
    ("[a-dA-D]{1,3}(/[a-c]{1,2})?", content).prop_map(|(path, words)| {
        (format!("{path}.md"), words.into_iter().flat_map(|(word, space)| [word, space]).collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn selection_is_greedy_by_score_and_stays_within_the_budget(
        documents in proptest::collection::vec(document(), 0..9),
        query in "(alpha|BETA|gamma|δέλτα|x,|none| |\t){0,5}",
        budget in prop_oneof![0..40_u64, Just(u64::MAX)],
    ) {
        let documents: BTreeMap<String, (String, String)> = documents
            .into_iter()
            .map(|(path, content)| (path.to_lowercase(), (path.clone(), content)))
            .collect();
        // A path that is a directory of another cannot be a file too.
        let sources: Vec<(&str, &str)> = documents.values().map(|(path, content)| (path.as_str(), content.as_str())).collect();
        let fixture = CacheFixture::built(&sources);
        let ids: Vec<(String, String)> = documents.into_iter().map(|(id, (_, content))| (id, content)).collect();
        let answer: Value = serde_json::from_str(&resolve(&fixture.root(), &query, budget).unwrap()).unwrap();
        let selected: Vec<(String, u64, u64)> = answer["documents"].as_array().unwrap().iter().map(|document| (
            document["id"].as_str().unwrap().to_owned(),
            document["why"]["term_matches"].as_u64().unwrap(),
            document["tokens"].as_u64().unwrap(),
        )).collect();
        let wanted = expected(&ids, &query, budget);
        prop_assert_eq!(&selected, &wanted);
        let used: u64 = selected.iter().map(|(_, _, tokens)| tokens).sum();
        prop_assert!(used <= budget);
        prop_assert_eq!(answer["selection"]["tokens_used"].as_u64(), Some(used));
        prop_assert_eq!(answer["selection"]["documents_excluded_by_budget"].as_u64(), Some((ids.len() - selected.len()) as u64));
        for document in answer["documents"].as_array().unwrap() {
            prop_assert!((0.0..=1.0).contains(&document["score"].as_f64().unwrap()));
        }
    }

    #[test]
    fn built_files_do_not_depend_on_the_order_in_which_sources_were_created(
        contents in proptest::collection::btree_map("[a-f]{1,4}(/[a-c])?", "[ab]{0,2}", 0..12),
        seed in any::<u64>(),
    ) {
        let mut sources: Vec<(String, String)> =
            contents.into_iter().map(|(path, content)| (format!("{path}.md"), content)).collect();
        let as_given = |sources: &[(String, String)]| {
            let borrowed: Vec<(&str, &str)> = sources.iter().map(|(path, content)| (path.as_str(), content.as_str())).collect();
            CacheFixture::built(&borrowed).files()
        };
        let first = as_given(&sources);
        sources.sort_by_key(|(path, _)| path.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)));
        prop_assert_eq!(first, as_given(&sources));
    }

    #[test]
    fn budget_is_never_exceeded_for_any_sizes(
        sizes in proptest::collection::vec((0..u64::MAX / 2, 0..100_u64, 0..100_u64), 0..50),
        budget in any::<u64>(),
    ) {
        let counts: Vec<WordCount> =
            sizes.iter().map(|(tokens, words, more)| WordCount { words: words + more, tokens: *tokens }).collect();
        let matches: Vec<u64> = sizes.iter().map(|(_, words, _)| *words).collect();
        let selected = select(&counts, &matches, budget);
        let used: u128 = selected.iter().map(|nth| u128::from(counts[*nth].tokens)).sum();
        prop_assert!(used <= u128::from(budget));
        let left = u128::from(budget) - used;
        // What was left out did not fit even into what was left at the end.
        let out = (0..counts.len()).filter(|nth| !selected.contains(nth));
        prop_assert!(out.map(|nth| u128::from(counts[nth].tokens)).all(|tokens| tokens > left || budget == 0));
    }
}
