//! Processes and commands through the whole contract: real ones, on the real server and engine.

use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::api::Api;
use landform_deployers::DeployItems;
use landform_deployers::command::CommandDeployer;
use landform_deployers::process::ProcessDeployer;
use serde_json::{Value, json};

use crate::harness::{DataDirectory, World};

/// Everything that should happen happens within this time.
const PATIENCE: Duration = Duration::from_secs(60);

fn deployers(data: &Path) -> DeployItems {
    DeployItems::new()
        .with(ProcessDeployer::new(data))
        .with(CommandDeployer::new(data))
}

fn process(script: &str, more: Value) -> Value {
    let mut config = json!({
        "command": ["sh", "-c", script],
        "restart": {"backoff": "10ms"},
        "readiness": {"log": {"pattern": "^up$"}},
    });
    for (name, value) in more.as_object().unwrap() {
        config[name] = value.clone();
    }
    json!({"type": ProcessDeployer::KIND, "config": config})
}

fn pid(item: &kube::core::DynamicObject) -> i64 {
    item.data["status"]["providerStatus"]["pid"]
        .as_i64()
        .unwrap()
}

fn is_running(pid: i64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waited = tokio::time::timeout(PATIENCE, async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    waited
        .await
        .unwrap_or_else(|_| panic!("it never happened: {what}"));
}

async fn exported(world: &World, name: &str) -> Value {
    let secrets: Api<Secret> = Api::default_namespaced(world.client.clone());
    let secret = secrets.get(&format!("{name}-export")).await.unwrap();
    serde_json::from_slice(&secret.data.unwrap()["config"].0).unwrap()
}

#[tokio::test]
async fn a_process_outlives_landform_and_goes_with_its_item() {
    let data = DataDirectory::new();
    let mut world = World::new(deployers(data.path())).await;
    let spec = process(
        "echo up; exec sleep 1000",
        json!({"exports": {"port": {"value": 5432}}}),
    );
    world.hand_out("db", spec).await;
    let item = world.until_phase("db", "Succeeded").await;
    let first = pid(&item);
    assert!(is_running(first));
    assert_eq!(exported(&world, "db").await, json!({"port": 5432}));
    assert!(item.data["status"]["providerStatus"]["configHash"].is_string());

    world.restart(deployers(data.path())).await;
    assert!(is_running(first));
    // Another configuration replaces it, so the restarted deployer knows which one it is.
    let spec = process("echo up; exec sleep 2000", json!({}));
    world.patch("db", json!({"spec": spec})).await;
    let changed = |item: &kube::core::DynamicObject| {
        item.data["status"]["phase"] == "Succeeded" && pid(item) != first
    };
    let second = pid(&world.until("db", changed).await);
    assert!(!is_running(first) && is_running(second));

    world.delete("db").await;
    world.until_gone("db").await;
    assert!(!is_running(second));
    assert_eq!(
        std::fs::read_dir(data.path().join("processes"))
            .unwrap()
            .count(),
        0
    );
}

#[tokio::test]
async fn an_item_whose_process_gave_up_fails_and_runs_again_when_asked() {
    let data = DataDirectory::new();
    let world = World::new(deployers(data.path())).await;
    let more = json!({"restart": {"policy": "Never"}, "workingDirectory": data.path()});
    let script = "echo up; while test ! -e end; do sleep 0.01; done; echo canary; exit 3";
    world.hand_out("db", process(script, more)).await;
    world.until_phase("db", "Succeeded").await;
    let end = data.path().join("end");
    std::fs::write(&end, "").unwrap();
    let item = world.until_phase("db", "Failed").await;
    let message = item.data["status"]["lastError"]["message"]
        .as_str()
        .unwrap();
    assert!(message.contains("exit status: 3; its log is "), "{message}");
    assert!(!item.data.to_string().contains("\"canary\""));
    let log = PathBuf::from(message.split("its log is ").nth(1).unwrap());
    assert!(std::fs::read_to_string(log).unwrap().contains("canary"));

    std::fs::remove_file(&end).unwrap();
    let again =
        json!({"metadata": {"annotations": {"landscaper.gardener.cloud/operation": "reconcile"}}});
    world.patch("db", again).await;
    world.until_phase("db", "Succeeded").await;
    world.delete("db").await;
    world.until_gone("db").await;
}

#[tokio::test]
async fn a_process_that_dies_is_adopted_and_started_again_after_a_restart() {
    let data = DataDirectory::new();
    let mut world = World::new(deployers(data.path())).await;
    let more = json!({"exports": {"pid": {"fromFile": {"path": "pid"}}}});
    let script = "echo $$ > pid; echo up; exec sleep 1000";
    world.hand_out("db", process(script, more)).await;
    let first = pid(&world.until_phase("db", "Succeeded").await);
    world.restart(deployers(data.path())).await;
    let state = std::process::Command::new("kill")
        .arg("-9")
        .arg(first.to_string())
        .status();
    assert!(state.unwrap().success());
    let changed = |item: &kube::core::DynamicObject| {
        item.data["status"]["phase"] == "Succeeded" && pid(item) != first
    };
    let item = world.until("db", changed).await;
    assert_eq!(exported(&world, "db").await["pid"], pid(&item).to_string());
    world.delete("db").await;
    world.until_gone("db").await;
    assert!(!is_running(pid(&item)));
}

fn kill(pid: i64) {
    let killed = std::process::Command::new("kill")
        .args(["-9", &pid.to_string()])
        .status();
    assert!(killed.unwrap().success());
}

/// Waits until another process than this one runs and is ready.
async fn until_replaced(world: &World, name: &str, former: i64) -> kube::core::DynamicObject {
    let replaced = |item: &kube::core::DynamicObject| {
        item.data["status"]["phase"] == "Succeeded" && pid(item) != former
    };
    let item = world.until(name, replaced).await;
    assert!(is_running(pid(&item)));
    assert!(item.data["status"]["lastError"].is_null());
    item
}

#[tokio::test]
async fn an_item_is_in_work_while_its_process_is_away_even_if_a_child_keeps_its_port() {
    let data = DataDirectory::new();
    let world = World::new(deployers(data.path())).await;
    // The child hears no signal but the last one, which comes when the grace is over.
    let script = "(trap '' TERM; echo $$; exec sleep 1000) & echo $! > child; echo up; wait";
    let more = json!({"stop": {"grace": "10m"}});
    world.hand_out("db", process(script, more)).await;
    let item = world.until_phase("db", "Succeeded").await;
    let first = pid(&item);
    assert_eq!(item.data["status"]["providerStatus"]["restarts"], 0);
    kill(first);
    let item = world.until_phase("db", "Progressing").await;
    let message = &item.data["status"]["lastError"]["message"];
    let message = message.as_str().unwrap_or_default();
    assert!(
        message.is_empty() || message.contains("SIGKILL"),
        "{message}"
    );
    let child = std::fs::read_dir(data.path().join("processes")).unwrap();
    let child = child.map(|entry| entry.unwrap().path().join("work/child"));
    let child = child.map(|path| std::fs::read_to_string(path).unwrap());
    let child: i64 = child.last().unwrap().trim().parse().unwrap();
    assert!(is_running(child));
    kill(child);
    let item = until_replaced(&world, "db", first).await;
    assert_eq!(item.data["status"]["providerStatus"]["restarts"], 1);
    world.delete("db").await;
    // Its successor has such a child as well.
    until("the second child", || {
        let entries = std::fs::read_dir(data.path().join("processes")).unwrap();
        let mut paths = entries.map(|entry| entry.unwrap().path().join("work/child"));
        let found = paths.find_map(|path| std::fs::read_to_string(path).ok());
        let found: i64 = found.unwrap_or_default().trim().parse().unwrap_or_default();
        found != child && found != 0 && {
            kill(found);
            true
        }
    })
    .await;
    world.until_gone("db").await;
}

#[tokio::test]
async fn a_process_that_no_longer_does_its_work_is_started_again() {
    let data = DataDirectory::new();
    let world = World::new(deployers(data.path())).await;
    let alive = data.path().join("alive");
    let more = json!({
        "env": {"ALIVE": alive},
        "liveness": {
            "exec": {"command": ["sh", "-c", "test -e $ALIVE"]}, "interval": "10ms", "failures": 2,
        },
    });
    let script = "touch $ALIVE; echo up; exec sleep 1000";
    world.hand_out("db", process(script, more)).await;
    let first = pid(&world.until_phase("db", "Succeeded").await);
    std::fs::remove_file(&alive).unwrap();
    let item = until_replaced(&world, "db", first).await;
    assert!(!is_running(first));
    assert_eq!(item.data["status"]["providerStatus"]["restarts"], 1);
    world.delete("db").await;
    world.until_gone("db").await;
}

#[tokio::test]
async fn a_process_that_dies_again_and_again_fails_its_item() {
    let data = DataDirectory::new();
    let world = World::new(deployers(data.path())).await;
    let more = json!({
        "restart": {"backoff": "10ms", "maxBackoff": "1h", "maxRestarts": 3},
        "workingDirectory": data.path(),
    });
    let script = "test ! -e broken || exit 7; echo up; while test ! -e broken; do sleep 0.01; done";
    world.hand_out("db", process(script, more)).await;
    world.until_phase("db", "Succeeded").await;
    std::fs::write(data.path().join("broken"), "").unwrap();
    let item = world.until_phase("db", "Failed").await;
    let message = item.data["status"]["lastError"]["message"].to_string();
    let wanted = "exit status: 7, and was started again 3 times in a row";
    assert!(message.contains(wanted), "{message}");
    world.delete("db").await;
    world.until_gone("db").await;
}

#[tokio::test]
async fn bad_configuration_fails_the_item_and_can_be_deleted() {
    let data = DataDirectory::new();
    let world = World::new(deployers(data.path())).await;
    for (name, kind) in [("a", ProcessDeployer::KIND), ("b", CommandDeployer::KIND)] {
        let config = json!({"command": ["true"], "env": {"A": ["canary"]}});
        world
            .hand_out(name, json!({"type": kind, "config": config}))
            .await;
        let item = world.until_phase(name, "Failed").await;
        let error = &item.data["status"]["lastError"];
        assert_eq!(
            error["message"],
            "config.env.A: must be a string, a number or a boolean"
        );
        assert_eq!(error["codes"], json!(["ERR_CONFIGURATION_PROBLEM"]));
        world.delete(name).await;
        world.until_gone(name).await;
    }
}

#[tokio::test]
async fn a_command_deploys_exports_and_removes() {
    let data = DataDirectory::new();
    let world = World::new(deployers(data.path())).await;
    let diary = data.path().join("diary");
    let config = json!({
        "command": ["sh", "-ec"],
        "args": ["echo $OPERATION >> \"$DIARY\"; cp $IMPORTS_PATH $EXPORTS_PATH"],
        "env": {"DIARY": diary},
        "importValues": {"user": "app", "password": "canary"},
    });
    world
        .hand_out(
            "job",
            json!({"type": CommandDeployer::KIND, "config": config}),
        )
        .await;
    let item = world.until_phase("job", "Succeeded").await;
    assert!(!item.data["status"].to_string().contains("canary"));
    assert_eq!(
        exported(&world, "job").await,
        json!({"user": "app", "password": "canary"})
    );
    // A broken configuration fails the item, and doesn't get in the way of its removal.
    world
        .patch("job", json!({"spec": {"config": {"command": null}}}))
        .await;
    world.until_phase("job", "Failed").await;
    world.delete("job").await;
    world.until_gone("job").await;
    assert_eq!(
        std::fs::read_to_string(&diary).unwrap(),
        "RECONCILE\nDELETE\n"
    );
}

#[tokio::test]
async fn a_command_of_an_item_that_changes_is_ended_before_the_next_one_starts() {
    let data = DataDirectory::new();
    let world = World::new(deployers(data.path())).await;
    let diary = data.path().join("diary");
    let spec = |script: &str| {
        let config = json!({"command": ["sh", "-c", script], "env": {"DIARY": diary}});
        json!({"type": CommandDeployer::KIND, "config": config})
    };
    let first = "trap 'echo first ends >> \"$DIARY\"; exit' TERM; echo first starts >> \"$DIARY\"; \
                 while :; do sleep 0.02; done";
    world.hand_out("job", spec(first)).await;
    until("the first one runs", || diary.exists()).await;
    world
        .patch(
            "job",
            json!({"spec": spec("echo second >> \"$DIARY\"; exit 0")}),
        )
        .await;
    world.until_phase("job", "Succeeded").await;
    let text = std::fs::read_to_string(&diary).unwrap();
    assert_eq!(text, "first starts\nfirst ends\nsecond\n");
    world.delete("job").await;
    world.until_gone("job").await;
}

#[tokio::test]
async fn a_command_that_fails_shows_its_output_without_secrets() {
    let data = DataDirectory::new();
    let world = World::new(deployers(data.path())).await;
    let config = json!({
        "command": ["sh", "-c", "echo the token $TOKEN is wrong; exit 4"],
        "env": {"TOKEN": "canary"},
    });
    world
        .hand_out(
            "job",
            json!({"type": CommandDeployer::KIND, "config": config}),
        )
        .await;
    let item = world.until_phase("job", "Failed").await;
    let message = &item.data["status"]["lastError"]["message"];
    assert_eq!(
        *message,
        "the command ended with exit status: 4: the token *** is wrong"
    );
}

/// Gives an item another type and configuration, as its execution would.
async fn become_another(world: &World, name: &str, spec: &Value) {
    let mut item = world.items().get(name).await.unwrap();
    item.data["spec"] = spec.clone();
    let asked = kube::ResourceExt::annotations_mut(&mut item);
    let now = landform_engine::write_time(crate::harness::now_ms());
    asked.insert("landscaper.gardener.cloud/reconcile-time".into(), now);
    let options = kube::api::PostParams::default();
    world.items().replace(name, &options, &item).await.unwrap();
}

#[tokio::test]
async fn i36_e10_an_item_of_another_type_leaves_nothing_of_what_it_deployed_before() {
    let data = DataDirectory::new();
    let world = World::new(deployers(data.path())).await;
    let diary = data.path().join("diary");
    let config = json!({"command": ["sh", "-ec"], "args": ["echo $OPERATION >> \"$DIARY\""], "env": {"DIARY": diary}});
    let command = json!({"type": CommandDeployer::KIND, "config": config});
    let running = process("echo up; exec sleep 1000", json!({}));
    let read = || std::fs::read_to_string(&diary).unwrap_or_default();
    world.hand_out("it", command.clone()).await;
    world.until_phase("it", "Succeeded").await;
    assert_eq!(read(), "RECONCILE\n");

    let is = |item: &kube::core::DynamicObject, kind: &str| {
        let status = &item.data["status"];
        status["phase"] == "Succeeded" && status["deployer"]["name"] == kind
    };
    become_another(&world, "it", &running).await;
    let item = world
        .until("it", |item| is(item, ProcessDeployer::KIND))
        .await;
    assert_eq!(read(), "RECONCILE\nDELETE\n");
    let first = pid(&item);
    assert!(is_running(first));

    // A type that nobody deploys takes nothing away: it may be mistyped.
    let mut mistyped = running.clone();
    mistyped["type"] = "example.com/none".into();
    become_another(&world, "it", &mistyped).await;
    world
        .until("it", |item| {
            item.data["status"]["waitingOn"][0]["rule"] == "E12"
        })
        .await;
    assert!(is_running(first));
    become_another(&world, "it", &running).await;
    let item = world
        .until("it", |item| is(item, ProcessDeployer::KIND))
        .await;
    assert_eq!(pid(&item), first);

    become_another(&world, "it", &command).await;
    world
        .until("it", |item| is(item, CommandDeployer::KIND))
        .await;
    assert!(!is_running(first));
    assert_eq!(read(), "RECONCILE\nDELETE\nRECONCILE\n");
    world.delete("it").await;
    world.until_gone("it").await;
    assert_eq!(read(), "RECONCILE\nDELETE\nRECONCILE\nDELETE\n");
}
