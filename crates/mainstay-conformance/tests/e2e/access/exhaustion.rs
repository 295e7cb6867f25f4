//! What one client can use up, and what is left for others: connections, descriptors, memory, sessions.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use mainstay_store::{Store, StoreOptions};
use serde_json::json;

use crate::access::routes::{Issuer, auth_config};
use crate::consent::approval::{get, with_config};
use crate::testing::program::{Server, command, initialize, wait_until};

/// A connection that has sent this much and goes on no further.
fn unfinished(address: SocketAddr, sent: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(sent).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    stream
}

/// What the server has sent, or `None` if it has neither sent anything nor closed the connection.
fn answer(mut stream: &TcpStream) -> Option<String> {
    let mut buffer = [0; 4096];
    match stream.read(&mut buffer) {
        Ok(read) => Some(String::from_utf8_lossy(&buffer[..read]).into_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => Some(String::new()),
        Err(_) => None,
    }
}

/// Waits for something that is there soon.
fn wait_for<T>(found: impl Fn() -> Option<T>) -> T {
    let kept = std::cell::RefCell::new(None);
    wait_until(|| {
        *kept.borrow_mut() = found();
        kept.borrow().is_some()
    });
    kept.into_inner().unwrap()
}

#[test]
fn idle_connections_make_room_for_others() {
    let data = tempfile::tempdir().unwrap();
    let server = with_config(data.path(), "[server]\nconnections = 4\n");
    // The third is in the middle of its headers.
    let idle: Vec<TcpStream> = [&b""[..], b"", b"GET /health HTTP/1.1\r\nHo", b""]
        .into_iter()
        .map(|sent| unfinished(server.address, sent))
        .collect();
    let mut http = server.connect();
    assert_eq!(get(&mut http, "/health", &[]).status, 200);
    // It waits for none of them to time out: one of them was closed for it.
    assert_eq!(idle.iter().filter_map(answer).count(), 1);
}

#[test]
fn requests_of_unidentified_senders_make_room_for_a_client_with_a_token() {
    let data = tempfile::tempdir().unwrap();
    let server = with_config(data.path(), "[server]\nconnections = 4\n[server.auth]\nmode = \"local\"\n");
    let head = format!(
        "POST /oauth/token HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{",
        server.address
    );
    let pending: Vec<TcpStream> = (0..4).map(|_| unfinished(server.address, head.as_bytes())).collect();
    assert_eq!(get(&mut server.connect(), "/health", &[]).status, 200);
    assert_eq!(pending.iter().filter_map(answer).count(), 1);
}

/// The program with few descriptors.
fn with_descriptors(data: &Path, most: u32, more: &[&str]) -> Server {
    let program = command(data, &[&["serve", "--listen", "127.0.0.1:0"], more].concat());
    let mut limited = Command::new("sh");
    limited.arg("-c").arg(format!("ulimit -n {most} && exec \"$@\"")).arg("sh");
    limited.arg(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    Server::from(limited)
}

#[test]
fn idle_connections_leave_descriptors_for_calls() {
    let data = tempfile::tempdir().unwrap();
    let server = with_descriptors(data.path(), 256, &[]);
    let idle: Vec<TcpStream> = (0..400).map(|_| unfinished(server.address, b"")).collect();
    let mut http = server.connect();
    assert_eq!(get(&mut http, "/health", &[]).status, 200);
    let listed = http.call("files_list", &json!({}));
    assert_eq!(listed["result"]["isError"], false, "{listed}");
    drop(idle);
}

#[test]
fn the_memory_of_unfinished_requests_is_bounded() {
    let data = tempfile::tempdir().unwrap();
    let server = with_config(data.path(), "[server]\nunfinished_bytes = 100000\n");
    let head = format!(
        "POST /rpc HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 90000\r\n\r\n",
        server.address
    );
    let begun = [head.as_bytes(), &vec![b' '; 80_000]].concat();
    let pending: Vec<TcpStream> = (0..2).map(|_| unfinished(server.address, &begun)).collect();
    // Whichever came first has the memory.
    let first_answer = || pending.iter().enumerate().find_map(|(number, stream)| Some((number, answer(stream)?)));
    let (number, said) = wait_for(first_answer);
    assert!(said.starts_with("HTTP/1.1 503") && said.contains("retry-after: 1"), "{said}");
    let mut http = server.connect();
    assert_eq!(get(&mut http, "/health", &[]).status, 200);
    let small = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    assert_eq!(http.rpc("/rpc", &[], &small).status, 200, "what arrives as a whole is served");
    let mut winner = &pending[1 - number];
    winner.write_all(&[b' '; 10_000]).unwrap();
    let said = wait_for(|| answer(winner));
    assert!(said.starts_with("HTTP/1.1 200"), "what was rejected is not the one that came first: {said}");
}

/// The header of a token for this person.
fn bearer(issuer: &Issuer, sub: &str) -> String {
    format!("Bearer {}", issuer.token(&json!({"sub": sub, "scope": "read execute"})))
}

#[test]
fn the_memory_of_responses_that_one_principal_does_not_read_is_bounded_and_others_are_served() {
    // More than the kernel's buffers take.
    const BYTES: usize = 24_000_000;
    let (data, issuer) = (tempfile::tempdir().unwrap(), Issuer::new("a"));
    // One of them is half of a principal's share.
    let config = auth_config(data.path(), &issuer, &format!("[server]\nunsent_bytes = {}\n", 4 * BYTES));
    let server = Server::start(data.path(), &["--config", config.to_str().unwrap()]);
    let (ann, bob) = (bearer(&issuer, "ann"), bearer(&issuer, "bob"));
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "probe/big", "params": {"bytes": BYTES}});
    let call_as = |token: &str| server.connect().rpc("/rpc", &[("Authorization", token)], &call);
    let request = format!(
        "POST /rpc HTTP/1.1\r\nHost: {}\r\nAuthorization: {ann}\r\nContent-Length: {}\r\n\r\n{call}",
        server.address,
        call.to_string().len()
    );
    let mut unread = unfinished(server.address, request.as_bytes());
    // Its response has begun.
    wait_until(|| unread.peek(&mut [0]).is_ok());
    let refused = call_as(&ann);
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{}", refused.body);
    assert!(refused.body.contains("server.unsent_bytes"), "{}", refused.body);
    let served = call_as(&bob);
    assert!(served.status == 200 && served.body.len() > BYTES, "{} {}", served.status, served.body.len());
    unread.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut buffer = vec![0; 1 << 20];
    let mut left = BYTES;
    while left > 0 {
        left = left.saturating_sub(unread.read(&mut buffer).unwrap());
    }
    assert_eq!(call_as(&ann).status, 200, "once it has been read");
}

#[test]
fn commands_of_one_principal_leave_descriptors_for_others() {
    let (data, issuer) = (tempfile::tempdir().unwrap(), Issuer::new("a"));
    let config = auth_config(data.path(), &issuer, "");
    let server = with_descriptors(data.path(), 256, &["--config", config.to_str().unwrap()]);
    let (ann, bob) = (bearer(&issuer, "ann"), bearer(&issuer, "bob"));
    let run = |token: &str, command: &str, args: &[&str]| {
        let params = json!({"command": command, "args": args});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "exec/run", "params": params});
        server.connect().rpc("/rpc", &[("Authorization", token)], &call).message()
    };
    let started = run(&bob, "true", &[]);
    assert_eq!(started["result"]["exit_code"], 0, "{started}");
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..40).map(|_| scope.spawn(|| run(&ann, "sleep", &["5"]))).collect();
        // Some are refused while the others run.
        wait_until(|| running.iter().any(std::thread::ScopedJoinHandle::is_finished));
        let beside = run(&bob, "true", &[]);
        assert_eq!(beside["result"]["exit_code"], 0, "{beside}");
        let ended: Vec<_> = running.into_iter().map(|call| call.join().unwrap()).collect();
        let refused: Vec<_> = ended.iter().filter(|answer| answer["error"].is_object()).collect();
        assert!(!refused.is_empty() && refused.len() < 40, "{}", refused.len());
        for answer in refused {
            assert!(answer["error"].to_string().contains("open files"), "{answer}");
        }
    });
    assert_eq!(run(&ann, "true", &[])["result"]["exit_code"], 0, "its share is free again");
}

#[test]
fn a_rejected_initialize_stores_nothing() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let mut greeting = initialize(1);
    greeting["params"]["clientInfo"]["name"] = json!("x".repeat(4 << 20));
    let rejected = http.post(&[], greeting.to_string().as_bytes()).unwrap();
    assert_eq!(rejected.message()["error"]["code"], -32602, "{}", rejected.body);
    server.kill();
    let file = data.path().join("mainstay.db");
    assert!(std::fs::metadata(&file).unwrap().len() < 4 << 20);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stored = runtime.block_on(async {
        let store = Store::open(&format!("sqlite:{}", file.display()), StoreOptions::default()).await.unwrap();
        store.sessions().count(None, 0).await.unwrap()
    });
    assert_eq!(stored, 0);
}
