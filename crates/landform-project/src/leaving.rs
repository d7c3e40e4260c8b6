//! What goes when a project goes: for `landform down`, which shows it first. And what goes with definitions, for
//! `landform plan`, too.

use std::collections::BTreeMap;

use http::Request;
use kube::Client;
use landform_api::project::LABEL_PROJECT;
use landform_api::words::counted;
use serde_json::Value;

use crate::apply::{ApplyError, Kinds, Served};
use crate::hidden::{Hidden, Known, discover};
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
    for id in found.into_keys() {
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
pub(crate) async fn taken(
    client: &Client,
    kinds: &Kinds,
    going: impl Iterator<Item = &ObjectId>,
    project: &str,
) -> Result<Vec<String>, ApplyError> {
    let definitions: Vec<_> = going.filter(|id| is_definition(id)).collect();
    if definitions.is_empty() {
        return Ok(Vec::new());
    }
    let known = discover(client, kinds).await?;
    let mut taken = Vec::new();
    for id in definitions {
        let others = others(client, &known, id, project).await?;
        taken.extend(sentence(id, &others));
    }
    Ok(taken)
}

/// All objects of a definition that are not the project's.
async fn others(
    client: &Client,
    known: &Known,
    of: &ObjectId,
    project: &str,
) -> Result<Vec<ObjectId>, ApplyError> {
    let is_of = |kind: &Served| definition(&format!("{}.{}", kind.plural, kind.kind.group)) == *of;
    let hidden = known.hidden.iter().filter(|hidden| is_of(&hidden.kind));
    let hidden = hidden.filter(|hidden| hidden.project() != Some(project));
    let mut found: Vec<_> = hidden.map(Hidden::id).collect();
    for served in known.served.iter().filter(|served| is_of(served)) {
        let selector = format!("{LABEL_PROJECT}%21%3D{project}");
        let url = format!("{}?labelSelector={selector}", served.path(None, None));
        let request = Request::get(url).body(Vec::new());
        let request = request.map_err(|error| ApplyError::Transient(error.to_string()))?;
        let listed: Value = match client.request(request).await {
            Ok(listed) => listed,
            Err(kube::Error::Api(status)) if status.code == 404 => return Err(changing(served)),
            Err(error) => return Err(error.into()),
        };
        let kind = served.kind.clone().into();
        for object in listed["items"].as_array().into_iter().flatten() {
            let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
            found.push(ObjectId::of(&kind, text("namespace"), text("name")));
        }
    }
    Ok(found)
}

fn sentence(definition: &ObjectId, others: &[ObjectId]) -> Option<String> {
    if others.is_empty() {
        return None;
    }
    let named: Vec<_> = others.iter().take(NAMED).map(ToString::to_string).collect();
    let more = match others.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (go, are) = if others.len() == 1 {
        ("goes", "is")
    } else {
        ("go", "are")
    };
    Some(format!(
        "with the definition {} {go} {} that {are} not the project's: {}{more}",
        definition.name,
        counted(others.len(), "object"),
        named.join(", ")
    ))
}
