//! The `mainstay` command.

fn main() -> std::process::ExitCode {
    mainstay::main(std::env::args_os(), mainstay::Extensions::NONE)
}
