//! What the server was started with and doesn't know of stays with the server.

use landform_e2e::Server;
use serde_json::json;

use crate::shop::Leftovers;

#[test]
fn descriptors_that_the_server_inherited_reach_no_program() {
    let secret = tempfile::NamedTempFile::with_prefix("canary").unwrap();
    let path = secret.path().display();
    // As a login shell, an init system or a script of the operator's may leave files open.
    let server = Server::start_after(&format!("exec 3<{path} 7<{path} 9>>{path}"));
    let _leftovers = Leftovers(server.home().to_owned());
    let own = std::fs::read_dir(format!("/proc/{}/fd", server.id())).unwrap();
    let own = own.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    assert_eq!(own.filter(|file| file == secret.path()).count(), 3);
    for kind in ["command", "process"] {
        let seen = server.home().join(kind);
        let script = format!(
            "for fd in /proc/$$/fd/*; do readlink $fd; done >{0}.new; mv {0}.new {0}; exec {1}",
            seen.display(),
            if kind == "command" {
                "true"
            } else {
                "sleep 1000"
            },
        );
        let item = json!({
            "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem",
            "metadata": {"name": kind, "namespace": "default"},
            "spec": {"type": format!("landform.dev/{kind}"), "config": {"command": ["sh", "-c", script]}},
        });
        server.apply(&item.to_string());
        let succeeded = "--for=jsonpath={.status.phase}=Succeeded";
        let item = format!("deployitem/{kind}");
        server.kubectl(&["wait", succeeded, "--timeout=30s", &item]);
        let seen = std::fs::read_to_string(seen).unwrap();
        assert!(
            seen.contains("pipe") || seen.contains("/"),
            "{kind}: {seen}"
        );
        assert!(!seen.contains("canary"), "{kind}: {seen}");
    }
}
