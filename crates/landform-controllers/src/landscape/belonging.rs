//! What Landform made keeps belonging to the object that it was made for when others remove its owner references and labels
//! (I5b): the API server has noted the maker, and others can't change that note. What is taken over gets the note of the one that
//! takes it, in the same write (I40b).

use kube::ResourceExt as _;
use kube::core::DynamicObject;
use landform_api::keys::ANNOTATION_MAKER;
use landform_api::landscaper::installation::NamedReference;
use landform_api::landscaper::keys;
use landform_api::landscaper::report::ObjectName;
use landform_api::writer::Maker;
use landform_engine::{Context, Failure};

use super::index::Index;
use super::objects::{Objects, is_owned_by, labelled, owner, owning_installation, set_label};

/// The uid of the object that another one was made for, as the API server noted it.
pub(super) fn maker(object: &DynamicObject) -> Option<String> {
    let note = object.annotations().get(ANNOTATION_MAKER)?;
    Some(Maker::read(note)?.uid)
}

/// Whether a DataObject or a Target is Landform's work and has no owner any more.
pub(super) fn is_ownerless(given: &DynamicObject) -> bool {
    given.owner_references().is_empty() && given.annotations().contains_key(keys::DATA_HASH)
}

/// Whether a DataObject or a Target is Landform's work and has no note of whom it was made for, because an earlier version of
/// Landform made it.
pub(super) fn is_unnoted(given: &DynamicObject) -> bool {
    given.annotations().contains_key(keys::DATA_HASH)
        && !given.annotations().contains_key(ANNOTATION_MAKER)
}

/// Whether a DataObject or a Target is the own one of the run's object, whatever others have removed from it.
pub(super) fn is_own(context: &Context, given: &DynamicObject) -> bool {
    let own = &context.object().metadata;
    is_owned_by(&given.metadata, own.uid.as_deref())
        || (is_ownerless(given) && context.is_part(given) == Some(true))
}

/// Gives the DataObjects and Targets that the run's object has written their owner back, and the note to those that have none.
/// The index says where to look.
pub(super) async fn restore_given<'a>(
    context: &Context,
    index: &Index,
    objects: &Objects,
    written: impl IntoIterator<Item = &'a ObjectName>,
) -> Result<(), Failure> {
    let object = context.object();
    let kind = object
        .types
        .as_ref()
        .map_or("Installation", |types| &types.kind);
    for given in index.unclear(objects.namespace(), written) {
        let found = objects.get(&given.kind, &given.name).await?;
        let Some(found) = found.filter(|found| is_own(context, found)) else {
            continue;
        };
        if is_ownerless(&found) || context.is_part(&found) == Some(false) {
            let mut wanted = found.clone();
            wanted.metadata.owner_references =
                serde_json::from_value(owner(kind, &object.metadata)).ok();
            objects
                .write_own(context, &given.kind, &found, wanted)
                .await?;
        }
    }
    Ok(())
}

/// Lets the nested installations of the run's object say whose they are. The index says where to look.
pub(super) async fn restore_nested(
    context: &Context,
    index: &Index,
    objects: &Objects,
    recorded: &[NamedReference],
) -> Result<(), Failure> {
    let object = context.object();
    let (own, uid) = (object.name_any(), object.uid());
    let mut nested = index.children(objects.namespace(), &own);
    nested.extend(recorded.iter().map(|found| found.reference.name.clone()));
    for name in nested {
        let facts = index.facts(objects.namespace(), &name);
        if facts.is_none_or(|facts| facts.says_whose_it_is) {
            continue;
        }
        let found = objects.get("Installation", &name).await?;
        let is_ours = |found: &DynamicObject| {
            is_owned_by(&found.metadata, uid.as_deref()) || context.is_part(found) == Some(true)
        };
        let Some(found) = found.filter(is_ours) else {
            continue;
        };
        let mut wanted = found.clone();
        if !is_owned_by(&found.metadata, uid.as_deref()) {
            let owners = serde_json::from_value(owner("Installation", &object.metadata));
            wanted.metadata.owner_references = owners.ok();
        }
        if labelled(&found, keys::ENCOMPASSED_BY) != Some(&own) {
            set_label(&mut wanted.metadata, keys::ENCOMPASSED_BY, &own);
        }
        let template = recorded.iter().find(|found| found.reference.name == name);
        if let Some(template) = template {
            let annotations = wanted.metadata.annotations.get_or_insert_default();
            annotations.insert(keys::SUBINSTALLATION_NAME.to_owned(), template.name.clone());
        }
        objects.write("Installation", &found, &wanted).await?;
    }
    Ok(())
}

/// What a nested installation waits for that doesn't say whose it is: the one that it was made for must put it right first. Until
/// then it would take itself for another's, or for nobody's.
pub(super) fn awaited(index: &Index, object: &DynamicObject) -> Option<String> {
    if says_whose_it_is(object) {
        return None;
    }
    let parent = index.maker_of(object)?;
    let namespace = object.namespace().unwrap_or_default();
    let facts = index.facts(&namespace, &parent);
    Some(if facts.is_some_and(|facts| facts.ignored) {
        format!(
            "Installation {parent}: it has to say again whose this nested installation is (I5b), and it is ignored: remove its annotation {}",
            keys::IGNORE
        )
    } else {
        format!("Installation {parent}: it says again whose this nested installation is (I5b)")
    })
}

/// Whether an installation that was made as a part of another one has an owner reference and the label of a parent. Others
/// have no maker.
pub(super) fn says_whose_it_is(object: &DynamicObject) -> bool {
    let whole = owning_installation(&object.metadata).is_some()
        && labelled(object, keys::ENCOMPASSED_BY).is_some();
    whole || maker(object).is_none()
}
