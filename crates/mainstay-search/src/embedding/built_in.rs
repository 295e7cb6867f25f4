//! The model that is part of the program.

use std::sync::OnceLock;

use super::{ModelError, StaticModel};

static TENSORS: &[u8] = include_bytes!("../../model/model.safetensors");
static VOCABULARY: &[u8] = include_bytes!("../../model/vocab.txt");

/// What [`StaticModel::from_bytes`] computes from the two files, written down because hashing 8 MB takes as long as all
/// the rest of loading them.
const ID: &str = "static1-bd4d5bcf8d0c46eb34ccee6f2c564e45";

/// The built-in model, loaded when it is first asked for. Its rows are used where they are in the program.
pub fn built_in() -> Result<&'static StaticModel, ModelError> {
    static MODEL: OnceLock<Result<StaticModel, ModelError>> = OnceLock::new();
    let model = MODEL.get_or_init(|| StaticModel::with_id(TENSORS.into(), VOCABULARY.into(), ID.to_owned()));
    model.as_ref().map_err(Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::super::Embedder;
    use super::*;

    #[test]
    fn the_built_in_model_loads_and_has_the_id_of_its_files() {
        let same = StaticModel::from_bytes(TENSORS, VOCABULARY).unwrap();
        assert_eq!(built_in().unwrap().id(), same.id());
        assert_eq!(same.dimensions(), 256);
    }
}
