//! Reads what the decision about an installation may see.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::ResourceExt as _;
use kube::core::{DynamicObject, ObjectMeta};
use landform_api::landscaper::installation::{InstallationSpec, InstallationStatus};
use landform_api::landscaper::{InstallationPhase, Operation, keys};
use landform_decide::installation::{ChildKind, Dependency, Importer, Observed, Parent};
use landform_engine::{Context, Failure};

use super::imports::{self, Resolved};
use crate::landscape::blueprints::Blueprints;
use crate::landscape::facts::{self, Facts, Given};
use crate::landscape::index::Index;
use crate::landscape::objects::{Objects, is_owned_by};

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
        let importer = imports::Importer {
            context,
            index,
            namespace: &namespace,
            name: &own,
            parent: parent.as_deref(),
            recorded: status,
            denied: imports::denied(context).await?,
        };
        let mut imports = importer.resolve(&spec);
        importer.leave_out_optional(&spec, &mut imports, blueprints);
        let missing_context = importer.missing_context(&spec);
        let children = children(&objects, index, metadata, status).await?;
        let facts = Facts::of(object);
        let around = Around {
            index,
            namespace: &namespace,
            own: &own,
            facts: &facts,
        };
        let observed = Observed {
            generation: metadata.generation.unwrap_or_default(),
            observed_generation: status.observed_generation,
            phase: status.phase,
            force_begun: status.force_begun,
            update_begun: status.phase == Some(InstallationPhase::PendingDependencies)
                && status.waiting_on.is_empty(),
            marked: metadata.deletion_timestamp.is_some(),
            held: held(metadata),
            operation: annotation(metadata, keys::OPERATION).and_then(Operation::parse),
            ignore: annotation(metadata, keys::IGNORE) == Some(keys::TRUE),
            aborted: status.phase == Some(InstallationPhase::Aborted)
                && status.ended_generation == metadata.generation,
            parent: parent.as_deref().map(|parent| around.parent(parent)),
            children: children
                .iter()
                .map(|(kind, child)| facts::child(*kind, child))
                .collect(),
            imports: imports
                .iter()
                .flat_map(|found| found.imports.clone())
                .chain(missing_context)
                .collect(),
            imports_differ: imports::differ(&status.imports, &imports),
            dependencies: around.dependencies(),
            importers: around.importers(),
            rivals: around.rivals(),
        };
        Ok(Self {
            metadata: metadata.clone(),
            spec,
            status: status.clone(),
            objects,
            parent,
            imports,
            children,
            observed,
        })
    }

    pub(super) fn observed(&self) -> Observed {
        self.observed.clone()
    }

    pub(super) fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }
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
        .filter(|(_, object)| is_owned_by(&object.metadata, metadata.uid.as_deref()))
        .collect())
}

pub(super) fn word(kind: ChildKind) -> &'static str {
    match kind {
        ChildKind::Installation => "Installation",
        ChildKind::Execution => "Execution",
    }
}

/// What an installation's siblings and parent are, as the index knows them.
struct Around<'a> {
    index: &'a Index,
    namespace: &'a str,
    own: &'a str,
    facts: &'a Facts,
}

impl Around<'_> {
    fn parent(&self, name: &str) -> Parent {
        let facts = self.index.facts(self.namespace, name);
        Parent {
            name: name.to_owned(),
            phase: facts.as_ref().and_then(Facts::phase_for_nested),
            marked: facts.is_some_and(|facts| facts.marked),
        }
    }

    fn dependencies(&self) -> Vec<Dependency> {
        let imports = &self.facts.imports;
        self.index.dependencies(self.namespace, self.own, imports)
    }

    fn importers(&self) -> Vec<Importer> {
        // What another sibling exports from now on, nobody imports from this one any more.
        let own = |given: &&Given| !self.facts.marked || self.staying_rivals(given).is_empty();
        let exports = self.facts.exports.keys().filter(own);
        let names: BTreeSet<_> = exports
            .flat_map(|given| self.index.importers(self.namespace, given))
            .filter(|name| name != self.own)
            .collect();
        let names = names.into_iter();
        names
            .map(|name| {
                let facts = self.index.facts(self.namespace, &name);
                let idle = facts.is_some_and(|facts| facts.marked && !facts.deployed);
                Importer {
                    name,
                    never_deployed_and_going: idle,
                }
            })
            .collect()
    }

    fn rivals(&self) -> Vec<(String, String)> {
        let exports: BTreeMap<_, _> = self.facts.exports.iter().collect();
        let mut rivals = Vec::new();
        for (given, key) in exports {
            let others = self.staying_rivals(given).into_iter();
            rivals.extend(others.map(|name| (name, key.clone())));
        }
        rivals
    }

    /// Siblings that export the same and aren't being deleted.
    fn staying_rivals(&self, given: &Given) -> Vec<String> {
        let exporters = self.index.exporters(self.namespace, given).into_iter();
        let others = exporters.filter(|name| name != self.own);
        others
            .filter(|name| {
                let facts = self.index.facts(self.namespace, name);
                facts.is_some_and(|facts| !facts.marked)
            })
            .collect()
    }
}
