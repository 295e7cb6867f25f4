//! The real program, driven from outside over its real transports.
#![expect(clippy::disallowed_methods, reason = "these tests start the program they test")]
#![expect(clippy::unwrap_used, reason = "in a test a surprise is a failure")]

mod agents;
mod agents_examples;
mod agents_fixtures;
mod agents_rules;
mod bad_input;
mod caches;
mod consent;
mod consent_page;
mod consent_sign_in;
mod context;
mod context_build;
mod context_denied;
mod context_fixtures;
mod context_hostile;
mod context_killed;
mod context_lines;
mod context_rebuilt;
mod context_resources;
mod context_running;
mod doors;
mod ending;
mod fixture;
mod fixtures;
mod full_disk;
mod intruders;
mod killed;
mod listening;
mod matching;
mod mira;
mod mira_client;
mod mira_rules;
mod oauth;
mod policy;
mod program;
mod replicas;
mod sessions;
mod strangers;
mod swarm;
mod team;
mod unread;
