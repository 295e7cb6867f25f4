//! `mainstay scaffold`: the tools of the family templates for a person at a terminal. No server and no store are needed,
//! and the person decides where to write: the directory is the workspace of this one change.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use mainstay_tools::templates::{Destination, ScaffoldRequest, list_templates};

use super::terminal::{line, print_line, text};
use crate::Config;
use crate::cli::ScaffoldArgs;
use crate::wiring::make_private_dir;

pub(crate) async fn run(config: &Config, args: ScaffoldArgs) -> anyhow::Result<ExitCode> {
    let directories = &config.templates.directories;
    if args.list {
        let (templates, broken) = list_templates(directories, args.toolchain.as_deref())?;
        for template in &templates {
            print_line(line(template));
        }
        for broken in &broken {
            let _ = writeln!(std::io::stderr(), "does not load: {}", line(&broken.to_string()));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut parameters: Vec<(String, String)> =
        args.name.map(|name| ("project_name".to_owned(), name)).into_iter().collect();
    for param in &args.params {
        let Some((key, value)) = param.split_once('=') else { bail!("{param:?} is not a parameter: write key=value") };
        parameters.push((key.to_owned(), value.to_owned()));
    }
    let toolchain = args.toolchain.as_deref().context("name a toolchain; --list shows what there is")?;
    let request = ScaffoldRequest { directories, toolchain, templates: &args.templates, parameters };
    let Some(into) = &args.into else {
        for (path, content) in request.generate()? {
            print_line(format_args!("==> {} <==\n{}", line(&path), text(&content)));
        }
        return Ok(ExitCode::SUCCESS);
    };
    // With a journal a change that is cut off is undone at the next start; without a home directory there is none.
    let data = config.data_dir().ok().filter(|data| make_private_dir(data).is_ok());
    let destination = Destination {
        directory: into,
        files: &config.files,
        journal: data.map(|data| data.join("journal")),
        overwrite: args.force,
        dry_run: args.dry_run,
    };
    let written = request.write(destination).await?;
    match written.diff {
        Some(diff) => print_line(text(diff.trim_end())),
        None => {
            for file in &written.files {
                print_line(format_args!("{:11} {}", file.what, into.join(&file.path).display()));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
