//! `templates_validate`: the problems of parameters, without generating anything.

use mainstay_core::{Context, Problem, Result, Spec, Spelling, Tool, WithText};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{DIALECT, TemplateTools, spec};

pub(super) struct Validate(pub(super) TemplateTools);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Template URI, such as template://makefile/rust/cli.
    resource_uri: String,
    /// Parameters to check.
    #[serde(default)]
    parameters: Map<String, Value>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    valid: bool,
    /// Every problem, as a sentence.
    errors: Vec<String>,
}

impl Tool for Validate {
    const SPEC: Spec = Spec {
        title: "Validate template parameters",
        description: "Checks parameters of a template and lists everything that is wrong with them, without generating. \
                      templates_generate checks them as well.",
        spellings: &[Spelling { dialect: DIALECT, name: "validate_template" }],
        ..spec("validate")
    };
    type Args = Args;
    type Output = WithText<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<WithText<Output>> {
        let template = self.0.catalogue.find(&args.resource_uri, &context.cancel).await?;
        let errors: Vec<String> = template.problems(&args.parameters).iter().map(Problem::to_string).collect();
        let text = if errors.is_empty() { "The parameters are valid.".to_owned() } else { errors.join("\n") };
        Ok(WithText { value: Output { valid: errors.is_empty(), errors }, text })
    }
}
