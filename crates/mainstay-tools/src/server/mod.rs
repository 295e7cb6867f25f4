//! The family `server`: tools about the server itself, one file each.

mod echo;
mod status;
mod time;

use mainstay_core::Family;

use crate::setup::Setup;

/// The family with all its tools, in the order in which they are listed.
pub(crate) fn family(setup: &Setup) -> Family {
    Family::new("server").tool(echo::Echo).tool(status::Status(setup.clone())).tool(time::Time)
}
