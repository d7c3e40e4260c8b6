//! `examples/shop`: three installations of real processes, wired by exports and imports only.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::watcher;
use landform_api::landscaper::{GROUP, VERSION, definition};
use landform_apiserver::{ApiServer, Config, Identity, LocalService};
use landform_controllers::collector::Collector;
use landform_controllers::landscape::{self, Blueprints};
use landform_deployers::DeployItems;
use landform_deployers::process::ProcessDeployer;
use landform_engine::{Engine, definitions};
use landform_store::memory::MemoryStore;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::harness::DataDirectory;

const PATIENCE: Duration = Duration::from_secs(60);
const INSTALLATIONS: [&str; 3] = ["shop-database", "shop-api", "shop-web"];

struct Shop {
    client: Client,
    _engine: Engine,
    ports: [u16; 3],
}

/// Ports that nobody listens on.
fn free_ports<const COUNT: usize>() -> [u16; COUNT] {
    let listeners =
        std::array::from_fn::<_, COUNT, _>(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

impl Shop {
    async fn new(data: &Path) -> Self {
        let server = ApiServer::start(Arc::new(MemoryStore::new()), Config::default());
        let server = server.await.unwrap();
        tokio::spawn(server.clone().keep_house());
        let client = Client::new(
            LocalService::new(server.clone(), Identity::internal()),
            "default",
        );
        for definition in definition::definitions() {
            definitions::install(&client, &definition).await.unwrap();
        }
        tokio::spawn(Collector::new(client.clone(), &server.metrics_registry()).run());
        let (installations, executions) = landscape::reconcilers(Blueprints::new(None));
        let items = DeployItems::new().with(ProcessDeployer::new(data));
        let wake = items.wake();
        let engine = Engine::builder(client.clone())
            .reconciler(installations)
            .reconciler(executions)
            .reconciler(items)
            .start()
            .unwrap();
        wake.connect(&engine);
        Self {
            client,
            _engine: engine,
            ports: free_ports(),
        }
    }

    fn api(&self, kind: &str) -> Api<DynamicObject> {
        let plural = format!("{}s", kind.to_lowercase());
        let kind = GroupVersionKind::gvk(GROUP, VERSION, kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, &plural);
        Api::default_namespaced_with(self.client.clone(), &resource)
    }

    /// Applies the example, with ports that are free here.
    async fn open(&self) {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/shop");
        for name in ["api", "config", "database", "web"] {
            let mut text = std::fs::read_to_string(example.join(format!("{name}.yaml"))).unwrap();
            for (written, port) in ["7401", "7402", "7403"].iter().zip(self.ports) {
                text = text.replace(written, &port.to_string());
            }
            let object = landform_yaml::parse_one(&text, &landform_yaml::Budget::FILE).unwrap();
            let kind = object["kind"].as_str().unwrap().to_owned();
            let object: DynamicObject = serde_json::from_value(object).unwrap();
            self.api(&kind)
                .create(&PostParams::default(), &object)
                .await
                .unwrap();
        }
    }

    /// Waits until an installation is as wanted.
    async fn until(&self, name: &str, wanted: impl Fn(&Value) -> bool) {
        let found = async {
            let mut watch = std::pin::pin!(watcher::watch_object(self.api("Installation"), name));
            while let Some(found) = watch.next().await {
                if found
                    .unwrap()
                    .is_some_and(|object| wanted(&object.data["status"]))
                {
                    return;
                }
            }
        };
        if tokio::time::timeout(PATIENCE, found).await.is_err() {
            let object = self.api("Installation").get(name).await.unwrap();
            panic!("{name}: {}", object.data["status"]);
        }
    }

    /// The processes of the three, by installation.
    async fn processes(&self) -> [i64; 3] {
        let items = self
            .api("DeployItem")
            .list(&Default::default())
            .await
            .unwrap()
            .items;
        INSTALLATIONS.map(|name| {
            let label = "execution.landscaper.gardener.cloud/managed-by";
            let item = items
                .iter()
                .find(|item| item.metadata.labels.as_ref().unwrap()[label] == name);
            item.unwrap().data["status"]["providerStatus"]["pid"]
                .as_i64()
                .unwrap()
        })
    }

    async fn ask(&self, port: u16, request: &str) -> String {
        let mut connection = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.unwrap();
        answer
    }

    async fn page(&self) -> String {
        self.ask(self.ports[2], "GET / HTTP/1.0\r\n\r\n").await
    }
}

fn succeeded(status: &Value) -> bool {
    status["phase"] == "Succeeded"
}

#[tokio::test]
async fn a_shop_opens_moves_its_database_and_closes_from_the_front() {
    let data = DataDirectory::new();
    let shop = Shop::new(data.path()).await;
    shop.open().await;
    for name in INSTALLATIONS {
        shop.until(name, succeeded).await;
    }
    let put = "PUT /products/tea HTTP/1.0\r\nContent-Length: 4\r\n\r\n3.50";
    shop.ask(shop.ports[1], put).await;
    assert!(shop.page().await.contains("<li>tea: 3.50</li>"));
    let before = shop.processes().await;

    // The database moves: the API follows, and the page need not.
    let [port] = free_ports();
    let configuration = |status: &Value| status["configGeneration"].clone();
    let old =
        configuration(&shop.api("Installation").get("shop-api").await.unwrap().data["status"]);
    let patch = Patch::Merge(json!({"data": {"port": port}}));
    let objects = shop.api("DataObject");
    objects
        .patch("shop-config", &PatchParams::default(), &patch)
        .await
        .unwrap();
    shop.until("shop-api", |status| {
        succeeded(status) && configuration(status) != old
    })
    .await;
    for name in INSTALLATIONS {
        shop.until(name, succeeded).await;
    }
    let exported = objects.get("shop-database").await.unwrap();
    assert_eq!(exported.data["data"]["port"], port);
    assert!(shop.page().await.contains("<li>tea: 3.50</li>"));
    let after = shop.processes().await;
    assert!(before[0] != after[0] && before[1] != after[1] && before[2] == after[2]);

    // All are told to go, and go in the order of what they import.
    let installations = shop.api("Installation");
    let mut watch = std::pin::pin!(watcher::watcher(
        installations.clone(),
        watcher::Config::default()
    ));
    let mut gone = Vec::new();
    let closing = async {
        while let Some(event) = watch.next().await {
            match event.unwrap() {
                watcher::Event::InitDone => {
                    for name in INSTALLATIONS {
                        installations
                            .delete(name, &DeleteParams::default())
                            .await
                            .unwrap();
                    }
                }
                watcher::Event::Delete(object) => gone.push(object.metadata.name.unwrap()),
                watcher::Event::Init | watcher::Event::InitApply(_) | watcher::Event::Apply(_) => {}
            }
            if gone.len() == INSTALLATIONS.len() {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, closing).await.unwrap();
    assert_eq!(gone, ["shop-web", "shop-api", "shop-database"]);
    assert_eq!(
        std::fs::read_dir(data.path().join("processes"))
            .unwrap()
            .count(),
        0
    );
}
