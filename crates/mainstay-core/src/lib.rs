//! Domain types: tools, calls, replies, errors, callers.
//!
//! Nothing here does I/O or knows a wire format: a tool, a call and a reply are the same on every transport and in every
//! dialect. All other crates depend on this one, and it depends on none of them.

#[macro_use]
mod string_enum;

mod call;
mod caller;
mod clock;
mod content;
mod digest;
mod error;
mod event;
mod principal_limit;
mod question;
mod redact;
mod registry;
pub mod schema;
mod sink;
mod tool;

pub use call::{Answers, Call, Context, DialectPolicy, Quota};
pub use caller::{Caller, Principal, Scope, Scopes};
pub use clock::{Clock, ManualClock, SystemClock, iso8601, new_id};
pub use content::{
    Block, Body, Contents, Prompt, PromptArgument, PromptInfo, PromptMessage, PromptReply, Reply, ResourceInfo,
    ResourceProvider, ResourceTemplate, Role,
};
pub use digest::{canonical_digest, hex};
pub use error::{CacheFailure, Error, Kind, Problem, Reason, Result};
pub use event::{Change, Event};
pub use principal_limit::{LimitReached, PrincipalLimit, PrincipalPermit};
pub use question::{Answer, AnswerAction, OpenQuestions, Question};
pub use redact::{escape_invisible, redacted_brief, redacted_full};
pub use registry::{Family, Page, Registry};
pub use sink::{Level, NoSink, Note, Sink};
pub use tool::{AnyTool, Effect, Output, Pace, Spec, Spelling, Tool, ToolInfo, WithText, erase};

pub use futures::future::BoxFuture;
pub use tokio_util::sync::CancellationToken;
