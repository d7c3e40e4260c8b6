//! A server with all its parts: started, and stopped in the right order.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use landform_apiserver::{
    AUTHENTICATED, ApiServer, AuditLog, Config, Identity, MASTERS, StaticToken, StoreQuota,
};
use landform_controllers::collector::Collector;
use landform_deployers::process::ApiAddress;
use landform_engine::Engine;
use landform_store::embedded::{EmbeddedStore, Options as StoreOptions};
use landform_store::memory::MemoryStore;
use landform_store::{HistoryLimits, Store};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::audit::AuditArgs;
use super::pki::ADMIN_USER;
use super::quota::default_quota;
use super::{StoreKind, kubeconfig, listener, pki};
use crate::engine::Started;
use crate::store_key::KeyArgs;
use crate::{AnyError, data_dir, engine, revisions};

/// When the server is told to stop, requests that are under way get this long to finish.
const PATIENCE: Duration = Duration::from_secs(4);

/// What a server is started with.
pub(crate) struct Options {
    pub(crate) data_dir: PathBuf,
    /// Where the admin's kubeconfig goes, if not into the data directory.
    pub(crate) kubeconfig: Option<PathBuf>,
    pub(crate) store: StoreKind,
    /// What controllers and deployers are told; none when reconcilers run elsewhere.
    pub(crate) controllers: Option<engine::ControllerArgs>,
    pub(crate) listener: TcpListener,
    /// How much memory stored objects may take, if not the usual part of what there is.
    pub(crate) store_quota: Option<u64>,
    /// What Secrets are encrypted with on disk.
    pub(crate) key: KeyArgs,
    /// Where requests are written down; nowhere without it.
    pub(crate) audit: Option<AuditArgs>,
}

/// A server at work.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    /// The admin's kubeconfig.
    pub(crate) kubeconfig: PathBuf,
    engine: Option<Started>,
    server: ApiServer,
    store: OpenStore,
    house: JoinHandle<()>,
    collector: JoinHandle<()>,
    /// Notes revisions of installations, where the engine runs.
    revisions: Option<JoinHandle<()>>,
    listening: listener::Listening,
    audit: Option<AuditLog>,
}

impl Running {
    pub(crate) async fn start(options: Options) -> Result<Self, AnyError> {
        let data_dir = &options.data_dir;
        make_private_dir(data_dir)?;
        let quota = options
            .store_quota
            .map_or_else(default_quota, |bytes| StoreQuota { bytes });
        let store = open_store(options.store, data_dir, quota, &options.key)?;
        let address = options.listener.local_addr()?;
        let pki = pki::load_or_make(&data_dir.join("pki"), address.ip())?;
        let audit = match &options.audit {
            Some(audit) => audit.open(data_dir)?,
            None => None,
        };
        let config = Config {
            audit: audit.clone(),
            store_quota: Some(quota),
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
        let kubeconfig = options
            .kubeconfig
            .unwrap_or_else(|| data_dir.join("kubeconfig"));
        let kubeconfig = kubeconfig::write(&kubeconfig, address, &pki)?;
        engine::install_kinds(&engine::client_in_process(&server)).await?;
        let engine = match options.controllers {
            None => None,
            Some(controllers) => {
                let api = ApiAddress {
                    server: kubeconfig::server_url(address),
                    ca_certificate: Some(pki.ca_certificate.clone()),
                };
                let engine =
                    engine::start_in_process(&server, store.store(), data_dir, api, controllers)?;
                Some(engine)
            }
        };
        let revisions = engine
            .is_some()
            .then(|| tokio::spawn(revisions::follow(engine::client_in_process(&server))));
        let house = tokio::spawn(server.clone().keep_house());
        let collector = tokio::spawn(collector(&server).run());
        let listening =
            listener::Listening::start(options.listener, server.clone(), &pki, audit.clone())?;
        Ok(Self {
            address,
            kubeconfig,
            engine,
            server,
            store,
            house,
            collector,
            revisions,
            listening,
            audit,
        })
    }

    /// The engine, unless reconcilers run elsewhere.
    pub(crate) fn engine(&self) -> Option<&Engine> {
        self.engine.as_ref().map(|started| &started.engine)
    }

    /// Everything that is stored.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        self.store.store()
    }

    /// A client without a socket.
    pub(crate) fn client(&self) -> Client {
        engine::client_in_process(&self.server)
    }

    pub(crate) async fn stop(self) {
        // Runs are told first: they may still write what they know.
        if let Some(started) = self.engine {
            started.engine.stop(PATIENCE / 4).await;
        }
        // What this is at is cut short, and done again after the next start.
        self.collector.abort();
        if let Some(revisions) = self.revisions {
            revisions.abort();
        }
        let _ = self.collector.await;
        self.server.stop();
        self.listening.finish(PATIENCE).await;
        let _ = tokio::time::timeout(Duration::from_millis(250), self.house).await;
        if let Some(audit) = self.audit {
            let flushed = tokio::task::spawn_blocking(move || audit.flush(PATIENCE / 4));
            let _ = flushed.await;
        }
        self.store.close().await;
    }
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

fn open_store(
    kind: StoreKind,
    data_dir: &Path,
    quota: StoreQuota,
    key: &KeyArgs,
) -> Result<OpenStore, AnyError> {
    let history = HistoryLimits {
        max_superseded_bytes: quota.history_bytes_max(),
        ..HistoryLimits::default()
    };
    Ok(match kind {
        StoreKind::Memory => OpenStore::Memory(Arc::new(MemoryStore::with_limits(history))),
        StoreKind::Embedded => {
            let options = StoreOptions {
                history,
                sealing: Some(key.sealing(data_dir)?),
                ..StoreOptions::default()
            };
            let store = EmbeddedStore::open(&data_dir::store_dir(data_dir), options)?;
            OpenStore::Embedded(Arc::new(store))
        }
    })
}

/// Makes a directory that only its owner can look into.
pub(crate) fn make_private_dir(dir: &Path) -> Result<(), AnyError> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|error| format!("can't make the directory {}: {error}", dir.display()).into())
}
