//! Fixtures that send one request to the client (elicitation, sampling), and the helpers that build such requests.
//!
//! An answer contains a form's fields, a sampling result as the client sent it (`role`, `content`, `model`), or a
//! roots result as the client sent it (`roots`).

use mainstay_core::{Answer, AnswerAction, Context, Question, Reply, Result, Spec, Tool};
use serde_json::{Value, json};

use crate::{NoArgs, fixture};

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct PromptArgs {
    /// The prompt to send to the model
    prompt: String,
}

pub(crate) struct Sampling;

impl Tool for Sampling {
    const SPEC: Spec = fixture("sampling", "Lets the client's model answer a prompt.");
    type Args = PromptArgs;
    type Output = Reply;

    async fn call(&self, args: PromptArgs, context: &Context) -> Result<Reply> {
        let answer = context.ask("sampling", sample(&args.prompt, 100)).await?;
        Ok(Reply::text(format!("LLM response: {}", sampled_text(&answer))))
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct MessageArgs {
    /// The message to show the user
    message: String,
}

pub(crate) struct Elicitation;

impl Tool for Elicitation {
    const SPEC: Spec = fixture("elicitation", "Asks the user for a name and an address.");
    type Args = MessageArgs;
    type Output = Reply;

    async fn call(&self, args: MessageArgs, context: &Context) -> Result<Reply> {
        let schema = json!({
            "type": "object",
            "properties": {
                "username": {"type": "string", "description": "User's response"},
                "email": {"type": "string", "description": "User's email address"},
            },
            "required": ["username", "email"],
        });
        let answer = context.ask("elicitation", Question::Form { message: args.message, schema }).await?;
        Ok(Reply::text(format!("User response: {}", told(&answer))))
    }
}

/// SEP-1034.
pub(crate) struct Defaults;

impl Tool for Defaults {
    const SPEC: Spec = fixture("elicitation_sep1034_defaults", "Asks with a default for every kind of field.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Reply> {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "User name", "default": "John Doe"},
                "age": {"type": "integer", "description": "User age", "default": 30},
                "score": {"type": "number", "description": "User score", "default": 95.5},
                "status": {
                    "type": "string",
                    "description": "User status",
                    "enum": ["active", "inactive", "pending"],
                    "default": "active",
                },
                "verified": {"type": "boolean", "description": "Verification status", "default": true},
            },
        });
        let message = "Please review and update the form fields with defaults".to_owned();
        let answer = context.ask("elicitation", Question::Form { message, schema }).await?;
        Ok(Reply::text(format!("Elicitation completed: {}", told(&answer))))
    }
}

/// SEP-1330.
pub(crate) struct Enums;

impl Tool for Enums {
    const SPEC: Spec = fixture("elicitation_sep1330_enums", "Asks with every kind of choice.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Reply> {
        let titled = |noun: &str| {
            json!([
                {"const": "value1", "title": format!("First {noun}")},
                {"const": "value2", "title": format!("Second {noun}")},
                {"const": "value3", "title": format!("Third {noun}")},
            ])
        };
        let options = ["option1", "option2", "option3"];
        let schema = json!({
            "type": "object",
            "properties": {
                "untitledSingle": {"type": "string", "enum": options},
                "titledSingle": {"type": "string", "oneOf": titled("Option")},
                "legacyEnum": {
                    "type": "string",
                    "enum": ["opt1", "opt2", "opt3"],
                    "enumNames": ["Option One", "Option Two", "Option Three"],
                },
                "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
                "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
            },
        });
        let message = "Please select options from the enum fields".to_owned();
        let answer = context.ask("elicitation", Question::Form { message, schema }).await?;
        Ok(Reply::text(format!("Elicitation completed: {}", told(&answer))))
    }
}

/// `server-stateless`: called by a client that declares no sampling, so asking it fails with the capability's name.
pub(crate) struct MissingCapability;

impl Tool for MissingCapability {
    const SPEC: Spec = fixture("missing_capability", "Cannot run without the client's sampling.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Reply> {
        let answer = context.ask("sampling", sample("Say that you are there", 10)).await?;
        Ok(Reply::text(sampled_text(&answer)))
    }
}

/// `server-stateless`: the question must come as a result, never as a request on the stream.
pub(crate) struct StreamingElicitation;

impl Tool for StreamingElicitation {
    const SPEC: Spec = fixture("streaming_elicitation", "Reports progress, then asks for a value.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Reply> {
        context.progress(1.0, Some(2.0), None).await;
        let answer = context.ask("value", form("Provide a value", "value", "string")).await?;
        Ok(Reply::text(format!("Elicitation completed: {}", told(&answer))))
    }
}

/// A form with one field that must be filled in.
pub(crate) fn form(message: &str, field: &str, kind: &str) -> Question {
    Question::Form {
        message: message.to_owned(),
        schema: json!({"type": "object", "properties": {field: {"type": kind}}, "required": [field]}),
    }
}

pub(crate) fn sample(prompt: &str, max_tokens: u32) -> Question {
    Question::Sample(json!({
        "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}],
        "maxTokens": max_tokens,
    }))
}

/// The first text of a sampling result, whose content is one block or a list of blocks.
pub(crate) fn sampled_text(answer: &Answer) -> String {
    let content = &answer.value["content"];
    let block = content.get(0).unwrap_or(content);
    block["text"].as_str().unwrap_or("(no text)").to_owned()
}

/// One field of a form's answer.
pub(crate) fn field(answer: &Answer, name: &str) -> String {
    match &answer.value[name] {
        Value::String(text) => text.clone(),
        Value::Null => "(not given)".to_owned(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => other.to_string(),
    }
}

pub(crate) fn action(answer: &Answer) -> &'static str {
    match answer.action {
        AnswerAction::Accept => "accept",
        AnswerAction::Decline => "decline",
        AnswerAction::Cancel => "cancel",
    }
}

fn told(answer: &Answer) -> String {
    format!("action={}, content={}", action(answer), answer.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ScriptedClient;
    use mainstay_core::{Kind, Reason};

    #[tokio::test]
    async fn sampling_reads_one_block_or_a_list_of_them() {
        for content in [json!({"type": "text", "text": "Hi"}), json!([{"type": "text", "text": "Hi"}])] {
            let script = ScriptedClient::new().answers("sampling", json!({"role": "assistant", "content": content}));
            let reply = Sampling.call(PromptArgs { prompt: "?".into() }, &script.context()).await.unwrap();
            assert_eq!(reply, Reply::text("LLM response: Hi"));
        }
    }

    #[tokio::test]
    async fn a_question_to_a_client_that_cannot_answer_names_the_capability() {
        let script = ScriptedClient::new().without("sampling");
        let error = MissingCapability.call(NoArgs {}, &script.context()).await.unwrap_err();
        assert_eq!(error.kind, Kind::Unsupported);
        assert_eq!(*error.reason.unwrap(), Reason::MissingCapabilities(vec!["sampling".into()]));
    }
}
