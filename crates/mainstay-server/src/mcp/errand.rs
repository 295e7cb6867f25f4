//! A request that goes down the road, and what comes back up: the same however the request arrived.

use std::sync::Arc;

use mainstay_core::{Answers, Call, CancellationToken, Error, Outcome, Pace, Sink, Target};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, CreateTaskResult, ErrorData,
    InputRequiredResult, InputResponses, MetaObject,
};
use serde_json::Value;

use crate::connection::Connection;

use super::sink::Era;
use super::{Shared, answers, encode, tasks};

/// Who comes, and how they can be reached while they wait.
pub(crate) struct Visit {
    pub(crate) connection: Connection,
    pub(crate) session: Option<Arc<str>>,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) sink: Arc<dyn Sink>,
    pub(crate) cancel: CancellationToken,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) era: Era,
}

/// What they come for. It may ask before it answers.
pub(crate) struct Errand {
    pub(crate) method: &'static str,
    pub(crate) target: Target,
    /// What an answer is bound to besides the target.
    pub(crate) args: Value,
    pub(crate) state: Option<String>,
    pub(crate) responses: Option<InputResponses>,
}

pub(crate) enum Arrival {
    Outcome(Outcome, Arc<str>),
    Error(Error, Arc<str>),
    Asks(InputRequiredResult),
    Task(CreateTaskResult),
}

impl Visit {
    pub(crate) fn call(&self, target: Target, answers: Answers) -> Call {
        let mut call = Call::new(target, self.connection.caller.clone());
        call.session.clone_from(&self.session);
        call.idempotency_key.clone_from(&self.idempotency_key);
        call.answers = answers;
        call.sink = self.sink.clone();
        call.cancel = self.cancel.clone();
        call
    }

    /// Whether a call of this tool may be answered with a task: it takes long, and the client can follow one.
    fn may_become_task(&self, shared: &Shared, target: &Target) -> Result<bool, ErrorData> {
        let Target::Tool { name, .. } = target else { return Ok(false) };
        let pace = shared.engine.registry().tool(name).map_or(Pace::Quick, |tool| tool.info().pace);
        let able = self.capabilities.supports_tasks();
        match pace {
            Pace::Instant | Pace::Quick => Ok(false),
            Pace::Task if !able => {
                let needed = ClientCapabilities::builder().enable_tasks().build();
                Err(ErrorData::missing_required_client_capability(needed))
            }
            Pace::Long | Pace::Task => Ok(able),
        }
    }
}

/// Takes a call down the road, with the answers the client brought and the questions it leaves open.
pub(crate) async fn travel(shared: &Arc<Shared>, visit: Visit, errand: Errand) -> Result<Arrival, ErrorData> {
    let may_become_task = visit.may_become_task(shared, &errand.target)?;
    let connection = visit.connection.clone();
    let target = errand.target.label().to_owned();
    let request =
        answers::Request { caller: &connection.caller, method: errand.method, target: &target, args: &errand.args };
    let given = shared.sealer.open(&shared.engine, &request, errand.state.as_deref(), errand.responses).await;
    let given = given.map_err(encode::protocol_error)?;
    let call = visit.call(errand.target, given.clone());
    let id = call.request_id.clone();
    let result = if may_become_task {
        match tasks::run(shared, call, visit).await {
            tasks::Ran::ToItsEnd(result) => result,
            tasks::Ran::OnAsTask(task) => return Ok(Arrival::Task(task)),
        }
    } else {
        shared.engine.call(call, &connection.lane).await
    };
    match result {
        Ok(outcome) => Ok(Arrival::Outcome(outcome, id)),
        Err(mut error) => {
            connection.missing_scope.note(&error);
            match error.take_questions() {
                Some(asked) => {
                    let asking = shared.sealer.ask(&shared.engine, &request, asked, &given).await;
                    Ok(Arrival::Asks(asking.map_err(encode::protocol_error)?))
                }
                None => Ok(Arrival::Error(error, id)),
            }
        }
    }
}

/// `tools/call`, from the road's arrival to the protocol's result.
pub(crate) async fn call_tool(
    shared: &Arc<Shared>,
    visit: Visit,
    request: CallToolRequestParams,
) -> Result<CallToolResponse, ErrorData> {
    let era = visit.era;
    let args = request.arguments.map_or(Value::Null, Value::Object);
    let errand = Errand {
        method: "tools/call",
        target: Target::Tool { name: request.name.into_owned(), args: args.clone() },
        args,
        state: request.request_state,
        responses: request.input_responses,
    };
    let (result, id) = match travel(shared, visit, errand).await? {
        Arrival::Outcome(outcome, id) => (tool_result(outcome)?, id),
        Arrival::Error(error, id) => (encode::tool_error(error, era)?, id),
        Arrival::Asks(asking) => return Ok(CallToolResponse::InputRequired(asking)),
        Arrival::Task(task) => return Ok(CallToolResponse::Task(task)),
    };
    Ok(CallToolResponse::Complete(signed(shared, era, result, &id)))
}

/// A result with the name under which the log and the audit know its call, and the server's own.
pub(crate) fn signed(shared: &Shared, era: Era, mut result: CallToolResult, id: &str) -> CallToolResult {
    let meta = result.meta.get_or_insert_with(MetaObject::new);
    meta.0.insert("io.mainstay/requestId".into(), Value::String(id.to_owned()));
    shared.stamp(era, &mut result.meta);
    result
}

pub(crate) fn tool_result(outcome: Outcome) -> Result<CallToolResult, ErrorData> {
    match outcome {
        Outcome::Reply(reply) => Ok(encode::reply(reply)),
        Outcome::Contents(_) | Outcome::Prompt(_) => Err(mismatch()),
    }
}

pub(crate) fn mismatch() -> ErrorData {
    ErrorData::internal_error("The server gave an outcome of another kind.", None)
}
