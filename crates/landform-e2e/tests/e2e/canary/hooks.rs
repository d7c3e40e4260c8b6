//! Hooks that fail: commands and URLs.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use landform_e2e::Server;
use serde_json::{Value, json};

use super::failures::{canary, told};

/// The kinds that hooks look after, with one object of each.
pub(super) const KINDS: [(&str, &str); 12] = [
    ("Exiting", "exiting/a"),
    ("Babbling", "babbling/a"),
    ("Owning", "owning/a"),
    ("Absent", "absent/a"),
    ("Telling", "telling/a"),
    ("Failing", "failing/a"),
    ("Wrong", "wrong/a"),
    ("Garbled", "garbled/a"),
    ("Refused", "refused/a"),
    ("Naming", "naming/a"),
    ("Unknown", "unknown/a"),
    ("Straying", "straying/a"),
];

/// Definitions and Reconcilers of all kinds.
pub(super) fn all(server: &Server) -> Vec<Value> {
    // What the hooks print, too.
    let noise = server.file("noise", &canary("hook"));
    let owned = json!({"owned": [{
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "o"}, "data": {"a": canary("owned")},
    }]});
    let owned = server.file("owned", &owned.to_string());
    let error = server.file(
        "error",
        &json!({"error": format!("it says {}", told("error"))}).to_string(),
    );
    let argument = canary("hook-argument");
    let script = |script: &str| json!({"command": ["sh", "-c", script, "sh", argument], "env": {"A": canary("hook-env")}});
    let web = answering();
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let url = |path: &str| json!({"url": format!("http://user:{0}@{web}/{path}/{0}?token={0}", canary("url"))});
    let hooks = [
        script(&format!(
            "cat >&2; env >&2; echo \"$1\" >&2; cat {noise}; exit 3"
        )),
        script(&format!("cat; cat {noise}")),
        script(&format!("cat > /dev/null; cat {owned}")),
        json!({"command": ["/no/such/program", canary("hook-argument")]}),
        script(&format!("cat > /dev/null; cat {error}")),
        url("failing"),
        url("wrong"),
        url("garbled"),
        json!({"url": format!("http://{closed}/{0}?token={0}", canary("url"))}),
        url("naming"),
        url("unknown"),
        url("straying"),
    ];
    let kinds = KINDS.iter().zip(hooks);
    kinds
        .flat_map(|((kind, _), hook)| objects(kind, &hook))
        .collect()
}

fn objects(kind: &str, hook: &Value) -> [Value; 2] {
    let name = kind.to_lowercase();
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{name}s.example.com")},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": format!("{name}s"), "singular": name, "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            }}}],
        },
    });
    let reconciler = json!({
        "apiVersion": "landform.dev/v1alpha1", "kind": "Reconciler", "metadata": {"name": name},
        "spec": {
            "for": {"group": "example.com", "version": "v1", "kind": kind},
            "owns": [{"version": "v1", "kind": "Secret"}],
            "hook": hook,
        },
    });
    [definition, reconciler]
}

/// A server of hooks whose answers are all wrong, and hold what is secret. It lives as long as the test.
fn answering() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for connection in listener.incoming().take(10_000) {
            let Ok(mut connection) = connection else {
                continue;
            };
            let mut request = [0; 1 << 16];
            let read = connection.read(&mut request).unwrap_or(0);
            let head = String::from_utf8_lossy(&request[..read.min(200)]).into_owned();
            let value = canary("hook");
            let (status, body) = if head.contains("/failing/") {
                ("500 Oops", format!("Traceback: password={value}"))
            } else if head.contains("/wrong/") {
                ("200 OK", json!({"done": value}).to_string())
            } else if head.contains("/naming/") {
                let child = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "n"}, "stringData": {"a": [value]}});
                ("200 OK", json!({"owned": [child]}).to_string())
            } else if head.contains("/unknown/") {
                ("200 OK", json!({value: 1}).to_string())
            } else if head.contains("/straying/") {
                let child = json!({"apiVersion": "v1", "kind": value, "metadata": {"name": value}});
                ("200 OK", json!({"owned": [child]}).to_string())
            } else {
                ("200 OK", format!("{{{value}"))
            };
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            let _ = connection.write_all(answer.as_bytes());
        }
    });
    address
}
