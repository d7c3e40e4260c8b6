//! What must hold in the small world after every single write.

use super::*;

impl World {
    /// O15 after every single write.
    pub(super) fn check(&self) {
        for (title, thing) in &self.things {
            let controllers = thing
                .owners
                .iter()
                .filter(|(_, controller)| *controller)
                .count();
            assert!(
                controllers <= 1,
                "{title} has two controllers: {:?}",
                thing.owners
            );
            let orphan = thing.owners.is_empty() && !title.starts_with("nobody");
            assert!(!orphan, "{title} has no owner");
        }
        for title in FOREIGN {
            let owners = &self.things[title].owners;
            let untouched = owners
                .iter()
                .all(|(uid, controller)| uid == STRANGER && *controller);
            assert!(untouched, "{title} was touched");
        }
        assert_eq!(self.things["a stranger's"].owners.len(), 1);
    }

    /// No downgrade but by a rollback, and no step that no edge allows.
    pub(super) fn check_install(&self, package: &Package, name: Name) {
        let living = &self.versions[name];
        let to = &package[name].version;
        if living.rollback_of.is_some() || living.begun {
            return;
        }
        let running = self.versions.iter().filter(|(other, found)| {
            **other != name && !found.marked && found.execution != Execution::Absent
        });
        let mut highest = None;
        for (other, found) in running {
            let version = &package[other].version;
            let ready = found.execution == Execution::Ready;
            let downgrade = ready && version.cmp_precedence(to).is_gt();
            assert!(!downgrade, "{name} is installed though {other} runs");
            if highest.is_none_or(|high: Name| package[high].version < *version) {
                highest = Some(*other);
            }
        }
        if let Some(high) = highest {
            let lead = package[name]
                .edges
                .lead((high, &package[high].version), (name, to));
            assert!(lead, "{name} is installed over {high} without an edge");
        }
    }

    /// O16: the one that goes owns nothing, and a successor succeeded.
    pub(super) fn check_collected(&self, name: Name) {
        let uid = &self.versions[name].uid;
        for (title, thing) in &self.things {
            let owns = thing.owners.iter().any(|(owner, _)| owner == uid);
            assert!(!owns, "{name} goes and owns {title}");
        }
        let succeeded = self.versions.iter().any(|(other, found)| {
            *other != name && !found.marked && found.phase == Some(Phase::Succeeded)
        });
        assert!(succeeded, "{name} goes and no successor runs");
    }

    /// What a version owns is deleted only when no other version that was begun could have it.
    pub(super) fn check_nobody_could_have_it(&self, package: &Package, name: Name) {
        let me = (name, &package[name].version);
        for (other, found) in &self.versions {
            let its = (*other, &package[other].version);
            let able = !found.marked && found.execution != Execution::Absent && *other != name;
            let related = package[other].edges.lead(me, its) || package[name].edges.lead(its, me);
            assert!(
                !(able && related),
                "{other} could have had what {name} owns: {self:#?}"
            );
        }
    }

    /// The only version that is left runs, and owns all that there is.
    pub(crate) fn check_only(&self, name: Name) {
        let names: Vec<_> = self.versions.keys().copied().collect();
        assert_eq!(names, [name], "{self:#?}");
        self.check_owner(name);
        assert!(self.deleted.is_empty(), "{:?} was deleted", self.deleted);
    }

    /// The version runs and owns all that there is.
    pub(crate) fn check_owner(&self, name: Name) {
        let living = &self.versions[name];
        assert_eq!(living.phase, Some(Phase::Succeeded), "{self:#?}");
        assert_eq!(living.execution, Execution::Ready);
        assert_eq!(self.deployment.as_ref(), Some(&living.uid), "{self:#?}");
        for (title, thing) in &self.things {
            if !FOREIGN.contains(title) {
                let owners = [(living.uid.clone(), true)];
                assert_eq!(thing.owners, owners, "{title} {self:#?}");
            }
        }
    }
}
