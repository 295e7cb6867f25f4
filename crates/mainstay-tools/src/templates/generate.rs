//! `templates_generate`: one file from one template.

use mainstay_core::{Context, Result, Spec, Spelling, Tool, WithText};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{DIALECT, TemplateTools, spec};

pub(super) struct Generate(pub(super) TemplateTools);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Template URI, such as template://makefile/rust/cli.
    resource_uri: String,
    /// Template parameters, such as {"project_name": "demo"}.
    #[serde(default)]
    parameters: Map<String, Value>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    content: String,
    /// Path of the file.
    filename: String,
    /// SHA-256 of the content.
    checksum: String,
    toolchain: String,
}

impl Tool for Generate {
    const SPEC: Spec = Spec {
        title: "Generate from template",
        description: "Generates the text of one file from a template, and writes nothing. For the files of a whole \
                      project, and to write them, use templates_scaffold.",
        spellings: &[Spelling { dialect: DIALECT, name: "generate_template" }],
        ..spec("generate")
    };
    type Args = Args;
    /// The text alone is the file; dialects that return plain objects return the value.
    type Output = WithText<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<WithText<Output>> {
        let template = self.0.catalogue.find(&args.resource_uri, &context.cancel).await?;
        let made = template.generate(&args.parameters)?;
        let text = made.content.clone();
        let toolchain = template.uri.toolchain.clone();
        let value = Output { content: made.content, filename: made.filename, checksum: made.checksum, toolchain };
        Ok(WithText { value, text })
    }
}
