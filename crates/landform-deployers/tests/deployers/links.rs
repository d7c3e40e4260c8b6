//! C6: a program with a user of its own puts links where Landform, as root, writes, makes, removes and reads.
//!
//! Takes root and the user `nobody`; without them the table in `src/local/tree` stands alone.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use landform_deployers::DeployItems;
use landform_deployers::process::ProcessDeployer;
use serde_json::{Value, json};

use crate::harness::{DataDirectory, World};

fn is_root() -> bool {
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let own = fs::metadata("/proc/self").unwrap().uid();
    own == 0 && passwd.lines().any(|line| line.starts_with("nobody:"))
}

/// What only root may read and change.
struct Victim(tempfile::TempDir);

impl Victim {
    fn new() -> Self {
        let victim = Self(tempfile::tempdir().unwrap());
        fs::set_permissions(victim.0.path(), fs::Permissions::from_mode(0o700)).unwrap();
        fs::create_dir(victim.0.path().join("deep")).unwrap();
        for file in ["keep", "deep/keep"] {
            fs::write(victim.0.path().join(file), "canary").unwrap();
            let private = fs::Permissions::from_mode(0o600);
            fs::set_permissions(victim.0.path().join(file), private).unwrap();
        }
        victim
    }

    /// All that is there: paths, content, owners and modes.
    fn state(&self) -> Vec<(PathBuf, String, u32, u32, u32)> {
        let mut found = Vec::new();
        let mut open = vec![self.0.path().to_owned()];
        while let Some(path) = open.pop() {
            let metadata = fs::metadata(&path).unwrap();
            if metadata.is_dir() {
                open.extend(
                    fs::read_dir(&path)
                        .unwrap()
                        .map(|entry| entry.unwrap().path()),
                );
            }
            let text = fs::read_to_string(&path).unwrap_or_default();
            found.push((
                path,
                text,
                metadata.uid(),
                metadata.gid(),
                metadata.permissions().mode(),
            ));
        }
        found.sort();
        found
    }
}

fn spec(script: &str, more: Value) -> Value {
    let mut config = json!({
        "command": ["sh", "-c", format!("{script} && echo up; exec sleep 1000")], "user": "nobody",
        "readiness": {"log": {"pattern": "^up$"}, "timeout": "5s"},
    });
    config
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    json!({"type": ProcessDeployer::KIND, "config": config})
}

async fn change(world: &World, spec: Value) -> Value {
    let before = world.items().get("a").await.unwrap();
    let again = json!({"landscaper.gardener.cloud/reconcile-time":
        landform_engine::write_time(crate::harness::now_ms())});
    // What is not named any more must go.
    let mut spec = spec;
    for field in ["files", "workingDirectory", "exports"] {
        if spec["config"].get(field).is_none() {
            spec["config"][field] = Value::Null;
        }
    }
    world
        .patch(
            "a",
            json!({"spec": spec, "metadata": {"annotations": again}}),
        )
        .await;
    let item = world
        .until("a", |item| {
            let status = &item.data["status"];
            item.metadata.generation > before.metadata.generation
                && status["observedGeneration"].as_i64() == item.metadata.generation
                && ["Succeeded", "Failed"].contains(&status["phase"].as_str().unwrap_or_default())
        })
        .await;
    item.data["status"].clone()
}

fn item_directory(data: &Path) -> PathBuf {
    let mut all = fs::read_dir(data.join("processes")).unwrap();
    all.next().unwrap().unwrap().path()
}

#[tokio::test]
async fn c6_links_of_a_program_lead_landform_nowhere() {
    if !is_root() {
        return;
    }
    let (data, victim) = (DataDirectory::new(), Victim::new());
    let before = victim.state();
    let world = World::new(DeployItems::new().with(ProcessDeployer::new(data.path()))).await;
    let outside = victim.0.path().display();
    let links = format!(
        "ln -sfn {outside} data/dir; ln -sfn {outside}/keep data/file; mkdir -p data/own; \
         ln -sfn {outside}/deep data/own/dir; ln -sfn {outside}/keep data/.file.new"
    );
    world.hand_out("a", spec(&links, json!({}))).await;
    world.until_phase("a", "Succeeded").await;
    let work = item_directory(data.path()).join("work");
    assert!(
        work.join("data/dir").is_symlink(),
        "the program has made its links"
    );

    // Links as a directory, as the last part, and below a directory of the program's own: written, overwritten, made.
    for files in [
        json!({"data/dir/keep": "evil"}),
        json!({"data/dir/new": {"content": "evil", "mode": "0755"}}),
        json!({"data/dir/deep/keep": "evil"}),
        json!({"data/dir/made/new": "evil"}),
        json!({"data/own/dir/keep": "evil"}),
        json!({"data/file/new": "evil"}),
    ] {
        let status = change(&world, spec("true", json!({"files": files}))).await;
        assert_eq!(status["phase"], "Failed", "{files}");
        let message = status["lastError"]["message"].as_str().unwrap();
        assert!(message.contains("follows no links"), "{files}: {message}");
        assert_eq!(victim.state(), before, "written: {files}");
        // And not removed when the configuration drops them.
        let status = change(&world, spec("true", json!({}))).await;
        assert_eq!(status["phase"], "Succeeded", "{files}");
        assert_eq!(victim.state(), before, "removed: {files}");
    }
    // The link itself is the program's, and is replaced.
    let replaced = json!({"files": {"data/file": "mine"}});
    let status = change(&world, spec("grep -q mine data/file", replaced)).await;
    assert_eq!(status["phase"], "Succeeded", "{status}");
    assert_eq!(victim.state(), before);
    // A working directory behind a link isn't made.
    let status = change(
        &world,
        spec("true", json!({"workingDirectory": "data/dir/made"})),
    )
    .await;
    assert_eq!(
        (status["phase"].as_str(), victim.state()),
        (Some("Failed"), before.clone())
    );
    // And nothing behind a link is exported.
    let exports = json!({"exports": {"a": {"fromFile": {"path": "data/dir/keep"}}}, "readiness": {"log": {"pattern": "^up$"}, "timeout": "1s"}});
    let status = change(&world, spec("true", exports)).await;
    assert_eq!(status["phase"], "Failed", "{status}");
    assert!(!status.to_string().contains("canary"));

    world.delete("a").await;
    world.until_gone("a").await;
    assert_eq!(victim.state(), before, "the item's removal");
}

#[tokio::test]
async fn c6_files_in_the_directory_of_a_user_are_the_users() {
    if !is_root() {
        return;
    }
    let data = DataDirectory::new();
    let world = World::new(DeployItems::new().with(ProcessDeployer::new(data.path()))).await;
    let files =
        json!({"files": {"data/conf/a": "one", "b": "two"}, "workingDirectory": "data/run"});
    let script = "grep -q one ../conf/a && echo x >> ../conf/a && touch here && grep -q two ../../b && ! touch ../../b";
    world.hand_out("a", spec(script, files)).await;
    world.until_phase("a", "Succeeded").await;
    let files = json!({"files": {"data/conf/c": "three", "data/conf/a": null}, "workingDirectory": "data/run"});
    let status = change(
        &world,
        spec("grep -q three ../conf/c && ! ls ../conf/a", files),
    )
    .await;
    assert_eq!(status["phase"], "Succeeded", "{status}");
    world.delete("a").await;
    world.until_gone("a").await;
}

#[tokio::test]
async fn c6_a_link_that_another_user_left_is_not_followed() {
    if !is_root() {
        return;
    }
    let (data, victim) = (DataDirectory::new(), Victim::new());
    let before = victim.state();
    let world = World::new(DeployItems::new().with(ProcessDeployer::new(data.path()))).await;
    world.hand_out("a", spec("mkdir data/own", json!({}))).await;
    world.until_phase("a", "Succeeded").await;
    let work = item_directory(data.path()).join("work");
    symlink(victim.0.path(), work.join("data/own/dir")).unwrap();
    // The item gets another user: what belongs to the former one is not shown to it.
    let mut other = spec("true", json!({}));
    other["config"]["user"] = json!("daemon");
    change(&world, other).await;
    assert_eq!(victim.state(), before);
    world.delete("a").await;
    world.until_gone("a").await;
    assert_eq!(victim.state(), before);
}
