//! Writes definitions, and moves them from one owner to the next.

use std::fmt::Write as _;

use kube::Client;
use kube::api::{ListParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind as KubeKind};
use landform_api::catalog::keys;
use landform_engine::Failure;
use semver::Version;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::change::{self, Existing};
use crate::facts::DefinitionFacts;
use crate::objects;

/// So many objects are read at once when it is looked whether they would break.
const PAGE: u32 = 500;

/// Who owns a definition.
#[derive(Clone, Debug)]
pub(crate) struct DefinitionOwner {
    /// As [`keys::OWNER`] has it.
    pub(crate) title: String,
    pub(crate) uid: Option<String>,
}

/// What a definition's text is recognised by.
pub(crate) fn digest(definition: &Value) -> String {
    let hash = Sha256::digest(definition["spec"].to_string());
    hash.iter().take(12).fold(String::new(), |mut text, byte| {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What would break if this definition took the place of the one that is there.
pub(crate) async fn breaks(
    client: &Client,
    facts: &DefinitionFacts,
    wanted: &Value,
) -> Result<Option<String>, Failure> {
    let kept = |version: &&String| {
        let versions = wanted["spec"]["versions"].as_array();
        let mut versions = versions.into_iter().flatten();
        versions.any(|found| found["name"] == **version)
    };
    let served = || facts.served.iter();
    // In a version that both have the new schema can be tried on them.
    let Some(version) = served().find(kept).or_else(|| served().next()) else {
        return Ok(None);
    };
    let name = KubeKind::gvk(&facts.group, version, &facts.kind);
    let resource = ApiResource::from_gvk_with_plural(&name, &facts.plural);
    let api = objects::at(client, &resource, "");
    let mut existing = Vec::new();
    let mut parameters = ListParams::default().limit(PAGE);
    loop {
        let page = api.list(&parameters).await?;
        let token = page.metadata.continue_.filter(|token| !token.is_empty());
        existing.extend(
            page.items
                .into_iter()
                .map(|object| named(facts, version, object)),
        );
        match token {
            Some(token) => parameters.continue_token = Some(token),
            None => break,
        }
    }
    Ok(change::breaks(&facts.stored, wanted, &existing))
}

fn named(facts: &DefinitionFacts, version: &str, object: DynamicObject) -> Existing {
    let namespace = object.metadata.namespace.as_deref();
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let title = match namespace {
        Some(namespace) => format!("{} {namespace}/{name}", facts.kind),
        None => format!("{} {name}", facts.kind),
    };
    let mut value = serde_json::to_value(&object).unwrap_or_default();
    value["apiVersion"] = json!(format!("{}/{version}", facts.group));
    value["kind"] = json!(facts.kind);
    Existing {
        title,
        object: value,
    }
}

/// Writes a definition: creates it, or gives the one that is there another content. One that belongs to
/// another package is left alone.
pub(crate) async fn write(
    client: &Client,
    wanted: &Value,
    package: &str,
    version: &Version,
    owner: &DefinitionOwner,
) -> Result<(), Failure> {
    let api = objects::definitions(client);
    let name = wanted["metadata"]["name"].as_str().unwrap_or_default();
    let mut annotations = json!({
        keys::PACKAGE: package,
        keys::VERSION: version.to_string(),
        keys::DIGEST: digest(wanted),
    });
    let Some(mut found) = api.get_opt(name).await? else {
        annotations[keys::OWNER] = json!(owner.title);
        if let Some(uid) = &owner.uid {
            annotations[keys::OWNER_UID] = json!(uid);
        }
        let mut definition = wanted.clone();
        definition["apiVersion"] = json!("apiextensions.k8s.io/v1");
        definition["kind"] = json!("CustomResourceDefinition");
        if let Value::Object(fields) = &mut definition {
            fields.remove("status");
        }
        let mut all = definition["metadata"]["annotations"].take();
        if !all.is_object() {
            all = json!({});
        }
        if let (Value::Object(all), Value::Object(more)) = (&mut all, annotations) {
            all.extend(more);
        }
        definition["metadata"] = json!({
            "name": name, "annotations": all, "labels": wanted["metadata"]["labels"],
        });
        return match objects::create(&api, definition).await? {
            Some(_) => Ok(()),
            None => Err(Failure::Conflict(format!(
                "somebody created {name} just now"
            ))),
        };
    };
    let facts = DefinitionFacts::of(&found);
    if facts.package.as_deref() != Some(package) {
        return Err(Failure::Conflict(format!(
            "{name} belongs to {} now",
            facts.told_owner()
        )));
    }
    found.data["spec"] = wanted["spec"].clone();
    let all = found.metadata.annotations.get_or_insert_default();
    if let Value::Object(more) = annotations {
        for (key, value) in more {
            all.insert(key, value.as_str().unwrap_or_default().to_owned());
        }
    }
    if facts.owner.is_none() {
        all.insert(keys::OWNER.into(), owner.title.clone());
        if let Some(uid) = &owner.uid {
            all.insert(keys::OWNER_UID.into(), uid.clone());
        }
    }
    api.replace(name, &PostParams::default(), &found).await?;
    Ok(())
}

/// Gives a definition another owner, or none, if it still has the one that it was seen with.
pub(crate) async fn move_to(
    client: &Client,
    name: &str,
    from: Option<&str>,
    to: Option<&DefinitionOwner>,
) -> Result<(), Failure> {
    let api = objects::definitions(client);
    let Some(found) = api.get_opt(name).await? else {
        return Ok(());
    };
    let facts = DefinitionFacts::of(&found);
    let (title, uid) = (to.map(|to| &to.title), to.and_then(|to| to.uid.as_ref()));
    let same = facts.owner.as_ref() == title && facts.owner_uid.as_ref() == uid;
    if facts.owner.as_deref() != from || same {
        return Ok(());
    }
    let change = json!({"annotations": {keys::OWNER: title, keys::OWNER_UID: uid}});
    objects::patch_metadata(&api, &found.metadata, change).await
}
