//! `landform-bench`: measures the real binary, beside a real etcd on the same disk.
//!
//! Reading order: `api.rs`, `gc.rs`, `engine/`, `landscape/` and `catalog/` are whole benchmarks in order; `process.rs`, `server.rs` and `etcd.rs`
//! start what is measured; `client.rs` and `load.rs` drive it; `disk.rs`, `writes.rs`, `reads.rs`,
//! `watches.rs` and `memory.rs` each measure one thing; `report.rs` judges and writes it down.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints its progress and its results"
)]

mod api;
mod catalog;
mod client;
mod disk;
mod engine;
mod engine_metrics;
mod etcd;
mod experience;
mod gc;
mod landscape;
mod lines;
mod load;
mod memory;
mod process;
mod reads;
mod report;
mod server;
mod watches;
mod writes;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

/// Measures Landform.
#[derive(Parser)]
#[command(name = "landform-bench", version)]
struct Cli {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Subcommand)]
enum Benchmark {
    /// The API server on its embedded store, beside etcd.
    Api(api::Arguments),
    /// A real catalog: loaded, walked and resolved.
    Catalog(catalog::Arguments),
    /// The engine: its machine alone, and through the whole stack.
    Engine(engine::Arguments),
    /// What a person waits for: `up`, a saved file, `why`.
    Experience(experience::Arguments),
    /// The garbage collector: fans, chains and trees.
    Gc(gc::Arguments),
    /// Installations: brought up, changed, taken down, found again.
    Landscape(landscape::Arguments),
}

/// Anything that ends the benchmark early.
type AnyError = Box<dyn std::error::Error + Send + Sync>;
type Outcome<T = ()> = Result<T, AnyError>;

/// Whatever hangs, the benchmark ends: in this time, or a tenth of it with `--quick`.
const PATIENCE: Duration = Duration::from_secs(20 * 60);

fn main() -> ExitCode {
    match run(&Cli::parse().benchmark) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

impl Benchmark {
    fn is_quick(&self) -> bool {
        match self {
            Self::Api(arguments) => arguments.quick,
            Self::Catalog(arguments) => arguments.quick,
            Self::Engine(arguments) => arguments.quick,
            Self::Experience(arguments) => arguments.quick,
            Self::Gc(arguments) => arguments.quick,
            Self::Landscape(arguments) => arguments.quick,
        }
    }

    async fn measure(&self) -> Outcome {
        match self {
            Self::Api(arguments) => api::run(arguments).await,
            Self::Catalog(arguments) => catalog::run(arguments).await,
            Self::Engine(arguments) => engine::run(arguments).await,
            Self::Experience(arguments) => experience::run(arguments).await,
            Self::Gc(arguments) => gc::run(arguments).await,
            Self::Landscape(arguments) => landscape::run(arguments).await,
        }
    }
}

fn run(benchmark: &Benchmark) -> Outcome {
    // One thread: the client shares the cores with what it measures, so it has to be cheap.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let patience = if benchmark.is_quick() {
        PATIENCE / 10
    } else {
        PATIENCE
    };
    // However this ends, dropping the benchmark's future kills the processes that it started.
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            done = tokio::time::timeout(patience, benchmark.measure()) => {
                done.map_err(|_| format!("the benchmark did not finish within {patience:?}"))?
            }
            _ = terminate.recv() => Err("stopped by SIGTERM".into()),
            interrupted = tokio::signal::ctrl_c() => {
                interrupted?;
                Err("stopped by Ctrl-C".into())
            }
        }
    })
}
