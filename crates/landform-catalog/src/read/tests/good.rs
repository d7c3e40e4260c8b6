//! Catalogs that are as they should be.

use landform_api::catalog::OperatorVersionSpec;
use serde_json::{Value, json};

use super::{data, problems, shown};
use crate::model::{Bundle, Payload};
use crate::read::{from_path, read, read_inline};

fn spec(bundle: &Bundle) -> (OperatorVersionSpec, Vec<Value>) {
    let Payload::Manifest(manifest) = &bundle.payload else {
        panic!("{bundle:?} has no manifest");
    };
    let definitions = manifest.definitions.iter();
    (
        serde_json::from_str(&manifest.spec).unwrap(),
        definitions
            .map(|text| serde_json::from_str(text).unwrap())
            .collect(),
    )
}

#[test]
fn a_file_based_catalog_has_channels_edges_and_deprecations() {
    let content = from_path(&data("fbc")).unwrap();
    assert_eq!(problems(&content), Vec::<String>::new());
    let package = &content.packages["tidewater"];
    assert_eq!(package.default_channel.as_deref(), Some("stable"));
    assert_eq!(
        shown(package),
        [
            "alpha: tidewater.v0.9.0, tidewater.v1.0.0<-tidewater.v0.9.0",
            "candidate: tidewater.v1.2.0, tidewater.v2.0.0 skips (>=1.1.0 <2.0.0)",
            "stable: tidewater.v1.0.0, tidewater.v1.0.1<-tidewater.v1.0.0, \
             tidewater.v1.1.0<-tidewater.v1.0.0 skips tidewater.v1.0.1, \
             tidewater.v1.2.0<-tidewater.v1.1.0",
        ]
    );
    let versions: Vec<String> = package
        .bundles
        .iter()
        .map(|bundle| bundle.version.to_string())
        .collect();
    assert_eq!(
        versions,
        ["0.9.0", "1.0.0", "1.0.1", "1.1.0", "1.2.0", "2.0.0"]
    );
    assert!(
        package.channels["alpha"]
            .deprecation
            .as_deref()
            .unwrap()
            .contains("Go to stable")
    );
    assert!(
        package
            .bundle("tidewater.v1.0.1")
            .unwrap()
            .deprecation
            .is_some()
    );
    assert!(package.deprecation.is_none());
    let last = package.bundle("tidewater.v2.0.0").unwrap();
    assert_eq!(last.owned[0].kind, "Tide");
    assert_eq!(last.required[0].group, "anchor.example.org");
    assert_eq!(last.packages[0].range.to_string(), ">=1.1.0 <2.0.0");
    assert_eq!(
        last.min_server_version.as_ref().unwrap().to_string(),
        "1.25.0"
    );
    assert!(matches!(&last.payload, Payload::Image(image) if image.ends_with("bundle:2.0.0")));
    assert_eq!(&*last.file, "tidewater/catalog.yaml");
}

#[test]
fn objects_in_a_file_based_catalog_can_be_installed() {
    let content = from_path(&data("fbc/anchor/catalog.json")).unwrap();
    assert_eq!(problems(&content), Vec::<String>::new());
    let package = &content.packages["anchor"];
    let (spec, definitions) = spec(package.bundle("anchor.v1.1.0").unwrap());
    assert_eq!(
        (spec.package.as_str(), spec.version.as_str()),
        ("anchor", "1.1.0")
    );
    assert_eq!(
        spec.install.deployment.unwrap().deployments[0].name,
        "anchor"
    );
    assert_eq!(
        definitions[0]["metadata"]["name"],
        "anchors.anchor.example.org"
    );
}

#[test]
fn bundle_directories_follow_their_update_graph() {
    let content = from_path(&data("bundles")).unwrap();
    assert_eq!(problems(&content), Vec::<String>::new());
    let package = &content.packages["lantern"];
    assert_eq!(package.default_channel.as_deref(), Some("stable"));
    assert_eq!(
        shown(package),
        [
            "beta: lantern.v0.1.0, lantern.v0.2.0<-lantern.v0.1.0, lantern.v0.3.0<-lantern.v0.2.0",
            "stable: lantern.v0.2.0, lantern.v0.3.0<-lantern.v0.2.0",
        ]
    );
    let bundle = package.bundle("lantern.v0.3.0").unwrap();
    assert_eq!(bundle.packages[0].range.to_string(), ">=1.0.0");
    assert_eq!(
        bundle.min_server_version.as_ref().unwrap().to_string(),
        "1.25.0"
    );
    let (spec, definitions) = spec(bundle);
    assert_eq!(spec.requirements.packages[0].package, "anchor");
    assert_eq!(spec.manages.match_labels["operated-by"], "lantern");
    assert_eq!(spec.owned[0].group, "lantern.example.org");
    assert!(spec.owned[0].definition.is_none());
    let deployment = spec.install.deployment.unwrap();
    assert_eq!(deployment.permissions[0].rules.len(), 1);
    assert_eq!(
        deployment.cluster_permissions[0].service_account_name,
        "lantern"
    );
    assert_eq!(deployment.deployments[0].label["app"], "lantern");
    assert_eq!(deployment.deployments[0].spec["replicas"], 1);
    assert_eq!(definitions.len(), 1);
}

#[test]
fn a_single_bundle_directory_is_a_catalog_too() {
    let content = from_path(&data("bundles/lantern/0.2.0")).unwrap();
    assert_eq!(problems(&content), Vec::<String>::new());
    assert_eq!(
        shown(&content.packages["lantern"]),
        ["beta: lantern.v0.2.0", "stable: lantern.v0.2.0"]
    );
}

#[test]
fn our_own_format_takes_definitions_from_the_directory() {
    let content = from_path(&data("own")).unwrap();
    assert_eq!(problems(&content), Vec::<String>::new());
    let package = &content.packages["beacon"];
    assert_eq!(package.default_channel.as_deref(), Some("stable"));
    assert_eq!(
        shown(package),
        [
            "edge: beacon-1.0.0, beacon-1.1.0<-(<1.1.0), beacon-2.0.0<-beacon-1.1.0",
            "stable: beacon-1.0.0, beacon-1.1.0<-(<1.1.0)",
        ]
    );
    let bundle = package.bundle("beacon-2.0.0").unwrap();
    assert_eq!(&*bundle.packages[0].package, "lantern");
    let (spec, definitions) = spec(bundle);
    assert_eq!(spec.install.manifests.unwrap().objects.len(), 1);
    assert_eq!(definitions[0]["spec"]["names"]["kind"], "Beacon");
}

#[test]
fn documents_of_a_catalog_object_are_read_and_may_hold_definitions() {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "as.a.io"},
        "spec": {"group": "a.io", "names": {"kind": "A", "plural": "as"}},
    });
    let version = json!({
        "apiVersion": "catalog.landform.dev/v1alpha1", "kind": "OperatorVersion",
        "metadata": {"name": "a-1"},
        "spec": {"package": "a", "version": "1.0.0", "install": {}, "owned": [
            {"group": "a.io", "version": "v1", "kind": "A", "definition": definition},
        ]},
    });
    let text = "schema: olm.package\nname: b\ndefaultChannel: x\n---\nschema: olm.channel\npackage: b\n\
                name: x\nentries: [{name: b.v1}]\n---\nschema: olm.bundle\npackage: b\nname: b.v1\n\
                properties: [{type: olm.package, value: {packageName: b, version: 1.0.0}}]\n";
    let content = read_inline(&[version, json!(text)]);
    assert_eq!(problems(&content), Vec::<String>::new());
    let bundle = content.packages["a"].bundle("a-1").unwrap();
    assert_eq!(&*bundle.file, "inline[0000]");
    let (spec, definitions) = spec(bundle);
    assert_eq!(definitions, [definition]);
    assert!(spec.owned[0].definition.is_none());
    assert_eq!(shown(&content.packages["a"]), ["stable: a-1"]);
    assert_eq!(
        content.packages["a"].default_channel.as_deref(),
        Some("stable")
    );
    assert!(matches!(
        content.packages["b"].bundles[0].payload,
        Payload::Facts
    ));
}

#[test]
fn the_oldest_layout_has_channels_by_their_heads() {
    let version = |name: &str, version: &str, replaces: &str| {
        format!(
            "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\n\
             metadata: {{name: {name}}}\nspec: {{version: {version}, replaces: {replaces}}}\n"
        )
    };
    let files = [
        (
            "o/o.package.yaml",
            "packageName: o\ndefaultChannel: main\nchannels:\n- {name: main, currentCSV: o.v2}\n\
             - {name: old, currentCSV: o.v1}\n- {name: none, currentCSV: o.v9}\n"
                .to_owned(),
        ),
        ("o/1/o.yaml", version("o.v1", "1.0.0", "''")),
        ("o/2/o.yaml", version("o.v2", "2.0.0", "o.v1")),
    ];
    let content = read(files);
    let package = &content.packages["o"];
    assert_eq!(shown(package), ["main: o.v1, o.v2<-o.v1", "old: o.v1"]);
    assert_eq!(package.default_channel.as_deref(), Some("main"));
    let problems = problems(&content);
    assert_eq!(problems.len(), 1, "{problems:#?}");
    assert!(problems[0].starts_with("o/o.package.yaml:1 [o] channel none begins with o.v9"));
}

#[test]
fn the_digest_moves_exactly_when_the_package_does() {
    let text = std::fs::read_to_string(data("fbc/tidewater/catalog.yaml")).unwrap();
    let digest = |text: &str| read([("c.yaml", text)]).packages["tidewater"].digest;
    let first = digest(&text);
    assert_eq!(
        first,
        digest(&format!("# a remark\n{text}\n---\nschema: other\n"))
    );
    for (old, new) in [
        ("defaultChannel: stable", "defaultChannel: alpha"),
        ("bundle:1.1.0", "bundle:1.1.0-again"),
        ("  - tidewater.v1.0.1", "  - tidewater.v1.0.9"),
        (">=1.1.0 <2.0.0'\n---", ">=1.0.0 <2.0.0'\n---"),
        ("kind: Anchor", "kind: Chain"),
        ("floods", "wets"),
    ] {
        assert!(text.contains(old), "{old}");
        assert_ne!(first, digest(&text.replacen(old, new, 1)), "{old} -> {new}");
    }
}
