//! Removes a project: its objects go, and then it goes.

use std::collections::{BTreeMap, BTreeSet};

use kube::ResourceExt as _;
use landform_api::project::{ProjectPhase, ProjectStatus};
use landform_api::writer::Maker;
use landform_engine::{Context, Failure, Outcome};

use crate::act::{Acting, Report};
use crate::decide::{Live, goes_with_definition};
use crate::live;
use crate::namespaces::is_namespace;
use crate::object::ObjectId;
use crate::order::{Departures, is_definition};
use crate::reconciler::{ProjectReconciler, failure};
use crate::state::State;
use crate::status::{last_error, tell_people, waiting_on};

/// What can be done about an object that the API doesn't let go.
const WAY_OUT: &str = "a project removes what it didn't make itself with the rights of its last writer: \
    grant what is missing, or have a user who has the rights replace the project with a changed spec (kubectl replace)";

/// Whether an object of a project that is deleted goes with Landform's own rights, whoever wrote the project last (C6).
///
/// The project made it, which the API server has noted. What takes objects of others with it was made with
/// the rights to everything, too: the right to create a definition isn't the right to delete all its objects.
fn is_for_landform_to_remove(id: &ObjectId, maker: Option<&Maker>, project_uid: &str) -> bool {
    let takes_others = is_definition(id) || is_namespace(id);
    maker.is_some_and(|maker| maker.uid == project_uid && (maker.writer.is_none() || !takes_others))
}

/// What is left of a project.
struct Left {
    found: BTreeMap<ObjectId, Live>,
}

impl Left {
    /// Those whose turn it is: all others wait until they are gone.
    fn leaving(&self) -> BTreeSet<&ObjectId> {
        let objects = self.found.iter();
        let objects = objects.filter_map(|(id, live)| Some((id, &**live.object.as_ref()?)));
        let order = Departures::of(objects);
        let leaves = |id: &ObjectId| self.found.contains_key(id);
        let all = || {
            let waited_for = self
                .found
                .iter()
                .filter(|(_, live)| !goes_with_definition(live, leaves));
            waited_for.map(|(id, _)| id)
        };
        let first = all().map(|id| order.turn(id)).max();
        all().filter(|id| Some(order.turn(id)) == first).collect()
    }
}

impl ProjectReconciler {
    /// The project was deleted: its objects go, those that others may need last.
    pub(crate) async fn remove(
        &self,
        context: &Context,
        state: &State,
        before: ProjectStatus,
    ) -> Result<Outcome, Failure> {
        *state.watch.lock().await = None;
        let left = self.left(context, state).await?;
        let kinds = self.live_kinds(context, &left.found).await?;
        let followed = kinds.values().map(|served| served.kind.clone()).collect();
        self.shared.follow(followed).await?;
        let leaving = left.leaving();
        let unmarked = left.found.iter();
        let unmarked = unmarked
            .filter(|(id, live)| !live.deleting && live.unserved.is_none() && leaving.contains(id));
        let own_uid = context.object().metadata.uid.as_deref().unwrap_or_default();
        let (made, others): (Vec<_>, Vec<_>) = unmarked.partition(|(id, live)| {
            let maker = live.object.as_ref().and_then(|it| context.maker_of(it));
            is_for_landform_to_remove(id, maker.as_ref(), own_uid)
        });
        let (wanted, served) = (BTreeMap::new(), BTreeMap::new());
        let mut report = Report::default();
        for (client, objects) in [(context.client(), made), (context.acting()?, others)] {
            let objects = objects.into_iter();
            let objects: Vec<_> = objects
                .map(|(id, live)| (id.clone(), live.uid.clone()))
                .collect();
            let acting = Acting {
                context,
                client,
                state,
                wanted: &wanted,
                served: &served,
                live_kinds: &kinds,
                kinds: &self.shared.kinds,
            };
            acting.delete(&objects, &mut report).await?;
        }
        tell_people(context, &[], None, &report.kept, &before);
        // Namespaces have their turn last, so nothing is left behind those that stay.
        if leaving.iter().all(|id| report.kept.contains_key(id)) {
            return Ok(Outcome::Done);
        }
        self.tell_removal(context, &left, report, before).await
    }

    /// Reads what is left, and notes that its end is waited for.
    async fn left(&self, context: &Context, state: &State) -> Result<Left, Failure> {
        let (client, name) = (context.client(), context.object().name_any());
        let found = live::list(&client, &self.shared.kinds, &name)
            .await
            .map_err(failure)?;
        let mut memory = state.memory.lock();
        memory.complete = false;
        memory.lacks_kinds = found.values().any(|live| live.unserved.is_some());
        let seen = found
            .iter()
            .map(|(id, live)| (id.clone(), live.uid.clone()));
        memory.awaited = seen.collect();
        Ok(Left { found })
    }

    async fn tell_removal(
        &self,
        context: &Context,
        left: &Left,
        report: Report,
        before: ProjectStatus,
    ) -> Result<Outcome, Failure> {
        let refused = report.problems.into_iter().next();
        let refused = refused.map(|problem| format!("{}; {WAY_OUT}", problem.message));
        let trouble = report.transient.or(refused);
        let last_error = trouble
            .as_ref()
            .map(|message| last_error(context, &before, "Delete", "NotDeleted", message));
        let (hidden, seen): (BTreeSet<_>, BTreeSet<_>) =
            left.leaving().into_iter().cloned().partition(|id| {
                left.found
                    .get(id)
                    .is_some_and(|live| live.unserved.is_some())
            });
        let gone = "it must be gone before the project goes";
        let mut waiting = waiting_on("R15", &seen, gone);
        let unserved = "it must be gone before the project goes, and its kind isn't served: serve it again in its definition";
        waiting.extend(waiting_on("G12b", &hidden, unserved));
        let status = ProjectStatus {
            phase: Some(ProjectPhase::Deleting),
            observed_generation: context.object().metadata.generation,
            waiting_on: waiting,
            // Files are read no more: correcting them would do nothing.
            files: 0,
            objects: left.found.len(),
            problem_count: 0,
            problems: Vec::new(),
            held_deletions: None,
            last_error,
            ..before
        };
        context.write_status(&status).await?;
        match trouble {
            Some(message) => Err(Failure::Transient(message)),
            None => Ok(Outcome::Wait("all its objects must be gone".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use landform_api::GroupKind;
    use landform_api::writer::Writer;

    use super::*;

    #[test]
    fn c6_a_project_removes_what_it_made_whoever_wrote_it_last() {
        let id = |group: &str, kind: &str| {
            let kind = GroupKind {
                group: group.to_owned(),
                kind: kind.to_owned(),
            };
            ObjectId::of(&kind, "", "a")
        };
        let map = id("", "ConfigMap");
        let namespace = id("", "Namespace");
        let definition = id("apiextensions.k8s.io", "CustomResourceDefinition");
        let jane = || Writer::of("jane", &[]);
        let table = [
            (&map, None, false),
            (&map, Some(("mine", None)), true),
            (&map, Some(("mine", jane())), true),
            (&map, Some(("other", None)), false),
            (&map, Some(("", None)), false),
            (&namespace, Some(("mine", None)), true),
            (&namespace, Some(("mine", jane())), false),
            (&definition, Some(("mine", None)), true),
            (&definition, Some(("mine", jane())), false),
            (&definition, None, false),
        ];
        for (id, maker, expected) in table {
            let maker = maker.map(|(uid, writer)| Maker {
                uid: uid.to_owned(),
                writer,
            });
            let found = is_for_landform_to_remove(id, maker.as_ref(), "mine");
            assert_eq!(found, expected, "{id} {maker:?}");
        }
    }
}
