//! Templates of users: listed and used beside ours, and unable to harm them.

use mainstay_core::{Kind, Reason};
use mainstay_sandbox::FilesSettings;
use serde_json::{Value, json};

use super::Sample;
use crate::templates::{Destination, ScaffoldRequest, list_templates};

fn manifest(category: &str, parameters: &Value) -> String {
    let manifest = json!({"name": format!("My {category}"), "description": "One of mine", "category": category,
        "toolchain": "rust", "output": format!("{category}.txt"), "parameters": {"properties": parameters}});
    manifest.to_string()
}

async fn uris(sample: &Sample) -> Vec<String> {
    let value = sample.value("list_templates", json!({"toolchain": "rust"})).await;
    value["templates"].as_array().unwrap().iter().map(|one| one["uri"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_template_of_a_user_works_like_ours_as_soon_as_it_is_there() {
    let sample = Sample::new().await;
    let parameters = json!({"image": {"type": "string", "default": "debian"}});
    sample.add("docker", &manifest("dockerfile", &parameters), "FROM {{ image }}\n# {{ project_name }}\n");
    std::fs::write(sample.own().join("README.md"), "notes").unwrap();
    std::fs::create_dir(sample.own().join(".git")).unwrap();
    assert!(uris(&sample).await.contains(&"template://dockerfile/rust/cli".to_owned()));
    let args = json!({"resource_uri": "template://dockerfile/rust/cli", "parameters": {"project_name": "demo"}});
    let made = sample.value("generate_template", args).await;
    assert_eq!((&made["content"], &made["filename"]), (&json!("FROM debian\n# demo\n"), &json!("demo/dockerfile.txt")));
    assert_eq!(
        sample.read("template://dockerfile/rust/cli").await.unwrap(),
        "FROM {{ image }}\n# {{ project_name }}\n"
    );
    let project = json!({"toolchain": "rust", "templates": ["makefile", "dockerfile"], "parameters": {"project_name": "demo", "image": "alpine"}});
    assert_eq!(sample.value("scaffold_project", project).await["files"][1]["content"], "FROM alpine\n# demo\n");
    let found = sample.value("search_templates", json!({"query": "image"})).await;
    assert_eq!((&found["count"], &found["templates"][0]["relevance"]), (&json!(1), &json!(1)));
    assert_eq!(sample.family.resources[0].list_fresh().await.len(), 10);
}

#[tokio::test]
async fn a_category_with_two_variants_is_named_with_its_variant() {
    let sample = Sample::new().await;
    let mut other: Value = serde_json::from_str(&manifest("makefile", &json!({}))).unwrap();
    other["variant"] = json!("library");
    sample.add("library", &other.to_string(), "all:\n");
    let scaffold = async |name: &str| {
        sample
            .call(
                "scaffold_project",
                json!({"toolchain": "rust", "templates": [name], "parameters": {"project_name": "d"}}),
            )
            .await
    };
    assert!(scaffold("makefile").await.unwrap_err().public.contains("makefile/cli, makefile/library"));
    assert!(scaffold("makefile/library").await.is_ok());
}

#[tokio::test]
async fn what_does_not_load_is_reported_and_keeps_nothing_else_from_being_served() {
    let sample = Sample::new().await;
    let own = sample.own();
    sample.add("good", &manifest("good", &json!({})), "ok\n");
    sample.add("loop", &manifest("loop", &json!({})), "{% for i in range(1000000000) %}x{% endfor %}");
    sample.add("grow", &manifest("grow", &json!({"x": {"type": "string"}})), "{% set y = x ~ x %}{{ y }}");
    sample.add("syntax", &manifest("syntax", &json!({})), "{% if %}");
    sample.add("taken", &manifest("makefile", &json!({})), "x");
    sample.add("json", "{", "x");
    sample.add("large", &manifest("large", &json!({})), &"x".repeat(300 * 1024));
    sample.add("bytes", &manifest("bytes", &json!({})), "x");
    std::fs::write(own.join("bytes/template.j2"), [0xff, 0xfe]).unwrap();
    std::fs::create_dir(own.join("empty")).unwrap();
    std::os::unix::fs::symlink("/etc", own.join("link")).unwrap();
    sample.add("inside", &manifest("inside", &json!({})), "x");
    std::fs::remove_file(own.join("inside/template.j2")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", own.join("inside/template.j2")).unwrap();
    let names = uris(&sample).await;
    assert_eq!(names.len(), 4, "{names:?}");
    assert!(names.contains(&"template://good/rust/cli".to_owned()));
    let value = sample.value("list_templates", json!({})).await;
    let broken: Vec<&str> = value["broken"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    let expected = [
        ("bytes", "not UTF-8"),
        ("empty", "manifest.json"),
        ("grow", "`set`"),
        ("inside", "template.j2"),
        ("json", "manifest.json is not valid"),
        ("large", "larger"),
        ("link", "symbolic link"),
        ("loop", "call"),
        ("syntax", "line 1"),
        ("taken", "another template has the URI"),
    ];
    assert_eq!(broken.len(), expected.len(), "{broken:#?}");
    for (found, (name, says)) in broken.iter().zip(expected) {
        assert!(found.starts_with(&format!("template {name:?}: ")) && found.contains(says), "{found}");
        assert!(!found.contains(&own.display().to_string()), "callers are not told where it is: {found}");
    }
    let (lines, listed) = list_templates(&[own.clone(), own.join("missing")], None).unwrap();
    assert_eq!((lines.len(), listed.len()), (10, expected.len() + 1));
    assert!(listed[0].to_string().starts_with(&own.join("bytes").display().to_string()));
}

#[tokio::test]
async fn a_template_that_takes_too_long_or_writes_too_much_fails_alone() {
    let sample = Sample::new().await;
    let parameters = json!({"list": {"type": "array", "items": {"type": "string"}}});
    let each = |body: &str| {
        format!(
            "{{% for a in list %}}{{% for b in list %}}{{% for c in list %}}{body}{{% endfor %}}{{% endfor %}}{{% endfor %}}"
        )
    };
    sample.add("slow", &manifest("slow", &parameters), &each(""));
    sample.add("long", &manifest("long", &parameters), &each(&"x".repeat(100_000)));
    for (category, says) in [("slow", "steps"), ("long", "bytes")] {
        let args =
            json!({"resource_uri": format!("template://{category}/rust/cli"), "parameters": {"list": vec!["a"; 200]}});
        let error = sample.call("generate_template", args).await.unwrap_err();
        assert_eq!(error.kind, Kind::Invalid);
        assert!(error.public.contains(says), "{error}");
    }
}

#[tokio::test]
async fn a_file_that_other_programs_obey_is_written_only_with_approval() {
    let sample = Sample::new().await;
    let mut agents: Value = serde_json::from_str(&manifest("agents", &json!({}))).unwrap();
    agents["output"] = json!("AGENTS.md");
    sample.add("agents", &agents.to_string(), "Obey.\n");
    let args =
        json!({"toolchain": "rust", "templates": ["agents"], "parameters": {"project_name": "demo"}, "write_to": "."});
    let error = sample.call("scaffold_project", args).await.unwrap_err();
    assert!(matches!(error.reason.as_deref(), Some(Reason::Unapproved(plan)) if plan.ask), "{error:?}");
    assert!(super::files(&sample.workspace()).is_empty());
    // At a terminal the person has given it with the command.
    let directories = [sample.own()];
    let request = ScaffoldRequest {
        directories: &directories,
        toolchain: "rust",
        templates: &["agents".to_owned()],
        parameters: vec![("project_name".to_owned(), "demo".to_owned())],
    };
    let files = FilesSettings { read_only: true, ..FilesSettings::default() };
    let workspace = sample.workspace();
    let to = Destination { directory: &workspace, files: &files, journal: None, overwrite: false, dry_run: false };
    let written = request.write(to).await.unwrap();
    assert_eq!((written.files[0].path.as_str(), written.files[0].what), ("demo/AGENTS.md", "created"));
}

#[tokio::test]
async fn the_number_of_templates_is_bounded() {
    let sample = Sample::new().await;
    for number in 0..203 {
        sample.add(&format!("t{number:03}"), &manifest(&format!("c{number}"), &json!({})), "x");
    }
    let value = sample.value("list_templates", json!({"limit": 1})).await;
    assert_eq!(value["count"], 209);
    let broken = value["broken"].as_array().unwrap();
    assert_eq!(broken.len(), 3);
    assert!(broken[0].as_str().unwrap().starts_with("template \"t200\": there are more than 200"), "{broken:?}");
}
