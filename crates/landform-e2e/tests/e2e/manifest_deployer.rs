//! Deploy items of type kubernetes-manifest go from one Landform to another one, over TLS.

use landform_e2e::Server;
use serde_json::json;

use crate::assert_contains;

fn wait(server: &Server, object: &str, jsonpath: &str, value: &str) {
    let condition = format!("--for=jsonpath={{{jsonpath}}}={value}");
    server.kubectl(&["wait", &condition, object, "--timeout=55s"]);
}

fn item(colour: &str) -> String {
    let manifest = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": "shop"}, "data": {"colour": colour},
    });
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    let export = json!({
        "key": "colour", "jsonPath": ".data.colour",
        "fromResource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "settings", "namespace": "shop"},
    });
    let item = json!({
        "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem",
        "metadata": {"name": "web"},
        "spec": {
            "type": "landscaper.gardener.cloud/kubernetes-manifest",
            "target": {"name": "there"},
            "config": {
                "manifests": [{"manifest": manifest}, {"manifest": namespace}],
                "exports": {"exports": [export]},
            },
        },
    });
    item.to_string()
}

#[test]
fn e12_manifests_go_to_another_server() {
    let (here, there) = (Server::start(), Server::start());
    if !here.kubectl_is_at_least(23) {
        return;
    }
    let kubeconfig = std::fs::read_to_string(there.kubeconfig()).unwrap();
    let target = json!({
        "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Target",
        "metadata": {"name": "there"},
        "spec": {
            "type": "landscaper.gardener.cloud/kubernetes-cluster",
            "config": {"kubeconfig": {"secretRef": {"name": "access"}}},
        },
    });
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "access"},
        "stringData": {"kubeconfig": kubeconfig},
    });
    here.apply(&secret.to_string());
    here.apply(&target.to_string());
    here.apply(&item("green"));
    wait(&here, "di/web", ".status.phase", "Succeeded");
    let colour = [
        "get",
        "cm",
        "settings",
        "-n",
        "shop",
        "-o",
        "jsonpath={.data.colour}",
    ];
    assert_eq!(there.kubectl(&colour), "green");
    let here_not = here.kubectl_fails(&["get", "cm", "settings", "-n", "shop"]);
    assert_contains(&here_not, &["not found"]);
    here.kubectl(&["get", "secret", "web-export"]);

    here.apply(&item("blue"));
    let blue = "--for=jsonpath={.data.colour}=blue";
    there.kubectl(&["wait", blue, "cm/settings", "-n", "shop", "--timeout=55s"]);
    here.kubectl(&["delete", "di", "web", "--timeout=55s"]);
    assert_contains(&there.kubectl_fails(&["get", "ns", "shop"]), &["NotFound"]);
}
