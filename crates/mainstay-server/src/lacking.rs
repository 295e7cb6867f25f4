//! Word of a refusal that HTTP tells in its own way as well.

use std::sync::{Arc, OnceLock};

use mainstay_core::Error;

/// Goes with a request down to where its call is made. If the call wanted a scope that the token does not have, the
/// transport learns it here, whatever the dialect makes of the error.
#[derive(Clone, Default)]
pub(crate) struct Lacking(Arc<OnceLock<Error>>);

impl Lacking {
    pub(crate) fn note(&self, error: &Error) {
        if error.data.as_deref().is_some_and(|data| data.get("required_scope").is_some()) {
            let _ = self.0.set(error.clone());
        }
    }

    pub(crate) fn error(&self) -> Option<&Error> {
        self.0.get()
    }
}
