//! A prompt that explains a transaction to a person.

use std::collections::BTreeMap;

use mainstay_core::{
    Block, BoxFuture, Context, Error, Kind, Prompt, PromptArgument, PromptInfo, PromptMessage, PromptReply, Result,
};

use super::chain::Chain;
use super::describe::executed;

/// Reads the transaction, so that the model has the facts before it says anything.
pub(super) struct ExplainTransaction(pub(super) Chain);

impl Prompt for ExplainTransaction {
    fn info(&self) -> PromptInfo {
        let argument = |name: &str, description: &str, required| PromptArgument {
            name: name.to_owned(),
            description: description.to_owned(),
            required,
        };
        PromptInfo {
            name: "explain-solana-transaction".to_owned(),
            title: Some("Explain a Solana transaction".to_owned()),
            description: "Explains what a transaction did, who gained and lost what, and what to watch out for"
                .to_owned(),
            arguments: vec![
                argument("signature", "Signature of the transaction", true),
                argument("network", "Network; the default one if left out", false),
            ],
            template: None,
        }
    }

    fn render<'a>(
        &'a self,
        arguments: &'a BTreeMap<String, String>,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<PromptReply>> {
        Box::pin(async move {
            let argument = |name: &str| arguments.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
            let network = argument("network").unwrap_or_else(|| self.0.client().default_network());
            let signature = argument("signature").unwrap_or_default();
            let found = executed(&self.0, network, signature, context).await?;
            let words = found.map_err(|error| Error::new(Kind::Unavailable, error.to_string()))?.words();
            let text = format!(
                "Explain this transaction of the Solana network {network} to somebody who does not know the chain: what it \
                 did, who gained and who lost what, and what is unusual about it. Signature: {signature}\n\n{words}"
            );
            Ok(PromptReply { description: None, messages: vec![PromptMessage::user(Block::text(text))] })
        })
    }

    fn complete(&self, argument: &str, typed: &str) -> Vec<String> {
        let networks = self.0.networks().into_iter().filter(|name| argument == "network" && name.starts_with(typed));
        networks.map(str::to_owned).collect()
    }
}
