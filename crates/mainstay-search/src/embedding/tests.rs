//! The model against the reference implementation, and against damaged files.

use serde::Deserialize;

use super::safetensors::tests::file;
use super::*;

#[derive(Deserialize)]
struct Golden {
    text: String,
    ids: Vec<u32>,
    vector: Vec<f32>,
}

fn embed(model: &StaticModel, text: &str) -> Vec<f32> {
    let mut vector = vec![1.0; 3];
    model.embed(text, &mut vector);
    vector
}

/// A model of two dimensions and three tokens: "[PAD]", "read" and "file".
fn small_model(weights: [f32; 3], vocabulary: &str) -> Result<StaticModel, ModelError> {
    let header = r#"{"weights":{"dtype":"F32","shape":[3],"data_offsets":[0,12]},
        "embeddings":{"dtype":"I8","shape":[3,2],"data_offsets":[12,18]}}"#;
    let mut data: Vec<u8> = weights.iter().flat_map(|weight| weight.to_le_bytes()).collect();
    data.extend([1_i8, 1, 3, 0, 0, -4].map(i8::cast_unsigned));
    StaticModel::from_bytes(file(header, &data), vocabulary.as_bytes().to_vec())
}

#[test]
fn texts_have_the_tokens_and_vectors_of_the_reference() {
    let model = built_in().unwrap();
    let golden: Vec<Golden> = serde_json::from_str(include_str!("../../model/golden.json")).unwrap();
    assert!(golden.len() > 5);
    for Golden { text, ids, vector } in golden {
        assert_eq!(model.tokens(&text), ids, "{text}");
        let ours = embed(model, &text);
        assert_eq!(ours.len(), vector.len());
        for (ours, theirs) in ours.iter().zip(&vector) {
            assert!((ours - theirs).abs() < 2e-6, "{text}: {ours} is not {theirs}");
        }
    }
}

#[test]
fn a_vector_is_the_weighted_sum_of_its_tokens() {
    let model = small_model([9.0, 2.0, 0.5], "[PAD]\nread\nfile\n").unwrap();
    let (x, y) = (2.0 * 3.0 * (1.0 + 2_f32.ln()), 0.5 * -4.0);
    let norm = x.hypot(y);
    let vector = embed(&model, "read file READ pad");
    assert!((vector[0] - x / norm).abs() < 1e-6 && (vector[1] - y / norm).abs() < 1e-6, "{vector:?}");
}

#[test]
fn a_text_without_tokens_has_the_zero_vector() {
    let model = built_in().unwrap();
    for text in ["", " \n", "…", &"x".repeat(100)] {
        assert_eq!(embed(model, text), vec![0.0; model.dimensions()]);
    }
}

#[test]
fn only_the_first_tokens_of_a_huge_text_count() {
    let model = built_in().unwrap();
    let counted = "read file ".repeat(MAX_TOKENS / 2);
    let huge = format!("{counted}{}", "authentication ".repeat(100_000));
    assert_eq!(embed(model, &huge), embed(model, &counted));
    assert_eq!(model.tokens(&huge).len(), MAX_TOKENS);
    let distinct: Vec<String> = (0..2_000).map(|number| number.to_string()).collect();
    assert!((embed(model, &distinct.join(" ")).iter().map(|value| value * value).sum::<f32>() - 1.0).abs() < 1e-5);
}

#[test]
fn a_batch_has_the_vector_of_each_of_its_texts() {
    let model = built_in().unwrap();
    let texts: [Parts<'_>; 3] = [&["read", "a file"], &[], &["…", "write", "write"]];
    let mut batch = vec![1.0; 7];
    model.embed_batch(&texts, &mut batch).unwrap();
    let expected = [embed(model, "read a file"), embed(model, ""), embed(model, "write write")].concat();
    assert_eq!(batch, expected);
    model.embed_batch(&[], &mut batch).unwrap();
    assert!(batch.is_empty());
    model.embed_query("read a file", &mut batch).unwrap();
    assert_eq!(batch, embed(model, "read a file"));
}

#[test]
fn a_definition_is_its_name_twice_and_its_code() {
    let model = built_in().unwrap();
    let mut vector = Vec::new();
    model.embed_definition("read_file", "fn read_file(path: &Path)", &mut vector);
    assert_eq!(vector, embed(model, "read_file read_file fn read_file(path: &Path)"));
}

#[test]
fn models_of_different_content_have_different_ids() {
    let id = |weight, vocabulary| small_model([1.0, weight, 1.0], vocabulary).unwrap().id().to_owned();
    assert_eq!(id(1.0, "[PAD]\nread\nfile"), id(1.0, "[PAD]\nread\nfile"));
    assert_ne!(id(1.0, "[PAD]\nread\nfile"), id(2.0, "[PAD]\nread\nfile"));
    assert_ne!(id(1.0, "[PAD]\nread\nfile"), id(1.0, "[PAD]\nread\nline"));
}

#[test]
fn a_damaged_model_is_an_error_that_names_the_file() {
    let problem = |weights, vocabulary| small_model(weights, vocabulary).err().unwrap().to_string();
    assert_eq!(problem([1.0; 3], "[PAD]\nread"), "vocab.txt: 2 tokens, but `embeddings` has 3 rows");
    assert_eq!(problem([1.0, f32::NAN, 1.0], "a\nb\nc"), "model.safetensors: tensor `weights`: row 1 is NaN");
    assert_eq!(problem([1.0, 1.0, f32::INFINITY], "a\nb\nc"), "model.safetensors: tensor `weights`: row 2 is inf");
    for (shape, data, expected) in [
        ("[3]", 3, "shape [3], expected [tokens, dimensions]"),
        ("[3,0]", 0, "0 dimensions"),
        ("[3,2]", 6, "truncated"),
    ] {
        let header = format!(r#"{{"embeddings":{{"dtype":"I8","shape":{shape},"data_offsets":[0,{data}]}}}}"#);
        let error = StaticModel::from_bytes(file(&header, &[0; 5]), &b"a\nb\nc"[..]).err().unwrap().to_string();
        assert!(error.starts_with("model.safetensors: tensor `embeddings`") && error.contains(expected), "{error}");
    }
}

proptest::proptest! {
    #[test]
    fn no_damage_to_a_header_makes_loading_panic(at in 0_usize..160, byte: u8, cut in 0_usize..200) {
        let header = r#"{"weights":{"dtype":"F32","shape":[3],"data_offsets":[0,12]},
            "embeddings":{"dtype":"I8","shape":[3,2],"data_offsets":[12,18]}}"#;
        let mut damaged = file(header, &[0; 18]);
        damaged[at] = byte;
        damaged.truncate(damaged.len().saturating_sub(cut.saturating_sub(100)));
        if let Ok(model) = StaticModel::from_bytes(damaged, &b"[PAD]\nread\nfile"[..]) {
            assert_eq!(embed(&model, "read file").len(), model.dimensions());
        }
    }
}
