//! The errors of a node, by their codes.
//!
//! The codes from -32001 to -32021 are those of Agave 4.1. A node's message says what happened; the hints here say what a
//! caller can do about it. Whether a call is repeated also depends on its method: a send never is.

/// What is known of an error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeErrorKind {
    /// The name that the node's software has for it.
    pub name: &'static str,
    /// Whether the same read may succeed a moment later or at another node.
    pub retryable: bool,
    /// What to do, in one sentence.
    pub hint: &'static str,
}

/// The same call fails again, or succeeds only much later.
const fn permanent(name: &'static str, hint: &'static str) -> NodeErrorKind {
    NodeErrorKind { name, retryable: false, hint }
}

/// The same call may succeed within seconds.
const fn passing(name: &'static str, hint: &'static str) -> NodeErrorKind {
    NodeErrorKind { name, retryable: true, hint }
}

/// The kind of an error code: those of Agave 4.1, those of JSON-RPC, and 429, which providers put in the body.
pub fn describe(code: i64) -> NodeErrorKind {
    match code {
        -32001 => {
            permanent("BlockCleanedUp", "The node no longer has this block; ask an archive node or a newer slot.")
        }
        -32002 => permanent(
            "SendTransactionPreflightFailure",
            "The simulation before sending failed; read err and logs in data, and build the transaction anew.",
        ),
        -32003 => permanent(
            "TransactionSignatureVerificationFailure",
            "A signature does not match the message; sign the transaction again.",
        ),
        -32004 => {
            passing("BlockNotAvailable", "The node does not have this block yet; try again or ask an older slot.")
        }
        -32005 => passing("NodeUnhealthy", "The node is behind its peers; try again or use another node."),
        -32006 => permanent(
            "TransactionPrecompileVerificationFailure",
            "An ed25519, secp256k1 or secp256r1 instruction does not verify; correct its data.",
        ),
        -32007 => permanent("SlotSkipped", "This slot has no block; find the next one with getBlocksWithLimit."),
        -32008 => permanent("NoSnapshot", "The node has made no snapshot; ask another node."),
        -32009 => permanent(
            "LongTermStorageSlotSkipped",
            "This slot has no block, or none in long-term storage; find the next one with getBlocksWithLimit.",
        ),
        -32010 => permanent(
            "KeyExcludedFromSecondaryIndex",
            "The node does not index this address; use narrower filters, another method or another provider.",
        ),
        -32011 => permanent(
            "TransactionHistoryNotAvailable",
            "The node keeps no transaction history; use a provider that does.",
        ),
        -32012 => permanent("ScanError", "The scan of accounts was aborted; add filters or ask for fewer accounts."),
        -32013 => permanent(
            "TransactionSignatureLenMismatch",
            "The number of signatures is not what the message requires; sign with every signer.",
        ),
        -32014 => passing("BlockStatusNotAvailableYet", "The block is not finished yet; try again in a second."),
        -32015 => permanent(
            "UnsupportedTransactionVersion",
            "Set maxSupportedTransactionVersion to the version named in the message.",
        ),
        -32016 => {
            passing("MinContextSlotNotReached", "The node has not reached minContextSlot; try again or lower it.")
        }
        -32017 => permanent(
            "EpochRewardsPeriodActive",
            "Rewards are being paid out; ask again after the block height rewardsCompleteBlockHeight in data.",
        ),
        -32018 => permanent(
            "SlotNotEpochBoundary",
            "The node lacks the block with the rewards of this epoch; use an archive node.",
        ),
        -32019 => passing("LongTermStorageUnreachable", "The node cannot reach its long-term storage; try again."),
        -32020 => permanent(
            "FilterTransactionNotFound",
            "The node does not know the signature in before or until; leave it out or use a later one.",
        ),
        -32021 => permanent("NoSlotHistory", "The node has no slot history; ask another node."),
        // The codes of JSON-RPC itself.
        -32700 => permanent("ParseError", "The node could not read the request as JSON."),
        -32600 => permanent("InvalidRequest", "The node refused the request as a whole; its size may be above 50 kB."),
        -32601 => permanent("MethodNotFound", "The node does not offer this method; use another provider."),
        -32602 => permanent("InvalidParams", "Correct the argument that the message names."),
        -32603 => permanent("InternalError", "The node failed; try another node or a smaller request."),
        // No code of JSON-RPC, but what providers answer with status 200.
        429 => passing("TooManyRequests", "The provider limits the rate of requests; wait before the next one."),
        _ => permanent("UnknownError", "The node's software does not document this code; read the message."),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_code_of_the_node_has_its_own_name_and_a_hint() {
        let mut names = HashSet::new();
        for code in (-32021..=-32001).chain([-32700, -32600, -32601, -32602, -32603, 429, 0]) {
            let kind = describe(code);
            assert!(names.insert(kind.name), "{code}: {} is another code's name", kind.name);
            assert!(kind.hint.ends_with('.') && kind.hint.len() < 120, "{code}: {}", kind.hint);
        }
        for code in [0, 1, -32000, -32022, i64::MIN, i64::MAX] {
            assert_eq!(describe(code).name, "UnknownError", "{code}");
        }
    }

    #[test]
    fn codes_have_the_names_of_the_nodes_software() {
        for (code, name) in [
            (-32002, "SendTransactionPreflightFailure"),
            (-32003, "TransactionSignatureVerificationFailure"),
            (-32007, "SlotSkipped"),
            (-32016, "MinContextSlotNotReached"),
            (-32019, "LongTermStorageUnreachable"),
        ] {
            assert_eq!(describe(code).name, name);
        }
    }

    #[test]
    fn what_passes_by_itself_is_retryable_and_nothing_else() {
        let retryable: Vec<i64> = (-32099..=-31999).chain([429, 0]).filter(|code| describe(*code).retryable).collect();
        assert_eq!(retryable, [-32019, -32016, -32014, -32005, -32004, 429]);
    }
}
