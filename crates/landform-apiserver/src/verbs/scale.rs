//! The subresource `scale`: wanted and present replicas, whatever the kind calls them.

use http::{Method, Response, StatusCode};
use serde_json::{Map, Value, json};

use super::patch::Patch;
use super::update::Change;
use super::write::WriteOptions;
use super::{Place, not_allowed, present};
use crate::body::Body;
use crate::error::{ApiError, Result};
use crate::object::rules::Part;
use crate::object::{Object, meta};
use crate::registry::Scale;
use crate::respond;
use crate::selector::selector_text;
use crate::server::{ApiServer, Call};

/// What a request makes of a scale.
type ScaleChange = Box<dyn Fn(&Value) -> Result<Value> + Send + Sync>;

impl ApiServer {
    pub(super) async fn scale(&self, call: &Call, place: &Place) -> Result<Response<Body>> {
        let paths = place
            .resource
            .scale
            .as_ref()
            .ok_or_else(ApiError::no_such_path)?;
        let encoding = present::form(call)?.encoding;
        if matches!(call.method, Method::GET | Method::HEAD) {
            let key = place.resource.key(&place.namespace, place.name());
            let record = self
                .shared
                .store
                .get(&key)
                .await?
                .ok_or_else(|| place.not_found())?;
            let object = present::object(&place.resource, &record.value, record.modified)?;
            return Ok(respond::value(
                StatusCode::OK,
                &scale_of(&object, paths),
                encoding,
            ));
        }
        let options = WriteOptions::from_call(call)?;
        let change: ScaleChange = match call.method {
            Method::PUT => {
                let sent = sent_scale(call)?;
                Box::new(move |_| Ok(sent.clone()))
            }
            Method::PATCH => {
                let (patch, _) = Patch::from_call(call, place)?;
                let place = Place {
                    resource: place.resource.clone(),
                    namespace: place.namespace.clone(),
                    name: place.name.clone(),
                };
                Box::new(move |present| {
                    let present = present.as_object().cloned().unwrap_or_default();
                    patch.apply_plain(&place, present).map(Value::Object)
                })
            }
            _ => return Err(not_allowed(&call.method, "the subresource scale")),
        };
        let written = self
            .modify(place, Part::Main, &options, Vec::new(), |found| {
                let mut object = found.shown();
                let scale = change(&scale_of(&object, paths))?;
                let version = scale["metadata"]["resourceVersion"]
                    .as_str()
                    .unwrap_or_default();
                meta::set_text(&mut object, "resourceVersion", version);
                set_replicas(&mut object, paths, &scale["spec"]["replicas"])?;
                Ok(Change::Sent(object))
            })
            .await?;
        let object = present::object(&place.resource, &written.value, written.revision)?;
        Ok(respond::value(
            StatusCode::OK,
            &scale_of(&object, paths),
            encoding,
        ))
    }
}

fn sent_scale(call: &Call) -> Result<Value> {
    let form = crate::request::decode::BodyForm::from_content_type(
        call.header(http::header::CONTENT_TYPE),
    )?;
    let scale = crate::request::decode::decode(&call.body, form)?.value;
    if scale["kind"].as_str().is_some_and(|kind| kind != "Scale") {
        return Err(ApiError::bad_request(
            "the body must be a Scale of autoscaling/v1",
        ));
    }
    Ok(scale)
}

fn set_replicas(object: &mut Object, paths: &Scale, replicas: &Value) -> Result<()> {
    let number = match replicas {
        Value::Null => json!(0),
        Value::Number(number) if number.as_u64().is_some() => replicas.clone(),
        other => {
            return Err(ApiError::bad_request(format!(
                "spec.replicas: Invalid value: {other}: must be a whole number from 0"
            )));
        }
    };
    let Some((last, parents)) = paths.spec_replicas.split_last() else {
        return Ok(());
    };
    let mut map: &mut Map<String, Value> = object;
    for parent in parents {
        let slot = map.entry(parent.clone()).or_insert_with(|| json!({}));
        if !slot.is_object() {
            *slot = json!({});
        }
        let Value::Object(next) = slot else {
            return Ok(());
        };
        map = next;
    }
    map.insert(last.clone(), number);
    Ok(())
}

fn at<'a>(object: &'a Object, path: &[String]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter()
        .try_fold(object.get(first)?, |value, name| value.get(name))
}

/// The `Scale` that an object shows.
fn scale_of(object: &Object, paths: &Scale) -> Value {
    let number = |path: &[String]| at(object, path).and_then(Value::as_i64).unwrap_or(0);
    let mut metadata = json!({"name": meta::name(object)});
    for field in ["namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = meta::metadata(object).get(field) {
            metadata[field] = value.clone();
        }
    }
    let mut status = json!({"replicas": number(&paths.status_replicas)});
    if let Some(selector) = paths.selector.as_ref().and_then(|path| at(object, path)) {
        status["selector"] = json!(selector_text(selector));
    }
    json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata,
        "spec": {"replicas": number(&paths.spec_replicas)}, "status": status,
    })
}
