//! DataObjects and Targets that an installation writes: what it passes on and what it exports. What is secret of them is in
//! Secrets beside them.

use std::collections::BTreeMap;

use kube::ResourceExt as _;
use kube::core::DynamicObject;
use landform_api::landscaper::report::ObjectName;
use landform_api::landscaper::{keys, labels, names};
use landform_engine::{Context, Failure};
use serde_json::{Value, json};

use super::act::Stop;
use super::observe::World;
use super::update::unwritable;
use crate::landscape::belonging::is_own;
use crate::landscape::content;
use crate::landscape::facts::{self, Facts, GivenKind};
use crate::landscape::kept::{self, Keeper};
use crate::landscape::objects::{is_misplaced, is_owned_by, owner, owning_installation};
use crate::landscape::report::Trouble;

/// A DataObject or a Target that an installation writes.
pub(super) struct Given<'a> {
    pub(super) kind: &'a str,
    /// The context in which it has its key; none at the root.
    pub(super) context: Option<&'a str>,
    pub(super) key: &'a str,
    pub(super) source: &'a str,
    pub(super) source_type: &'a str,
    pub(super) content: &'a Value,
    /// What may be shown of it.
    pub(super) shown: &'a Value,
}

/// What a DataObject or a Target is to be, apart from its metadata.
struct Wanted {
    /// The fields.
    data: Value,
    /// Where the whole of it is to be kept, if parts of it are secret.
    kept: Option<Value>,
}

/// Writes a DataObject or a Target, if it isn't as it should be, and gives a hash that moves with its content. One that another
/// object owns is left alone.
pub(super) async fn write_given(
    context: &Context,
    world: &World,
    given: &Given<'_>,
    more_labels: &[(&'static str, String)],
) -> Result<String, Stop> {
    let name = names::data_name(given.context, given.key);
    let kind = match given.kind {
        "Target" => GivenKind::Target,
        _ => GivenKind::Data,
    };
    let Wanted { mut data, kept } = match kind {
        GivenKind::Target => target(given)?,
        GivenKind::Data => Wanted {
            data: json!({"data": given.shown}),
            kept: (given.shown != given.content).then(|| given.content.clone()),
        },
    };
    let objects = &world.objects;
    let found = objects.get(given.kind, &name).await?;
    let uid = world.metadata.uid.as_deref();
    let before = found.as_ref().filter(|found| is_own(context, found));
    let before = before.and_then(|found| kept::reference_of(given.kind, found));
    let secret = names::data_secret(&name, uid.unwrap_or_default());
    let before = before.filter(|before| before.name == secret);
    let keeper = keeper(context, world);
    if let Some(value) = &kept {
        let content = kept::Content {
            name: secret.clone(),
            value,
            used: before.iter().map(|before| before.key.clone()).collect(),
            written_anew: false,
        };
        let reference = json!(keeper.keep(content).await?);
        match kind {
            GivenKind::Target => data["spec"]["secretRef"] = reference,
            GivenKind::Data => data["secretRef"] = reference,
        }
    }
    let hash = content::hash(&facts::noted(kind, &data));
    write(
        context,
        world,
        given,
        found,
        data,
        hash.clone(),
        more_labels,
    )
    .await?;
    if kept.is_none() && before.is_some() {
        keeper.forget(&secret).await?;
    }
    Ok(hash)
}

pub(super) fn keeper<'a>(context: &'a Context, world: &'a World) -> Keeper<'a> {
    Keeper {
        context,
        objects: &world.objects,
        owners: owner("Installation", &world.metadata),
    }
}

async fn write(
    context: &Context,
    world: &World,
    given: &Given<'_>,
    found: Option<DynamicObject>,
    data: Value,
    hash: String,
    more_labels: &[(&'static str, String)],
) -> Result<(), Stop> {
    let said = [
        (keys::DATA_SOURCE_TYPE, given.source_type),
        (keys::DATA_KEY, given.key),
        (keys::DATA_SOURCE, given.source),
    ];
    let said = said.into_iter();
    let said = said.chain(given.context.map(|context| (keys::DATA_CONTEXT, context)));
    let more_labels = more_labels.iter();
    let said = said.chain(more_labels.map(|(key, value)| (*key, value.as_str())));
    let (mut labels, mut annotations) = (BTreeMap::new(), BTreeMap::new());
    for (key, name) in said {
        labels::put(&mut labels, &mut annotations, key, name);
    }
    annotations.insert(keys::DATA_HASH.to_owned(), hash);
    let objects = &world.objects;
    let name = names::data_name(given.context, given.key);
    let Some(found) = found else {
        let metadata = json!({
            "name": name, "labels": labels, "annotations": annotations,
            "ownerReferences": owner("Installation", &world.metadata),
        });
        let created = objects.create_noted(context, given.kind, metadata, data);
        return match created.await? {
            Some(_) => Ok(()),
            None => {
                Err(Failure::Conflict(format!("the {} {name} exists already", given.kind)).into())
            }
        };
    };
    let uid = world.metadata.uid.as_deref();
    if !is_own(context, &found) && !is_left_behind(world, given.kind, &found).await? {
        let message = format!(
            "the {} {name}, which would hold {:?}, exists and is not this installation's: delete it, or export under another name",
            given.kind, given.key
        );
        return Err(Trouble::configuration("CreateExports", "NameTaken", message).into());
    }
    let mut wanted = found.clone();
    for field in ["data", "spec", "secretRef"] {
        match data.get(field) {
            Some(value) => wanted.data[field] = value.clone(),
            None => {
                if let Some(fields) = wanted.data.as_object_mut() {
                    fields.remove(field);
                }
            }
        }
    }
    if !is_owned_by(&found.metadata, uid) {
        let owners = serde_json::from_value(owner("Installation", &world.metadata));
        wanted.metadata.owner_references = Some(owners.map_err(unwritable)?);
    }
    let metadata = &mut wanted.metadata;
    let all = metadata.annotations.get_or_insert_default();
    all.retain(|key, _| !labels.contains_key(key));
    all.extend(annotations);
    metadata.labels.get_or_insert_default().extend(labels);
    objects
        .write_own(context, given.kind, &found, wanted)
        .await?;
    Ok(())
}

/// Whether an object belongs to an installation that is gone or going, or that no longer exports it (I40b): then it may be
/// taken over, so that what is imported is never missing in between.
async fn is_left_behind(world: &World, kind: &str, found: &DynamicObject) -> Result<bool, Stop> {
    let Some(name) = owning_installation(&found.metadata) else {
        return Ok(false);
    };
    let installation = world.objects.get("Installation", name).await?;
    Ok(installation.is_none_or(|installation| {
        let same = is_owned_by(&found.metadata, installation.metadata.uid.as_deref());
        let facts = Facts::of(&installation);
        let mut exports = facts.exports.keys();
        let exports =
            exports.any(|given| given.kind.word() == kind && given.name == found.name_any());
        // What a parent has written for its nested installations is no export.
        let was_export = found.labels().get(keys::DATA_SOURCE_TYPE);
        let was_export = was_export.is_some_and(|value| value == "export");
        !same || facts.marked || (was_export && !exports) || is_misplaced(found, &installation)
    }))
}

/// Deletes a DataObject or a Target that this installation wrote before, with what was kept of it.
pub(super) async fn delete_given(
    context: &Context,
    world: &World,
    object: &ObjectName,
) -> Result<(), Stop> {
    let found = world.objects.get(&object.kind, &object.name).await?;
    let uid = world.metadata.uid.as_deref();
    let secret = names::data_secret(&object.name, uid.unwrap_or_default());
    let found = found.filter(|found| is_own(context, found));
    if let Some(found) = found {
        world.objects.delete(&object.kind, &found.metadata).await?;
    }
    keeper(context, world).forget(&secret).await?;
    Ok(())
}

/// The spec of a target that a template or an import gives, with or without metadata around it. A secret configuration is kept in
/// a Secret, to which a Target can refer.
fn target(given: &Given<'_>) -> Result<Wanted, Stop> {
    let trouble = |message: String| {
        Stop::from(Trouble::configuration(
            "ValidateExport",
            "InvalidTarget",
            message,
        ))
    };
    let spec_of = |value: &Value| value.get("spec").unwrap_or(value).clone();
    let mut spec = spec_of(given.content);
    if !spec.get("type").is_some_and(Value::is_string) {
        let message = format!("the target {:?} has no spec.type", given.key);
        return Err(trouble(message));
    }
    let mut shown = spec_of(given.shown);
    if spec == shown {
        let data = json!({"spec": spec});
        return Ok(Wanted { data, kept: None });
    }
    let configuration = spec.as_object_mut().and_then(|spec| spec.remove("config"));
    if let Some(shown) = shown.as_object_mut() {
        shown.remove("config");
    }
    if spec != shown {
        let message = format!(
            "the target {:?}: only its `config` may depend on a secret import",
            given.key
        );
        return Err(trouble(message));
    }
    let data = json!({"spec": spec});
    Ok(Wanted {
        data,
        kept: configuration,
    })
}
