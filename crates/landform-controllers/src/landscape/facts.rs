//! What is remembered of an installation: enough to know whom it concerns and where it stands.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;
use kube::core::DynamicObject;
use landform_api::GroupVersionKind;
use landform_api::landscaper::installation::{
    ImportStatus, InstallationExports, InstallationImports, NamedReference, ObjectReference,
};
use landform_api::landscaper::report::{NESTED_FAILED, ObjectName, WRITE_REFUSED};
use landform_api::landscaper::{
    self, AutomaticReconcile, DeployItem, Execution, InstallationPhase, LastError, Operation,
    WaitingOn, keys, names,
};
use landform_decide::execution::Item;
use landform_decide::installation::{Child, ChildKind};
use landform_decide::{Rule, Standing};
use serde::Deserialize;
use serde_json::{Value, json};

use super::belonging;
use super::content;
pub(super) use super::movement::{content, movement};
use super::objects::{labelled, owning_execution, owning_installation};

/// The reason of the error of one whose nested objects can't go.
pub(super) const DELETION_FAILED: &str = "DeletionFailed";

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

/// Where one import comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// From these objects of the installation's context.
    Objects(Vec<Given>),
    /// From the list of targets that the parent imports under this name.
    ListOfParent(String),
    /// From the map of targets that the parent imports under this name.
    MapOfParent(String),
}

/// The generations of imports, by name; a list has one for each of its targets, and what doesn't exist an empty one.
/// Imports from Secrets and ConfigMaps have none.
pub(super) type Generations = BTreeMap<String, Vec<String>>;

/// A blueprint that is named by path, and which of its files were used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BlueprintUsed {
    pub(super) path: String,
    /// The sum of its files at the last update; empty where none is recorded.
    pub(super) digest: String,
    /// The sum of the files with which the installation failed, if it has.
    pub(super) failed_with: String,
}

/// An installation at a glance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) name: String,
    pub(super) parent: Option<String>,
    /// The installation that owns it. After a rename of the parent this is the new name at once. Where others have removed the
    /// owner reference, it is the one that the API server has noted.
    pub(super) owner: Option<String>,
    pub(super) phase: Option<InstallationPhase>,
    pub(super) up_to_date: bool,
    /// Whether it failed, or was aborted, as it is now.
    pub(super) ended: bool,
    /// The imports' generations at that time, as a hash.
    pub(super) ended_imports: String,
    pub(super) operation: Option<Operation>,
    pub(super) marked: bool,
    /// Whether a force was asked for or has begun.
    pub(super) forced: bool,
    /// Whether it is marked and has taken down what it could.
    pub(super) gone_as_far_as_possible: bool,
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
    /// Where its imports come from, by name; not those from Secrets and ConfigMaps.
    pub(super) sources: BTreeMap<String, Source>,
    /// The imports' generations at the last update.
    pub(super) recorded: Generations,
    /// What it has exported.
    pub(super) exported: BTreeSet<Given>,
    /// Whether all that it waits for is a deployer that has not come yet.
    pub(super) unclaimed: bool,
    /// What it says that it waits for, and why.
    pub(super) waiting_on: Vec<(ObjectName, String)>,
    /// Whether it knows that what it deployed is to stay (I36).
    pub(super) bare: bool,
    /// The last thing that went wrong with it.
    pub(super) error: Option<String>,
    /// Whether it has failed because a write was refused that it tries again.
    pub(super) refused: bool,
    /// Whether it says that it has failed because it is in a circle.
    pub(super) of_circle: bool,
    /// Whether it has failed because of what is nested in it.
    pub(super) failed_below: bool,
    /// Whether its spec is what its parent has written.
    pub(super) as_written: bool,
    /// Its blueprint, if that is named by path.
    pub(super) blueprint: Option<BlueprintUsed>,
    /// Whether its blueprint's files are known to be others than at the last update, its own or nested ones.
    pub(super) outdated: bool,
    /// Whether nothing is done with it as long as it is annotated so (I1).
    pub(super) ignored: bool,
    /// Whether it says whose it is, if it was made as a part of another one.
    pub(super) says_whose_it_is: bool,
    created: Option<Time>,
}

impl Facts {
    pub(super) fn of(object: &DynamicObject) -> Self {
        Self::nested_in(parent_of(object), object)
    }

    /// The same of one whose parent is known, whatever its label says.
    pub(super) fn nested_in(parent: Option<String>, object: &DynamicObject) -> Self {
        let installation = read(object);
        let (spec, status) = (&installation.spec, &installation.status);
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
            name: object.name_any(),
            as_written: is_as_written("Installation", object),
            blueprint: spec.blueprint.path.clone().map(|path| BlueprintUsed {
                path,
                digest: status.blueprint_digest.clone(),
                failed_with: match status.phase {
                    Some(InstallationPhase::Failed) => status.ended_blueprint.clone(),
                    _ => String::new(),
                },
            }),
            outdated: false,
            phase: status.phase,
            up_to_date: status.observed_generation == object.metadata.generation,
            ended: status.ended_generation == object.metadata.generation,
            ended_imports: in_context(&status.ended_imports).to_owned(),
            sources: sources(&spec.imports, scope.as_deref()),
            recorded: generations(&status.imports),
            exported: status
                .exported_objects
                .iter()
                .filter_map(given_of)
                .collect(),
            waiting_on: status
                .waiting_on
                .iter()
                .filter_map(|waiting| Some((waiting.object.clone()?, waiting.reason.clone())))
                .collect(),
            unclaimed: is_unclaimed(object),
            bare: is_bare(object),
            created: object.metadata.creation_timestamp.clone(),
            error: status
                .last_error
                .as_ref()
                .map(|error| error.message.clone()),
            refused: has_failed_by(status, WRITE_REFUSED),
            of_circle: has_failed_by(status, IN_CIRCLE),
            failed_below: has_failed_by(status, NESTED_FAILED),
            operation: operation_of(object),
            marked: object.metadata.deletion_timestamp.is_some(),
            forced: is_forced(object, status),
            gone_as_far_as_possible: is_gone_as_far_as_possible(object, status),
            deployed: status.observed_generation.is_some(),
            config_generation: status.config_generation.clone(),
            exports,
            imports: imports_of(&spec.imports, scope.as_deref()),
            lists,
            maps,
            taken: taken.collect(),
            owner: owning_installation(&object.metadata).map(str::to_owned),
            ignored: is_ignored(object, status.phase),
            says_whose_it_is: belonging::says_whose_it_is(object),
            parent,
        }
    }

    /// Whether its phase is about its present spec and its present imports (I10b). One that is in a circle has failed
    /// whatever is imported, and has noted no generations. What it has exported must be where
    /// those look for it that import it: a parent that was renamed has another context.
    pub(super) fn is_current(&self, present: &Generations) -> bool {
        let updated = self.up_to_date && !self.outdated && self.recorded == *present;
        let whatever = self.ended_imports.is_empty();
        let ended =
            self.ended && !self.outdated && (whatever || self.ended_imports == digest(present));
        match self.phase {
            Some(InstallationPhase::Succeeded) => {
                updated && self.exported.iter().eq(self.exports.keys())
            }
            // It stays so until its spec changes, or it is asked for something.
            Some(InstallationPhase::Aborted) => self.ended,
            _ => updated || ended,
        }
    }

    /// Who of those that export a name has it: the least (I40b). One that stays before one that goes, one that has
    /// exported it before one that has not, an older one before a younger one.
    pub(super) fn claim(&self, given: &Given) -> impl Ord + use<> {
        let has_it = self.exported.contains(given);
        (
            self.marked,
            !has_it,
            self.created.clone(),
            self.name.clone(),
        )
    }

    /// Whether others may import from it, as far as it alone can tell.
    pub(super) fn is_ready(&self) -> bool {
        self.phase == Some(InstallationPhase::Succeeded) && self.up_to_date && !self.is_queued()
    }

    pub(super) fn is_queued(&self) -> bool {
        match self.operation {
            Some(Operation::Reconcile | Operation::ForceReconcile) => true,
            Some(Operation::Abort | Operation::Interrupt) | None => false,
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

/// Where imports come from; not those from Secrets and ConfigMaps.
fn sources(imports: &InstallationImports, scope: Option<&str>) -> BTreeMap<String, Source> {
    let given = |kind, key: &str| Given {
        kind,
        name: names::data_name(scope, key),
    };
    let data = imports.data.iter().filter(|import| {
        let elsewhere = import.secret_ref.is_some() || import.config_map_ref.is_some();
        !import.data_ref.is_empty() && !elsewhere
    });
    let data = data.map(|import| {
        let source = Source::Objects(vec![given(GivenKind::Data, &import.data_ref)]);
        (import.name.clone(), source)
    });
    let targets = imports.targets.iter().filter_map(|import| {
        let source = match &import.targets {
            Some(targets) => {
                let targets = targets.iter().map(|key| given(GivenKind::Target, key));
                Source::Objects(targets.collect())
            }
            None if !import.target_list_ref.is_empty() => {
                Source::ListOfParent(import.target_list_ref.clone())
            }
            None if import.target_map.is_some() => {
                let targets = import.target_map.iter().flat_map(BTreeMap::values);
                let targets = targets.map(|key| given(GivenKind::Target, key));
                Source::Objects(targets.collect())
            }
            None if !import.target_map_ref.is_empty() => {
                Source::MapOfParent(import.target_map_ref.clone())
            }
            None if import.target.is_empty() => return None,
            None => Source::Objects(vec![given(GivenKind::Target, &import.target)]),
        };
        Some((import.name.clone(), source))
    });
    data.chain(targets).collect()
}

/// The generations that a status has noted.
pub(super) fn generations(imports: &[ImportStatus]) -> Generations {
    let all = imports.iter().filter_map(|import| {
        let generations = if !import.target_map.is_empty() {
            let map = import.target_map.values();
            map.map(|target| target.config_generation.clone()).collect()
        } else if import.target_list.is_empty() {
            let named = !import.data_ref.is_empty() || !import.target.is_empty();
            named.then(|| vec![import.config_generation.clone()])?
        } else {
            let list = import.target_list.iter();
            list.map(|target| target.config_generation.clone())
                .collect()
        };
        Some((import.name.clone(), generations))
    });
    all.collect()
}

/// Generations in one word.
fn digest(generations: &Generations) -> String {
    content::hash(&json!(generations))
}

/// The generations of all imports in one word: first of those that the parent knows, too, then of Secrets and ConfigMaps.
pub(super) fn digest_of_all(imports: &[ImportStatus]) -> String {
    let outside = imports.iter().filter_map(|import| {
        let outside = import.secret_ref.is_some() || import.config_map_ref.is_some();
        outside.then_some((&import.name, &import.config_generation))
    });
    let outside: BTreeMap<_, _> = outside.collect();
    let within = digest(&generations(imports));
    format!("{within}/{}", content::hash(&json!(outside)))
}

/// The part of such a word that the parent knows, too.
fn in_context(digest: &str) -> &str {
    digest.split_once('/').map_or(digest, |(within, _)| within)
}

pub(super) fn given_of(object: &ObjectName) -> Option<Given> {
    let kinds = [GivenKind::Data, GivenKind::Target].into_iter();
    let kind = kinds.into_iter().find(|kind| kind.word() == object.kind)?;
    Some(Given {
        kind,
        name: object.name.clone(),
    })
}

fn is_forced(object: &DynamicObject, status: &StatusGlance) -> bool {
    status.force_begun || operation_of(object) == Some(Operation::ForceReconcile)
}

/// Whether what goes has taken down all that can be removed. A try by force that is asked for has still to come.
fn is_gone_as_far_as_possible(object: &DynamicObject, status: &StatusGlance) -> bool {
    let marked = object.metadata.deletion_timestamp.is_some();
    let held = object
        .finalizers()
        .iter()
        .any(|name| name == keys::FINALIZER);
    let asked = operation_of(object) == Some(Operation::ForceReconcile) && !status.force_begun;
    let failed = has_failed_by(status, DELETION_FAILED) && !asked;
    marked && (failed || !held)
}

/// The reason of a last error about a circle of imports.
pub(super) const IN_CIRCLE: &str = "CyclicDependencies";

/// Whether it has failed, and the last error has this reason.
pub(super) fn has_failed_by(status: &StatusGlance, reason: &str) -> bool {
    status.phase == Some(InstallationPhase::Failed) && is_about(status.last_error.as_ref(), reason)
}

fn is_about(error: Option<&LastError>, reason: &str) -> bool {
    error.is_some_and(|error| error.reason == reason)
}

/// Whether nothing is done with an installation in this phase (I1).
pub(super) fn is_ignored(object: &DynamicObject, phase: Option<InstallationPhase>) -> bool {
    let ignore = object.annotations().get(keys::IGNORE);
    phase.is_some_and(InstallationPhase::is_final)
        && ignore.is_some_and(|value| value == keys::TRUE)
}

pub(super) fn is_bare(object: &DynamicObject) -> bool {
    let annotation = object.annotations().get(keys::DELETE_WITHOUT_UNINSTALL);
    annotation.is_some_and(|value| value == keys::TRUE)
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
    pub(super) automatic_reconcile: Option<AutomaticReconcile>,
    pub(super) blueprint: BlueprintGlance,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct BlueprintGlance {
    pub(super) path: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct StatusGlance {
    pub(super) phase: Option<InstallationPhase>,
    pub(super) observed_generation: Option<i64>,
    pub(super) ended_generation: Option<i64>,
    pub(super) ended_imports: String,
    pub(super) blueprint_digest: String,
    pub(super) ended_blueprint: String,
    pub(super) exported_objects: Vec<ObjectName>,
    pub(super) context_objects: Vec<ObjectName>,
    pub(super) installation_refs: Vec<NamedReference>,
    pub(super) waiting_on: Vec<WaitingOn>,
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
    labelled(object, keys::ENCOMPASSED_BY).map(str::to_owned)
}

pub(super) fn operation_of(object: &DynamicObject) -> Option<Operation> {
    let annotation = object.annotations().get(keys::OPERATION)?;
    Operation::parse(annotation)
}

/// An execution, as its installation sees it.
pub(super) fn execution(object: &DynamicObject) -> Child {
    let execution = Execution::deserialize(&object.data).unwrap_or_default();
    let status = execution.status;
    let operation = operation_of(object);
    let refused = is_about(status.last_error.as_ref(), WRITE_REFUSED);
    let asked = operation.is_some() && !refused;
    let current = status.observed_generation == object.metadata.generation && !asked;
    let phase = status.phase.map(Into::into);
    Child {
        kind: ChildKind::Execution,
        name: object.name_any(),
        phase,
        standing: Standing::of(phase, current),
        because: None,
        unclaimed: is_unclaimed(object) && operation.is_none(),
        marked: object.metadata.deletion_timestamp.is_some(),
        bare: is_bare(object),
        operation,
        error: status.last_error.map(|error| error.message),
    }
}

/// Whether an installation or an execution waits for nothing but deployers that have not come yet: those that have begun
/// are waited for by other rules.
pub(super) fn is_unclaimed(object: &DynamicObject) -> bool {
    let status = &object.data["status"];
    let waiting = status["waitingOn"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    status["phase"] == "Progressing" && !waiting.is_empty() && waiting.iter().all(is_for_deployer)
}

/// Whether an item was handed out to a deployer elsewhere, and none has come for it yet.
pub(super) fn is_unclaimed_item(object: &DynamicObject) -> bool {
    let annotations = object.annotations();
    let handed_out = annotations.contains_key(keys::RECONCILE_TIME);
    let waiting = object.data["status"]["waitingOn"].as_array();
    handed_out && waiting.is_some_and(|waiting| waiting.iter().any(is_for_deployer))
}

fn is_for_deployer(waiting: &Value) -> bool {
    waiting["rule"] == Rule::E12.to_string().as_str()
}

/// A deploy item, as its execution sees it; what the execution knows of it is not in here.
pub(super) fn item(object: &DynamicObject) -> Item {
    let item = DeployItem::deserialize(&object.data).unwrap_or_default();
    let depends_on = object.annotations().get(keys::DEPENDS_ON);
    let depends_on = depends_on.map_or("", String::as_str).split(',');
    let depends_on = depends_on.filter(|name| !name.is_empty());
    Item {
        name: labelled(object, keys::ITEM_NAME)
            .unwrap_or_default()
            .to_owned(),
        object: object.name_any(),
        depends_on: depends_on.map(str::to_owned).collect(),
        generation: object.metadata.generation.unwrap_or_default(),
        observed_generation: item.status.observed_generation,
        phase: item.status.phase,
        marked: object.metadata.deletion_timestamp.is_some(),
        bare: is_bare(object),
        is_whole: owning_execution(&object.metadata).is_some(),
        handed_out: object.annotations().contains_key(keys::RECONCILE_TIME),
        unclaimed: is_unclaimed_item(object),
        operation: operation_of(object),
        stored: None,
        error: item.status.last_error.map(|error| error.message),
    }
}

/// The generation of a DataObject (a hash of its content) or of a Target.
pub(super) fn generation(kind: GivenKind, object: &DynamicObject) -> String {
    match kind {
        GivenKind::Data => content::hash(&noted(kind, &object.data)),
        GivenKind::Target => {
            let generation = object.metadata.generation.unwrap_or_default();
            format!("{}/{generation}", object.uid().unwrap_or_default())
        }
    }
}

/// Whether the spec of a nested object is what its installation has written, as far as it carries a hash (I5b).
pub(super) fn is_as_written(kind: &str, object: &DynamicObject) -> bool {
    let noted = object.annotations().get(keys::SPEC_HASH);
    noted.is_none_or(|noted| *noted == content::hash_of_spec(kind, &object.data["spec"]))
}

/// Whether the content of a DataObject or a Target is what an installation has written, as far as it carries a hash.
pub(super) fn is_intact(kind: GivenKind, object: &DynamicObject) -> bool {
    let hash = object.annotations().get(keys::DATA_HASH);
    hash.is_none_or(|hash| *hash == content::hash(&noted(kind, &object.data)))
}

/// What of a DataObject or a Target its hash is about, of all that it has beside its metadata.
pub(super) fn noted(kind: GivenKind, object: &Value) -> Value {
    let data = &object["data"];
    match (kind, &object["secretRef"]) {
        (GivenKind::Data, Value::Null) => data.clone(),
        (GivenKind::Data, kept) => json!([data, kept]),
        (GivenKind::Target, _) => object["spec"].clone(),
    }
}
