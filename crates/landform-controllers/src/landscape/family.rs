//! Nested installations as their parent sees them: how each is doing depends on its siblings and on what the parent has
//! written for them (I10b, I11b).

use std::collections::BTreeMap;

use landform_api::landscaper::report::ObjectName;
use landform_api::landscaper::{InstallationPhase, names};
use landform_decide::installation::{Child, ChildKind, Need, Nested, standings};

use super::facts::{Facts, Generations, Given, GivenKind, Source};

/// What a parent knows of the objects that its nested installations import.
pub(super) trait Context {
    /// The generation of an object; none when it doesn't exist.
    fn generation(&self, given: &Given) -> Option<String>;

    /// The objects of a list of targets that the parent imports.
    fn list(&self, import: &str) -> Option<Vec<String>>;

    /// The objects of a map of targets that the parent imports, in the order of its keys.
    fn map(&self, import: &str) -> Option<Vec<String>>;
}

/// All nested installations of one parent.
pub(super) struct Family<'a> {
    members: &'a [Facts],
    context: &'a dyn Context,
    parent: &'a str,
}

impl<'a> Family<'a> {
    pub(super) fn new(members: &'a [Facts], parent: &'a str, context: &'a dyn Context) -> Self {
        Self {
            members,
            context,
            parent,
        }
    }

    /// The objects that members import and no member exports.
    pub(super) fn imported(members: &[Facts], context: &dyn Context) -> Vec<Given> {
        let exported = |given: &Given| {
            members
                .iter()
                .any(|facts| facts.exports.contains_key(given))
        };
        let mut all: Vec<_> = members
            .iter()
            .flat_map(|facts| facts.imports.iter())
            .filter(|given| !exported(given))
            .cloned()
            .collect();
        let sources = members.iter().flat_map(|facts| facts.sources.values());
        for source in sources {
            if let Source::MapOfParent(import) = source {
                let names = context.map(import).unwrap_or_default().into_iter();
                all.extend(names.map(|name| Given {
                    kind: GivenKind::Target,
                    name,
                }));
            }
        }
        all.sort();
        all.dedup();
        all
    }

    /// Whether some member is at work for all to see, so that nothing else matters.
    pub(super) fn is_at_work(members: &[Facts]) -> bool {
        let mut members = members.iter();
        members.any(|facts| {
            let phase = facts.phase;
            let works = phase == Some(InstallationPhase::Progressing);
            facts.operation.is_some() || (works && !facts.marked)
        })
    }

    pub(super) fn children(&self) -> Vec<Child> {
        let nested: Vec<_> = self
            .members
            .iter()
            .map(|facts| self.nested(facts))
            .collect();
        let mut found = standings(&nested);
        let children = self.members.iter().filter_map(|facts| {
            let found = found.remove(&facts.name)?;
            Some(Child {
                kind: ChildKind::Installation,
                name: facts.name.clone(),
                phase: facts.phase,
                standing: found.standing,
                because: found.because,
                unclaimed: found.unclaimed,
                marked: facts.marked,
                bare: facts.bare,
                operation: facts.operation,
                error: facts.error.clone(),
            })
        });
        children.collect()
    }

    fn nested(&self, facts: &Facts) -> Nested {
        Nested {
            name: facts.name.clone(),
            phase: facts.phase,
            current: facts.is_current(&self.present(facts)),
            marked: facts.marked,
            operation: facts.operation,
            refused: facts.refused,
            of_circle: facts.of_circle,
            unclaimed: facts.unclaimed && facts.operation.is_none(),
            needs: self.needs(facts),
            after: self.after(facts),
        }
    }

    /// All that export something which a member imports: as the engine sees it, it comes after each of them.
    fn after(&self, facts: &Facts) -> Vec<String> {
        let exports_to = |other: &&Facts| {
            let mut imports = facts.imports.iter();
            imports.any(|given| other.exports.contains_key(given))
        };
        let exporters = self.members.iter().filter(exports_to);
        exporters.map(|other| other.name.clone()).collect()
    }

    /// The generations of a member's imports, as they are now.
    fn present(&self, facts: &Facts) -> Generations {
        present(
            &facts.sources,
            |given| match self.exporter(facts, given) {
                Some(exporter) => exporter.config_generation.clone(),
                None => self.context.generation(given).unwrap_or_default(),
            },
            |list| self.context.list(list),
            |map| self.context.map(map),
        )
    }

    /// The sibling from which a member imports something.
    fn exporter(&self, of: &Facts, given: &Given) -> Option<&Facts> {
        let others = self.members.iter().filter(|facts| facts.name != of.name);
        let exporters = others.filter(|facts| facts.exports.contains_key(given));
        exporters.min_by_key(|facts| facts.claim(given))
    }

    fn needs(&self, facts: &Facts) -> Vec<Need> {
        let siblings = facts.imports.iter();
        let siblings = siblings.filter_map(|given| self.exporter(facts, given));
        let mut needs: Vec<_> = siblings
            .map(|sibling| Need::Sibling(sibling.name.clone()))
            .collect();
        if facts.phase != Some(InstallationPhase::PendingDependencies) {
            return needs;
        }
        let waits = facts.waiting_on.iter();
        needs.extend(waits.filter_map(|(on, why)| self.need(facts, on, why)));
        needs
    }

    /// What an installation says that it waits for, if it is still so.
    fn need(&self, facts: &Facts, on: &ObjectName, why: &str) -> Option<Need> {
        let what = || format!("the {} {}: {why}", on.kind, on.name);
        let kind = match on.kind.as_str() {
            "Installation" if on.name == self.parent => return None,
            "Installation" => return Some(Need::Sibling(on.name.clone())),
            "DataObject" => GivenKind::Data,
            "Target" => GivenKind::Target,
            _ => return Some(Need::Outside(what())),
        };
        let given = Given {
            kind,
            name: on.name.clone(),
        };
        let imports = facts.imports.contains(&given);
        let there = self.exporter(facts, &given).is_some();
        (imports && !there && self.context.generation(&given).is_none())
            .then(|| Need::Missing(what()))
    }
}

/// The generations of imports, as they are now.
pub(super) fn present(
    sources: &BTreeMap<String, Source>,
    generation: impl Fn(&Given) -> String,
    list: impl Fn(&str) -> Option<Vec<String>>,
    map: impl Fn(&str) -> Option<Vec<String>>,
) -> Generations {
    let of_targets = |targets: Option<Vec<String>>| {
        let targets = targets.unwrap_or_default().into_iter();
        let targets = targets.map(|name| Given {
            kind: GivenKind::Target,
            name,
        });
        targets.map(|given| generation(&given)).collect::<Vec<_>>()
    };
    let all = sources.iter().map(|(name, source)| {
        let generations = match source {
            Source::Objects(objects) => objects.iter().map(&generation).collect(),
            Source::ListOfParent(import) => of_targets(list(import)),
            Source::MapOfParent(import) => of_targets(map(import)),
        };
        (name.clone(), generations)
    });
    all.filter(|(_, generations)| !generations.is_empty())
        .collect()
}

/// The objects that hold the elements of a map of targets for what is nested in an installation.
pub(super) fn elements(parent: &str, import: &str, keys: Vec<String>) -> Vec<String> {
    let scope = names::installation_context(parent);
    let keys = keys.into_iter();
    keys.map(|key| names::data_name(Some(&scope), &names::element_key(import, &key)))
        .collect()
}
