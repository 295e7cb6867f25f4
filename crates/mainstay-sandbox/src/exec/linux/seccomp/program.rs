//! Compiles rules about system calls into one BPF program.
//!
//! The kernel checks, translates and tries out the program anew for every command: it runs it once for each call number,
//! to learn which calls need no look at their arguments. So it is kept short, and a call number is compared with few others:
//! the numbers are in groups, and a group is skipped in one step. The `seccompiler` crate compares with one number after the
//! other and needs a program for each error; its programs cost every command a third of a millisecond more.

use std::collections::BTreeMap;

use libc::sock_filter;
use mainstay_core::{Error, Result};

use crate::exec::linux::syscalls;

/// The architecture whose call numbers the rules are about (`AUDIT_ARCH_*`).
#[cfg(target_arch = "x86_64")]
pub(super) const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
pub(super) const ARCHITECTURE: u32 = 0xc000_00b7;

/// Where the kernel places what a program reads (`struct seccomp_data`).
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;

/// How many calls are skipped in one step.
const GROUP: usize = 8;

/// A compiled program. It decides from the number and the arguments of a call.
pub(in crate::exec::linux) struct Program(pub(super) Vec<sock_filter>);

impl Program {
    /// Installs the program in this process, for good. No allocation.
    pub(in crate::exec::linux) fn install(&self) -> rustix::io::Result<()> {
        syscalls::install_filter(&self.0)
    }
}

/// A test of an argument, of which the lower 32 bits are read, as by the kernel.
pub(super) struct Test {
    argument: u8,
    mask: u32,
    values: Vec<u32>,
    holds_if: HoldsIf,
}

/// How the argument has to relate to the values.
enum HoldsIf {
    /// It has any of these bits.
    HasAny,
    /// It is one of them.
    IsOne,
    /// It is none of them.
    IsNone,
}

impl Test {
    pub(super) fn has_any<const N: usize>(argument: u8, bits: [u32; N]) -> Self {
        let bits = bits.into_iter().fold(0, std::ops::BitOr::bitor);
        Self { argument, mask: u32::MAX, values: vec![bits], holds_if: HoldsIf::HasAny }
    }

    pub(super) fn is_one_of<const N: usize>(argument: u8, values: [u32; N]) -> Self {
        Self { argument, mask: u32::MAX, values: values.into(), holds_if: HoldsIf::IsOne }
    }

    pub(super) fn is_none_of<const N: usize>(argument: u8, values: [u32; N]) -> Self {
        Self { argument, mask: u32::MAX, values: values.into(), holds_if: HoldsIf::IsNone }
    }

    /// Looks at these bits of the argument only.
    pub(super) fn masked(mut self, mask: u32) -> Self {
        self.mask = mask;
        self
    }

    /// Instructions that go on with `then` if the test holds, and after it if not. `then` ends with a return.
    fn compile(&self, then: Vec<sock_filter>) -> Result<Vec<sock_filter>> {
        let mut code = vec![load(ARGUMENTS_AT + 8 * u32::from(self.argument))];
        if self.mask != u32::MAX {
            code.push(instruction(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0, 0, self.mask));
        }
        let comparison = if matches!(self.holds_if, HoldsIf::HasAny) { libc::BPF_JSET } else { libc::BPF_JEQ };
        for (at, value) in self.values.iter().enumerate() {
            let others = self.values.len() - at - 1;
            let (yes, no) = match self.holds_if {
                HoldsIf::IsNone => (others + then.len(), 0),
                HoldsIf::HasAny | HoldsIf::IsOne if others == 0 => (0, then.len()),
                HoldsIf::HasAny | HoldsIf::IsOne => (others, 0),
            };
            code.push(jump(comparison, *value, yes, no)?);
        }
        code.extend(then);
        Ok(code)
    }
}

/// When a call is rejected, and with which error.
#[derive(Default)]
struct Rejection {
    errno: i32,
    /// Any of these suffices; the tests of one must all hold. Empty: always.
    rules: Vec<Vec<Test>>,
}

impl Rejection {
    fn compile(&self) -> Result<Vec<sock_filter>> {
        let rejected = || vec![ret(libc::SECCOMP_RET_ERRNO | self.errno.cast_unsigned())];
        if self.rules.is_empty() {
            return Ok(rejected());
        }
        let mut code = Vec::new();
        for rule in &self.rules {
            code.extend(rule.iter().rev().try_fold(rejected(), |then, test| test.compile(then))?);
        }
        code.push(ret(libc::SECCOMP_RET_ALLOW));
        Ok(code)
    }
}

/// The calls that are rejected; every other is allowed.
#[derive(Default)]
pub(super) struct CallRules(BTreeMap<i64, Rejection>);

impl CallRules {
    /// Rejects calls whatever their arguments.
    pub(super) fn reject(&mut self, calls: &[i64], errno: i32) {
        self.0.extend(calls.iter().map(|call| (*call, Rejection { errno, rules: Vec::new() })));
    }

    /// Rejects a call (`EPERM`) if all tests of one of the rules hold. Rules of before stay.
    pub(super) fn reject_if(&mut self, call: i64, rules: Vec<Vec<Test>>) {
        let rejection = self.0.entry(call).or_default();
        rejection.errno = libc::EPERM;
        rejection.rules.extend(rules);
    }

    /// A process of another architecture is ended: its numbers mean other calls. The call numbers from `first_unknown` on
    /// seem not to exist (`ENOSYS`).
    pub(super) fn compile(&self, first_unknown: u32) -> Result<Program> {
        let mut program = vec![
            load(ARCHITECTURE_AT),
            jump(libc::BPF_JEQ, ARCHITECTURE, 1, 0)?,
            ret(libc::SECCOMP_RET_KILL_PROCESS),
            load(NUMBER_AT),
            jump(libc::BPF_JGE, first_unknown, 0, 1)?,
            ret(libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned()),
        ];
        let calls: Vec<_> = self.0.iter().collect();
        for group in calls.chunks(GROUP) {
            let mut code = Vec::new();
            let mut last = 0;
            for (number, rejection) in group {
                last = u32::try_from(**number).map_err(|_| too_long())?;
                let rejection = rejection.compile()?;
                code.push(jump(libc::BPF_JEQ, last, 0, rejection.len())?);
                code.extend(rejection);
            }
            code.push(ret(libc::SECCOMP_RET_ALLOW));
            program.push(jump(libc::BPF_JGT, last, 0, 1)?);
            let length = u32::try_from(code.len()).map_err(|_| too_long())?;
            program.push(instruction(libc::BPF_JMP | libc::BPF_JA, 0, 0, length));
            program.extend(code);
        }
        program.push(ret(libc::SECCOMP_RET_ALLOW));
        Ok(Program(program))
    }
}

/// The rules do not fit into a program: a conditional jump reaches 255 instructions.
fn too_long() -> Error {
    Error::internal("the system call filter has too many rules for one call, or a call number out of range")
}

fn instruction(code: u32, jt: u8, jf: u8, k: u32) -> sock_filter {
    // All codes are below 256; the kernel would reject any other.
    sock_filter { code: u16::try_from(code).unwrap_or(u16::MAX), jt, jf, k }
}

fn load(at: u32) -> sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, at)
}

fn ret(verdict: u32) -> sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, 0, 0, verdict)
}

/// Compares what was loaded, and skips so many instructions.
fn jump(comparison: u32, value: u32, yes: usize, no: usize) -> Result<sock_filter> {
    let skip = |count: usize| u8::try_from(count).map_err(|_| too_long());
    Ok(instruction(libc::BPF_JMP | comparison | libc::BPF_K, skip(yes)?, skip(no)?, value))
}
