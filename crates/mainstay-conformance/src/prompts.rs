//! The suite's prompts.

use std::collections::BTreeMap;

use mainstay_core::{
    Block, BoxFuture, Context, Prompt, PromptArgument, PromptInfo, PromptMessage, PromptReply, Result,
};

use crate::client_requests::{field, form};
use crate::content::{PNG, embedded};

type Arguments = BTreeMap<String, String>;

fn info(name: &str, description: &str, arguments: &[(&str, &str)]) -> PromptInfo {
    let required = |(name, description): &(&str, &str)| PromptArgument {
        name: (*name).to_owned(),
        description: (*description).to_owned(),
        required: true,
    };
    PromptInfo {
        name: name.to_owned(),
        description: description.to_owned(),
        arguments: arguments.iter().map(required).collect(),
        ..PromptInfo::default()
    }
}

fn reply(blocks: Vec<Block>) -> PromptReply {
    PromptReply { description: None, messages: blocks.into_iter().map(PromptMessage::user).collect() }
}

/// A prompt that waits for nothing.
fn at_once<'a>(blocks: Vec<Block>) -> BoxFuture<'a, Result<PromptReply>> {
    Box::pin(std::future::ready(Ok(reply(blocks))))
}

/// The pipeline has checked that required arguments are present.
fn argument<'a>(arguments: &'a Arguments, name: &str) -> &'a str {
    arguments.get(name).map(String::as_str).unwrap_or_default()
}

pub(crate) struct Simple;

impl Prompt for Simple {
    fn info(&self) -> PromptInfo {
        info("test_simple_prompt", "A prompt without arguments", &[])
    }

    fn render<'a>(&'a self, _: &'a Arguments, _: &'a Context) -> BoxFuture<'a, Result<PromptReply>> {
        at_once(vec![Block::text("This is a simple prompt for testing.")])
    }
}

pub(crate) struct WithArguments;

impl Prompt for WithArguments {
    fn info(&self) -> PromptInfo {
        let arguments = [("arg1", "First test argument"), ("arg2", "Second test argument")];
        info("test_prompt_with_arguments", "A prompt with two arguments", &arguments)
    }

    fn render<'a>(&'a self, arguments: &'a Arguments, _: &'a Context) -> BoxFuture<'a, Result<PromptReply>> {
        let (arg1, arg2) = (argument(arguments, "arg1"), argument(arguments, "arg2"));
        at_once(vec![Block::text(format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"))])
    }

    fn complete(&self, _argument: &str, typed: &str) -> Vec<String> {
        let words = ["paris", "park", "party", "testValue1", "testValue2"];
        words.into_iter().filter(|word| word.starts_with(typed)).map(str::to_owned).collect()
    }
}

pub(crate) struct WithEmbeddedResource;

impl Prompt for WithEmbeddedResource {
    fn info(&self) -> PromptInfo {
        let arguments = [("resourceUri", "URI of the resource to embed")];
        info("test_prompt_with_embedded_resource", "A prompt that carries a resource", &arguments)
    }

    fn render<'a>(&'a self, arguments: &'a Arguments, _: &'a Context) -> BoxFuture<'a, Result<PromptReply>> {
        let uri = argument(arguments, "resourceUri");
        at_once(vec![
            embedded(uri, "text/plain", "Embedded resource content for testing."),
            Block::text("Please process the embedded resource above."),
        ])
    }
}

pub(crate) struct WithImage;

impl Prompt for WithImage {
    fn info(&self) -> PromptInfo {
        info("test_prompt_with_image", "A prompt that carries an image", &[])
    }

    fn render<'a>(&'a self, _: &'a Arguments, _: &'a Context) -> BoxFuture<'a, Result<PromptReply>> {
        at_once(vec![Block::image(PNG.to_vec(), "image/png"), Block::text("Please analyze the image above.")])
    }
}

/// `input-required-result-non-tool-request`: prompts ask too.
pub(crate) struct InputRequired;

impl Prompt for InputRequired {
    fn info(&self) -> PromptInfo {
        info("test_input_required_result_prompt", "A prompt that asks what it is about", &[])
    }

    fn render<'a>(&'a self, _: &'a Arguments, context: &'a Context) -> BoxFuture<'a, Result<PromptReply>> {
        Box::pin(async move {
            let question = form("What context should the prompt use?", "context", "string");
            let answer = context.ask("user_context", question).await?;
            Ok(reply(vec![Block::text(format!("Use this context: {}", field(&answer, "context")))]))
        })
    }
}
