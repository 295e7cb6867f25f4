//! Words by which a query is understood. They are English: of a query in another language, the class is always "words".

/// Words that say nothing in a query, beside the stop words of the index.
/// They are words of questions ("how is X handled"). In code, `handle` and `implement` do say something.
const QUERY_STOP_WORDS: [&str; 18] = [
    "during",
    "via",
    "using",
    "used",
    "work",
    "works",
    "without",
    "between",
    "like",
    "implements",
    "implemented",
    "implement",
    "handled",
    "handling",
    "handles",
    "handle",
    "happen",
    "happens",
];

/// What functions do: the first word of a sentence about one.
const VERBS: [&str; 122] = [
    "add",
    "allow",
    "apply",
    "assert",
    "assign",
    "attach",
    "build",
    "calculate",
    "call",
    "cancel",
    "change",
    "check",
    "clear",
    "clone",
    "close",
    "compare",
    "compute",
    "configure",
    "construct",
    "contain",
    "convert",
    "copy",
    "count",
    "create",
    "decode",
    "define",
    "delete",
    "determine",
    "disable",
    "dispatch",
    "display",
    "draw",
    "emit",
    "enable",
    "encode",
    "ensure",
    "execute",
    "expand",
    "extract",
    "fetch",
    "fill",
    "filter",
    "find",
    "flush",
    "format",
    "generate",
    "get",
    "give",
    "handle",
    "indicate",
    "initialize",
    "insert",
    "invoke",
    "iterate",
    "join",
    "list",
    "load",
    "look",
    "make",
    "map",
    "mark",
    "match",
    "merge",
    "move",
    "notify",
    "open",
    "parse",
    "perform",
    "pop",
    "prepare",
    "print",
    "process",
    "produce",
    "provide",
    "push",
    "put",
    "read",
    "register",
    "release",
    "remove",
    "render",
    "replace",
    "report",
    "represent",
    "reset",
    "resolve",
    "retrieve",
    "return",
    "reverse",
    "rewrite",
    "run",
    "save",
    "scan",
    "select",
    "send",
    "serialize",
    "set",
    "shift",
    "show",
    "skip",
    "sort",
    "specify",
    "split",
    "start",
    "stop",
    "store",
    "strip",
    "take",
    "test",
    "throw",
    "transform",
    "trigger",
    "try",
    "update",
    "use",
    "validate",
    "verify",
    "visit",
    "wait",
    "walk",
    "wrap",
    "write",
];

/// Behind a verb they begin its object: "Parse a query", "Check whether it is open". Topics ("parse errors") have none.
const DETERMINERS: [&str; 15] = [
    "a", "an", "the", "this", "these", "given", "all", "each", "any", "every", "whether", "if", "its", "another", "one",
];

pub(super) fn is_query_stop_word(word: &str) -> bool {
    crate::words::is_stop_word(word) || QUERY_STOP_WORDS.contains(&word)
}

pub(super) fn is_verb(word: &str) -> bool {
    VERBS.contains(&word)
}

/// `returns`, `copies`, `matches`.
pub(super) fn is_third_person(word: &str) -> bool {
    let base =
        |ending: &str, with: &str| word.strip_suffix(ending).is_some_and(|stem| is_verb(&format!("{stem}{with}")));
    base("s", "") || base("es", "") || base("ies", "y")
}

pub(super) fn is_determiner(word: &str) -> bool {
    DETERMINERS.contains(&word)
}

/// Whether a word asks for tests or examples.
pub(super) fn is_about_tests(word: &str) -> bool {
    const WORDS: [&str; 15] = [
        "test", "tests", "testing", "spec", "specs", "mock", "mocks", "fixture", "fixtures", "example", "examples",
        "sample", "samples", "demo", "demos",
    ];
    WORDS.contains(&word) || word.starts_with("bench")
}
