//! `landform serve`: the API server on a store, behind TLS.
//!
//! Reading order: `running.rs` starts and stops all parts, for `landform up` too; `pki.rs` makes the certificates
//! and the token, `kubeconfig.rs` writes them down for clients, `listener.rs` accepts connections (`gate.rs` says how many, and how long one may do nothing; `frames.rs`
//! how many frames without a request) and finds out who calls (`auth.rs`). `audit.rs` says what is written down of requests.

mod audit;
mod auth;
mod bind;
mod frames;
mod gate;
mod kubeconfig;
mod listener;
mod pki;
mod quota;
mod running;
mod unread;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tokio::signal::unix::{SignalKind, signal};

pub(crate) use self::audit::AuditArgs;
pub(crate) use self::bind::{bind, bind_asked};
pub(crate) use self::running::{Options, Running, make_private_dir};
use crate::logging::{self, LogFormat};
use crate::store_key::KeyArgs;
use crate::{AnyError, data_dir, engine};

/// Arguments of `landform serve`.
#[derive(Args)]
pub(crate) struct ServeArgs {
    /// Where everything is kept [default: landform under the user's data home].
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// The address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7443")]
    listen: SocketAddr,
    /// Where to write the admin's kubeconfig [default: kubeconfig in the data directory].
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Where objects are stored.
    #[arg(long, value_enum, default_value_t = StoreKind::Embedded)]
    store: StoreKind,
    /// How much memory stored objects and their history may take, such as 512Mi; writes that need more are refused
    /// [default: a sixth of the memory that the process may use].
    #[arg(long, value_name = "BYTES", value_parser = quota::parse_bytes)]
    store_quota: Option<u64>,
    #[command(flatten)]
    key: KeyArgs,
    /// Only serve the API: reconcilers run elsewhere, with `landform engine`.
    #[arg(long, conflicts_with_all = ["deployer", "without_deployers"])]
    without_engine: bool,
    #[command(flatten)]
    controllers: engine::ControllerArgs,
    #[command(flatten)]
    audit: AuditArgs,
    /// How log lines look.
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
}

/// Where objects are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StoreKind {
    /// In memory: gone when the server stops.
    Memory,
    /// In the data directory: durable before acknowledged.
    Embedded,
}

pub(crate) fn run(args: ServeArgs) -> Result<ExitCode, AnyError> {
    logging::start(args.log_format);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(serve(args));
    // Whatever still runs has had its time.
    runtime.shutdown_timeout(Duration::from_millis(200));
    result
}

async fn serve(args: ServeArgs) -> Result<ExitCode, AnyError> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let listener = bind_asked(args.listen).await?;
    let running = Running::start(Options {
        data_dir: data_dir::resolve(args.data_dir)?,
        kubeconfig: args.kubeconfig,
        store: args.store,
        controllers: (!args.without_engine).then_some(args.controllers),
        listener,
        audit: Some(args.audit),
        store_quota: args.store_quota,
        key: args.key,
    })
    .await?;
    println!(
        "landform ready: https://{} kubeconfig={}",
        running.address,
        running.kubeconfig.display()
    );
    tokio::select! {
        _ = terminate.recv() => tracing::info!("stopping: SIGTERM"),
        _ = interrupt.recv() => tracing::info!("stopping: Ctrl-C"),
    }
    running.stop().await;
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}
