//! Tables: what is wanted, what is there, and what must be done.

use super::*;
use crate::apply::{Marks, prepare};
use landform_api::GroupVersionKind;
use serde_json::json;

const GRACE_MS: u64 = 120;

fn id(name: &str) -> ObjectId {
    ObjectId {
        group: String::new(),
        kind: "ConfigMap".into(),
        namespace: Some("web".into()),
        name: name.into(),
    }
}

fn wanted(file: &str, name: &str, data: &str) -> (ObjectId, Wanted) {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": data},
    });
    let marks = Marks {
        project: Some(("p".into(), file.into())),
        ..Marks::default()
    };
    let wanted = Wanted {
        kind: GroupVersionKind::new("", "v1", "ConfigMap"),
        file: file.into(),
        line: 1,
        column: 1,
        excerpt: String::new(),
        object: Arc::new(prepare(&object, Some("web"), &marks)),
        renamed_from: None,
        only_there: false,
    };
    (id(name), wanted)
}

#[derive(Clone, Default)]
struct Scene {
    wanted: BTreeMap<ObjectId, Wanted>,
    live: BTreeMap<ObjectId, Live>,
    said: BTreeMap<ObjectId, Arc<Value>>,
    unsure: Vec<String>,
    approved: Option<String>,
    deletions: Deletions,
    young: bool,
    going_along: BTreeMap<ObjectId, GoingAlong>,
    /// Missed just now.
    late: BTreeSet<ObjectId>,
}

impl Scene {
    fn wants(mut self, file: &str, name: &str, data: &str) -> Self {
        self.wanted.extend([wanted(file, name, data)]);
        self
    }

    /// It is there as a file said it.
    fn has(mut self, file: &str, name: &str, data: &str) -> Self {
        let (id, wanted) = wanted(file, name, data);
        self.live.insert(
            id,
            Live {
                uid: format!("uid-{name}"),
                file: file.into(),
                object: Some(wanted.object),
                ..Live::default()
            },
        );
        self
    }

    /// A file tells the former name.
    fn told(mut self, name: &str, former: &str) -> Self {
        self.wanted.get_mut(&id(name)).unwrap().renamed_from = Some(former.into());
        self
    }

    /// It was renamed before.
    fn was(mut self, name: &str, former: &str) -> Self {
        self.live.get_mut(&id(name)).unwrap().former = Some(former.into());
        self
    }

    /// What is there is known from memory.
    fn remembered(mut self) -> Self {
        for (id, live) in &mut self.live {
            let said = live.object.take();
            self.said.extend(said.map(|said| (id.clone(), said)));
        }
        self
    }

    fn unsure(mut self, file: &str) -> Self {
        self.unsure.push(file.into());
        self
    }

    fn decide(&self) -> Decision {
        let missed = if self.young {
            BTreeMap::new()
        } else {
            let live = self.live.keys();
            let live = live.filter(|id| !self.late.contains(id));
            live.map(|id| (id.clone(), 0)).collect()
        };
        decide(&Observed {
            wanted: &self.wanted,
            live: &self.live,
            said: &self.said,
            is_unsure: &|file| self.unsure.iter().any(|unsure| unsure == file),
            missed: &missed,
            grace_ms: GRACE_MS,
            deletions: self.deletions,
            approved: self.approved.as_deref(),
            agreed: &BTreeSet::new(),
            going_along: &self.going_along,
            now_ms: 1_000,
        })
    }
}

fn summary(decision: &Decision) -> String {
    let mut parts = Vec::new();
    let renames = decision.renames.iter();
    parts.extend(renames.map(|(from, to)| format!("rename {} {}", from.name, to.name)));
    parts.extend(
        decision
            .applies
            .iter()
            .map(|id| format!("apply {}", id.name)),
    );
    parts.extend(
        decision
            .deletions
            .iter()
            .map(|(id, _)| format!("delete {}", id.name)),
    );
    parts.extend(
        decision
            .problems
            .iter()
            .map(|(id, _)| format!("problem {}", id.name)),
    );
    parts.extend(
        decision
            .held
            .iter()
            .map(|held| format!("held {}", held.count)),
    );
    parts.join(", ")
}

#[test]
fn r15_what_must_be_done_follows_from_files_and_objects() {
    let scene = Scene::default;
    let both = || scene().has("f", "a", "1").has("g", "b", "2");
    let told = both()
        .wants("f", "c", "9")
        .told("c", "a")
        .wants("g", "b", "2");
    let onto = both().wants("g", "b", "2").told("b", "a");
    let table = [
        (
            "nothing to do",
            scene().has("f", "a", "1").wants("f", "a", "1"),
            "",
        ),
        ("new", scene().wants("f", "a", "1"), "apply a"),
        (
            "changed",
            scene().has("f", "a", "1").wants("f", "a", "2"),
            "apply a",
        ),
        (
            "another file",
            scene().has("f", "a", "1").wants("g", "a", "1"),
            "apply a",
        ),
        ("removed", scene().has("f", "a", "1"), "delete a"),
        (
            "its file can't be read",
            scene().has("f", "a", "1").unsure("f"),
            "",
        ),
        (
            "only its file",
            scene().has("f", "a", "1").has("g", "b", "1").unsure("f"),
            "delete b",
        ),
        (
            "renamed",
            scene().has("f", "a", "1").wants("f", "b", "1"),
            "rename a b",
        ),
        (
            "renamed and changed",
            scene().has("f", "a", "1").wants("f", "b", "2"),
            "apply b, delete a",
        ),
        (
            "in another file",
            scene().has("f", "a", "1").wants("g", "b", "1"),
            "rename a b",
        ),
        (
            "which one?",
            scene()
                .has("f", "a", "1")
                .wants("f", "b", "1")
                .wants("f", "c", "1"),
            "apply b, apply c, delete a",
        ),
        ("renamed as the file tells", told, "rename a c"),
        ("renamed onto a living one", onto, "problem b"),
        (
            "taken over while its file can't be read",
            scene().has("f", "a", "1").wants("g", "a", "2").unsure("f"),
            "problem a",
        ),
    ];
    for (what, scene, expected) in table {
        assert_eq!(summary(&scene.decide()), expected, "{what}, read");
        assert_eq!(
            summary(&scene.remembered().decide()),
            expected,
            "{what}, remembered"
        );
    }
}

#[test]
fn r15b_renames_are_found_across_files_in_chains_and_in_swaps() {
    let scene = Scene::default;
    let chain = || scene().has("f", "a", "1").has("g", "b", "2");
    let table = [
        (
            "a chain in two files",
            chain().wants("f", "b", "1").wants("g", "c", "2"),
            "rename a b, rename b c",
        ),
        (
            "a chain, and the files renamed too",
            chain().wants("h", "b", "1").wants("i", "c", "2"),
            "rename a b, rename b c",
        ),
        (
            "a chain in one file",
            scene()
                .has("f", "a", "1")
                .has("f", "b", "2")
                .wants("f", "b", "1")
                .wants("f", "c", "2"),
            "rename a b, rename b c",
        ),
        (
            "a swap of names",
            chain().wants("f", "b", "1").wants("g", "a", "2"),
            "rename a b, rename b a",
        ),
        (
            "a swap in one file",
            scene()
                .has("f", "a", "1")
                .has("f", "b", "2")
                .wants("f", "b", "1")
                .wants("f", "a", "2"),
            "rename a b, rename b a",
        ),
        (
            "a swap of contents",
            chain().wants("f", "a", "2").wants("g", "b", "1"),
            "apply a, apply b",
        ),
        (
            "a swap of files",
            chain().wants("g", "a", "1").wants("f", "b", "2"),
            "apply b, apply a",
        ),
        (
            "three in a circle",
            chain()
                .has("h", "c", "3")
                .wants("f", "b", "1")
                .wants("g", "c", "2")
                .wants("h", "a", "3"),
            "rename a b, rename b c, rename c a",
        ),
        (
            "two in one save",
            scene()
                .has("f", "a", "1")
                .has("f", "b", "2")
                .wants("f", "c", "1")
                .wants("f", "d", "2"),
            "rename a c, rename b d",
        ),
        (
            "two alike, told apart by their files",
            scene()
                .has("f", "a", "1")
                .has("g", "b", "1")
                .wants("f", "c", "1")
                .wants("g", "d", "1"),
            "rename a c, rename b d",
        ),
        (
            "two alike in one file",
            scene()
                .has("f", "a", "1")
                .has("f", "b", "1")
                .wants("f", "c", "1")
                .wants("f", "d", "1"),
            "apply c, apply d, delete a, delete b",
        ),
        (
            "a copy whose original is edited",
            scene()
                .has("f", "a", "1")
                .wants("f", "a", "2")
                .wants("g", "b", "1"),
            "apply a, apply b",
        ),
        (
            "an edited one is no source for what another one left",
            chain()
                .has("h", "x", "1")
                .wants("f", "a", "9")
                .wants("g", "b", "2")
                .wants("i", "y", "1"),
            "rename x y, apply a",
        ),
        (
            "a chain whose start is still wanted",
            chain()
                .wants("f", "a", "9")
                .wants("f", "b", "1")
                .wants("g", "c", "2"),
            "apply a, apply b, apply c",
        ),
        (
            "onto a name that stays",
            chain().wants("f", "b", "1"),
            "apply b, delete a",
        ),
        (
            "a chain out of a file that can't be read",
            chain()
                .wants("h", "b", "1")
                .wants("g", "c", "2")
                .unsure("f"),
            "problem b, problem c",
        ),
        (
            "told in a chain",
            chain()
                .wants("f", "b", "8")
                .told("b", "a")
                .wants("g", "c", "9")
                .told("c", "b"),
            "rename a b, rename b c",
        ),
        (
            "told and found in one chain",
            chain()
                .wants("f", "b", "8")
                .told("b", "a")
                .wants("g", "c", "2"),
            "rename a b, rename b c",
        ),
        (
            "told as a swap",
            chain()
                .wants("f", "b", "8")
                .told("b", "a")
                .wants("g", "a", "9")
                .told("a", "b"),
            "rename a b, rename b a",
        ),
        (
            "a told swap that was carried out",
            chain()
                .was("b", "a")
                .was("a", "b")
                .wants("f", "b", "2")
                .told("b", "a")
                .wants("f", "a", "1")
                .told("a", "b"),
            "apply b",
        ),
        (
            "a told swap that was carried out over a temporary name",
            chain()
                .was("a", "b")
                .was("b", "landform-renaming-0123456789abcdef")
                .wants("f", "b", "8")
                .told("b", "a")
                .wants("f", "a", "1")
                .told("a", "b"),
            "apply b",
        ),
        (
            "told as a swap, of one that had the other name before",
            chain()
                .was("a", "b")
                .wants("f", "b", "8")
                .told("b", "a")
                .wants("g", "a", "9")
                .told("a", "b"),
            "rename a b, rename b a",
        ),
        (
            "told of a name that is still wanted",
            chain()
                .wants("f", "a", "1")
                .wants("g", "b", "2")
                .wants("h", "c", "1")
                .told("c", "a"),
            "apply c",
        ),
        (
            "told by two",
            chain()
                .wants("f", "c", "8")
                .told("c", "a")
                .wants("g", "b", "2")
                .wants("h", "d", "9")
                .told("d", "a"),
            "problem c, problem d",
        ),
    ];
    for (what, scene, expected) in table {
        assert_eq!(summary(&scene.decide()), expected, "{what}, read");
        let scene = scene.remembered();
        assert_eq!(summary(&scene.decide()), expected, "{what}, remembered");
    }
}

#[test]
fn r15b_a_crash_after_any_step_of_a_rename_leads_to_the_same_end() {
    let scene = || {
        Scene::default()
            .has("f", "a", "1")
            .has("g", "b", "2")
            .has("h", "c", "3")
    };
    let chain = scene()
        .wants("f", "b", "1")
        .wants("g", "c", "2")
        .wants("h", "d", "3");
    let circle = scene()
        .wants("f", "b", "1")
        .wants("g", "c", "2")
        .wants("h", "a", "3");
    let told = scene()
        .wants("f", "b", "7")
        .told("b", "a")
        .wants("g", "a", "8")
        .told("a", "b")
        .wants("h", "c", "3");
    let ends = [
        ("chain", chain, "b c d"),
        ("circle", circle, "b c a"),
        ("told", told, "b a c"),
    ];
    for (what, scene, names) in ends {
        for crash_after in 0..=5 {
            let mut scene = scene.clone();
            // A run that ends after some steps, then runs that are not disturbed.
            for most in [crash_after, usize::MAX, usize::MAX] {
                let steps = crate::renames::steps(&scene.decide().renames);
                for (from, to) in steps.into_iter().flatten().take(most) {
                    let mut live = scene.live.remove(&from).unwrap();
                    live.former = Some(from.name.clone());
                    let object = live.object.as_mut().map(Arc::make_mut).unwrap();
                    object["metadata"]["name"] = json!(to.name);
                    assert_eq!(scene.live.insert(to, live), None, "{what}: a name is taken");
                }
            }
            let by_uid: BTreeMap<_, _> = scene
                .live
                .iter()
                .map(|(id, live)| (&live.uid, &id.name))
                .collect();
            let found: Vec<_> = by_uid.values().map(|name| name.as_str()).collect();
            assert_eq!(
                found.join(" "),
                names,
                "{what}, crash after {crash_after} steps"
            );
            assert!(scene.decide().renames.is_empty(), "{what}: renamed again");
        }
    }
}

#[test]
fn r15_an_object_that_is_missing_for_a_moment_is_not_deleted() {
    let mut scene = Scene::default().has("f", "a", "1");
    scene.young = true;
    let decision = scene.decide();
    assert_eq!(summary(&decision), "");
    assert_eq!(decision.look_again_at, Some(1_000 + GRACE_MS));
    assert_eq!(decision.missed[&id("a")], 1_000);
    assert_eq!(decision.missing[&id("a")], 1_000 + GRACE_MS);
}

/// Names go on from file to file, and the last file isn't saved yet.
#[test]
fn r15b_a_chain_that_is_saved_in_part_waits_for_the_rest() {
    let mut cut = Scene::default()
        .has("f", "a", "1")
        .has("g", "b", "2")
        .wants("f", "b", "1");
    assert_eq!(summary(&cut.decide()), "apply b, delete a");
    cut.young = true;
    let decision = cut.decide();
    assert_eq!(summary(&decision), "", "b may get another name");
    assert!(decision.missing.contains_key(&id("a")));
    let whole = cut.wants("g", "c", "2").decide();
    assert_eq!(summary(&whole), "rename a b, rename b c");
    // While b stands in both files the first one has a problem, and nothing of it is taken for something else.
    let twice = Scene::default()
        .has("f", "a", "1")
        .has("f", "c", "3")
        .has("g", "b", "2")
        .wants("f", "c", "1")
        .wants("g", "b", "2")
        .unsure("f");
    assert_eq!(summary(&twice.decide()), "problem c");
}

/// A name whose object is being deleted becomes free: what should get it is never deleted meanwhile.
#[test]
fn r15b_a_rename_waits_for_a_name_whose_object_is_being_deleted() {
    let mut scene = Scene::default()
        .has("f", "a", "1")
        .has("g", "b", "2")
        .wants("f", "b", "1");
    scene.live.get_mut(&id("b")).unwrap().deleting = true;
    let waits = scene.decide();
    assert_eq!(summary(&waits), "");
    assert_eq!(waits.waiting, [id("b")]);
    let chain = scene.clone().has("h", "z", "3").wants("h", "a", "3");
    let waits = chain.decide();
    assert_eq!(summary(&waits), "problem a");
    assert_eq!(waits.waiting, [id("b")]);
    scene.live.remove(&id("b"));
    assert_eq!(summary(&scene.decide()), "rename a b");
}

#[test]
fn r15_more_than_half_of_a_large_project_is_held() {
    let project = |total: usize, wanted: usize| {
        let mut scene = Scene::default();
        for at in 0..total {
            scene = scene.has(&format!("f{at}"), &format!("n{at}"), "1");
            if at < wanted {
                scene = scene.wants(&format!("f{at}"), &format!("n{at}"), "1");
            }
        }
        scene
    };
    for (total, wanted, held) in [
        (8, 4, None),
        (8, 3, Some(5)),
        (7, 0, None),
        (100, 0, Some(100)),
    ] {
        let decision = project(total, wanted).decide();
        assert_eq!(
            decision.held.as_ref().map(|held| held.count),
            held,
            "{total} {wanted}"
        );
        assert_eq!(decision.deletions.is_empty(), held.is_some());
    }
    // One of them was missed later than the others: nothing goes before all can be judged.
    let mut late = project(8, 3);
    late.late.insert(id("n7"));
    let decision = late.decide();
    assert_eq!((decision.deletions.len(), decision.held), (0, None));
    let mut scene = project(8, 3);
    let held = scene.decide().held.unwrap();
    assert_eq!((held.count, held.of, held.first.len()), (5, 8, 5));
    scene.approved = Some(held.token.clone());
    let decision = scene.decide();
    assert_eq!(
        (
            decision.deletions.len(),
            decision.held,
            decision.agreed.len()
        ),
        (5, None, 5)
    );
    scene.wanted.remove(&id("n0"));
    let more = scene.decide();
    assert_ne!(
        more.held.unwrap().token,
        held.token,
        "consent is for exactly these"
    );
}

#[test]
fn r15_a_definition_goes_only_when_nothing_goes_along_or_somebody_agreed() {
    let gadgets = definition("gadgets.example.com");
    let along = |names: &[&str]| -> GoingAlong {
        let names = names.iter();
        names
            .map(|name| (id(name), format!("uid-{name}")))
            .collect()
    };
    let scene = |known: Option<GoingAlong>, approved: Option<&str>| {
        let mut scene = Scene::default().has("f", "a", "1").wants("f", "a", "1");
        let live = Live {
            uid: "uid-gadgets".into(),
            ..Live::default()
        };
        scene.live.insert(gadgets.clone(), live);
        scene.approved = approved.map(ToOwned::to_owned);
        let known = known.map(|known| (gadgets.clone(), known));
        scene.going_along.extend(known);
        scene.decide()
    };
    let token = scene(Some(along(&["x"])), None).held.unwrap().token;
    let agreed = Some(token.as_str());
    let deleted = "delete gadgets.example.com";
    for (case, known, approved, expected) in [
        ("nobody knows", None, None, ""),
        ("nothing", Some(along(&[])), None, deleted),
        ("one", Some(along(&["x"])), None, "held 1"),
        ("agreed", Some(along(&["x"])), agreed, deleted),
        ("another", Some(along(&["y"])), agreed, "held 1"),
        ("one more", Some(along(&["x", "y"])), agreed, "held 1"),
    ] {
        let decision = scene(known.clone(), approved);
        assert_eq!(summary(&decision), expected, "{case}");
        assert_eq!(decision.unknown_company.len(), usize::from(known.is_none()));
        let is_held = decision.held.is_some();
        let waits_for = known.filter(|_| is_held).unwrap_or_default();
        assert_eq!(decision.held_for, waits_for, "{case}");
    }
    let held = scene(Some(along(&["x", "y"])), None).held.unwrap();
    assert_eq!(
        held.sentence(),
        "1 of 2 objects would be deleted; with the definition gadgets.example.com go 2 objects that were not removed: ConfigMap web/x, ConfigMap web/y"
    );
}

#[test]
fn what_others_may_need_is_made_first_and_deleted_last() {
    let mut scene = Scene::default().has("f", "a", "1").wants("f", "b", "2");
    let installation = ObjectId {
        group: landform_api::landscaper::GROUP.into(),
        kind: "Installation".into(),
        ..id("web")
    };
    let (_, live) = scene
        .live
        .first_key_value()
        .map(|(id, live)| (id.clone(), live.clone()))
        .unwrap();
    scene.live.insert(installation.clone(), live);
    let deleted = scene.decide().deletions;
    assert_eq!(deleted.len(), 1);
    assert_eq!(deleted[0].0, installation);
    scene.live.get_mut(&installation).unwrap().deleting = true;
    assert!(
        scene.decide().deletions.is_empty(),
        "it may still need the other"
    );
}

#[path = "decide_tests_of_keeping.rs"]
mod keeping;
