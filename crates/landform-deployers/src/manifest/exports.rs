//! Values that are read from objects at the target, as soon as they are there.

use std::collections::BTreeSet;

use futures::future::join_all;
use landform_api::landscaper::ErrorCode;
use serde_json::{Map, Value};

use super::cluster::Cluster;
use super::configuration::{Export, ObjectReference};
use super::fields::invalid;
use super::object::ObjectName;
use super::plan::Wanted;
use super::readiness::value_at;
use super::wait::{self, Waited};
use crate::DeployError;

/// Reads all exports.
pub(super) async fn read(
    cluster: &Cluster<'_>,
    exports: &[Export],
    wanted: &[Wanted],
) -> Result<Option<Map<String, Value>>, DeployError> {
    if exports.is_empty() {
        return Ok(None);
    }
    let values = exports
        .iter()
        .map(|export| read_one(cluster, export, wanted));
    let mut all = Map::new();
    for (export, value) in exports.iter().zip(join_all(values).await) {
        put(&mut all, &export.key, value?);
    }
    Ok(Some(all))
}

/// The names of exports that come from Secrets.
pub(super) fn secret_names(exports: &[Export], wanted: &[Wanted]) -> BTreeSet<String> {
    let is_secret = |kind: &str| kind == "Secret";
    let secret = exports.iter().filter(|export| {
        let from = match (&export.from, wanted) {
            (Some(from), _) => is_secret(&from.kind),
            (None, [only]) => is_secret(&only.name.kind),
            (None, _) => false,
        };
        let reference = export.reference.as_ref();
        from || reference.is_some_and(|reference| is_secret(&reference.kind))
    });
    let first = |key: &str| key.split('.').next().unwrap_or_default().to_owned();
    secret.map(|export| first(&export.key)).collect()
}

async fn read_one(
    cluster: &Cluster<'_>,
    export: &Export,
    wanted: &[Wanted],
) -> Result<Value, DeployError> {
    let from = match (&export.from, wanted) {
        (Some(from), _) => from.clone(),
        (None, [only]) => only.name.clone(),
        (None, _) => {
            let path = format!("spec.config.exports: {}: fromResource", export.key);
            return Err(invalid(
                &path,
                "is missing: with several manifests it must say which object",
            ));
        }
    };
    let value = find(cluster, export, &from, &export.path_text, &export.path).await?;
    let Some(reference) = &export.reference else {
        return Ok(value);
    };
    let referred = referred(reference, &value, from.namespace.as_deref()).ok_or_else(|| {
        let problem = format!("{} of {from} is no reference with a name", export.path_text);
        DeployError::configuration("InvalidExport", format!("export {}: {problem}", export.key))
    })?;
    find(
        cluster,
        export,
        &referred,
        &reference.path_text,
        &reference.path,
    )
    .await
}

/// The object that a reference leads to; in the same namespace unless it names one.
fn referred(
    reference: &ObjectReference,
    value: &Value,
    namespace: Option<&str>,
) -> Option<ObjectName> {
    let name = value["name"].as_str().or_else(|| value.as_str())?;
    Some(ObjectName {
        api_version: reference.api_version.clone(),
        kind: reference.kind.clone(),
        namespace: value["namespace"].as_str().or(namespace).map(str::to_owned),
        name: name.to_owned(),
    })
}

async fn find(
    cluster: &Cluster<'_>,
    export: &Export,
    object: &ObjectName,
    path_text: &str,
    path: &landform_api::jsonpath::JsonPath,
) -> Result<Value, DeployError> {
    let late = |missing: &str| {
        let message = format!(
            "target {}: export {}: {missing}",
            cluster.target, export.key
        );
        DeployError::with_code("Export", "ExportNotFound", message, ErrorCode::Timeout)
    };
    let Some(place) = cluster.place(&object.api_version, &object.kind).await? else {
        return Err(late(&format!("the kind {} isn't served", object.kind)));
    };
    let mut object = object.clone();
    let given = object.namespace.take();
    object.namespace = place
        .namespaced
        .then(|| given.unwrap_or_else(|| cluster.namespace.clone()));
    let waited = wait::for_object(cluster, &place, &object, export.timeout, |live| {
        let live = live.ok_or_else(|| format!("{object} doesn't exist"))?;
        value_at(live, path).ok_or_else(|| format!("{object} has no {path_text}"))
    });
    match waited.await? {
        Waited::Done(value) => Ok(value),
        Waited::TimedOut(missing) => Err(late(&missing)),
    }
}

/// A key with dots is a path into maps.
fn put(all: &mut Map<String, Value>, key: &str, value: Value) {
    let Some((first, rest)) = key.split_once('.') else {
        all.insert(key.to_owned(), value);
        return;
    };
    let inner = all.entry(first).or_insert(Value::Null);
    if !inner.is_object() {
        *inner = Value::Object(Map::new());
    }
    if let Value::Object(inner) = inner {
        put(inner, rest, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_with_dots_are_paths() {
        let mut all = Map::new();
        put(&mut all, "a", json!(1));
        put(&mut all, "b.c", json!(2));
        put(&mut all, "b.d.e", json!(3));
        put(&mut all, "a.f", json!(4));
        let expected = json!({"a": {"f": 4}, "b": {"c": 2, "d": {"e": 3}}});
        assert_eq!(Value::Object(all), expected);
    }
}
