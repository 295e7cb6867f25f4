//! A model from a directory of the operator's choice.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use super::{ModelError, ModelFile, StaticModel};

/// A million tokens of 512 dimensions. A larger file is no static model, and would be held in memory as a whole.
const MAX_TENSOR_BYTES: u64 = 512 << 20;
/// A million tokens of 64 bytes, the longest that can match.
const MAX_VOCABULARY_BYTES: u64 = 64 << 20;

/// Loads the model whose files, `model.safetensors` and `vocab.txt`, are in a directory. The error names the file, and
/// what is wrong with it.
///
/// The directory comes from the configuration, never from a caller of a tool: its files are opened as any file of the
/// program's own.
pub fn load_model(directory: &Path) -> Result<StaticModel, ModelError> {
    let vocabulary = read(directory, ModelFile::Vocabulary, MAX_VOCABULARY_BYTES)?;
    let tensors = read(directory, ModelFile::Tensors, MAX_TENSOR_BYTES)?;
    StaticModel::from_bytes(tensors, vocabulary)
}

/// The content of one file, up to a limit.
fn read(directory: &Path, file: ModelFile, limit: u64) -> Result<Vec<u8>, ModelError> {
    let wrong = |problem: String| ModelError { file, problem };
    let path = directory.join(file.name());
    let failed = |error: &std::io::Error| {
        if error.kind() == ErrorKind::NotFound {
            return wrong(format!("missing in {}", directory.display()));
        }
        wrong(format!("cannot be read in {}: {error}", directory.display()))
    };
    // Before it is opened: opening a named pipe waits for somebody to write to it.
    let metadata = std::fs::metadata(&path).map_err(|error| failed(&error))?;
    if !metadata.is_file() {
        return Err(wrong(format!("is not a regular file in {}", directory.display())));
    }
    let too_large = || wrong(format!("more than {limit} bytes, too many for a static model"));
    if metadata.len() > limit {
        return Err(too_large());
    }
    let opened = File::open(&path).map_err(|error| failed(&error))?;
    let mut content = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    // The limit holds for a file that grows while it is read too.
    opened.take(limit + 1).read_to_end(&mut content).map_err(|error| failed(&error))?;
    if u64::try_from(content.len()).is_ok_and(|length| length > limit) { Err(too_large()) } else { Ok(content) }
}

#[cfg(test)]
mod tests {
    use super::super::{Embedder as _, built_in};
    use super::*;

    /// The files of the built-in model, which tests change.
    fn directory() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("model");
        for file in [ModelFile::Tensors, ModelFile::Vocabulary] {
            std::fs::copy(files.join(file.name()), directory.path().join(file.name())).unwrap();
        }
        directory
    }

    fn problem(directory: &Path) -> String {
        load_model(directory).err().unwrap().to_string()
    }

    #[test]
    fn a_model_in_a_directory_is_the_same_as_one_in_the_program() {
        let (directory, built_in) = (directory(), built_in().unwrap());
        let model = load_model(directory.path()).unwrap();
        assert_eq!((model.id(), model.dimensions()), (built_in.id(), built_in.dimensions()));
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        model.embed("read a file", &mut ours);
        built_in.embed("read a file", &mut theirs);
        assert_eq!(ours, theirs);
    }

    #[test]
    fn a_directory_without_a_model_is_an_error_that_names_the_file() {
        let directory = directory();
        let path = directory.path().join("model.safetensors");
        let shown = directory.path().display().to_string();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(problem(directory.path()), format!("model.safetensors: missing in {shown}"));
        assert!(problem(&directory.path().join("none")).starts_with("vocab.txt: missing in "));
        std::fs::create_dir(&path).unwrap();
        assert_eq!(problem(directory.path()), format!("model.safetensors: is not a regular file in {shown}"));
    }

    #[test]
    fn files_that_are_no_model_or_do_not_belong_together_are_errors() {
        let directory = directory();
        let (tensors, vocabulary) = (directory.path().join("model.safetensors"), directory.path().join("vocab.txt"));
        std::fs::write(&vocabulary, "one\ntwo\n").unwrap();
        assert_eq!(problem(directory.path()), "vocab.txt: 2 tokens, but `embeddings` has 32768 rows");
        std::fs::write(&vocabulary, "one\none\n").unwrap();
        assert_eq!(problem(directory.path()), "vocab.txt: line 2: the token is in the list already");
        std::fs::write(&vocabulary, "one\ntwo\n").unwrap();
        for (content, expected) in [
            (&b"PK\x03\x04 an archive, perhaps"[..], "not a safetensors file"),
            (b"", "truncated"),
            (b"\x04\0\0\0\0\0\0\0null", "the header is not valid JSON"),
        ] {
            std::fs::write(&tensors, content).unwrap();
            let problem = problem(directory.path());
            assert!(problem.starts_with("model.safetensors: ") && problem.contains(expected), "{problem}");
        }
    }

    #[test]
    fn a_file_that_is_too_large_is_not_read() {
        let directory = directory();
        // Sparse: it takes no room on the disk.
        File::create(directory.path().join("vocab.txt")).unwrap().set_len(MAX_VOCABULARY_BYTES + 1).unwrap();
        assert_eq!(problem(directory.path()), "vocab.txt: more than 67108864 bytes, too many for a static model");
    }
}
