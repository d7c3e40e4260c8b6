//! A user: does what was asked, patiently, whatever goes wrong on the way.
//!
//! Everything that a user does may be done twice: an answer may be lost, and a crash may come
//! before the user hears of success. So each action looks at what is there and does what is left.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::end_state::objects_below;
use crate::process::{Process, root};

/// The pause before something is tried again.
const PAUSE: Duration = Duration::from_millis(700);
/// So often something is tried. With an hour of retries no fault is an excuse.
const TRIES: usize = 5_000;

/// Names an object: its kind, its namespace and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectName {
    /// Group and version.
    pub api_version: String,
    /// The kind, as in `ConfigMap`.
    pub kind: String,
    /// Empty for objects of the cluster.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ObjectName {
    /// The name of an object as it is written down. Without a namespace it is in `default`, if its
    /// kind has namespaces.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let namespace = text(&object["metadata"]["namespace"]);
        Self {
            api_version: text(&object["apiVersion"]),
            kind: text(&object["kind"]),
            namespace: if namespace.is_empty() {
                "default".into()
            } else {
                namespace
            },
            name: text(&object["metadata"]["name"]),
        }
    }
}

/// Something that a user wants.
#[derive(Clone, Debug, PartialEq)]
pub enum Wish {
    /// The object exists and has everything that is written here; maps are merged, `null` removes.
    /// One that is being deleted is waited for, and made anew.
    Applied(Value),
    /// The same for an object that may be marked for deletion; one that is gone is left so.
    Told(Value),
    /// The object is marked for deletion, or gone.
    Deleted(ObjectName),
    /// The same with a deletion policy of Kubernetes, as in `Background`.
    DeletedBy(ObjectName, &'static str),
    /// The object has another name.
    Renamed(ObjectName, String),
    /// The object exists, and belongs to another one, as long as that is there at all.
    Given(Value, ObjectName),
    /// All of these, at the same time.
    Together(Vec<Wish>),
}

/// Does what a user wishes.
///
/// # Errors
/// When it can't be done: a refusal that no retry changes, or no end of failures.
pub async fn grant(process: &Process, client: &Client, wish: &Wish) -> Result<(), String> {
    let wishes = match wish {
        Wish::Together(wishes) => wishes.as_slice(),
        one => std::slice::from_ref(one),
    };
    let all = wishes.iter().map(|wish| grant_one(process, client, wish));
    futures::future::try_join_all(all).await.map(drop)
}

async fn grant_one(process: &Process, client: &Client, wish: &Wish) -> Result<(), String> {
    // People remember whom they mean, whatever it is called later.
    let owner = match wish {
        Wish::Given(_, owner) => uid(process, owner),
        _ => None,
    };
    for _ in 0..TRIES {
        let tried = match wish {
            Wish::Applied(object) => apply(process, client, object, false).await,
            Wish::Told(object) => apply(process, client, object, true).await,
            Wish::Deleted(name) => delete(process, client, name, None).await,
            Wish::DeletedBy(name, policy) => delete(process, client, name, Some(policy)).await,
            Wish::Renamed(name, new) => rename(process, client, name, new).await,
            Wish::Given(object, name) => {
                give(process, client, object, name, owner.as_deref()).await
            }
            Wish::Together(_) => Err("wishes within wishes".to_owned()),
        };
        match tried? {
            Tried::Done => return Ok(()),
            Tried::Again => tokio::time::sleep(PAUSE).await,
        }
    }
    Err(format!("no success after {TRIES} tries: {wish:?}"))
}

enum Tried {
    Done,
    Again,
}

/// Sorts answers: success, worth another try, or hopeless.
fn judge(answer: Result<Answer, crate::network::ConnectionLost>) -> Result<Option<Answer>, String> {
    match answer {
        Ok(answer) if answer.is_success() => Ok(Some(answer)),
        Ok(answer) if matches!(answer.code, 400 | 403 | 405 | 422) => {
            Err(format!("refused: {} {}", answer.code, answer.value))
        }
        Ok(_) | Err(_) => Ok(None),
    }
}

async fn apply(
    process: &Process,
    client: &Client,
    object: &Value,
    may_go: bool,
) -> Result<Tried, String> {
    let name = ObjectName::of(object);
    let place = place(process, &name).await?;
    let path = format!("{}/{}", place, name.name);
    let Ok(found) = client.send(Method::GET, &path, None).await else {
        return Ok(Tried::Again);
    };
    let answer = match found.code {
        404 if may_go => return Ok(Tried::Done),
        404 => client.send(Method::POST, &place, Some(object)).await,
        200 if !may_go && found.value["metadata"]["deletionTimestamp"].is_string() => {
            return Ok(Tried::Again);
        }
        200 => {
            let mut wanted = found.value.clone();
            merge(&mut wanted, object);
            if wanted == found.value {
                return Ok(Tried::Done);
            }
            client.send(Method::PUT, &path, Some(&wanted)).await
        }
        _ => return Ok(Tried::Again),
    };
    Ok(match judge(answer)? {
        Some(_) => Tried::Done,
        None => Tried::Again,
    })
}

async fn delete(
    process: &Process,
    client: &Client,
    name: &ObjectName,
    policy: Option<&str>,
) -> Result<Tried, String> {
    let path = format!("{}/{}", place(process, name).await?, name.name);
    let options = policy.map(
        |policy| json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": policy}),
    );
    match client.send(Method::DELETE, &path, options.as_ref()).await {
        Ok(answer) if answer.code == 404 => Ok(Tried::Done),
        answer => Ok(match judge(answer)? {
            Some(_) => Tried::Done,
            None => Tried::Again,
        }),
    }
}

async fn rename(
    process: &Process,
    client: &Client,
    name: &ObjectName,
    new: &str,
) -> Result<Tried, String> {
    let place = place(process, name).await?;
    let found = client
        .send(Method::GET, &format!("{place}/{new}"), None)
        .await;
    if found.is_ok_and(|found| found.is_success()) {
        return Ok(Tried::Done);
    }
    let path = format!("{place}/{}/rename", name.name);
    let rename = json!({"kind": "Rename", "name": new});
    Ok(
        match judge(client.send(Method::POST, &path, Some(&rename)).await)? {
            Some(_) => Tried::Done,
            None => Tried::Again,
        },
    )
}

/// Makes an object that another one owns, of which people know who it is.
async fn give(
    process: &Process,
    client: &Client,
    object: &Value,
    name: &ObjectName,
    owner: Option<&str>,
) -> Result<Tried, String> {
    let Some(owner) = owner else {
        return Ok(Tried::Done);
    };
    let mut object = object.clone();
    object["metadata"]["ownerReferences"] = json!([{
        "apiVersion": name.api_version, "kind": name.kind, "name": name.name, "uid": owner,
    }]);
    let place = place(process, &ObjectName::of(&object)).await?;
    match client.send(Method::POST, &place, Some(&object)).await {
        Ok(answer) if answer.code == 409 && answer.value["reason"] == "AlreadyExists" => {
            Ok(Tried::Done)
        }
        answer => Ok(match judge(answer)? {
            Some(_) => Tried::Done,
            None => Tried::Again,
        }),
    }
}

/// The uid of what is stored under a name; none when nothing is, or it is going.
fn uid(process: &Process, name: &ObjectName) -> Option<String> {
    let ObjectName {
        namespace,
        name: named,
        ..
    } = name;
    let place = if namespace.is_empty() {
        named.clone()
    } else {
        format!("{namespace}/{named}")
    };
    let stored = objects_below(process.surroundings().disk.store(), &place);
    let found = stored.values().find(|object| {
        let metadata = &object["metadata"];
        object["kind"] == *name.kind
            && metadata["name"] == *name.name
            && metadata["namespace"] == *name.namespace
            && metadata["deletionTimestamp"].is_null()
    });
    found?["metadata"]["uid"].as_str().map(str::to_owned)
}

/// Merges as a merge patch does.
fn merge(into: &mut Value, from: &Value) {
    let Value::Object(fields) = from else {
        *into = from.clone();
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    if let Value::Object(target) = into {
        for (name, value) in fields {
            if value.is_null() {
                target.remove(name);
            } else {
                merge(target.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
    }
}

/// The path of the objects of a kind, in the object's namespace: asked of discovery, as any client does.
///
/// # Errors
/// When there is no such kind.
pub(crate) async fn place(process: &Process, name: &ObjectName) -> Result<String, String> {
    let (plural, namespaced) = process.resource(&name.api_version, &name.kind).await?;
    let root = root(&name.api_version);
    Ok(if namespaced {
        format!("{root}/namespaces/{}/{plural}", name.namespace)
    } else {
        format!("{root}/{plural}")
    })
}
