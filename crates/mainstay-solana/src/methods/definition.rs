//! What the table says of a method and of its parameters.

use super::Commitment;

/// The most slots that getBlocks and getBlocksWithLimit may cover.
pub(super) const MOST_BLOCKS: u64 = 500_000;

/// The members of a memcmp filter. 128 bytes, the most that a node compares, are at most 175 characters of base58.
pub(super) const MEMCMP: &[Param] = &[
    Param::required("offset", Kind::ANY_INTEGER),
    Param::required("bytes", Kind::Text { max: 175 }),
    Param::optional("encoding", Kind::Choice(&["base58", "base64"])),
];

/// One RPC method.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    pub name: &'static str,
    pub group: Group,
    /// One sentence for a model: what the method returns and when to use it.
    pub about: &'static str,
    /// Whether the method is in the profile "core".
    pub core: bool,
    /// The parameters sent before the options object, in order.
    pub positional: &'static [Param],
    /// The members of the trailing options object.
    pub options: &'static [Param],
    /// Arguments of the tool that are never sent to the node.
    pub local: &'static [Param],
    /// How long an answer may be reused.
    pub cache: CacheClass,
    /// Whether a failed call may be repeated.
    pub retry: RetryClass,
    /// What the call does on the chain, by which the policy decides.
    pub effect: MethodEffect,
    /// Whether the node's result is `{context, value}`.
    pub has_context: bool,
}

/// What a method is about; the groups of the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Group {
    Account,
    Token,
    Transaction,
    Block,
    Cluster,
    Economics,
}

impl Group {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Token => "token",
            Self::Transaction => "transaction",
            Self::Block => "block",
            Self::Cluster => "cluster",
            Self::Economics => "economics",
        }
    }
}

/// How long an answer may be reused. A `null` is never kept, whatever the class: it means "not yet".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CacheClass {
    /// The same for the life of the network.
    Immutable,
    /// The same forever once the call asked for finalized state; otherwise not reusable.
    ImmutableIfFinalized,
    /// Valid for the slot in the answer's context. Only methods with a context have this class.
    Slot,
    /// Every call asks the node.
    Never,
}

/// Whether a call that failed on the way may be made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RetryClass {
    /// Repeating the call changes nothing on the chain.
    Read,
    /// The first call may have taken effect although its answer was lost.
    Never,
}

/// What a call does on the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MethodEffect {
    Reads,
    /// Runs a transaction on the node without changing the chain.
    Simulates,
    /// Spends what the transaction's signers have signed for.
    Sends,
    /// Creates lamports on a test network.
    Airdrops,
}

/// One parameter.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    pub name: &'static str,
    /// For the schema; empty where name and type say enough, because every description costs tokens in each session.
    pub about: &'static str,
    pub required: bool,
    pub kind: Kind,
    /// What is sent if the argument is not given. Without one the member is left out, and the node decides.
    pub default: Option<DefaultValue>,
}

impl Param {
    pub const fn required(name: &'static str, kind: Kind) -> Self {
        Self { name, about: "", required: true, kind, default: None }
    }

    pub const fn optional(name: &'static str, kind: Kind) -> Self {
        Self { name, about: "", required: false, kind, default: None }
    }

    /// With a description for the schema.
    pub const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    /// With a value that is sent if the argument is not given.
    pub const fn default(self, default: DefaultValue) -> Self {
        Self { default: Some(default), ..self }
    }
}

/// The type of a parameter, with its limits.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// 32 bytes in base58: the address of an account, a program, a mint or a validator.
    Address,
    /// 64 bytes in base58.
    Signature,
    /// 32 bytes in base58.
    Blockhash,
    /// A transaction or a message in base64.
    Base64,
    /// `max` is inclusive; [`Kind::ANY_INTEGER`] has no limit of its own.
    Integer {
        min: u64,
        max: u64,
    },
    Boolean,
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// A commitment level that is at least this settled.
    Commitment(Commitment),
    /// Printable ASCII of at most this many characters.
    Text {
        max: usize,
    },
    /// `min` to `max` items.
    List {
        of: &'static Kind,
        min: usize,
        max: usize,
    },
    /// An object with these members and no other.
    Object(&'static [Param]),
    /// An object with exactly one of these members. As a positional parameter its members are arguments of the tool.
    OneOf(&'static [Param]),
    /// Bytes to compare account data with: `{offset, bytes, encoding}`.
    Memcmp,
    /// Always sent with this value, and no argument of the tool.
    Fixed(&'static str),
}

impl Kind {
    pub const ANY_INTEGER: Self = Self::Integer { min: 0, max: u64::MAX };
}

/// A value that is sent for an argument that is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultValue {
    Text(&'static str),
    Integer(u64),
    Boolean(bool),
}

impl From<DefaultValue> for serde_json::Value {
    fn from(default: DefaultValue) -> Self {
        match default {
            DefaultValue::Text(text) => text.into(),
            DefaultValue::Integer(number) => number.into(),
            DefaultValue::Boolean(flag) => flag.into(),
        }
    }
}

impl Method {
    /// The arguments of the tool, in the order of the declaration: what is positional, then options, then what is local.
    pub fn arguments(&self) -> impl Iterator<Item = &'static Param> + Clone + use<> {
        let positional = self.positional.iter().flat_map(|param| match param.kind {
            // Its members are the arguments: `mint` or `programId`.
            Kind::OneOf(members) => members.iter(),
            Kind::Address
            | Kind::Signature
            | Kind::Blockhash
            | Kind::Base64
            | Kind::Integer { .. }
            | Kind::Boolean
            | Kind::Choice(_)
            | Kind::Commitment(_)
            | Kind::Text { .. }
            | Kind::List { .. }
            | Kind::Object(_)
            | Kind::Memcmp
            | Kind::Fixed(_) => std::slice::from_ref(param).iter(),
        });
        let named = |param: &&Param| !matches!(param.kind, Kind::Fixed(_));
        positional.chain(self.options).chain(self.local).filter(named)
    }

    /// Whether the method takes this option.
    pub fn takes_option(&self, name: &str) -> bool {
        self.options.iter().any(|param| param.name == name)
    }
}
