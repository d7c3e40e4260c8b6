//! One life of the control plane: the real API server with its housekeeping, on the disk as it was left.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use http_body_util::{BodyExt as _, Empty};
use landform_apiserver::{ApiServer, Config, Identity, LocalService};
use landform_controllers::collector::Collector;
use landform_store::Store;
use parking_lot::Mutex;
use serde_json::Value;

use crate::client::Client;
use crate::clock::SimClock;
use crate::disk::{CrashingStore, Disk, Life};
use crate::environment::SimEnvironment;
use crate::fault::Faults;
use crate::network::{Network, SimService};
use crate::trace::Trace;

/// What outlives the processes of a simulation.
#[derive(Clone)]
pub struct Surroundings {
    /// Where all chance comes from.
    pub seed: u64,
    /// The time.
    pub clock: SimClock,
    /// What happened so far.
    pub trace: Trace,
    /// What goes wrong.
    pub faults: Faults,
    /// What is stored.
    pub disk: Disk,
    pub(crate) environment: SimEnvironment,
}

/// By group and kind: the plural, and whether it has namespaces.
type Plurals = BTreeMap<(String, String), (String, bool)>;

/// A process that runs. Cheap to clone.
#[derive(Clone)]
pub struct Process {
    server: ApiServer,
    surroundings: Surroundings,
    life: Arc<Life>,
    /// What discovery said of a kind: its plural, and whether it has namespaces.
    resources: Arc<Mutex<Plurals>>,
}

/// Idle watches cost simulated events; those that last get a bookmark now and then.
const BOOKMARKS: Duration = Duration::from_secs(600);

impl Process {
    /// Starts the server on what is on the disk.
    pub(crate) async fn boot(
        surroundings: &Surroundings,
        life: Arc<Life>,
    ) -> Result<Self, landform_apiserver::error::ApiError> {
        let store = CrashingStore::new(
            surroundings.disk.clone(),
            life.clone(),
            surroundings.faults.clone(),
        );
        let config = Config {
            bookmark_interval: BOOKMARKS,
            ..Config::default()
        };
        let environment = Arc::new(surroundings.environment.clone());
        let server =
            ApiServer::start_in(Arc::new(store) as Arc<dyn Store>, config, environment).await?;
        tokio::spawn(server.clone().keep_house());
        let process = Self {
            server,
            surroundings: surroundings.clone(),
            life,
            resources: Arc::default(),
        };
        let client = kube::Client::new(process.service("collector").reads_unnoted(), "default");
        let collector = Collector::new(client, &process.server.metrics_registry());
        tokio::spawn(collector.run());
        Ok(process)
    }

    /// The API server.
    #[must_use]
    pub fn server(&self) -> &ApiServer {
        &self.server
    }

    /// What outlives this process.
    #[must_use]
    pub fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// Whether it lives. What has effects outside of the process must look before it acts.
    #[must_use]
    pub fn life(&self) -> &Arc<Life> {
        &self.life
    }

    /// The way to the API server for a client with this name.
    #[must_use]
    pub fn service(&self, who: &str) -> SimService {
        let network = Network {
            faults: self.surroundings.faults.clone(),
            trace: self.surroundings.trace.clone(),
            disk: self.surroundings.disk.clone(),
        };
        let server = LocalService::new(self.server.clone(), Identity::internal());
        SimService::new(server, network, who)
    }

    /// A client that speaks plain JSON.
    #[must_use]
    pub fn client(&self, who: &str) -> Client {
        Client::new(self.service(who))
    }

    /// A client of the kind that controllers use. It needs the process's runtime.
    #[must_use]
    pub fn kube_client(&self, who: &str) -> kube::Client {
        kube::Client::new(self.service(who), "default")
    }

    /// The plural of a kind, and whether it has namespaces: asked of discovery, once.
    ///
    /// # Errors
    /// When there is no such kind.
    pub(crate) async fn resource(
        &self,
        api_version: &str,
        kind: &str,
    ) -> Result<(String, bool), String> {
        let key = (api_version.to_owned(), kind.to_owned());
        if let Some(known) = self.resources.lock().get(&key) {
            return Ok(known.clone());
        }
        let listed = self.peek(&root(api_version)).await;
        let mut resources = listed["resources"].as_array().into_iter().flatten();
        let found = resources.find(|resource| {
            let plural = resource["name"].as_str().unwrap_or_default();
            resource["kind"] == *kind && !plural.contains('/')
        });
        let found = found.ok_or_else(|| format!("no kind {kind} in {api_version}"))?;
        let plural = found["name"].as_str().unwrap_or_default().to_owned();
        let resource = (plural, found["namespaced"] == true);
        self.resources.lock().insert(key, resource.clone());
        Ok(resource)
    }

    /// Asks the server past the network: takes no time, never fails, leaves no trace.
    pub(crate) async fn peek(&self, path: &str) -> Value {
        let mut request = Request::new(Empty::<bytes::Bytes>::new());
        if let Ok(uri) = path.parse() {
            *request.uri_mut() = uri;
        }
        request.extensions_mut().insert(Identity::internal());
        let response = self.server.answer(request).await;
        let bytes = match response.into_body().collect().await {
            Ok(body) => body.to_bytes(),
            Err(never) => match never {},
        };
        serde_json::from_slice(&bytes).unwrap_or(Value::Null)
    }
}

/// Where the kinds of a group and version are.
pub(crate) fn root(api_version: &str) -> String {
    let core = !api_version.contains('/');
    format!("/{}/{api_version}", if core { "api" } else { "apis" })
}
