//! Where catalogs come from: the object itself, files, a ConfigMap, a web server.

use std::fmt::Write as _;

use landform_api::catalog;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::harness::{World, contains, text};
use crate::operator::{after, version};

async fn create(world: &World, name: &str, spec: Value) {
    let object = json!({
        "apiVersion": catalog::API_VERSION, "kind": "Catalog",
        "metadata": {"name": name}, "spec": spec,
    });
    world.create(object).await;
}

async fn phase(world: &World, name: &str, phase: &str) -> Value {
    let wanted = |found: &Value| {
        found["status"]["phase"] == phase
            && found["status"]["observedGeneration"] == found["metadata"]["generation"]
    };
    world.until("Catalog", name, wanted).await
}

async fn versions(world: &World, name: &str, number: u64) -> Value {
    let wanted = |found: &Value| found["status"]["versions"] == number;
    world.until("Catalog", name, wanted).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o1_a_catalog_says_what_it_has_and_what_is_wrong_with_it() {
    let world = World::new().await;
    let mut wrong = version("broken", "1.0.0", json!({}));
    wrong["spec"]["version"] = json!("one");
    world
        .catalog("tests", vec![version("etcd", "1.0.0", json!({})), wrong])
        .await;
    let found = phase(&world, "tests", "Ready").await;
    assert_eq!(found["status"]["packages"], 1);
    assert_eq!(found["status"]["versions"], 1);
    let problems = found["status"]["problems"].as_array().unwrap();
    let told = problems
        .iter()
        .find(|problem| problem["package"] == "broken");
    contains(&told.unwrap()["reason"], &["one"]);
    contains(&told.unwrap()["file"], &["inline"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o4_files_are_added_changed_broken_and_removed() {
    let world = World::new().await;
    let directory = world.directory.path().join("shop");
    std::fs::create_dir(&directory).unwrap();
    let write = |name: &str, text: String| std::fs::write(directory.join(name), text).unwrap();
    write("one.json", version("etcd", "1.0.0", json!({})).to_string());
    create(
        &world,
        "tests",
        json!({"directory": {"path": "shop"}, "interval": "1s"}),
    )
    .await;
    world.app_type("etcd", json!({"package": "etcd"})).await;
    world.installed("etcd", "Succeeded", "1.0.0").await;

    write(
        "two.json",
        after("etcd", "1.0.0", "1.1.0", json!({})).to_string(),
    );
    world.installed("etcd", "Succeeded", "1.1.0").await;

    write("three.json", "{ this is no catalog".into());
    let found = world
        .until("Catalog", "tests", |found| {
            found["status"]["problems"]
                .to_string()
                .contains("three.json")
        })
        .await;
    assert_eq!(found["status"]["phase"], "Ready");
    assert_eq!(
        found["status"]["versions"], 2,
        "one bad file hides no others"
    );

    write(
        "three.json",
        after("etcd", "1.1.0", "1.2.0", json!({})).to_string(),
    );
    world.installed("etcd", "Succeeded", "1.2.0").await;

    std::fs::remove_file(directory.join("three.json")).unwrap();
    versions(&world, "tests", 2).await;
    world.installed("etcd", "Succeeded", "1.2.0").await;

    std::fs::remove_dir_all(&directory).unwrap();
    let stale = phase(&world, "tests", "Stale").await;
    assert_eq!(stale["status"]["versions"], 2, "what was read stays");
    assert_ne!(text(&stale["status"]["message"]), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o4_a_config_map_is_noticed_when_it_comes_and_changes() {
    let world = World::new().await;
    let place = json!({"configMap": {"namespace": "default", "name": "catalog"}});
    create(&world, "tests", place).await;
    let failed = phase(&world, "tests", "Failed").await;
    contains(&failed["status"]["message"], &["no ConfigMap catalog"]);
    let first = version("etcd", "1.0.0", json!({})).to_string();
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "catalog"},
        "data": {"one.json": first},
    });
    world.create(map).await;
    world.app_type("etcd", json!({"package": "etcd"})).await;
    world.installed("etcd", "Succeeded", "1.0.0").await;
    let second = after("etcd", "1.0.0", "1.1.0", json!({})).to_string();
    world
        .patch(
            "ConfigMap",
            "catalog",
            json!({"data": {"two.json": second}}),
        )
        .await;
    world.installed("etcd", "Succeeded", "1.1.0").await;
    world.delete("ConfigMap", "catalog").await;
    phase(&world, "tests", "Stale").await;
    world.installed("etcd", "Succeeded", "1.1.0").await;
}

/// A web server with one file, for as long as the test runs.
async fn serve(body: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let head = format!(
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all(head.as_bytes()).await;
            let _ = stream.write_all(&body).await;
        }
    });
    format!("http://{address}/catalog.json")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o1_a_file_of_a_web_server_counts_only_with_its_digest() {
    let world = World::new().await;
    let body = version("etcd", "1.0.0", json!({})).to_string().into_bytes();
    let digest = Sha256::digest(&body)
        .iter()
        .fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").unwrap();
            text
        });
    let url = serve(body).await;
    let spec = |digest: &str| json!({"http": {"url": url, "digest": format!("sha256:{digest}")}});
    create(&world, "tests", spec(&"0".repeat(64))).await;
    let failed = phase(&world, "tests", "Failed").await;
    contains(
        &failed["status"]["message"],
        &[&digest, "nothing of it is used"],
    );
    assert_eq!(failed["status"]["versions"], 0);
    world
        .patch("Catalog", "tests", json!({"spec": spec(&digest)}))
        .await;
    phase(&world, "tests", "Ready").await;
    world.app_type("etcd", json!({"package": "etcd"})).await;
    world.installed("etcd", "Succeeded", "1.0.0").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o1_a_source_that_can_not_be_is_told() {
    let world = World::new().await;
    for (name, spec, pieces) in [
        ("none", json!({}), ["exactly one", "inline"]),
        (
            "two",
            json!({"inline": [{}], "directory": {"path": "x"}}),
            ["exactly one", "directory"],
        ),
        (
            "up",
            json!({"directory": {"path": "../x"}}),
            ["../x", "below"],
        ),
        (
            "root",
            json!({"directory": {"path": "/etc"}}),
            ["/etc", "below"],
        ),
        (
            "undigested",
            json!({"http": {"url": "http://127.0.0.1:1/x", "digest": "md5:1"}}),
            ["spec.http.digest", "sha256:"],
        ),
        (
            "interval",
            json!({"directory": {"path": "x"}, "interval": "soon"}),
            ["spec.interval", "soon"],
        ),
    ] {
        create(&world, name, spec).await;
        let found = phase(&world, name, "Failed").await;
        contains(&found["status"]["message"], &pieces);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o4_a_catalog_that_goes_takes_its_versions_away_but_not_what_runs() {
    let world = World::new().await;
    world
        .catalog("tests", vec![version("etcd", "1.0.0", json!({}))])
        .await;
    world.app_type("etcd", json!({"package": "etcd"})).await;
    world.installed("etcd", "Succeeded", "1.0.0").await;
    world.delete("Catalog", "tests").await;
    world.blocked("etcd", "NotOffered").await;
    world.installed("etcd", "Succeeded", "1.0.0").await;
    world.phase("etcd.v1.0.0", "Succeeded").await;
}
