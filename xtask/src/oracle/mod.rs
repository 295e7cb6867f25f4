//! `cargo xtask oracle`: our figures beside those of the tools that are known for them, on well-known source code.
//!
//! Each comparison has the share of functions that have to agree; below it the command fails. `docs/code-metrics.md` explains the
//! classes of difference that it prints.

mod compare;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};

use crate::corpus::{Corpora, Corpus};
use crate::process;
use crate::project::Project;
use crate::tools::{Tool, Tools};

use compare::{Agreement, Difference, MatchBy};

const EXAMPLE: [&str; 4] = ["--package", "mainstay-code", "--example", "measure"];

/// One tool and what it is compared on.
struct Oracle {
    name: &'static str,
    figure: &'static str,
    corpus: fn(&Corpora) -> Result<Corpus>,
    /// In `tests/oracle`.
    script: &'static str,
    by: MatchBy,
    wanted_percent: f64,
    classify: fn(&Difference<'_>) -> &'static str,
}

const ORACLES: [Oracle; 4] = [
    Oracle {
        name: "radon",
        figure: "cyclomatic",
        corpus: Corpora::python,
        script: "radon_python.py",
        by: MatchBy::NameAndFirstLine,
        wanted_percent: 99.0,
        classify: radon_class,
    },
    Oracle {
        name: "lizard",
        figure: "cyclomatic",
        corpus: Corpora::rust,
        script: "lizard_rust.py",
        by: MatchBy::NameAndFirstLine,
        wanted_percent: 97.0,
        classify: lizard_class,
    },
    Oracle {
        name: "complexipy",
        figure: "cognitive",
        corpus: Corpora::python,
        script: "complexipy_python.py",
        by: MatchBy::NameAndLastLine,
        wanted_percent: 97.0,
        classify: complexipy_class,
    },
    Oracle {
        name: "eslint-plugin-sonarjs",
        figure: "cognitive",
        corpus: Corpora::javascript,
        script: "sonarjs_javascript.mjs",
        by: MatchBy::FirstByte,
        wanted_percent: 98.0,
        classify: sonarjs_class,
    },
];

pub(crate) fn oracle(project: &Project, arguments: &[String]) -> Result<ExitCode> {
    let known = ORACLES.iter().map(|oracle| oracle.name).collect::<Vec<_>>().join(", ");
    if let Some(unknown) = arguments.iter().find(|name| ORACLES.iter().all(|oracle| oracle.name != name.as_str())) {
        bail!("unknown tool {unknown:?}; there are: {known}");
    }
    let tools = Tools::new(&project.target);
    tools.set_up(&[Tool::Python, Tool::Radon, Tool::Lizard, Tool::Complexipy, Tool::Node, Tool::EslintSonarjs])?;
    process::run(project.cargo().arg("build").args(EXAMPLE))?;
    let corpora = Corpora { directory: project.target.join("oracle"), python: tools.python() };
    let mut all_agree = true;
    for oracle in
        ORACLES.iter().filter(|oracle| arguments.is_empty() || arguments.iter().any(|name| name == oracle.name))
    {
        all_agree &=
            run(project, &tools, &corpora, oracle).with_context(|| format!("the comparison with {}", oracle.name))?;
    }
    Ok(if all_agree { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn run(project: &Project, tools: &Tools, corpora: &Corpora, oracle: &Oracle) -> Result<bool> {
    let corpus = (oracle.corpus)(corpora)?;
    println!("\n{} complexity, {} ({} files)", oracle.figure, corpus.about, corpus.files.len());
    let list = corpora.directory.join("files.txt");
    let names: Vec<String> = corpus.files.iter().map(|file| file.display().to_string()).collect();
    fs::write(&list, names.join("\n") + "\n")?;
    let mut ours = Command::new(project.debug_binary("examples/measure"));
    let script = project.root.join("tests/oracle").join(oracle.script);
    let mut theirs = interpreter(tools, &script);
    let ours = output(&mut ours, &list)?;
    let theirs = output(&mut theirs, &list)?;
    let agreement = compare::compare(&ours, &theirs, oracle.figure, oracle.by, oracle.classify)?;
    Ok(report(oracle, &agreement))
}

fn interpreter(tools: &Tools, script: &Path) -> Command {
    let is_python = script.extension().is_some_and(|extension| extension == "py");
    let mut command = Command::new(if is_python { tools.python() } else { tools.node() });
    command.arg(script);
    if !is_python {
        command.arg(tools.directory().join("npm"));
    }
    command
}

fn output(command: &mut Command, input: &PathBuf) -> Result<String> {
    let output = command.stdin(fs::File::open(input)?).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("{} failed ({})", command.get_program().display(), output.status);
    }
    String::from_utf8(output.stdout).context("the output is not text")
}

fn report(oracle: &Oracle, agreement: &Agreement) -> bool {
    let Oracle { name, wanted_percent, .. } = oracle;
    let Agreement { compared, equal, not_found, .. } = agreement;
    let percent = Agreement::percent(*equal, *compared);
    let agrees = percent >= *wanted_percent;
    if !agreement.not_decisions.is_empty() {
        let as_reported = Agreement::percent(agreement.equal_as_reported, *compared);
        println!("  {name} as it reports: {} equal, {as_reported:.2} %. It counts", agreement.equal_as_reported);
        println!("  tokens that are no decisions, which are taken out below, in so many functions:");
        for (class, functions) in &agreement.not_decisions {
            println!("    {functions:>5}  {class}");
        }
    }
    println!("  {name}: {compared} functions compared, {equal} equal: {percent:.2} % (wanted: {wanted_percent} %)");
    println!("  functions that only {name} has: {not_found}");
    for (class, (count, example)) in &agreement.classes {
        println!("    {count:>5}  {class}\n           {example}");
    }
    if !agrees {
        println!("  FAILED: less agreement than wanted");
    }
    agrees
}

fn radon_class(difference: &Difference<'_>) -> &'static str {
    if difference.ours.text.contains("assert ") {
        "`assert`: radon does not read its condition"
    } else {
        "default values of parameters: radon does not read them"
    }
}

fn lizard_class(difference: &Difference<'_>) -> &'static str {
    let text = &difference.ours.text;
    let has_brace_literal =
        ["'{'", "'}'", "'\"'", "b'\"'", "r#\"", "\\\""].iter().any(|literal| text.contains(literal));
    if has_brace_literal {
        "literals: lizard takes a brace or quote inside one for the code's own"
    } else if text.contains("! {") || text.contains("!{") || text.contains("!(") || text.contains("![") {
        "macros: `=>`, `else` and closures in their arguments"
    } else if text.contains("||") {
        "`||`: operator or closure, told apart by different rules"
    } else {
        "others"
    }
}

fn complexipy_class(difference: &Difference<'_>) -> &'static str {
    if difference.ours.figure < difference.theirs {
        "recursion: complexipy takes a call of a function for one of the method with its name"
    } else {
        "expressions complexipy does not read: keyword arguments, receivers, indices, operands of `not`, `yield` …"
    }
}

fn sonarjs_class(_: &Difference<'_>) -> &'static str {
    "functions as branches of `? :`: the plugin carries their level over to what follows"
}
