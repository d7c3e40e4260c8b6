//! The `landform` binary: the command line, and the wiring of the parts.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line prints"
)]

mod app_type;
mod blueprint;
mod catalog;
mod client;
mod data_dir;
mod delete;
mod engine;
mod logging;
mod reference;
mod serve;
mod store;

use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A write allocates some hundred small pieces, and takes a fifth less CPU with this allocator than
/// with the system's (docs/benchmarks.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(
    name = "landform",
    version,
    about = "One control plane in one binary: declare what should exist, over the Kubernetes API",
    propagate_version = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs the API server until it is told to stop (SIGTERM or Ctrl-C).
    Serve(serve::ServeArgs),
    /// Deletes an object and what depends on it, after showing what that is.
    Delete(delete::DeleteArgs),
    /// Lets an app type with manual upgrades go to a version.
    Approve(app_type::ApproveArgs),
    /// Takes an app type back to the version before, or gives up an upgrade that failed.
    Rollback(app_type::RollbackArgs),
    /// Runs reconcilers against another API: a cluster's, or another Landform's.
    Engine(engine::EngineArgs),
    /// Checks and renders blueprints, without a server.
    #[command(subcommand)]
    Blueprint(blueprint::BlueprintCommand),
    /// Looks into catalogs of operators: on the server, or without one in files.
    #[command(subcommand)]
    Catalog(catalog::CatalogCommand),
    /// Writes the reference of all commands, which is docs/cli.md.
    #[command(hide = true)]
    Reference,
    /// Looks after the data on disk: check, backup, restore, compact.
    #[command(subcommand)]
    Store(store::StoreCommand),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Serve(args) => serve::run(args),
        Command::Delete(args) => delete::run(args),
        Command::Approve(args) => app_type::approve(args),
        Command::Rollback(args) => app_type::rollback(args),
        Command::Engine(args) => engine::run(args),
        Command::Blueprint(command) => blueprint::run(command),
        Command::Catalog(command) => catalog::run(command),
        Command::Reference => reference::run(),
        Command::Store(command) => store::run(command),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {}", chain(&*error));
            ExitCode::FAILURE
        }
    }
}

/// Prints a text that may be long. Whoever reads it may have seen enough, as `head` does: that is no error.
fn say(text: &str) -> Result<(), AnyError> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Any error that ends the program.
type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// An error with everything that caused it, in one line.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
