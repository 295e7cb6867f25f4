//! Trying tools the way callers use them: with JSON that is held against the schema first.

use std::collections::BTreeMap;
use std::path::Path;

use mainstay_core::schema::Validator;
use mainstay_core::{Context, Error, Result, Tool, erase};
use serde_json::Value;

use super::Desk;
use super::sample::Sample;

pub(super) async fn call<T: Tool>(tool: T, args: Value) -> Result<Value> {
    call_as(&Context::detached(), tool, args).await
}

pub(super) async fn call_as<T: Tool>(context: &Context, tool: T, args: Value) -> Result<Value> {
    let tool = erase(tool).unwrap();
    tool.check(&args)?;
    let reply = tool.call(args, context).await?.structured.unwrap();
    let promised = tool.info().output_schema.clone().unwrap();
    Validator::new(&promised).unwrap().check(&reply).unwrap();
    Ok(reply)
}

/// The same call twice: first as a dry run, which must not change anything and must not promise anything else.
pub(super) async fn rehearsed<T: Tool>(sample: &Sample, tool: impl Fn() -> T, args: Value) -> (Value, Value) {
    let before = snapshot(sample.path());
    let mut dry = args.clone();
    dry["dry_run"] = true.into();
    let told = call(tool(), dry).await.unwrap();
    assert_eq!(snapshot(sample.path()), before, "a dry run changed something");
    assert_eq!(told["dry_run"], true);
    let done = call(tool(), args).await.unwrap();
    (told, done)
}

/// A call that must be refused, and must not change anything.
pub(super) async fn refused<T: Tool>(sample: &Sample, tool: impl FnOnce(Desk) -> T, args: Value) -> Error {
    let before = snapshot(sample.path());
    let error = call(tool(sample.desk()), args).await.unwrap_err();
    assert_eq!(snapshot(sample.path()), before, "a refused call changed something");
    error
}

/// Everything beneath a directory: what it is, and what it holds.
pub(super) fn snapshot(path: &Path) -> BTreeMap<String, (char, Vec<u8>)> {
    let mut found = BTreeMap::new();
    collect(path, path, &mut found);
    found
}

fn collect(top: &Path, path: &Path, found: &mut BTreeMap<String, (char, Vec<u8>)>) {
    for entry in std::fs::read_dir(path).unwrap().map(Result::unwrap) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        let name = path.strip_prefix(top).unwrap().display().to_string();
        if kind.is_dir() {
            found.insert(name, ('d', Vec::new()));
            collect(top, &path, found);
        } else if kind.is_symlink() {
            let target = std::fs::read_link(&path).unwrap().display().to_string();
            found.insert(name, ('l', target.into_bytes()));
        } else {
            found.insert(name, ('f', std::fs::read(&path).unwrap()));
        }
    }
}

/// Numbers that look random and are the same each time.
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }

    pub(super) fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.below(from.len())]
    }
}
