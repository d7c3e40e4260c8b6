//! C6 where no content is changed: labels, owner references and statuses decide what Landform reads and does for an object, and
//! who changes them answers for it.

use std::path::Path;

use landform_e2e::Server;
use serde_json::{Value, json};

use crate::shop::Leftovers;
use crate::tenant::{JANE, RIGHTS, TEAM, installation, item, world};

const COMMAND: &str = "landform.dev/command";
const REFUSED: &str = "run processes.landform.dev \"root\"";

/// Waits until an object of the team tells this.
fn says(server: &Server, object: &str, parts: &[&str]) {
    let said = "jsonpath={.status.phase} {.status.lastError.message}{.status.waitingOn[*].reason}{\"\\n\"}";
    let arguments = [&["get", object, "--watch", "-o", said][..], &TEAM].concat();
    server.kubectl_lines(&arguments).expect(parts);
}

fn jane_patches(server: &Server, object: &str, more: &[&str], patch: &Value) {
    let patch = patch.to_string();
    let arguments = ["patch", object, "--type=merge", "-p", &patch, JANE];
    server.kubectl(&[&arguments[..], more, &TEAM].concat());
}

fn get(server: &Server, object: &str) -> Value {
    let found = server.kubectl(&[&["get", object, "-o", "json"][..], &TEAM].concat());
    serde_json::from_str(&found).unwrap()
}

/// An item whose command shows its argument.
fn shows(argument: &str) -> Value {
    let script = format!("echo {argument} > /dev/null");
    json!({"name": "it", "type": COMMAND, "config": {"command": ["sh", "-c", script]}})
}

fn ran(proof: &Path) -> bool {
    proof.join("ran").exists()
}

#[test]
fn c6_an_admins_installation_runs_nothing_that_a_tenants_context_gives_it() {
    let (server, proof) = world();
    let _leftovers = Leftovers(server.home().to_owned());
    let proof = proof.path();
    let data = json!({
        "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DataObject",
        "metadata": {"name": "conf", "namespace": "team"}, "data": "hello",
    });
    server.apply(&data.to_string());
    let imports = json!({"data": [{"name": "m", "dataRef": "conf"}]});
    let admins = installation("adm", imports.clone(), &shows("{{ .imports.m }}"));
    server.apply(&admins.to_string());
    says(&server, "installation/adm", &["Succeeded"]);
    // Hers gives the same name to what is nested in it.
    let kid = json!({
        "name": "kid", "imports": imports,
        "blueprint": {"filesystem": {"blueprint.yaml": json!({
            "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Blueprint",
            "imports": [{"name": "m", "type": "data", "schema": {}}],
        }).to_string()}},
    });
    let evil = format!("x; id > {}/ran; true", proof.display());
    let bindings = json!({"bindings": {"conf": evil}}).to_string();
    let blueprint = json!({
        "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Blueprint",
        "importExecutions": [{"name": "b", "type": "GoTemplate", "template": bindings}],
        "subinstallations": [kid],
    });
    let hers = json!({
        "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Installation",
        "metadata": {"name": "par", "namespace": "team"},
        "spec": {"blueprint": {"inline": {"filesystem": {"blueprint.yaml": blueprint.to_string()}}}},
    });
    server.kubectl_with(&["create", "-f", "-", JANE], &hers.to_string());
    says(&server, "installation/par", &["Succeeded"]);
    let all = server.kubectl(&[&["get", "installations", "-o", "json"][..], &TEAM].concat());
    let all: Value = serde_json::from_str(&all).unwrap();
    let mut all = all["items"].as_array().unwrap().iter();
    let is_kid = |found: &&Value| {
        let name = found["metadata"]["name"].as_str();
        name.is_some_and(|name| name.starts_with("kid-"))
    };
    let metadata = all.find(is_kid).unwrap()["metadata"].clone();
    let moved = json!({"metadata": {
        "labels": metadata["labels"], "ownerReferences": metadata["ownerReferences"],
        "annotations": {
            "landscaper.gardener.cloud/subinstallation-name": "kid",
            "landscaper.gardener.cloud/operation": "force-reconcile",
        },
    }});
    jane_patches(&server, "installation/adm", &[], &moved);
    says(&server, "installation/adm", &[REFUSED, "jane"]);
    assert!(!ran(proof), "her program ran");
}

#[test]
fn c6_the_state_of_a_template_that_a_tenant_writes_runs_with_the_tenants_rights() {
    let (server, proof) = world();
    let _leftovers = Leftovers(server.home().to_owned());
    let proof = proof.path();
    let script = r#"{{ $port := dig "port" "8080" (default dict .state) }}{{ printf "echo %s > /dev/null" $port | toJson }}"#;
    let template = format!(
        "state: {{port: {{{{ dig \"port\" \"8080\" (default dict .state) | quote }}}}}}\ndeployItems:\n- {{name: it, type: {COMMAND}, config: {{command: [sh, -c, {script}]}}}}\n"
    );
    let blueprint = json!({
        "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Blueprint",
        "deployExecutions": [{"name": "d", "type": "GoTemplate", "template": template}],
    });
    let admins = json!({
        "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Installation",
        "metadata": {"name": "adm", "namespace": "team"},
        "spec": {"blueprint": {"inline": {"filesystem": {"blueprint.yaml": blueprint.to_string()}}}},
    });
    server.apply(&admins.to_string());
    says(&server, "installation/adm", &["Succeeded"]);
    let state = get(&server, "installation/adm")["status"]["templateState"].clone();
    let (key, _) = state.as_object().unwrap().iter().next().expect("a state");
    let evil = format!("x; id > {}/ran; true", proof.display());
    let forged = json!({"status": {"templateState": {key: {"port": evil}}}});
    jane_patches(
        &server,
        "installation/adm",
        &["--subresource=status"],
        &forged,
    );
    let again = "landscaper.gardener.cloud/operation=force-reconcile";
    let ask = ["annotate", "installation", "adm", again, JANE];
    server.kubectl(&[&ask[..], &TEAM].concat());
    says(&server, "installation/adm", &[REFUSED, "jane"]);
    assert!(!ran(proof), "her program ran");
}

#[test]
fn c6_an_admins_apply_leaves_a_tenants_addition_the_tenants() {
    let (server, proof) = world();
    let _leftovers = Leftovers(server.home().to_owned());
    let proof = proof.path();
    let mut admins = item("db", COMMAND, &json!({"command": ["sh", "-c", "date"]}));
    server.apply(&admins.to_string());
    says(&server, "deployitem/db", &["Succeeded"]);
    let program = format!("#!/bin/sh\n/usr/bin/id > {}/ran\n", proof.display());
    let added = json!({"spec": {"config": {
        "env": {"PATH": ".:/usr/bin:/bin"}, "files": {"date": {"content": program, "mode": "0755"}},
    }}});
    jane_patches(&server, "deployitem/db", &[], &added);
    says(&server, "deployitem/db", &[REFUSED]);
    admins["spec"]["timeout"] = json!("6m");
    server.apply(&admins.to_string());
    let is_new = "--for=jsonpath={.status.observedGeneration}=3";
    let wait = ["wait", is_new, "deployitem/db", "--timeout=55s"];
    server.kubectl(&[&wait[..], &TEAM].concat());
    says(&server, "deployitem/db", &["Failed", REFUSED]);
    assert!(!ran(proof), "her program ran");
    // Who sends all of it vouches for all of it.
    server.kubectl_with(&["replace", "-f", "-"], &admins.to_string());
    says(&server, "deployitem/db", &["Succeeded"]);
    assert!(!ran(proof), "her program ran");
}

#[test]
fn c6_exports_of_an_admins_item_are_not_shown_to_who_takes_the_item_over() {
    let server = Server::start();
    let _leftovers = Leftovers(server.home().to_owned());
    server.apply(RIGHTS);
    let mock = "landscaper.gardener.cloud/mock";
    let secret = json!({"phase": "Succeeded", "export": {"password": "canary-of-the-admin"}});
    server.apply(&item("vic", mock, &secret).to_string());
    says(&server, "deployitem/vic", &["Succeeded"]);
    let own = json!({"name": "it", "type": mock, "config": {"phase": "Succeeded", "export": {"password": "hers"}}});
    let mut hers = installation("thief", json!({}), &own);
    let blueprint = &mut hers["spec"]["blueprint"]["inline"]["filesystem"]["blueprint.yaml"];
    let mut parsed: Value = serde_json::from_str(blueprint.as_str().unwrap()).unwrap();
    let template = "exports: {p: {{ toJson .values.deployitems.it.password }}}";
    parsed["exports"] = json!([{"name": "p", "type": "data", "schema": {}}]);
    parsed["exportExecutions"] = json!([{"name": "e", "type": "GoTemplate", "template": template}]);
    *blueprint = json!(parsed.to_string());
    hers["spec"]["exports"] = json!({"data": [{"name": "p", "dataRef": "p"}]});
    server.kubectl_with(&["create", "-f", "-", JANE], &hers.to_string());
    says(&server, "installation/thief", &["Succeeded"]);
    let all = server.kubectl(&[&["get", "deployitems", "-o", "json"][..], &TEAM].concat());
    let all: Value = serde_json::from_str(&all).unwrap();
    let mut all = all["items"].as_array().unwrap().iter();
    let is_own = |found: &&Value| found["metadata"]["name"] != "vic";
    let metadata = all.find(is_own).unwrap()["metadata"].clone();
    // His item has the labels and the owner of hers, which goes.
    let moved = json!({"metadata": {
        "labels": metadata["labels"], "ownerReferences": metadata["ownerReferences"],
    }});
    jane_patches(&server, "deployitem/vic", &[], &moved);
    let none = json!({"metadata": {"labels": null, "ownerReferences": null}});
    let name = metadata["name"].as_str().unwrap();
    jane_patches(&server, &format!("deployitem/{name}"), &[], &none);
    let again = "landscaper.gardener.cloud/operation=reconcile";
    for object in ["execution", "installation"] {
        let ask = ["annotate", object, "thief", again, JANE];
        server.kubectl(&[&ask[..], &TEAM].concat());
    }
    says(&server, "execution/thief", &["secrets", "forbidden"]);
    let shown = server.kubectl(
        &[
            &["get", "installations,executions,dataobjects", "-o", "yaml"][..],
            &TEAM,
        ]
        .concat(),
    );
    assert!(!shown.contains("canary-of-the-admin"), "{shown}");
}
