//! Things that fail, with a secret value in each.

use serde_json::{Value, json};

use super::{CANARY, LANDSCAPER, TOLD};

pub(super) fn canary(place: &str) -> String {
    format!("{CANARY}-{place}")
}

/// A text that its author shows on purpose: it may be in statuses, Events and views, not in logs, metrics and files.
pub(super) fn told(place: &str) -> String {
    format!("{TOLD}-{place}")
}

pub(super) fn object(version: &str, kind: &str, name: &str, rest: Value) -> Value {
    let mut object = json!({
        "apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "default"},
    });
    if let (Value::Object(object), Value::Object(rest)) = (&mut object, rest) {
        object.extend(rest);
    }
    object
}

fn item(name: &str, kind: &str, config: Value) -> Value {
    item_at("access", name, kind, config)
}

fn item_at(target: &str, name: &str, kind: &str, config: Value) -> Value {
    let spec = json!({"spec": {"type": kind, "target": {"name": target}, "config": config}});
    object(LANDSCAPER, "DeployItem", name, spec)
}

/// An installation that imports the DataObject, with this schema and template.
fn installation(name: &str, schema: Value, template: &str) -> Value {
    let blueprint = json!({
        "apiVersion": LANDSCAPER, "kind": "Blueprint",
        "imports": [{"name": "secret", "type": "data", "schema": schema}],
        "deployExecutions": [{"name": "d", "type": "GoTemplate", "template": template}],
    });
    let spec = json!({"spec": {
        "imports": {"data": [{"name": "secret", "dataRef": "secret"}]},
        "blueprint": {"inline": {"filesystem": {
            "blueprint.yaml": blueprint.to_string(), "file.txt": canary("file"),
        }}},
    }});
    object(LANDSCAPER, "Installation", name, spec)
}

/// What installations import with `secretRef`.
pub(super) fn imported() -> Value {
    let map = json!({canary("field"): {"known": canary("known")}}).to_string();
    let secret = json!({"stringData": {"text": canary("imported"), "map": map}});
    object("v1", "Secret", "imported", secret)
}

/// Templates that put an imported secret where a message would show it.
fn made_of_secrets() -> Vec<(&'static str, Value)> {
    let x = "{{ .imports.secret }}";
    let manifest = |kind: &str, name: &str| {
        format!(
            "deployItems: [{{name: a, type: landscaper.gardener.cloud/kubernetes-manifest, timeout: 3s, config: {{thisServer: true, {name:?}: 1, manifests: [{{policy: manage, \
             manifest: {{apiVersion: v1, kind: {kind:?}, metadata: {{name: {name:?}, namespace: default}}}}}}]}}}}]"
        )
    };
    let strict = json!({"type": "object", "additionalProperties": false});
    let rows = [
        (
            "installation/made-target",
            "GoTemplate",
            format!("deployItems: [{{name: a, type: t, target: {{import: \"{x}\"}}}}]"),
        ),
        (
            "installation/made-order",
            "GoTemplate",
            format!("deployItems: [{{name: a, type: t, dependsOn: [\"{x}\"]}}]"),
        ),
        (
            "installation/made-keys",
            "GoTemplate",
            format!(
                "\"{x}\": 1\n\"{x}\": 2\ndeployItems: [{{name: a, type: landform.dev/command, \"{x}\": 1, config: {{command: [\"false\"]}}}}]"
            ),
        ),
        ("installation/made-kind", "GoTemplate", manifest(x, "a")),
        (
            "installation/made-fail",
            "GoTemplate",
            "{{ fail (print \"it is \" .imports.secret) }}".to_owned(),
        ),
        (
            "installation/made-error",
            "Spiff",
            "deployItems: []\nx: '(( error(imports.secret) ))'".to_owned(),
        ),
    ];
    let made = |name: &'static str, engine: &str, template: &str, schema: &Value, key: &str| {
        let (_, short) = name.split_once('/').unwrap();
        let mut object = installation(short, schema.clone(), template);
        let file = &object["spec"]["blueprint"]["inline"]["filesystem"]["blueprint.yaml"];
        let mut blueprint: Value = serde_json::from_str(file.as_str().unwrap()).unwrap();
        blueprint["deployExecutions"][0]["type"] = json!(engine);
        object["spec"]["blueprint"]["inline"]["filesystem"]["blueprint.yaml"] =
            json!(blueprint.to_string());
        let import = json!({"name": "secret", "secretRef": {"name": "imported", "key": key}});
        object["spec"]["imports"]["data"] = json!([import]);
        (name, object)
    };
    let rows = rows
        .iter()
        .map(|(name, engine, template)| made(name, engine, template, &json!({}), "text"));
    rows.chain([made(
        "installation/made-schema",
        "GoTemplate",
        "deployItems: []",
        &strict,
        "map",
    )])
    .collect()
}

/// Things that fail, and the objects that tell of it.
pub(super) fn failures() -> Vec<(&'static str, Value)> {
    let any = json!({});
    let echo = "env; echo \"$0\" $1; cat \"$IMPORTS_PATH\" \"$TARGET_PATH\" secret.txt; exit 1";
    let program = json!({
        "command": ["sh", "-c", echo], "args": [canary("args")],
        "env": {"PASSWORD": canary("env")}, "files": {"secret.txt": canary("files")},
    });
    let mut command = program.clone();
    command["importValues"] = json!({"a": {"b": canary("import-values")}});
    let mut process = program;
    process["restart"] = json!({"policy": "Never"});
    let mut at_config = process.clone();
    at_config.as_object_mut().unwrap().remove("restart");
    let manifest = |object: Value| json!({"thisServer": true, "manifests": [{"policy": "manage", "manifest": object}]});
    let manifests = "landscaper.gardener.cloud/kubernetes-manifest";
    let of_secret = |rest: Value| object("v1", "Secret", "deployed", rest);
    let without_target = |name: &str, rest: Value| {
        let mut item = item(name, manifests, manifest(of_secret(rest)));
        item["spec"]["target"] = Value::Null;
        item
    };
    let mut all = vec![
        (
            "deployitem/command",
            item("command", "landform.dev/command", command),
        ),
        (
            "deployitem/process",
            item("process", "landform.dev/process", process),
        ),
        (
            "deployitem/unknown",
            item(
                "unknown",
                "landform.dev/command",
                json!({"command": ["true"], "unknown": canary("unknown")}),
            ),
        ),
        (
            "deployitem/types",
            item(
                "types",
                "landform.dev/command",
                json!({"command": canary("types"), "env": [canary("types")]}),
            ),
        ),
        (
            "deployitem/manifest",
            without_target("manifest", json!({"data": {"a": canary("no-base64")}})),
        ),
        (
            "deployitem/manifest2",
            without_target("manifest2", json!({"stringData": {"a": [canary("list")]}})),
        ),
        (
            "installation/typed",
            installation("typed", json!({"type": "integer"}), "deployItems: []"),
        ),
        (
            "installation/pattern",
            installation(
                "pattern",
                json!({"type": "string", "pattern": "^[0-9]+$"}),
                "deployItems: []",
            ),
        ),
        (
            "installation/field",
            installation(
                "field",
                any.clone(),
                "deployItems: {{ .imports.secret.a.b.c }}",
            ),
        ),
        (
            "installation/yaml",
            installation(
                "yaml",
                any.clone(),
                "deployItems: {{ .imports.secret }}: [: {{ .imports.secret }}",
            ),
        ),
        (
            "installation/convert",
            installation(
                "convert",
                any.clone(),
                "deployItems: {{ mustFromJson .imports.secret }}",
            ),
        ),
        (
            "installation/shape",
            installation(
                "shape",
                any.clone(),
                "deployItems: [{{ .imports.secret }}, {name: {{ .imports.secret }}}]",
            ),
        ),
        (
            "deployitem/at-config",
            item_at("config", "at-config", "landform.dev/command", at_config),
        ),
        (
            "deployitem/at-config2",
            item_at(
                "config",
                "at-config2",
                manifests,
                json!({"manifests": [{"policy": "manage", "manifest": of_secret(json!({}))}]}),
            ),
        ),
        (
            "installation/reading",
            installation(
                "reading",
                any.clone(),
                "deployItems: {{ readFile \"file.txt\" }}: [: {{ mustFromJson (readFile \"file.txt\") }}",
            ),
        ),
        (
            "installation/including",
            installation(
                "including",
                any.clone(),
                "deployItems: {{ include \"file.txt\" .imports.secret }}: {{ .imports.secret }}: [",
            ),
        ),
        (
            "installation/failing",
            installation(
                "failing",
                any.clone(),
                &format!("{{{{ fail {:?} }}}}", told("fail")),
            ),
        ),
        (
            "installation/state",
            installation(
                "state",
                any,
                &format!(
                    "state: {{a: {}}}\ndeployItems: [{{name: a, type: landform.dev/command, config: {{command: [\"false\"]}}}}]",
                    told("state")
                ),
            ),
        ),
    ];
    all.extend(made_of_secrets());
    for (kind, name) in super::hooks::KINDS {
        let spec = json!({"spec": {"a": canary("spec")}});
        all.push((name, object("example.com/v1", kind, "a", spec)));
    }
    all
}
