//! What survives a crash, a full disk and a second replica.

pub(crate) mod crash;
pub(crate) mod full_disk;
pub(crate) mod replicas;
