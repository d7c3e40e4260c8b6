//! Whatever order events arrive in, no dependent of an owner that lived throughout is ever removed (G16), and no owner
//! goes before what it waits for (G7, G13).
//!
//! Random graphs of two kinds under renames, deletes, a definition that is served and not served, a history that is cut,
//! and a network on which the collector's requests fail and its watches break off after any line. What is right
//! is read from the store's log, by uid. In the end the network is sound, and everything that should go goes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt as _;
use http::Method;
use landform_store::memory::MemoryStore;
use landform_store::{Event, EventKind, Revision, Store, Watch};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::{Value, json};

use crate::boxes::{BOXES, reference, serve, with_boxes};
use crate::faults::{Faults, Faulty};
use crate::harness::{MAPS, World};

#[derive(Clone, Debug)]
enum Step {
    Make {
        owners: Vec<usize>,
        is_box: bool,
    },
    Rename {
        object: usize,
    },
    /// A child is made while its owner is renamed.
    Adopt {
        owner: usize,
        is_box: bool,
    },
    Delete {
        object: usize,
        policy: usize,
    },
    Serve(bool),
    Faults(bool),
    /// Watches that are not up to date list anew.
    CutHistory,
    /// The collector ends, and another one begins that has seen nothing.
    Restart,
    Pause {
        ms: u64,
    },
}

const POLICIES: [&str; 4] = ["", BACKGROUND, "?propagationPolicy=Foreground", ORPHAN];
const BACKGROUND: &str = "?propagationPolicy=Background";
const ORPHAN: &str = "?propagationPolicy=Orphan";

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let owners = || prop::collection::vec(0..30_usize, 0..3);
    let step = prop_oneof![
        6 => (owners(), any::<bool>()).prop_map(|(owners, is_box)| Step::Make { owners, is_box }),
        3 => (0..30_usize).prop_map(|object| Step::Rename { object }),
        3 => (0..30_usize, any::<bool>()).prop_map(|(owner, is_box)| Step::Adopt { owner, is_box }),
        2 => (0..30_usize, 0..4_usize).prop_map(|(object, policy)| Step::Delete { object, policy }),
        2 => any::<bool>().prop_map(Step::Serve),
        2 => any::<bool>().prop_map(Step::Faults),
        1 => Just(Step::CutHistory),
        2 => Just(Step::Restart),
        3 => (0..300_u64).prop_map(|ms| Step::Pause { ms }),
    ];
    prop::collection::vec(step, 4..40)
}

/// The world, what was made in it, and all that its log ever said.
struct Scene {
    world: World,
    /// The collector's.
    client: kube::Client,
    faults: Arc<Faults>,
    uids: Vec<String>,
    /// What was deleted by a request of ours.
    deleted: BTreeSet<String>,
    /// What was deleted by a policy that doesn't let dependents go, perhaps after one that does.
    taking: BTreeSet<String>,
    /// What was deleted by a policy that waits for nothing.
    hurried: BTreeSet<String>,
    names: usize,
    log: Box<dyn Watch>,
    events: Vec<Arc<Event>>,
}

impl Scene {
    async fn start(seed: u64) -> Self {
        let store = Arc::new(MemoryStore::new());
        let log = store.watch_all(Revision::ZERO).unwrap();
        let mut world = World::on(store).await;
        with_boxes(&world).await;
        let service = Faulty::new(world.service(), seed);
        let faults = service.faults.clone();
        let client = kube::Client::new(service, "default");
        world.collect_with(client.clone());
        Self {
            world,
            client,
            faults,
            uids: Vec::new(),
            deleted: BTreeSet::new(),
            taking: BTreeSet::new(),
            hurried: BTreeSet::new(),
            names: 0,
            log,
            events: Vec::new(),
        }
    }

    /// The object of a number as it is now, if it is there and can be reached.
    async fn object(&self, number: usize) -> Option<(String, Value)> {
        let uid = self.uids.get(number % self.uids.len().max(1))?;
        let found = self
            .world
            .read(&format!("/apis/landform.dev/v1alpha1/uids/{uid}"))
            .await;
        let plural = if found["object"]["kind"] == "Box" {
            BOXES
        } else {
            MAPS
        };
        let path = format!("{plural}/{}", found["object"]["name"].as_str()?);
        let (code, object) = self.world.get(&path).await;
        (code == 200).then_some((path, object))
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("o{}", self.names)
    }

    fn new_object(&mut self, owners: &[Value], is_box: bool) -> (&'static str, Value) {
        let references: Vec<Value> = owners.iter().map(reference).collect();
        let metadata = json!({"name": self.name(), "ownerReferences": references});
        if is_box {
            (
                BOXES,
                json!({"apiVersion": "example.com/v1", "kind": "Box", "metadata": metadata}),
            )
        } else {
            (
                MAPS,
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}),
            )
        }
    }

    fn note(&mut self, made: (u16, Value)) {
        if made.0 == 201 {
            self.uids
                .push(made.1["metadata"]["uid"].as_str().unwrap().to_owned());
        }
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Make { owners, is_box } => {
                let mut found = Vec::new();
                for owner in owners {
                    let owner = self.object(owner).await;
                    found.extend(
                        owner
                            .map(|(_, object)| object)
                            .filter(|owner| !found.contains(owner)),
                    );
                }
                let (path, object) = self.new_object(&found, is_box);
                let made = self.world.send(Method::POST, path, &object).await;
                self.note(made);
            }
            Step::Rename { object } => {
                if let Some((path, _)) = self.object(object).await {
                    let rename = json!({"kind": "Rename", "name": self.name()});
                    self.world
                        .send(Method::POST, &format!("{path}/rename"), &rename)
                        .await;
                }
            }
            Step::Adopt { owner, is_box } => {
                if let Some((path, owner)) = self.object(owner).await {
                    let rename = json!({"kind": "Rename", "name": self.name()});
                    let path = format!("{path}/rename");
                    let (children, child) = self.new_object(&[owner], is_box);
                    let (_, made) = tokio::join!(
                        self.world.send(Method::POST, &path, &rename),
                        self.world.send(Method::POST, children, &child),
                    );
                    self.note(made);
                }
            }
            Step::Delete { object, policy } => {
                if let Some((path, object)) = self.object(object).await {
                    if POLICIES[policy] != ORPHAN {
                        self.taking.insert(uid_of(&object));
                    }
                    if POLICIES[policy] == BACKGROUND {
                        self.hurried.insert(uid_of(&object));
                    }
                    self.deleted.insert(uid_of(&object));
                    let path = format!("{path}{}", POLICIES[policy]);
                    self.world.send(Method::DELETE, &path, &Value::Null).await;
                }
            }
            Step::Serve(served) => serve(&self.world, served).await,
            Step::Faults(on) => self.faults.on.store(on, Ordering::SeqCst),
            Step::CutHistory => {
                self.read_log();
                let store = &self.world.store;
                store.compact(store.revision()).await.unwrap();
            }
            Step::Restart => {
                self.world.stop_collecting();
                self.world.collect_with(self.client.clone());
            }
            Step::Pause { ms } => tokio::time::sleep(Duration::from_millis(ms)).await,
        }
    }

    fn read_log(&mut self) {
        while let Some(events) = self.log.next().now_or_never() {
            self.events.extend(events.unwrap());
        }
    }

    /// Waits until nothing is left that should go.
    async fn settle(&mut self) -> Result<(), TestCaseError> {
        for _ in 0..600 {
            self.read_log();
            let lives = lives(&self.events);
            let exists = |uid: &String| lives.get(uid).is_some_and(|life| life.alive);
            let waits =
                |life: &&Life| life.alive && (life.marked || !life.owners.iter().all(exists));
            if !lives.values().any(|life| waits(&life)) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let view = self
            .world
            .read("/apis/landform.dev/v1alpha1/deletion")
            .await;
        let left = lives(&self.events);
        Err(TestCaseError::fail(format!(
            "it doesn't come to an end: {view}\n{left:#?}"
        )))
    }
}

/// What the log says of one uid.
#[derive(Clone, Debug, Default)]
struct Life {
    alive: bool,
    marked: bool,
    cascades: bool,
    /// The owners that it was made with, those that it has, and all that it ever had.
    first: BTreeSet<String>,
    owners: BTreeSet<String>,
    ever: BTreeSet<String>,
    /// The owners that were deleted by Orphan while it was theirs.
    let_go: BTreeSet<String>,
    /// The owners that were marked while it was theirs.
    waited_for_by: BTreeSet<String>,
}

fn uid_of(object: &Value) -> String {
    object["metadata"]["uid"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn is_rename(event: &Event, object: &Value) -> bool {
    let to = &object["metadata"]["annotations"]["landform.dev/renamed-to"];
    event.kind == EventKind::Deleted && to.is_string()
}

fn take(lives: &mut BTreeMap<String, Life>, event: &Event) {
    let object: Value = serde_json::from_slice(&event.record.value).unwrap();
    let metadata = &object["metadata"];
    let life = lives.entry(uid_of(&object)).or_default();
    let references = metadata["ownerReferences"].as_array().into_iter().flatten();
    life.owners = references
        .map(|owner| owner["uid"].as_str().unwrap().to_owned())
        .collect();
    if life.ever.is_empty() && event.kind == EventKind::Created && !life.alive {
        life.first.clone_from(&life.owners);
    }
    life.ever.extend(life.owners.iter().cloned());
    let was_marked = life.marked;
    life.marked = metadata["deletionTimestamp"].is_string();
    let finalizers = metadata["finalizers"].to_string();
    life.cascades |= finalizers.contains("cascade_deletion");
    life.alive = event.kind != EventKind::Deleted || is_rename(event, &object);
    if life.alive && life.marked {
        let owner = uid_of(&object);
        let owned = lives
            .values_mut()
            .filter(|life| life.owners.contains(&owner));
        for life in owned.filter(|_| finalizers.contains("\"orphan\"")) {
            life.let_go.insert(owner.clone());
        }
        let owned = lives
            .values_mut()
            .filter(|life| life.alive && life.owners.contains(&owner) && !was_marked);
        for life in owned {
            life.waited_for_by.insert(owner.clone());
        }
    }
}

fn lives(events: &[Arc<Event>]) -> BTreeMap<String, Life> {
    let mut lives = BTreeMap::new();
    for event in events {
        take(&mut lives, event);
    }
    lives
}

/// Goes through the log, and complains of every removal that no rule asks for.
fn check(scene: &Scene) -> Result<(), TestCaseError> {
    let Scene {
        events,
        deleted,
        taking,
        hurried,
        ..
    } = scene;
    let mut lives = BTreeMap::new();
    for event in events {
        take(&mut lives, event);
        let object: Value = serde_json::from_slice(&event.record.value).unwrap();
        let uid = uid_of(&object);
        let life: &Life = &lives[&uid];
        let finalizers = object["metadata"]["finalizers"].to_string();
        let waits = ["cascade_deletion", "foregroundDeletion"]
            .iter()
            .any(|finalizer| finalizers.contains(finalizer));
        if !life.alive && waits && !hurried.contains(&uid) {
            let left = lives.iter().find(|(_, life)| {
                let owned = life.owners.contains(&uid) && life.waited_for_by.contains(&uid);
                life.alive && owned
            });
            prop_assert!(
                left.is_none(),
                "{} was removed at {} before {:?}, which it owned when it was deleted",
                event.record.key,
                event.revision,
                left,
            );
        }
        if life.alive || deleted.contains(&uid) {
            continue;
        }
        let living = |owner: &&String| {
            lives
                .get(*owner)
                .is_some_and(|owner| owner.alive && !owner.marked)
        };
        let cascaded = life
            .ever
            .iter()
            .any(|owner| lives.get(owner).is_some_and(|owner| owner.cascades));
        let lets_go = |owner: &String| life.let_go.contains(owner) && !taking.contains(owner);
        prop_assert!(
            life.ever
                .iter()
                .any(|owner| !living(&owner) && !lets_go(owner)),
            "{} was removed at {} though all owners that are gone let it go",
            event.record.key,
            event.revision,
        );
        let owner = life.owners.iter().find(living);
        prop_assert!(
            cascaded || owner.is_none(),
            "{} was removed at {} though its owner {:?} lives",
            event.record.key,
            event.revision,
            owner
        );
    }
    for (uid, life) in lives.iter().filter(|(_, life)| life.alive) {
        for owner in life
            .first
            .iter()
            .filter(|owner| lives.get(*owner).is_some_and(|owner| owner.alive))
        {
            prop_assert!(
                life.owners.contains(owner),
                "{uid} lost its living owner {owner}"
            );
        }
    }
    Ok(())
}

async fn run(steps: Vec<Step>, seed: u64) -> Result<(), TestCaseError> {
    let mut scene = Scene::start(seed).await;
    for step in steps {
        scene.step(step).await;
    }
    scene.faults.on.store(false, Ordering::SeqCst);
    serve(&scene.world, true).await;
    scene.settle().await?;
    check(&scene)
}

proptest! {
    // A case runs a server and a collector for minutes of a clock that stands still while they work.
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.div_ceil(4), max_shrink_iters: 200, ..ProptestConfig::default()
    })]

    #[test]
    fn g12b_g16_no_dependent_of_an_owner_that_lives_is_ever_removed(steps in steps(), seed in any::<u64>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(run(steps, seed))?;
    }
}
