//! The key file of a wallet. That callers and commands cannot reach it is checked where the workspace is opened.

use std::path::Path;

use mainstay_core::{Error, Result};
use mainstay_sandbox::read_secret_file;
use mainstay_solana::transaction::{Wallet, check_key_file_mode};

/// The file has 64 numbers; a longer one is something else.
const MAX_BYTES: usize = 4096;

/// Reads the key. `setting` is what the configuration calls the file.
pub(super) fn read(setting: &str, path: &Path) -> Result<Wallet> {
    let wrong =
        |reason: String| Error::invalid(format!("The wallet {} ({setting}) cannot be used: {reason}", path.display()));
    if !path.is_absolute() {
        return Err(wrong("The path must be absolute.".to_owned()));
    }
    let file = read_secret_file(path, MAX_BYTES).map_err(|error| wrong(format!("{error}.")))?;
    check_key_file_mode(file.mode, file.is_own).map_err(wrong)?;
    Wallet::from_file_contents(&file.contents).map_err(|error| wrong(error.to_string()))
}
