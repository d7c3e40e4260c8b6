//! `landform adopt`: an object that exists becomes part of what a project or a deploy item looks after (O20).

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use kube::Client;
use landform_api::landscaper::{Operation, keys};
use landform_api::project::{LABEL_PROJECT, SETTINGS_FILE, STATE_DIRECTORY};
use landform_deployers::manifest::ANNOTATION_ITEM;
use serde_json::{Value, json};

use crate::client::object::{FileArgs, Place, places};
use crate::client::{ClientArgs, block_on, get, merge};
use crate::exit::misused;
use crate::output::readable;
use crate::{AnyError, exit, say};

/// The type of a Target that is Landform itself.
const THIS_SERVER: &str = "landform.dev/this-server";

const EXAMPLES: &str = "Examples:
  landform adopt cm/settings --file settings.yaml       writes the object as a file of the project around this directory,
                                                        which looks after it from then on
  landform adopt cm/settings --item di/web-abc12        the deploy item, whose manifests name the object, takes it over

An object that something else looks after is refused, with what that is. A manifest may also have the annotation
landform.dev/adopt: \"true\", which says the same for objects of another cluster.";

/// Arguments of `landform adopt`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AdoptArgs {
    /// KIND/NAME or KIND NAME.
    #[arg(value_name = "KIND/NAME", required = true, num_args = 1..=2)]
    object: Vec<String>,
    /// The file of a project to write it to; it must not be there yet.
    #[arg(long, value_name = "FILE", required_unless_present = "item")]
    file: Option<PathBuf>,
    /// The deploy item of the manifest deployer that takes it over.
    #[arg(long, value_name = "KIND/NAME", conflicts_with = "file")]
    item: Option<String>,
    #[command(flatten)]
    server: ClientArgs,
}

pub(crate) fn run(args: AdoptArgs) -> Result<ExitCode, AnyError> {
    block_on(async {
        let client = args.server.connect().await?;
        let (place, object) = one(&client, &args.object).await?;
        if let Some(why) = owner(&object) {
            return Err(format!("{} can't be adopted: {why}", place.short()).into());
        }
        match (&args.file, &args.item) {
            (Some(file), _) => to_file(&place, object, file)?,
            (None, Some(item)) => to_item(&client, &place, &object, item).await?,
            (None, None) => return misused("say what adopts it: --file FILE or --item di/NAME"),
        }
        Ok(exit::OK)
    })
}

async fn one(client: &Client, words: &[String]) -> Result<(Place, Value), AnyError> {
    let mut found = places(client, words, &FileArgs::default()).await?;
    let (Some(place), true) = (found.pop(), found.is_empty()) else {
        return misused("name one object: KIND/NAME or KIND NAME");
    };
    let object = get(client, &place.path()).await?;
    let object = object.ok_or_else(|| place.missing())?;
    Ok((place, object))
}

/// What looks after an object already.
fn owner(object: &Value) -> Option<String> {
    let metadata = &object["metadata"];
    if !metadata["deletionTimestamp"].is_null() {
        return Some("it is being deleted".to_owned());
    }
    if let Some(project) = metadata["labels"][LABEL_PROJECT].as_str() {
        return Some(format!("it is made of the files of the project {project}"));
    }
    let owners = metadata["ownerReferences"].as_array();
    if let Some(owner) = owners.and_then(|owners| owners.first()) {
        let text = |name: &str| owner[name].as_str().unwrap_or_default();
        return Some(format!("it belongs to {}/{}", text("kind"), text("name")));
    }
    let mark = metadata["annotations"][ANNOTATION_ITEM].as_str();
    mark.map(|uid| format!("the deploy item with the uid {uid} looks after it"))
}

/// Writes an object as a file of a project, which is the word that the project takes it over.
fn to_file(place: &Place, object: Value, file: &Path) -> Result<(), AnyError> {
    if place.kind.kind == "Secret" {
        return Err("a Secret would stand in the file in plain text: write the file yourself, with what your project does about secrets (docs/projects.md)".into());
    }
    let parent = file
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let directory = parent.unwrap_or(Path::new(".")).canonicalize();
    let directory =
        directory.map_err(|error| format!("{} can't be written: {error}", file.display()))?;
    let is_project =
        |dir: &&Path| dir.join(SETTINGS_FILE).exists() || dir.join(STATE_DIRECTORY).exists();
    if directory.ancestors().find(is_project).is_none() {
        return Err(format!(
            "{} is in no project: name a file below a directory with a {SETTINGS_FILE}",
            file.display()
        )
        .into());
    }
    if !file
        .extension()
        .is_some_and(|end| end == "yaml" || end == "yml")
    {
        return misused("a file of a project that has an object ends with .yaml");
    }
    let text = landform_yaml::write(&manifest(object));
    let mut options = std::fs::OpenOptions::new();
    let opened = options.write(true).create_new(true).open(file);
    let mut opened =
        opened.map_err(|error| format!("{} can't be written: {error}", file.display()))?;
    std::io::Write::write_all(&mut opened, text.as_bytes())?;
    say(&format!(
        "{} is in {}: the project takes it over with its next sync, and deletes it when the file goes.\n",
        place.short(),
        file.display()
    ))
}

/// What a person would have written.
fn manifest(object: Value) -> Value {
    let mut object = readable(object);
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for name in [
            "uid",
            "resourceVersion",
            "generation",
            "creationTimestamp",
            "selfLink",
            "finalizers",
        ] {
            metadata.remove(name);
        }
        if let Some(annotations) = metadata
            .get_mut("annotations")
            .and_then(Value::as_object_mut)
        {
            annotations.retain(|key, _| {
                !key.starts_with("landform.dev/") && key != crate::apply::LAST_APPLIED
            });
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
    }
    object
}

/// Marks an object as a deploy item's, which says so in its manifests.
async fn to_item(
    client: &Client,
    place: &Place,
    object: &Value,
    item: &str,
) -> Result<(), AnyError> {
    let (item_place, item) = one(client, &[item.to_owned()]).await?;
    let type_ = item["spec"]["type"].as_str().unwrap_or_default();
    if item_place.kind.kind != "DeployItem" || !type_.ends_with("kubernetes-manifest") {
        return Err(format!(
            "{} is no deploy item of the manifest deployer, which alone takes objects over",
            item_place.short()
        )
        .into());
    }
    let target = item["spec"]["target"]["name"].as_str().unwrap_or_default();
    if !target.is_empty() {
        let path = format!(
            "/apis/landscaper.gardener.cloud/v1alpha1/namespaces/{}/targets/{target}",
            item_place.namespace
        );
        let found = get(client, &path).await?.unwrap_or_default();
        if found["spec"]["type"] != THIS_SERVER {
            return Err(format!(
                "{} deploys to the target {target}, which is another cluster: give its manifest of {} the annotation landform.dev/adopt: \"true\"",
                item_place.short(),
                place.short()
            )
            .into());
        }
    }
    if !names(&item["spec"]["config"], place, object) {
        return Err(format!(
            "no manifest of {} is {}: add it to the blueprint first",
            item_place.short(),
            place.title()
        )
        .into());
    }
    let uid = item["metadata"]["uid"].as_str().unwrap_or_default();
    let mark = json!({"metadata": {"annotations": {ANNOTATION_ITEM: uid}}});
    merge(client, &place.path(), &mark).await?;
    let ask =
        json!({"metadata": {"annotations": {keys::OPERATION: Operation::Reconcile.as_str()}}});
    merge(client, &item_place.path(), &ask).await?;
    say(&format!(
        "{} belongs to {} now, which brings it to what its manifest says, and deletes it when it goes itself.\n",
        place.short(),
        item_place.short()
    ))
}

/// Whether a configuration has a manifest of this object.
fn names(config: &Value, place: &Place, object: &Value) -> bool {
    let manifests = config["manifests"].as_array().into_iter().flatten();
    let mut manifests = manifests.map(|entry| entry.get("manifest").unwrap_or(entry));
    manifests.any(|manifest| {
        let metadata = &manifest["metadata"];
        let namespace = metadata["namespace"].as_str();
        manifest["kind"] == place.kind.kind.as_str()
            && metadata["name"] == place.name.as_str()
            && namespace.is_none_or(|namespace| object["metadata"]["namespace"] == namespace)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_after_an_object_is_told() {
        for (metadata, piece) in [
            (json!({}), None),
            (
                json!({"labels": {LABEL_PROJECT: "shop"}}),
                Some("project shop"),
            ),
            (
                json!({"ownerReferences": [{"kind": "Installation", "name": "a"}]}),
                Some("Installation/a"),
            ),
            (
                json!({"annotations": {ANNOTATION_ITEM: "u"}}),
                Some("uid u"),
            ),
            (json!({"deletionTimestamp": "t"}), Some("deleted")),
        ] {
            let found = owner(&json!({"metadata": metadata}));
            assert_eq!(found.is_some(), piece.is_some(), "{found:?}");
            assert!(
                found
                    .unwrap_or_default()
                    .contains(piece.unwrap_or_default())
            );
        }
    }

    #[test]
    fn a_manifest_has_what_a_person_would_have_written() {
        let object = json!({"kind": "ConfigMap", "data": {"a": "b"}, "status": {}, "metadata": {
            "name": "a", "uid": "u", "resourceVersion": "1", "labels": {"x": "y"},
            "annotations": {"landform.dev/writer": "{}"}}});
        let expected = json!({"kind": "ConfigMap", "data": {"a": "b"}, "metadata": {"name": "a", "labels": {"x": "y"}}});
        assert_eq!(manifest(object), expected);
    }
}
