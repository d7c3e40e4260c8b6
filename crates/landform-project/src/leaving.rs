//! What goes when a project goes: for `landform down`, which shows it first. And what goes with definitions, for
//! `landform plan`, too.

use std::collections::{BTreeMap, BTreeSet};

use http::Request;
use kube::Client;
use landform_api::project::{ANNOTATION_FILE, LABEL_PROJECT};
use landform_api::words::counted;
use serde_json::Value;

use crate::apply::{ApplyError, Kinds, Served};
use crate::decide::GoingAlong;
use crate::hidden::{Known, discover};
use crate::live::{self, changing};
use crate::namespaces;
use crate::object::ObjectId;
use crate::order::{definition, is_definition};

/// At most this many objects of others are named.
const NAMED: usize = 8;

/// What goes with a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leaving {
    /// The names of its objects, by kind.
    pub objects: BTreeMap<String, Vec<String>>,
    /// Namespaces that stay: why.
    pub kept: Vec<String>,
    /// What of others goes with definitions.
    pub taken: Vec<String>,
    /// What of it is protected from deletion: as long as that is so, nothing goes.
    pub protected: Vec<String>,
}

/// Everything that goes with a project, and what of its own stays.
///
/// # Errors
/// What the API answers.
pub async fn leaving(client: &Client, project: &str) -> Result<Leaving, ApplyError> {
    let kinds = Kinds::default();
    let found = live::list(client, &kinds, project).await?;
    let mut leaving = Leaving {
        taken: taken(client, &kinds, found.keys(), project).await?,
        ..Leaving::default()
    };
    for (id, live) in found {
        if live.protected {
            leaving.protected.push(id.to_string());
        }
        if namespaces::is_namespace(&id) {
            let why = namespaces::why_kept(client, &kinds, &id.name, project).await?;
            if let Some(why) = why {
                leaving.kept.push(why);
                continue;
            }
        }
        leaving.objects.entry(id.kind).or_default().push(id.name);
    }
    Ok(leaving)
}

/// What of others goes when these objects go: a definition takes all objects of its kind with it.
///
/// # Errors
/// What the API answers.
async fn taken(
    client: &Client,
    kinds: &Kinds,
    going: impl Iterator<Item = &ObjectId>,
    project: &str,
) -> Result<Vec<String>, ApplyError> {
    let all = going_along(client, kinds, going, Some(project)).await?;
    let all = all.into_iter().filter(|(_, along)| !along.is_empty());
    let told = all.map(|(id, along)| {
        let others: Vec<_> = along.into_iter().map(|(id, _)| id).collect();
        sentence(&id, &others, Whose::Others)
    });
    Ok(told.collect())
}

/// What goes with these objects and is none of them: of others, or of a file that is still there.
///
/// # Errors
/// What the API answers.
pub(crate) async fn taken_beside(
    client: &Client,
    kinds: &Kinds,
    going: &BTreeSet<&ObjectId>,
    of_project: impl Fn(&ObjectId) -> bool,
) -> Result<Vec<String>, ApplyError> {
    let all = going_along(client, kinds, going.iter().copied(), None).await?;
    let told = all.into_iter().filter_map(|(id, along)| {
        let along = along.into_iter().map(|(id, _)| id);
        let along: Vec<_> = along.filter(|id| !going.contains(id)).collect();
        let whose = if along.iter().any(&of_project) {
            Whose::NotRemoved
        } else {
            Whose::Others
        };
        (!along.is_empty()).then(|| sentence(&id, &along, whose))
    });
    Ok(told.collect())
}

/// All objects of the kinds of definitions, but those of a project if one is named.
///
/// # Errors
/// What the API answers.
pub(crate) async fn going_along(
    client: &Client,
    kinds: &Kinds,
    going: impl Iterator<Item = &ObjectId>,
    but_of: Option<&str>,
) -> Result<BTreeMap<ObjectId, GoingAlong>, ApplyError> {
    let definitions: Vec<_> = going.filter(|id| is_definition(id)).collect();
    let mut all = BTreeMap::new();
    if definitions.is_empty() {
        return Ok(all);
    }
    let known = discover(client, kinds).await?;
    for id in definitions {
        let along = of_definition(client, &known, id, but_of).await?;
        all.insert(id.clone(), along);
    }
    Ok(all)
}

/// All objects of a definition, but those of a project if one is named.
async fn of_definition(
    client: &Client,
    known: &Known,
    of: &ObjectId,
    but_of: Option<&str>,
) -> Result<GoingAlong, ApplyError> {
    let is_of = |kind: &Served| definition(&format!("{}.{}", kind.plural, kind.kind.group)) == *of;
    let hidden = known.hidden.iter().filter(|hidden| is_of(&hidden.kind));
    let hidden = hidden.map(|hidden| (&hidden.kind, hidden.metadata.clone()));
    let mut found: Vec<_> = hidden.collect();
    for served in known.served.iter().filter(|served| is_of(served)) {
        let request = Request::get(served.path(None, None)).body(Vec::new());
        let request = request.map_err(|error| ApplyError::Transient(error.to_string()))?;
        let mut listed: Value = match client.request(request).await {
            Ok(listed) => listed,
            Err(kube::Error::Api(status)) if status.code == 404 => return Err(changing(served)),
            Err(error) => return Err(error.into()),
        };
        let items = listed["items"].as_array_mut().map(std::mem::take);
        for mut item in items.unwrap_or_default() {
            found.push((served, item["metadata"].take()));
        }
    }
    // What is marked goes anyway.
    found.retain(|(_, metadata)| {
        metadata["deletionTimestamp"].is_null()
            && but_of.is_none_or(|project| !is_of_project(metadata, project))
    });
    let named = found.iter().map(|(served, metadata)| {
        let text = |field: &str| metadata[field].as_str().unwrap_or_default();
        let kind = served.kind.clone().into();
        let id = ObjectId::of(&kind, text("namespace"), text("name"));
        (id, text("uid").to_owned())
    });
    Ok(named.collect())
}

/// A label can be copied; the file is noted only on what stands in one.
fn is_of_project(metadata: &Value, project: &str) -> bool {
    metadata["labels"][LABEL_PROJECT] == project
        && metadata["annotations"][ANNOTATION_FILE].is_string()
}

/// Which objects go with a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Those that are not the project's.
    Others,
    /// Those that were not removed from a file: of others, or of a file that is still there.
    NotRemoved,
}

/// What goes with a definition.
pub(crate) fn sentence(definition: &ObjectId, others: &[ObjectId], whose: Whose) -> String {
    let one = others.len() == 1;
    let whose = match (whose, one) {
        (Whose::Others, true) => "that is not the project's",
        (Whose::Others, false) => "that are not the project's",
        (Whose::NotRemoved, true) => "that was not removed",
        (Whose::NotRemoved, false) => "that were not removed",
    };
    let named: Vec<_> = others.iter().take(NAMED).map(ToString::to_string).collect();
    let more = match others.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let go = if one { "goes" } else { "go" };
    format!(
        "with the definition {} {go} {} {whose}: {}{more}",
        definition.name,
        counted(others.len(), "object"),
        named.join(", ")
    )
}
