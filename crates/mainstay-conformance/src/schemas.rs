//! Fixtures that are about their input schema, so the schema is written by hand.

use std::borrow::Cow;

use mainstay_core::{Context, Effect, Reply, Result, Spec, Spelling, Tool};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::fixture;

/// A schema that uses the words of JSON Schema 2020-12 a careless server loses (SEP-1613, SEP-2106).
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DialectArgs {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    address: Option<Address>,
    #[serde(default)]
    phone: Option<String>,
    #[serde(default)]
    email: Option<String>,
}

#[derive(serde::Deserialize)]
struct Address {
    #[serde(default)]
    street: Option<String>,
    #[serde(default)]
    city: Option<String>,
}

impl JsonSchema for DialectArgs {
    fn schema_name() -> Cow<'static, str> {
        "DialectArgs".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "addressDef",
                    "type": "object",
                    "properties": {
                        "street": {"type": "string"},
                        "city": {"type": "string"},
                    },
                },
            },
            "properties": {
                "name": {"type": "string"},
                "address": {"$ref": "#/$defs/address"},
                "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                "phone": {"type": "string"},
                "email": {"type": "string"},
            },
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {
                "properties": {"contactMethod": {"const": "phone"}},
                "required": ["contactMethod"],
            },
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
            "additionalProperties": false,
        })
    }
}

pub(crate) struct Dialect;

impl Tool for Dialect {
    const SPEC: Spec = Spec {
        description: "Has an input schema that needs JSON Schema 2020-12.",
        spellings: &[Spelling { dialect: "mcp", name: "json_schema_2020_12_tool" }],
        ..Spec::new("schema", "dialect", Effect::Reads)
    };
    type Args = DialectArgs;
    type Output = Reply;

    async fn call(&self, args: DialectArgs, _context: &Context) -> Result<Reply> {
        let address = args.address.map(|address| [address.street, address.city].into_iter().flatten());
        let given = [args.name, args.phone, args.email].into_iter().flatten().chain(address.into_iter().flatten());
        Ok(Reply::text(format!("Received: {}", given.collect::<Vec<_>>().join(", "))))
    }
}

/// SEP-2243: the argument travels in the header `Mcp-Param-Value` as well.
#[derive(serde::Deserialize, JsonSchema)]
pub(crate) struct CustomHeaderArgs {
    #[schemars(extend("x-mcp-header" = "Value"))]
    value: String,
}

pub(crate) struct CustomHeader;

impl Tool for CustomHeader {
    const SPEC: Spec = fixture("custom_header", "Repeats an argument that a header repeats too.");
    type Args = CustomHeaderArgs;
    type Output = Reply;

    async fn call(&self, args: CustomHeaderArgs, _context: &Context) -> Result<Reply> {
        Ok(Reply::text(args.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainstay_core::{AnyTool, erase};
    use serde_json::{Value, json};
    use std::sync::Arc;

    fn schema(tool: &Arc<dyn AnyTool>) -> Value {
        Value::Object((*tool.info().input_schema).clone())
    }

    #[test]
    fn no_word_of_the_dialect_is_lost() {
        let listed = schema(&erase(Dialect));
        let written = DialectArgs::json_schema(&mut SchemaGenerator::default()).to_value();
        assert_eq!(listed, written);
    }

    #[test]
    fn the_dialect_is_enforced() {
        let tool = erase(Dialect);
        for good in [
            json!({"contactMethod": "phone", "phone": "1"}),
            json!({"email": "a@b.c", "address": {"street": "S", "city": "C"}}),
        ] {
            assert!(tool.check(&good).is_ok(), "{good}");
        }
        for bad in [
            json!({}),
            json!({"name": "A"}),
            json!({"contactMethod": "phone", "email": "a@b.c"}),
            json!({"email": "a@b.c", "surplus": 1}),
            json!({"email": "a@b.c", "address": {"street": 1}}),
        ] {
            assert!(tool.check(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_header_is_named_in_the_schema() {
        let listed = schema(&erase(CustomHeader));
        assert_eq!(listed["properties"]["value"], json!({"type": "string", "x-mcp-header": "Value"}));
        assert_eq!(listed["required"], json!(["value"]));
    }
}
