//! What the configuration allows on one network.

use std::collections::BTreeMap;
use std::str::FromStr as _;

use mainstay_core::{Error, Result};
use mainstay_solana::transaction::Wallet;
use solana_address::Address;

use super::super::settings::{SendLevel, SolanaSending, SolanaTokenLimit};
use super::key_file;

/// The name of lamports among the assets whose spending is limited; tokens have their mint.
pub(super) const SOL: &str = "SOL";

/// What may be sent to a network.
pub(in super::super) struct NetworkPolicy {
    /// What the configuration calls the section.
    section: String,
    level: SendLevel,
    wallet: Option<Wallet>,
    max_lamports: Option<u64>,
    max_lamports_per_day: Option<u64>,
    tokens: BTreeMap<Address, SolanaTokenLimit>,
}

/// How much of an asset an account may spend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SpendLimit {
    pub(super) per_transaction: u64,
    pub(super) per_day: u64,
    /// The setting that says so.
    pub(super) setting: String,
}

impl NetworkPolicy {
    pub(super) fn new(network: &str, settings: &SolanaSending) -> Result<Self> {
        let section = format!("solana.networks.{network}.sending");
        let SolanaSending { level, key_file, max_lamports, max_lamports_per_day, tokens } = settings;
        let wallet = match (level, key_file) {
            (SendLevel::Wallet, Some(path)) => Some(key_file::read(&format!("{section}.key_file"), path)?),
            (SendLevel::Wallet, None) => {
                return Err(Error::invalid(format!(
                    "{section}.level is \"wallet\", but {section}.key_file is not set."
                )));
            }
            // A key that is not used stays where it is.
            (SendLevel::Off | SendLevel::Relay, _) => None,
        };
        if wallet.is_some() && (max_lamports.is_none() || max_lamports_per_day.is_none()) {
            return Err(Error::invalid(format!(
                "A wallet needs limits: set {section}.max_lamports and {section}.max_lamports_per_day."
            )));
        }
        let tokens = tokens
            .iter()
            .map(|(mint, limit)| {
                let wrong = |_| Error::invalid(format!("{section}.tokens: {mint:?} is not the address of a mint."));
                Ok((Address::from_str(mint).map_err(wrong)?, *limit))
            })
            .collect::<Result<_>>()?;
        let (max_lamports, max_lamports_per_day) = (*max_lamports, *max_lamports_per_day);
        Ok(Self { section, level: *level, wallet, max_lamports, max_lamports_per_day, tokens })
    }

    pub(in super::super) fn level(&self) -> SendLevel {
        self.level
    }

    pub(in super::super) fn wallet(&self) -> Option<&Wallet> {
        self.wallet.as_ref()
    }

    /// Whether anything that a transaction takes from its signers is limited.
    pub(super) fn has_limits(&self) -> bool {
        self.max_lamports.is_some() || self.max_lamports_per_day.is_some() || !self.tokens.is_empty()
    }

    /// How many lamports an account that signs may spend, if that is limited.
    pub(super) fn sol_limit(&self) -> Option<SpendLimit> {
        let (one, day) = (self.max_lamports, self.max_lamports_per_day);
        (one.is_some() || day.is_some()).then(|| SpendLimit {
            per_transaction: one.unwrap_or(u64::MAX),
            per_day: day.unwrap_or(u64::MAX),
            setting: format!("{}.max_lamports", self.section),
        })
    }

    /// How much of a token an owner who signs may spend, if that is limited. The wallet spends only what is named.
    pub(super) fn token_limit(&self, owner: &Address, mint: &Address) -> Option<SpendLimit> {
        let limit = |per_transaction, per_day| SpendLimit {
            per_transaction,
            per_day,
            setting: format!("{}.tokens.{mint}.max_amount", self.section),
        };
        match self.tokens.get(mint) {
            Some(SolanaTokenLimit { max_amount, max_amount_per_day }) => Some(limit(*max_amount, *max_amount_per_day)),
            None if self.wallet.as_ref().is_some_and(|wallet| wallet.address() == *owner) => Some(limit(0, 0)),
            None => None,
        }
    }
}
