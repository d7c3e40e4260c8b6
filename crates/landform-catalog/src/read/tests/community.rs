//! All bundles of a public catalog, written as bundle directories, are read as its facts say.

use std::io::Read as _;

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use super::{data, shown};
use crate::facts;
use crate::read::read;

fn unpack(name: &str) -> String {
    let file = std::fs::File::open(data(name)).unwrap();
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    text
}

/// `GROUP/KIND/VERSION` as a ClusterServiceVersion has it.
fn kinds(bundle: &Value, field: &str) -> Vec<Value> {
    let texts = bundle[field].as_array().into_iter().flatten();
    let kinds = texts.map(|text| {
        let parts: Vec<&str> = text.as_str().unwrap().split('/').collect();
        json!({"name": format!("some.{}", parts[0]), "kind": parts[1], "version": parts[2]})
    });
    kinds.collect()
}

fn files(bundle: &Value) -> Vec<(String, String)> {
    let text = |field: &str| bundle[field].as_str().unwrap_or_default();
    let directory = text("dir");
    let channels: Vec<&str> = bundle["channels"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let version = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
        "metadata": {"name": text("name"), "annotations": {"olm.skipRange": text("skipRange")}},
        "spec": {
            "version": text("version"), "replaces": text("replaces"), "skips": bundle["skips"],
            "minKubeVersion": text("minKubeVersion"),
            "customresourcedefinitions": {
                "owned": kinds(bundle, "ownedCRDs"), "required": kinds(bundle, "requiredCRDs"),
            },
        },
    });
    let annotations = json!({"annotations": {
        "operators.operatorframework.io.bundle.package.v1": text("package"),
        "operators.operatorframework.io.bundle.channels.v1": channels.join(","),
        "operators.operatorframework.io.bundle.channel.default.v1": text("defaultChannel"),
    }});
    let mut files = vec![
        (format!("{directory}/manifests/version.yaml"), version),
        (
            format!("{directory}/metadata/annotations.yaml"),
            annotations,
        ),
    ];
    if bundle["dependencies"].is_array() {
        let dependencies = json!({"dependencies": bundle["dependencies"]});
        files.push((
            format!("{directory}/metadata/dependencies.yaml"),
            dependencies,
        ));
    }
    files
        .into_iter()
        .map(|(path, value)| (path, value.to_string()))
        .collect()
}

#[test]
fn bundle_directories_of_a_public_catalog_are_read_as_its_facts_say() {
    let (bundles, packages) = (
        unpack("community-catalog.jsonl.gz"),
        unpack("community-packages.jsonl.gz"),
    );
    let expected = facts::content(&bundles, &packages).unwrap();
    let parse = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let graphs = packages.lines().map(parse).map(|package| {
        let graph = package["updateGraph"].as_str().unwrap_or_default();
        let text = format!("---\nupdateGraph: {graph}\n");
        (
            format!("{}/ci.yaml", package["package"].as_str().unwrap()),
            text,
        )
    });
    let found = read(
        bundles
            .lines()
            .flat_map(|line| files(&parse(line)))
            .chain(graphs),
    );
    assert_eq!(found.packages.len(), 446);
    for (name, expected) in &expected.packages {
        let found = &found.packages[name];
        let default = |package: &crate::model::Package| {
            package.channel(None).map(|channel| channel.name.clone())
        };
        assert_eq!(default(found), default(expected), "{name}");
        assert_eq!(shown(found), shown(expected), "{name}");
        assert_eq!(found.bundles.len(), expected.bundles.len(), "{name}");
        for (found, expected) in found.bundles.iter().zip(&expected.bundles) {
            let facts = |bundle: &crate::model::Bundle| {
                format!(
                    "{} {} {:?} {:?} {:?} {:?}",
                    bundle.name,
                    bundle.version,
                    bundle.owned,
                    bundle.required,
                    bundle.packages,
                    bundle.min_server_version
                )
            };
            assert_eq!(facts(found), facts(expected));
        }
    }
    // No definitions were given, and nothing else is wrong.
    let other = found
        .problems
        .iter()
        .find(|problem| !problem.reason.contains("which it owns"));
    assert!(other.is_none(), "{other:?}");
}
