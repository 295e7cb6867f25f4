//! Calls tools the way clients do: with JSON that is validated against the schema first.

use std::collections::BTreeMap;
use std::path::Path;

use mainstay_core::schema::Validator;
use mainstay_core::{Context, Error, Result, Tool, erase};
use serde_json::Value;

use crate::files::file_tools::FileTools;
use crate::files::testing::workspace::SampleWorkspace;

pub(crate) async fn call<T: Tool>(tool: T, args: Value) -> Result<Value> {
    call_as(&Context::detached(), tool, args).await
}

pub(crate) async fn call_as<T: Tool>(context: &Context, tool: T, args: Value) -> Result<Value> {
    let tool = erase(tool);
    tool.check(&args)?;
    let reply = tool.call(args, context).await?.structured.unwrap();
    let promised = tool.info().output_schema.clone().unwrap();
    Validator::new(&promised).unwrap().check(&reply).unwrap();
    Ok(reply)
}

/// Makes the same call twice, first as a dry run, which must not change anything. Returns both results.
pub(crate) async fn dry_run_then_call<T: Tool>(
    sample: &SampleWorkspace,
    tool: impl Fn() -> T,
    args: Value,
) -> (Value, Value) {
    let before = snapshot(sample.path());
    let mut dry = args.clone();
    dry["dry_run"] = true.into();
    let preview = call(tool(), dry).await.unwrap();
    assert_eq!(snapshot(sample.path()), before, "a dry run changed something");
    assert_eq!(preview["dry_run"], true);
    let result = call(tool(), args).await.unwrap();
    (preview, result)
}

/// A call that must fail without changing anything.
pub(crate) async fn expect_error<T: Tool>(
    sample: &SampleWorkspace,
    tool: impl FnOnce(FileTools) -> T,
    args: Value,
) -> Error {
    let before = snapshot(sample.path());
    let error = call(tool(sample.tools()), args).await.unwrap_err();
    assert_eq!(snapshot(sample.path()), before, "a failed call changed something");
    error
}

/// Everything below a directory: its kind and content, by path.
pub(crate) fn snapshot(path: &Path) -> BTreeMap<String, (char, Vec<u8>)> {
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
