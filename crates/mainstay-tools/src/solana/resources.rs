//! Accounts and transactions as resources: `solana://NETWORK/account/ADDRESS` and `solana://NETWORK/tx/SIGNATURE`.

use mainstay_core::{
    Body, BoxFuture, Contents, Context, Error, Kind, ResourceInfo, ResourceProvider, ResourceTemplate, Result, quoted,
};
use serde_json::{Value, json};

use super::chain::Chain;
use super::describe::ask;

const SCHEME: &str = "solana://";
const JSON: &str = "application/json";

/// Reads what a URI names; there are too many to list.
pub(super) struct ChainResources(pub(super) Chain);

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
    async fn value(&self, uri: &str, context: &Context) -> Result<Value> {
        let parts: Vec<&str> = uri.strip_prefix(SCHEME).unwrap_or_default().split('/').collect();
        let (network, method, args) = match parts.as_slice() {
            [network, "account", address] => (*network, "getAccountInfo", json!({ "pubkey": address })),
            [network, "tx", signature] => (*network, "getTransaction", json!({ "signature": signature })),
            _ => {
                let expected = "solana://NETWORK/account/ADDRESS or solana://NETWORK/tx/SIGNATURE";
                return Err(Error::invalid(format!("{} is not of the form {expected}.", quoted(uri))));
            }
        };
        let known = self.0.networks();
        if !known.contains(&network) {
            let known = known.join(", ");
            return Err(Error::invalid(format!("There is no network {}; configured are {known}.", quoted(network))));
        }
        let mut args = args;
        args["network"] = network.into();
        match ask(&self.0, method, &args, context).await? {
            Ok((_, Value::Null)) => Err(Error::new(Kind::NotFound, format!("Nothing is at {} now.", quoted(uri)))),
            Ok((Some(slot), value)) => Ok(json!({"network": network, "context": {"slot": slot}, "value": value})),
            Ok((None, value)) => Ok(json!({"network": network, "value": value})),
            Err(error) => Err(Error::new(Kind::Unavailable, error.to_string())),
        }
    }
}
