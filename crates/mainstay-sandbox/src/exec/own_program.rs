//! Programs that the server itself chooses, with arguments of its own: git, to read a repository's history.
//!
//! Such a program needs what callers and their commands must not see (`.git`), so it gets a view of its own: all roots,
//! read-only and without protected names, and no network. It is confined as every command is: a repository's
//! configuration is written by others, and what git does with it stays inside the sandbox.

use std::collections::BTreeMap;

use mainstay_core::Result;

use super::{ExecSettings, Network, Sandbox, Shell};
use crate::workspace::Workspace;

impl Sandbox {
    /// A sandbox for one program of the server's choice. Callers must have no influence on its arguments but through
    /// values that the server has checked, or it would be a way around what the operator has set for commands.
    ///
    /// The operator's `exec.deny` applies to it, `exec.allow` does not: the one says what must not run, the other what
    /// callers may run. Variables in `prefix` (such as `GIT_`) are not taken from `exec.env`.
    pub fn for_own_program(
        workspace: &Workspace,
        settings: &ExecSettings,
        program: &str,
        prefix: &str,
        variables: BTreeMap<String, String>,
    ) -> Result<Self> {
        let operators = settings.env.iter().filter(|(name, _)| !name.starts_with(prefix));
        let env = operators.map(|(name, value)| (name.clone(), value.clone())).chain(variables).collect();
        let settings = ExecSettings {
            network: Network::Off,
            shell: Shell::Never,
            allow: vec![program.to_owned()],
            write: Vec::new(),
            allow_protected: Vec::new(),
            home: None,
            env,
            ..settings.clone()
        };
        Ok(Self::new(workspace.for_own_program()?, settings))
    }
}

#[cfg(test)]
#[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::exec::{Command, CommandOutput};
    use crate::settings::FilesSettings;

    async fn run(sandbox: &Sandbox, program: &str, args: &[&str]) -> Result<CommandOutput> {
        let args = args.iter().map(|&argument| argument.to_owned()).collect();
        let command = Command { program: program.into(), args, ..Command::default() };
        sandbox.run(&command, None, Duration::from_secs(20), None).await
    }

    fn sandbox(directory: &tempfile::TempDir, settings: &ExecSettings, program: &str) -> Sandbox {
        std::fs::create_dir_all(directory.path().join(".git")).unwrap();
        std::fs::write(directory.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let workspace = Workspace::open(directory.path(), &FilesSettings::default()).unwrap();
        Sandbox::for_own_program(&workspace, settings, program, "GIT_", BTreeMap::new()).unwrap()
    }

    #[tokio::test]
    async fn it_reads_protected_names_and_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let own = sandbox(&directory, &ExecSettings::default(), "cat");
        assert_eq!(run(&own, "cat", &[".git/HEAD"]).await.unwrap().stdout.text, "ref: refs/heads/main\n");
        let own = sandbox(&directory, &ExecSettings::default(), "touch");
        for path in [".git/HEAD", ".git/hooks", "new"] {
            assert_ne!(run(&own, "touch", &[path]).await.unwrap().status.code, 0, "{path}");
        }
        assert!(!directory.path().join("new").exists());
    }

    #[tokio::test]
    async fn the_servers_own_directory_stays_hidden() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("data")).unwrap();
        std::fs::write(directory.path().join("data/key"), "secret").unwrap();
        let workspace = Workspace::open(directory.path(), &FilesSettings::default()).unwrap();
        let workspace = workspace.with_closed_dir(&directory.path().join("data")).unwrap();
        let own =
            Sandbox::for_own_program(&workspace, &ExecSettings::default(), "cat", "GIT_", BTreeMap::new()).unwrap();
        assert_ne!(run(&own, "cat", &["data/key"]).await.unwrap().status.code, 0);
    }

    #[tokio::test]
    async fn no_other_program_can_be_started_and_a_denied_one_neither() {
        let directory = tempfile::tempdir().unwrap();
        let own = sandbox(&directory, &ExecSettings { allow: vec!["ls".into()], ..ExecSettings::default() }, "cat");
        assert!(run(&own, "ls", &[]).await.unwrap_err().public.contains("exec.allow"));
        assert_eq!(run(&own, "cat", &[".git/HEAD"]).await.unwrap().status.code, 0);
        let own = sandbox(&directory, &ExecSettings { deny: vec!["cat".into()], ..ExecSettings::default() }, "cat");
        assert!(run(&own, "cat", &[".git/HEAD"]).await.unwrap_err().public.contains("exec.deny"));
    }

    #[tokio::test]
    async fn the_operators_variables_of_that_program_do_not_reach_it() {
        let directory = tempfile::tempdir().unwrap();
        let env = BTreeMap::from([("GIT_DIR".to_owned(), "x".to_owned()), ("OTHER".to_owned(), "y".to_owned())]);
        let own = sandbox(&directory, &ExecSettings { env, ..ExecSettings::default() }, "env");
        let told = run(&own, "env", &[]).await.unwrap().stdout.text;
        assert!(told.contains("OTHER=y") && !told.contains("GIT_DIR"), "{told}");
    }
}
