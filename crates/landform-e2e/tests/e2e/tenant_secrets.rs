//! C6 for references to Secrets in objects that Landform itself writes with such references: forged ones take the right to `get`
//! the Secret, whether a person made it or Landform.

use landform_e2e::Server;
use serde_json::{Value, json};

use crate::shop::Leftovers;
use crate::tenant::{JANE, RIGHTS, TEAM, installation};

const LANDSCAPER: &str = "landscaper.gardener.cloud/v1alpha1";
const MOCK: &str = "landscaper.gardener.cloud/mock";

fn in_team(kind: &str, name: &str, fields: Value) -> Value {
    let mut object = json!({
        "apiVersion": LANDSCAPER, "kind": kind, "metadata": {"name": name, "namespace": "team"},
    });
    object
        .as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    object
}

fn as_jane(server: &Server, object: &Value) {
    server.kubectl_with(&["create", "-f", "-", JANE], &object.to_string());
}

/// Waits until an object of the team tells this.
fn says(server: &Server, object: &str, parts: &[&str]) {
    let said = "jsonpath={.status.phase} {.status.lastError.message}{.status.waitingOn[*].reason}{\"\\n\"}";
    let arguments = [&["get", object, "--watch", "-o", said][..], &TEAM].concat();
    server.kubectl_lines(&arguments).expect(parts);
}

fn exporting(import: &str) -> Value {
    let config =
        json!({"export": {"seen": format!("{{{{ toJson .imports.{import} | b64enc }}}}")}});
    json!({"name": "it", "type": MOCK, "config": config})
}

#[test]
fn c6_a_forged_reference_takes_the_right_to_the_secret() {
    let server = Server::start();
    let _leftovers = Leftovers(server.home().to_owned());
    server.apply(RIGHTS);
    // An administrator's landscape keeps a Secret of Landform's own.
    let imports =
        json!({"data": [{"name": "m", "secretRef": {"name": "theirs", "key": "config"}}]});
    let mut admins = installation("admins", imports, &exporting("m"));
    admins["spec"]["imports"]["data"][0]["name"] = json!("m");
    server.apply(&admins.to_string());
    says(&server, "installation/admins", &["Succeeded"]);
    let listed = [
        &[
            "get",
            "secrets",
            "--field-selector=type=landform.dev/kept",
            "-o",
            "name",
        ][..],
        &TEAM,
    ]
    .concat();
    let kept = server.kubectl(&listed);
    let kept: Vec<&str> = kept
        .lines()
        .filter_map(|line| line.strip_prefix("secret/"))
        .collect();
    assert!(!kept.is_empty());
    for (number, name) in kept.into_iter().chain(["theirs"]).enumerate() {
        let key = if name == "theirs" { "config" } else { "1" };
        let reference = json!({"name": name, "key": key});
        let missing = format!("get secrets \"{name}\" in the namespace team");
        let data = format!("forged{number}");
        let forged = json!({"data": "(secret)", "secretRef": reference});
        as_jane(&server, &in_team("DataObject", &data, forged));
        for (whose, importer) in [("hers", true), ("his", false)] {
            let name = format!("{whose}{number}");
            let imports = json!({"data": [{"name": "m", "dataRef": data}]});
            let importing = installation(&name, imports, &exporting("m"));
            if importer {
                as_jane(&server, &importing);
            } else {
                server.apply(&importing.to_string());
            }
            says(&server, &format!("installation/{name}"), &[&missing]);
        }
        let item = format!("item{number}");
        let spec = json!({"spec": {"type": MOCK, "config": {}, "configFrom": reference}});
        as_jane(&server, &in_team("DeployItem", &item, spec));
        says(&server, &format!("deployitem/{item}"), &[&missing]);
    }
}
