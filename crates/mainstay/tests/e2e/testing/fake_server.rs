//! A server that answers as a test wants, and the program run as its client.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::PROGRAM;

/// Runs the program as a client: exit status, standard output, standard error.
pub(crate) fn client(data: &Path, args: &[&str], token: Option<&str>) -> (i32, String, String) {
    let mut command = Command::new(PROGRAM);
    command.args(args).env("XDG_CONFIG_HOME", data).env("XDG_DATA_HOME", data).current_dir(data);
    // What is asked is on this machine, whatever proxy the machine has.
    command.stdin(Stdio::null()).env("NO_PROXY", "*").env_remove("MAINSTAY_TOKEN").env_remove("MAINSTAY_LOG");
    command.envs(token.map(|token| ("MAINSTAY_TOKEN", token)));
    let out = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (out.status.code().unwrap_or(-1), text(out.stdout), text(out.stderr))
}

/// A server that reads one request a connection, answers with these bytes or not at all, and never hangs up.
pub(crate) fn fake_server(answer: impl Fn(&str) -> Option<String> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream);
            let Some(request) = read_request(&mut reader) else { continue };
            let mut stream = reader.into_inner();
            if let Some(answer) = answer(&request) {
                stream.write_all(answer.as_bytes()).unwrap();
            }
            held.push(stream);
        }
    });
    url
}

/// The head and the body, or nothing if the client has gone.
fn read_request(reader: &mut impl BufRead) -> Option<String> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
        head += &line;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(head + "\n" + &String::from_utf8(body).ok()?)
}

pub(crate) fn http(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

pub(crate) fn method_not_found() -> String {
    http("200 OK", r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}"#)
}

/// Whether a request is one of the standard's greetings, the older or the newer one.
pub(crate) fn is_greeting(request: &str) -> bool {
    request.contains("\"initialize\"") || request.contains("\"server/discover\"")
}

/// The id of the request, to answer under.
pub(crate) fn request_id(request: &str) -> u64 {
    let body = request.rsplit_once('\n').unwrap().1;
    serde_json::from_str::<Value>(body).unwrap()["id"].as_u64().unwrap()
}
