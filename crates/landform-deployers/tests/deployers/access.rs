//! Processes that use the API: what they get, and that it is renewed without them.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, DeleteParams, PostParams};
use landform_apiserver::{ApiServer, Identity};
use landform_deployers::DeployItems;
use landform_deployers::process::{ApiAddress, ProcessDeployer};
use serde_json::{Value, json};

use crate::harness::{DataDirectory, World};

fn deployers(data: &Path, server: &str) -> DeployItems {
    let api = ApiAddress {
        server: server.into(),
        ca_certificate: Some("the certificate".into()),
    };
    DeployItems::new().with(ProcessDeployer::new(data).with_api(api))
}

fn spec(access: Value) -> Value {
    json!({"type": ProcessDeployer::KIND, "config": {
        "command": ["sh", "-c", "echo up $KUBECONFIG; exec sleep 1000"],
        "readiness": {"log": {"pattern": "^up"}},
        "access": access,
    }})
}

async fn account(world: &World, name: &str) {
    let accounts: Api<ServiceAccount> = Api::default_namespaced(world.client.clone());
    let account = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    accounts
        .create(&PostParams::default(), &account)
        .await
        .unwrap();
}

fn item_directory(data: &DataDirectory) -> PathBuf {
    let mut entries = std::fs::read_dir(data.path().join("processes")).unwrap();
    entries.next().unwrap().unwrap().path()
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

async fn who(server: &ApiServer, file: &Path) -> Option<Identity> {
    let token = std::fs::read_to_string(file).unwrap();
    server.authenticate(&token).await.unwrap()
}

#[tokio::test]
async fn a_process_with_access_has_a_kubeconfig_that_is_renewed_without_a_restart() {
    let data = DataDirectory::new();
    let mut world = World::new(deployers(data.path(), "https://127.0.0.1:1")).await;
    account(&world, "web").await;
    world
        .hand_out("a", spec(json!({"serviceAccount": "web"})))
        .await;
    let item = world.until_phase("a", "Succeeded").await;
    let pid = item.data["status"]["providerStatus"]["pid"].clone();
    let directory = item_directory(&data);
    let access = directory.join("access/default_web");
    let kubeconfig = access.join("kubeconfig");
    let log = std::fs::read_to_string(directory.join("log/process.log")).unwrap();
    assert_eq!(log, format!("up {}\n", kubeconfig.display()));
    for path in ["kubeconfig", "token", "times.json"] {
        assert_eq!(mode(&access.join(path)), 0o600, "{path}");
    }
    assert_eq!(mode(&access), 0o700);
    let token_file = access.join("token");
    let token = std::fs::read_to_string(&token_file).unwrap();
    let found = who(&world.server, &token_file).await.unwrap();
    assert_eq!(found.user, "system:serviceaccount:default:web");
    assert!(
        !std::fs::read_to_string(&kubeconfig)
            .unwrap()
            .contains(&token)
    );
    let shown = serde_json::to_string(&item).unwrap();
    assert!(!shown.contains(&token), "{shown}");

    // Landform is away while the token gets old, and comes back at another address.
    world.engine.stop(std::time::Duration::from_secs(5)).await;
    std::fs::write(access.join("times.json"), r#"{"issued": 0, "expires": 1}"#).unwrap();
    world
        .restart(deployers(data.path(), "https://127.0.0.1:2"))
        .await;
    let renewed = async {
        while std::fs::read_to_string(&kubeconfig)
            .unwrap()
            .contains("127.0.0.1:1")
        {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), renewed)
        .await
        .unwrap();
    assert_ne!(std::fs::read_to_string(&token_file).unwrap(), token);
    assert!(who(&world.server, &token_file).await.is_some());
    let item = world.until_phase("a", "Succeeded").await;
    assert_eq!(item.data["status"]["providerStatus"]["pid"], pid);

    // Another account is another process.
    account(&world, "other").await;
    let other = json!({"spec": spec(json!({"serviceAccount": "other"})),
        "metadata": {"annotations": {"landscaper.gardener.cloud/reconcile-time":
            landform_engine::write_time(crate::harness::now_ms())}}});
    world.patch("a", other).await;
    let item = world.until_phase("a", "Succeeded").await;
    assert_ne!(item.data["status"]["providerStatus"]["pid"], pid);
    assert!(!access.exists());
    let found = who(&world.server, &directory.join("access/default_other/token")).await;
    assert_eq!(found.unwrap().user, "system:serviceaccount:default:other");
    world.delete("a").await;
    world.until_gone("a").await;
    assert!(!directory.exists());
}

#[tokio::test]
async fn c6_only_the_user_of_a_process_reads_its_access() {
    let text = std::fs::read_to_string("/etc/passwd").unwrap();
    let nobody = text.lines().find(|line| line.starts_with("nobody:"));
    let data = DataDirectory::new();
    let own = std::fs::metadata(data.path()).unwrap().uid();
    // It takes root, and such a user.
    let (Some(nobody), 0) = (nobody, own) else {
        return;
    };
    let id: u32 = nobody.split(':').nth(2).unwrap().parse().unwrap();
    let world = World::new(deployers(data.path(), "https://127.0.0.1:1")).await;
    account(&world, "web").await;
    let mut spec = spec(json!({"serviceAccount": "web"}));
    spec["config"]["user"] = json!("nobody");
    spec["config"]["command"] = json!([
        "sh",
        "-c",
        "d=$(dirname $KUBECONFIG); cat $d/token > /dev/null && cat $KUBECONFIG > /dev/null && \
         ! ls $d && ! cat $d/times.json && ! touch $d/x && echo up; exec sleep 1000",
    ]);
    world.hand_out("a", spec).await;
    world.until_phase("a", "Succeeded").await;
    let access = item_directory(&data).join("access/default_web");
    for (path, owner) in [("kubeconfig", id), ("token", id), ("times.json", own)] {
        let found = std::fs::metadata(access.join(path)).unwrap();
        assert_eq!(
            (found.uid(), mode(&access.join(path))),
            (owner, 0o600),
            "{path}"
        );
    }
    // Its group may enter, and read nothing.
    for directory in [&access, access.parent().unwrap()] {
        let found = std::fs::metadata(directory).unwrap();
        assert_eq!((found.uid(), mode(directory)), (own, 0o710));
    }
    world.delete("a").await;
    world.until_gone("a").await;
}

#[tokio::test]
async fn what_is_missing_is_said_and_waited_for() {
    let data = DataDirectory::new();
    let world = World::new(deployers(data.path(), "https://127.0.0.1:1")).await;
    world
        .hand_out("a", spec(json!({"serviceAccount": "late"})))
        .await;
    let item = world
        .until("a", |item| {
            item.data["status"]["lastError"]["reason"] == "NoServiceAccount"
        })
        .await;
    let message = item.data["status"]["lastError"]["message"]
        .as_str()
        .unwrap();
    assert!(
        message.starts_with("config.access: there is no such service account"),
        "{message}"
    );
    account(&world, "late").await;
    world.until_phase("a", "Succeeded").await;
    world
        .items()
        .delete("a", &DeleteParams::background())
        .await
        .unwrap();
    world.until_gone("a").await;
}

#[tokio::test]
async fn without_an_address_access_is_an_error_of_the_configuration() {
    let data = DataDirectory::new();
    let items = DeployItems::new().with(ProcessDeployer::new(data.path()));
    let world = World::new(items).await;
    account(&world, "web").await;
    world
        .hand_out("a", spec(json!({"serviceAccount": "web"})))
        .await;
    let item = world.until_phase("a", "Failed").await;
    assert_eq!(item.data["status"]["lastError"]["reason"], "NoApiAddress");
}
