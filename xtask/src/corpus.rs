//! The source code that is measured, by the oracle and by a benchmark: well-known projects from the package registries,
//! under `target/oracle`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process;
use crate::project::cargo;

const DJANGO: &str = "5.2.7";
const NPM_PACKAGES: [(&str, &str); 4] =
    [("express", "5.3.0"), ("lodash", "4.18.1"), ("moment", "2.31.0"), ("webpack", "5.112.2")];
/// The crates that are asked for, with the ones of the same projects that they are divided into.
const CRATES: [(&str, &str); 4] = [("tokio", "1.54.1"), ("regex", "1.13.1"), ("serde", "1.0.229"), ("clap", "4.6.7")];
const CRATES_MEASURED: [&str; 9] =
    ["tokio", "regex", "regex-automata", "regex-syntax", "serde", "serde_core", "serde_derive", "clap", "clap_builder"];

/// Those of one repository, as far as they are published.
const TOKIO_CRATES: [(&str, &str); 5] = [
    ("tokio", "1.54.1"),
    ("tokio-macros", "2.7.2"),
    ("tokio-stream", "0.1.19"),
    ("tokio-test", "0.4.6"),
    ("tokio-util", "0.7.20"),
];

const DOWNLOAD_LIMIT: Duration = Duration::from_mins(5);

/// Source files of one language.
pub(crate) struct Corpus {
    pub(crate) about: String,
    /// A directory that all of the files are below.
    base: PathBuf,
    pub(crate) files: Vec<PathBuf>,
}

impl Corpus {
    /// Copies the files, and nothing else of their packages, to a directory that has nothing else either: every tool finds
    /// the same files there, however it looks for them.
    pub(crate) fn copy_to(&self, directory: &Path) -> Result<()> {
        if directory.exists() {
            fs::remove_dir_all(directory)?;
        }
        for file in &self.files {
            let copy = directory.join(file.strip_prefix(&self.base)?);
            fs::create_dir_all(copy.parent().context("a file is in no directory")?)?;
            fs::copy(file, &copy).with_context(|| format!("{} cannot be copied", file.display()))?;
        }
        Ok(())
    }
}

/// Downloads what is missing, once.
pub(crate) struct Corpora {
    pub(crate) directory: PathBuf,
    /// The interpreter with pip.
    pub(crate) python: PathBuf,
}

impl Corpora {
    pub(crate) fn python(&self) -> Result<Corpus> {
        let home = self.directory.join("python");
        let unpacked = home.join(format!("django-{DJANGO}"));
        if !unpacked.exists() {
            fs::create_dir_all(&home)?;
            let mut download = Command::new(&self.python);
            download.args(["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest"]);
            download.arg(&home).arg(format!("Django=={DJANGO}"));
            self.run(&mut download, "django")?;
            self.unpack(&home.join(format!("django-{DJANGO}.tar.gz")), &home)?;
        }
        let files = source_files(&unpacked.join("django"), "py")?;
        Ok(Corpus { about: format!("Django {DJANGO}"), base: unpacked, files })
    }

    pub(crate) fn javascript(&self) -> Result<Corpus> {
        let home = self.directory.join("javascript");
        let mut files = Vec::new();
        for (name, version) in NPM_PACKAGES {
            let unpacked = home.join(format!("{name}-{version}"));
            if !unpacked.exists() {
                fs::create_dir_all(&home)?;
                let mut download = Command::new("npm");
                download.current_dir(&home).args(["pack", "--loglevel=error", &format!("{name}@{version}")]);
                self.run(&mut download, name)?;
                self.unpack(&home.join(format!("{name}-{version}.tgz")), &unpacked)?;
            }
            files.extend(source_files(&unpacked, "js")?);
        }
        // A minified file is the same source once more, in one line.
        files.retain(|file| !file.to_string_lossy().ends_with(".min.js"));
        Ok(Corpus { about: names(&NPM_PACKAGES), base: home, files })
    }

    pub(crate) fn rust(&self) -> Result<Corpus> {
        self.crates("rust", &CRATES, &CRATES_MEASURED)
    }

    /// The crates of tokio's repository.
    pub(crate) fn tokio(&self) -> Result<Corpus> {
        self.crates("tokio", &TOKIO_CRATES, &TOKIO_CRATES.map(|(name, _)| name))
    }

    /// A package that depends on the crates makes cargo download them; what it says of them is where they are.
    fn crates(&self, name: &str, wanted: &[(&str, &str)], measured: &[&str]) -> Result<Corpus> {
        let home = self.directory.join(name);
        fs::create_dir_all(home.join("src"))?;
        fs::write(home.join("src/lib.rs"), "")?;
        let dependency = |(name, version): &(&str, &str)| format!("{name} = \"={version}\"\n");
        let mut dependencies: String = wanted.iter().map(dependency).collect::<Vec<_>>().concat();
        // Which serde takes along only with a feature.
        if wanted.iter().any(|(name, _)| *name == "serde") {
            dependencies.push_str("\n[dependencies.serde_derive]\nversion = \"*\"\n");
        }
        let manifest = home.join("Cargo.toml");
        let package = "[package]\nname = \"corpus\"\nversion = \"0.0.0\"\nedition = \"2024\"\n";
        fs::write(&manifest, format!("{package}\n[workspace]\n\n[dependencies]\n{dependencies}"))?;
        let output = Command::new(cargo())
            .args(["metadata", "--quiet", "--format-version", "1", "--manifest-path"])
            .arg(&manifest)
            .output()
            .context("cargo could not be started")?;
        if !output.status.success() {
            bail!("cargo could not fetch the crates:\n{}", String::from_utf8_lossy(&output.stderr));
        }
        let metadata: Value = serde_json::from_slice(&output.stdout)?;
        let mut files = Vec::new();
        let mut base = home;
        for package in metadata["packages"].as_array().into_iter().flatten() {
            let name = package["name"].as_str().unwrap_or_default();
            let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
            if let (true, Some(directory)) = (measured.contains(&name), manifest.parent()) {
                files.extend(source_files(directory, "rs")?);
                // Cargo unpacks all crates of a registry into one directory.
                directory.parent().unwrap_or(directory).clone_into(&mut base);
            }
        }
        files.sort();
        Ok(Corpus { about: names(wanted), base, files })
    }

    fn run(&self, command: &mut Command, name: &str) -> Result<()> {
        println!("downloading {name} …");
        process::run_logged(DOWNLOAD_LIMIT, command, &self.directory.join(format!("{name}.log")))
            .context("is the package registry within reach?")
    }

    fn unpack(&self, archive: &Path, directory: &Path) -> Result<()> {
        let mut command = Command::new(&self.python);
        command.args(["-m", "tarfile", "--extract"]).arg(archive).arg(directory);
        process::run_logged(DOWNLOAD_LIMIT, &mut command, &self.directory.join("unpack.log"))
    }
}

fn names(packages: &[(&str, &str)]) -> String {
    packages.iter().map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>().join(", ")
}

/// The files with an extension in a directory and those below, in the order of their names.
fn source_files(directory: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        let entries = fs::read_dir(&directory).with_context(|| format!("{} cannot be read", directory.display()))?;
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}
