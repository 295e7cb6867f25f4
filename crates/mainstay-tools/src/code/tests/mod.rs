//! The family on real directories and repositories.

mod cache;
mod churn;
mod repository;
mod sources;
