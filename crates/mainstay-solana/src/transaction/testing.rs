//! Transactions that the chain's own library made, to compare with: from the secret seeds of 32 bytes 1 and 32 bytes 2, with a
//! blockhash of 32 bytes 7. The mint is 32 bytes 5, the lookup table 32 bytes 9.

use solana_address::Address;
use solana_hash::Hash;

use super::signed::Transaction;

/// The address of the first seed.
pub(super) const FIRST: &str = "AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9";
/// The address of the second seed.
pub(super) const SECOND: &str = "9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu";

/// The key file of the first seed.
pub(super) const FIRST_KEY_FILE: &str = "\
    [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,138,136,227,221,116,9,241,149,253,\
    82,219,45,60,186,93,114,202,103,9,191,29,148,18,27,243,116,136,1,180,15,111,92]";

/// 5 SOL from the first to the second.
pub(super) const SOL_TRANSFER: &str = "\
    ASgTg5o6mqcsk0DWokc/sNmhV4R6Lo01LXlVAvqxHNU+9dstxusmNrqQ+6BJ18BbL5H3nvvVLSipm4+DZCFuQg4BAAEDiojj3XQJ\
    8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1yBOXcOqH0XX1ajVGbDTH7My42KkbTuN6Jd9g9bj8mzlAAAAAAAAAAAAAAAAAAAAAAA\
    AAAAAAAAAAAAAAAAAAAABwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcBAgIAAQwCAAAAAPIFKgEAAAA=";
/// One lamport from the first to itself.
pub(super) const SELF_TRANSFER: &str = "\
    AZwHTE6l64ymVcr0OHPfa8B1VnoVqF/E3TZovfSuha2Zdj2hZQLT1VAMAWy9udAgpz3huQoKWLeL8aImV0/7xAIBAAECiojj3XQJ\
    8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAcHBwcHBwcHBwcHBwcHBwcH\
    BwcHBwcHBwcHBwcHBwcHAQECAAAMAgAAAAEAAAAAAAAA";
/// 1.5 of a Token mint from the first to the second, whose account is created.
pub(super) const TOKEN_TRANSFER: &str = "\
    AeCC2fp+6QwFN1YsVfWWtlXxJuFBdG4VCXPtfgNbiyIeRG1ob1Jpu5ov0jsiV1zI2dgFcu0l67uqh9SuJxZC/QUBAAUIiojj3XQJ\
    8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1ww34dXHC1SSi0er1/zwmOX/eGRZbrQyUz+AA5z63+Usobt9KF3szYwFNqxCm4i3BrB\
    SZwsFBvUNV8hwUhMsiVRAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUF\
    BQUFBQbd9uHXZaGT2cvhRs7reawctIXtX1s3kTqM9YV+/wCpgTl3Dqh9F19Wo1Rmw0x+zMuNipG07jeiXfYPW4/Js5SMlyWPTiSJ\
    8bs9ECkUjg2DC1oTmdr/EIQEjnvY2+n4WQcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHAgcGAAEGBAMFAQEFBAIEAQAK\
    DGDjFgAAAAAABg==";
/// The same of a Token-2022 mint.
pub(super) const TOKEN_2022_TRANSFER: &str = "\
    AdSxob18kuihCuEEychapoz1rlMGzqK4KHEhTDpaAzIskvdRL/L0cXrYWmK1LTo5SFvbyebSbW7wFT/O1xD84wwBAAUIiojj3XQJ\
    8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1wIeV0peGX87Cy1V7XSnIjpMcahIyV+w16+dE3Zlc8F0SYvFsu8SEI95UchRLQvhiCT\
    bwy29LGLJ6hy+xEKVue/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUF\
    BQUFBQbd9uHudY/eGEJdvORszdq2GvxNg7kNJ/69+SjYoYv8gTl3Dqh9F19Wo1Rmw0x+zMuNipG07jeiXfYPW4/Js5SMlyWPTiSJ\
    8bs9ECkUjg2DC1oTmdr/EIQEjnvY2+n4WQcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHAgcGAAEGBAMFAQEFBAIEAQAK\
    DGDjFgAAAAAABg==";
/// One unit of a Token mint without decimal places, to an account that exists.
pub(super) const TOKEN_TRANSFER_ONLY: &str = "\
    AdmxztC4Pm20iLvcB+Tmj9nWh889FMHnru1/2xswVLEylrUhd3j3RhyytsM+8UD6LI/D3kVkSXq6Kkwo0MFLuw8BAAIFiojj3XQJ\
    8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1ww34dXHC1SSi0er1/zwmOX/eGRZbrQyUz+AA5z63+Usobt9KF3szYwFNqxCm4i3BrB\
    SZwsFBvUNV8hwUhMsiVRBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUG3fbh12Whk9nL4UbO63msHLSF7V9bN5E6jPWF\
    fv8AqQcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHAQQEAgMBAAoMAQAAAAAAAAAA";
/// Version 0: 42 lamports to entry 4 of the lookup table (32 bytes 24), and a memo "hello" that the second signs too and that
/// names entry 1 of the table (32 bytes 21).
pub(super) const WITH_LOOKUP: &str = "\
    AoAaBGI1dqFUvHMf2VgtPvW83Or8z6R8wPRqi0W58QrihNblod+4oWUUTz3c5ZfT8hymF2n0f73ZSGONmTIkawDXmibFZ0CRofgZ\
    5LPqYGqNSfObfN/9x9JON3QtOFnSR2nZVMQ7P5EzwghTPw7f7gY8Cp0q2KcALDwS1RHz+CINgAIBAgSKiOPddAnxlf1S2y08ul1y\
    ymcJvx2UEhvzdIgBtA9vXIE5dw6ofRdfVqNUZsNMfszLjYqRtO43ol32D1uPybOUAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\
    AAAAAAAFSlNamSkhBk0k6HFg2jh8fDW13bySu4HkH6hAQQVEjQcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHAgICAAQM\
    AgAAACoAAAAAAAAAAwIBBQVoZWxsbwEJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQEEAQE=";

pub(super) fn address(text: &str) -> Address {
    text.parse().unwrap()
}

pub(super) fn blockhash() -> Hash {
    Hash::new_from_array([7; 32])
}

pub(super) fn transaction(vector: &str) -> Transaction {
    Transaction::from_base64(vector).unwrap()
}
