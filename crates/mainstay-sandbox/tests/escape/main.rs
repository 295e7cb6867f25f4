//! Attacks from inside a command. The attacker is this very program, started in the sandbox with the name of an attack;
//! it prints `ESCAPED` or `HELD`, and the result is checked from outside as well.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "a server that is killed has to be a process of its own")]
#![expect(unsafe_code, reason = "an attacker makes whatever system call it likes")]

mod attacker;
mod attacks;
mod cases;
mod exhaustion;
mod fixture;
mod hidden_names;
mod kernel;
mod network;
mod survivors;
mod tree;
