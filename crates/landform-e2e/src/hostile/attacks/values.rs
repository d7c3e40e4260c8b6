//! Values that cost more than their senders paid: duplicates, depth, width, quadratic work.

use serde_json::{Map, Value, json};

use super::{Attack, PLAIN, Seen};
use crate::hostile::Outcome;
use crate::hostile::stage::{CORE, LOOSE, STRICT, Stage};
use crate::hostile::wire::{Access, Request};

/// A list as a table, as kubectl asks for it.
const TABLE: [(&str, &str); 1] = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];

/// The objects of the kind with many defaults.
const FULLS: &str = "/apis/hostile.example.com/v1/namespaces/hostile-suite/fulls";

pub(super) fn table() -> Vec<Attack> {
    vec![
        Attack {
            name: "duplicate keys",
            sends: "300,000 duplicate fields below a key of 500,000 characters, without rights",
            run: duplicate_keys,
            answers: &[400, 403, 413, 422, 429],
            ..PLAIN
        },
        Attack {
            name: "unknown fields",
            sends: "100,000 unknown fields of a custom resource, strict and with warnings",
            run: unknown_fields,
            answers: &[201, 400, 413, 422, 429],
            ..PLAIN
        },
        Attack {
            name: "deep results of patches",
            sends: "JSON patches that copy an object into itself, 200 and 23,000 levels deep, also as a dry run",
            prepare: |stage| {
                stage.made(LOOSE, &json!({"apiVersion": "hostile.example.com/v1", "kind": "Loose", "metadata": {"name": "deep"}, "spec": {}})).map(drop)
            },
            run: deep_patches,
            answers: &[200, 400, 413, 422, 429],
            ..PLAIN
        },
        Attack {
            name: "many finalizers",
            sends: "strategic merge patches of 40,000 finalizers onto 40,000 others",
            prepare: |stage| {
                stage
                    .made(
                        &format!("{CORE}/configmaps"),
                        &json!({"metadata": {"name": "held"}}),
                    )
                    .map(drop)
            },
            run: many_finalizers,
            answers: &[200, 400, 413, 422, 429],
            ..PLAIN
        },
        Attack {
            name: "labels that are no strings",
            sends: "150,000 labels that are numbers",
            run: odd_labels,
            answers: &[400, 413, 422, 429],
            ..PLAIN
        },
        Attack {
            name: "many owners",
            sends: "objects with 25,000 owners that don't exist, and with 1,000, which the collector asks for",
            run: many_owners,
            answers: &[201, 413, 422, 429],
            ..PLAIN
        },
        Attack {
            name: "inserts at the front",
            sends: "JSON patches of 9,000 inserts at index 0",
            prepare: |stage| {
                stage.made(LOOSE, &json!({"apiVersion": "hostile.example.com/v1", "kind": "Loose", "metadata": {"name": "list"}, "spec": {"list": []}})).map(drop)
            },
            run: front_inserts,
            answers: &[200, 400, 413, 422, 429],
            ..PLAIN
        },
        Attack {
            name: "defaults that multiply",
            sends: "lists of 200,000 empty objects of a kind whose schema has 1,000 defaults for each",
            prepare: defaulting_kind,
            run: many_defaults,
            answers: &[413, 422, 429],
            memory_mib: 512,
            ..PLAIN
        },
        Attack {
            name: "tables of large objects",
            sends: "tables and selections of 12 objects with 120,000 keys each, 20 at once",
            prepare: |stage| {
                let data: Map<String, Value> = (0..stage.count(120_000, 40_000))
                    .map(|number| (format!("k{number}"), json!("")))
                    .collect();
                for number in 0..12 {
                    let object =
                        json!({"metadata": {"name": format!("wide-{number}")}, "data": data});
                    stage.made(&format!("{CORE}/configmaps"), &object)?;
                }
                Ok(())
            },
            run: large_tables,
            answers: &[200, 413, 429, 504],
            memory_mib: 512,
            ..PLAIN
        },
    ]
}

/// A kind with many defaults; it goes with the others of its group.
fn defaulting_kind(stage: &Stage) -> Outcome {
    let fields: Map<String, Value> = (0..1_000)
        .map(|number| {
            (
                format!("field{number}"),
                json!({"type": "string", "default": "value"}),
            )
        })
        .collect();
    let items = json!({"type": "object", "properties": fields});
    let spec = json!({"type": "object", "properties": {"list": {"type": "array", "items": items}}});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "fulls.hostile.example.com"},
        "spec": {
            "group": "hostile.example.com", "scope": "Namespaced",
            "names": {"plural": "fulls", "singular": "full", "kind": "Full", "listKind": "FullList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    stage.made(path, &definition)?;
    stage.until(FULLS, |answer| answer.code == 200)
}

fn many_defaults(stage: &Stage, seen: &mut Seen) -> Outcome {
    let list = vec![json!({}); stage.count(200_000, 50_000)];
    let body = json!({
        "apiVersion": "hostile.example.com/v1", "kind": "Full", "metadata": {"name": "a"}, "spec": {"list": list},
    });
    let body = body.to_string();
    seen.together(stage.count(4, 2), |_, seen| {
        for query in ["", "?dryRun=All"] {
            let path = format!("{FULLS}{query}");
            seen.answer(&stage.admin.json("POST", &path, body.as_bytes()));
        }
    });
    Ok(())
}

fn large_tables(stage: &Stage, seen: &mut Seen) -> Outcome {
    seen.together(stage.count(20, 6), |thread, seen| {
        let query = ["", "?labelSelector=a%3Db", "?limit=3"][thread % 3];
        let answer = stage.tenant.send(&Request {
            method: "GET",
            path: &format!("{CORE}/configmaps{query}"),
            headers: &TABLE,
            body: b"",
        });
        seen.answer(&answer);
    });
    Ok(())
}

fn duplicate_keys(stage: &Stage, seen: &mut Seen) -> Outcome {
    let key = "k".repeat(500_000);
    let fields = r#""a":1,"#.repeat(300_000);
    let body = format!(r#"{{"metadata":{{"name":"a"}},"data":{{"{key}":{{{fields}"a":1}}}}}}"#);
    for who in [&stage.powerless, &stage.tenant] {
        seen.together(stage.count(4, 1), |_, seen| {
            for validation in ["Strict", "Warn"] {
                let path = format!("{CORE}/configmaps?fieldValidation={validation}");
                report(who, &path, body.as_bytes(), seen);
            }
        });
    }
    Ok(())
}

fn unknown_fields(stage: &Stage, seen: &mut Seen) -> Outcome {
    let unknown: Map<String, Value> = (0..stage.count(100_000, 30_000))
        .map(|number| (format!("unknown-{number}"), json!(1)))
        .collect();
    let body = json!({
        "apiVersion": "hostile.example.com/v1", "kind": "Strict", "metadata": {"name": "a"}, "spec": unknown,
    });
    let body = body.to_string();
    seen.together(stage.count(4, 1), |_, seen| {
        for validation in ["Strict", "Warn", "Ignore"] {
            let path = format!("{STRICT}?fieldValidation={validation}&dryRun=All");
            report(&stage.tenant, &path, body.as_bytes(), seen);
        }
    });
    Ok(())
}

/// Sends a body, and looks at how much is said about it.
fn report(who: &Access, path: &str, body: &[u8], seen: &mut Seen) {
    let answer = who.json("POST", path, body);
    seen.answer(&answer);
    if let Ok(answer) = answer {
        let (head, text) = (answer.head.len(), answer.body.len());
        if head > 32_000 || (answer.code >= 400 && text > 200_000) {
            seen.check(
                format!("a report is short (head {head} bytes, body {text} bytes)"),
                false,
            );
        }
    }
}

/// A patch that makes `/spec` at least this deep: each operation copies what is there to its deepest place.
fn doubling(levels: usize) -> String {
    let nested = (0..90).fold(json!({}), |inner, _| json!({ "a": inner }));
    let mut depth = 90;
    let mut patch = vec![json!({"op": "add", "path": "/spec/a", "value": nested})];
    while depth < levels {
        let deepest = format!("/spec{}", "/a".repeat(depth + 2));
        patch.push(json!({"op": "copy", "from": "/spec/a", "path": deepest}));
        depth = depth * 2 + 1;
    }
    Value::from(patch).to_string()
}

fn deep_patches(stage: &Stage, seen: &mut Seen) -> Outcome {
    let one = format!("{LOOSE}/deep");
    for levels in [18_000, 200] {
        let patch = doubling(levels);
        for query in ["?dryRun=All", ""] {
            let answer = stage
                .tenant
                .patch(&format!("{one}{query}"), "json", patch.as_bytes());
            seen.answer(&answer);
        }
    }
    let nested = (0..200).fold(json!({}), |inner, _| json!({ "a": inner }));
    let merge = json!({"spec": nested}).to_string();
    seen.answer(&stage.tenant.patch(&one, "merge", merge.as_bytes()));
    // Whatever became of it, it can be shown, changed and deleted.
    let shown = stage.tenant.get(&one);
    let listed = stage.tenant.get(LOOSE);
    let table = stage.tenant.send(&crate::hostile::wire::Request {
        method: "GET",
        path: LOOSE,
        headers: &TABLE,
        body: b"",
    });
    let labelled = stage
        .tenant
        .patch(&one, "merge", br#"{"metadata":{"labels":{"a":"b"}}}"#);
    let deleted = stage.tenant.json("DELETE", &one, b"");
    let all = [shown, listed, table, labelled, deleted]
        .map(|answer| answer.map_or(0, |answer| answer.code));
    seen.check(
        format!("the object can be read, listed, listed as a table, changed, deleted ({all:?})"),
        all.iter().all(|code| [200, 202].contains(code)),
    );
    let gone = stage.until(&one, |answer| answer.code == 404).is_ok();
    seen.check("the object is gone after its deletion".to_owned(), gone);
    Ok(())
}

fn many_finalizers(stage: &Stage, seen: &mut Seen) -> Outcome {
    let one = format!("{CORE}/configmaps/held");
    let count = stage.count(40_000, 10_000);
    let batch = |prefix: &str| {
        let all: Vec<String> = (0..count)
            .map(|number| format!("a.io/{prefix}{number}"))
            .collect();
        json!({"metadata": {"finalizers": all}}).to_string()
    };
    for prefix in ["a", "b", "a"] {
        seen.answer(
            &stage
                .tenant
                .patch(&one, "strategic-merge", batch(prefix).as_bytes()),
        );
    }
    let none = br#"{"metadata":{"finalizers":null}}"#;
    seen.answer(&stage.tenant.patch(&one, "merge", none));
    Ok(())
}

fn odd_labels(stage: &Stage, seen: &mut Seen) -> Outcome {
    let labels: Map<String, Value> = (0..stage.count(150_000, 40_000))
        .map(|number| (format!("l{number}"), json!(number)))
        .collect();
    let body = json!({"metadata": {"name": "a", "labels": labels}}).to_string();
    let path = format!("{CORE}/configmaps");
    seen.together(stage.count(4, 1), |_, seen| {
        report(&stage.tenant, &path, body.as_bytes(), seen);
    });
    seen.answer(
        &stage
            .tenant
            .patch(&format!("{path}/kept"), "strategic-merge", body.as_bytes()),
    );
    Ok(())
}

fn many_owners(stage: &Stage, seen: &mut Seen) -> Outcome {
    let path = format!("{CORE}/configmaps");
    let owned = |name: &str, count: usize| {
        let owner = |at: usize| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": format!("n{at}"), "uid": format!("{name}-{at}")});
        let owners: Vec<Value> = (0..count).map(owner).collect();
        json!({"metadata": {"name": name, "ownerReferences": owners}}).to_string()
    };
    let far_too_many = owned("far-too-many", 25_000);
    seen.answer(&stage.tenant.json("POST", &path, far_too_many.as_bytes()));
    for number in 0..stage.count(20, 2) {
        let name = format!("owned-{number}");
        let body = owned(&name, 1_000);
        seen.answer(&stage.tenant.json("POST", &path, body.as_bytes()));
    }
    // None of the owners exists, so the collector deletes them; the bystander goes on until it has.
    let all_gone = (0..stage.count(20, 2)).all(|number| {
        let one = format!("{path}/owned-{number}");
        stage.until(&one, |answer| answer.code == 404).is_ok()
    });
    seen.check("all of them are collected".to_owned(), all_gone);
    Ok(())
}

fn front_inserts(stage: &Stage, seen: &mut Seen) -> Outcome {
    let one = format!("{LOOSE}/list");
    let insert = json!({"op": "add", "path": "/spec/list/0", "value": {"a": [1, 2, 3]}});
    let patch = Value::from(vec![insert; stage.count(9_000, 4_000)]).to_string();
    seen.together(stage.count(3, 1), |_, seen| {
        seen.answer(&stage.tenant.patch(&one, "json", patch.as_bytes()));
        seen.answer(&stage.tenant.patch(&one, "json", patch.as_bytes()));
    });
    Ok(())
}
