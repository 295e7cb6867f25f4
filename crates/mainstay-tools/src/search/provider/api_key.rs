//! The API key of a provider. That callers and commands cannot reach its file is checked where the workspace is opened.

use std::path::Path;

use mainstay_core::{Error, Result};
use mainstay_sandbox::read_secret_file;
use mainstay_solana::transaction::check_key_file_mode;
use reqwest::header::HeaderValue;
use zeroize::Zeroizing;

/// Keys have some hundred letters at most, tokens of cloud providers some thousand.
const MAX_BYTES: usize = 8192;

/// What replaces a key that a service repeats in its messages.
const REDACTED: &str = "[redacted]";

/// A key, which is never printed: there is no `Debug` for it.
pub(super) struct ApiKey {
    /// Marked as sensitive, so that the HTTP client does not print it either.
    pub(super) header: HeaderValue,
    key: Zeroizing<String>,
}

impl ApiKey {
    /// Reads the key. White space around it is not part of it: editors end a file with a line break.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let wrong = |reason: String| {
            Error::invalid(format!(
                "`key_file` of the embedding provider ({}) cannot be used: {reason}",
                path.display()
            ))
        };
        if !path.is_absolute() {
            return Err(wrong("The path must be absolute.".to_owned()));
        }
        let file = read_secret_file(path, MAX_BYTES).map_err(|error| wrong(format!("{error}.")))?;
        check_key_file_mode(file.mode, file.is_own).map_err(wrong)?;
        let key = Zeroizing::new(file.contents.trim().to_owned());
        let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_key {
            return Err(wrong("It has to contain the API key and nothing else.".to_owned()));
        }
        let value = Zeroizing::new(format!("Bearer {}", key.as_str()));
        let mut header = HeaderValue::from_str(&value).map_err(|_| wrong("The key is no header value.".to_owned()))?;
        header.set_sensitive(true);
        Ok(Self { header, key })
    }

    /// A message of the service without the key. Services repeat it in messages such as "invalid key: …".
    pub(super) fn redact(&self, text: &str) -> String {
        text.replace(self.key.as_str(), REDACTED)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn read(content: &str, mode: u32) -> Result<ApiKey> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        ApiKey::read(&path)
    }

    #[test]
    fn a_key_is_the_content_of_its_file_and_is_not_shown() {
        let key = read(" sk-canary-1\n", 0o600).unwrap();
        assert_eq!(key.header.to_str().unwrap(), "Bearer sk-canary-1");
        assert!(!format!("{:?}", key.header).contains("canary"));
        assert_eq!(key.redact("invalid key sk-canary-1!"), "invalid key [redacted]!");
    }

    #[test]
    fn a_file_that_others_can_read_or_that_is_no_key_is_refused_without_its_content() {
        for (content, mode, expected) in [
            ("sk-canary-1", 0o644, "chmod 600"),
            ("", 0o600, "nothing else"),
            ("canary and more", 0o600, "nothing else"),
            ("canary\ncanary", 0o600, "nothing else"),
            ("canäry", 0o600, "nothing else"),
        ] {
            let error = read(content, mode).err().unwrap().public;
            assert!(error.contains(expected) && error.contains("key_file"), "{error}");
            assert!(!error.contains("canary"), "{error}");
        }
        assert!(ApiKey::read(Path::new("relative")).err().unwrap().public.contains("absolute"));
        assert!(ApiKey::read(Path::new("/nonexistent/key")).is_err());
        assert!(read(&"a".repeat(MAX_BYTES + 1), 0o600).is_err());
    }
}
