//! The manifest of a template, `manifest.json`: what it generates and which parameters it takes. Ours and those of users
//! have the same format.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::uri::{PART_RULE, TemplateUri, is_part};

/// As it is written in the file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    /// Display name, such as `Rust CLI Makefile`.
    pub(super) name: String,
    pub(super) description: String,
    /// Kind of file: the first part of the URI.
    pub(super) category: String,
    /// The second part of the URI.
    pub(super) toolchain: String,
    /// The third part of the URI.
    #[serde(default = "default_variant")]
    pub(super) variant: String,
    /// Path of the generated file in the project's directory. May contain parameters.
    pub(super) output: String,
    #[serde(default = "default_mime")]
    pub(super) mime: String,
    /// JSON Schema of the parameters: an object.
    #[serde(default)]
    pub(super) parameters: Map<String, Value>,
}

fn default_variant() -> String {
    "cli".to_owned()
}

fn default_mime() -> String {
    "text/plain".to_owned()
}

/// Types that a parameter may have: those that a template can print or ask for.
const TYPES: [&str; 5] = ["string", "boolean", "integer", "number", "array"];

impl Manifest {
    /// Parses and checks a manifest. The error is a sentence for its author.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut manifest: Self =
            serde_json::from_str(text).map_err(|error| format!("manifest.json is not valid: {error}"))?;
        for (name, part) in
            [("category", &manifest.category), ("toolchain", &manifest.toolchain), ("variant", &manifest.variant)]
        {
            if !is_part(part) {
                return Err(format!("{name} is {part:?}, and has to be a name of {PART_RULE}"));
            }
        }
        for (name, value) in
            [("name", &manifest.name), ("description", &manifest.description), ("output", &manifest.output)]
        {
            if value.trim().is_empty() || value.contains(char::is_control) {
                return Err(format!("{name} has to be one line of text"));
            }
        }
        manifest.close_parameters()?;
        Ok(manifest)
    }

    pub(super) fn uri(&self) -> TemplateUri {
        let [category, toolchain, variant] = [&self.category, &self.toolchain, &self.variant].map(Clone::clone);
        TemplateUri { category, toolchain, variant }
    }

    /// The declared parameters, with their schemas.
    pub(super) fn properties(&self) -> impl Iterator<Item = (&str, &Value)> {
        let properties = self.parameters.get("properties").and_then(Value::as_object);
        properties.into_iter().flatten().map(|(name, schema)| (name.as_str(), schema))
    }

    pub(super) fn is_required(&self, parameter: &str) -> bool {
        let required = self.parameters.get("required").and_then(Value::as_array);
        required.is_some_and(|names| names.iter().any(|name| name == parameter))
    }

    /// Fills in what every schema of parameters has in common: it is an object that takes no other members.
    fn close_parameters(&mut self) -> Result<(), String> {
        let schema = &mut self.parameters;
        if schema.get("type").is_some_and(|kind| kind != "object") {
            return Err("parameters has to be the JSON Schema of an object".to_owned());
        }
        schema.insert("type".into(), "object".into());
        schema.entry("properties").or_insert_with(|| Map::new().into());
        schema.insert("additionalProperties".into(), false.into());
        if !schema["properties"].is_object() {
            return Err("parameters.properties has to be an object".to_owned());
        }
        for (name, property) in self.properties() {
            let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            if !is_name {
                return Err(format!("{name:?} cannot be a parameter: use letters, digits and _"));
            }
            if !property["type"].as_str().is_some_and(|kind| TYPES.contains(&kind)) {
                return Err(format!("the parameter {name:?} needs a type: {}", TYPES.join(", ")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(change: impl FnOnce(&mut Value)) -> Result<Manifest, String> {
        let mut manifest = json!({"name": "A", "description": "B", "category": "c", "toolchain": "rust",
            "output": "d", "parameters": {"properties": {"x": {"type": "string"}}}});
        change(&mut manifest);
        Manifest::parse(&manifest.to_string())
    }

    #[test]
    fn what_is_left_out_has_a_default() {
        let manifest = parsed(|_| {}).unwrap();
        assert_eq!(manifest.uri().to_string(), "template://c/rust/cli");
        assert_eq!(
            (manifest.mime.as_str(), &manifest.parameters["additionalProperties"]),
            ("text/plain", &json!(false))
        );
    }

    #[test]
    fn a_wrong_manifest_is_refused_by_what_is_wrong() {
        type Change = fn(&mut Value);
        let wrong: [(Change, &str); 7] = [
            (|m| m["category"] = json!("../x"), "category"),
            (|m| m["toolchain"] = json!(""), "toolchain"),
            (|m| m["name"] = json!("a\nb"), "name"),
            (|m| m["parametrs"] = json!({}), "parametrs"),
            (|m| m["parameters"]["type"] = json!("array"), "object"),
            (|m| m["parameters"]["properties"]["x"] = json!({}), "\"x\""),
            (|m| m["parameters"]["properties"]["a b"] = json!({"type": "string"}), "\"a b\""),
        ];
        for (change, says) in wrong {
            let refused = parsed(change).unwrap_err();
            assert!(refused.contains(says), "{refused}");
        }
        assert!(Manifest::parse("{").unwrap_err().contains("not valid"));
    }
}
