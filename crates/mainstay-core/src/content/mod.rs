//! What a caller gets: the reply of a tool, the contents of a resource, the messages of a prompt.

mod prompt;
mod reply;
mod resource;

pub use prompt::{Prompt, PromptArgument, PromptInfo, PromptMessage, PromptReply, Role};
pub use reply::{Block, Reply};
pub use resource::{Body, Contents, ResourceInfo, ResourceProvider, ResourceTemplate};
