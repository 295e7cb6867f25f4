//! `mainstay` with the fixtures of the official suite and our probes registered in addition to its own tools.
//!
//! `mainstay-conformance --listen ADDR` serves; every command of `mainstay` works as well.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use mainstay::{Config, Extensions};
use mainstay_conformance::{family, probe_family};
use mainstay_core::Family;
use mainstay_wire::testing;

fn main() -> ExitCode {
    let mut args: Vec<OsString> = std::env::args_os().collect();
    let is_command = |word: &OsString| !word.as_encoded_bytes().starts_with(b"-");
    if is_own_name(&args) && !args.get(1).is_some_and(is_command) {
        args.insert(1, "serve".into());
    }
    let extensions =
        Extensions { families, dialects: &[testing::ENTRY], dialect_routes: &[("/minimal", testing::NAME)] };
    mainstay::main(args.into_iter(), extensions)
}

/// Started under another name the program behaves as that one, as `mainstay` does.
fn is_own_name(args: &[OsString]) -> bool {
    args.first().and_then(|name| Path::new(name).file_name()).is_some_and(|name| name == env!("CARGO_BIN_NAME"))
}

fn families(config: &Config) -> Vec<Family> {
    let probes = config.data_dir().unwrap_or_else(|_| std::env::temp_dir()).join("probe");
    // A directory that cannot be made is reported by the first probe that wants to write there.
    let _ = std::fs::create_dir_all(&probes);
    vec![family(), probe_family(probes)]
}
