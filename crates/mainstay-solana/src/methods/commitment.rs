//! How settled the state must be that a node answers from.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A commitment level, from the least to the most settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Commitment {
    /// The newest block the node has processed; it may still be dropped with its fork.
    Processed,
    /// Voted for by two thirds of the stake.
    #[default]
    Confirmed,
    /// Rooted: it cannot be undone.
    Finalized,
}

impl Commitment {
    pub const ALL: [Self; 3] = [Self::Processed, Self::Confirmed, Self::Finalized];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Processed => "processed",
            Self::Confirmed => "confirmed",
            Self::Finalized => "finalized",
        }
    }

    /// The level of this name. The RPC's old names (`recent`, `max`, `root`, …) are none: nodes no longer take them.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }

    /// The levels from this one up.
    pub(super) fn and_above(self) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |level| *level >= self)
    }
}

impl fmt::Display for Commitment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_parsed_from_the_name_it_is_written_with() {
        for level in Commitment::ALL {
            assert_eq!(Commitment::parse(level.as_str()), Some(level));
            assert_eq!(serde_json::to_value(level).unwrap(), level.as_str());
        }
        for name in ["", "max", "root", "Confirmed"] {
            assert_eq!(Commitment::parse(name), None, "{name}");
        }
    }

    #[test]
    fn levels_are_ordered_by_how_settled_they_are() {
        assert!(Commitment::Processed < Commitment::Confirmed && Commitment::Confirmed < Commitment::Finalized);
        assert_eq!(
            Commitment::Confirmed.and_above().collect::<Vec<_>>(),
            [Commitment::Confirmed, Commitment::Finalized]
        );
    }
}
