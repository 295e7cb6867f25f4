//! The PostgreSQL that `cargo xtask test` starts.

/// The server the tests may use. Without one they are skipped on a developer's machine and fail in CI.
pub(crate) fn postgres() -> Option<String> {
    let url = std::env::var("MAINSTAY_TEST_POSTGRES").ok();
    assert!(
        url.is_some() || std::env::var_os("CI").is_none(),
        "MAINSTAY_TEST_POSTGRES is not set; `cargo xtask test` starts a PostgreSQL and sets it"
    );
    url
}
