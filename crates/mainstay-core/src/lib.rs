//! Domain types: tools, calls, replies, errors, callers.
//!
//! Nothing here does I/O or knows a wire format: a tool, a call and a reply are the same on every transport and in every
//! dialect. All other crates depend on this one, and it depends on none of them.

mod body;
mod call;
mod caller;
mod clock;
mod dialect;
mod digest;
mod error;
mod event;
mod hex;
mod principal_limit;
mod prompt;
mod question;
mod reason;
mod redact;
mod registry;
mod reply;
mod resource;
pub mod schema;
mod sink;
mod tool;

pub use body::Body;
pub use call::{Answers, Call, Context};
pub use caller::{Caller, Principal, Scope, Scopes};
pub use clock::{Clock, ManualClock, SystemClock, iso8601, new_id};
pub use dialect::{DialectPolicy, Quota};
pub use digest::canonical_digest;
pub use error::{Error, Kind, Result};
pub use event::{Called, Change, Event};
pub use hex::hex;
pub use principal_limit::{LimitReached, PrincipalLimit, PrincipalPermit};
pub use prompt::{Prompt, PromptArgument, PromptInfo, PromptMessage, PromptReply, Role};
pub use question::{Answer, AnswerAction, OpenQuestions, Question};
pub use reason::{CacheFailure, Problem, Reason};
pub use redact::{escape_invisible, redacted_brief, redacted_full};
pub use registry::{Family, Page, Registry};
pub use reply::{Annotations, Audience, Block, Reply, ResourceLink};
pub use resource::{Contents, ResourceInfo, ResourceProvider, ResourceTemplate};
pub use sink::{Level, NoSink, Note, Sink};
pub use tool::{AnyTool, Effect, Name, Output, Pace, Spec, Spelling, Tool, ToolInfo, WithText, erase};

pub use futures::future::BoxFuture;
pub use tokio_util::sync::CancellationToken;
