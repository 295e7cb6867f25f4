//! One invocation of a tool, resource or prompt: the answers the client sent, the engine's call, and the questions it
//! left open. The three methods of the protocol that invoke something share it.

use std::sync::Arc;

use mainstay_core::{Error, Outcome, Target};
use rmcp::model::{CallToolRequestParams, CallToolResponse, CreateTaskResult, ErrorData, InputRequiredResult};
use serde_json::Value;

use super::request::{Invocation, RequestContext};
use super::request_state::StateBinding;
use super::shared::Shared;
use super::{encode, tasks};

/// How an invocation ended. Outcomes and errors come with the request id under which the log and the audit know them.
pub(super) enum CallResult {
    Outcome(Outcome, Arc<str>),
    Error(Error, Arc<str>),
    /// The call has questions; the client calls again with the answers.
    InputRequired(InputRequiredResult),
    /// The call goes on as a task.
    Task(CreateTaskResult),
}

/// Makes the engine's call for a request.
pub(super) async fn invoke(
    shared: &Arc<Shared>,
    context: RequestContext,
    invocation: Invocation,
) -> Result<CallResult, ErrorData> {
    // Checked first: a client that cannot follow a task must not lose its one-time request state to an error.
    let may_become_task = tasks::may_become_task(shared, &context, &invocation.target)?;
    let connection = context.connection.clone();
    let target = invocation.target.label().to_owned();
    let (method, args) = (invocation.method, &invocation.args);
    let binding = StateBinding { caller: &connection.caller, method, target: &target, args };
    let (engine, states) = (&shared.engine, &shared.request_states);
    let answers = states.open(engine, &binding, invocation.state.as_deref(), invocation.responses).await;
    let answers = answers.map_err(encode::protocol_error)?;
    let call = context.call(invocation.target, answers.clone());
    let id = call.request_id.clone();
    let result = if may_become_task {
        match tasks::run(shared, call, context).await {
            tasks::TaskOrResult::Finished(result) => result,
            tasks::TaskOrResult::AsTask(task) => return Ok(CallResult::Task(task)),
        }
    } else {
        engine.call(call, &connection.lane).await
    };
    match result {
        Ok(outcome) => Ok(CallResult::Outcome(outcome, id)),
        Err(mut error) => {
            // HTTP answers a missing scope with a status and a challenge of its own.
            connection.missing_scope.note(&error);
            match error.take_questions() {
                Some(questions) => {
                    let input_required = states.ask(engine, &binding, questions, &answers).await;
                    Ok(CallResult::InputRequired(input_required.map_err(encode::protocol_error)?))
                }
                None => Ok(CallResult::Error(error, id)),
            }
        }
    }
}

/// `tools/call`, from its params to the protocol's result.
pub(super) async fn call_tool(
    shared: &Arc<Shared>,
    context: RequestContext,
    request: CallToolRequestParams,
) -> Result<CallToolResponse, ErrorData> {
    let era = context.era;
    let args = request.arguments.map_or(Value::Null, Value::Object);
    let invocation = Invocation {
        method: "tools/call",
        target: Target::Tool { name: request.name.into_owned(), args: args.clone() },
        args,
        state: request.request_state,
        responses: request.input_responses,
    };
    // Errors of the tool are results for the model; only errors of the request are errors of the protocol.
    let (result, id) = match invoke(shared, context, invocation).await? {
        CallResult::Outcome(outcome, id) => (encode::tool_result(outcome)?, id),
        CallResult::Error(error, id) => (encode::tool_error(error, era)?, id),
        CallResult::InputRequired(questions) => return Ok(CallToolResponse::InputRequired(questions)),
        CallResult::Task(task) => return Ok(CallToolResponse::Task(task)),
    };
    Ok(CallToolResponse::Complete(encode::with_request_id(shared, era, result, &id)))
}
