//! The `mainstay` command.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    mainstay::main(std::env::args_os(), |_| Vec::new())
}
