//! The dialect `toolkit`, against its contract.

mod fixtures;
