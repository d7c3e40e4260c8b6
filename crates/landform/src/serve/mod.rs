//! `landform serve`: the API server on a store, behind TLS.
//!
//! Reading order: `pki.rs` makes the certificates and the token, `kubeconfig.rs` writes them down for
//! clients, `listener.rs` accepts connections and finds out who calls (`auth.rs`).

mod auth;
mod kubeconfig;
mod listener;
mod pki;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use landform_apiserver::{AUTHENTICATED, ApiServer, Config, Identity, MASTERS, StaticToken};
use landform_controllers::collector::Collector;
use landform_deployers::process::ApiAddress;
use landform_store::Store;
use landform_store::embedded::{EmbeddedStore, Options};
use landform_store::memory::MemoryStore;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use self::pki::ADMIN_USER;
use crate::logging::{self, LogFormat};
use crate::{AnyError, data_dir, engine};

/// When the server is told to stop, requests that are under way get this long to finish.
const PATIENCE: Duration = Duration::from_secs(4);

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
    /// Only serve the API: reconcilers run elsewhere, with `landform engine`.
    #[arg(long)]
    without_engine: bool,
    #[command(flatten)]
    controllers: engine::ControllerArgs,
    /// How log lines look.
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
}

/// Where objects are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StoreKind {
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
    let data_dir = data_dir::resolve(args.data_dir)?;
    make_private_dir(&data_dir)?;
    let store = open_store(args.store, &data_dir)?;
    let listener = TcpListener::bind(args.listen).await.map_err(|error| {
        format!(
            "can't listen on {}: {error}; name another address with --listen",
            args.listen
        )
    })?;
    let address = listener.local_addr()?;
    let pki = pki::load_or_make(&data_dir.join("pki"), address.ip())?;
    let config = Config {
        address: address.to_string(),
        ca_certificate: Some(pki.ca_certificate.clone()),
        static_tokens: vec![StaticToken::new(
            &pki.token,
            Identity::new(ADMIN_USER, [MASTERS, AUTHENTICATED]),
        )],
        token_key: Some(pki.token_key.clone()),
        ..Config::default()
    };
    let server = ApiServer::start(store.store(), config).await?;
    let kubeconfig = args
        .kubeconfig
        .unwrap_or_else(|| data_dir.join("kubeconfig"));
    let kubeconfig = kubeconfig::write(&kubeconfig, address, &pki)?;
    engine::install_kinds(&engine::client_in_process(&server)).await?;
    let engine = if args.without_engine {
        None
    } else {
        let api = ApiAddress {
            server: kubeconfig::server_url(address),
            ca_certificate: Some(pki.ca_certificate.clone()),
        };
        let engine = engine::start_in_process(&server, &data_dir, api, args.controllers)?;
        Some(engine)
    };
    let house = tokio::spawn(server.clone().keep_house());
    let collector = tokio::spawn(collector(&server).run());
    let listening = listener::Listening::start(listener, server.clone(), &pki)?;
    println!(
        "landform ready: https://{address} kubeconfig={}",
        kubeconfig.display()
    );
    tokio::select! {
        _ = terminate.recv() => tracing::info!("stopping: SIGTERM"),
        _ = interrupt.recv() => tracing::info!("stopping: Ctrl-C"),
    }
    // Runs are told first: they may still write what they know.
    if let Some(engine) = engine {
        engine.stop(PATIENCE / 4).await;
    }
    // What this is at is cut short, and done again after the next start.
    collector.abort();
    let _ = collector.await;
    server.stop();
    listening.finish(PATIENCE).await;
    let _ = tokio::time::timeout(Duration::from_millis(250), house).await;
    store.close().await;
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// The garbage collector: a client without a socket, which shows itself as `deletion`.
fn collector(server: &ApiServer) -> Collector {
    let client = engine::client_in_process(server);
    let collector = Collector::new(client, &server.metrics_registry());
    server.mount("deletion", collector.view());
    collector
}

/// The store, kept in its own type so that it can be closed.
enum OpenStore {
    Memory(Arc<MemoryStore>),
    Embedded(Arc<EmbeddedStore>),
}

impl OpenStore {
    fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Memory(store) => store.clone(),
            Self::Embedded(store) => store.clone(),
        }
    }

    async fn close(&self) {
        match self {
            Self::Memory(_) => {}
            Self::Embedded(store) => {
                if let Err(error) = store.close().await {
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "closing the store failed"
                    );
                }
            }
        }
    }
}

fn open_store(kind: StoreKind, data_dir: &Path) -> Result<OpenStore, AnyError> {
    Ok(match kind {
        StoreKind::Memory => OpenStore::Memory(Arc::new(MemoryStore::new())),
        StoreKind::Embedded => {
            let store = EmbeddedStore::open(&data_dir::store_dir(data_dir), Options::default())?;
            OpenStore::Embedded(Arc::new(store))
        }
    })
}

/// Makes a directory that only its owner can look into.
fn make_private_dir(dir: &Path) -> Result<(), AnyError> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|error| format!("can't make the directory {}: {error}", dir.display()).into())
}
