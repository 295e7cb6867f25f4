//! The words of the domain.
//!
//! Nothing here does I/O and nothing here knows a wire format: a tool, a call and a reply mean the same on
//! every transport. The crates above agree with each other by speaking these words.

mod call;
mod caller;
mod clock;
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

pub use call::{Answers, Call, Context, Outcome, Target};
pub use caller::{Caller, Principal, Scope, Scopes};
pub use clock::{Clock, ManualClock, SystemClock, iso8601, new_id};
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
pub use resource::{Body, Contents, ResourceInfo, ResourceTemplate, Resources};
pub use sink::{Level, Note, Quiet, Sink};
pub use tool::{AnyTool, Effect, Name, Output, Pace, Spec, Spelling, Told, Tool, ToolInfo, erase};

pub use futures::future::BoxFuture;
pub use tokio_util::sync::CancellationToken;
