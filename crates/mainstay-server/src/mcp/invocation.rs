//! One invocation of a tool, resource or prompt: the answers the client sent, the engine's call, and the questions it
//! left open. The three methods of the protocol that invoke something share it.

use std::sync::Arc;

use mainstay_core::{Call, Error, Result};
use rmcp::model::{CallToolRequestParams, CallToolResponse, ErrorData, InputRequiredResult, InputResponses};
use serde_json::{Value, json};

use super::encode;
use super::request::RequestContext;
use super::shared::Shared;
use super::tasks::{self, ReplyOrTask};

/// How an invocation ended. Outputs and errors come with the request id under which the log and the audit know them.
pub(super) enum CallResult<T> {
    Output(T, Arc<str>),
    Error(Error, Arc<str>),
    /// The call has questions; the client calls again with the answers.
    InputRequired(InputRequiredResult),
}

/// Makes the engine's call for a request: `call` is the method of the engine. `request` is the method, the target and the
/// arguments; `state` and `responses` are what the client adds in the second round of a call that had questions. The state
/// is bound to the caller and to the request, so it is of no use for any other.
pub(super) async fn invoke<T, F: Future<Output = Result<T>>>(
    shared: &Arc<Shared>,
    context: &RequestContext,
    request: Value,
    state: Option<String>,
    responses: Option<InputResponses>,
    call: impl FnOnce(Call) -> F,
) -> Result<CallResult<T>, ErrorData> {
    let connection = &context.connection;
    let binding = json!([connection.caller.principal.as_str(), request]).to_string().into_bytes();
    let (engine, states) = (&shared.engine, &shared.request_states);
    // Opening a state uses it up, even if the call fails afterwards: the client then starts again without one.
    let answers = states.open(engine, &binding, state.as_deref(), responses).await;
    let answers = answers.map_err(encode::protocol_error)?;
    let prepared = context.call(answers.clone());
    let id = prepared.request_id.clone();
    match call(prepared).await {
        Ok(output) => Ok(CallResult::Output(output, id)),
        Err(mut error) => {
            // HTTP needs the scope for its challenge, and the SDK does not carry it there.
            connection.missing_scope.note(&error);
            match error.take_questions() {
                Some(questions) => {
                    let input_required = states.ask(engine, &binding, questions, answers).await;
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
    let name = request.name.into_owned();
    let args = request.arguments.map_or(Value::Null, Value::Object);
    // First, because it can fail: a tool that runs only as a task needs a client that supports them.
    let may_become_task = tasks::may_become_task(shared, &context, &name)?;
    let (state, responses) = (request.request_state, request.input_responses);
    let request = json!(["tools/call", name, args]);
    let call = |call: Call| async {
        if may_become_task {
            return tasks::run(shared, name, args, call, &context).await;
        }
        let reply = shared.engine.call_tool(&name, args, call, &context.connection.lane).await;
        reply.map(ReplyOrTask::Reply)
    };
    // Errors of the tool are results for the model; only errors of the request are errors of the protocol.
    let (result, id) = match invoke(shared, &context, request, state, responses, call).await? {
        CallResult::Output(ReplyOrTask::Reply(reply), id) => (encode::reply(reply), id),
        CallResult::Output(ReplyOrTask::Task(task), _) => return Ok(CallToolResponse::Task(task)),
        CallResult::Error(error, id) => (encode::tool_error(error, era)?, id),
        CallResult::InputRequired(questions) => return Ok(CallToolResponse::InputRequired(questions)),
    };
    Ok(CallToolResponse::Complete(encode::with_request_id(shared, era, result, &id)))
}
