//! Lines: what is a message, how long it may be, and what goes back.

use serde_json::{Value, json};

use super::{ask, error, greeted};

/// The contract's longest request.
const MOST: usize = 1024 * 1024;

#[test]
fn what_is_no_message_is_answered_and_the_next_line_is_served() {
    let mut server = greeted();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let bom = format!("\u{feff}{ping}");
    let cases: [(&[u8], i64, &str, Value); 9] = [
        (b"hello", -32700, "", Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi", -32700, "", Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}", -32700, "not UTF-8", Value::Null),
        (bom.as_bytes(), -32700, "byte order mark", Value::Null),
        (b"[]", -32600, "batches", Value::Null),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600, "batches", Value::Null),
        (b"{\"jsonrpc\":\"1.0\",\"id\":\"a\",\"method\":\"ping\"}", -32600, "jsonrpc", json!("a")),
        (b"{\"jsonrpc\":\"2.0\",\"id\":7}", -32600, "", json!(7)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600, "id", Value::Null),
    ];
    for (line, code, word, id) in cases {
        server.write(line);
        let answer = server.read().unwrap();
        let (told, detail) = error(&answer);
        assert_eq!((told, &answer["id"]), (code, &id), "{}", line.escape_ascii());
        assert!(detail.contains(word), "{}: {detail}", line.escape_ascii());
        server.write(ping.as_bytes());
        assert_eq!(server.read().unwrap()["result"], json!({}), "{}", line.escape_ascii());
    }
}

#[test]
fn blank_lines_are_no_messages_and_a_carriage_return_is_white_space() {
    let mut server = greeted();
    for line in ["", "\r", "  \t", "\r\n\n\r"] {
        server.write(line.as_bytes());
    }
    server.write(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\r");
    assert_eq!(server.read_text().unwrap(), "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n");
    server.write_part(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}");
    server.end_input();
    assert_eq!(server.read().unwrap()["id"], 3, "the last line needs no end");
    assert_eq!((server.read(), server.wait()), (None, 0));
}

#[test]
fn ids_are_echoed_as_they_were_written() {
    let mut server = greeted();
    for id in ["0", "-7", "1.50", "1e3", "18446744073709551616", r#""""#, r#""a\u00e9\"b""#, "\"日本\""] {
        server.write(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#).as_bytes());
        assert_eq!(server.read_text().unwrap(), format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n"));
    }
}

/// An echo of exactly this many bytes, with the id before or after the text.
fn echo(length: usize, id_first: bool) -> String {
    let around = |text: &str| {
        if id_first {
            format!(r#"{{"jsonrpc":"2.0","id":"x","method":"probe_echo","params":{{"text":"{text}"}}}}"#)
        } else {
            format!(r#"{{"jsonrpc":"2.0","method":"probe_echo","params":{{"text":"{text}"}},"id":"x"}}"#)
        }
    };
    around(&"y".repeat(length - around("").len()))
}

#[test]
fn a_request_has_a_megabyte_at_most_and_a_longer_one_is_refused_under_its_id() {
    let mut server = greeted();
    for id_first in [true, false] {
        server.write(echo(MOST, id_first).as_bytes());
        assert!(server.read().unwrap()["result"]["text"].is_string());
        for length in [MOST + 1, 8 * MOST] {
            server.write(echo(length, id_first).as_bytes());
            let answer = server.read().unwrap();
            let (code, detail) = error(&answer);
            assert_eq!((code, &answer["id"]), (-32600, &json!("x")), "{length} {id_first}");
            assert!(detail.contains("longer than 1048576 bytes"), "{detail}");
        }
    }
    server.write("z".repeat(2 * MOST).as_bytes());
    let answer = server.read().unwrap();
    assert_eq!((error(&answer).0, &answer["id"]), (-32600, &Value::Null));
    assert_eq!(server.ask(&ask(&json!(1), "ping", &json!({})))["result"], json!({}));
}
