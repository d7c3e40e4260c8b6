//! Plans on whole landscapes, and what happens when they are carried out.

mod boundaries;
mod harness;
mod landscapes;
mod operators;
mod projects;
mod property;
mod rights;
