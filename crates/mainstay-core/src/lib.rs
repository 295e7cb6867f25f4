//! Domain types: tools, calls, replies, errors, callers.
//!
//! Nothing here does I/O or knows a wire format: a tool, a call and a reply are the same on every transport and in every
//! dialect. All other crates depend on this one, and it depends on none of them.

/// Declares an enum together with the strings that its variants have in logs, audit rows, metrics and contracts. Variant,
/// string and list come from one place, so that a new variant can be neither without a string nor missing from `ALL`, on
/// which the tests of the dialects' error tables rely.
#[macro_export]
macro_rules! string_enum {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        $vis enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// Every variant, in the order of declaration.
            $vis const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The string form. Stored rows and clients depend on it, so it never changes.
            $vis const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }
    };
}

mod call;
mod caller;
mod clock;
mod content;
mod digest;
mod effect;
mod error;
mod event;
mod principal_limit;
mod question;
mod redact;
mod registry;
pub mod schema;
mod sink;
mod tool;

pub use call::{Answers, Call, Context, DialectPolicy, Hold, Quota, QuotaKind};
pub use caller::{Caller, Principal, Scope, Scopes};
pub use clock::{Clock, ManualClock, SystemClock, iso8601, new_id};
pub use content::{
    Annotations, Announce, Block, Body, Content, Contents, Prompt, PromptArgument, PromptInfo, PromptMessage,
    PromptReply, Reply, ResourceInfo, ResourceProvider, ResourceTemplate, Role, Watch,
};
pub use digest::{canonical_digest, hex};
pub use effect::{Approval, Effect, PlannedChange};
pub use error::{CacheFailure, Error, Kind, Problem, Reason, Result};
pub use event::{Change, Event};
pub use principal_limit::{LimitReached, PrincipalLimit, PrincipalPermit};
pub use question::{Answer, AnswerAction, OpenQuestions, Question};
pub use redact::{
    escape_invisible, escape_invisible_json, quoted, recorded, redacted_brief, redacted_full, redacted_outline,
    redacted_uri,
};
pub use registry::{Family, MetricsText, Page, Registry};
pub use sink::{Level, NoSink, Note, Sink};
pub use tool::{AnyTool, Output, Pace, Spec, Spelling, Tool, ToolInfo, UntypedTool, WithText, erase, untyped};

pub use futures::future::BoxFuture;
pub use tokio_util::sync::CancellationToken;
