//! Reads what the decision about an installation may see.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::ResourceExt as _;
use kube::core::{DynamicObject, ObjectMeta};
use landform_api::landscaper::installation::{InstallationSpec, InstallationStatus};
use landform_api::landscaper::report::{ObjectName, WRITE_REFUSED};
use landform_api::landscaper::{InstallationPhase, LastError, Operation, keys};
use landform_decide::installation::{Child, ChildKind, Dependency, Importer, Observed, Parent};
use landform_engine::{Context, Failure};

use super::automatic;
use super::imported;
use super::imports::{self, Resolved};
use super::moment;
use crate::landscape::blueprints::{Blueprints, Sums};
use crate::landscape::facts::{self, DELETION_FAILED, Facts, Given};
use crate::landscape::family::{self, Family};
use crate::landscape::index::Index;
use crate::landscape::objects::{Objects, is_owned_by, owning_installation};

/// So many nested objects are read at once.
const READS_AT_ONCE: usize = 16;

/// An installation with what is around it and below it, as it is now.
pub(super) struct World {
    pub(super) metadata: ObjectMeta,
    pub(super) spec: InstallationSpec,
    pub(super) status: InstallationStatus,
    pub(super) objects: Objects,
    pub(super) parent: Option<String>,
    pub(super) imports: Vec<Resolved>,
    pub(super) children: Vec<(ChildKind, DynamicObject)>,
    /// Whether rights to something that it imports are missing (C6).
    pub(super) lacks_rights: bool,
    /// The sum of its blueprint's files, if that is known.
    pub(super) blueprint_digest: Option<String>,
    observed: Observed,
}

impl World {
    pub(super) async fn read(
        context: &Context,
        index: &Index,
        blueprints: &Blueprints,
        metadata: &ObjectMeta,
        status: &InstallationStatus,
    ) -> Result<Self, Failure> {
        let object = context.object();
        let spec: InstallationSpec =
            serde_json::from_value(object.data["spec"].clone()).map_err(|error| {
                Failure::Invalid(format!("the installation can't be read: {error}"))
            })?;
        let namespace = object.namespace().unwrap_or_default();
        let own = object.name_any();
        let objects = Objects::new(context.client(), &namespace);
        let parent = facts::parent_of(object);
        let facts = Facts::of(object);
        let fresh = imports::fresh(&objects, index, &facts).await?;
        let importer = imports::Importer {
            context,
            index,
            namespace: &namespace,
            name: &own,
            parent: parent.as_deref(),
            recorded: status,
            denied: imports::denied(context, index).await?,
            whole: imported::whole(context, &objects, &fresh).await?,
            fresh,
        };
        let lacks_rights = !importer.denied.is_empty();
        let mut imports = importer.resolve(&spec);
        importer.leave_out_optional(&spec, &mut imports, blueprints);
        let missing_context = importer.missing_context(&spec);
        let children = children(context, &objects, index, metadata, status).await?;
        let sums = Sums::new(blueprints);
        let path = spec.blueprint.path.as_deref();
        let blueprint_digest = path.and_then(|path| sums.of(path));
        let below = Below {
            objects: &objects,
            index,
            own: &own,
            uid: metadata.uid.as_deref(),
            status,
            children: &children,
            sums: &sums,
        };
        let around = Around {
            index,
            namespace: &namespace,
            own: &own,
            facts: &facts,
            read: moment::generations_read(context),
        };
        let parent_seen = parent.as_deref().map(|parent| around.parent(parent));
        let operation = annotation(metadata, keys::OPERATION).and_then(Operation::parse);
        let recorded = &status.blueprint_digest;
        let own_blueprint = blueprint_digest.as_ref().is_some_and(|now| {
            // Before sums were recorded, a project asked for this when a file was saved.
            let asked =
                operation == Some(Operation::Reconcile) && status.observed_generation.is_some();
            now != recorded && (!recorded.is_empty() || asked)
        });
        // What is nested is updated in the course of this one's update only (I14b).
        let may_update = parent_seen
            .as_ref()
            .is_none_or(|parent| parent.phase == Some(InstallationPhase::Progressing));
        // One that has failed rests until its parent is at work: what it deployed isn't what the files say.
        let has_failed = status.phase == Some(InstallationPhase::Failed);
        let nested_changed = below.is_to_be_updated();
        let waits_for_parent = own_blueprint && has_failed && !may_update;
        let blueprint_changed = metadata.deletion_timestamp.is_none()
            && (waits_for_parent || (may_update && (own_blueprint || nested_changed)));
        let error = status.last_error.as_ref();
        // Others can end these without a change of this one.
        let ends = |error: &LastError| {
            ["DuplicateExport", WRITE_REFUSED, DELETION_FAILED].contains(&&*error.reason)
        };
        let unseen = spec.blueprint.path.is_some() && blueprint_digest.is_none();
        let by_others = error.is_some_and(ends) || unseen;
        let failed = has_failed
            && status.ended_generation == metadata.generation
            && status.ended_imports == digest_of_imports(&imports)
            && status.ended_blueprint == blueprint_digest.clone().unwrap_or_default();
        let observed = Observed {
            now_ms: context.now_ms(),
            automatic: automatic::observed(spec.automatic_reconcile.as_ref(), status),
            failed_as_it_is: (failed && !by_others && !nested_changed) || waits_for_parent,
            refused: facts.refused,
            generation: metadata.generation.unwrap_or_default(),
            observed_generation: status.observed_generation,
            phase: status.phase,
            force_begun: status.force_begun,
            update_begun: status.phase == Some(InstallationPhase::PendingDependencies)
                && status.waiting_on.is_empty(),
            marked: metadata.deletion_timestamp.is_some(),
            held: held(metadata),
            operation,
            ignore: annotation(metadata, keys::IGNORE) == Some(keys::TRUE),
            aborted: status.phase == Some(InstallationPhase::Aborted)
                && status.ended_generation == metadata.generation,
            parent: parent_seen,
            children: below.seen(metadata.uid.as_deref()).await?,
            imports: imports
                .iter()
                .flat_map(|found| found.imports.clone())
                .chain(missing_context)
                .collect(),
            imports_differ: imports::differ(&status.imports, &imports),
            blueprint_changed,
            dependencies: around.dependencies(),
            importers: around.importers(),
            rivals: around.rivals(),
            bare: annotation(metadata, keys::DELETE_WITHOUT_UNINSTALL) == Some(keys::TRUE),
            lost: below.lost().await?,
            exports_lost: below.drifted(&status.exported_objects).await?.is_some(),
        };
        Ok(Self {
            metadata: metadata.clone(),
            spec,
            status: status.clone(),
            objects,
            parent,
            imports,
            children,
            lacks_rights,
            blueprint_digest,
            observed,
        })
    }

    pub(super) fn observed(&self) -> Observed {
        self.observed.clone()
    }

    /// The generations of all imports, in one word.
    pub(super) fn digest_of_imports(&self) -> String {
        digest_of_imports(&self.imports)
    }

    /// Its execution, if there is one.
    pub(super) fn execution(&self) -> Option<&DynamicObject> {
        let mut children = self.children.iter();
        let found = children.find(|(kind, _)| *kind == ChildKind::Execution);
        found.map(|(_, execution)| execution)
    }

    pub(super) fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }
}

fn digest_of_imports(imports: &[Resolved]) -> String {
    let imports: Vec<_> = imports.iter().map(|found| found.status.clone()).collect();
    facts::digest_of_all(&imports)
}

pub(super) fn annotation<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

pub(super) fn held(metadata: &ObjectMeta) -> bool {
    let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
    finalizers.iter().any(|name| name == keys::FINALIZER)
}

/// The nested objects that exist and are this installation's own, read now.
async fn children(
    context: &Context,
    objects: &Objects,
    index: &Index,
    metadata: &ObjectMeta,
    status: &InstallationStatus,
) -> Result<Vec<(ChildKind, DynamicObject)>, Failure> {
    let own = metadata.name.clone().unwrap_or_default();
    let mut nested: BTreeSet<String> = index.children(objects.namespace(), &own);
    let refs = status.installation_refs.iter();
    nested.extend(refs.map(|found| found.reference.name.clone()));
    let nested = nested
        .into_iter()
        .map(|name| (ChildKind::Installation, name));
    let wanted: Vec<_> = nested.chain([(ChildKind::Execution, own)]).collect();
    let reads = wanted.into_iter().map(|(kind, name)| async move {
        let found = objects.get(word(kind), &name).await?;
        Ok::<_, Failure>(found.map(|found| (kind, found)))
    });
    let found: Vec<_> = stream::iter(reads)
        .buffered(READS_AT_ONCE)
        .try_collect()
        .await?;
    let found = found.into_iter().flatten();
    Ok(found
        .filter(|(_, object)| {
            // One whose owner reference others took away is still this one's, and is put right.
            is_owned_by(&object.metadata, metadata.uid.as_deref())
                || context.is_part(object) == Some(true)
        })
        .collect())
}

pub(super) fn word(kind: ChildKind) -> &'static str {
    match kind {
        ChildKind::Installation => "Installation",
        ChildKind::Execution => "Execution",
    }
}

/// What an installation has made.
struct Below<'a> {
    objects: &'a Objects,
    index: &'a Index,
    own: &'a str,
    uid: Option<&'a str>,
    status: &'a InstallationStatus,
    children: &'a [(ChildKind, DynamicObject)],
    sums: &'a Sums<'a>,
}

/// The objects that nested installations import, read now: the index may be behind what this installation wrote a
/// moment ago.
struct Fresh<'a> {
    generations: BTreeMap<Given, Option<String>>,
    below: &'a Below<'a>,
}

impl family::Context for Fresh<'_> {
    fn generation(&self, given: &Given) -> Option<String> {
        match self.generations.get(given) {
            Some(generation) => generation.clone(),
            None => {
                let namespace = self.below.objects.namespace();
                self.below.index.generation(namespace, given)
            }
        }
    }

    fn list(&self, import: &str) -> Option<Vec<String>> {
        let below = self.below;
        let namespace = below.objects.namespace();
        below.index.target_list(namespace, below.own, import)
    }

    /// From the status, which is as new as what was written for nested installations.
    fn map(&self, import: &str) -> Option<Vec<String>> {
        let mut imports = self.below.status.imports.iter();
        let found = imports.find(|found| found.name == import)?;
        let keys = found.target_map.keys().cloned().collect();
        Some(family::elements(self.below.own, import, keys))
    }
}

impl Below<'_> {
    /// Whether an update of this one is under way, so that what is nested is updated, too.
    fn is_updating(&self) -> bool {
        self.status.phase == Some(InstallationPhase::Progressing)
    }

    fn is_outdated(&self, nested: &Facts) -> bool {
        let namespace = self.objects.namespace();
        self.index.is_outdated(namespace, nested, self.sums)
    }

    /// Whether blueprints of nested installations have changed, and no update is under way that would reach these.
    fn is_to_be_updated(&self) -> bool {
        let mut nested = self.children.iter();
        !self.is_updating()
            && nested.any(|(kind, object)| {
                *kind == ChildKind::Installation && self.is_outdated(&Facts::of(object))
            })
    }

    /// The nested objects, as the decision may see them.
    async fn seen(&self, uid: Option<&str>) -> Result<Vec<Child>, Failure> {
        let of = |wanted| {
            let children = self.children.iter();
            children.filter(move |(kind, _)| *kind == wanted)
        };
        let members: Vec<_> = of(ChildKind::Installation)
            .map(|(_, object)| {
                let mut facts = Facts::of(object);
                facts.outdated = self.is_updating() && self.is_outdated(&facts);
                facts
            })
            .collect();
        let mut fresh = Fresh {
            generations: BTreeMap::new(),
            below: self,
        };
        if !Family::is_at_work(&members) {
            for given in Family::imported(&members, &fresh) {
                let found = self.objects.get(given.kind.word(), &given.name).await?;
                let found = found.filter(|found| {
                    let owner = owning_installation(&found.metadata);
                    owner.is_none() || is_owned_by(&found.metadata, uid)
                });
                let generation = found.map(|found| facts::generation(given.kind, &found));
                fresh.generations.insert(given, generation);
            }
        }
        let mut seen = Family::new(&members, self.own, &fresh).children();
        seen.extend(of(ChildKind::Execution).map(|(_, object)| facts::execution(object)));
        Ok(seen)
    }

    /// What of it others have deleted or changed (I5b), in words.
    async fn lost(&self) -> Result<Option<String>, Failure> {
        let is_there = |kind, name: &str| {
            let mut children = self.children.iter();
            children.any(|(found, object)| {
                *found == kind && (kind == ChildKind::Execution || object.name_any() == name)
            })
        };
        let execution = self.status.execution_ref.iter();
        let execution = execution.map(|found| (ChildKind::Execution, &found.name));
        let nested = self.status.installation_refs.iter();
        let nested = nested.map(|found| (ChildKind::Installation, &found.reference.name));
        let missing = execution
            .chain(nested)
            .find(|(kind, name)| !is_there(*kind, name));
        if let Some((kind, name)) = missing {
            return Ok(Some(format!("the {} {name}", word(kind))));
        }
        let mut children = self.children.iter();
        let edited = children.find(|(kind, object)| {
            let parent = facts::parent_of(object);
            let is_whole = facts::is_as_written(word(*kind), object)
                && is_owned_by(&object.metadata, self.uid)
                && (*kind == ChildKind::Execution || parent.as_deref() == Some(self.own));
            object.metadata.deletion_timestamp.is_none() && !is_whole
        });
        if let Some((kind, object)) = edited {
            return Ok(Some(format!("the {} {}", word(*kind), object.name_any())));
        }
        self.drifted(&self.status.context_objects).await
    }

    /// The first object that this installation has written and that isn't as it was, in words. The index says where to
    /// look, and the object itself whether it is so.
    async fn drifted(&self, objects: &[ObjectName]) -> Result<Option<String>, Failure> {
        let namespace = self.objects.namespace();
        if self.index.drift(namespace, objects).is_none() {
            return Ok(None);
        }
        for object in objects {
            let Some(given) = facts::given_of(object) else {
                continue;
            };
            let found = self.objects.get(&object.kind, &object.name).await?;
            if !found.is_some_and(|found| facts::is_intact(given.kind, &found)) {
                return Ok(Some(format!("the {} {}", object.kind, object.name)));
            }
        }
        Ok(None)
    }
}

/// What an installation's siblings and parent are, as the index knows them.
struct Around<'a> {
    index: &'a Index,
    namespace: &'a str,
    own: &'a str,
    facts: &'a Facts,
    /// The generations of the objects that it imports, as this run has read them.
    read: BTreeMap<Given, String>,
}

impl Around<'_> {
    fn parent(&self, name: &str) -> Parent {
        let facts = self.index.facts(self.namespace, name);
        Parent {
            name: name.to_owned(),
            phase: facts.as_ref().and_then(Facts::phase_for_nested),
            failed_below: facts.as_ref().is_some_and(|facts| facts.failed_below),
            forced: facts.as_ref().is_some_and(|facts| facts.forced),
            marked: facts.is_some_and(|facts| facts.marked),
        }
    }

    fn dependencies(&self) -> Vec<Dependency> {
        let imports = &self.facts.imports;
        let (index, read) = (self.index, &self.read);
        index.dependencies(self.namespace, self.own, imports, read)
    }

    fn importers(&self) -> Vec<Importer> {
        // What another sibling has taken over, nobody imports from this one any more.
        let own = self.facts.exports.keys();
        let own = own.filter(|given| !self.index.is_a_persons(self.namespace, given));
        let mut names: BTreeMap<String, Option<String>> = BTreeMap::new();
        for given in own {
            let heir = self.heir(given);
            if heir
                .as_ref()
                .is_some_and(|heir| heir.exported.contains(given))
            {
                continue;
            }
            let importers = self.index.importers(self.namespace, given).into_iter();
            for name in importers.filter(|name| name != self.own) {
                let known = names.entry(name).or_default();
                *known = known.take().or(heir.as_ref().map(|heir| heir.name.clone()));
            }
        }
        let parent = self.facts.parent.as_deref().map(|name| self.parent(name));
        let all_go = parent.is_some_and(|parent| parent.marked && parent.forced);
        let names = names.into_iter();
        names
            .map(|(name, heir)| {
                let facts = self.index.facts(self.namespace, &name);
                let going = facts.as_ref().is_some_and(|facts| facts.marked);
                let done = facts
                    .as_ref()
                    .is_some_and(|facts| facts.gone_as_far_as_possible);
                let deployed = facts.is_some_and(|facts| facts.deployed);
                // One that goes with the same parent may not be marked yet.
                let circle =
                    (going || all_go) && self.index.depends(self.namespace, self.own, &name);
                Importer {
                    name,
                    going,
                    never_deployed_and_going: going && !deployed,
                    going_in_circle: circle,
                    gone_as_far_as_possible: done,
                    heir,
                }
            })
            .collect()
    }

    /// The sibling that exports something from now on, if this one goes (I40b).
    fn heir(&self, given: &Given) -> Option<Facts> {
        let next = self.index.exporter(self.namespace, self.own, given);
        next.filter(|next| self.facts.marked && !next.marked)
    }

    /// Only the one that comes second has a rival (I40b).
    fn rivals(&self) -> Vec<(String, String)> {
        let own = self.facts;
        let exports = own.exports.iter().filter_map(|(given, key)| {
            let first = self.index.exporter(self.namespace, self.own, given)?;
            let is_first = !first.marked && first.claim(given) < own.claim(given);
            is_first.then(|| (first.name, key.clone()))
        });
        exports.collect()
    }
}
