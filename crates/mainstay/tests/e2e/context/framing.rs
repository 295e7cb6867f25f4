//! Lines that are too long, too deeply nested or not text; and queries as long as a line allows.

use serde_json::json;

use crate::testing::context_caches::{Caches, Context};

/// The longest line, its newline not counted.
const LONGEST: usize = 1 << 20;
const MIB: u64 = 1 << 20;

fn caches() -> Caches {
    Caches::with("guide", &[("a.md", "alpha beta"), ("b.md", "x x x")])
}

/// A call that is so many bytes long because of its query.
fn call_of(length: usize, word: &str) -> (String, String) {
    let call = |query: &str| {
        let args = json!({"cache": "guide", "query": query, "budget": 100});
        let params = json!({"name": "context.resolve", "arguments": args});
        json!({"jsonrpc": "2.0", "id": "long", "method": "tools/call", "params": params}).to_string()
    };
    let query = word.repeat(length)[..length - call("").len()].to_owned();
    (call(&query), query)
}

fn is_served(server: &mut Context) {
    let pong = server.ask(br#"{"jsonrpc":"2.0","id":"next","method":"ping"}"#);
    assert_eq!(pong, json!({"jsonrpc": "2.0", "id": "next", "result": {}}));
}

#[test]
fn a_line_of_a_mebibyte_is_read_and_one_byte_more_is_not() {
    let caches = caches();
    let mut server = caches.server();
    let parse_error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "Parse error"}});
    let (line, query) = call_of(LONGEST, "alpha");
    assert_eq!(line.len(), LONGEST);
    let answer = server.ask(line.as_bytes());
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(answer["id"], "long");
    let selection: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(selection["selection"]["query"], query);
    assert_eq!(selection["documents"][0]["why"]["query_terms"], json!([query]));
    is_served(&mut server);
    for longer in [LONGEST + 1, LONGEST + 2, 5 * LONGEST] {
        assert_eq!(server.ask(call_of(longer, "alpha").0.as_bytes()), parse_error, "{longer}");
        is_served(&mut server);
    }
    // What counts is the line, not the message in it.
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let padded = |length: usize| " ".repeat(length - ping.len()) + ping;
    assert_eq!(server.ask(padded(LONGEST).as_bytes())["id"], 1);
    assert_eq!(server.ask(padded(LONGEST + 1).as_bytes()), parse_error);
    is_served(&mut server);
}

#[test]
fn an_unterminated_line_is_not_buffered() {
    let caches = caches();
    let mut server = caches.server();
    is_served(&mut server);
    let before = server.piped.peak_memory();
    let part = vec![b'x'; LONGEST];
    for _ in 0..200 {
        server.piped.write_part(&part);
    }
    assert_eq!(server.ask(b"")["error"]["code"], -32700);
    is_served(&mut server);
    let grown = server.piped.peak_memory() - before;
    assert!(grown < 16 * MIB, "it grew by {grown} bytes");
}

#[test]
fn a_line_of_arbitrary_bytes_does_not_affect_the_next() {
    let caches = caches();
    let mut server = caches.server();
    for byte in (0..=u8::MAX).filter(|byte| !byte.is_ascii_whitespace()) {
        let line = [br#"{"jsonrpc":"2.0","id":1,"method":""#.as_slice(), &[byte, byte], br#""}"#].concat();
        server.piped.write(&line);
        let code = server.piped.read().unwrap()["error"]["code"].as_i64().unwrap();
        let sound = (byte.is_ascii_graphic() && byte != b'"') || byte == 0x7f;
        assert_eq!(code, if sound { -32601 } else { -32700 }, "byte {byte}");
    }
    is_served(&mut server);
}

#[test]
fn deep_nesting_is_rejected_everywhere() {
    let caches = caches();
    let mut server = caches.server();
    for depth in [129, 10_000, 500_000] {
        let nest = "[".repeat(depth) + &"]".repeat(depth);
        let lines = [
            nest.clone(),
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{nest}}}"#),
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"context.resolve","arguments":{{"query":{nest}}}}}}}"#
            ),
        ];
        for line in lines {
            assert_eq!(server.ask(line.as_bytes())["error"]["code"], -32700, "{depth}");
        }
        is_served(&mut server);
    }
}

#[test]
fn a_mebibyte_of_terms_does_not_multiply_with_the_documents() {
    let documents: Vec<(String, String)> = (0..600).map(|nth| (format!("{nth}.md"), format!("a {nth}"))).collect();
    let documents: Vec<(&str, &str)> = documents.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let caches = Caches::with("guide", &documents);
    let mut server = caches.server();
    assert!(server.resolve("guide", "a", u64::MAX).is_ok());
    let before = server.piped.peak_memory();
    let query = "a ".repeat(500_000);
    // Half a million terms with each of 600 documents are more than anybody can read.
    assert_eq!(server.resolve("guide", &query, u64::MAX), Err("internal_error".into()));
    let grown = server.piped.peak_memory() - before;
    assert!(grown < 400 * MIB, "it grew by {grown} bytes");
    let few = server.resolve("guide", &query, 1).unwrap();
    assert!(few.contains(r#""documents_selected":1,"#), "{}", &few[few.len() - 200..]);
    is_served(&mut server);
}
