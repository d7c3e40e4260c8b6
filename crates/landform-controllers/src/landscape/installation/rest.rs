//! Whether an installation needs nothing at all, from the index alone: at the start of a process most do.

use kube::ResourceExt as _;
use kube::core::DynamicObject;
use landform_api::landscaper::installation::{ImportStatus, InstallationImports};
use landform_api::landscaper::{Operation, keys, names};
use landform_decide::installation::{Decision, Observed};

use super::observe::{annotation, held};
use crate::landscape::facts::{self, Given, GivenKind, Glance, parent_of};
use crate::landscape::index::Index;

/// Whether a decision asks for nothing.
pub(super) fn asks_for_nothing(decision: &Decision) -> bool {
    let Decision {
        rule: _,
        actions,
        phase,
        waiting_on,
        problem,
        afterwards,
        again,
    } = decision;
    actions.is_empty()
        && afterwards.is_empty()
        && phase.is_none()
        && waiting_on.is_empty()
        && problem.is_none()
        && !again
}

/// What the decision would see, if all of it is in the index and no import changed. Siblings don't matter
/// then: they are looked at for an update or a deletion only.
pub(super) fn observed(object: &DynamicObject, index: &Index) -> Option<Observed> {
    let Glance { spec, status } = facts::read(object);
    let metadata = &object.metadata;
    let namespace = object.namespace()?;
    let own = object.name_any();
    let here = Here {
        index,
        namespace: &namespace,
        own: &own,
        scope: parent_of(object)
            .as_deref()
            .map(names::installation_context),
    };
    let resting =
        metadata.deletion_timestamp.is_none() && here.imports_rest(&spec.imports, &status.imports);
    if !resting {
        return None;
    }
    let nested = index.children(&namespace, &own).into_iter();
    let nested = nested.map(|name| Some(index.facts(&namespace, &name)?.child));
    let mut children: Vec<_> = nested.collect::<Option<_>>()?;
    if status.execution_ref.is_some() {
        children.push(index.execution(&namespace, &own)?);
    }
    Some(Observed {
        generation: metadata.generation.unwrap_or_default(),
        observed_generation: status.observed_generation,
        phase: status.phase,
        update_begun: false,
        force_begun: status.force_begun,
        marked: false,
        held: held(metadata),
        operation: annotation(metadata, keys::OPERATION).and_then(Operation::parse),
        ignore: annotation(metadata, keys::IGNORE) == Some(keys::TRUE),
        aborted: false,
        parent: None,
        children,
        imports: Vec::new(),
        imports_differ: false,
        dependencies: Vec::new(),
        importers: Vec::new(),
        rivals: Vec::new(),
    })
}

struct Here<'a> {
    index: &'a Index,
    namespace: &'a str,
    own: &'a str,
    scope: Option<String>,
}

impl Here<'_> {
    /// Whether all imports are those of the last update. What is in Secrets and ConfigMaps is not in the
    /// index.
    fn imports_rest(&self, imports: &InstallationImports, recorded: &[ImportStatus]) -> bool {
        let (data, targets) = (&imports.data, &imports.targets);
        let find = |name: &str| recorded.iter().find(|import| import.name == name);
        recorded.len() == data.len() + targets.len()
            && data.iter().all(|import| {
                let before = find(&import.name);
                before.is_some_and(|before| {
                    !import.data_ref.is_empty()
                        && before.data_ref == import.data_ref
                        && self.rests(GivenKind::Data, &import.data_ref, &before.config_generation)
                })
            })
            && targets.iter().all(|import| {
                let before = find(&import.name);
                before.is_some_and(|before| {
                    !import.target.is_empty()
                        && before.target == import.target
                        && self.rests(GivenKind::Target, &import.target, &before.config_generation)
                })
            })
    }

    fn rests(&self, kind: GivenKind, key: &str, recorded: &str) -> bool {
        let given = Given {
            kind,
            name: names::data_name(self.scope.as_deref(), key),
        };
        let Some(generation) = self.index.generation(self.namespace, &given) else {
            return false;
        };
        let exporters = self.index.exporters(self.namespace, &given);
        let exporter = exporters.into_iter().find(|name| name != self.own);
        match exporter {
            None => generation == recorded,
            Some(exporter) => {
                let facts = self.index.facts(self.namespace, &exporter);
                facts.is_some_and(|facts| facts.config_generation == recorded)
            }
        }
    }
}
