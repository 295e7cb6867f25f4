//! `mainstay` with the fixtures of the official suite and our probes registered besides its own tools.
//!
//! `mainstay-conformance --listen ADDR` serves; every command of `mainstay` works as well.

use std::ffi::OsString;
use std::process::ExitCode;

use mainstay::Config;
use mainstay_conformance::{family, probe_family};
use mainstay_core::Family;

fn main() -> ExitCode {
    let mut args: Vec<OsString> = std::env::args_os().collect();
    if args.get(1).is_none_or(|first| first.as_encoded_bytes().starts_with(b"-")) {
        args.insert(1, "serve".into());
    }
    mainstay::main(args.into_iter(), families)
}

fn families(config: &Config) -> Vec<Family> {
    let probes = config.data_dir().unwrap_or_else(|_| std::env::temp_dir()).join("probe");
    // A directory that cannot be made is reported by the first probe that wants to write there.
    let _ = std::fs::create_dir_all(&probes);
    vec![family(), probe_family(probes)]
}
