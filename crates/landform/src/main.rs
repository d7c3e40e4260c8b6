//! The `landform` binary: the command line, and the wiring of the parts.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line prints"
)]

mod adopt;
mod app_type;
mod apply;
mod blueprint;
mod catalog;
mod client;
mod complete;
mod confirm;
mod data_dir;
mod delete;
mod describe;
mod edit;
mod engine;
mod events;
mod exit;
mod explain;
mod get;
mod held_deletions;
mod import;
mod kinds;
mod logging;
mod logs;
mod new;
mod operate;
mod output;
mod plan;
mod processes;
mod reference;
mod revisions;
mod scaffold;
mod schema;
mod serve;
mod shell;
mod store;
mod store_key;
mod top;
mod trace;
mod up;
mod validate;
mod verbs;
mod wait;

use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use landform_process::launcher;

use crate::output::harmless::harmless;

/// A write allocates some hundred small pieces, and takes a fifth less CPU with this allocator than
/// with the system's (docs/benchmarks.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The first file descriptor after the standard streams.
const FIRST_FILE: i32 = 3;

#[derive(Parser)]
#[command(
    name = "landform",
    version,
    about = "One control plane in one binary: declare what should exist, over the Kubernetes API",
    propagate_version = true,
    after_help = exit::HELP
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Brings a project's directory up on this machine, and keeps it as its files say.
    Up(up::UpArgs),
    /// Takes everything of a project down again, in the right order.
    Down(up::DownArgs),
    /// Runs the API server until it is told to stop (SIGTERM or Ctrl-C).
    Serve(serve::ServeArgs),
    /// Creates and changes objects as files want them.
    Apply(apply::ApplyArgs),
    /// Makes an object that exists part of a project or of a deploy item.
    Adopt(adopt::AdoptArgs),
    /// Creates objects of files; fails when they are there already.
    Create(verbs::create::CreateArgs),
    /// Changes a part of an object.
    Patch(verbs::patch::PatchArgs),
    /// Sets labels of objects, or takes them off.
    Label(verbs::marks::LabelArgs),
    /// Sets annotations of objects, or takes them off.
    Annotate(verbs::marks::AnnotateArgs),
    /// Shows what `apply` would change; exits with 2 when that is something.
    Diff(apply::diff::DiffArgs),
    /// Lists objects, or shows them as they are.
    Get(get::GetArgs),
    /// Lists the kinds that the server has.
    ApiResources(kinds::resources::ResourcesArgs),
    /// Says what the fields of a kind mean.
    Explain(kinds::explain::ExplainArgs),
    /// Shows an object for people: its errors, what it waits for, its events.
    Describe(describe::DescribeArgs),
    /// Waits until objects are as they should be.
    Wait(wait::WaitArgs),
    /// Tells why an object is not ready: the chain to the root causes, and what to do.
    Why(explain::WhyArgs),
    /// Shows what would change, without touching anything; exits with 2 when that is something.
    Plan(plan::PlanArgs),
    /// Says what is wrong with a project's files, without a server.
    Validate(validate::ValidateArgs),
    /// Shows what owns what.
    Tree(explain::TreeArgs),
    /// Shows what refers to what: for the terminal, or as a picture.
    Graph(explain::GraphArgs),
    /// Shows what was reported about objects.
    Events(events::EventsArgs),
    /// Shows what processes and commands have written.
    Logs(logs::LogsArgs),
    /// Lists processes: what they do, since when, as whom, where they listen.
    Ps(processes::PsArgs),
    /// Replaces processes by new ones.
    Restart(processes::AskArgs),
    /// Stops processes until they are started, whatever is restarted meanwhile.
    Stop(processes::AskArgs),
    /// Starts processes that were stopped.
    Start(processes::AskArgs),
    /// Opens an object in an editor, and writes back what was changed.
    Edit(edit::EditArgs),
    /// Asks for an object to be compared with what it should be, now.
    Reconcile(operate::ReconcileArgs),
    /// Tries again what has failed.
    Retry(operate::RetryArgs),
    /// Stops what an installation, execution or deploy item is doing.
    Abort(operate::StopArgs),
    /// Lets all that has not come to an end in an installation, execution or deploy item fail, without waiting for it.
    Interrupt(operate::StopArgs),
    /// Shows what the engine does, as it happens.
    Trace(trace::TraceArgs),
    /// Shows what runs, what waits on whom, and how much gets done.
    Top(top::TopArgs),
    /// Deletes an object and what depends on it, after showing what that is.
    Delete(delete::DeleteArgs),
    /// Lets an app type with manual upgrades go to a version, or a project delete what it holds back.
    Approve(app_type::ApproveArgs),
    /// Takes an installation back to a spec with which it succeeded, or an app type to the version before.
    Rollback(app_type::RollbackArgs),
    /// Runs reconcilers against another API: a cluster's, or another Landform's.
    Engine(engine::EngineArgs),
    /// Checks and renders blueprints, without a server.
    #[command(subcommand)]
    Blueprint(blueprint::BlueprintCommand),
    /// Makes a project, blueprint, reconciler, deployer or operator that works at once.
    New(new::NewArgs),
    /// Makes a project of another tool's files.
    #[command(subcommand)]
    Import(import::ImportCommand),
    /// Writes the JSON schema of landform.yaml, of blueprint.yaml or of a kind, for editors.
    Schema(schema::SchemaArgs),
    /// Looks into catalogs of operators: on the server, or without one in files.
    #[command(subcommand)]
    Catalog(catalog::CatalogCommand),
    /// Writes the reference of all commands, which is docs/cli.md.
    #[command(hide = true)]
    Reference,
    /// Looks after the data on disk: check, backup, restore, compact.
    #[command(subcommand)]
    Store(store::StoreCommand),
    /// Writes a script with which a shell completes commands.
    Completion(shell::CompletionArgs),
    /// Kinds and names for the scripts of `completion`.
    #[command(hide = true, name = "__complete")]
    Complete(complete::CompleteArgs),
    /// Writes the manual page.
    Man(shell::ManArgs),
}

fn main() -> ExitCode {
    if let Err(error) = launcher::become_program(std::env::args_os()) {
        eprintln!("error: {}", harmless(&error));
        return ExitCode::from(launcher::NOT_STARTED);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(told) => {
            // Help and version are told this way, too. Nobody to read them is no error.
            let _ = told.print();
            return if told.use_stderr() {
                exit::usage()
            } else {
                exit::OK
            };
        }
    };
    if matches!(
        cli.command,
        Command::Up(_) | Command::Serve(_) | Command::Engine(_)
    ) {
        // The programs that it starts, for other users too, don't get what it was started with, but for the standard streams.
        close_fds::set_fds_cloexec(FIRST_FILE, &[]);
    }
    let result = match cli.command {
        Command::Up(args) => up::run(args),
        Command::Down(args) => up::down(args),
        Command::Serve(args) => serve::run(args),
        Command::Apply(args) => apply::run(args),
        Command::Adopt(args) => adopt::run(args),
        Command::Create(args) => verbs::create::run(args),
        Command::Patch(args) => verbs::patch::run(args),
        Command::Label(args) => verbs::marks::label(args),
        Command::Annotate(args) => verbs::marks::annotate(args),
        Command::ApiResources(args) => kinds::resources::run(args),
        Command::Explain(args) => kinds::explain::run(args),
        Command::Diff(args) => apply::diff::run(args),
        Command::Get(args) => get::run(args),
        Command::Describe(args) => describe::run(args),
        Command::Wait(args) => wait::run(args),
        Command::Why(args) => explain::why(args),
        Command::Plan(args) => plan::run(args),
        Command::Validate(args) => validate::run(args),
        Command::Tree(args) => explain::tree(args),
        Command::Graph(args) => explain::graph(args),
        Command::Events(args) => events::run(args),
        Command::Logs(args) => logs::run(args),
        Command::Ps(args) => processes::ps(args),
        Command::Restart(args) => processes::restart(args),
        Command::Stop(args) => processes::stop(args),
        Command::Start(args) => processes::start(args),
        Command::Edit(args) => edit::run(args),
        Command::Reconcile(args) => operate::reconcile(args),
        Command::Retry(args) => operate::retry(args),
        Command::Abort(args) => operate::abort(args),
        Command::Interrupt(args) => operate::interrupt(args),
        Command::Trace(args) => trace::run(args),
        Command::Top(args) => top::run(args),
        Command::Delete(args) => delete::run(args),
        Command::Approve(args) => app_type::approve(args),
        Command::Rollback(args) => app_type::rollback(args),
        Command::Engine(args) => engine::run(args),
        Command::Blueprint(command) => blueprint::run(command),
        Command::New(args) => new::run(args),
        Command::Import(command) => import::run(command),
        Command::Schema(args) => schema::run(args),
        Command::Catalog(command) => catalog::run(command),
        Command::Reference => reference::run(),
        Command::Store(command) => store::run(command),
        Command::Completion(args) => shell::completion(args),
        Command::Complete(args) => complete::run(args),
        Command::Man(args) => shell::man(args),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {}", harmless(&chain(&*error)));
            if error.is::<exit::Usage>() {
                exit::usage()
            } else {
                exit::FAILED
            }
        }
    }
}

/// Prints a text that may be long. Whoever reads it may have seen enough, as `head` does: that is no error.
fn say(text: &str) -> Result<(), AnyError> {
    say_open(text).map(drop)
}

/// As [`say`], at once; false when nobody reads any more.
fn say_open(text: &str) -> Result<bool, AnyError> {
    say_raw(&harmless(text))
}

/// A program's own output: harmless on a terminal, as it is where another program reads it.
fn say_output(text: &str) -> Result<bool, AnyError> {
    if std::io::stdout().is_terminal() {
        say_open(text)
    } else {
        say_raw(text)
    }
}

/// As [`say_open`], with whatever the text does to a terminal.
fn say_raw(text: &str) -> Result<bool, AnyError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Ok(()) => Ok(true),
        Err(error) => Err(error.into()),
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
