//! What our nine templates generate, used by the programs it is for.

use std::path::Path;
use std::process::{Command, Stdio};

use mainstay_core::Reason;
use serde_json::{Value, json};

use super::generated;

const TOOLCHAINS: [&str; 3] = ["rust", "deno", "python-uv"];

/// Runs make in a directory and returns what it printed.
fn make(directory: &Path, args: &[&str]) -> String {
    let mut make = Command::new("make");
    make.args(args).current_dir(directory).env("LC_ALL", "C");
    // Variables of whoever runs the tests would replace those of the Makefile; cargo sets one of them.
    for name in ["CARGO", "DENO", "UV", "TARGET", "FEATURES", "ARGS", "PERMISSIONS", "ENTRY_POINT", "MAKEFLAGS"] {
        make.env_remove(name);
    }
    let output = make.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "make {args:?}: {}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(text(&output.stderr), "", "make {args:?}");
    text(&output.stdout)
}

/// Parameters of each Makefile: without optional ones, with all of them, and both values of each switch.
fn makefile_parameters(toolchain: &str) -> Vec<Value> {
    let name = |name: &str| json!({ "project_name": name });
    let mut all = vec![name("demo"), name("A.b_c-1"), name("3d")];
    for tests in [true, false] {
        match toolchain {
            "rust" => {
                for bench in [true, false] {
                    for target in [Value::Null, json!("x86_64-unknown-linux-musl")] {
                        for features in [json!([]), json!(["cli", "serde/derive"])] {
                            for args in [Value::Null, json!("--level=3 in.txt")] {
                                all.push(json!({"project_name": "demo", "has_tests": tests, "has_benchmarks": bench,
                                    "target": target, "features": features, "default_args": args}));
                            }
                        }
                    }
                }
            }
            "deno" => {
                for permissions in
                    [json!([]), json!(["-A"]), json!(["--allow-net=example.com:443,x.org", "--allow-run"])]
                {
                    all.push(json!({"project_name": "demo", "has_tests": tests, "entry_point": "src/main.ts",
                        "permissions": permissions}));
                }
            }
            _ => all.push(json!({"project_name": "demo", "has_tests": tests, "python_version": "3.13",
                "entry_point": "demo.cli"})),
        }
    }
    all
}

#[test]
fn generated_makefiles_run() {
    for toolchain in TOOLCHAINS {
        for parameters in makefile_parameters(toolchain) {
            let directory = tempfile::tempdir().unwrap();
            let made = generated(&format!("template://makefile/{toolchain}/cli"), &parameters).unwrap();
            let text = &made.content;
            assert_eq!(made.filename, format!("{}/Makefile", parameters["project_name"].as_str().unwrap()));
            assert!(!text.contains("{{") && !text.contains("{%") && !text.contains("\n\n\n"), "{text}");
            std::fs::write(directory.path().join("Makefile"), text).unwrap();
            let help = make(directory.path(), &["help"]);
            assert_eq!(make(directory.path(), &[]), help, "help is the default");
            let listed: Vec<&str> = help.lines().filter_map(|line| line.split_whitespace().next()).collect();
            let phony = text.lines().find_map(|line| line.strip_prefix(".PHONY: ")).unwrap();
            assert_eq!(phony.split_whitespace().collect::<Vec<_>>(), listed, "all targets are phony and described");
            let has_tests = parameters["has_tests"] != json!(false);
            assert_eq!(listed.contains(&"test"), has_tests);
            // A file of the same name must not keep a target from being made.
            for target in &listed {
                std::fs::write(directory.path().join(target), "").unwrap();
                assert_ne!(make(directory.path(), &["-n", target]), "", "{target}");
            }
            let plan = make(directory.path(), &["-n", "all"]);
            let tests = ["cargo test", "deno test", "pytest"].iter().any(|command| plan.contains(command));
            assert_eq!(tests, has_tests, "{plan}");
        }
    }
}

#[test]
fn parameters_appear_in_the_commands_of_a_makefile() {
    let commands = |toolchain: &str, parameters: Value, target: &str| {
        let directory = tempfile::tempdir().unwrap();
        let made = generated(&format!("template://makefile/{toolchain}/cli"), &parameters).unwrap();
        std::fs::write(directory.path().join("Makefile"), made.content).unwrap();
        make(directory.path(), &["-n", target])
    };
    let rust =
        json!({"project_name": "demo", "target": "wasm32-wasip1", "features": ["a", "b"], "default_args": "-v x"});
    assert_eq!(commands("rust", rust, "run"), "cargo run --target wasm32-wasip1 --features a,b -- -v x\n");
    assert_eq!(commands("rust", json!({"project_name": "demo"}), "release"), "cargo build --release \n");
    let deno = json!({"project_name": "demo", "entry_point": "app.ts"});
    assert_eq!(commands("deno", deno, "run"), "deno run --allow-read --allow-write app.ts \n");
    let python = json!({"project_name": "demo"});
    assert_eq!(commands("python-uv", python, "run"), "uv run --python 3.12 python -m main \n");
}

#[test]
fn nothing_that_make_or_a_shell_would_run_gets_into_a_makefile() {
    let hostile = [
        "$(shell id)",
        "a;id",
        "a b",
        "a`id`",
        "a\nall:\n\tid",
        "../x",
        "a/b",
        "a#b",
        "-x",
        ".",
        "..",
        "",
        "ü",
        "a'b",
        "a\"b",
        "a&b",
        "a|b",
        "a:b",
        "a%b",
        "a\\b",
        "a\0b",
    ];
    let makefile =
        |toolchain: &str, parameters: Value| generated(&format!("template://makefile/{toolchain}/cli"), &parameters);
    for value in hostile {
        for toolchain in TOOLCHAINS {
            let error = makefile(toolchain, json!({ "project_name": value })).unwrap_err();
            assert!(matches!(*error.reason.unwrap(), Reason::TemplateParameters(_)), "{value:?}");
            assert!(error.public.contains("/project_name"), "{}", error.public);
        }
        let with = |parameter: &str, value: Value| json!({"project_name": "demo", parameter: value});
        if !["a b", "a:b", "a%b", "-x", ".", "..", "../x", "a/b", ""].contains(&value) {
            assert!(makefile("rust", with("default_args", json!(value))).is_err(), "{value:?}");
        }
        if !["..", ".", "-x", ""].contains(&value) && !value.contains('/') {
            assert!(makefile("deno", with("entry_point", json!(value))).is_err(), "{value:?}");
        }
        assert!(makefile("rust", with("target", json!(value))).is_err(), "{value:?}");
        assert!(makefile("rust", with("features", json!([value]))).is_err() || value == "a/b", "{value:?}");
        assert!(makefile("deno", with("permissions", json!([value]))).is_err(), "{value:?}");
        assert!(makefile("python-uv", with("entry_point", json!(value))).is_err(), "{value:?}");
        assert!(makefile("python-uv", with("python_version", json!(value))).is_err(), "{value:?}");
    }
}

/// Which of these paths git ignores with this .gitignore.
fn ignored<'a>(gitignore: &str, paths: &[&'a str]) -> Vec<&'a str> {
    let repository = tempfile::tempdir().unwrap();
    let git = || {
        let mut git = Command::new("git");
        // Settings of the person who runs the tests must not decide what is ignored.
        git.current_dir(repository.path()).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        git.stderr(Stdio::inherit());
        git
    };
    assert!(git().args(["init", "-q"]).status().unwrap().success());
    std::fs::write(repository.path().join(".gitignore"), gitignore).unwrap();
    for path in paths {
        let path = repository.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    let output = git().arg("check-ignore").args(paths).output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    paths.iter().copied().filter(|path| output.lines().any(|line| line == *path)).collect()
}

#[test]
fn git_ignores_what_a_toolchain_leaves_and_nothing_of_the_project() {
    let common = [".env", ".env.local", ".idea/workspace.xml", ".vscode/ipch/x", "src/a.swp", ".DS_Store", "Thumbs.db"];
    let kept_everywhere =
        [".env.example", ".vscode/settings.json", "README.md", "Makefile", ".gitignore", "docs/target.md"];
    let cases: [(&str, &[&str], &[&str]); 3] = [
        (
            "rust",
            &["target/debug/demo", "crates/a/target/x", "src/main.rs.bk", "default_1.profraw", "lcov.info"],
            &["Cargo.toml", "Cargo.lock", "src/main.rs", "src/target.rs", "benches/a.rs", "build.rs", "firmware.bin"],
        ),
        (
            "deno",
            &["node_modules/a/b.js", "dist/demo", "coverage/x", "debug.log"],
            &["deno.json", "deno.lock", "main.ts", "src/a.ts", "import_map.json", "vendor/x.ts"],
        ),
        (
            "python-uv",
            &[
                "__pycache__/a.cpython-312.pyc",
                "src/__pycache__/b.pyc",
                ".venv/bin/python",
                "dist/demo.whl",
                "build/x",
                "demo.egg-info/PKG-INFO",
                ".pytest_cache/x",
                ".ruff_cache/x",
                ".mypy_cache/x",
                ".coverage",
                "htmlcov/index.html",
            ],
            &["pyproject.toml", "uv.lock", ".python-version", "main.py", "src/demo/cli.py", "tests/test_a.py"],
        ),
    ];
    for (toolchain, left, kept) in cases {
        let made = generated(&format!("template://gitignore/{toolchain}/cli"), &json!({})).unwrap();
        assert_eq!(made.filename, ".gitignore");
        assert!(made.content.ends_with('\n') && !made.content.contains("\n\n\n"), "{}", made.content);
        let left: Vec<&str> = common.iter().chain(left).copied().collect();
        let kept: Vec<&str> = kept_everywhere.iter().chain(kept).copied().collect();
        assert_eq!(ignored(&made.content, &left), left, "{toolchain}");
        assert_eq!(ignored(&made.content, &kept), Vec::<&str>::new(), "{toolchain}");
    }
}

#[test]
fn patterns_of_the_caller_are_added_to_the_gitignore_of_rust() {
    let lists = ["ide_files", "build_artifacts", "language_specific", "os_specific", "custom_patterns"];
    let mut parameters =
        json!({"project_type": "firmware", "project_name": "demo", "embedded_targets": ["thumbv7m-none-eabi"]});
    for list in lists {
        parameters[list] = json!([format!("{list}/"), format!("*.{list}")]);
    }
    let made = generated("template://gitignore/rust/cli", &parameters).unwrap();
    assert_eq!(made.filename, "demo/.gitignore");
    assert!(made.content.starts_with("# What git ignores in this Rust project (firmware)\n"), "{}", made.content);
    let mut paths: Vec<String> = lists.iter().flat_map(|list| [format!("{list}/x"), format!("x.{list}")]).collect();
    paths.extend(["thumbv7m-none-eabi/x", "firmware.bin", "a/firmware.hex"].map(str::to_owned));
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    assert_eq!(ignored(&made.content, &paths), paths);
    assert!(generated("template://gitignore/rust/cli", &json!({"custom_patterns": ["a\n!target/"]})).is_err());
}

#[test]
fn readme_has_what_was_given_and_no_empty_sections() {
    let least = json!({"project_name": "demo", "description": "Does <things> & more."});
    let all = json!({"project_name": "demo", "description": "Does <things> & more.\n", "features": ["Fast", "Small"],
        "rust_version": "1.85", "install_command": "cargo install demo", "usage_example": "demo a\n```\ndemo b",
        "prerequisites": ["OpenSSL 3"], "build_command": "cargo build", "test_command": "cargo test",
        "license": "Apache-2.0", "author": "Ann <ann@example.com>"});
    let named = json!({"project_name": "demo"});
    let described = json!({"project_name": "demo", "description": "D.", "author_name": "Ann"});
    let cases = [
        ("rust", &least, vec!["Prerequisites", "Installation", "Usage", "Development", "License"]),
        ("rust", &all, vec!["Features", "Prerequisites", "Installation", "Usage", "Development", "License", "Author"]),
        ("deno", &named, vec!["Prerequisites", "Usage", "Development"]),
        ("deno", &described, vec!["Prerequisites", "Usage", "Development", "Author"]),
        ("python-uv", &named, vec!["Prerequisites", "Installation", "Usage", "Development"]),
        ("python-uv", &described, vec!["Prerequisites", "Installation", "Usage", "Development", "Author"]),
    ];
    for (toolchain, parameters, sections) in cases {
        let made = generated(&format!("template://readme/{toolchain}/cli"), parameters).unwrap();
        let text = made.content;
        assert_eq!(made.filename, "demo/README.md");
        let found: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(found, sections, "{text}");
        assert!(text.starts_with("# demo\n\n") && text.ends_with('\n') && !text.ends_with("\n\n"), "{text}");
        assert!(!text.contains("\n\n\n") && !text.contains("{%"), "{text}");
        // Each heading is followed by an empty line and a text.
        for section in text.split("\n## ").skip(1) {
            assert!(section.split_once("\n\n").is_some_and(|(_, body)| !body.trim().is_empty()), "{section}");
        }
    }
    let text = generated("template://readme/rust/cli", &all).unwrap().content;
    for says in [
        "Does <things> & more.\n",
        "- Fast\n- Small\n",
        "Rust 1.85 or later",
        "- OpenSSL 3\n",
        "cargo install demo",
        "````sh\ndemo a\n```\ndemo b\n````",
        "cargo build\ncargo test\n",
        "Apache-2.0",
        "Ann <ann@example.com>\n",
    ] {
        assert!(text.contains(says), "{says}: {text}");
    }
    let error = generated("template://readme/rust/cli", &json!({})).unwrap_err();
    assert!(error.public.contains("2 problems"), "{}", error.public);
}
