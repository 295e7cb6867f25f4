//! Search by meaning, from the first build of an index to its repair.

mod command_line;
mod crash;
mod damage;
mod first_use;
mod freshness;
mod full_disk;
mod namespaces;
mod postgres;
mod processes;
mod provider;
mod sources;
mod wrong_input;
