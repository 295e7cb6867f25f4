//! One invocation of a tool, resource or prompt: the answers the client sent, the engine's call, and the questions it
//! left open. The three methods of the protocol that invoke something share it.

use std::sync::Arc;

use mainstay_core::{Call, Error, Reply, Result};
use rmcp::model::{CallToolRequestParams, CallToolResponse, CreateTaskResult, ErrorData, InputRequiredResult};
use serde_json::Value;

use super::request::{Invocation, RequestContext};
use super::request_state::StateBinding;
use super::shared::Shared;
use super::{encode, tasks};

/// How an invocation ended. Outputs and errors come with the request id under which the log and the audit know them.
pub(super) enum CallResult<T> {
    Output(T, Arc<str>),
    Error(Error, Arc<str>),
    /// The call has questions; the client calls again with the answers.
    InputRequired(InputRequiredResult),
}

/// Makes the engine's call for a request: `call` is the method of the engine.
pub(super) async fn invoke<T, F: Future<Output = Result<T>>>(
    shared: &Arc<Shared>,
    context: &RequestContext,
    invocation: Invocation,
    call: impl FnOnce(Call) -> F,
) -> Result<CallResult<T>, ErrorData> {
    let connection = &context.connection;
    let (method, target, args) = (invocation.method, &invocation.target, &invocation.args);
    let binding = StateBinding { caller: &connection.caller, method, target, args };
    let (engine, states) = (&shared.engine, &shared.request_states);
    let answers = states.open(engine, &binding, invocation.state.as_deref(), invocation.responses).await;
    let answers = answers.map_err(encode::protocol_error)?;
    let prepared = context.call(answers.clone());
    let id = prepared.request_id.clone();
    match call(prepared).await {
        Ok(output) => Ok(CallResult::Output(output, id)),
        Err(mut error) => {
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

/// What a call of a tool that may become a task gives.
enum ReplyOrTask {
    Reply(Reply),
    /// The call goes on as a task.
    Task(CreateTaskResult),
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
    let may_become_task = tasks::may_become_task(shared, &context, &name)?;
    let invocation = Invocation {
        method: "tools/call",
        target: name.clone(),
        args: args.clone(),
        state: request.request_state,
        responses: request.input_responses,
    };
    let call = |call: Call| async {
        if may_become_task {
            return match tasks::run(shared, name, args, call, &context).await {
                tasks::TaskOrResult::Finished(result) => result.map(ReplyOrTask::Reply),
                tasks::TaskOrResult::AsTask(task) => Ok(ReplyOrTask::Task(task)),
            };
        }
        let reply = shared.engine.call_tool(&name, args, call, &context.connection.lane).await;
        reply.map(ReplyOrTask::Reply)
    };
    // Errors of the tool are results for the model; only errors of the request are errors of the protocol.
    let (result, id) = match invoke(shared, &context, invocation, call).await? {
        CallResult::Output(ReplyOrTask::Reply(reply), id) => (encode::reply(reply), id),
        CallResult::Output(ReplyOrTask::Task(task), _) => return Ok(CallToolResponse::Task(task)),
        CallResult::Error(error, id) => (encode::tool_error(error, era)?, id),
        CallResult::InputRequired(questions) => return Ok(CallToolResponse::InputRequired(questions)),
    };
    Ok(CallToolResponse::Complete(encode::with_request_id(shared, era, result, &id)))
}
