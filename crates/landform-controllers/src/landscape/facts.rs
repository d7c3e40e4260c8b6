//! What is remembered of an installation: enough to know whom it concerns and where it stands.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use kube::ResourceExt as _;
use kube::core::DynamicObject;
use landform_api::GroupVersionKind;
use landform_api::landscaper::installation::{
    ImportStatus, InstallationExports, InstallationImports, ObjectReference,
};
use landform_api::landscaper::{
    self, DeployItem, Execution, InstallationPhase, LastError, Operation, keys, names,
};
use landform_decide::Standing;
use landform_decide::execution::Item;
use landform_decide::installation::{Child, ChildKind};
use serde::Deserialize;

use super::content;

/// A DataObject or a Target that is exported or imported.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Given {
    pub(super) kind: GivenKind,
    /// The object's name.
    pub(super) name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum GivenKind {
    Data,
    Target,
}

impl GivenKind {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Data => "DataObject",
            Self::Target => "Target",
        }
    }

    pub(super) fn kind(self) -> GroupVersionKind {
        landscaper::kind(self.word())
    }
}

/// A list of targets that is imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TargetList {
    /// These, by object name.
    Names(Vec<String>),
    /// The one that the parent imports under this name.
    OfParent(String),
}

/// An installation at a glance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    /// As its parent sees it.
    pub(super) child: Child,
    pub(super) parent: Option<String>,
    pub(super) phase: Option<InstallationPhase>,
    pub(super) up_to_date: bool,
    /// Whether it failed, or was aborted, as it is now.
    pub(super) ended: bool,
    pub(super) operation: Option<Operation>,
    pub(super) marked: bool,
    /// Whether an update has ever succeeded.
    pub(super) deployed: bool,
    pub(super) config_generation: String,
    /// What it exports, with the names that people gave.
    pub(super) exports: BTreeMap<Given, String>,
    pub(super) imports: Vec<Given>,
    /// The lists of targets that it imports, by the import's name.
    pub(super) lists: BTreeMap<String, TargetList>,
    /// The keys of the maps of targets that it has imported, by the import's name: those are written where
    /// what is nested in it finds them.
    pub(super) maps: BTreeMap<String, Vec<String>>,
    /// The generations of its siblings that it has imported.
    pub(super) taken: BTreeMap<String, String>,
}

impl Facts {
    pub(super) fn of(object: &DynamicObject) -> Self {
        let installation = read(object);
        let (spec, status) = (&installation.spec, &installation.status);
        let parent = parent_of(object);
        let scope = parent.as_deref().map(names::installation_context);
        let name = |key: &str| names::data_name(scope.as_deref(), key);
        let given = |kind, key: &str| Given {
            kind,
            name: name(key),
        };
        let mut exports = BTreeMap::new();
        for export in &spec.exports.data {
            let key = &export.data_ref;
            exports.insert(given(GivenKind::Data, key), key.clone());
        }
        for export in &spec.exports.targets {
            let key = &export.target;
            exports.insert(given(GivenKind::Target, key), key.clone());
        }
        let lists = spec.imports.targets.iter().filter_map(|import| {
            let list = match &import.targets {
                Some(targets) => TargetList::Names(targets.iter().map(|key| name(key)).collect()),
                None if !import.target_list_ref.is_empty() => {
                    TargetList::OfParent(import.target_list_ref.clone())
                }
                None => return None,
            };
            Some((import.name.clone(), list))
        });
        let lists = lists.collect();
        let maps = status.imports.iter();
        let maps = maps.filter(|import| import.kind == "targetMap");
        let maps = maps.map(|import| {
            let keys = import.target_map.keys().cloned().collect();
            (import.name.clone(), keys)
        });
        let maps = maps.collect();
        let taken = status.imports.iter().filter_map(|import| {
            let source = import.source_ref.as_ref()?;
            Some((source.name.clone(), import.config_generation.clone()))
        });
        Self {
            child: child(ChildKind::Installation, object),
            phase: status.phase,
            up_to_date: status.observed_generation == object.metadata.generation,
            ended: status.ended_generation == object.metadata.generation,
            operation: operation_of(object),
            marked: object.metadata.deletion_timestamp.is_some(),
            deployed: status.observed_generation.is_some(),
            config_generation: status.config_generation.clone(),
            exports,
            imports: imports_of(&spec.imports, scope.as_deref()),
            lists,
            maps,
            taken: taken.collect(),
            parent,
        }
    }

    /// Whether others may import from it.
    pub(super) fn is_ready(&self) -> bool {
        self.phase == Some(InstallationPhase::Succeeded) && self.up_to_date && !self.is_queued()
    }

    pub(super) fn is_queued(&self) -> bool {
        match self.operation {
            Some(Operation::Reconcile | Operation::ForceReconcile) => true,
            Some(Operation::Abort) | None => false,
        }
    }

    /// Its phase, as those see it that are nested in it: one that failed to take something down takes the
    /// rest down nevertheless.
    pub(super) fn phase_for_nested(&self) -> Option<InstallationPhase> {
        let failed = self.phase == Some(InstallationPhase::Failed);
        if self.marked && failed && self.ended {
            return Some(InstallationPhase::Deleting);
        }
        self.phase
    }

    /// Moves when those who import from it should look again.
    pub(super) fn provision(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.is_ready().hash(&mut hasher);
        self.config_generation.hash(&mut hasher);
        // They say what they wait for: one that has failed is something else than one that is at work.
        let failed = self.phase == Some(InstallationPhase::Failed);
        failed.hash(&mut hasher);
        hasher.finish()
    }
}

/// The DataObjects and Targets that an installation imports by name.
fn imports_of(imports: &InstallationImports, scope: Option<&str>) -> Vec<Given> {
    let given = |kind, key: &str| Given {
        kind,
        name: names::data_name(scope, key),
    };
    let data = imports
        .data
        .iter()
        .filter(|import| !import.data_ref.is_empty());
    let data = data.map(|import| given(GivenKind::Data, &import.data_ref));
    let targets = imports.targets.iter().flat_map(|import| {
        let one = Some(&import.target).filter(|name| !name.is_empty());
        let map = import.target_map.iter().flat_map(BTreeMap::values);
        let many = import.targets.iter().flatten().chain(map);
        one.into_iter().chain(many)
    });
    let targets = targets.map(|key| given(GivenKind::Target, key));
    let mut all: Vec<_> = data.chain(targets).collect();
    all.sort();
    all.dedup();
    all
}

/// What of an installation others need to know. Everything else, a blueprint above all, is not even copied.
#[derive(Default)]
pub(super) struct Glance {
    pub(super) spec: SpecGlance,
    pub(super) status: StatusGlance,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SpecGlance {
    pub(super) context: Option<String>,
    pub(super) imports: InstallationImports,
    pub(super) exports: InstallationExports,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct StatusGlance {
    pub(super) phase: Option<InstallationPhase>,
    pub(super) observed_generation: Option<i64>,
    pub(super) ended_generation: Option<i64>,
    pub(super) force_begun: bool,
    pub(super) config_generation: String,
    pub(super) imports: Vec<ImportStatus>,
    pub(super) execution_ref: Option<ObjectReference>,
    pub(super) last_error: Option<LastError>,
}

/// An installation as far as it can be read; an unreadable part is empty, and the run says so.
pub(super) fn read(object: &DynamicObject) -> Glance {
    Glance {
        spec: SpecGlance::deserialize(&object.data["spec"]).unwrap_or_default(),
        status: StatusGlance::deserialize(&object.data["status"]).unwrap_or_default(),
    }
}

pub(super) fn parent_of(object: &DynamicObject) -> Option<String> {
    object.labels().get(keys::ENCOMPASSED_BY).cloned()
}

pub(super) fn operation_of(object: &DynamicObject) -> Option<Operation> {
    let annotation = object.annotations().get(keys::OPERATION)?;
    Operation::parse(annotation)
}

/// Moves when parents, children or siblings should look at an installation or an execution again.
pub(super) fn movement(object: &DynamicObject) -> u64 {
    let mut hasher = DefaultHasher::new();
    let status = &object.data["status"];
    status["phase"].as_str().hash(&mut hasher);
    status["observedGeneration"].as_i64().hash(&mut hasher);
    object.metadata.generation.hash(&mut hasher);
    object
        .metadata
        .deletion_timestamp
        .is_some()
        .hash(&mut hasher);
    let annotations = object.annotations();
    annotations.get(keys::OPERATION).hash(&mut hasher);
    annotations.get(keys::RECONCILE_TIME).hash(&mut hasher);
    hasher.finish()
}

/// Moves with the spec and with what annotations ask for.
pub(super) fn content(object: &DynamicObject) -> u64 {
    let mut hasher = DefaultHasher::new();
    object.metadata.uid.hash(&mut hasher);
    object.metadata.generation.hash(&mut hasher);
    let annotations = object.annotations();
    for key in [
        keys::OPERATION,
        keys::IGNORE,
        keys::DELETE_WITHOUT_UNINSTALL,
    ] {
        annotations.get(key).hash(&mut hasher);
    }
    hasher.finish()
}

/// A nested installation or an execution, as its parent sees it.
pub(super) fn child(kind: ChildKind, object: &DynamicObject) -> Child {
    let operation = operation_of(object);
    let generation = object.metadata.generation;
    let (phase, up_to_date, error) = match kind {
        ChildKind::Installation => {
            let status = read(object).status;
            // One that failed before an update, or was aborted, has observed nothing, and yet its phase
            // is about what it is now.
            let up_to_date =
                status.observed_generation == generation || status.ended_generation == generation;
            (status.phase, up_to_date, status.last_error)
        }
        ChildKind::Execution => {
            let execution: Execution = Execution::deserialize(&object.data).unwrap_or_default();
            let status = execution.status;
            let phase = status.phase.map(Into::into);
            let up_to_date = status.observed_generation == generation;
            (phase, up_to_date, status.last_error)
        }
    };
    Child {
        kind,
        name: object.name_any(),
        standing: Standing {
            phase,
            up_to_date: up_to_date && operation.is_none(),
        },
        marked: object.metadata.deletion_timestamp.is_some(),
        operation,
        error: error.map(|error| error.message),
    }
}

/// A deploy item, as its execution sees it; what the execution knows of it is not in here.
pub(super) fn item(object: &DynamicObject) -> Item {
    let item = DeployItem::deserialize(&object.data).unwrap_or_default();
    let depends_on = object.annotations().get(keys::DEPENDS_ON);
    let depends_on = depends_on.map_or("", String::as_str).split(',');
    let depends_on = depends_on.filter(|name| !name.is_empty());
    Item {
        name: object
            .labels()
            .get(keys::ITEM_NAME)
            .cloned()
            .unwrap_or_default(),
        object: object.name_any(),
        depends_on: depends_on.map(str::to_owned).collect(),
        generation: object.metadata.generation.unwrap_or_default(),
        observed_generation: item.status.observed_generation,
        phase: item.status.phase,
        marked: object.metadata.deletion_timestamp.is_some(),
        handed_out: object.annotations().contains_key(keys::RECONCILE_TIME),
        operation: operation_of(object),
        stored: None,
        error: item.status.last_error.map(|error| error.message),
    }
}

/// The generation of a DataObject (a hash of its content) or of a Target.
pub(super) fn generation(kind: GivenKind, object: &DynamicObject) -> String {
    match kind {
        GivenKind::Data => content::hash(&object.data["data"]),
        GivenKind::Target => {
            let generation = object.metadata.generation.unwrap_or_default();
            format!("{}/{generation}", object.uid().unwrap_or_default())
        }
    }
}
