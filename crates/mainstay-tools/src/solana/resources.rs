//! The chain as resources: `solana://NETWORK/account/ADDRESS`, `…/tx/SIGNATURE`, `…/logs/ADDRESS` and `…/slot`. Who
//! subscribes to one hears of its changes over the WebSocket of a node.

use mainstay_core::{
    Announce, Body, BoxFuture, Contents, Context, Error, Kind, ResourceInfo, ResourceProvider, ResourceTemplate,
    Result, Watch, quoted,
};
use serde_json::{Value, json};

use super::chain::Chain;
use super::describe::ask;
use super::watches::{Resource, Watches};

const SCHEME: &str = "solana://";
const JSON: &str = "application/json";

/// Reads and watches what a URI names; there are too many to list.
pub(super) struct ChainResources(pub(super) Chain, pub(super) Watches);

impl ResourceProvider for ChainResources {
    fn list(&self) -> Vec<ResourceInfo> {
        Vec::new()
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        let template = |uri: &str, name: &str, description: &str| ResourceTemplate {
            uri: uri.to_owned(),
            name: name.to_owned(),
            title: None,
            description: Some(description.to_owned()),
            mime: Some(JSON.to_owned()),
        };
        vec![
            template("solana://{network}/account/{pubkey}", "Solana account", "Balance, owner and data of an account"),
            template("solana://{network}/tx/{signature}", "Solana transaction", "A transaction with its effects"),
            template(
                "solana://{network}/logs/{pubkey}",
                "Solana logs",
                "The latest transactions that mention an account",
            ),
            template("solana://{network}/slot", "Solana slot", "The slot that the network has reached"),
        ]
    }

    fn owns(&self, uri: &str) -> bool {
        uri.starts_with(SCHEME)
    }

    fn read<'a>(&'a self, uri: &'a str, context: &'a Context) -> BoxFuture<'a, Result<Vec<Contents>>> {
        Box::pin(async move {
            let value = self.value(uri, context).await?;
            let (mime, body) = (Some(JSON.to_owned()), Body::Text(value.to_string()));
            Ok(vec![Contents { uri: uri.to_owned(), mime, body }])
        })
    }

    fn watch<'a>(&'a self, uri: &'a str, announce: Announce) -> BoxFuture<'a, Result<Option<Watch>>> {
        Box::pin(async move {
            let (network, resource) = self.parse(uri)?;
            self.1.watch(uri, network, &resource, announce).await.map(Some)
        })
    }

    /// The networks; addresses and signatures are not ours to guess.
    fn complete<'a>(
        &'a self,
        _template: &'a str,
        variable: &'a str,
        typed: &'a str,
        _others: &'a std::collections::BTreeMap<String, String>,
    ) -> BoxFuture<'a, Vec<String>> {
        let networks = self.0.networks().into_iter().filter(|name| variable == "network" && name.starts_with(typed));
        Box::pin(std::future::ready(networks.map(str::to_owned).collect()))
    }
}

impl ChainResources {
    /// The network and the resource that a URI names.
    fn parse<'a>(&self, uri: &'a str) -> Result<(&'a str, Resource<'a>)> {
        let parts: Vec<&str> = uri.strip_prefix(SCHEME).unwrap_or_default().split('/').collect();
        let (network, resource) = match parts.as_slice() {
            [network, "account", address] => (*network, Resource::Account(address)),
            [network, "tx", signature] => (*network, Resource::Transaction(signature)),
            [network, "logs", address] => (*network, Resource::Logs(address)),
            [network, "slot"] => (*network, Resource::Slot),
            _ => {
                let expected = "solana://NETWORK/account/ADDRESS, …/tx/SIGNATURE, …/logs/ADDRESS or …/slot";
                return Err(Error::invalid(format!("{} is not of the form {expected}.", quoted(uri))));
            }
        };
        let known = self.0.networks();
        if known.contains(&network) {
            return Ok((network, resource));
        }
        let known = known.join(", ");
        Err(Error::invalid(format!("There is no network {}; configured are {known}.", quoted(network))))
    }

    async fn value(&self, uri: &str, context: &Context) -> Result<Value> {
        let (network, resource) = self.parse(uri)?;
        let (method, mut args) = match resource {
            Resource::Account(address) => ("getAccountInfo", json!({ "pubkey": address })),
            Resource::Transaction(signature) => ("getTransaction", json!({ "signature": signature })),
            Resource::Logs(address) => ("getSignaturesForAddress", json!({ "address": address })),
            Resource::Slot => ("getSlot", json!({})),
        };
        args["network"] = network.into();
        match ask(&self.0, method, &args, context).await? {
            Ok((_, Value::Null)) => Err(Error::new(Kind::NotFound, format!("Nothing is at {} now.", quoted(uri)))),
            Ok((Some(slot), value)) => Ok(json!({"network": network, "context": {"slot": slot}, "value": value})),
            Ok((None, value)) => Ok(json!({"network": network, "value": value})),
            Err(error) => Err(Error::new(Kind::Unavailable, error.to_string())),
        }
    }
}
