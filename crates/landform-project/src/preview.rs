//! What a sync of a directory would do, without doing it: for `landform plan`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::Request;
use kube::Client;
use landform_api::project::{GROUP, ProjectProblem, ProjectSpec, VERSION};
use landform_api::protection::PROTECT;
use serde_json::{Value, json};

use crate::apply::{ApplyError, Kinds};
use crate::decide::{Observed, Stays, decide};
use crate::leaving;
use crate::live;
use crate::namespaces;
use crate::object::ObjectId;
use crate::order::{is_definition, rank};
use crate::reader::{ReadProblem, Reader};
use crate::resolve::{self, resolve};

/// What a sync would do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preview {
    /// Everything that the files want, as it would be applied; definitions and namespaces first.
    pub objects: Vec<Arc<Value>>,
    /// What would be deleted, with its apiVersion.
    pub deletions: Vec<(String, ObjectId)>,
    /// What would get another name: apiVersion, the object, the name.
    pub renames: Vec<(String, ObjectId, String)>,
    /// What is wrong with files and objects.
    pub problems: Vec<ProjectProblem>,
    /// Who holds the deletions back and what ends that, when they need consent.
    pub held: Option<String>,
    /// Namespaces that stay though they are wanted no more: why.
    pub kept: Vec<String>,
    /// What goes with definitions that are deleted, and was not removed from a file.
    pub taken: Vec<String>,
    /// Where its blueprints are, by path. None when they are the very files that the project uses.
    pub blueprints: Option<BTreeMap<String, PathBuf>>,
    /// The project's directory on the server; empty when there is no project yet.
    pub directory: String,
}

/// Why there is no preview.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PreviewError {
    /// The directory can't be read.
    #[error(transparent)]
    Read(#[from] ReadProblem),
    /// The API can't be read.
    #[error(transparent)]
    Api(#[from] ApplyError),
}

/// Compares a directory with what is there of a project.
///
/// # Errors
/// When the directory or the API can't be read.
pub async fn preview(
    client: &Client,
    directory: &Path,
    project: &str,
) -> Result<Preview, PreviewError> {
    let there = read_project(client, project).await?;
    // What the object says comes on top of the file, as in a sync.
    let spec: ProjectSpec = serde_json::from_value(there["spec"].clone()).unwrap_or_default();
    let reading = Reader::default().read(directory, project, &spec, 0)?;
    let holds = there["status"]["heldDeletions"].is_object();
    let kinds = Kinds::default();
    let served = kinds.find(client, resolve::kinds(&reading)).await?;
    let live = live::list(client, &kinds, project).await?;
    let homes = |id: &ObjectId| live.get(id).map(|live| live.file.clone());
    let resolved = resolve(project, &reading, &served, &homes);
    // All deletions are shown here, and what goes along below.
    let definitions = live.keys().filter(|id| is_definition(id));
    let known: BTreeMap<_, _> = definitions.map(|id| (id.clone(), Vec::new())).collect();
    let decided = |agreed: &BTreeSet<String>| {
        decide(&Observed {
            wanted: &resolved.wanted,
            live: &live,
            said: &BTreeMap::new(),
            is_unsure: &|file| resolved.unsure.contains(file) || reading.is_unsure(file),
            missed: &BTreeMap::new(),
            // What a plan shows is what comes in the end.
            grace_ms: 0,
            deletions: reading.settings.deletions.unwrap_or_default(),
            approved: None,
            agreed,
            going_along: &known,
            now_ms: 0,
        })
    };
    let held = decided(&BTreeSet::new()).held.is_some();
    // What would happen with everybody's consent.
    let decision = decided(&live.values().map(|live| live.uid.clone()).collect());
    let versions: BTreeMap<_, _> = kinds
        .all(client)
        .await?
        .into_iter()
        .map(|served| {
            let kind = served.kind;
            let version = if kind.group.is_empty() {
                kind.version
            } else {
                format!("{}/{}", kind.group, kind.version)
            };
            ((kind.group, kind.kind), version)
        })
        .collect();
    let version = |id: &ObjectId| {
        let found = versions.get(&(id.group.clone(), id.kind.clone()));
        found.cloned().unwrap_or_default()
    };
    let mut problems = resolved.problems;
    for (id, message) in &decision.problems {
        let wanted = resolved.wanted.get(id);
        problems.extend(wanted.map(|wanted| wanted.problem(message)));
    }
    // One that is renamed may be changed, too.
    let applied = decision.renames.values().chain(&decision.applies);
    let mut objects: Vec<_> = applied
        .filter_map(|id| resolved.wanted.get(id))
        .map(|wanted| wanted.object.clone())
        .collect();
    // Kinds that come with the project's own definitions.
    let sources = reading.files.values().flat_map(|parsed| &parsed.objects);
    for source in sources.filter(|source| resolved.unknown.contains(&source.kind)) {
        let mut object = (*source.object).clone();
        if source.namespace.is_none() {
            object["metadata"]["namespace"] = json!(reading.settings.namespace());
        }
        objects.push(Arc::new(object));
    }
    let renames = decision.renames.iter();
    let mut deletions = Vec::new();
    let mut kept = Vec::new();
    // What a plan shows is what comes in the end, when what is in the way has gone or is served again.
    let (protected, stays): (Vec<_>, Vec<_>) = decision
        .stays
        .into_iter()
        .partition(|(_, stays)| *stays == Stays::Protected);
    kept.extend(protected.into_iter().map(|(id, _)| {
        format!("{id} is in no file and stays: it is protected from deletion ({PROTECT})")
    }));
    let later = stays.into_iter().map(|(id, _)| (id, String::new()));
    for (id, _) in decision
        .deletions
        .into_iter()
        .chain(decision.deletions_later)
        .chain(later)
    {
        let why = if namespaces::is_namespace(&id) {
            namespaces::why_kept(client, &kinds, &id.name, project).await?
        } else {
            None
        };
        match why {
            Some(why) => kept.push(why),
            None => deletions.push((version(&id), id)),
        }
    }
    // In the order in which they go.
    deletions.sort_by_key(|(_, id)| Reverse(rank(id)));
    let going = deletions.iter().map(|(_, id)| id).collect();
    let is_ours = |id: &ObjectId| live.contains_key(id);
    let taken = leaving::taken_beside(client, &kinds, &going, is_ours).await?;
    let held = (held || !taken.is_empty()).then(|| consent(holds, project));
    let same = Path::new(&spec.directory).canonicalize().ok() == Some(reading.root.clone());
    Ok(Preview {
        objects,
        taken,
        deletions,
        kept,
        renames: renames
            .map(|(from, to)| (version(from), from.clone(), to.name.clone()))
            .collect(),
        problems,
        held,
        blueprints: (!same).then_some(reading.blueprint_places),
        directory: spec.directory,
    })
}

/// The project itself; null when there is none.
async fn read_project(client: &Client, project: &str) -> Result<Value, ApplyError> {
    let path = format!("/apis/{GROUP}/{VERSION}/projects/{project}");
    let request = Request::get(path).body(Vec::new());
    let request = request.map_err(|error| ApplyError::Transient(error.to_string()))?;
    match client.request::<Value>(request).await {
        Ok(found) => Ok(found),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Value::Null),
        Err(error) => Err(error.into()),
    }
}

/// Who holds deletions back, and what ends that.
fn consent(holds: bool, project: &str) -> String {
    let approve = format!("run landform approve project/{project}");
    if holds {
        format!(
            "The project {project} holds these deletions back until you agree: {approve}, or bring the files back."
        )
    } else {
        format!(
            "The project {project} will hold these deletions back when it sees them: {approve} when its phase is Held, or bring the files back."
        )
    }
}
