//! From what files say to the objects that a project wants, each once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use landform_api::keys::ANNOTATION_RENAMED_FROM;
use landform_api::project::{self, ProjectProblem, SETTINGS_FILE};
use landform_api::{GroupVersionKind, landscaper};
use serde_json::{Value, json};

use crate::apply::{Marks, Served, prepare};
use crate::blueprint::plain_path;
use crate::object::{ObjectId, Source, Wanted};
use crate::order::defined;
use crate::reader::Reading;
use crate::settings::DEFAULT_NAMESPACE;

/// What a project wants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resolved {
    /// Its objects.
    pub wanted: BTreeMap<ObjectId, Wanted>,
    /// What is wrong.
    pub problems: Vec<ProjectProblem>,
    /// Files of which not all could be taken: nothing is deleted because it is missing there.
    pub unsure: BTreeSet<String>,
    /// Kinds that the API doesn't serve.
    pub unknown: BTreeSet<GroupVersionKind>,
}

/// All kinds that the files name.
#[must_use]
pub fn kinds(reading: &Reading) -> BTreeSet<GroupVersionKind> {
    let sources = reading.files.values().flat_map(|parsed| &parsed.objects);
    let kinds = sources.map(|source| source.kind.clone());
    kinds
        .chain([GroupVersionKind::new("", "v1", "Namespace")])
        .collect()
}

/// The objects that the files define. `homes` says in which file an object that is there already stands: when
/// two files define one object, that one counts, and otherwise the first by path.
#[must_use]
pub fn resolve(
    project: &str,
    reading: &Reading,
    served: &BTreeMap<GroupVersionKind, Served>,
    homes: &dyn Fn(&ObjectId) -> Option<String>,
) -> Resolved {
    let mut resolved = Resolved {
        problems: reading.all_problems(),
        ..Resolved::default()
    };
    for (file, parsed) in &reading.files {
        for source in &parsed.objects {
            take(project, reading, served, homes, file, source, &mut resolved);
        }
    }
    own_namespace(project, reading, &mut resolved);
    resolved.problems.sort();
    resolved.problems.dedup();
    resolved
}

fn take(
    project: &str,
    reading: &Reading,
    served: &BTreeMap<GroupVersionKind, Served>,
    homes: &dyn Fn(&ObjectId) -> Option<String>,
    file: &str,
    source: &Source,
    resolved: &mut Resolved,
) {
    let mut wanted = Wanted {
        kind: source.kind.clone(),
        file: file.to_owned(),
        line: source.line,
        column: source.column,
        excerpt: source.excerpt.clone(),
        object: source.object.clone(),
        renamed_from: None,
        only_there: false,
    };
    let Some(known) = served.get(&source.kind) else {
        let GroupVersionKind { kind, .. } = &source.kind;
        let api_version = source.kind.api_version();
        let own = definition_in(reading, &source.kind);
        let problem = own.unwrap_or_else(|| {
            wanted.problem(format!(
                "the API doesn't know the kind {kind} of {api_version}: check both words, set served: true in its definition, or add its definition to the project"
            ))
        });
        resolved.problems.push(problem);
        resolved.unknown.insert(source.kind.clone());
        resolved.unsure.insert(file.to_owned());
        return;
    };
    let namespace = known.namespaced.then(|| {
        let namespace = source.namespace.as_deref();
        namespace.unwrap_or(reading.settings.namespace()).to_owned()
    });
    let id = ObjectId {
        group: source.kind.group.clone(),
        kind: source.kind.kind.clone(),
        namespace: namespace.clone(),
        name: source.name.clone(),
    };
    if id.kind == project::KIND && id.group == project::GROUP && id.name == project {
        resolved.problems.push(wanted.problem(format!(
            "a project can't define itself: settings are in {SETTINGS_FILE}"
        )));
        return;
    }
    let marks = Marks {
        project: Some((project.to_owned(), file.to_owned())),
        blueprint: blueprint(&source.object, reading),
        protect: reading.settings.protects(&id.kind, &id.name),
    };
    let former = &source.object["metadata"]["annotations"][ANNOTATION_RENAMED_FROM];
    let former = former.as_str().filter(|former| *former != id.name);
    wanted.renamed_from = former.map(ToOwned::to_owned);
    let said = reading.programs.noted(&source.object);
    wanted.object = Arc::new(prepare(&said, namespace.as_deref(), &marks));
    let Some(first) = resolved.wanted.get(&id) else {
        resolved.wanted.insert(id, wanted);
        return;
    };
    let at_home = first.file != wanted.file && homes(&id).as_deref() == Some(&wanted.file);
    let (counts, other) = if at_home {
        (&wanted, first)
    } else {
        (first, &wanted)
    };
    let place = match counts.line {
        0 => counts.file.clone(),
        line => format!("{}, line {line}", counts.file),
    };
    let problem = other.problem(format!(
        "{id} already exists in {place}: remove one of the two"
    ));
    resolved.unsure.insert(other.file.clone());
    resolved.problems.push(problem);
    if at_home {
        resolved.wanted.insert(id, wanted);
    }
}

/// The problem of a definition in the files that says itself that it doesn't serve a kind.
fn definition_in(reading: &Reading, wanted: &GroupVersionKind) -> Option<ProjectProblem> {
    let GroupVersionKind {
        group,
        version,
        kind,
    } = wanted;
    let sources = reading.files.iter();
    let mut sources =
        sources.flat_map(|(file, parsed)| parsed.objects.iter().map(move |source| (file, source)));
    let (file, found) = sources.find(|(_, source)| {
        let defines = defined(&source.object) == (group.clone(), kind.clone());
        source.kind.kind == "CustomResourceDefinition" && defines
    })?;
    let versions = found.object["spec"]["versions"]
        .as_array()
        .into_iter()
        .flatten();
    let mut unserved =
        versions.filter(|found| found["name"] == **version && found["served"] == false);
    unserved.next()?;
    Some(ProjectProblem {
        file: file.clone(),
        line: found.line,
        column: found.column,
        excerpt: found.excerpt.clone(),
        message: format!(
            "the kind {kind} of {group}/{version} isn't served, so that its objects are left as they are: set served: true for {version}"
        ),
    })
}

/// A namespace that the settings name, and no file defines, is made if it isn't there.
fn own_namespace(project: &str, reading: &Reading, resolved: &mut Resolved) {
    let name = reading.settings.namespace();
    let id = ObjectId {
        kind: "Namespace".into(),
        name: name.to_owned(),
        ..ObjectId::default()
    };
    if name == DEFAULT_NAMESPACE || resolved.wanted.contains_key(&id) {
        return;
    }
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let marks = Marks {
        project: Some((project.to_owned(), SETTINGS_FILE.to_owned())),
        blueprint: None,
        protect: reading.settings.protects(&id.kind, &id.name),
    };
    let wanted = Wanted {
        kind: GroupVersionKind::new("", "v1", "Namespace"),
        file: SETTINGS_FILE.to_owned(),
        line: 0,
        column: 0,
        excerpt: String::new(),
        object: Arc::new(prepare(&object, None, &marks)),
        renamed_from: None,
        only_there: true,
    };
    resolved.wanted.insert(id, wanted);
}

/// The sum of the blueprint that an installation names by path, if it is one of the project's.
fn blueprint(object: &Value, reading: &Reading) -> Option<String> {
    let api_version = object["apiVersion"].as_str()?;
    if object["kind"] != "Installation" || !api_version.starts_with(landscaper::GROUP) {
        return None;
    }
    let path = object["spec"]["blueprint"]["path"].as_str()?;
    reading.blueprints.get(&plain_path(path)).cloned()
}
