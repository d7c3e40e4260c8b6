//! What the server does to every object's metadata, whatever its kind (C1, C2, G2, G3).

use std::collections::BTreeSet;

use landform_api::budget::PROBLEMS_LISTED_MAX;
use landform_api::keys::{
    ANNOTATION_MAKER, ANNOTATION_NAMER, ANNOTATION_RENAMED_TO, ANNOTATION_SERVICE_ACCOUNT,
    ANNOTATION_WRITER,
};
use landform_api::landscaper::{GROUP, keys};
use landform_api::writer::{Authors, Maker, Writer};
use landform_api::{FieldError, FieldPath, FieldReason};
use serde_json::{Value, json};

use super::{Object, meta, names};
use crate::registry::Resource;

/// Which part of an object a write is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The object, without its status where that is a subresource.
    Main,
    /// Only the status.
    Status,
    /// Only a namespace's own finalizers.
    Finalize,
}

/// Sets what only the server may set on a new object (C1).
pub fn prepare_create(resource: &Resource, object: &mut Object, uid: &str, now: &str) {
    let metadata = meta::metadata_mut(object);
    for field in [
        "resourceVersion",
        "selfLink",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "managedFields",
    ] {
        metadata.remove(field);
    }
    metadata.insert("uid".into(), json!(uid));
    metadata.insert("creationTimestamp".into(), json!(now));
    metadata.insert("generation".into(), json!(1));
    tidy_metadata(object);
    if resource.status {
        object.remove("status");
    }
    resource.rules.prepare_create(object);
}

/// Carries over what a write may not change, and counts the generation (C2).
pub fn prepare_update(resource: &Resource, object: &mut Object, old: &Object, part: Part) {
    match part {
        Part::Main => {
            if resource.status {
                carry(object, old, "status");
            }
        }
        Part::Status => keep_all_but_status(resource, object, old),
        Part::Finalize => {
            let spec = object.get("spec").cloned();
            *object = old.clone();
            if let Some(spec) = spec {
                object.insert("spec".into(), spec);
            }
        }
    }
    object.insert("apiVersion".into(), json!(resource.stored_api_version));
    let metadata = meta::metadata_mut(object);
    for field in ["resourceVersion", "selfLink", "managedFields"] {
        metadata.remove(field);
    }
    let old_metadata = meta::metadata(old);
    for field in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
    ] {
        match old_metadata.get(field) {
            Some(value) => metadata.insert(field.into(), value.clone()),
            None => metadata.remove(field),
        };
    }
    for field in ["name", "namespace"] {
        if let (Some(value), true) = (
            old_metadata.get(field),
            metadata.get(field).is_none_or(Value::is_null),
        ) {
            metadata.insert(field.into(), value.clone());
        }
    }
    tidy_metadata(object);
    if part != Part::Finalize {
        resource.rules.prepare_update(object, old);
    }
}

/// Counts the generation up when the spec is another one (C2).
pub fn count_generation(object: &mut Object, old: &Object) {
    if !same_spec(object, old) {
        let next = meta::generation(old) + 1;
        meta::metadata_mut(object).insert("generation".into(), json!(next));
    }
}

/// What a write says of the content that it leaves (C6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Claim {
    /// Its writer vouches for all of it, if it changes anything: the way of those who replace an object.
    #[default]
    Vouched,
    /// A part of it is the writer's, all else is the work of those who are noted: the way of patches.
    Part,
    /// All of it is the writer's, as it is.
    Whole,
}

/// Notes who wrote an object's content, and who named the service account that acts for it (C6): the caller for what is
/// new, else the one who is noted already. What a client sends as a note is dropped.
///
/// A service account that is named, changed or taken away leaves the content's writer as it was: who names one doesn't
/// vouch for the content, only for the account. Who writes the content vouches for the account as well.
///
/// The note never gets stronger than the weakest author of what stays in the object. A change of something that counts
/// beside the content ([`counts_beside`]) makes its sender one of the authors.
pub fn note_writer(
    resource: &Resource,
    object: &mut Object,
    old: Option<&Object>,
    authors: &Authors,
    claim: Claim,
) {
    let account = |object| annotation(object, ANNOTATION_SERVICE_ACCOUNT);
    let noted = |object, key| annotation(object, key).map(ToOwned::to_owned);
    let written_before = old.filter(|old| same_spec(object, old));
    let beside = old.is_some_and(|old| counts_beside(resource, object, old));
    let writer = match (written_before, old, claim) {
        (Some(old), _, Claim::Vouched | Claim::Part) if !beside => noted(old, ANNOTATION_WRITER),
        (Some(old), _, Claim::Vouched | Claim::Part) | (None, Some(old), Claim::Part) => {
            let before = annotation(old, ANNOTATION_WRITER).map(Writer::read);
            Writer::joined(before, authors.writer.clone()).map(|writer| writer.limited().note())
        }
        _ => authors.writer.as_ref().map(Writer::note),
    };
    let namer = match written_before.filter(|old| account(object) == account(old)) {
        Some(old) => noted(old, ANNOTATION_NAMER),
        None if account(object).is_none() => None,
        None => {
            let caller = || authors.writer.clone().unwrap_or_else(Writer::master);
            let namer = authors.namer.clone().unwrap_or_else(caller);
            let is_writer = match &writer {
                Some(writer) => *writer == namer.note(),
                None => namer.clone().unless_master().is_none(),
            };
            (!is_writer).then(|| namer.note())
        }
    };
    set_note(object, ANNOTATION_WRITER, writer);
    set_note(object, ANNOTATION_NAMER, namer);
}

/// Who is noted as an object's writer.
#[must_use]
pub fn writer(object: &Object) -> Option<Writer> {
    annotation(object, ANNOTATION_WRITER).map(Writer::read)
}

/// Notes who gave an object another name (C6): by its name others choose it, so its renamer is one of the writers from
/// then on, and one of those who vouch for the service account that acts for it.
pub fn note_renamer(object: &mut Object, authors: &Authors) {
    let noted = |key| annotation(object, key).map(Writer::read);
    let written = noted(ANNOTATION_WRITER);
    let writer = Writer::joined(written.clone(), authors.writer.clone()).map(Writer::limited);
    let namer = annotation(object, ANNOTATION_SERVICE_ACCOUNT).and_then(|_| {
        let known = |namer: Writer| Some(namer).filter(|namer| *namer != Writer::master());
        let before = noted(ANNOTATION_NAMER).map_or(written, known);
        let renamer = authors.namer.clone();
        let renamer = renamer.map_or_else(|| authors.writer.clone(), known);
        let namer = Writer::joined(before, renamer).map(Writer::limited);
        (namer != writer).then(|| namer.unwrap_or_else(Writer::master))
    });
    set_note(object, ANNOTATION_WRITER, writer.as_ref().map(Writer::note));
    set_note(object, ANNOTATION_NAMER, namer.as_ref().map(Writer::note));
}

/// Whether a write changes something that is no content, and decides all the same what Landform does for the object (C6):
/// what an installation or a deploy item is a part of, and so where its data comes from and goes to; that no service account
/// limits it any more; and the status of a kind whose controllers remember there what they have made.
fn counts_beside(resource: &Resource, object: &Object, old: &Object) -> bool {
    let label = |object, key: &str| {
        let labels = meta::metadata(object).get("labels");
        labels.and_then(|labels| labels.get(key)).cloned()
    };
    // A name that is too long for a label is in the annotation of the same key.
    let moved = [
        keys::ENCOMPASSED_BY,
        keys::MANAGED_BY,
        keys::ITEM_NAME,
        keys::SUBINSTALLATION_NAME,
    ]
    .iter()
    .any(|key| {
        label(object, key) != label(old, key) || annotation(object, key) != annotation(old, key)
    });
    let account = |object| annotation(object, ANNOTATION_SERVICE_ACCOUNT);
    let freed = account(object).is_none() && account(old).is_some();
    let remembered = remembers(resource) && object.get("status") != old.get("status");
    freed || remembered || (moved && resource.group == GROUP)
}

/// Whether controllers of Landform read what they have noted in the status of this kind. That of a deploy item is its
/// deployer's, which may be anybody's program.
fn remembers(resource: &Resource) -> bool {
    is_own_group(&resource.group) && (resource.group != GROUP || resource.kind != "DeployItem")
}

/// Whether the kinds of a group are Landform's own.
#[must_use]
pub fn is_own_group(group: &str) -> bool {
    group == GROUP || group == "landform.dev" || group.ends_with(".landform.dev")
}

/// Notes for which object another one is made (C6). It stays as it was noted until it is taken over for another object; what a
/// client sends is dropped.
pub fn note_maker(object: &mut Object, old: Option<&Object>, maker: Option<&Maker>) {
    let noted = || annotation(old?, ANNOTATION_MAKER).map(ToOwned::to_owned);
    let note = maker.map(Maker::note).or_else(noted);
    set_note(object, ANNOTATION_MAKER, note);
}

/// Sets an annotation that only the server writes, or removes it.
fn set_note(object: &mut Object, key: &str, note: Option<String>) {
    let metadata = meta::metadata_mut(object);
    match note {
        Some(note) => {
            let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
            if let Value::Object(annotations) = annotations {
                annotations.insert(key.into(), json!(note));
            }
        }
        None => {
            if let Some(Value::Object(annotations)) = metadata.get_mut("annotations")
                && annotations.remove(key).is_some()
                && annotations.is_empty()
            {
                metadata.remove("annotations");
            }
        }
    }
}

fn annotation<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    meta::metadata(object)
        .get("annotations")?
        .get(key)?
        .as_str()
}

/// Whether everything is the same but metadata and status.
pub fn same_spec(a: &Object, b: &Object) -> bool {
    let counts = |key: &str| match key {
        // A status never counts (C2), whether it is a subresource or not.
        "apiVersion" | "kind" | "metadata" | "status" => false,
        _ => true,
    };
    let fields = |object: &Object| object.keys().filter(|key| counts(key)).count();
    fields(a) == fields(b)
        && a.iter()
            .filter(|(key, _)| counts(key))
            .all(|(key, value)| b.get(key) == Some(value))
}

fn keep_all_but_status(resource: &Resource, object: &mut Object, old: &Object) {
    let status = object.remove("status");
    let mut kept = old.clone();
    if !resource.is_custom() {
        // Built-in kinds let labels, annotations and finalizers change together with a status.
        let new_metadata = meta::metadata(object).clone();
        for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
            match new_metadata.get(field) {
                Some(value) => meta::metadata_mut(&mut kept).insert(field.into(), value.clone()),
                None => meta::metadata_mut(&mut kept).remove(field),
            };
        }
    }
    match status {
        Some(status) => kept.insert("status".into(), status),
        None => kept.remove("status"),
    };
    *object = kept;
}

fn carry(object: &mut Object, old: &Object, field: &str) {
    match old.get(field) {
        Some(value) => object.insert(field.into(), value.clone()),
        None => object.remove(field),
    };
}

/// Empty maps and lists, and nulls, in the metadata say nothing and are not kept; nor is what only a rename may say.
fn tidy_metadata(object: &mut Object) {
    let metadata = meta::metadata_mut(object);
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
        annotations.remove(ANNOTATION_RENAMED_TO);
    }
    metadata.retain(|name, value| match (name.as_str(), value) {
        (_, Value::Null) => false,
        ("labels" | "annotations", Value::Object(map)) => !map.is_empty(),
        ("finalizers" | "ownerReferences", Value::Array(list)) => !list.is_empty(),
        // What is of another type than its field is for the schema to refuse.
        _ => true,
    });
}

/// What is wrong with the metadata of an object that is to be stored.
#[must_use]
pub fn check(resource: &Resource, object: &Object, old: Option<&Object>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = FieldPath::of("metadata");
    let name = meta::name(object);
    if name.is_empty() {
        let detail = "name or generateName is required";
        errors.push(FieldError::new(
            &path.field("name"),
            FieldReason::Required,
            detail,
        ));
    } else if let (None, Some(problem)) = (old, resource.name_rule.check(name)) {
        errors.push(FieldError::with_value(
            &path.field("name"),
            FieldReason::Invalid,
            &json!(name),
            problem,
        ));
    }
    for field in ["name", "namespace"] {
        if let Some(old) = old
            && meta::text(object, field) != meta::text(old, field)
        {
            errors.push(FieldError::with_value(
                &path.field(field),
                FieldReason::Invalid,
                &json!(meta::text(object, field)),
                "field is immutable",
            ));
        }
    }
    if let Some(old) = old.filter(|old| meta::is_marked(old)) {
        let before: BTreeSet<&str> = meta::finalizers(old).into_iter().collect();
        let added: Vec<&str> = meta::finalizers(object)
            .into_iter()
            .filter(|finalizer| !before.contains(finalizer))
            .take(PROBLEMS_LISTED_MAX)
            .collect();
        if !added.is_empty() {
            errors.push(FieldError::new(
                &path.field("finalizers"),
                FieldReason::Forbidden,
                format!(
                    "no new finalizers can be added if the object is being deleted, found new finalizers {added:?}"
                ),
            ));
        }
    }
    errors.extend(names::check_owner_count(
        meta::metadata(object),
        old.map(meta::metadata),
    ));
    errors.extend(names::check_metadata(meta::metadata(object)));
    errors
}
