//! What the route table says about a route: its path, who may use it, and its OpenAPI operations. The type of the
//! handler is left open, so that the handlers can use this module.

use serde_json::{Value, json};

use super::body::JSON;

/// Who may use a route when authentication is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Callers with a valid token. The router adds the token check.
    Token,
    Public,
}

/// One method of a route, as OpenAPI describes it.
#[derive(Debug, Clone)]
pub struct Operation {
    /// In upper case.
    pub method: &'static str,
    /// The media type and an example of the request body, if there is one. Tests send the example.
    pub example: Option<(&'static str, &'static str)>,
    pub(super) description: Value,
}

impl Operation {
    pub(super) fn new(method: &'static str, tag: &str, summary: &str) -> Self {
        let description = json!({"tags": [tag], "summary": summary, "parameters": [], "responses": {}});
        Self { method, example: None, description }
    }

    pub(super) fn get(tag: &str, summary: &str) -> Self {
        Self::new("GET", tag, summary)
    }

    pub(super) fn describe(mut self, text: &str) -> Self {
        self.description["description"] = text.into();
        self
    }

    /// Adds parameters, by their names in the components.
    pub(super) fn parameters(mut self, names: &[&str]) -> Self {
        let references = names.iter().map(|name| json!({"$ref": format!("#/components/parameters/{name}")}));
        if let Some(all) = self.description["parameters"].as_array_mut() {
            all.extend(references);
        }
        self
    }

    /// The body of a request: the media type, the schema's name in the components, and an example.
    pub(super) fn accepts(mut self, media_type: &'static str, schema: &str, example: &'static str) -> Self {
        self.example = Some((media_type, example));
        self.also_accepts(media_type, schema)
    }

    pub(super) fn also_accepts(mut self, media_type: &str, schema: &str) -> Self {
        self.description["requestBody"]["required"] = true.into();
        self.description["requestBody"]["content"][media_type] = json!({ "schema": schema_reference(schema) });
        self
    }

    /// A named example of a JSON request.
    pub(super) fn shows(mut self, name: &str, summary: &str, value: &Value) -> Self {
        let content = &mut self.description["requestBody"]["content"][JSON];
        content["examples"][name] = json!({"summary": summary, "value": value});
        self
    }

    /// A response without a body, or with one that is not described.
    pub(super) fn responds(mut self, status: u16, description: &str) -> Self {
        self.description["responses"][status.to_string()] = json!({ "description": description });
        self
    }

    pub(super) fn responds_with(mut self, status: u16, media_type: &str, description: &str) -> Self {
        let response = &mut self.description["responses"][status.to_string()];
        response["description"] = description.into();
        response["content"][media_type] = json!({});
        self
    }

    /// A JSON response, with the schema's name in the components.
    pub(super) fn responds_json(mut self, status: u16, schema: &str, description: &str) -> Self {
        self = self.responds_with(status, JSON, description);
        self.description["responses"][status.to_string()]["content"][JSON] =
            json!({ "schema": schema_reference(schema) });
        self
    }

    /// JSON responses with the same schema, one for each kind of error.
    pub(super) fn errors(self, schema: &str, errors: &[(u16, &str)]) -> Self {
        errors
            .iter()
            .fold(self, |operation, (status, description)| operation.responds_json(*status, schema, description))
    }
}

fn schema_reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// One JSON-RPC message in, one out.
pub(super) fn message(tag: &str, summary: &str) -> Operation {
    Operation::new("POST", tag, summary)
        .accepts(JSON, "Request", r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
        .responds_json(200, "Response", "The response.")
        .responds(202, "Accepted. A notification has no response.")
}

/// A health check.
pub(super) fn health(tag: &str, schema: &str) -> Operation {
    Operation::get(tag, "Check health").responds_json(200, schema, "The server can serve calls.").responds_json(
        503,
        schema,
        "The store is not available.",
    )
}

/// A `GET` with one kind of response.
pub(super) fn document(summary: &str, media_type: &str) -> Operation {
    Operation::get("operation", summary).responds_with(200, media_type, "Success.")
}
