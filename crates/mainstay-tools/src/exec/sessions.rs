//! All sessions of this server. Each belongs to the one who started it; to everybody else it does not exist.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainstay_core::{Error, Kind, Principal, Result};
use mainstay_sandbox::exec::SessionSettings;

use super::session::Session;

pub(crate) struct Sessions {
    settings: SessionSettings,
    all: Mutex<BTreeMap<String, Arc<Session>>>,
}

/// How long the output of a session that has ended can still be read.
const AFTERWARDS: Duration = Duration::from_mins(10);

impl Sessions {
    pub(crate) fn new(settings: SessionSettings) -> Self {
        Self { settings, all: Mutex::new(BTreeMap::new()) }
    }

    pub(crate) fn settings(&self) -> &SessionSettings {
        &self.settings
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Session>>> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, session| session.ended().is_none() || session.last_used().elapsed() < AFTERWARDS);
        all
    }

    /// Whether there is room for one more, before anything is started.
    pub(crate) fn make_room(&self, owner: &Principal) -> Result<()> {
        make_room(&mut self.all(), &self.settings, owner)
    }

    /// Room may have gone while the command was being started.
    pub(crate) fn add(&self, session: Arc<Session>) -> Result<()> {
        let mut all = self.all();
        if let Err(full) = make_room(&mut all, &self.settings, &session.owner) {
            session.abandon();
            return Err(full);
        }
        all.insert(session.id.clone(), session);
        Ok(())
    }

    pub(crate) fn find(&self, id: &str, caller: &Principal) -> Result<Arc<Session>> {
        let found = self.all().get(id).filter(|session| session.owner == *caller).cloned();
        let session = found.ok_or_else(|| {
            Error::not_found(format!("There is no session {id:?}; exec_list shows those that there are."))
        })?;
        session.touch();
        Ok(session)
    }

    pub(crate) fn of(&self, caller: &Principal) -> Vec<Arc<Session>> {
        self.all().values().filter(|session| session.owner == *caller).cloned().collect()
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        for session in self.all.get_mut().unwrap_or_else(PoisonError::into_inner).values() {
            session.abandon();
        }
    }
}

/// Those that have ended make way, the one that was used longest ago first.
fn make_room(all: &mut BTreeMap<String, Arc<Session>>, settings: &SessionSettings, owner: &Principal) -> Result<()> {
    loop {
        let own = all.values().filter(|session| session.owner == *owner).count();
        let own_full = own >= settings.per_caller;
        if !own_full && all.len() < settings.total {
            return Ok(());
        }
        let ended = all.values().filter(|session| session.ended().is_some() && (!own_full || session.owner == *owner));
        let Some(id) = ended.min_by_key(|session| session.last_used()).map(|session| session.id.clone()) else {
            let (count, whose) =
                if own_full { (settings.per_caller, "you have") } else { (settings.total, "there are") };
            return Err(Error::new(
                Kind::Unavailable,
                format!(
                    "No session can be started: {whose} {count} running, which is the limit. End one with exec_kill."
                ),
            ));
        };
        all.remove(&id);
    }
}
