//! Is a token still good? Asked on every request, and answered from memory if it was looked up a moment ago.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mainstay_core::{Result, Scope, Scopes};
use sha2::{Digest as _, Sha256};

use super::token::{self, Claims, Flaw};
use super::{Authority, Identity};

/// How long a token may go on after it was revoked, or its client disabled, on another replica.
const TRUSTED: Duration = Duration::from_secs(2);

/// Tokens remembered at once.
const ROOM: usize = 10_000;

#[derive(Default)]
pub(super) struct Standing(Mutex<Memory>);

#[derive(Default)]
struct Memory {
    good: HashMap<[u8; 32], Good>,
    /// Counts how often all was forgotten.
    age: u64,
}

struct Good {
    since: Instant,
    identity: Identity,
}

impl Good {
    fn is_fresh(&self) -> bool {
        self.since.elapsed() < TRUSTED
    }
}

impl Standing {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, name: &[u8; 32]) -> Option<Identity> {
        self.memory().good.get(name).filter(|good| good.is_fresh()).map(|good| good.identity.clone())
    }

    /// Keeps what was looked up at that age; what was revoked in between may be this.
    fn remember(&self, name: [u8; 32], good: Good, age: u64) {
        let mut memory = self.memory();
        if memory.good.len() >= ROOM {
            memory.good.retain(|_, good| good.is_fresh());
        }
        if memory.good.len() < ROOM && memory.age == age {
            memory.good.insert(name, good);
        }
    }

    /// After something was revoked here, nothing is good that was not looked up since.
    pub(super) fn forget(&self) {
        let mut memory = self.memory();
        memory.good.clear();
        memory.age += 1;
    }
}

/// What became of a token somebody sent.
pub enum Verdict {
    Good(Identity),
    /// The reason is for the log alone.
    Bad(String),
}

impl Authority {
    /// Whom the token stands for, if it is this authority's, has not expired, was not revoked, and its client is not
    /// disabled. Fails if that cannot be found out.
    pub async fn verify(&self, token: &str) -> Result<Verdict> {
        let name: [u8; 32] = Sha256::digest(token).into();
        let identity = match self.standing.find(&name) {
            Some(identity) => identity,
            None => match self.look_up(token, name).await? {
                Verdict::Good(identity) => identity,
                bad @ Verdict::Bad(_) => return Ok(bad),
            },
        };
        if identity.expires_ms <= self.now_ms() {
            return Ok(Verdict::Bad("it has expired".into()));
        }
        Ok(Verdict::Good(identity))
    }

    async fn look_up(&self, token: &str, name: [u8; 32]) -> Result<Verdict> {
        // Taken before the store is asked: its answer is as old as the question.
        let (since, age) = (Instant::now(), self.standing.memory().age);
        let claims = match self.read(token).await? {
            Ok(claims) => claims,
            Err(reason) => return Ok(Verdict::Bad(reason)),
        };
        let has = match self.still_has(&claims).await? {
            Ok(has) => has,
            Err(reason) => return Ok(Verdict::Bad(reason.into())),
        };
        let identity = Identity {
            principal: self.principal(&claims.sub),
            scopes: bounded(Scopes::parse(&claims.scope), has),
            expires_ms: claims.expires_ms(),
        };
        self.standing.remember(name, Good { since, identity: identity.clone() }, age);
        Ok(Verdict::Good(identity))
    }

    /// The claims of a token of ours, or why it is not. A key that is not known may be new: then the store is asked.
    pub(super) async fn read(&self, token: &str) -> Result<Result<Claims, String>> {
        let read = match token::read(self, &self.keys.ring(&self.engine).await?, token) {
            Err(Flaw::UnknownKey) => token::read(self, &self.keys.ring_looked_up(&self.engine).await?, token),
            read @ (Ok(_) | Err(Flaw::Other(_))) => read,
        };
        Ok(read.map_err(|flaw| match flaw {
            Flaw::UnknownKey => "its key is none of this server's".into(),
            Flaw::Other(reason) => reason,
        }))
    }

    /// The scopes its client has now, or why it is good no more.
    async fn still_has(&self, claims: &Claims) -> Result<Result<Scopes, &'static str>> {
        let store = self.engine.store().oauth();
        if store.is_access_revoked(&claims.jti).await? || store.is_access_revoked(claims.family()).await? {
            return Ok(Err("it was revoked"));
        }
        let client = store.client(&claims.client_id).await?.filter(|client| !client.disabled);
        Ok(client.map(|client| Scopes::parse(&client.scopes)).ok_or("its client is disabled"))
    }
}

/// What a token says, as far as its client has it.
pub(super) fn bounded(said: Scopes, has: Scopes) -> Scopes {
    if has.allows(Scope::Admin) { said } else { has.iter().filter(|scope| said.allows(*scope)).collect() }
}
