//! The rules of consent: which calls need it, who may see a request, and who may decide it.

use std::sync::{Arc, OnceLock};

use mainstay_core::{
    Caller, Clock, Effect, Error, Principal, PrincipalLimit, Result, Scope, ToolInfo, canonical_digest,
};
use mainstay_store::{Consent, Store};
use serde_json::json;

use super::stored::{ConsentStore, ConsentView, not_found};
use crate::ConsentSettings;

/// The URL path of a consent request; its id follows.
pub const CONSENT_PATH: &str = "/api/mcp/consent/";

/// Calls of one principal that may wait for a person at once. Each holds a slot of the gate that other calls need.
pub(super) const MAX_WAITING: usize = 16;

pub struct ConsentPolicy {
    pub(super) settings: ConsentSettings,
    /// A digest of the rules. It is part of what an approval is bound to, so that one given under other rules does not
    /// count under these.
    pub(super) rules_version: String,
    pub(super) waits: PrincipalLimit,
    pub(super) requests: ConsentStore,
    /// Scheme, host and port under which people reach this server, if it has a listener.
    origin: OnceLock<String>,
}

impl ConsentPolicy {
    pub fn new(settings: ConsentSettings, store: Store, clock: Arc<dyn Clock>) -> Self {
        let rules = json!([settings.required_for, settings.required_for_tools, settings.required_for_words]);
        Self {
            rules_version: canonical_digest(&rules),
            settings,
            waits: PrincipalLimit::new(usize::MAX, MAX_WAITING),
            requests: ConsentStore::new(store, clock),
            origin: OnceLock::new(),
        }
    }

    /// Sets the origin of the links to consent pages. The first call counts.
    pub fn set_origin(&self, origin: String) {
        let _ = self.origin.set(origin);
    }

    /// The URL of a request's page, if this server has a listener.
    pub(super) fn page_url(&self, id: &str) -> Option<String> {
        self.origin.get().map(|origin| format!("{origin}{CONSENT_PATH}{id}"))
    }

    /// Whether a call with this effect runs only after a person approved it.
    pub fn is_required(&self, tool: Option<&ToolInfo>, effect: Effect) -> bool {
        self.settings.required_for.contains(&effect)
            || tool.is_some_and(|tool| {
                self.settings.required_for_tools.contains(&tool.listed)
                    || (effect.changes() && self.has_dangerous_name(tool))
            })
    }

    /// Contract 001 requires consent by the words in a tool's name; elsewhere the effect alone counts.
    fn has_dangerous_name(&self, tool: &ToolInfo) -> bool {
        let Some(name) = tool.contract_name() else { return false };
        let mut words = [name, tool.verb].into_iter().flat_map(|name| name.split(|c: char| !c.is_alphanumeric()));
        words.any(|word| self.settings.required_for_words.iter().any(|bad| bad.eq_ignore_ascii_case(word)))
    }

    /// A request, if this caller may see it: the one who made it, and those who may decide.
    pub async fn find(&self, caller: &Caller, id: &str) -> Result<ConsentView> {
        let consent = self.requests.find(id).await?;
        if !may_see(caller, &consent) {
            return Err(not_found(id));
        }
        Ok(self.requests.view(consent))
    }

    /// Decides a request in the name of this caller.
    pub async fn decide(&self, caller: &Caller, id: &str, approve: bool, reason: Option<&str>) -> Result<ConsentView> {
        let consent = self.find(caller, id).await?;
        self.may_decide(caller, &consent.requested_by)?;
        self.requests.decide(id, caller, approve, reason).await
    }

    /// Whether this caller may decide a request of that principal. The error tells the caller why not.
    pub fn may_decide(&self, caller: &Caller, requested_by: &str) -> Result<()> {
        if caller.principal.is_local() {
            return match caller.ip {
                None => Ok(()),
                Some(ip) if !ip.is_loopback() => {
                    Err(Error::denied("Without a token, only requests from this machine may decide."))
                }
                Some(_) if self.settings.without_token => Ok(()),
                Some(_) => Err(Error::denied(
                    "Commands that this server runs could send this request too, so deciding over HTTP needs a token. Use `mainstay consent approve` or `mainstay consent deny` on this machine.",
                )),
            };
        }
        if !caller.scopes.allows(Scope::Consent) {
            return Err(Error::denied("Deciding needs the scope \"consent\", which the token does not have."));
        }
        if caller.principal.as_str() == requested_by && !self.settings.self_approval {
            return Err(Error::denied(
                "You may not decide your own request. Another principal with the scope \"consent\" can, or `mainstay consent approve` on the server's machine.",
            ));
        }
        Ok(())
    }

    /// Fails if a program without a token tries to decide a request that was made with one. Where tokens are optional,
    /// a client could otherwise leave its token out and approve its own request. On the page the CSRF token shows that
    /// a person was there.
    pub async fn check_unattended(&self, caller: &Caller, id: &str) -> Result<()> {
        let consent = self.requests.find(id).await?;
        if caller.principal.is_local() && !Principal::from_stored(&consent.binding.principal).is_local() {
            return Err(Error::denied(
                "This call was made with a token, so a program without one may not decide it. Open the request's page in a browser, use `mainstay consent approve` or `mainstay consent deny`, or send a token that has the scope \"consent\".",
            ));
        }
        Ok(())
    }
}

/// Narrower than the read scope: arguments of a call are shown to its caller and to those who may decide.
fn may_see(caller: &Caller, consent: &Consent) -> bool {
    caller.principal.is_local()
        || caller.scopes.allows(Scope::Consent)
        || caller.principal.as_str() == consent.binding.principal
}
