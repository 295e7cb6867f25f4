//! What a caller gets: the reply of a tool, the contents of a resource, the messages of a prompt.

mod body;
mod prompt;
mod reply;
mod resource;

pub use body::Body;
pub use prompt::{Prompt, PromptArgument, PromptInfo, PromptMessage, PromptReply, Role};
pub use reply::{Annotations, Audience, Block, Reply, ResourceLink};
pub use resource::{Contents, ResourceInfo, ResourceProvider, ResourceTemplate};
