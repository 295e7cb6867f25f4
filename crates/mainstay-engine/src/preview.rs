//! What a call would do, told before a person is asked to approve it.

use std::time::Duration;

use mainstay_core::{Block, Context, Reply, Result, redacted_outline};
use serde_json::Value;

use crate::Engine;
use crate::policy;
use crate::target::ResolvedTarget;

impl Engine {
    /// The dry run of a call, for people. `None` for a tool that has none, and for a caller who could not make it: the
    /// caller can read its own request. A dry run fails where the call would, and then nobody has to be asked.
    pub(crate) async fn preview<T: ResolvedTarget>(
        &self,
        target: &T,
        args: &Value,
        context: &Context,
        deadline: Duration,
    ) -> Result<Option<String>> {
        let (Some(tool), Value::Object(args)) = (target.tool(), args) else { return Ok(None) };
        if !tool.dry_run {
            return Ok(None);
        }
        let mut args = args.clone();
        args.insert("dry_run".into(), true.into());
        let args = Value::Object(args);
        let dry_run = T::resolve(self.registry(), target.label(), &args)?;
        if policy::authorize(&context.caller, dry_run.scopes()).is_err() {
            return Ok(None);
        }
        let output = self.run(&dry_run, args, context, deadline).await.flatten()?;
        Ok(T::as_reply(&output).map(text))
    }
}

/// The value as an outline, or else the text.
fn text(reply: &Reply) -> String {
    if let Some(value) = &reply.structured {
        return redacted_outline(value);
    }
    let texts = reply.content.iter().filter_map(Block::as_text);
    redacted_outline(&texts.collect::<Vec<_>>().join("\n").into())
}
