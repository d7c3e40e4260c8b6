//! Definitions: every kind that they define costs the server something.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::{Attack, PLAIN, Seen};
use crate::hostile::Outcome;
use crate::hostile::stage::Stage;
use crate::hostile::wire::Request;

pub(super) fn table() -> Vec<Attack> {
    vec![
        Attack {
            name: "many definitions",
            sends: "300 definitions of 90 KB, changed again and again while OpenAPI is read",
            run: many,
            answers: &[200, 201, 409],
            memory_mib: 400,
            ..PLAIN
        },
        Attack {
            name: "rules of definitions",
            sends: "definitions of 3,000 CEL rules each, from four clients",
            run: rules,
            answers: &[201, 422],
            memory_mib: 400,
            ..PLAIN
        },
    ]
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// The documents that are read: JSON of version 2, its older form, and version 3.
const DOCUMENTS: [(&str, &str); 3] = [
    ("/openapi/v2", "application/json"),
    (
        "/openapi/v2",
        "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    ),
    ("/openapi/v3/apis/many.example.com/v1", "application/json"),
];

fn definition(number: usize, spec: &Value) -> String {
    let plural = format!("many{number}s");
    let kind = format!("Many{number}");
    json!({
        "metadata": {"name": format!("{plural}.many.example.com")},
        "spec": {
            "group": "many.example.com", "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": spec},
            }}}],
        },
    })
    .to_string()
}

fn many(stage: &Stage, seen: &mut Seen) -> Outcome {
    if !stage.is_ours() {
        seen.left_out
            .push("the memory of a server elsewhere isn't measured");
        return Ok(());
    }
    let properties: Value = (0..3_400)
        .map(|number| (format!("f{number:05}"), json!({"type": "string"})))
        .collect();
    let spec = json!({"type": "object", "properties": properties});
    let count = stage.count(300, 20);
    for number in 0..count {
        let answer = stage
            .admin
            .json("POST", DEFINITIONS, definition(number, &spec).as_bytes());
        seen.answer(&answer);
    }
    let is_read = AtomicBool::new(false);
    seen.together(4, |thread, seen| {
        if thread == 0 {
            for number in (0..count).cycle() {
                let path = format!("{DEFINITIONS}/many{number}s.many.example.com");
                let names = json!({"spec": {"names": {"shortNames": [format!("m{number}")]}}});
                let body = names.to_string();
                seen.answer(&stage.admin.patch(&path, "merge", body.as_bytes()));
                if is_read.load(Ordering::Relaxed) {
                    return;
                }
            }
        }
        for (path, accept) in DOCUMENTS {
            let headers = [("accept", accept)];
            let answer = stage.powerless.send(&Request {
                method: "GET",
                path,
                headers: &headers,
                body: b"",
            });
            seen.answer(&answer);
        }
        is_read.store(true, Ordering::Relaxed);
    });
    Ok(())
}

fn rules(stage: &Stage, seen: &mut Seen) -> Outcome {
    if !stage.is_ours() {
        seen.left_out
            .push("the memory of a server elsewhere isn't measured");
        return Ok(());
    }
    let rules: Vec<Value> = (0..3_000)
        .map(|number| json!({"rule": format!("self.a.size() + {number} >= self.b.size() || self.a.startsWith(self.b)")}))
        .collect();
    let text = json!({"type": "string", "maxLength": 10});
    let spec = json!({
        "type": "object", "properties": {"a": text, "b": text}, "x-kubernetes-validations": rules,
    });
    let count = stage.count(4, 1);
    seen.together(4, |thread, seen| {
        for number in 0..count {
            let body = definition(thread * count + number, &spec);
            seen.answer(&stage.admin.json("POST", DEFINITIONS, body.as_bytes()));
        }
    });
    Ok(())
}
