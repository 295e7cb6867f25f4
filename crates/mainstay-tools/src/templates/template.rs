//! One template: its manifest, its text, and what it makes of parameters.

use mainstay_core::schema::{self, Validator};
use mainstay_core::{Error, Problem, Reason, Result, hex, quoted};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::language;
use super::manifest::Manifest;
use super::uri::TemplateUri;

/// The parameter that every template takes, whether its manifest declares it or not: the directory of the project, which
/// the path of the generated file begins with.
pub(super) const PROJECT_NAME: &str = "project_name";

/// Names that need no quoting in a Makefile, a shell or a path.
const PROJECT_NAME_PATTERN: &str = "^[A-Za-z0-9][A-Za-z0-9._-]*$";

/// The most bytes of all parameters together, as JSON. With the steps of one rendering it bounds the time of one.
const MAX_PARAMETERS: usize = 64 * 1024;

/// A template that has been checked.
pub(super) struct Template {
    pub(super) uri: TemplateUri,
    pub(super) manifest: Manifest,
    pub(super) text: String,
    validator: Validator,
}

/// A generated file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Generated {
    /// Relative to the directory that contains the project.
    pub(super) filename: String,
    pub(super) content: String,
    /// SHA-256 of the content, in hex.
    pub(super) checksum: String,
}

impl Template {
    /// Checks a manifest and its text, so that what is wrong with a template is found when it is loaded and not when it
    /// is used. The error is a sentence for its author.
    pub(super) fn load(manifest: &str, text: &str) -> Result<Self, String> {
        let manifest = Manifest::parse(manifest)?;
        let mut schema = manifest.parameters.clone();
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.entry(PROJECT_NAME).or_insert_with(project_name_schema);
        }
        let validator = Validator::new(&schema)
            .map_err(|error| format!("parameters is not a valid JSON Schema: {}", error.detail.unwrap_or_default()))?;
        check_defaults(&manifest)?;
        let names: Vec<&str> = manifest.properties().map(|(name, _)| name).chain([PROJECT_NAME]).collect();
        language::check(text, &names)?;
        language::check(&manifest.output, &names).map_err(|error| format!("output: {error}"))?;
        Ok(Self { uri: manifest.uri(), manifest, text: text.to_owned(), validator })
    }

    /// Whether a parameter of this name may be given.
    pub(super) fn takes(&self, parameter: &str) -> bool {
        parameter == PROJECT_NAME || self.manifest.properties().any(|(name, _)| name == parameter)
    }

    /// Everything that is wrong with these parameters.
    pub(super) fn problems(&self, parameters: &Map<String, Value>) -> Vec<Problem> {
        let parameters = without_nulls(parameters);
        let bytes = serde_json::to_string(&parameters).map_or(usize::MAX, |json| json.len());
        if bytes > MAX_PARAMETERS {
            let reason = format!("The parameters have {bytes} bytes; at most {MAX_PARAMETERS} are allowed.");
            return vec![Problem { path: String::new(), rule: "maxLength".into(), property: None, reason }];
        }
        let Err(error) = self.validator.check(&parameters.into()) else { return Vec::new() };
        let Some(Reason::Problems(problems)) = error.reason.map(|reason| *reason) else { return Vec::new() };
        problems.into_iter().map(|problem| self.explained(problem)).collect()
    }

    /// A pattern tells a program what is wrong; its parameter's description tells a reader. An unknown parameter is told
    /// with those there are.
    fn explained(&self, mut problem: Problem) -> Problem {
        let name = problem.path.split('/').nth(1).unwrap_or_default();
        let schema = self.manifest.properties().find(|(parameter, _)| *parameter == name).map(|(_, schema)| schema);
        if problem.rule == "pattern"
            && let Some(description) = schema.and_then(|schema| schema["description"].as_str())
        {
            problem.reason = format!("{} ({description})", problem.reason);
        }
        if problem.rule == "additionalProperties" {
            let known: Vec<&str> = self.manifest.properties().map(|(name, _)| name).collect();
            let known =
                if known.is_empty() { "It has none.".to_owned() } else { format!("It has: {}.", known.join(", ")) };
            let unknown = problem.property.as_deref().map(quoted).unwrap_or_default();
            problem.reason = format!("{unknown} is not a parameter of this template. {known}");
        }
        problem
    }

    /// Generates the file, or fails with all problems of the parameters at once.
    pub(super) fn generate(&self, parameters: &Map<String, Value>) -> Result<Generated> {
        let problems = self.problems(parameters);
        if !problems.is_empty() {
            return Err(parameter_error(&self.uri.to_string(), problems));
        }
        let values = self.with_defaults(parameters);
        let failed = |error: String| Error::invalid(format!("The template {} failed: {error}.", self.uri));
        let content = language::render(&self.text, &values).map_err(failed)?;
        let file = language::render(&self.manifest.output, &values).map_err(failed)?;
        let filename = match values.get(PROJECT_NAME).and_then(Value::as_str) {
            Some(project) => format!("{project}/{file}"),
            None => file,
        };
        check_filename(&filename).map_err(failed)?;
        let checksum = hex(&Sha256::digest(&content));
        Ok(Generated { filename, content, checksum })
    }

    /// The value of every parameter: as given, by default, or null (of a list: empty).
    fn with_defaults(&self, parameters: &Map<String, Value>) -> Map<String, Value> {
        let mut values = without_nulls(parameters);
        for (name, schema) in self.manifest.properties() {
            let default = || match schema.get("default") {
                Some(default) => default.clone(),
                None if schema["type"] == "array" => json!([]),
                None => Value::Null,
            };
            values.entry(name).or_insert_with(default);
        }
        values.entry(PROJECT_NAME).or_insert(Value::Null);
        values
    }
}

/// Null for an optional parameter means that it is left out; models send that.
fn without_nulls(parameters: &Map<String, Value>) -> Map<String, Value> {
    let mut given = parameters.clone();
    given.retain(|_, value| !value.is_null());
    schema_integers(given)
}

/// `50.0` for an integer is 50, as for the arguments of every tool.
fn schema_integers(parameters: Map<String, Value>) -> Map<String, Value> {
    let mut value = Value::Object(parameters);
    schema::spell_integers(&mut value);
    if let Value::Object(parameters) = value { parameters } else { Map::new() }
}

fn project_name_schema() -> Value {
    json!({"type": "string", "pattern": PROJECT_NAME_PATTERN, "maxLength": 100})
}

/// A default that its own schema does not allow would fail only for callers that leave the parameter out.
fn check_defaults(manifest: &Manifest) -> Result<(), String> {
    for (name, schema) in manifest.properties() {
        let (Some(default), Some(schema)) = (schema.get("default"), schema.as_object()) else { continue };
        let checked = Validator::new(schema).and_then(|validator| validator.check(default));
        checked.map_err(|error| format!("the default of {name:?} does not fit its schema: {}", error.public))?;
    }
    Ok(())
}

/// The error for parameters that a template does not accept.
pub(super) fn parameter_error(template: &str, problems: Vec<Problem>) -> Error {
    let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
    let public = match lines.as_slice() {
        [one] => format!("The parameters of {template} are not valid. {one}"),
        many => {
            format!("The parameters of {template} are not valid ({} problems).\n- {}", many.len(), many.join("\n- "))
        }
    };
    Error::invalid(public).with_reason(Reason::TemplateParameters(problems))
}

/// A path in the project's directory: the parameters in it must not lead out.
fn check_filename(filename: &str) -> Result<(), String> {
    let is_name = |name: &str| {
        !name.is_empty() && name != "." && name != ".." && name.len() <= 255 && !name.contains(['\\', ':'])
    };
    if filename.len() <= 1024 && filename.split('/').all(is_name) && !filename.contains(char::is_control) {
        return Ok(());
    }
    Err(format!("{} cannot be the path of a generated file", quoted(filename)))
}

#[cfg(test)]
mod tests {
    use mainstay_core::Kind;

    use super::*;

    fn template(output: &str, text: &str) -> Result<Template, String> {
        let manifest = json!({"name": "A", "description": "B", "category": "c", "toolchain": "t", "output": output,
            "parameters": {"required": ["must"], "properties": {
                "must": {"type": "string"},
                "list": {"type": "array", "items": {"type": "string"}},
                "count": {"type": "integer", "default": 3, "maximum": 9},
                "maybe": {"type": "string"}}}});
        Template::load(&manifest.to_string(), text)
    }

    fn generate(template: &Template, parameters: &Value) -> Result<Generated> {
        template.generate(parameters.as_object().unwrap())
    }

    #[test]
    fn defaults_are_applied_and_null_counts_as_left_out() {
        let text = "{{ must }} {{ count }} {{ list | join(\",\") }}{% if maybe %}!{% endif %}.\n";
        let template = template("a/{{ must }}.txt", text).unwrap();
        let made = generate(&template, &json!({"must": "m", "maybe": null, "count": null})).unwrap();
        assert_eq!((made.filename.as_str(), made.content.as_str()), ("a/m.txt", "m 3 .\n"));
        assert_eq!(made.checksum.len(), 64);
        let made =
            generate(&template, &json!({"must": "m", "project_name": "p", "count": 4.0, "list": ["x", "y"]})).unwrap();
        assert_eq!((made.filename.as_str(), made.content.as_str()), ("p/a/m.txt", "m 4 x,y.\n"));
    }

    #[test]
    fn every_problem_is_reported_at_once() {
        let template = template("a", "{{ must }}").unwrap();
        let wrong = json!({"list": [1, "x", 2], "count": 10, "surplus": 1, "project_name": "../x"});
        let error = generate(&template, &wrong).unwrap_err();
        let Reason::TemplateParameters(problems) = *error.reason.unwrap() else { panic!() };
        assert_eq!((error.kind, problems.len()), (Kind::Invalid, 6), "{problems:?}");
        for says in ["must", "/list/0", "/list/2", "/count", "\"surplus\" is not a parameter", "../x"] {
            assert!(error.public.contains(says), "{says}: {}", error.public);
        }
    }

    #[test]
    fn parameters_of_a_megabyte_are_refused_by_their_size() {
        let template = template("a", "{{ must }}").unwrap();
        let error = generate(&template, &json!({"must": "x".repeat(1_000_000)})).unwrap_err();
        assert!(matches!(error.reason.as_deref(), Some(Reason::TemplateParameters(_))));
        assert!(error.public.contains("1000011 bytes") && error.public.len() < 300, "{}", error.public);
    }

    #[test]
    fn the_path_of_a_file_cannot_lead_out_of_its_project() {
        for must in ["../x", "/etc/passwd", "..", "a/../../b", "a//b", "", "a\nb", "a\0b", "C:x", "a\\b"] {
            let template = template("{{ must }}", "x").unwrap();
            assert!(generate(&template, &json!({ "must": must })).is_err(), "{must:?}");
        }
    }

    #[test]
    fn a_template_that_cannot_work_is_refused_when_it_is_loaded() {
        assert!(template("a", "{{ mst }}").err().unwrap().contains("\"mst\""));
        assert!(template("{{ mst }}", "").err().unwrap().contains("output: "));
        let manifest = json!({"name": "A", "description": "B", "category": "c", "toolchain": "t", "output": "x",
            "parameters": {"properties": {"x": {"type": "integer", "default": "three"}}}});
        assert!(Template::load(&manifest.to_string(), "").err().unwrap().contains("default of \"x\""));
        let manifest = json!({"name": "A", "description": "B", "category": "c", "toolchain": "t", "output": "x",
            "parameters": {"properties": {"x": {"type": "string", "pattern": "("}}}});
        assert!(Template::load(&manifest.to_string(), "").err().unwrap().contains("JSON Schema"));
    }
}
