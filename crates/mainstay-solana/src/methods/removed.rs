//! Methods that nodes no longer have, and what took their place.
//!
//! Models know them from older texts; a sentence that names the successor saves the next wrong call.

const REMOVED: [(&str, &str); 17] = [
    ("confirmTransaction", "confirmTransaction was removed; use getSignatureStatuses."),
    ("getConfirmedBlock", "getConfirmedBlock was removed; use getBlock."),
    ("getConfirmedBlocks", "getConfirmedBlocks was removed; use getBlocks."),
    ("getConfirmedBlocksWithLimit", "getConfirmedBlocksWithLimit was removed; use getBlocksWithLimit."),
    ("getConfirmedSignaturesForAddress", "getConfirmedSignaturesForAddress was removed; use getSignaturesForAddress."),
    (
        "getConfirmedSignaturesForAddress2",
        "getConfirmedSignaturesForAddress2 was renamed; use getSignaturesForAddress.",
    ),
    ("getConfirmedTransaction", "getConfirmedTransaction was removed; use getTransaction."),
    (
        "getFeeCalculatorForBlockhash",
        "getFeeCalculatorForBlockhash was removed; use isBlockhashValid for the blockhash or getFeeForMessage for the fee.",
    ),
    ("getFeeRateGovernor", "getFeeRateGovernor was removed; use getFeeForMessage for the fee of a message."),
    ("getFees", "getFees was removed; use getFeeForMessage for the fee and getLatestBlockhash for a blockhash."),
    (
        "getNumBlocksSinceSignatureConfirmation",
        "getNumBlocksSinceSignatureConfirmation was removed; use getSignatureStatuses.",
    ),
    ("getRecentBlockhash", "getRecentBlockhash was removed; use getLatestBlockhash, and getFeeForMessage for the fee."),
    ("getSignatureConfirmation", "getSignatureConfirmation was removed; use getSignatureStatuses."),
    ("getSignatureStatus", "getSignatureStatus was removed; use getSignatureStatuses."),
    ("getSnapshotSlot", "getSnapshotSlot was removed; use getHighestSnapshotSlot."),
    (
        "getStakeActivation",
        "getStakeActivation was removed; use getAccountInfo with encoding jsonParsed on the stake account, and getEpochInfo \
         to compare its activation and deactivation epochs.",
    ),
    ("getTotalSupply", "getTotalSupply was removed; use getSupply."),
];

/// The methods that nodes no longer have, each with a sentence that names what to use in its place.
pub fn removed() -> impl Iterator<Item = (&'static str, &'static str)> {
    REMOVED.iter().copied()
}

/// What to use in place of a method that nodes no longer have, as a sentence.
pub fn replacement(name: &str) -> Option<&'static str> {
    REMOVED.iter().find(|(removed, _)| *removed == name).map(|(_, sentence)| *sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_removed_method_names_one_that_exists_and_is_none_itself() {
        for (name, sentence) in REMOVED {
            assert!(crate::methods::find(name).is_none(), "{name} is in the table");
            assert!(sentence.starts_with(name), "{sentence}");
            let words = sentence.split(|c: char| !c.is_ascii_alphanumeric());
            assert!(words.clone().any(|word| crate::methods::find(word).is_some()), "{sentence}");
            let unknown: Vec<_> =
                words.filter(|w| w.starts_with("get") && *w != name && crate::methods::find(w).is_none()).collect();
            assert!(unknown.is_empty(), "{unknown:?}");
            assert_eq!(replacement(name), Some(sentence));
        }
        assert_eq!(replacement("getBalance"), None);
        assert_eq!(replacement(""), None);
    }
}
