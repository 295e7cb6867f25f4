//! The format of OpenAI's embeddings API: the texts of a batch, the body of a request, the vectors of a response.

use mainstay_search::embedding::{EmbedError, Parts};
use serde::{Deserialize, Serialize};

/// Of a longer text the first bytes count. A token of these models has at least one byte, so that this is below the
/// 8,192 tokens that OpenAI takes, for a text in any language. Chunks are a quarter of it.
const MAX_TEXT_BYTES: usize = 8000;

/// A number of a vector takes up to 24 bytes as JSON, and some services write each on a line of its own.
const NUMBER_BYTES: usize = 48;
/// Names of fields, usage figures and the like.
const REST_BYTES: usize = 64 << 10;

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
    /// Without it some clients and services choose base64.
    encoding_format: &'static str,
}

#[derive(Deserialize)]
struct Response {
    data: Vec<Item>,
}

/// A vector, and the place of its text in the request. The order of the list means nothing.
#[derive(Deserialize)]
struct Item {
    index: usize,
    embedding: Vec<f32>,
}

/// A text as it is sent. A part that is repeated, so that it counts more in a static model, is sent once: these models
/// read sentences.
pub(super) fn text(parts: Parts<'_>) -> String {
    let mut text = String::new();
    let mut last = "";
    for part in parts.iter().map(|part| part.trim()) {
        if part.is_empty() || part == last {
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(part);
        last = part;
    }
    text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
    text
}

/// The body of a request.
pub(super) fn request(model: &str, input: &[String], dimensions: Option<usize>) -> Vec<u8> {
    let request = Request { model, input, dimensions, encoding_format: "float" };
    serde_json::to_vec(&request).unwrap_or_default()
}

/// The longest response that can be the vectors of so many texts.
pub(super) fn max_response_bytes(texts: usize, dimensions: usize) -> usize {
    REST_BYTES + texts.saturating_mul(dimensions).saturating_mul(NUMBER_BYTES)
}

/// The vectors of a response in the order of their texts, each of length 1. What is wrong is told without quoting the
/// response, which may repeat anything of the request.
pub(super) fn vectors(body: &[u8], texts: usize, dimensions: usize) -> Result<Vec<f32>, EmbedError> {
    let wrong = |reason: String| EmbedError::Malformed { reason };
    let response: Response = serde_json::from_slice(body).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        wrong(format!("it is not JSON with `data`, `index` and `embedding` of numbers (line {line}, column {column})"))
    })?;
    if response.data.len() != texts {
        return Err(wrong(format!("{} vectors for {texts} texts", response.data.len())));
    }
    let mut vectors = vec![0.0; texts * dimensions];
    let mut seen = vec![false; texts];
    for Item { index, embedding } in response.data {
        // Also where it is longer: the first numbers of most models are no vector by themselves.
        if embedding.len() != dimensions {
            return Err(wrong(format!(
                "a vector has {} numbers, and `dimensions` is {dimensions}; set `dimensions` to {}, or set \
                 `request_dimensions = true` if the model can shorten its vectors",
                embedding.len(),
                embedding.len()
            )));
        }
        match seen.get_mut(index) {
            Some(seen) if !*seen => *seen = true,
            Some(_) => return Err(wrong(format!("two vectors have the index {index}"))),
            None => return Err(wrong(format!("a vector has the index {index} of {texts} texts"))),
        }
        let vector = vectors.get_mut(index * dimensions..(index + 1) * dimensions).unwrap_or_default();
        write_unit(&embedding, vector).ok_or_else(|| wrong(format!("vector {index} has a value that is no number")))?;
    }
    Ok(vectors)
}

/// Brings a vector to length 1. None if a value is not finite; a vector of length 0 stays as it is.
fn write_unit(from: &[f32], to: &mut [f32]) -> Option<()> {
    if !from.iter().all(|value| value.is_finite()) {
        return None;
    }
    // In 64 bits no square of a 32-bit number overflows.
    let norm = from.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    let factor = if norm > 0.0 { 1.0 / norm } else { 0.0 };
    for (to, from) in to.iter_mut().zip(from) {
        #[expect(clippy::cast_possible_truncation, reason = "a value from -1 to 1")]
        let value = (f64::from(*from) * factor) as f32;
        *to = value;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(response: &Value) -> Result<Vec<f32>, EmbedError> {
        vectors(response.to_string().as_bytes(), 2, 2)
    }

    #[test]
    fn parts_are_sent_once_each_up_to_a_limit() {
        assert_eq!(text(&["stem", "", "push", "push", " Adds. ", "fn push()", ""]), "stem\npush\nAdds.\nfn push()");
        assert_eq!(text(&[" ", "\n"]), "");
        let long = "ä".repeat(MAX_TEXT_BYTES);
        assert_eq!(text(&["x", &long]).len(), MAX_TEXT_BYTES);
    }

    #[test]
    fn a_request_names_dimensions_only_where_they_are_asked_for() {
        let body = |dimensions| serde_json::from_slice::<Value>(&request("m", &["a".to_owned()], dimensions)).unwrap();
        assert_eq!(body(None), json!({"model": "m", "input": ["a"], "encoding_format": "float"}));
        assert_eq!(body(Some(8))["dimensions"], 8);
    }

    #[test]
    fn vectors_are_in_the_order_of_texts_and_of_length_one() {
        let response = json!({"object": "list", "usage": {}, "data": [
            {"object": "embedding", "index": 1, "embedding": [0.0, 0]},
            {"object": "embedding", "index": 0, "embedding": [3e30, -4e30]},
        ]});
        let found = read(&response).unwrap();
        assert!(
            (found[0] - 0.6).abs() < 1e-6 && (found[1] + 0.8).abs() < 1e-6 && found[2..] == [0.0, 0.0],
            "{found:?}"
        );
        // JSON has no such numbers; another format may.
        assert!(write_unit(&[1.0, f32::INFINITY], &mut [0.0; 2]).is_none());
    }

    #[test]
    fn responses_that_are_no_vectors_are_told_apart() {
        let item = |index: Value, embedding: Value| json!({"index": index, "embedding": embedding});
        let good = item(json!(0), json!([1, 0]));
        for (data, expected) in [
            (json!([good]), "1 vectors for 2 texts"),
            (json!([good, good]), "two vectors have the index 0"),
            (json!([good, item(json!(2), json!([1, 0]))]), "index 2 of 2 texts"),
            (json!([good, item(json!(1), json!([1, 0, 0]))]), "set `dimensions` to 3"),
            (json!([good, item(json!(1), json!([1, null]))]), "it is not JSON with"),
            (json!([good, item(json!(1), json!(["canary", 0]))]), "it is not JSON with"),
            (json!([good, item(json!(1), json!([1e39, 0]))]), "it is not JSON with"),
            (json!([good, item(json!(-1), json!([1, 0]))]), "it is not JSON with"),
            (json!("canary"), "it is not JSON with"),
        ] {
            let error = read(&json!({ "data": data })).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains("canary"), "{data}: {error}");
        }
        for body in ["", "canary", r#"{"data":[{"index":0,"embedding":[NaN,0]},{"index":1,"embedding":[1,0]}]}"#] {
            assert!(vectors(body.as_bytes(), 2, 2).is_err(), "{body}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_response_panics(body: Vec<u8>, indexes: [u64; 2], values: [f32; 4]) {
            let _ = vectors(&body, 2, 2);
            let item = |place: usize| json!({"index": indexes[place] % 3, "embedding": values[place * 2..place * 2 + 2]});
            if let Ok(vectors) = read(&json!({"data": [item(0), item(1)]})) {
                assert!(vectors.iter().all(|value| value.abs() <= 1.0));
            }
        }
    }
}
