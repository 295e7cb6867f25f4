//! Fixtures that are answered in several rounds (SEP-2322). Each is straight-line code: where an answer is missing,
//! `ask` returns an error that ends the call, and the next round runs it again from its start.

use mainstay_core::{Context, Kind, Question, Reply, Result, Spec, Tool};
use serde_json::json;

use crate::client_requests::{field, form, sample, sampled_text};
use crate::{NoArgs, fixture};

pub(crate) struct Elicitation;

impl Tool for Elicitation {
    const SPEC: Spec = fixture("input_required_result_elicitation", "Asks for a name, then greets.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Reply> {
        let answer = context.ask("user_name", form("What is your name?", "name", "string")).await?;
        Ok(Reply::text(format!("Hello, {}!", field(&answer, "name"))))
    }
}

pub(crate) struct Sampling;

impl Tool for Sampling {
    const SPEC: Spec = fixture("input_required_result_sampling", "Lets the client's model name a capital.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Reply> {
        let answer = context.ask("capital_question", sample("What is the capital of France?", 100)).await?;
        Ok(Reply::text(format!("The model said: {}", sampled_text(&answer))))
    }
}

pub(crate) struct ListRoots;

impl Tool for ListRoots {
    const SPEC: Spec = fixture("input_required_result_list_roots", "Asks which directories the client works in.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Reply> {
        let answer = context.ask("client_roots", Question::Roots).await?;
        let roots = answer.value["roots"].as_array().map(Vec::as_slice).unwrap_or_default();
        let uris: Vec<&str> = roots.iter().filter_map(|root| root["uri"].as_str()).collect();
        Ok(Reply::text(format!("The client works in: {}", uris.join(", "))))
    }
}

pub(crate) struct RequestState;

impl Tool for RequestState {
    const SPEC: Spec = fixture("input_required_result_request_state", "Finds again what it left when it asked.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Reply> {
        confirm_with_state(context).await
    }
}

/// The same conversation under the name of the scenario that bends the state on its way back.
pub(crate) struct TamperedState;

impl Tool for TamperedState {
    const SPEC: Spec = fixture("input_required_result_tampered_state", "Is never run on a state somebody has bent.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Reply> {
        confirm_with_state(context).await
    }
}

async fn confirm_with_state(context: &Context) -> Result<Reply> {
    let state = json!({"stage": "confirm"});
    let question = form("Please confirm", "ok", "boolean");
    context.ask_all(vec![("confirm".to_owned(), question)], state.clone()).await?;
    // A client that was asked while the call waited has made no second call to bring a state with.
    let found = if context.answers.state == state { "state-ok" } else { "no state came back" };
    Ok(Reply::text(format!("Confirmed: {found}")))
}

pub(crate) struct MultipleInputs;

impl Tool for MultipleInputs {
    const SPEC: Spec = fixture("input_required_result_multiple_inputs", "Asks everything there is to ask at once.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Reply> {
        let questions = vec![
            ("user_name".to_owned(), form("What is your name?", "name", "string")),
            ("greeting".to_owned(), sample("Generate a greeting", 50)),
            ("client_roots".to_owned(), Question::Roots),
        ];
        let answers = context.ask_all(questions, json!({"stage": "gather"})).await?;
        Ok(Reply::text(format!("{} answers were received.", answers.len())))
    }
}

pub(crate) struct MultiRound;

impl Tool for MultiRound {
    const SPEC: Spec = fixture("input_required_result_multi_round", "Asks for a name, and then for a color.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Reply> {
        let name = context.ask("step1", form("Step 1: What is your name?", "name", "string")).await?;
        let color = context.ask("step2", form("Step 2: What is your favorite color?", "color", "string")).await?;
        Ok(Reply::text(format!("{} likes {}.", field(&name, "name"), field(&color, "color"))))
    }
}

pub(crate) struct Capabilities;

impl Tool for Capabilities {
    const SPEC: Spec = fixture("input_required_result_capabilities", "Asks only what the client can answer.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Reply> {
        let wishes = [
            ("user_name", form("What is your name?", "name", "string")),
            ("greeting", sample("Generate a greeting", 50)),
            ("client_roots", Question::Roots),
        ];
        let mut heard = Vec::new();
        for (key, question) in wishes {
            match context.ask(key, question).await {
                Ok(_) => heard.push(key),
                Err(error) if error.kind == Kind::Unsupported => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Reply::text(format!("The client answered: {}", heard.join(", "))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ScriptedClient;

    /// The keys a call left open.
    async fn open<T: Tool<Args = NoArgs>>(tool: T, script: ScriptedClient) -> Vec<String> {
        let Err(mut error) = tool.call(NoArgs {}, &script.context()).await else { return Vec::new() };
        assert_eq!(error.kind, Kind::InputRequired, "{error}");
        error.take_questions().unwrap().questions.into_iter().map(|(key, _)| key).collect()
    }

    #[tokio::test]
    async fn each_round_asks_the_next_question() {
        let name = json!({"name": "Alice"});
        assert_eq!(open(MultiRound, ScriptedClient::new()).await, ["step1"]);
        assert_eq!(open(MultiRound, ScriptedClient::new().given("step1", name.clone())).await, ["step2"]);
        let both = ScriptedClient::new().given("step1", name).given("step2", json!({"color": "blue"}));
        assert!(open(MultiRound, both).await.is_empty());
    }

    #[tokio::test]
    async fn only_missing_answers_are_asked_for_again() {
        let script = ScriptedClient::new().given("greeting", json!({"content": {"type": "text", "text": "Hello"}}));
        assert_eq!(open(MultipleInputs, script).await, ["user_name", "client_roots"]);
    }

    #[tokio::test]
    async fn a_client_is_asked_only_what_it_can_answer() {
        let sampler = ScriptedClient::new().without("elicitation").without("roots");
        assert_eq!(open(Capabilities, sampler).await, ["greeting"]);
    }

    #[tokio::test]
    async fn the_state_comes_back_with_the_answer() {
        let script = ScriptedClient::new().given("confirm", json!({"ok": true})).state(json!({"stage": "confirm"}));
        let reply = RequestState.call(NoArgs {}, &script.context()).await.unwrap();
        assert_eq!(reply, Reply::text("Confirmed: state-ok"));
    }
}
