//! `landform rollback installation/NAME`: an installation as it was when it succeeded before.

use std::process::ExitCode;
use std::time::Duration;

use http::Method;
use kube::Client;
use landform_api::landscaper::{Operation, keys, labels};
use landform_api::project::LABEL_PROJECT;
use serde_json::{Value, json};

use super::{Revision, list};
use crate::client::object::{FileArgs, Place, places};
use crate::client::{ClientArgs, get, plain, send};
use crate::output::color::{Paint, When};
use crate::output::table::Table;
use crate::output::time::{age, now};
use crate::{AnyError, exit, say, wait};

/// What is asked.
pub(crate) struct Asked<'a> {
    /// `installation/NAME`
    pub(crate) word: &'a str,
    /// The number of a revision.
    pub(crate) to: Option<&'a str>,
    pub(crate) force: bool,
    /// Only show the revisions.
    pub(crate) list: bool,
    /// How long its end is awaited, if at all.
    pub(crate) wait: Option<Duration>,
}

/// Whether an argument means an installation.
pub(crate) fn is_installation(argument: &str) -> bool {
    let kind = argument.split_once('/').map_or("", |(kind, _)| kind);
    let kind = kind.split('.').next().unwrap_or_default().to_lowercase();
    ["installation", "installations", "inst"].contains(&kind.as_str())
}

pub(crate) async fn rollback(server: &ClientArgs, asked: Asked<'_>) -> Result<ExitCode, AnyError> {
    let client = server.connect().await?;
    let found = places(&client, &[asked.word.to_owned()], &FileArgs::default()).await?;
    let [place] = found.as_slice() else {
        return exit::misused("name one installation: installation/NAME");
    };
    let object = get(&client, &place.path()).await?;
    let object = object.ok_or_else(|| place.missing())?;
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
    let revisions = list(&client, &place.namespace, uid).await?;
    if asked.list {
        say(&table(&revisions, &object["spec"]))?;
        return Ok(exit::OK);
    }
    let target = target(place, &object, &revisions, asked.to)?;
    refuse(place, &object, target, asked.force)?;
    replace(&client, place, object.clone(), &target.spec).await?;
    say(&format!(
        "{} goes back to revision {}.\n",
        place.short(),
        target.number
    ))?;
    if let Some(patience) = asked.wait {
        let how = wait::succeeded(&client, place, patience).await?;
        say(&format!("{} {how}\n", place.short()))?;
    }
    Ok(exit::OK)
}

/// The revision that is meant.
fn target<'a>(
    place: &Place,
    object: &Value,
    revisions: &'a [Revision],
    to: Option<&str>,
) -> Result<&'a Revision, AnyError> {
    let others: Vec<&Revision> = revisions
        .iter()
        .filter(|one| one.spec != object["spec"])
        .collect();
    let numbers: Vec<String> = revisions.iter().map(|one| one.number.to_string()).collect();
    let Some(to) = to else {
        return others.last().copied().ok_or_else(|| {
            format!(
                "{} has no earlier revision to go back to: a revision is noted each time it succeeds with another spec, by the server that runs Landform's engine",
                place.short()
            )
            .into()
        });
    };
    let found = revisions.iter().find(|one| one.number.to_string() == to);
    let found = found.ok_or_else(|| {
        format!(
            "{} has no revision {to}; it has {}: `landform rollback installation/{} --list -n {}` shows them",
            place.short(),
            if numbers.is_empty() { "none".to_owned() } else { numbers.join(", ") },
            place.name,
            place.namespace
        )
    })?;
    if found.spec == object["spec"] {
        return Err(format!(
            "{} is as revision {to} says: there is nothing to do",
            place.short()
        )
        .into());
    }
    Ok(found)
}

/// What would make the way back of no use, or not what it seems.
fn refuse(place: &Place, object: &Value, target: &Revision, force: bool) -> Result<(), AnyError> {
    let metadata = &object["metadata"];
    if let Some(parent) = labels::in_metadata(metadata, keys::ENCOMPASSED_BY) {
        return Err(format!(
            "{} is nested in Installation/{parent}, which would change it back: landform rollback installation/{parent} -n {}",
            place.short(),
            place.namespace
        )
        .into());
    }
    if force {
        return Ok(());
    }
    if let Some(project) = metadata["labels"][LABEL_PROJECT].as_str() {
        return Err(format!(
            "{} is made of the files of the project {project}, and the next change of its file would bring back what the file says: change the file instead, for instance with `git revert`; --force goes back nevertheless",
            place.short()
        )
        .into());
    }
    let path = target.spec["blueprint"]["path"].as_str();
    let now = object["status"]["blueprintDigest"]
        .as_str()
        .unwrap_or_default();
    if let Some(path) = path.filter(|_| !target.blueprint.is_empty() && target.blueprint != now) {
        let same = object["spec"]["blueprint"]["path"] == path;
        if same {
            return Err(format!(
                "the blueprint's files in {path} have changed since revision {}, and only you can bring them back: do that first, for instance with your version control; --force takes the files as they are",
                target.number
            )
            .into());
        }
    }
    Ok(())
}

/// Writes the spec, for the state that was looked at.
async fn replace(
    client: &Client,
    place: &Place,
    mut object: Value,
    spec: &Value,
) -> Result<(), AnyError> {
    object["spec"] = spec.clone();
    if !object["metadata"]["annotations"].is_object() {
        object["metadata"]["annotations"] = json!({});
    }
    object["metadata"]["annotations"][keys::OPERATION] = Operation::Reconcile.as_str().into();
    let sent = send(client, Method::PUT, &place.path(), &object).await;
    sent.map(drop).map_err(plain)
}

fn table(revisions: &[Revision], spec: &Value) -> String {
    if revisions.is_empty() {
        return "There are no revisions yet: one is noted each time the installation succeeds with another spec.\n".to_owned();
    }
    let mut table = Table::new(&["REVISION", "AGE", "BLUEPRINT", "NOW"]);
    for revision in revisions {
        let blueprint = &revision.spec["blueprint"];
        let blueprint = match blueprint["path"].as_str() {
            Some(path) => path.to_owned(),
            None if blueprint["inline"].is_object() => "inline".to_owned(),
            None => "in a component".to_owned(),
        };
        let here = if revision.spec == *spec { "yes" } else { "" };
        table.push([
            revision.number.to_string(),
            age(&revision.created, now()),
            blueprint,
            here.to_owned(),
        ]);
    }
    table.text(Paint::new(When::Auto))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installations_are_told_from_app_types() {
        for (word, expected) in [
            ("installation/a", true),
            ("inst/a", true),
            ("installations.landscaper.gardener.cloud/a", true),
            ("apptype/a", false),
            ("inst", false),
        ] {
            assert_eq!(is_installation(word), expected, "{word}");
        }
    }
}
