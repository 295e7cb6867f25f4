//! A temporary directory with sources and caches, and the program under each of its names.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::PROGRAM;
use crate::testing::program::{StdioServer, workspace};

/// A way to start the program: under a name of its own, or with words before all others.
pub(crate) struct Invocation {
    name: Option<&'static str>,
    words: &'static [&'static str],
}

pub(crate) const SERVERS: [Invocation; 2] = [
    Invocation { name: Some("mcp-context-server"), words: &[] },
    Invocation { name: None, words: &["stdio", "--dialect", "context"] },
];

pub(crate) const COMMANDS: [Invocation; 2] =
    [Invocation { name: Some("context"), words: &[] }, Invocation { name: None, words: &["context"] }];

/// Words that no answer about an error may have in it: what the system, the language or a library says.
const INSIDE: [&str; 14] = [
    "os error",
    "No such file",
    "Not a directory",
    "Is a directory",
    "ermission denied",
    "oo many levels",
    "panicked",
    "serde",
    "::",
    "Error(",
    "Error {",
    ".rs",
    "line 1",
    "/proc",
];

pub(crate) struct Caches(TempDir);

impl Caches {
    pub(crate) fn new() -> Self {
        let around = tempfile::tempdir().unwrap();
        for folder in ["caches", "sources", "data", "bin"] {
            fs::create_dir(around.path().join(folder)).unwrap();
        }
        for name in SERVERS.iter().chain(&COMMANDS).filter_map(|invocation| invocation.name) {
            symlink(PROGRAM, around.path().join("bin").join(name)).unwrap();
        }
        Self(around)
    }

    /// With one cache, built of these documents.
    pub(crate) fn with(name: &str, documents: &[(&str, &str)]) -> Self {
        let caches = Self::new();
        caches.write(name, documents);
        caches.build(name);
        caches
    }

    /// Something that lies there: sources/…, caches/….
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// The directory in which all of it lies.
    pub(crate) fn around(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path("caches")
    }

    /// Writes documents into the sources of this name.
    pub(crate) fn write(&self, name: &str, documents: &[(&str, &str)]) {
        for (path, content) in documents {
            let path = self.path("sources").join(name).join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }

    /// Makes the cache of this name from the sources of this name.
    pub(crate) fn build(&self, name: &str) {
        self.build_as(name, name);
    }

    pub(crate) fn build_as(&self, sources: &str, cache: &str) {
        let (sources, cache) = (format!("sources/{sources}"), format!("caches/{cache}"));
        let built = self.context(&["build", "--sources", &sources, "--cache", &cache, "--force"]);
        assert!(built.status.success(), "{cache}: {}", String::from_utf8_lossy(&built.stderr));
    }

    /// The program, started in this place; the same sources always give the same cache.
    pub(crate) fn command(&self, invocation: &Invocation) -> Command {
        let mut command =
            Command::new(invocation.name.map_or_else(|| PROGRAM.into(), |name| self.path("bin").join(name)));
        command.args(invocation.words).current_dir(self.0.path());
        for unset in ["MAINSTAY_STORE", "MAINSTAY_CONFIG", "MAINSTAY_TOOLS", "CONTEXT_TOOL_TIMEOUT_SECS"] {
            command.env_remove(unset);
        }
        command.env("MAINSTAY_DATA_DIR", self.path("data")).env("XDG_CONFIG_HOME", self.path("data"));
        command.env("MAINSTAY_WORKSPACE", workspace()).env("MAINSTAY_LOG", "warn");
        command.env("CONTEXT_CACHE_ROOT", self.root()).env("SOURCE_DATE_EPOCH", "1700000000");
        command
    }

    /// Runs the command line to its end.
    pub(crate) fn context<A: AsRef<OsStr>>(&self, args: &[A]) -> Output {
        self.command(&COMMANDS[0]).args(args).stdin(Stdio::null()).output().unwrap()
    }

    /// The answer of the command line.
    pub(crate) fn resolve(&self, cache: &str, query: &str, budget: u64) -> String {
        let (cache, budget) = (self.root().join(cache), budget.to_string());
        let args = ["resolve", "--cache", cache.to_str().unwrap(), "--query", query, "--budget", &budget];
        let out = self.context(&args);
        assert!(out.status.success(), "{query}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    }

    /// Exit status of `verify`, and all it says.
    pub(crate) fn verify(&self, cache: &str) -> (i32, String) {
        let out = self.context(&["verify", "--cache", &format!("caches/{cache}")]);
        let said = String::from_utf8([out.stdout, out.stderr].concat()).unwrap();
        (out.status.code().unwrap(), said)
    }

    /// A server that has been greeted.
    pub(crate) fn server(&self) -> Context {
        self.server_of(self.command(&SERVERS[0]))
    }

    pub(crate) fn server_of(&self, mut command: Command) -> Context {
        let data = tempfile::tempdir().unwrap();
        command.env("MAINSTAY_DATA_DIR", data.path());
        let mut server = Context { piped: StdioServer::from(command, data), around: self.0.path().to_owned() };
        assert!(server.piped.ask(&request("initialize", &json!({})))["result"].is_object());
        server
    }

    /// What a build that did not clean up leaves behind.
    pub(crate) fn left_over(&self) -> Vec<PathBuf> {
        let names = fs::read_dir(self.root()).unwrap().map(|entry| entry.unwrap().path());
        names.filter(|path| path.file_name().unwrap().as_encoded_bytes().starts_with(b".mainstay-")).collect()
    }
}

fn request(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// A server of the dialect, and what may not be heard from it.
pub(crate) struct Context {
    pub(crate) piped: StdioServer,
    around: PathBuf,
}

impl Context {
    /// The text of a result, or the code of a mistake.
    pub(crate) fn call(&mut self, tool: &str, args: &Value) -> Result<String, String> {
        self.call_while(tool, args, |_| ())
    }

    /// The same; something is done to the server once it has been asked.
    pub(crate) fn call_while(
        &mut self,
        tool: &str,
        args: &Value,
        done: impl FnOnce(&StdioServer),
    ) -> Result<String, String> {
        let request = request("tools/call", &json!({"name": tool, "arguments": args}));
        self.piped.write(request.to_string().as_bytes());
        done(&self.piped);
        outcome(&self.piped.read().unwrap(), &self.around)
    }

    pub(crate) fn resolve(&mut self, cache: &str, query: &str, budget: u64) -> Result<String, String> {
        self.call("context.resolve", &json!({"cache": cache, "query": query, "budget": budget}))
    }

    pub(crate) fn inspect(&mut self, cache: &str) -> Result<Value, String> {
        let text = self.call("context.inspect_cache", &json!({"cache": cache}))?;
        Ok(serde_json::from_str(&text).unwrap())
    }

    pub(crate) fn list(&mut self) -> Vec<(String, bool)> {
        let listed: Value = serde_json::from_str(&self.call("context.list_caches", &json!({})).unwrap()).unwrap();
        let entry = |cache: &Value| (cache["path"].as_str().unwrap().to_owned(), cache["has_manifest"] == true);
        listed["caches"].as_array().unwrap().iter().map(entry).collect()
    }

    /// The answer to a line as it stands.
    pub(crate) fn ask(&mut self, line: &[u8]) -> Value {
        self.piped.write(line);
        let answer = self.piped.read().unwrap();
        assert_eq!(leak(&answer.to_string(), &self.around), None);
        answer
    }
}

/// The text of an answer, or its code; an error has nothing in it that is not the contract's.
pub(crate) fn outcome(answer: &Value, around: &Path) -> Result<String, String> {
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    if answer["result"]["isError"] != true {
        return Ok(text);
    }
    assert_eq!(leak(&text, around), None, "{text}");
    let error: Value = serde_json::from_str(&text).unwrap();
    Err(error["error"]["code"].as_str().unwrap().to_owned())
}

/// What an error gives away, if it does.
pub(crate) fn leak(error: &str, around: &Path) -> Option<String> {
    let paths = [around, &std::env::temp_dir()].map(|path| path.to_str().unwrap().to_owned());
    let words = INSIDE.iter().map(|word| (*word).to_owned()).chain(paths);
    words.into_iter().find(|word| error.contains(word))
}

/// Every file beneath a directory, by its path from there.
pub(crate) fn tree(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let Ok(entries) = fs::read_dir(directory) else { return files };
    for entry in entries.map(|entry| entry.unwrap()) {
        let name = PathBuf::from(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            files.extend(tree(&entry.path()).into_iter().map(|(path, bytes)| (name.join(path), bytes)));
        } else {
            files.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    files
}
