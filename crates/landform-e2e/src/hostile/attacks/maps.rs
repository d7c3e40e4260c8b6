//! Many small maps: a few bytes of text each, and a whole node of a tree when they are decoded.

use serde_json::{Value, json};

use super::{Attack, PLAIN, Seen};
use crate::hostile::Outcome;
use crate::hostile::stage::{LOOSE, NAMESPACE, Stage};
use crate::hostile::wire::Request;

const LANDSCAPER: &str = "landscaper.gardener.cloud/v1alpha1";
/// About as many as an object may have here.
const MAPS: usize = 55_000;

const YAML: [(&str, &str); 1] = [("accept", "application/yaml")];
const TABLE: [(&str, &str); 1] = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];

pub(super) fn table() -> Vec<Attack> {
    vec![
        Attack {
            name: "lists of small maps",
            sends: "lists of 20 objects with 55,000 small maps each, as YAML and as tables with the objects, 3 at once",
            prepare: |stage| store(stage, stage.count(20, 6)),
            run: lists,
            answers: &[200, 413, 429, 504],
            ..PLAIN
        },
        Attack {
            name: "watches of small maps",
            sends: "16 watches as tables with the objects, of 20 objects with 55,000 small maps each",
            prepare: |stage| store(stage, stage.count(20, 6)),
            run: watches,
            answers: &[200, 429],
            ..PLAIN
        },
        Attack {
            name: "changes of small maps",
            sends: "label patches of 8 objects with 55,000 small maps each, 16 at once, then a deletion of all of them as a dry run",
            prepare: |stage| store(stage, 8),
            run: changes,
            answers: &[200, 400, 409, 413, 422, 429],
            memory_mib: 512,
            ..PLAIN
        },
        Attack {
            name: "imports of small maps",
            sends: "10 Installations that import a DataObject with 55,000 small maps, once and 15 times",
            run: imports,
            answers: &[201, 400, 404, 413],
            memory_mib: 640,
            ..PLAIN
        },
    ]
}

fn maps(count: usize) -> Vec<Value> {
    vec![json!({"a": 1}); count]
}

fn loose(name: &str, count: usize) -> Value {
    json!({
        "apiVersion": "hostile.example.com/v1", "kind": "Loose",
        "metadata": {"name": name}, "spec": {"list": maps(count)},
    })
}

fn store(stage: &Stage, count: usize) -> Outcome {
    for number in 0..count {
        stage.made(LOOSE, &loose(&format!("maps-{number}"), MAPS))?;
    }
    Ok(())
}

fn lists(stage: &Stage, seen: &mut Seen) -> Outcome {
    let with_objects = format!("{LOOSE}?includeObject=Object");
    seen.together(3, |_, seen| {
        for (path, headers) in [
            (LOOSE, &YAML),
            (&with_objects, &TABLE),
            (&format!("{LOOSE}/maps-0"), &YAML),
        ] {
            seen.answer(&stage.tenant.send(&Request {
                method: "GET",
                path,
                headers,
                body: b"",
            }));
        }
    });
    Ok(())
}

fn watches(stage: &Stage, seen: &mut Seen) -> Outcome {
    let path = format!("{LOOSE}?watch=true&includeObject=Object&timeoutSeconds=5");
    seen.together(16, |_, seen| {
        seen.answer(&stage.tenant.send(&Request {
            method: "GET",
            path: &path,
            headers: &TABLE,
            body: b"",
        }));
    });
    Ok(())
}

fn changes(stage: &Stage, seen: &mut Seen) -> Outcome {
    seen.together(16, |number, seen| {
        let one = format!("{LOOSE}/maps-{}", number % 8);
        let label = json!({"metadata": {"labels": {"a": format!("n{number}")}}}).to_string();
        seen.answer(&stage.tenant.patch(&one, "merge", label.as_bytes()));
    });
    let all = format!("{LOOSE}?dryRun=All");
    seen.answer(&stage.tenant.json("DELETE", &all, b""));
    if stage.is_ours() {
        let more = loose("more", 3 * MAPS).to_string();
        let answer = stage.tenant.json("POST", LOOSE, more.as_bytes());
        let code = answer.as_ref().map_or(0, |answer| answer.code);
        seen.check(
            format!("an object with three times as many is refused ({code})"),
            matches!(code, 400 | 413),
        );
    }
    Ok(())
}

/// An Installation that imports one DataObject so often.
fn installation(name: &str, imports: usize) -> String {
    let names = 0..imports;
    let declared: String = (names.clone())
        .map(|number| format!("- {{name: i{number}, type: data, schema: {{}}}}\n"))
        .collect();
    let blueprint = format!(
        "apiVersion: {LANDSCAPER}\nkind: Blueprint\nimports:\n{declared}deployExecutions:\n- name: a\n  type: GoTemplate\n  template: |\n    deployItems: []\n"
    );
    let data: Vec<_> = names
        .map(|number| json!({"name": format!("i{number}"), "dataRef": "maps"}))
        .collect();
    json!({
        "apiVersion": LANDSCAPER, "kind": "Installation", "metadata": {"name": name},
        "spec": {
            "imports": {"data": data},
            "blueprint": {"inline": {"filesystem": {"blueprint.yaml": blueprint}}},
        },
    })
    .to_string()
}

fn imports(stage: &Stage, seen: &mut Seen) -> Outcome {
    if !stage.is_ours() {
        seen.left_out.push("Installations");
        return Ok(());
    }
    let path = |plural: &str| format!("/apis/{LANDSCAPER}/namespaces/{NAMESPACE}/{plural}");
    let object = json!({
        "apiVersion": LANDSCAPER, "kind": "DataObject", "metadata": {"name": "maps"}, "data": maps(MAPS),
    });
    let answer = (stage.tenant).json("POST", &path("dataobjects"), object.to_string().as_bytes());
    seen.answer(&answer);
    for number in 0..10 {
        let body = installation(&format!("once-{number}"), 1);
        seen.answer(&(stage.tenant).json("POST", &path("installations"), body.as_bytes()));
    }
    let body = installation("often", 15);
    seen.answer(&(stage.tenant).json("POST", &path("installations"), body.as_bytes()));
    let ended = stage.until(&path("installations"), |answer| {
        let list = answer.json();
        let items = list["items"].as_array().cloned().unwrap_or_default();
        let phase = |item: &Value| item["status"]["phase"].as_str().map(str::to_owned);
        items
            .iter()
            .all(|item| match item["metadata"]["name"].as_str() {
                Some("often") => phase(item).as_deref() == Some("Failed"),
                _ => phase(item).as_deref() == Some("Succeeded"),
            })
    });
    seen.check(
        "those with one import succeed, and the one with too much fails".to_owned(),
        ended.is_ok(),
    );
    Ok(())
}
