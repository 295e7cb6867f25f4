//! All sessions of this server, with their limits. A session belongs to the principal that started it; to everybody else
//! it does not exist, so that an id that leaks is of no use.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainstay_core::{Effect, Error, Kind, Principal, Result, Spec};
use mainstay_sandbox::exec::SessionSettings;

use super::session::Session;

/// The declaration of a tool that works on sessions, before its title and description.
pub(crate) const fn spec(verb: &'static str, effect: Effect) -> Spec {
    Spec { tags: &["exec", "session"], ..Spec::new("exec", verb, effect) }
}

/// Ended sessions stay for a while, so that their last output can be read.
pub(crate) struct SessionRegistry {
    pub(crate) settings: SessionSettings,
    all: Mutex<BTreeMap<String, Arc<Session>>>,
}

/// How long the output of a session can still be read after its end.
const KEPT_AFTER_END: Duration = Duration::from_mins(10);

impl SessionRegistry {
    pub(crate) fn new(settings: SessionSettings) -> Self {
        Self { settings, all: Mutex::new(BTreeMap::new()) }
    }

    /// All sessions, without those that ended too long ago: there is no task that removes them.
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Session>>> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, session| session.ended().is_none() || session.last_used().elapsed() < KEPT_AFTER_END);
        all
    }

    /// Fails if the owner may not start another session. Called before the command is started.
    pub(crate) fn make_room(&self, owner: &Principal) -> Result<()> {
        make_room(&mut self.all(), &self.settings, owner)
    }

    /// Adds a started session; the limit is checked again, because others may have been started meanwhile.
    pub(crate) fn add(&self, session: Arc<Session>) -> Result<()> {
        let mut all = self.all();
        if let Err(full) = make_room(&mut all, &self.settings, &session.info.owner) {
            session.abort();
            return Err(full);
        }
        all.insert(session.info.id.clone(), session);
        Ok(())
    }

    /// A session of this caller. Counts as using it.
    pub(crate) fn find(&self, id: &str, caller: &Principal) -> Result<Arc<Session>> {
        let found = self.all().get(id).filter(|session| session.info.owner == *caller).cloned();
        let session = found
            .ok_or_else(|| Error::not_found(format!("There is no session {id:?}; use exec_list to list yours.")))?;
        session.touch();
        Ok(session)
    }

    /// The sessions of this caller, by id.
    pub(crate) fn owned_by(&self, caller: &Principal) -> Vec<Arc<Session>> {
        self.all().values().filter(|session| session.info.owner == *caller).cloned().collect()
    }
}

/// No process outlives the server.
impl Drop for SessionRegistry {
    fn drop(&mut self) {
        for session in self.all.get_mut().unwrap_or_else(PoisonError::into_inner).values() {
            session.abort();
        }
    }
}

/// Removes ended sessions, the least recently used first, until one more fits.
fn make_room(all: &mut BTreeMap<String, Arc<Session>>, settings: &SessionSettings, owner: &Principal) -> Result<()> {
    loop {
        let own = all.values().filter(|session| session.info.owner == *owner).count();
        // If the owner's own limit is reached, only an own session may be removed.
        let own_full = own >= settings.per_caller;
        if !own_full && all.len() < settings.total {
            return Ok(());
        }
        let ended =
            all.values().filter(|session| session.ended().is_some() && (!own_full || session.info.owner == *owner));
        let Some(id) = ended.min_by_key(|session| session.last_used()).map(|session| session.info.id.clone()) else {
            let (count, whose) =
                if own_full { (settings.per_caller, "you have") } else { (settings.total, "there are") };
            let message = format!("Session limit reached: {whose} {count} running. End one with exec_kill.");
            return Err(Error::new(Kind::Unavailable, message));
        };
        all.remove(&id);
    }
}
