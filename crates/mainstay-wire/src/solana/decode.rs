//! From a message to a request.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::errors;
use crate::error::ErrorResponse;
use crate::jsonrpc::{self, Message};
use crate::request::{Operation, Request};

/// The params of `initialize`. The version is required and may be any; the rest has to be of its type where it is sent.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialize {
    #[serde(rename = "protocolVersion")]
    _protocol_version: String,
    #[serde(default, rename = "capabilities")]
    _capabilities: Map<String, Value>,
    #[serde(default, rename = "clientInfo")]
    _client_info: Option<ClientInfo>,
}

#[derive(Deserialize)]
struct ClientInfo {
    #[serde(rename = "name")]
    _name: String,
    #[serde(default, rename = "version")]
    _version: Option<String>,
}

#[derive(Deserialize)]
struct CallTool {
    name: String,
    #[serde(default)]
    arguments: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct Uri {
    uri: String,
}

/// Without an id nothing is carried out but the notifications about the connection and its calls: a client could not learn
/// how a call has ended.
pub(super) fn request(Message { id, method, params }: Message) -> Option<Request> {
    let operation = match (&id, method.as_str()) {
        // That it cannot be read is what is wrong with a broken handshake, whatever the state of the connection.
        (Some(_), "initialize") => operation(method, params).unwrap_or_else(Operation::Malformed),
        (Some(_), _) => operation(method, params).unwrap_or_else(Operation::InvalidParams),
        (None, "notifications/initialized") => Operation::Initialized,
        (None, "notifications/cancelled") => {
            let id = params.and_then(|mut params| params.get_mut("requestId").map(Value::take));
            Operation::Cancel { id: id? }
        }
        (None, _) => return None,
    };
    Some(Request { id, operation })
}

/// Fails with the error for params that cannot be read.
fn operation(method: String, params: Option<Value>) -> Result<Operation, ErrorResponse> {
    let params = jsonrpc::or_empty(params);
    if !params.is_object() {
        return Err(errors::of_params("the params must be an object"));
    }
    Ok(match method.as_str() {
        "initialize" => {
            read::<Initialize>(&method, params.clone())?;
            Operation::Initialize(params)
        }
        "ping" => Operation::Ping,
        "tools/list" => Operation::ListTools(params),
        "tools/call" => {
            let CallTool { name, arguments } = read(&method, params)?;
            Operation::CallTool { name, args: Some(Value::Object(arguments.unwrap_or_default())) }
        }
        "resources/list" => Operation::ListResources,
        "resources/templates/list" => Operation::ListResourceTemplates,
        "resources/read" => {
            let Uri { uri } = read(&method, params)?;
            // The dialect has no other resources, whatever else the server has.
            if !uri.starts_with("solana://") {
                return Err(errors::of_params(&format!(
                    "{} is not the URI of a resource here; resources/templates/list has their form",
                    mainstay_core::quoted(&uri)
                )));
            }
            Operation::ReadResource { uri }
        }
        // Every tool's name is a method; whether there is such a tool is for the registry to say.
        _ => Operation::CallMethod { name: method, args: Some(params) },
    })
}

/// The params of a method. Members it does not know are ignored, as the protocol says: a client may send `_meta`.
fn read<T: DeserializeOwned>(method: &str, params: Value) -> Result<T, ErrorResponse> {
    serde_json::from_value(params)
        .map_err(|error| errors::of_params(&format!("the params of {method} are not of its shape: {error}")))
}
