//! The last steps before a process becomes the command: each takes something away from it.

use std::os::fd::AsRawFd as _;

use super::launch::Launch;
use super::plan::{At as _, Failure, NOT_OPEN, Plan, Step};
use super::sys::{self, Outcome};

const NEVER_REACHED: i32 = libc::ENOEXEC;

/// Returns only if something went wrong.
pub(super) fn become_it(launch: &Launch<'_>) -> Result<(), Failure> {
    let plan: &Plan = launch.plan;
    sys::new_session().at(Step::Session)?;
    connect_streams(launch).at(Step::Streams)?;
    sys::change_dir(&plan.directory).at(Step::Directory)?;
    check_directory(plan)?;
    plan.limits.iter().try_for_each(|(resource, value)| sys::limit(*resource, *value)).at(Step::Limits)?;
    sys::set(libc::PR_SET_NO_NEW_PRIVS, 1).at(Step::Privileges)?;
    if plan.ground.confined {
        drop_privileges(plan.ground.root).at(Step::Privileges)?;
        confine_files(plan).at(Step::Files)?;
    }
    sys::close_from(3).at(Step::Streams)?;
    if plan.ground.confined {
        sys::install_filter(&plan.ground.filter).at(Step::Calls)?;
    }
    sys::block_signals(false);
    let errno = sys::execute(&plan.program, launch.arguments, launch.environment);
    Err(Failure { step: Step::Program, errno: if errno == 0 { NEVER_REACHED } else { errno } })
}

fn connect_streams(launch: &Launch<'_>) -> Outcome {
    if launch.terminal != NOT_OPEN {
        sys::take_terminal(launch.terminal)?;
        return (0..3).try_for_each(|number| sys::duplicate(launch.terminal, number));
    }
    (0..3).zip(&launch.plan.streams).try_for_each(|(number, stream)| sys::duplicate(stream.as_raw_fd(), number))
}

/// The directory as it is seen here must be the one that was opened for the caller.
fn check_directory(plan: &Plan) -> Result<(), Failure> {
    let here = sys::open(c".", libc::O_PATH | libc::O_DIRECTORY, 0).at(Step::Directory)?;
    let same = sys::identity(here).at(Step::Directory)? == plan.directory_identity;
    sys::close(here);
    if same { Ok(()) } else { Err(Failure { step: Step::Directory, errno: libc::ESTALE }) }
}

/// Keep no capability, gain none from the user's number, and have none to gain.
const LOCKED: libc::c_ulong = 0b1110_1111;

fn drop_privileges(root: bool) -> Outcome {
    let privileged = |done: Outcome| if root { done } else { Ok(()) };
    for capability in 0..64 {
        match sys::set(libc::PR_CAPBSET_DROP, capability) {
            Err(libc::EINVAL) => break,
            done => privileged(done)?,
        }
    }
    privileged(sys::set(libc::PR_SET_SECUREBITS, LOCKED))?;
    sys::drop_capabilities()
}

fn confine_files(plan: &Plan) -> Outcome {
    let rights = plan.ground.rights;
    let ruleset = rights.create()?;
    for rule in &plan.ground.rules {
        let (handle, allowed) = rule.as_raw();
        sys::add_rule(ruleset, handle, allowed)?;
    }
    if let Some(tmp) = &plan.tmp {
        sys::add_rule(ruleset, tmp.as_raw_fd(), rights.writable())?;
    }
    if plan.ground.stage.is_some() {
        // These are this command's own, so they could not be opened before.
        for (path, allowed) in
            [(c"/tmp", rights.writable()), (c"/proc", rights.readable()), (c"/dev", rights.devices())]
        {
            let handle = sys::open(path, libc::O_PATH, 0)?;
            sys::add_rule(ruleset, handle, allowed)?;
        }
    }
    sys::enforce_ruleset(ruleset)
}
