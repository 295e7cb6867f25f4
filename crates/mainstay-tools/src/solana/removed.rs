//! Methods that nodes have removed. Models know them from older texts, so a call says what to use instead.

use std::sync::{Arc, LazyLock};

use mainstay_core::{AnyTool, BoxFuture, Context, Effect, Error, Reply, Result, Spec, Spelling, UntypedTool, untyped};
use mainstay_solana::methods;
use serde_json::{Map, Value};

use super::{DIALECT, spec};

static SPELLINGS: LazyLock<Vec<[Spelling; 1]>> =
    LazyLock::new(|| methods::removed().map(|(name, _)| [Spelling { dialect: DIALECT, name }]).collect());

/// A sentence that names the replacement.
struct Removed(&'static str);

/// A tool in no list for every removed method.
pub(super) fn tools() -> impl Iterator<Item = Arc<dyn AnyTool>> {
    methods::removed().zip(SPELLINGS.iter()).map(|((name, replacement), spelling)| {
        let spec = Spec {
            title: name,
            description: "A method that nodes have removed; a call of it names its replacement.",
            unlisted: true,
            spellings: spelling,
            ..spec(name, Effect::Reads)
        };
        let any = Map::from_iter([("type".to_owned(), Value::from("object"))]);
        untyped(spec, any, None, Removed(replacement))
    })
}

impl UntypedTool for Removed {
    fn call<'a>(&'a self, _args: Map<String, Value>, _context: &'a Context) -> BoxFuture<'a, Result<Reply>> {
        Box::pin(std::future::ready(Err(Error::invalid(self.0))))
    }
}
