//! The dialect `agents`: what is asked in it becomes calls of the engine, or a look at its lists.

mod lists;
mod session;

use std::future::ready;
use std::sync::Arc;

use mainstay_core::{Call, CancellationToken, Error, Outcome, Result, Scope, Target};
use mainstay_engine::{Engine, Inquiry};
use mainstay_wire::Id;
use mainstay_wire::agents::{self, Ask, Fault, Refused, Request};
use serde_json::{Map, Value};

use crate::connection::Connection;

/// Where the dialect's requests are dealt with.
pub(crate) struct Desk {
    pub(crate) engine: Engine,
}

/// Who comes, and what they say of their request.
pub(crate) struct Visit {
    pub(crate) connection: Connection,
    pub(crate) request_id: Arc<str>,
    /// The session they say they are in; whether it is theirs is not known yet.
    pub(crate) claimed_session: Option<String>,
    /// Whom they say they act for: noted, and never believed.
    pub(crate) claimed_user: Option<String>,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) cancel: CancellationToken,
}

/// What goes back, over HTTP.
#[derive(Default)]
pub(crate) struct Answer {
    /// Nothing where nobody waits for an answer.
    pub(crate) body: Option<String>,
    pub(crate) status: u16,
    /// A session that was opened.
    pub(crate) session: Option<String>,
    /// What it failed for, where it did.
    pub(crate) fault: Option<Fault>,
}

impl Answer {
    pub(crate) fn failed(id: &Id, fault: Fault) -> Self {
        Self { status: fault.status, body: Some(agents::failure(id, &fault)), session: None, fault: Some(fault) }
    }
}

/// What came of a request.
struct Done {
    result: Value,
    session: Option<String>,
}

impl From<Value> for Done {
    fn from(result: Value) -> Self {
        Self { result, session: None }
    }
}

impl Desk {
    pub(crate) async fn answer(&self, bytes: &[u8], visit: &Visit) -> Answer {
        match agents::decode(bytes) {
            Ok(None) => Answer { status: 202, ..Answer::default() },
            Ok(Some(Request { id, ask })) => worded(id.as_ref(), self.act(ask, visit).await),
            Err(refused) => {
                let id = refused.id.clone();
                worded(id.as_ref(), Err(self.refuse(refused, visit).await))
            }
        }
    }

    /// The fault in the contract's words.
    pub(crate) fn fault(&self, error: &Error, operation: &str, visit: &Visit) -> Fault {
        visit.connection.missing_scope.note(error);
        Fault::called(error, operation, self.engine.clock().now())
    }

    /// Does `work` on behalf of a visit, as `operation`, if its session is its own and the rules allow it.
    pub(crate) async fn attend<T>(
        &self,
        operation: impl Into<String>,
        needs: Option<Scope>,
        visit: &Visit,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        match self.session_of(visit).await {
            Ok(session) => self.inquire(operation, needs, session, visit, work).await,
            Err(stranger) => self.inquire(operation, needs, None, visit, ready(Err(stranger))).await,
        }
    }

    /// The same for what does not depend on a session: one that is not the visit's own is no hindrance.
    async fn attend_anyone<T>(
        &self,
        operation: impl Into<String>,
        visit: &Visit,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let session = self.session_of(visit).await.unwrap_or_default();
        self.inquire(operation, None, session, visit, work).await
    }

    async fn inquire<T>(
        &self,
        operation: impl Into<String>,
        needs: Option<Scope>,
        session: Option<Arc<str>>,
        visit: &Visit,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let inquiry = Inquiry {
            session,
            needs,
            request_id: visit.request_id.clone(),
            dialect: Some(agents::DIALECT),
            ..Inquiry::new(operation, visit.connection.caller.clone())
        };
        self.engine.attend(inquiry, work).await
    }

    /// What could not be read is counted and recorded, too; a method that does not exist, by its name.
    async fn refuse(&self, refused: Refused, visit: &Visit) -> Fault {
        let Refused { fault, unknown_method, .. } = refused;
        let (operation, reason) = match unknown_method {
            Some(method) => (format!("jsonrpc {method}"), Error::unknown(fault.message.clone())),
            None => ("jsonrpc".to_owned(), Error::invalid(fault.message.clone())),
        };
        let expected = reason.kind;
        match self.attend_anyone::<()>(operation, visit, ready(Err(reason))).await {
            Err(error) if error.kind != expected => self.fault(&error, "jsonrpc", visit),
            Ok(()) | Err(_) => fault,
        }
    }

    async fn act(&self, ask: Ask, visit: &Visit) -> Result<Done, Fault> {
        let method = ask.method();
        let listed = |list: Result<Vec<Value>>| list.map(|list| Done::from(Value::Array(list)));
        let (caller, read) = (&visit.connection.caller, Some(Scope::Read));
        let done = match ask {
            Ask::CallTool { name, args } => return self.call_tool(&name, args, visit).await,
            Ask::ReadResource { uri } => self.read_resource(uri, visit).await,
            Ask::ExecutePrompt { name, args } => self.execute_prompt(name, args, visit).await,
            Ask::Initialize(greeting) => self.attend_anyone(method, visit, self.greet(&greeting, visit)).await,
            Ask::ListTools => self.attend(method, read, visit, async { listed(self.tools(caller)) }).await,
            Ask::ListResources => self.attend(method, read, visit, async { listed(Ok(self.resources())) }).await,
            Ask::ListPrompts => self.attend(method, read, visit, async { listed(self.prompts()) }).await,
        };
        done.map_err(|error| self.fault(&error, method, visit))
    }

    async fn call_tool(&self, name: &str, args: Map<String, Value>, visit: &Visit) -> Result<Done, Fault> {
        let target = Target::Tool { name: name.to_owned(), args: Value::Object(args) };
        match self.call(target, visit).await {
            Ok(Outcome::Reply(reply)) => agents::reply(reply).map(Done::from),
            Ok(Outcome::Contents(_) | Outcome::Prompt(_)) => Err(self.fault(&odd_outcome(), name, visit)),
            Err(error) => Err(self.fault(&error, name, visit)),
        }
    }

    async fn read_resource(&self, uri: String, visit: &Visit) -> Result<Done> {
        match self.call(Target::Resource { uri: uri.clone() }, visit).await? {
            Outcome::Contents(contents) => {
                let first =
                    contents.into_iter().next().ok_or_else(|| Error::not_found(format!("{uri:?} is empty.")))?;
                let listed = self.shelf().into_iter().find(|resource| resource.uri == uri);
                Ok(agents::contents(&uri, first, listed.as_ref()).into())
            }
            Outcome::Reply(_) | Outcome::Prompt(_) => Err(odd_outcome()),
        }
    }

    async fn execute_prompt(
        &self,
        name: String,
        args: std::collections::BTreeMap<String, String>,
        visit: &Visit,
    ) -> Result<Done> {
        match self.call(Target::Prompt { name: name.clone(), args }, visit).await? {
            Outcome::Prompt(reply) => Ok(agents::prompt_result(&name, reply, self.engine.clock().now()).into()),
            Outcome::Reply(_) | Outcome::Contents(_) => Err(odd_outcome()),
        }
    }

    async fn call(&self, target: Target, visit: &Visit) -> Result<Outcome> {
        let known = self.spoken(&target).and(self.session_of(visit).await);
        let session = match known {
            Ok(session) => session,
            Err(error) => {
                let operation = format!("{} {}", target.method(), target.label());
                return self.attend(operation, None, visit, ready(Err(error))).await;
            }
        };
        let mut call = Call::new(target, visit.connection.caller.clone());
        call.request_id = visit.request_id.clone();
        call.session = session;
        call.idempotency_key.clone_from(&visit.idempotency_key);
        call.first_result_wins = true;
        call.dialect = Some(agents::DIALECT);
        call.cancel = visit.cancel.clone();
        self.engine.call(call, &visit.connection.lane).await
    }

    /// A tool has one name here, and most of the server's tools have none; prompts are those that are a template.
    fn spoken(&self, target: &Target) -> Result<()> {
        let registry = self.engine.registry();
        match target {
            Target::Tool { name, .. } => {
                let tool = registry.tool(name).filter(|tool| tool.info().spelling(agents::DIALECT) == Some(name));
                let unknown =
                    || Error::unknown(format!("There is no tool {name:?}; tools/list names those there are."));
                tool.map(drop).ok_or_else(unknown)
            }
            Target::Prompt { name, .. } => {
                let prompt = registry.prompt(name).filter(|prompt| prompt.info().template.is_some());
                let unknown =
                    || Error::unknown(format!("There is no prompt {name:?}; prompts/list names those there are."));
                prompt.map(drop).ok_or_else(unknown)
            }
            Target::Resource { .. } => Ok(()),
        }
    }
}

fn worded(id: Option<&Id>, outcome: Result<Done, Fault>) -> Answer {
    match (id, outcome) {
        (None, _) => Answer { status: 202, ..Answer::default() },
        (Some(id), Ok(done)) => {
            Answer { status: 200, body: Some(agents::result(id, &done.result)), session: done.session, fault: None }
        }
        (Some(id), Err(fault)) => Answer::failed(id, fault),
    }
}

fn odd_outcome() -> Error {
    Error::internal("a call gave an outcome of another kind")
}
