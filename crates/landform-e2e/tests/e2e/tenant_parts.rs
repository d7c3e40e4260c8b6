//! C6 where several people write one object: what Landform puts right in it doesn't make a tenant's part act with more than
//! the tenant's rights, and children of a hook act with the rights that both of their authors have.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use landform_e2e::{Lines, Server};
use serde_json::{Value, json};

use crate::assert_contains;
use crate::shop::Leftovers;
use crate::tenant::{JANE, TEAM, item, manifest, reconciler, world};

const COMMAND: &str = "landform.dev/command";
const CONFIG: &str = r#"{"command":["sh","-c","date"]}"#;

/// What a tenant adds so that the administrator's command runs the tenant's program.
fn evil(proof: &Path, name: &str) -> Value {
    let program = format!("#!/bin/sh\n/usr/bin/id > {}/{name}\n", proof.display());
    json!({
        "command": ["true"], "env": {"PATH": ".:/usr/bin:/bin"},
        "files": {"date": {"content": program, "mode": "0755"}},
    })
}

fn command(name: &str) -> Value {
    item(name, COMMAND, &serde_json::from_str(CONFIG).unwrap())
}

/// Shows an object whenever it changes. By a list: of a single object kubectl reads a version, and passes over the first one that
/// it watches, which may be a later one.
fn watch(server: &Server, kind: &str, name: &str, shown: &str) -> Lines {
    let name = format!("--field-selector=metadata.name={name}");
    server.kubectl_lines(&[&["get", kind, &name, "--watch", "-o", shown][..], &TEAM].concat())
}

/// Waits until an item in this generation has just what the administrator wanted of it, and ran.
fn is_the_admins(server: &Server, name: &str, generation: u32) {
    let shown = "jsonpath={.metadata.generation} {.status.observedGeneration} {.spec.config} \
                 <{.metadata.annotations.landform\\.dev/writer}> {.status.phase}{\"\\n\"}";
    let line = format!("{generation} {generation} {CONFIG} <> Succeeded");
    let mut lines = watch(server, "deployitem", name, shown);
    let seen = std::panic::AssertUnwindSafe(|| lines.expect(&[&line]));
    assert!(
        std::panic::catch_unwind(seen).is_ok(),
        "{name} is not {line}:\n{}\n{}\n{}",
        lines.report(),
        server.kubectl(&[&["get", "deployitem", name, "-o", "yaml"][..], &TEAM].concat()),
        server.log()
    );
}

fn jane_changes(server: &Server, name: &str, config: &Value) {
    let patch = json!({"spec": {"config": config}}).to_string();
    let arguments = [
        "patch",
        "deployitem",
        name,
        "--type=merge",
        "-p",
        &patch,
        JANE,
    ];
    server.kubectl(&[&arguments[..], &TEAM].concat());
}

#[test]
fn c6_what_a_tenant_adds_to_an_admins_item_never_runs_with_the_admins_rights() {
    let (server, proof) = world();
    let _leftovers = Leftovers(server.home().to_owned());
    let proof = proof.path();
    // A project takes over an item that she created first.
    let first = item("adopted", COMMAND, &evil(proof, "adopted"));
    server.kubectl_with(&["create", "-f", "-", JANE], &first.to_string());
    let directory = proof.join("projects/admins");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("item.yaml"), command("adopted").to_string()).unwrap();
    let project = json!({
        "apiVersion": "landform.dev/v1alpha1", "kind": "Project",
        "metadata": {"name": "admins"}, "spec": {"directory": directory},
    });
    server.apply(&project.to_string());
    is_the_admins(&server, "adopted", 2);
    // An item of manifests makes another item, and puts it right when it is run again.
    let manifests = "landscaper.gardener.cloud/kubernetes-manifest";
    let maker = item("maker", manifests, &manifest(&[command("made")]));
    server.apply(&maker.to_string());
    is_the_admins(&server, "made", 1);
    jane_changes(&server, "made", &evil(proof, "made"));
    let again = "landscaper.gardener.cloud/operation=reconcile";
    server.kubectl(&[&["annotate", "deployitem", "maker", again, JANE][..], &TEAM].concat());
    is_the_admins(&server, "made", 3);
    // Also if nothing that it wants is another: an item that is hers would not run.
    jane_changes(&server, "made", &json!({"env": {"PATH": ".:/usr/bin"}}));
    server.kubectl(&[&["annotate", "deployitem", "maker", again][..], &TEAM].concat());
    is_the_admins(&server, "made", 5);
    // A hook puts its child right at once.
    let answer = json!({"owned": [command("child")]});
    let hook = json!({"command": ["sh", "-c", format!("cat > /dev/null; echo '{answer}'")]});
    let owns = json!({"owns": [{
        "group": "landscaper.gardener.cloud", "version": "v1alpha1", "kind": "DeployItem",
    }]});
    server.apply(&reconciler("gadgets", "Gadget", hook, owns).to_string());
    server.apply(&gadget("g", json!({})).to_string());
    is_the_admins(&server, "child", 1);
    jane_changes(&server, "child", &evil(proof, "child"));
    is_the_admins(&server, "child", 3);
    // A project does so when the server starts again.
    jane_changes(&server, "adopted", &evil(proof, "drifted"));
    let projects = proof.join("projects");
    let server = server.restart_with(&["--projects", projects.to_str().unwrap()], |_| ());
    is_the_admins(&server, "adopted", 4);
    let made = std::fs::read_dir(proof).unwrap().flatten();
    let made: Vec<_> = made.map(|entry| entry.file_name()).collect();
    assert_eq!(made, ["projects"], "a program of hers ran");
}

fn gadget(name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Gadget",
        "metadata": {"name": name, "namespace": "team"}, "spec": spec,
    })
}

/// A hook by URL that wants a command for each object. Returns its address and all that it was sent.
fn hook(proof: &Path) -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (sent, proof) = (Arc::new(Mutex::new(String::new())), proof.to_owned());
    let all = sent.clone();
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            // One that breaks off is called again.
            let _ = answer(connection, &proof, &all);
        }
    });
    (url, sent)
}

fn answer(connection: TcpStream, proof: &Path, sent: &Mutex<String>) -> std::io::Result<()> {
    let mut reader = BufReader::new(connection);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim().to_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        } else if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let request: Value = serde_json::from_slice(&body)?;
    sent.lock().unwrap().push_str(&request.to_string());
    let name = request["object"]["metadata"]["name"].as_str().unwrap();
    let run = format!("id > {}/{name}", proof.display());
    let child = item(name, COMMAND, &json!({"command": ["sh", "-c", run]}));
    let body = json!({"owned": [child]}).to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    reader.get_mut().write_all((head + &body).as_bytes())
}

/// Waits until an object says all of this in one line.
fn says(server: &Server, object: &str, parts: &[&str]) {
    let said = "jsonpath={.metadata.annotations} {.status}{\"\\n\"}";
    let (kind, name) = object.split_once('/').unwrap();
    watch(server, kind, name, said).expect(parts);
}

#[test]
fn c6_children_of_a_hook_have_the_rights_that_both_of_their_authors_have() {
    let (server, proof) = world();
    let _leftovers = Leftovers(server.home().to_owned());
    let (url, sent) = hook(proof.path());
    // Jane may write deploy items and read ConfigMaps everywhere, and run nothing. Bob may run programs.
    for (role, verb, group, resource) in [
        ("maps", "get", "", "configmaps"),
        ("runs", "run", "landform.dev", "processes"),
    ] {
        let rule = json!({"apiGroups": [group], "resources": [resource], "verbs": [verb]});
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": role}, "rules": [rule],
        });
        server.apply(&role.to_string());
    }
    let bind = |role: &str, user: &str| {
        let name = format!("{user}-{role}");
        let (role, user) = (format!("--clusterrole={role}"), format!("--user={user}"));
        server.kubectl(&["create", "clusterrolebinding", &name, &role, &user]);
    };
    bind("maps", "jane");
    bind("landform-user", "bob");
    bind("runs", "bob");
    let more = json!({
        "owns": [{"group": "landscaper.gardener.cloud", "version": "v1alpha1", "kind": "DeployItem"}],
        "refs": [{"path": ".spec.ref", "group": "", "version": "v1", "kind": "ConfigMap"}],
    });
    let hers = reconciler("hers", "Gadget", json!({"url": url}), more);
    server.kubectl_with(&["apply", "-f", "-", JANE], &hers.to_string());
    says(&server, "reconciler/hers", &["Registered"]);
    // The administrator writes an object of the kind, and nothing in it.
    server.apply(&gadget("innocent", json!({})).to_string());
    let missing = [
        "Failed",
        "jane",
        "run processes.landform.dev",
        "in the namespace team",
    ];
    says(&server, "deployitem/innocent", &missing);
    let writer = "jsonpath={.metadata.annotations.landform\\.dev/writer}";
    let of = |name: &str| {
        server.kubectl(&[&["get", "deployitem", name, "-o", writer][..], &TEAM].concat())
    };
    assert_eq!(of("innocent"), r#"{"user":"jane"}"#);
    // Bob may run programs, but he isn't the only author.
    let bobs = gadget("bobs", json!({}));
    server.kubectl_with(&["apply", "-f", "-", "--as=bob"], &bobs.to_string());
    let missing = ["Failed", "run processes.landform.dev", "(for \\\"jane\\\")"];
    says(&server, "deployitem/bobs", &missing);
    assert_eq!(of("bobs"), r#"{"user":"bob","and":[{"user":"jane"}]}"#);
    // What the administrator's object names is another kind than the Reconciler says: she may not read that.
    let named = gadget(
        "named",
        json!({"ref": {"kind": "Secret", "name": "theirs"}}),
    );
    server.apply(&named.to_string());
    let missing = ["the Reconciler hers", "jane", "get secrets", "theirs"];
    says(&server, "gadget/named", &missing);
    for name in ["innocent", "bobs", "named"] {
        assert!(!proof.path().join(name).exists(), "{name} ran");
    }
    assert!(
        !sent.lock().unwrap().contains("Y2FuYXJ5"),
        "the hook saw the Secret"
    );
    // With the right both have what it takes.
    bind("runs", "jane");
    let again = "landscaper.gardener.cloud/operation=reconcile";
    server.kubectl(&[&["annotate", "deployitem", "bobs", again][..], &TEAM].concat());
    let succeeded = "--for=jsonpath={.status.phase}=Succeeded";
    server.kubectl(
        &[
            &["wait", succeeded, "deployitem/bobs", "--timeout=55s"][..],
            &TEAM,
        ]
        .concat(),
    );
    assert!(proof.path().join("bobs").exists());
}

#[test]
fn c6_hooks_read_no_references_from_what_others_than_the_writer_may_write() {
    let (server, _proof) = world();
    for (name, path) in [
        ("labels", ".metadata.labels.secret"),
        ("status", ".status.secret"),
    ] {
        let more =
            json!({"refs": [{"path": path, "group": "", "version": "v1", "kind": "Secret"}]});
        let wrong = reconciler(name, "Gadget", json!({"url": "http://127.0.0.1:1/"}), more);
        server.apply(&wrong.to_string());
        let told = [
            "Invalid",
            path,
            "with the rights of who wrote",
            "for instance of .spec",
        ];
        says(&server, &format!("reconciler/{name}"), &told);
        server.kubectl(&["delete", "reconciler", name, "--timeout=55s"]);
    }
    assert_contains(&server.kubectl(&["get", "reconcilers"]), &["admins"]);
}
