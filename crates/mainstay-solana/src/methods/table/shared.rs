//! Parameters that several methods have.

use crate::methods::{CacheClass, Commitment, DefaultValue, Group, Kind, Method, MethodEffect, Param, RetryClass};

/// What most methods are: reads without parameters, whose answers are not kept.
pub(super) const READ: Method = Method {
    name: "",
    group: Group::Cluster,
    about: "",
    core: false,
    positional: &[],
    options: &[],
    local: &[],
    cache: CacheClass::Never,
    retry: RetryClass::Read,
    effect: MethodEffect::Reads,
    has_context: false,
};

pub(super) const PUBKEY: Param = Param::required("pubkey", Kind::Address);
pub(super) const MINT: Param = Param::required("mint", Kind::Address);
pub(super) const SLOT: Param = Param::required("slot", Kind::ANY_INTEGER);
pub(super) const START_SLOT: Param = Param::required("startSlot", Kind::ANY_INTEGER);
pub(super) const IDENTITY: Param = Param::optional("identity", Kind::Address).about("Only this validator");

pub(super) const COMMITMENT: Param = Param::optional("commitment", Kind::Commitment(Commitment::Processed));
/// For methods that read the ledger: the node refuses `processed`.
pub(super) const LEDGER_COMMITMENT: Param = Param::optional("commitment", Kind::Commitment(Commitment::Confirmed));
pub(super) const MIN_CONTEXT_SLOT: Param = Param::optional("minContextSlot", Kind::ANY_INTEGER);

/// Options of the methods that only choose the state to answer from.
pub(super) const STATE: &[Param] = &[COMMITMENT, MIN_CONTEXT_SLOT];
pub(super) const LEDGER_STATE: &[Param] = &[LEDGER_COMMITMENT, MIN_CONTEXT_SLOT];
/// For methods whose options on the node have no minContextSlot: it would be ignored in silence.
pub(super) const COMMITMENT_ONLY: &[Param] = &[COMMITMENT];

/// base58 is left out: nodes refuse it for more than 128 bytes.
pub(super) const ACCOUNT_ENCODINGS: Kind = Kind::Choice(&["jsonParsed", "base64", "base64+zstd"]);
pub(super) const ACCOUNT_ENCODING: Param =
    Param::optional("encoding", ACCOUNT_ENCODINGS).default(DefaultValue::Text("jsonParsed"));
pub(super) const DATA_SLICE: Param = Param::optional(
    "dataSlice",
    Kind::Object(&[Param::required("offset", Kind::ANY_INTEGER), Param::required("length", Kind::ANY_INTEGER)]),
)
.about("Part of the data, as base64");
/// Options of the methods that return accounts.
pub(super) const ACCOUNTS: &[Param] = &[COMMITMENT, MIN_CONTEXT_SLOT, ACCOUNT_ENCODING, DATA_SLICE];

pub(super) const TRANSACTION_ENCODING: Param =
    Param::optional("encoding", Kind::Choice(&["jsonParsed", "json", "base64"]))
        .default(DefaultValue::Text("jsonParsed"));
/// Without it a node refuses every transaction and block that has a version.
pub(super) const MAX_VERSION: Param =
    Param::optional("maxSupportedTransactionVersion", Kind::Integer { min: 0, max: 255 })
        .default(DefaultValue::Integer(0));

pub(super) const TRANSACTION: Param = Param::required("transaction", Kind::Base64);
/// The node's default is base58, which is deprecated.
pub(super) const BASE64: Param = Param::optional("encoding", Kind::Fixed("base64"));
