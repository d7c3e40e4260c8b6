//! What `why` says of projects and of what they wait for, and that its advice works: each state of the table is
//! ended by doing what is advised, and nothing else.

use std::time::Duration;

use landform_explain::object::ObjectRef;
use landform_explain::reader::ReadError;
use landform_explain::{ClientReader, Why, why};
use landform_project::preview;
use regex::Regex;
use serde_json::{Value, json};

use crate::ending::{Scene, Stop};
use crate::harness::{World, map};

/// What is wrong with a project when it is deleted.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    /// A file that can't be read.
    File,
    /// Settings that can't be read.
    Settings,
    /// Two files that define one object.
    Twice,
    /// An object that the API refuses.
    Refused,
    /// No directory.
    Directory,
    /// More than half of it is to be deleted.
    Held,
    /// Something has been missing for less than the grace.
    Missing,
}

impl Wrong {
    const ALL: [Self; 7] = [
        Self::File,
        Self::Settings,
        Self::Twice,
        Self::Refused,
        Self::Directory,
        Self::Held,
        Self::Missing,
    ];

    /// Makes it so.
    async fn happens(self, world: &World) {
        let maps = |world: &World| {
            for at in 0..9 {
                world.write(&format!("{at}.yaml"), &map(&format!("m{at}"), "1"));
            }
        };
        let phase = match self {
            Self::File => {
                world.write("broken.yaml", "a: [\n");
                "Incomplete"
            }
            Self::Settings => {
                world.write("landform.yaml", "spec: [\n");
                "Incomplete"
            }
            Self::Twice => {
                world.write("second.yaml", &map("map", "2"));
                "Incomplete"
            }
            Self::Refused => {
                world.write("refused.yaml", &map("No_Such_Name", "1"));
                "Incomplete"
            }
            Self::Directory => {
                std::fs::rename(world.path(""), world.directory.path().join("away")).unwrap();
                "Failed"
            }
            Self::Held => {
                maps(world);
                world.synced(15).await;
                for at in 0..9 {
                    world.remove(&format!("{at}.yaml"));
                }
                "Held"
            }
            Self::Missing => {
                let grace = "apiVersion: landform.dev/v1alpha1\nkind: Project\nspec: {grace: 1h}\n";
                world.write("landform.yaml", grace);
                world.remove("map.yaml");
                "Settling"
            }
        };
        world.status(|status| status["phase"] == phase).await;
    }
}

/// Following the advice ends a state within this time.
const PATIENCE: Duration = Duration::from_secs(30);

async fn asked(world: &World, object: &ObjectRef) -> Option<Why> {
    let reader = ClientReader::new(world.client.clone()).with_engine(world.engine.clone());
    match why::explain(&reader, object).await {
        Ok(why) => Some(why),
        Err(ReadError::NotFound(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

fn project() -> ObjectRef {
    ObjectRef::told("landform.dev", "Project", "", "shop")
}

/// Does what an advice says; where it names several ways, the last one that needs no person elsewhere.
async fn follow(scene: &mut Scene, act: &str) {
    let found = |pattern: &str| -> Option<Vec<String>> {
        let found = Regex::new(pattern).unwrap().captures(act)?;
        let groups = found.iter().skip(1).flatten();
        Some(groups.map(|group| group.as_str().to_owned()).collect())
    };
    let world = &scene.world;
    if let Some(named) =
        found(r"set spec\.finalize to false with `landform edit reconciler/([^`]+)`")
    {
        let patch = json!({"spec": {"finalize": false}});
        world.patch("Reconciler", &named[0], patch).await;
    } else if let Some(named) = found(r"remove the finalizer .*from (\w+)/(\S+) yourself") {
        let patch = json!({"metadata": {"finalizers": null}});
        world.patch(&named[0], &named[1], patch).await;
    } else if let Some(named) = found(r"agree by the annotation (\S+)=(\S+) on Project/(\S+),") {
        let annotations = json!({&*named[0]: named[1]});
        let patch = json!({"metadata": {"annotations": annotations}});
        world.patch("Project", &named[2], patch).await;
    } else if found(r"^serve (the kind Gadget|a version of gadgets\.example\.com) again").is_some()
    {
        scene.serve_again().await;
    } else if found(r"^start what serves the hook").is_some() {
        scene.start_hook().await;
    } else {
        let waits = Regex::new(r"^wait: .* by itself|goes on by itself|^wait: the hook|^wait: Landform works on it since").unwrap();
        assert!(waits.is_match(act), "nobody can follow this: {act}");
    }
}

/// Asks and follows until the state has ended; returns all that was said.
async fn ended(
    scene: &mut Scene,
    object: &ObjectRef,
    end: impl Fn(&Option<Why>) -> bool,
) -> String {
    let mut said = String::new();
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let why = asked(&scene.world, object).await;
        if end(&why) {
            return said;
        }
        let why = why.unwrap();
        for root in &why.roots {
            let line = format!("{}: {} → {}\n", root.object, root.message, root.act);
            if !said.contains(&line) {
                said.push_str(&line);
                follow(scene, &root.act).await;
            }
        }
        assert!(tokio::time::Instant::now() < deadline, "{said}\n{why:#?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn r13_a_project_that_is_deleted_says_what_it_waits_for_and_what_ends_that() {
    for (stop, expected) in [
        (
            Stop::Unreachable,
            "until the hook of Reconciler/gadgets is done",
        ),
        (Stop::Fails, "until the hook of Reconciler/gadgets is done"),
        (
            Stop::NotDone,
            "until the hook of Reconciler/gadgets is done",
        ),
        (Stop::Finalizer, "Gadget/g1 is held by example.com/held"),
    ] {
        let mut scene = Scene::new(stop, true).await;
        scene.stopped().await;
        let said = ended(&mut scene, &project(), Option::is_none).await;
        assert!(said.contains(expected), "{stop:?}: {said}");
        assert!(said.contains("Gadget/g0"), "{stop:?}: {said}");
        assert!(!said.contains("looks at it next"), "{stop:?}: {said}");
    }
}

#[tokio::test]
async fn g12b_a_project_that_waits_for_what_is_not_served_says_how_to_see_it() {
    let mut scene = Scene::new(Stop::Finalizer, false).await;
    scene.stopped().await;
    scene.unserve().await;
    let hidden = |status: &Value| status["waitingOn"][0]["rule"] == "G12b";
    scene.world.status(hidden).await;
    let said = ended(&mut scene, &project(), Option::is_none).await;
    assert!(said.contains("served"), "{said}");
}

#[tokio::test]
async fn r13_a_reconciler_without_its_hook_says_what_brings_it_back() {
    let mut scene = Scene::new(Stop::Unreachable, true).await;
    scene.stop_hook().await;
    let touched = json!({"metadata": {"annotations": {"a": "b"}}, "spec": {"size": 1}});
    scene.world.patch("Gadget", "g0", touched).await;
    let is_told =
        |found: &Value| found["metadata"]["annotations"]["landform.dev/error"].is_string();
    scene.world.until("Gadget", "g0", is_told).await;
    let reconciler = ObjectRef::told("landform.dev", "Reconciler", "", "gadgets");
    let unready = |found: &Value| found["status"]["conditions"][0]["status"] == "False";
    scene.world.until("Reconciler", "gadgets", unready).await;
    let said = ended(&mut scene, &reconciler, |why| {
        why.as_ref().is_some_and(|why| why.well)
    })
    .await;
    assert!(said.contains("start what serves the hook"), "{said}");
    assert!(!said.contains("landform reconcile"), "{said}");
    // The objects were called, without being asked.
    let is_well = |found: &Value| !is_told(found);
    scene.world.until("Gadget", "g0", is_well).await;
}

#[tokio::test]
async fn r15b_held_deletions_and_missing_objects_say_what_ends_that() {
    let mut scene = Scene::new(Stop::Finalizer, true).await;
    for at in 0..9 {
        scene
            .world
            .write(&format!("{at}.yaml"), &map(&format!("m{at}"), "1"));
    }
    scene.world.synced(15).await;
    for at in 0..9 {
        scene.world.remove(&format!("{at}.yaml"));
    }
    scene
        .world
        .status(|status| status["phase"] == "Settling")
        .await;
    let synced = |why: &Option<Why>| why.as_ref().is_some_and(|why| why.well);
    let said = ended(&mut scene, &project(), synced).await;
    assert!(said.contains("no file has it: it is kept until"), "{said}");
    assert!(said.contains("9 of 15 objects would be deleted"), "{said}");
    scene.world.synced(6).await;
}

/// A definition is in no file any more, and its project holds its deletion back: it says so itself, and what ends that.
#[tokio::test]
async fn r15_a_definition_whose_deletion_is_held_says_who_holds_it_and_what_ends_that() {
    let mut scene = Scene::new(Stop::Finalizer, true).await;
    let crd = "gadgets.example.com";
    let definition = ObjectRef::told("apiextensions.k8s.io", "CustomResourceDefinition", "", crd);
    let before = asked(&scene.world, &definition).await.unwrap();
    assert!(before.well, "{before:#?}");
    scene.world.remove("definition.json");
    let held = |status: &Value| status["phase"] == "Held";
    scene.world.status(held).await;
    let why = asked(&scene.world, &definition).await.unwrap();
    assert!(!why.well, "{why:#?}");
    assert_eq!(
        why.message,
        "CustomResourceDefinition/gadgets.example.com is Held"
    );
    let reason = &why.chain[0].waits_for[0].reason;
    assert!(
        reason.contains("Project/shop holds its deletion back"),
        "{reason}"
    );
    assert_eq!(why.roots[0].object, project());
    let plan = preview(&scene.world.client, &scene.world.path(""), "shop").await;
    let consent = plan.unwrap().held.unwrap();
    assert_eq!(
        consent,
        "The project shop holds these deletions back until you agree: run landform approve project/shop, or bring the files back."
    );
    let said = ended(&mut scene, &definition, Option::is_none).await;
    assert!(
        said.contains("with the definition gadgets.example.com go 3 objects that were not removed"),
        "{said}"
    );
}

/// A plan is asked for before the project has looked, or without one.
#[tokio::test]
async fn r15_a_plan_says_who_will_hold_deletions_back() {
    let scene = Scene::new(Stop::Finalizer, true).await;
    scene.world.stop().await;
    let shown = async |text: &str| {
        let plan = preview(&scene.world.client, &scene.world.path(""), "shop").await;
        let plan = plan.unwrap();
        assert_eq!(plan.held.as_deref().unwrap_or_default(), text, "{plan:?}");
        plan
    };
    shown("").await;
    scene.world.remove("definition.json");
    let plan = shown("The project shop will hold these deletions back when it sees them: run landform approve project/shop when its phase is Held, or bring the files back.").await;
    let taken = "with the definition gadgets.example.com go 3 objects that were not removed: Gadget default/g0, Gadget default/g1, Gadget default/g2";
    assert_eq!(plan.taken, [taken]);
}

/// Whatever is wrong with files, nothing that is said of a deleted project is about them, and what is said ends it.
#[tokio::test]
async fn r13_what_is_said_of_a_deleted_project_is_not_about_its_files() {
    for wrong in Wrong::ALL {
        let mut scene = Scene::new(Stop::Finalizer, true).await;
        wrong.happens(&scene.world).await;
        scene.world.stop().await;
        scene.world.delete("Project", "shop").await;
        // Nothing has looked at it since: what it says is of before.
        let reader = ClientReader::new(scene.world.client.clone());
        let stale = why::explain(&reader, &project()).await.unwrap();
        let acts: Vec<_> = stale.roots.iter().map(|root| root.act.as_str()).collect();
        assert_eq!(acts, ["wait: Landform looks at it next"], "{wrong:?}");
        scene.world.restart().await;
        let status = scene.world.status(|status| status["phase"] == "Deleting");
        let status = status.await;
        assert_eq!(status["problemCount"], 0, "{wrong:?} {status:#}");
        for field in ["problems", "heldDeletions", "lastError"] {
            assert!(status[field].is_null(), "{wrong:?} {status:#}");
        }
        let said = ended(&mut scene, &project(), Option::is_none).await;
        assert!(
            said.contains("held by example.com/held"),
            "{wrong:?}: {said}"
        );
        assert!(!said.contains("file"), "{wrong:?}: {said}");
    }
}
