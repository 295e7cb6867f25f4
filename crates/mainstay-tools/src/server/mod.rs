//! Tools about the server itself.

mod echo;
mod status;

use mainstay_core::Family;

use crate::Setup;

pub(crate) fn family(setup: &Setup) -> Family {
    Family::new("server").tool(echo::Echo).tool(status::Status::new(setup))
}
