//! The commands of `cargo xtask`, one module each, and what the checks in `tests/` share with them.

pub mod bench;
pub mod crash;
pub mod dist;
pub mod docs;
pub mod fuzz;
pub mod hostile;
pub mod metadata;
pub mod pictures;
pub mod process;
pub mod repository;
pub mod rules;
pub mod sim;
pub mod sources;
pub mod test;
pub mod tools;

/// What a command comes to: nothing, or a message that says what to do.
pub type Outcome<T = ()> = Result<T, String>;

/// Tells the person at the terminal something; stdout belongs to the tools that we run.
#[expect(
    clippy::print_stderr,
    reason = "a command line tool talks to its terminal"
)]
pub fn say(message: &str) {
    eprintln!("{message}");
}
