//! What the end-to-end tests share. The program and its clients are those of the tests of `mainstay`.

#[path = "../../../../mainstay/tests/e2e/testing/expected_response.rs"]
pub(crate) mod expected_response;
#[path = "../../../../mainstay/tests/e2e/testing/fake_server.rs"]
pub(crate) mod fake_server;
#[path = "../../../../mainstay/tests/e2e/testing/fixture.rs"]
#[expect(dead_code, reason = "shared with the tests of mainstay, which use the rest")]
pub(crate) mod fixture;
#[path = "../../../../mainstay/tests/e2e/testing/postgres.rs"]
pub(crate) mod postgres;
#[path = "../../../../mainstay/tests/e2e/testing/program.rs"]
#[expect(dead_code, reason = "shared with the tests of mainstay, which use the rest")]
pub(crate) mod program;
