//! The five tools, the resources and the prompts, as a client uses them.

use mainstay_core::{Effect, Kind, Reason, Scope, hex};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{Sample, files};

const MAKEFILE: &str = "template://makefile/rust/cli";

fn text(reply: &mainstay_core::Reply) -> &str {
    let [block] = reply.content.as_slice() else { panic!("{reply:?}") };
    block.as_text().unwrap()
}

#[tokio::test]
async fn generate_returns_the_file_as_text_and_what_belongs_to_it_as_a_value() {
    let sample = Sample::new().await;
    let args = json!({"resource_uri": MAKEFILE, "parameters": {"project_name": "my-project", "has_tests": true}});
    let reply = sample.call("generate_template", args).await.unwrap();
    let content = text(&reply).to_owned();
    assert!(content.starts_with("# Makefile of my-project."), "{content}");
    let expected = json!({"content": content, "filename": "my-project/Makefile",
        "checksum": hex(&Sha256::digest(&content)), "toolchain": "rust"});
    assert_eq!(reply.structured.unwrap(), expected);
}

#[tokio::test]
async fn each_kind_of_mistake_has_its_reason() {
    let sample = Sample::new().await;
    for tool in ["generate_template", "validate_template"] {
        let fail = async |uri: &str| {
            let args = json!({"resource_uri": uri, "parameters": {"project_name": "x"}});
            let error = sample.call(tool, args).await.unwrap_err();
            (error.kind, *error.reason.unwrap())
        };
        let missing = "template://makefile/fortran/cli";
        assert_eq!(fail(missing).await, (Kind::NotFound, Reason::TemplateNotFound { uri: missing.into() }));
        for uri in ["template://makefile/../x", "makefile", "file:///etc/passwd"] {
            let (kind, reason) = fail(uri).await;
            assert!(kind == Kind::Invalid && matches!(reason, Reason::InvalidTemplateUri { .. }), "{uri}");
        }
    }
    let error =
        sample.call("generate_template", json!({"resource_uri": MAKEFILE, "parameters": {"has_tests": 3, "x": 1}}));
    let Reason::TemplateParameters(problems) = *error.await.unwrap_err().reason.unwrap() else { panic!() };
    assert_eq!(problems.len(), 3, "{problems:?}");
}

#[tokio::test]
async fn validate_lists_every_problem_and_is_no_error() {
    let sample = Sample::new().await;
    let check = async |parameters: Value| {
        sample.value("validate_template", json!({"resource_uri": MAKEFILE, "parameters": parameters})).await
    };
    assert_eq!(check(json!({"project_name": "demo"})).await, json!({"valid": true, "errors": []}));
    let wrong = check(json!({"project_name": "a b", "has_tests": "yes", "colour": "red"})).await;
    assert_eq!((&wrong["valid"], wrong["errors"].as_array().unwrap().len()), (&json!(false), 3), "{wrong}");
    assert!(wrong.to_string().contains("letters, digits"), "the pattern is explained: {wrong}");
}

#[tokio::test]
async fn list_filters_and_pages() {
    let sample = Sample::new().await;
    let reply = sample.call("list_templates", json!({})).await.unwrap();
    assert!(
        text(&reply)
            .contains("template://makefile/deno/cli Deno CLI Makefile (project_name*, entry_point = \"main.ts\", "),
        "{}",
        text(&reply)
    );
    let value = reply.structured.unwrap();
    assert_eq!((&value["count"], value["templates"].as_array().unwrap().len()), (&json!(9), 9));
    let makefile = value["templates"].as_array().unwrap().iter().find(|one| one["uri"] == MAKEFILE).unwrap();
    assert_eq!(makefile["name"], "Rust CLI Makefile");
    assert_eq!(makefile["description"], "Professional Makefile template for Rust CLI projects");
    assert_eq!((&makefile["category"], &makefile["toolchain"]), (&json!("makefile"), &json!("rust")));
    assert_eq!(makefile["parameters"]["required"], json!(["project_name"]));
    assert_eq!(makefile["parameters"]["properties"]["has_tests"]["default"], true);
    let rust = sample.value("list_templates", json!({"toolchain": "rust"})).await;
    assert_eq!(rust["count"], 3);
    let one = sample.value("list_templates", json!({"toolchain": "deno", "category": "readme"})).await;
    assert_eq!((&one["count"], &one["templates"][0]["uri"]), (&json!(1), &json!("template://readme/deno/cli")));
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = sample.value("list_templates", json!({"limit": 2, "cursor": cursor})).await;
        assert_eq!(page["count"], 9);
        seen.extend(page["templates"].as_array().unwrap().iter().map(|one| one["uri"].as_str().unwrap().to_owned()));
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    seen.dedup();
    assert_eq!(seen.len(), 9, "{seen:?}");
    for wrong in [json!({"toolchain": "fortran"}), json!({"category": "x"}), json!({"limit": 0})] {
        assert_eq!(sample.call("list_templates", wrong).await.unwrap_err().kind, Kind::Invalid);
    }
}

#[tokio::test]
async fn search_returns_the_most_relevant_first() {
    let sample = Sample::new().await;
    let found = async |args: Value| {
        let value = sample.value("search_templates", args).await;
        assert_eq!(value["count"], value["templates"].as_array().unwrap().len());
        let templates = value["templates"].as_array().unwrap().clone();
        templates
            .iter()
            .map(|one| (one["uri"].as_str().unwrap().to_owned(), one["relevance"].as_u64().unwrap()))
            .collect::<Vec<_>>()
    };
    let makefiles = found(json!({"query": "Makefile"})).await;
    assert_eq!(makefiles, ["deno", "python-uv", "rust"].map(|name| (format!("template://makefile/{name}/cli"), 8)));
    let exact = found(json!({"query": "rust cli makefile"})).await;
    assert_eq!(exact, [(MAKEFILE.to_owned(), 10)]);
    let features = found(json!({"query": "features", "toolchain": "rust"})).await;
    assert_eq!(features, [(MAKEFILE.to_owned(), 1), ("template://readme/rust/cli".to_owned(), 1)]);
    let mixed = found(json!({"query": "project"})).await;
    assert!(mixed.is_sorted_by_key(|(_, relevance)| std::cmp::Reverse(*relevance)), "{mixed:?}");
    assert!(found(json!({"query": "fortran"})).await.is_empty());
    for wrong in [json!({"query": " "}), json!({"query": "x".repeat(1_000_000)})] {
        assert_eq!(sample.call("search_templates", wrong).await.unwrap_err().kind, Kind::Invalid);
    }
}

fn rust_project() -> Value {
    json!({"toolchain": "rust", "templates": ["makefile", "readme", "gitignore"],
        "parameters": {"project_name": "demo", "description": "A demo", "has_benchmarks": true}})
}

fn with(mut args: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        args[name] = value.clone();
    }
    args
}

#[tokio::test]
async fn scaffold_returns_the_files_and_gives_each_template_what_it_knows() {
    let sample = Sample::new().await;
    let reply = sample.call("scaffold_project", rust_project()).await.unwrap();
    assert!(text(&reply).contains("==> demo/README.md <==\n# demo\n"), "{}", text(&reply));
    let value = reply.structured.unwrap();
    let paths: Vec<&str> =
        value["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["demo/Makefile", "demo/README.md", "demo/.gitignore"]);
    assert_eq!(value["errors"], json!([]));
    for file in value["files"].as_array().unwrap() {
        assert_eq!(file["checksum"], hex(&Sha256::digest(file["content"].as_str().unwrap())));
        assert!(file["template"].as_str().unwrap().starts_with("template://"));
    }
    assert!(value["files"][0]["content"].as_str().unwrap().contains("bench:"));
    assert!(files(&sample.workspace()).is_empty());
    let all = sample.value("scaffold_project", with(rust_project(), &json!({"templates": []}))).await;
    assert_eq!(all["files"].as_array().unwrap().len(), 3, "all templates of the toolchain");
}

#[tokio::test]
async fn a_parameter_with_a_category_is_for_that_template_alone() {
    let sample = Sample::new().await;
    let parameters =
        json!({"project_name": "demo", "description": "d", "features": ["cli"], "readme.features": ["Fast and small"]});
    let value = sample.value("scaffold_project", with(rust_project(), &json!({ "parameters": parameters }))).await;
    assert_eq!(value["errors"], json!([]));
    let content = |at: usize| value["files"][at]["content"].as_str().unwrap();
    assert!(content(0).contains("FEATURES ?= cli\n") && content(1).contains("- Fast and small\n"), "{value}");
    for unknown in ["licence.features", "makefile.description", "readme.", ".features", "readme.readme.features"] {
        let parameters = json!({"project_name": "demo", "description": "d", unknown: ["x"]});
        let error = sample
            .call("scaffold_project", with(rust_project(), &json!({ "parameters": parameters })))
            .await
            .unwrap_err();
        assert!(error.public.contains(&format!("{unknown:?} is not a parameter")), "{error}");
    }
}

#[tokio::test]
async fn scaffold_reports_what_fails_beside_what_works() {
    let sample = Sample::new().await;
    let args = json!({"toolchain": "rust", "templates": ["makefile", "readme", "licence", MAKEFILE, "template://readme/deno/cli"],
        "parameters": {"project_name": "demo"}});
    let value = sample.value("scaffold_project", args).await;
    assert_eq!(value["files"].as_array().unwrap().len(), 1);
    let failed: Vec<&str> =
        value["errors"].as_array().unwrap().iter().map(|one| one["template"].as_str().unwrap()).collect();
    assert_eq!(failed, ["licence", "template://readme/deno/cli", "readme", MAKEFILE]);
    assert!(value["errors"][2]["error"].as_str().unwrap().contains("description"), "{value}");
    // Where nothing works, the call fails with everything that is wrong.
    let error = sample
        .call("scaffold_project", json!({"toolchain": "rust", "templates": ["makefile", "readme"]}))
        .await
        .unwrap_err();
    let Reason::TemplateParameters(problems) = *error.reason.unwrap() else { panic!() };
    assert_eq!(problems.len(), 3, "{problems:?}");
    let error =
        sample.call("scaffold_project", json!({"toolchain": "rust", "templates": ["makefil"]})).await.unwrap_err();
    assert!(error.public.contains("Did you mean makefile?"), "{error}");
    assert_eq!(*error.reason.unwrap(), Reason::TemplateNotFound { uri: "makefil".into() });
}

#[tokio::test]
async fn a_parameter_that_no_template_knows_is_an_error() {
    let sample = Sample::new().await;
    let parameters = json!({"project_name": "demo", "description": "d", "colour": 1, "size": 2});
    let error =
        sample.call("scaffold_project", with(rust_project(), &json!({ "parameters": parameters }))).await.unwrap_err();
    let Reason::TemplateParameters(problems) = *error.reason.unwrap() else { panic!() };
    let unknown: Vec<_> = problems.iter().map(|problem| problem.property.clone().unwrap()).collect();
    assert_eq!(unknown, ["colour", "size"]);
    let error = sample.call("scaffold_project", json!({"toolchain": "cobol", "templates": []})).await.unwrap_err();
    assert_eq!(error.field_name(), Some("toolchain"));
}

#[tokio::test]
async fn scaffold_writes_all_files_after_a_dry_run_that_shows_them() {
    let sample = Sample::new().await;
    let dry = sample
        .call("scaffold_project", with(rust_project(), &json!({"write_to": "new/", "dry_run": true})))
        .await
        .unwrap();
    assert!(
        text(&dry).contains("new/demo/Makefile: would be created") && text(&dry).contains("+++ b/new/demo/README.md"),
        "{}",
        text(&dry)
    );
    assert!(files(&sample.workspace()).is_empty());
    let args = with(rust_project(), &json!({"write_to": "new"}));
    let value = sample.value("scaffold_project", args.clone()).await;
    assert_eq!(value["files"][0]["what"], "created");
    assert!(value["files"][0].get("content").is_none() && value["diff"].is_null());
    let written = files(&sample.workspace());
    let paths: Vec<&str> = written.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["new/demo/.gitignore", "new/demo/Makefile", "new/demo/README.md"]);
    for file in value["files"].as_array().unwrap() {
        let (_, content) = written.iter().find(|(path, _)| file["path"] == path.as_str()).unwrap();
        assert_eq!(file["checksum"], hex(&Sha256::digest(content)));
    }
    // The same call again finds its own files, which is no conflict.
    let again = sample.value("scaffold_project", args).await;
    assert_eq!(again["files"][2]["what"], "unchanged");
    assert_eq!(files(&sample.workspace()), written);
}

#[tokio::test]
async fn files_that_exist_are_all_named_and_nothing_is_written() {
    let sample = Sample::new().await;
    let project = sample.workspace().join("demo");
    std::fs::create_dir(&project).unwrap();
    for name in ["README.md", "Makefile"] {
        std::fs::write(project.join(name), "mine").unwrap();
    }
    let before = files(&sample.workspace());
    let args = with(rust_project(), &json!({"write_to": "."}));
    for dry_run in [true, false] {
        let args = with(args.clone(), &json!({ "dry_run": dry_run }));
        let error = sample.call("scaffold_project", args).await.unwrap_err();
        assert_eq!(error.kind, Kind::Conflict);
        assert!(error.public.contains("demo/Makefile, demo/README.md"), "{error}");
        assert_eq!(files(&sample.workspace()), before);
    }
    let value = sample.value("scaffold_project", with(args, &json!({"overwrite": true}))).await;
    let what: Vec<&Value> = value["files"].as_array().unwrap().iter().map(|file| &file["what"]).collect();
    assert_eq!(what, ["overwritten", "overwritten", "created"]);
}

#[tokio::test]
async fn nothing_is_written_outside_of_the_workspace_or_if_a_template_fails() {
    let sample = Sample::with_files_settings(|settings| settings.change_paths = 10).await;
    std::os::unix::fs::symlink(sample.own(), sample.workspace().join("out")).unwrap();
    for directory in ["..", "../own", "/tmp", "out", "a/../../own"] {
        let error =
            sample.call("scaffold_project", with(rust_project(), &json!({ "write_to": directory }))).await.unwrap_err();
        assert!(matches!(error.kind, Kind::Denied | Kind::Invalid | Kind::NotFound), "{directory}: {error}");
    }
    let partial = with(rust_project(), &json!({"write_to": ".", "parameters": {"project_name": "demo"}}));
    let error = sample.call("scaffold_project", partial).await.unwrap_err();
    assert!(error.public.contains("description"), "{error}");
    let in_the_way = sample.workspace().join("demo");
    std::fs::write(&in_the_way, "a file").unwrap();
    assert!(sample.call("scaffold_project", with(rust_project(), &json!({"write_to": "."}))).await.is_err());
    std::fs::remove_file(in_the_way).unwrap();
    std::fs::create_dir_all(sample.workspace().join("demo/README.md")).unwrap();
    assert!(sample.call("scaffold_project", with(rust_project(), &json!({"write_to": "."}))).await.is_err());
    assert!(files(&sample.workspace()).is_empty() && files(&sample.own()).is_empty());
}

#[tokio::test]
async fn only_a_call_that_writes_needs_permission_to_write() {
    let sample = Sample::new().await;
    let tool = sample.family.tools.iter().find(|tool| tool.info().verb == "scaffold").unwrap().info().clone();
    let effect = |more: Value| tool.effect_of(&with(rust_project(), &more));
    assert_eq!(tool.effect.scope(), Scope::Write, "no client takes it for harmless");
    assert_eq!(effect(json!({})), Effect::Reads);
    assert_eq!(effect(json!({"write_to": null})), Effect::Reads);
    assert_eq!(effect(json!({"write_to": "."})), Effect::Writes);
    assert_eq!(effect(json!({"write_to": ".", "dry_run": true})), Effect::Reads);
    let others = sample.family.tools.iter().filter(|other| other.info().verb != "scaffold");
    assert!(others.map(|other| other.info().effect).all(|effect| effect == Effect::Reads));
}

#[tokio::test]
async fn templates_are_resources() {
    let sample = Sample::new().await;
    let provider = &sample.family.resources[0];
    let listed = provider.list_fresh().await;
    assert_eq!(listed.len(), 9);
    let makefile = listed.iter().find(|info| info.uri == MAKEFILE).unwrap();
    assert_eq!((makefile.name.as_str(), makefile.mime.as_deref()), ("Rust CLI Makefile", Some("text/x-makefile")));
    assert!(sample.read(MAKEFILE).await.unwrap().contains("{{ project_name }}"));
    for uri in ["template://makefile/../x", "template://a/b/c", "template://", "template:///etc/passwd"] {
        assert!(provider.owns(uri) && sample.read(uri).await.is_err(), "{uri}");
    }
    let others = [("category".to_owned(), "readme".to_owned())].into();
    let template = provider.templates().remove(0).uri;
    assert_eq!(provider.complete(&template, "toolchain", "", &others).await, ["deno", "python-uv", "rust"]);
    assert_eq!(provider.complete(&template, "category", "m", &others).await, Vec::<String>::new());
    assert_eq!(provider.complete(&template, "category", "m", &[].into()).await, ["makefile"]);
}
