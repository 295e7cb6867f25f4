//! The safetensors format: eight bytes with the header's length, a JSON header, and the tensors' bytes.

use std::collections::HashMap;
use std::ops::Range;

use serde::Deserialize;

use super::ModelError;

/// The format's own limit is 100 MB; a model of two tensors has a header of some hundred bytes.
const MAX_HEADER_BYTES: usize = 1 << 20;

/// Where a tensor is and what it has: its element type, its shape, and its place in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tensor {
    pub(super) shape: Vec<usize>,
    pub(super) bytes: Range<usize>,
}

/// A tensor as the header has it; `data_offsets` count from the end of the header.
#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

/// The tensors of a file by name.
pub(super) struct Header {
    /// Not parsed yet: `__metadata__` is among them, and is no tensor.
    entries: HashMap<String, serde_json::Value>,
    data: Range<usize>,
}

impl Header {
    pub(super) fn parse(file: &[u8]) -> Result<Self, ModelError> {
        let truncated = || ModelError::tensors(format!("truncated: {} bytes are too few for its header", file.len()));
        let (length, rest) = file.split_first_chunk::<8>().ok_or_else(truncated)?;
        let length = u64::from_le_bytes(*length);
        let length = usize::try_from(length)
            .ok()
            .filter(|length| *length <= MAX_HEADER_BYTES)
            .ok_or_else(|| ModelError::tensors(format!("not a safetensors file: a header of {length} bytes")))?;
        let header = rest.get(..length).ok_or_else(truncated)?;
        let entries = serde_json::from_slice(header)
            .map_err(|error| ModelError::tensors(format!("the header is not valid JSON: {error}")))?;
        Ok(Self { entries, data: 8 + length..file.len() })
    }

    /// The place of a tensor, after checking that its type is `dtype`, of `element` bytes, and that it lies in the file.
    pub(super) fn tensor(&self, name: &str, dtype: &str, element: usize) -> Result<Tensor, ModelError> {
        let wrong = |problem: String| ModelError::tensors(format!("tensor `{name}`: {problem}"));
        let entry = self.entries.get(name).ok_or_else(|| wrong("missing".to_owned()))?;
        let entry = Entry::deserialize(entry).map_err(|error| wrong(error.to_string()))?;
        if entry.dtype != dtype {
            return Err(wrong(format!("the type is {}, expected {dtype}", entry.dtype)));
        }
        let size = entry.shape.iter().try_fold(element, |size, length| size.checked_mul(*length));
        let (start, end) = entry.data_offsets;
        if size.is_none() || end.checked_sub(start) != size {
            return Err(wrong(format!("shape {:?} does not fill bytes {start}..{end}", entry.shape)));
        }
        if end > self.data.len() {
            return Err(wrong(format!("truncated: ends at byte {end} of {} bytes of data", self.data.len())));
        }
        Ok(Tensor { shape: entry.shape, bytes: self.data.start + start..self.data.start + end })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A file with this header and these bytes.
    pub(in crate::embedding) fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend_from_slice(header.as_bytes());
        file.extend_from_slice(data);
        file
    }

    fn problem(header: &str, data: &[u8]) -> String {
        let file = file(header, data);
        Header::parse(&file).and_then(|header| header.tensor("t", "F32", 4)).unwrap_err().to_string()
    }

    #[test]
    fn a_tensor_is_found_with_its_shape_and_place() {
        let header = r#"{"__metadata__":{"a":"b"},"t":{"dtype":"F32","shape":[2,1],"data_offsets":[4,12]}}"#;
        let file = file(header, &[0; 12]);
        let tensor = Header::parse(&file).unwrap().tensor("t", "F32", 4).unwrap();
        assert_eq!(tensor, Tensor { shape: vec![2, 1], bytes: file.len() - 8..file.len() });
    }

    #[test]
    fn every_damage_is_named() {
        let entry = |rest: &str| format!(r#"{{"t":{{{rest}}}}}"#);
        for (header, expected) in [
            ("{}".to_owned(), "tensor `t`: missing"),
            ("[".to_owned(), "the header is not valid JSON"),
            (entry(r#""dtype":"I8","shape":[8],"data_offsets":[0,8]"#), "the type is I8, expected F32"),
            (entry(r#""dtype":"F32","shape":[3],"data_offsets":[0,8]"#), "shape [3] does not fill bytes 0..8"),
            (entry(r#""dtype":"F32","shape":[2],"data_offsets":[8,0]"#), "does not fill bytes 8..0"),
            (entry(r#""dtype":"F32","shape":[3],"data_offsets":[0,12]"#), "truncated: ends at byte 12 of 8"),
            (entry(r#""dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]"#), "does not fill"),
            (entry(r#""dtype":"F32","shape":[-1],"data_offsets":[0,8]"#), "invalid value"),
        ] {
            let problem = problem(&header, &[0; 8]);
            assert!(problem.contains(expected), "{header}: {problem}");
        }
    }

    #[test]
    fn a_header_that_is_longer_than_the_file_is_an_error() {
        assert!(Header::parse(b"1234567").is_err());
        assert!(Header::parse(&100_u64.to_le_bytes()).is_err());
        assert!(Header::parse(&[255; 64]).is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_header_makes_the_parser_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = Header::parse(&bytes);
        }

        #[test]
        fn no_numbers_in_a_header_make_the_parser_panic(shape: Vec<u64>, start: u64, end: u64) {
            let header = format!(r#"{{"t":{{"dtype":"F32","shape":{shape:?},"data_offsets":[{start},{end}]}}}}"#);
            let file = file(&header, &[0; 64]);
            if let Ok(tensor) = Header::parse(&file).unwrap().tensor("t", "F32", 4) {
                assert!(file.get(tensor.bytes).is_some());
            }
        }
    }
}
