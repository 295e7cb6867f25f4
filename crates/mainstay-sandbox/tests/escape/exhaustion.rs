//! Attempts to exhaust the machine's resources.

use std::io::Write as _;

use crate::attacker::{Attack, Verdict};

pub(crate) const LIST: &[(&str, Attack)] = &[
    ("fork_bomb", |_| fork_bomb()),
    ("fork_bomb_forever", |_| {
        loop {
            unsafe { libc::fork() };
        }
    }),
    ("memory_hog", |_| memory_hog()),
    ("file_flood", |_| file_flood()),
    ("output_flood", |_| output_flood()),
    ("inotify_flood", |_| inotify_flood()),
    ("core_dump", |_| {
        let mut limit = libc::rlimit { rlim_cur: 1, rlim_max: 1 };
        unsafe { libc::getrlimit(libc::RLIMIT_CORE, &raw mut limit) };
        if limit.rlim_max == 0 { Err("no core is written".into()) } else { Ok(format!("{}", limit.rlim_max)) }
    }),
];

/// Starts waiting children until no more can be started.
fn fork_bomb() -> Verdict {
    for made in 0..20_000 {
        match unsafe { libc::fork() } {
            -1 => return Err(format!("{made} processes and no more")),
            0 => loop {
                unsafe { libc::pause() };
            },
            _ => {}
        }
    }
    Ok("20000 processes".into())
}

/// 64 MB at a time, each page of them used.
fn memory_hog() -> Verdict {
    let mut held: Vec<Vec<u8>> = Vec::new();
    for blocks in 0..64 {
        let mut block: Vec<u8> = Vec::new();
        if block.try_reserve_exact(64 << 20).is_err() {
            return Err(format!("{} MB and no more", blocks * 64));
        }
        block.resize(64 << 20, 1);
        held.push(block);
    }
    Ok("4 GB of memory".into())
}

fn file_flood() -> Verdict {
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let mut file = std::fs::File::create("flood").unwrap();
    let block = vec![0u8; 1 << 20];
    for written in 0..64 {
        if let Err(error) = file.write_all(&block) {
            return Err(format!("{written} MB: {error}"));
        }
    }
    Ok("64 MB in one file".into())
}

fn output_flood() -> Verdict {
    let block = vec![b'x'; 1 << 20];
    let mut out = std::io::stdout();
    for _ in 0..1024 {
        out.write_all(&block).map_err(|error| error.to_string())?;
    }
    Err("a gigabyte was written".into())
}

/// A user has 128 by default, and all of its programs share them.
fn inotify_flood() -> Verdict {
    for made in 0..100 {
        if unsafe { libc::inotify_init1(0) } == -1 {
            return Err(format!("{made} instances and no more"));
        }
    }
    Ok("100 inotify instances".into())
}
