//! Which objects an object names, by the paths of its Reconciler.

use std::collections::HashSet;

use kube::core::DynamicObject;
use landform_api::GroupVersionKind;
use landform_api::jsonpath::JsonPath;
use serde_json::Value;

use super::spec::ReconcilerSpec;
use crate::authorship::content;
use crate::key::is_name;
use crate::reconciler::Ref;

/// An object names this many others at most. One that names more has an error instead of references: each of them is read
/// for every run, and is part of the order of all runs.
pub(crate) const REFS_MAX: usize = 10_000;

/// A path, and the kind of what it names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RefPath {
    text: String,
    path: JsonPath,
    target: GroupVersionKind,
    any_namespace: bool,
}

/// The objects that an object names.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Found {
    /// Each once, in the order of the paths.
    pub(crate) refs: Vec<Ref>,
    /// Those in other namespaces, where the path doesn't allow it, with the path.
    pub(crate) strays: Vec<(String, Ref)>,
    /// Whether there are more than [`REFS_MAX`]; then none is listed.
    pub(crate) too_many: bool,
}

/// Compiles the paths of a Reconciler.
///
/// # Errors
/// What is wrong with the first path that can't be used.
pub(crate) fn compile(spec: &ReconcilerSpec) -> Result<Vec<RefPath>, String> {
    let compiled = spec.refs.iter().map(|entry| {
        let path = JsonPath::parse(&entry.path)
            .map_err(|error| format!("the path {:?} can't be read {error}", entry.path))?;
        if let Some(part @ ("metadata" | "status")) = path.first_field() {
            return Err(format!(
                "the path {:?} leads into the {part}: references are read with the rights of who wrote the object's content, \
                 and others may write its {part}. Name a field of the content, for instance of .spec",
                entry.path
            ));
        }
        let target = entry.target(&spec.of);
        Ok(RefPath {
            text: entry.path.clone(),
            path,
            target,
            any_namespace: entry.any_namespace,
        })
    });
    compiled.collect()
}

/// The objects that an object names in its content, which its noted writer wrote (C6). Values that name nothing (empty, or no
/// names at all) are passed over: the hook sees the object and can complain.
pub(crate) fn find(paths: &[RefPath], object: &DynamicObject) -> Found {
    let Ok(value) = serde_json::to_value(object) else {
        return Found::default();
    };
    let value = content(&value);
    let namespace = object.metadata.namespace.as_deref();
    let mut found = Found::default();
    let mut listed: HashSet<Ref> = HashSet::new();
    for path in paths {
        for value in path.path.find(&value) {
            // A path may lead to the list itself or, with [*], to its items.
            let items = value
                .as_array()
                .map_or(std::slice::from_ref(value), Vec::as_slice);
            let named = items
                .iter()
                .filter_map(|item| named(item, &path.target, namespace));
            for reference in named {
                if found.refs.len() + found.strays.len() >= REFS_MAX && !listed.contains(&reference)
                {
                    return Found {
                        too_many: true,
                        ..Found::default()
                    };
                }
                let elsewhere = namespace.is_some() && reference.namespace.as_deref() != namespace;
                if elsewhere && !path.any_namespace {
                    found.strays.push((path.text.clone(), reference));
                } else if listed.insert(reference.clone()) {
                    found.refs.push(reference);
                }
            }
        }
    }
    found
}

fn named(value: &Value, target: &GroupVersionKind, namespace: Option<&str>) -> Option<Ref> {
    let text = |field: &str| value.get(field).and_then(Value::as_str);
    let text = |field: &str| text(field).filter(|text| !text.is_empty());
    let (name, kind, own_namespace) = match value {
        Value::String(name) => (Some(name.as_str()), None, None),
        Value::Object(_) => (text("name"), text("kind"), text("namespace")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => (None, None, None),
    };
    // What no object can be called refers to nothing, and must not become part of a URL.
    let name = name.filter(|name| is_name(name))?;
    if own_namespace.is_some_and(|namespace| !is_name(namespace)) {
        return None;
    }
    let kind = kind.unwrap_or(&target.kind);
    Some(Ref {
        kind: GroupVersionKind::new(&target.group, &target.version, kind),
        namespace: own_namespace.or(namespace).map(str::to_owned),
        name: name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refs(paths: Value, spec: Value) -> Vec<String> {
        let reconciler: ReconcilerSpec = serde_json::from_value(json!({
            "for": {"group": "example.com", "version": "v1", "kind": "Widget"},
            "hook": {"command": ["true"]},
            "refs": paths,
        }))
        .unwrap();
        let object = json!({"metadata": {"name": "a", "namespace": "shop"}, "spec": spec});
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let found = find(&compile(&reconciler).unwrap(), &object).refs;
        let found = found.iter().map(|found| {
            let namespace = found.namespace.as_deref().unwrap_or("-");
            let kind = &found.kind;
            format!(
                "{} {} {namespace}/{}",
                kind.api_version(),
                kind.kind,
                found.name
            )
        });
        found.collect()
    }

    #[test]
    fn r2_an_object_that_names_too_many_others_names_none() {
        let names =
            |count: usize| -> Vec<String> { (0..count).map(|at| format!("b{at}")).collect() };
        let paths = json!([{"path": ".spec.parents[*]"}]);
        let mut twice = names(REFS_MAX);
        twice.extend(names(REFS_MAX));
        let found = refs(paths.clone(), json!({"parents": twice}));
        assert_eq!(found.len(), REFS_MAX, "each counts once");
        assert_eq!(found[7], "example.com/v1 Widget shop/b7");
        let found = refs(paths, json!({"parents": names(REFS_MAX + 1)}));
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn c6_only_the_content_of_an_object_refers_to_others() {
        let object = json!({
            "apiVersion": "example.com/v1", "kind": "Widget",
            "metadata": {"name": "a", "namespace": "shop", "labels": {"ref": "by-label"}},
            "status": {"ref": "by-status"}, "spec": {"ref": "by-spec"}, "data": {"ref": "by-data"},
        });
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let found = |path: &str| -> Result<Vec<String>, String> {
            let reconciler = serde_json::from_value(json!({
                "for": {"group": "example.com", "version": "v1", "kind": "Widget"},
                "hook": {"command": ["true"]}, "refs": [{"path": path}],
            }));
            let found = find(&compile(&reconciler.unwrap())?, &object).refs;
            Ok(found.into_iter().map(|found| found.name).collect())
        };
        assert_eq!(found(".spec.ref").unwrap(), ["by-spec"]);
        assert_eq!(found("{.data.ref}").unwrap(), ["by-data"]);
        // Whatever way a path takes, it doesn't lead out of the content.
        for path in ["..ref", ".*.ref", "[*].ref"] {
            let mut names = found(path).unwrap();
            names.sort();
            assert_eq!(names, ["by-data", "by-spec"], "{path}");
        }
        for path in [
            ".metadata.labels.ref",
            "metadata.name",
            "{.status.ref}",
            "['status'].ref",
            ".status",
        ] {
            let refused = found(path).unwrap_err();
            assert!(
                refused.contains("references are read with the rights"),
                "{path}: {refused}"
            );
        }
    }

    #[test]
    fn r2_paths_find_names_and_objects() {
        let widget = "example.com/v1 Widget shop/b";
        let table = [
            (
                json!([{"path": ".spec.parent"}]),
                json!({"parent": "b"}),
                vec![widget],
            ),
            (
                json!([{"path": ".spec.parent"}]),
                json!({"parent": {"name": "b"}}),
                vec![widget],
            ),
            (
                json!([{"path": ".spec.parents"}]),
                json!({"parents": ["b"]}),
                vec![widget],
            ),
            (
                json!([{"path": ".spec.parents[*]"}]),
                json!({"parents": ["b", "b"]}),
                vec![widget],
            ),
            (
                json!([{"path": ".spec.from[*]", "anyNamespace": true}]),
                json!({"from": [{"name": "b", "namespace": "other", "kind": "Zone"}]}),
                vec!["example.com/v1 Zone other/b"],
            ),
            (
                json!([{"path": ".spec.from[*]"}]),
                json!({"from": [{"name": "b", "namespace": "other"}, {"name": "b", "namespace": "shop"}]}),
                vec![widget],
            ),
            (
                json!([{"path": ".spec.secret", "group": "", "version": "v1", "kind": "Secret"}, {"path": ".spec.parent"}]),
                json!({"secret": "s", "parent": "b"}),
                vec!["v1 Secret shop/s", widget],
            ),
            (json!([{"path": ".spec.parent"}]), json!({}), vec![]),
            (
                json!([{"path": ".spec.parent"}]),
                json!({"parent": ""}),
                vec![],
            ),
            (
                json!([{"path": ".spec.parent"}]),
                json!({"parent": "../b"}),
                vec![],
            ),
            (
                json!([{"path": ".spec.parent"}]),
                json!({"parent": 7}),
                vec![],
            ),
            (
                json!([{"path": ".spec.parent"}]),
                json!({"parent": {"kind": "Zone"}}),
                vec![],
            ),
            (
                json!([{"path": ".spec.parent"}]),
                json!({"parent": [["b"]]}),
                vec![],
            ),
        ];
        for (paths, spec, expected) in table {
            assert_eq!(
                refs(paths.clone(), spec.clone()),
                expected,
                "{paths} in {spec}"
            );
        }
    }
}
