//! Attempts to outlive the call. Each leaves a process behind that writes into `heartbeat` for as long as it lives.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::time::Duration;

use crate::attacker::{Attack, Verdict};

pub(crate) const LIST: &[(&str, Attack)] = &[
    ("new_session", |_| leave_behind(1)),
    ("double_fork", |_| leave_behind(2)),
    ("deaf_daemon", |_| {
        for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGPIPE] {
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
        leave_behind(2)
    }),
    ("deaf_and_waiting", |_| {
        unsafe { libc::signal(libc::SIGTERM, libc::SIG_IGN) };
        let left = leave_behind(2);
        std::thread::sleep(Duration::from_hours(1));
        left
    }),
    // A supervisor that cannot open files cannot search for leftover processes.
    ("watcher_without_handles", |_| {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        unsafe { libc::prlimit(libc::getppid(), libc::RLIMIT_NOFILE, &raw const none, std::ptr::null_mut()) };
        leave_behind(2)
    }),
    ("waiting", |_| {
        let left = leave_behind(1);
        std::thread::sleep(Duration::from_hours(1));
        left
    }),
];

/// Forks as often as asked, each time into a session of its own.
fn leave_behind(forks: u32) -> Verdict {
    let child = unsafe { libc::fork() };
    if child == 0 {
        unsafe { libc::setsid() };
        if forks > 1 {
            let _ = leave_behind(forks - 1);
            unsafe { libc::_exit(0) };
        }
        heartbeat();
    }
    // The first write shows that it is running.
    while std::fs::metadata("heartbeat").is_ok_and(|metadata| metadata.len() == 0) {
        std::thread::sleep(Duration::from_millis(1));
    }
    Err("somebody was left behind".into())
}

fn heartbeat() {
    loop {
        if let Ok(mut file) = OpenOptions::new().append(true).open("heartbeat") {
            let _ = file.write_all(b".");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
