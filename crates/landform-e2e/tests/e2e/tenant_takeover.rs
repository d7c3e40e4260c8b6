//! C6 with the real binary: a tenant takes neither an admin's operator away nor reads another team's project.

use landform_e2e::Server;
use serde_json::{Value, json};

use crate::assert_contains;
use crate::tenant::{JANE, RIGHTS, map};

/// Mallory may create operator versions in the namespace of the team, and look at them.
const CREATES: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: creates, namespace: team}
rules:
- {apiGroups: [catalog.landform.dev], resources: [operatorversions], verbs: [get, create, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: creates, namespace: team}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: creates}
subjects: [{kind: User, name: mallory, apiGroup: rbac.authorization.k8s.io}]
";
const MALLORY: &str = "--as=mallory";

fn version(name: &str, package: &str, version: &str, replaces: Value) -> Value {
    json!({
        "apiVersion": "catalog.landform.dev/v1alpha1", "kind": "OperatorVersion",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {
            "package": package, "version": version, "replaces": replaces,
            "install": {"manifests": {"objects": []}},
        },
    })
}

fn says(server: &Server, object: &str, parts: &[&str]) {
    let status = "jsonpath={.status}{\"\\n\"}";
    let arguments = ["get", object, "--watch", "-o", status, "-n", "team"];
    server.kubectl_lines(&arguments).expect(parts);
}

fn succeeded(server: &Server, object: &str) {
    let phase = "--for=jsonpath={.status.phase}=Succeeded";
    server.kubectl(&["wait", phase, object, "-n", "team", "--timeout=55s"]);
}

#[test]
fn c6_a_version_takes_no_place_that_its_writer_may_not_clear() {
    let server = Server::start();
    server.apply(RIGHTS);
    server.apply(CREATES);
    // One that the admin wrote by hand, and one that an admin's app type made.
    let catalog = json!({
        "apiVersion": "catalog.landform.dev/v1alpha1", "kind": "Catalog", "metadata": {"name": "c"},
        "spec": {"inline": [{
            "apiVersion": "catalog.landform.dev/v1alpha1", "kind": "OperatorVersion",
            "metadata": {"name": "bk.v1.0.0", "annotations": {"catalog.landform.dev/channels": "stable"}},
            "spec": {"package": "bk", "version": "1.0.0", "install": {"manifests": {"objects": []}}},
        }]},
    });
    let app_type = json!({
        "apiVersion": "catalog.landform.dev/v1alpha1", "kind": "AppType",
        "metadata": {"name": "bk", "namespace": "team"}, "spec": {"package": "bk"},
    });
    for object in [
        catalog,
        app_type,
        version("adm1", "adm", "1.0.0", Value::Null),
    ] {
        server.apply(&object.to_string());
    }
    succeeded(&server, "operatorversion/adm1");
    says(&server, "apptype/bk", &["bk.v1.0.0"]);
    succeeded(&server, "operatorversion/bk.v1.0.0");
    let app_type = server.kubectl(&[
        "get",
        "apptype",
        "bk",
        "-n",
        "team",
        "-o",
        "jsonpath={.metadata.uid}",
    ]);

    let by_name = version("evil1", "adm", "9.0.0", json!("adm1"));
    let mut by_range = version("evil2", "adm", "8.0.0", Value::Null);
    by_range["spec"]["skipRange"] = json!(">=0.1.0");
    let mut owned = version("evil3", "bk", "9.0.0", json!("bk.v1.0.0"));
    owned["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "catalog.landform.dev/v1alpha1", "kind": "AppType", "name": "bk", "uid": app_type,
        "controller": true,
    }]);
    for (object, missing) in [
        (
            by_name,
            vec!["delete operatorversions.catalog.landform.dev", "adm1"],
        ),
        (
            by_range,
            vec!["delete operatorversions.catalog.landform.dev", "adm1"],
        ),
        (
            owned,
            vec![
                "update apptypes.catalog.landform.dev",
                "delete operatorversions.catalog.landform.dev",
                "bk.v1.0.0",
            ],
        ),
    ] {
        let created = ["create", "-f", "-", MALLORY];
        server.kubectl_with(&created, &object.to_string());
        let name = format!(
            "operatorversion/{}",
            object["metadata"]["name"].as_str().unwrap()
        );
        says(&server, &name, &missing);
    }
    for name in ["adm1", "bk.v1.0.0"] {
        let phase = [
            "get",
            "operatorversion",
            name,
            "-n",
            "team",
            "-o",
            "jsonpath={.status.phase}{.metadata.deletionTimestamp}",
        ];
        assert_eq!(server.kubectl(&phase), "Succeeded", "{name}");
    }
    let installed = "jsonpath={.status.installed.name}";
    let installed = server.kubectl(&["get", "apptype", "bk", "-n", "team", "-o", installed]);
    assert_eq!(installed, "bk.v1.0.0");
    // And the refused version is not in the way of the next one.
    let blocked = "jsonpath={.status.blockedBy}";
    let blocked = server.kubectl(&["get", "apptype", "bk", "-n", "team", "-o", blocked]);
    assert!(!blocked.contains("9.0.0"), "{blocked}");
}

#[test]
fn c6_with_the_rights_a_version_takes_its_place() {
    let server = Server::start();
    server.apply(RIGHTS);
    server.apply(&version("adm1", "adm", "1.0.0", Value::Null).to_string());
    succeeded(&server, "operatorversion/adm1");
    // Jane may delete operator versions.
    let next = version("adm2", "adm", "2.0.0", json!("adm1"));
    server.kubectl_with(&["create", "-f", "-", JANE], &next.to_string());
    let gone = [
        "wait",
        "--for=delete",
        "operatorversion/adm1",
        "-n",
        "team",
        "--timeout=55s",
    ];
    server.kubectl(&gone);
    succeeded(&server, "operatorversion/adm2");
}

#[test]
fn c6_a_project_reads_only_directories_that_its_writer_may_use() {
    let files = tempfile::tempdir().unwrap();
    for (directory, text) in [
        ("bank", map("bank", "team").to_string()),
        ("bank/deep", "password canary: [".to_owned()),
        ("mine", map("mine", "team").to_string()),
    ] {
        std::fs::create_dir_all(files.path().join(directory)).unwrap();
        std::fs::write(files.path().join(directory).join("a.yaml"), text).unwrap();
    }
    std::fs::create_dir(files.path().join("links")).unwrap();
    std::os::unix::fs::symlink("../bank", files.path().join("links/bank")).unwrap();
    let server = Server::start_with(&["--projects", files.path().to_str().unwrap()]);
    server.apply(RIGHTS);
    server.apply(
        "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: uses}
rules:
- {apiGroups: [landform.dev], resources: [projectdirectories], verbs: [use], resourceNames: [mine, links]}
- {apiGroups: [''], resources: [configmaps], verbs: ['*']}
",
    );
    server.kubectl(&[
        "create",
        "clusterrolebinding",
        "uses",
        "--clusterrole=uses",
        "--user=jane",
    ]);
    let project = |name: &str, directory: &str| {
        json!({
            "apiVersion": "landform.dev/v1alpha1", "kind": "Project", "metadata": {"name": name},
            "spec": {"directory": directory},
        })
        .to_string()
    };
    let absolute = files.path().join("bank").display().to_string();
    for (name, directory, missing) in [
        ("steal", "bank", "bank"),
        ("deep", "bank/deep", "bank"),
        ("absolute", absolute.as_str(), "bank"),
        ("dots", "./bank", "bank"),
        ("linked", "links/bank", "bank"),
        ("all", ".", "."),
        ("absent", "absent", "absent"),
    ] {
        server.kubectl_with(&["create", "-f", "-", JANE], &project(name, directory));
        let right =
            format!("use projectdirectories.landform.dev \\\"{missing}\\\" in the whole cluster");
        says(&server, &format!("project/{name}"), &[&right]);
        let status = server.kubectl(&["get", "project", name, "-o", "yaml"]);
        assert!(!status.contains("canary"), "{status}");
    }
    // Outside of it there is nothing that she could be granted.
    server.kubectl_with(&["create", "-f", "-", JANE], &project("up", "mine/../.."));
    says(
        &server,
        "project/up",
        &["must be below the server's directory of projects"],
    );
    server.kubectl_with(&["create", "-f", "-", JANE], &project("mine", "mine"));
    says(&server, "project/mine", &["Synced"]);
    server.kubectl(&["get", "configmap", "mine", "-n", "team"]);
    let found = server.try_kubectl(&["get", "configmap", "bank", "-n", "team"]);
    assert_contains(&found.stderr, &["NotFound"]);
}
