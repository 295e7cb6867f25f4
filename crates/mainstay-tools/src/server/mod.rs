//! Tools about the server itself.

mod echo;
mod status;
mod time;

use mainstay_core::Family;

use crate::Setup;

pub(crate) fn family(setup: &Setup) -> Family {
    Family::new("server").tool(echo::Echo).tool(status::Status::new(setup)).tool(time::Time)
}
