//! What an installation imports: which objects, whether they are there, and what is in them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::ResourceExt as _;
use kube::core::DynamicObject;
use landform_api::landscaper::installation::{
    ImportStatus, InstallationSpec, InstallationStatus, KeyReference, ObjectReference, TargetStatus,
};
use landform_api::landscaper::report::ObjectName;
use landform_api::landscaper::{self, InstallationPhase, names};
use landform_decide::installation::{Import, Present};
use landform_engine::{Actor, Context, Failure, Ref};
use serde_json::{Map, Value};

use super::imported::Content;
use super::places::{Place, places};
use crate::landscape::blueprints::Blueprints;
use crate::landscape::content;
use crate::landscape::facts::{self, Facts, Given, GivenKind, parent_of};
use crate::landscape::index::Index;
use crate::landscape::kept::{self, Whole};
use crate::landscape::objects::{Objects, owning_installation};

/// The objects that an installation imports from.
pub(super) fn references(object: &DynamicObject, index: &Index) -> Vec<Ref> {
    let spec = facts::read(object).spec;
    let namespace = object.namespace().unwrap_or_default();
    let parent = parent_of(object);
    let places = places(&spec.imports, &namespace, parent.as_deref(), index);
    let named = named_context(spec.context.as_deref());
    let named = named.map(|name| (landscaper::kind("Context"), name.to_owned()));
    let mut refs: Vec<_> = places
        .iter()
        .flat_map(|(_, place)| place.objects())
        .chain(named)
        .map(|(kind, name)| Ref {
            kind,
            namespace: Some(namespace.clone()),
            name,
        })
        .collect();
    refs.sort();
    refs.dedup();
    refs
}

/// The Context that an installation needs by name; the one that is called `default` is made for it.
fn named_context(context: Option<&str>) -> Option<&str> {
    context.filter(|name| !name.is_empty() && *name != names::DEFAULT_CONTEXT)
}

/// One import as it is now.
pub(super) struct Resolved {
    /// For the decision; a list has one for each of its targets.
    pub(super) imports: Vec<Import>,
    /// For the status, if an update takes it as it is now.
    pub(super) status: ImportStatus,
    /// For templates, if all of it is there.
    pub(super) content: Option<Content>,
}

/// Whom an installation is, for the question what it may import.
pub(super) struct Importer<'a> {
    pub(super) context: &'a Context,
    pub(super) index: &'a Index,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) parent: Option<&'a str>,
    pub(super) recorded: &'a InstallationStatus,
    /// What of the objects that it names may not be read for it (C6), and why.
    pub(super) denied: BTreeMap<(String, String), String>,
    /// What siblings export, read now: the run may have read it before they exported anew, and the index says that they
    /// have.
    pub(super) fresh: BTreeMap<Given, Option<Arc<DynamicObject>>>,
    /// What objects keep in Secrets.
    pub(super) whole: BTreeMap<Given, Whole>,
}

/// Reads what siblings export of an installation's imports.
pub(super) async fn fresh(
    objects: &Objects,
    index: &Index,
    facts: &Facts,
) -> Result<BTreeMap<Given, Option<Arc<DynamicObject>>>, Failure> {
    let mut fresh = BTreeMap::new();
    for given in &facts.imports {
        let exporter = index.exporter(objects.namespace(), &facts.name, given);
        if exporter.is_some() {
            let found = objects.get(given.kind.word(), &given.name).await?;
            fresh.insert(given.clone(), found.map(Arc::new));
        }
    }
    Ok(fresh)
}

/// Which of the objects that an installation refers to may not be read for it (C6), and why. What an installation exports, or
/// passes on to those in it, belongs to the landscape and takes no right.
pub(super) async fn denied(
    context: &Context,
    index: &Index,
) -> Result<BTreeMap<(String, String), String>, Failure> {
    let mut denied = BTreeMap::new();
    if *context.actor() == Actor::Engine {
        return Ok(denied);
    }
    for found in context.refs() {
        let kind = &found.reference.kind;
        // Of Secrets and ConfigMaps, whether they exist is nothing that a user without the right may learn.
        let of_landscape = match &found.object {
            None => !kind.group.is_empty(),
            Some(object) => {
                let owned = owning_installation(&object.metadata).is_some();
                !kind.group.is_empty() && (owned || index.maker_of(object).is_some())
            }
        };
        if !of_landscape && let Some(missing) = context.missing(found.right.clone()).await? {
            let key = (kind.kind.clone(), found.reference.name.clone());
            denied.insert(key, missing.to_string());
        }
    }
    Ok(denied)
}

impl Importer<'_> {
    /// All imports of a spec as they are now.
    pub(super) fn resolve(&self, spec: &InstallationSpec) -> Vec<Resolved> {
        let places = places(&spec.imports, self.namespace, self.parent, self.index);
        let places = places.into_iter();
        places
            .map(|(name, place)| self.resolve_one(&name, place))
            .collect()
    }

    fn given_object(&self, kind: GivenKind, name: &str) -> Option<&Arc<DynamicObject>> {
        let given = Given {
            kind,
            name: name.to_owned(),
        };
        match self.fresh.get(&given) {
            Some(found) => found.as_ref(),
            None => self.readable(kind.word(), name),
        }
    }

    /// Lets optional imports be absent whose object doesn't exist, and which no sibling exports. When the object
    /// appears, that is a change like any other.
    pub(super) fn leave_out_optional(
        &self,
        spec: &InstallationSpec,
        found: &mut [Resolved],
        blueprints: &Blueprints,
    ) {
        let exists =
            |import: &Import| import.present != Present::Missing || self.is_exported(import);
        if found.iter().all(|found| found.imports.iter().all(exists)) {
            return;
        }
        // Whatever is wrong with a blueprint is told when an update needs it.
        let Ok(blueprint) = blueprints.load(&spec.blueprint) else {
            return;
        };
        let given: BTreeSet<String> = found
            .iter()
            .filter(|found| found.content.is_some())
            .map(|found| found.status.name.clone())
            .chain(spec.import_data_mappings.keys().cloned())
            .collect();
        for found in found.iter_mut().filter(|found| found.content.is_none()) {
            let name = &found.status.name;
            if !blueprint.may_be_absent(name, |other| given.contains(other)) {
                continue;
            }
            for import in &mut found.imports {
                if import.present == Present::Missing && !self.is_exported(import) {
                    import.present = Present::Satisfied(String::new());
                }
            }
        }
    }

    fn is_exported(&self, import: &Import) -> bool {
        let kind = match import.object.kind.as_str() {
            "DataObject" => GivenKind::Data,
            "Target" => GivenKind::Target,
            _ => return false,
        };
        let name = import.object.name.clone();
        let exporters = self.index.exporters(self.namespace, &Given { kind, name });
        exporters.iter().any(|name| name != self.name)
    }

    /// The Context that the spec names, if it doesn't exist: an update needs it. What is deployed stays as it is.
    pub(super) fn missing_context(&self, spec: &InstallationSpec) -> Option<Import> {
        let name = named_context(spec.context.as_deref())?;
        let generation = self.context.object().metadata.generation;
        let settled = self.recorded.phase == Some(InstallationPhase::Succeeded)
            && self.recorded.observed_generation == generation;
        let missing_one = || missing("spec.context", self.name_of("Context", name));
        (!settled && self.object("Context", name).is_none()).then(missing_one)
    }

    fn object(&self, kind: &str, name: &str) -> Option<&Arc<DynamicObject>> {
        let mut refs = self.context.refs().iter();
        let found =
            refs.find(|found| found.reference.kind.kind == kind && found.reference.name == name);
        found.and_then(|found| found.object.as_ref())
    }

    /// The same, if it may be read for the installation.
    fn readable(&self, kind: &str, name: &str) -> Option<&Arc<DynamicObject>> {
        let denied = self
            .denied
            .contains_key(&(kind.to_owned(), name.to_owned()));
        self.object(kind, name).filter(|_| !denied)
    }

    fn resolve_one(&self, name: &str, place: Place) -> Resolved {
        let mut status = ImportStatus {
            name: name.to_owned(),
            ..ImportStatus::default()
        };
        let recorded = self
            .recorded
            .imports
            .iter()
            .find(|import| import.name == name);
        match place {
            Place::Data { key, object } => {
                status.kind = "dataObject".into();
                status.data_ref = key;
                let found = self.given_object(GivenKind::Data, &object);
                let generation = found.map(|found| facts::generation(GivenKind::Data, found));
                let given = Given {
                    kind: GivenKind::Data,
                    name: object,
                };
                let whole = self.whole.get(&given);
                let (mut import, source) = self.given(name, given, found, generation);
                let content = match (found, whole) {
                    (None, _) => None,
                    (Some(found), None | Some(Whole::Plain)) => Some(Content::Data(found.clone())),
                    (Some(found), Some(Whole::Value(value))) => {
                        let shown = found.data["data"].clone();
                        Some(Content::Guarded(value.clone(), shown))
                    }
                    (Some(_), Some(Whole::Unusable(why))) => {
                        if matches!(import.present, Present::Satisfied(_)) {
                            import.present = Present::Unusable(why.clone());
                        }
                        None
                    }
                };
                finish(status, import, source, recorded, content)
            }
            Place::Target { key, object } => {
                status.kind = "target".into();
                status.target = key;
                let (import, source, value) = self.target(name, object);
                finish(
                    status,
                    import,
                    source,
                    recorded,
                    value.map(Content::of_target),
                )
            }
            Place::Targets(targets) => self.list(name, targets, recorded, status),
            Place::TargetMap(targets) => self.map(name, targets, recorded, status),
            Place::Secret(reference) => {
                status.kind = "secret".into();
                status.secret_ref = Some(reference.clone());
                self.keyed("Secret", name, &reference, recorded, status)
            }
            Place::ConfigMap(reference) => {
                status.kind = "configMap".into();
                status.config_map_ref = Some(reference.clone());
                self.keyed("ConfigMap", name, &reference, recorded, status)
            }
            Place::Nowhere => {
                let import = missing(name, self.name_of("DataObject", "(none is named)"));
                finish(status, import, None, recorded, None)
            }
        }
    }

    fn name_of(&self, kind: &str, name: &str) -> ObjectName {
        ObjectName {
            kind: kind.into(),
            namespace: self.namespace.to_owned(),
            name: name.into(),
            ..ObjectName::default()
        }
    }

    fn target(
        &self,
        name: &str,
        object: String,
    ) -> (Import, Option<String>, Option<(Value, Value)>) {
        let found = self.given_object(GivenKind::Target, &object);
        let generation = found.map(|found| facts::generation(GivenKind::Target, found));
        let given = Given {
            kind: GivenKind::Target,
            name: object,
        };
        let configuration = match self.whole.get(&given) {
            Some(Whole::Value(value)) => Some(value),
            Some(Whole::Plain | Whole::Unusable(_)) | None => None,
        };
        let value = found.map(|found| content::of_guarded_target(found, configuration));
        let (import, source) = self.given(name, given, found, generation);
        (import, source, value)
    }

    fn list(
        &self,
        name: &str,
        targets: Option<Vec<(String, String)>>,
        recorded: Option<&ImportStatus>,
        mut status: ImportStatus,
    ) -> Resolved {
        status.kind = "targetList".into();
        let Some(targets) = targets else {
            let import = missing(
                name,
                self.name_of("Target", "(the parent imports no such list)"),
            );
            return finish(status, import, None, recorded, None);
        };
        let mut imports = Vec::new();
        let mut values = Some(Vec::new());
        for (at, (key, object)) in targets.into_iter().enumerate() {
            let (mut import, source, value) = self.target(&format!("{name}[{at}]"), object);
            let before = recorded.and_then(|recorded| recorded.target_list.get(at));
            let before = before.filter(|before| before.target == key);
            import.recorded = before.map(|before| before.config_generation.clone());
            status.target_list.push(TargetStatus {
                target: key,
                source_ref: source.map(|name| self.reference(name)),
                config_generation: generation_of(&import),
            });
            imports.push(import);
            values = values.zip(value).map(|(mut values, value)| {
                values.push(value);
                values
            });
        }
        Resolved {
            imports,
            status,
            content: values.map(|values| {
                let (values, shown) = values.into_iter().unzip();
                Content::of_target((Value::Array(values), Value::Array(shown)))
            }),
        }
    }

    fn map(
        &self,
        name: &str,
        targets: Option<BTreeMap<String, (String, String)>>,
        recorded: Option<&ImportStatus>,
        mut status: ImportStatus,
    ) -> Resolved {
        status.kind = "targetMap".into();
        let Some(targets) = targets else {
            let import = missing(
                name,
                self.name_of("Target", "(the parent has imported no such map)"),
            );
            return finish(status, import, None, recorded, None);
        };
        let mut imports = Vec::new();
        let mut values = Some((Map::new(), Map::new()));
        for (id, (key, object)) in targets {
            let (mut import, source, value) = self.target(&names::element_key(name, &id), object);
            let before = recorded.and_then(|recorded| recorded.target_map.get(&id));
            let before = before.filter(|before| before.target == key);
            import.recorded = before.map(|before| before.config_generation.clone());
            let found = TargetStatus {
                target: key,
                source_ref: source.map(|name| self.reference(name)),
                config_generation: generation_of(&import),
            };
            status.target_map.insert(id.clone(), found);
            imports.push(import);
            values = values
                .zip(value)
                .map(|((mut values, mut all_shown), (value, shown))| {
                    values.insert(id.clone(), value);
                    all_shown.insert(id, shown);
                    (values, all_shown)
                });
        }
        Resolved {
            imports,
            status,
            content: values.map(|(values, shown)| {
                Content::of_target((Value::Object(values), Value::Object(shown)))
            }),
        }
    }

    fn reference(&self, name: String) -> ObjectReference {
        ObjectReference {
            name,
            namespace: self.namespace.to_owned(),
        }
    }

    fn keyed(
        &self,
        kind: &str,
        name: &str,
        reference: &KeyReference,
        recorded: Option<&ImportStatus>,
        status: ImportStatus,
    ) -> Resolved {
        let found = self.object(kind, &reference.name);
        let elsewhere = !reference.namespace.is_empty() && reference.namespace != self.namespace;
        let denied = self
            .denied
            .get(&(kind.to_owned(), reference.name.clone()))
            .filter(|_| !elsewhere);
        let found = found.filter(|_| !elsewhere && denied.is_none());
        let value = found.and_then(|found| content::of_key(found, &reference.key));
        let mut object = self.name_of(kind, &reference.name);
        if elsewhere {
            object.namespace.clone_from(&reference.namespace);
        }
        let is_secret = kind == "Secret";
        let present = match (&value, denied) {
            (Some(value), _) => Present::Satisfied(match found.filter(|_| is_secret) {
                Some(secret) => kept::generation(secret, value),
                None => content::hash(value),
            }),
            (None, _) if elsewhere => Present::Unusable(
                "only objects of the installation's own namespace can be imported".to_owned(),
            ),
            (None, Some(denied)) => Present::Unusable(denied.clone()),
            (None, None) if found.is_some() => {
                Present::Unusable(format!("it has no key {:?}", reference.key))
            }
            (None, None) => Present::Missing,
        };
        let import = Import {
            name: name.to_owned(),
            object,
            recorded: None,
            present,
        };
        let made = if is_secret {
            Content::Secret
        } else {
            Content::Made
        };
        finish(status, import, None, recorded, value.map(made))
    }

    /// Whether a DataObject or a Target may be imported, in which generation and from which sibling.
    fn given(
        &self,
        name: &str,
        given: Given,
        found: Option<&Arc<DynamicObject>>,
        generation: Option<String>,
    ) -> (Import, Option<String>) {
        let object = self.name_of(given.kind.word(), &given.name);
        let key = (given.kind.word().to_owned(), given.name.clone());
        if let Some(denied) = self.denied.get(&key) {
            let present = Present::Unusable(format!("{denied}; then reconcile"));
            let import = Import {
                present,
                ..missing(name, object)
            };
            return (import, None);
        }
        let Some((found, generation)) = found.zip(generation) else {
            return (missing(name, object), None);
        };
        let exporter = self.index.exporter(self.namespace, self.name, &given);
        let owner = owning_installation(&found.metadata);
        let may = owner.is_none_or(|owner| {
            let exports = exporter.as_ref().is_some_and(|facts| facts.name == owner);
            owner == self.name || self.parent == Some(owner) || exports
        });
        let present = match (may, &exporter, owner) {
            (false, _, owner) => Present::NotProvided {
                owner: owner.unwrap_or_default().to_owned(),
            },
            (true, Some(exporter), _) => Present::Satisfied(exporter.config_generation.clone()),
            (true, None, _) => Present::Satisfied(generation),
        };
        let import = Import {
            name: name.to_owned(),
            object,
            recorded: None,
            present,
        };
        (import, exporter.map(|facts| facts.name))
    }
}

fn missing(name: &str, object: ObjectName) -> Import {
    Import {
        name: name.to_owned(),
        object,
        recorded: None,
        present: Present::Missing,
    }
}

fn generation_of(import: &Import) -> String {
    match &import.present {
        Present::Satisfied(generation) => generation.clone(),
        Present::Missing | Present::Unusable(_) | Present::NotProvided { .. } => String::new(),
    }
}

/// Puts an import of one object together; what was recorded of another object doesn't count.
fn finish(
    mut status: ImportStatus,
    mut import: Import,
    source: Option<String>,
    recorded: Option<&ImportStatus>,
    content: Option<Content>,
) -> Resolved {
    status.config_generation = generation_of(&import);
    let namespace = import.object.namespace.clone();
    status.source_ref = source.map(|name| ObjectReference { name, namespace });
    let same = recorded.filter(|recorded| {
        recorded.kind == status.kind
            && recorded.data_ref == status.data_ref
            && recorded.target == status.target
            && recorded.secret_ref == status.secret_ref
            && recorded.config_map_ref == status.config_map_ref
    });
    import.recorded = same.map(|same| same.config_generation.clone());
    Resolved {
        imports: vec![import],
        status,
        content,
    }
}

/// Whether the imports at the last update were others than those of now: one more, one less, a list of
/// another length, or a map with other keys.
pub(super) fn differ(recorded: &[ImportStatus], now: &[Resolved]) -> bool {
    let shape = |import: &ImportStatus| {
        let keys: Vec<_> = import.target_map.keys().cloned().collect();
        (import.name.clone(), (import.target_list.len(), keys))
    };
    let recorded: BTreeMap<_, _> = recorded.iter().map(shape).collect();
    let now: BTreeMap<_, _> = now.iter().map(|found| shape(&found.status)).collect();
    recorded != now
}
