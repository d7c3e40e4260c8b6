//! A deleted project goes, whatever it contains, whatever has stopped it, and whatever ends that.

use std::sync::Arc;

use landform_api::GroupKind;
use landform_engine::Key;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::harness::{World, definition, map, widget};

const HELD: &str = "example.com/held";

/// What keeps the project's objects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stop {
    /// A URL that nothing listens to any more.
    Unreachable,
    /// A command that fails for marked objects.
    Fails,
    /// A command that says that it isn't done.
    NotDone,
    /// A finalizer of others.
    Finalizer,
}

/// What lets them go.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    FinalizeTakenBack,
    ReconcilerDeleted,
    HookReturns,
    HookReturnsAfterRestart,
    FinalizerRemoved,
    FinalizerRemovedAfterUnserving,
    DefinitionDeleted,
}

const STOPS: [Stop; 4] = [
    Stop::Unreachable,
    Stop::Fails,
    Stop::NotDone,
    Stop::Finalizer,
];
const ENDS: [End; 7] = [
    End::FinalizeTakenBack,
    End::ReconcilerDeleted,
    End::HookReturns,
    End::HookReturnsAfterRestart,
    End::FinalizerRemoved,
    End::FinalizerRemovedAfterUnserving,
    End::DefinitionDeleted,
];

/// Whether an end is one of what has stopped the objects.
fn fits(stop: Stop, end: End) -> bool {
    match end {
        End::FinalizeTakenBack | End::ReconcilerDeleted => stop != Stop::Finalizer,
        End::HookReturns | End::HookReturnsAfterRestart => stop != Stop::Finalizer,
        End::FinalizerRemoved | End::FinalizerRemovedAfterUnserving => stop == Stop::Finalizer,
        // The end of a definition waits for its objects, so it needs a hook that is asked again.
        End::DefinitionDeleted => stop != Stop::Finalizer,
    }
}

/// A hook that answers `{}` until the task is aborted.
async fn serve(listener: TcpListener) {
    while let Ok((mut stream, _)) = listener.accept().await {
        tokio::spawn(async move {
            let mut buffer = [0; 1 << 16];
            // One call fits into the buffer; the answer closes the connection.
            let _ = stream.read(&mut buffer).await;
            let answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";
            let _ = stream.write_all(answer).await;
        });
    }
}

/// A project with a hook and objects that wait for it when they are deleted.
pub(crate) struct Scene {
    pub(crate) world: World,
    stop: Stop,
    /// The address of the hook, and what serves it.
    address: std::net::SocketAddr,
    server: Option<JoinHandle<()>>,
}

impl Scene {
    pub(crate) async fn new(stop: Stop, whole: bool) -> Self {
        let world = World::empty().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = Some(tokio::spawn(serve(listener)));
        let definition = definition("Gadget", "gadgets");
        let reconciler = reconciler(&world, stop, address);
        // What is no file is made by somebody else, and stays.
        if whole {
            world.write("definition.json", &definition.to_string());
            world.write("reconciler.json", &reconciler.to_string());
        } else {
            world.create(definition).await;
            world.create(reconciler).await;
        }
        for at in 0..3 {
            world.write(&format!("g{at}.json"), &gadget(at, stop).to_string());
        }
        world.write("map.yaml", &map("map", "1"));
        world.create(crate::harness::manifest()).await;
        world.synced(if whole { 6 } else { 4 }).await;
        if stop != Stop::Finalizer {
            for at in 0..3 {
                let is_held = |found: &Value| found["metadata"]["finalizers"].is_array();
                world.until("Gadget", &format!("g{at}"), is_held).await;
            }
        }
        Self {
            world,
            stop,
            address,
            server,
        }
    }

    pub(crate) async fn stopped(&mut self) {
        if self.stop == Stop::Unreachable {
            self.stop_hook().await;
        }
        self.world.delete("Project", "shop").await;
        let waits = |status: &Value| {
            let waits = status["waitingOn"].as_array();
            status["phase"] == "Deleting" && waits.is_some_and(|waits| waits.len() == 3)
        };
        self.world.status(waits).await;
        for at in 0..3 {
            let marked = |found: &Value| found["metadata"]["deletionTimestamp"].is_string();
            self.world.until("Gadget", &format!("g{at}"), marked).await;
        }
    }

    async fn ended(&mut self, end: End) {
        match end {
            End::FinalizeTakenBack => {
                let patch = json!({"spec": {"finalize": false}});
                self.world.patch("Reconciler", "gadgets", patch).await;
            }
            End::ReconcilerDeleted => self.world.delete("Reconciler", "gadgets").await,
            End::HookReturns => self.return_hook().await,
            End::HookReturnsAfterRestart => {
                self.world.stop().await;
                self.return_hook().await;
                self.world.restart().await;
            }
            End::FinalizerRemoved => self.let_go().await,
            End::FinalizerRemovedAfterUnserving => {
                self.unserve().await;
                self.serve_again().await;
                self.let_go().await;
            }
            End::DefinitionDeleted => {
                let name = "gadgets.example.com";
                self.world.delete("CustomResourceDefinition", name).await;
                self.return_hook().await;
            }
        }
    }

    pub(crate) async fn start_hook(&mut self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.server = Some(tokio::spawn(serve(listener)));
    }

    pub(crate) async fn stop_hook(&mut self) {
        let server = self.server.take().unwrap();
        server.abort();
        let _ = server.await;
    }

    async fn return_hook(&mut self) {
        if self.stop == Stop::Unreachable {
            self.start_hook().await;
        }
        self.world.write(".returned", "");
        for at in 0..3 {
            // Sooner than the next try, which may be minutes away.
            self.world.engine.ask(key(at));
        }
    }

    async fn let_go(&self) {
        for at in 0..3 {
            let patch = json!({"metadata": {"finalizers": null}});
            self.world.patch("Gadget", &format!("g{at}"), patch).await;
        }
    }

    pub(crate) async fn unserve(&self) {
        self.set_served(false).await;
    }

    pub(crate) async fn serve_again(&self) {
        self.set_served(true).await;
    }

    pub(crate) async fn set_served(&self, served: bool) {
        let mut versions = definition("Gadget", "gadgets")["spec"]["versions"].clone();
        versions[0]["served"] = json!(served);
        let patch = json!({"spec": {"versions": versions}});
        let name = "gadgets.example.com";
        self.world
            .patch("CustomResourceDefinition", name, patch)
            .await;
    }
}

fn key(at: usize) -> Key {
    let kind = GroupKind {
        group: "example.com".into(),
        kind: "Gadget".into(),
    };
    Key::new(Arc::new(kind), "default", &format!("g{at}"))
}

fn gadget(at: usize, stop: Stop) -> Value {
    let mut gadget = json!({
        "apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": format!("g{at}")},
    });
    if stop == Stop::Finalizer {
        gadget["metadata"]["finalizers"] = json!([HELD]);
    }
    gadget
}

fn reconciler(world: &World, stop: Stop, address: std::net::SocketAddr) -> Value {
    let returned = world.path(".returned").display().to_string();
    let unless_returned = |answer: &str| {
        let script = format!(
            "if grep -Eq '\"deleting\": *true' && ! test -e '{returned}'; then {answer}; else echo '{{}}'; fi"
        );
        json!({"command": ["sh", "-c", script]})
    };
    let hook = match stop {
        Stop::Unreachable | Stop::Finalizer => json!({"url": format!("http://{address}/")}),
        Stop::Fails => unless_returned("exit 1"),
        Stop::NotDone => unless_returned("echo '{\"done\": false}'"),
    };
    json!({
        "apiVersion": "landform.dev/v1alpha1", "kind": "Reconciler", "metadata": {"name": "gadgets"},
        "spec": {
            "for": {"group": "example.com", "version": "v1", "kind": "Gadget"},
            "hook": hook, "finalize": stop != Stop::Finalizer, "timeout": "5s",
        },
    })
}

async fn every_stop(end: End) {
    for stop in STOPS.into_iter().filter(|stop| fits(*stop, end)) {
        for whole in [true, false] {
            let mut scene = Scene::new(stop, whole).await;
            scene.stopped().await;
            scene.ended(end).await;
            scene.world.gone("Project", "shop").await;
            let left = scene.world.names("ConfigMap").await;
            assert_eq!(left, [""; 0], "{stop:?} {end:?} {whole}");
        }
    }
}

#[tokio::test]
async fn r15_a_project_goes_when_finalize_is_taken_back() {
    every_stop(End::FinalizeTakenBack).await;
}

#[tokio::test]
async fn r15_a_project_goes_when_the_reconciler_is_deleted() {
    every_stop(End::ReconcilerDeleted).await;
}

#[tokio::test]
async fn r15_a_project_goes_when_the_hook_returns() {
    every_stop(End::HookReturns).await;
    every_stop(End::HookReturnsAfterRestart).await;
}

#[tokio::test]
async fn r15_a_project_goes_when_finalizers_are_removed() {
    every_stop(End::FinalizerRemoved).await;
    every_stop(End::FinalizerRemovedAfterUnserving).await;
}

#[tokio::test]
async fn r15_a_project_goes_when_a_definition_is_deleted() {
    every_stop(End::DefinitionDeleted).await;
}

#[test]
fn every_stop_has_an_end() {
    for stop in STOPS {
        assert!(ENDS.into_iter().any(|end| fits(stop, end)), "{stop:?}");
    }
}

/// What ends while a project reads what is there is not among what it reads, and has been told of already.
#[tokio::test]
async fn r15_an_object_that_ends_while_the_project_looks_is_not_waited_for() {
    let mut scene = Scene::new(Stop::Fails, true).await;
    scene.stopped().await;
    scene.world.gate.close("gadgets");
    // All objects of the kind are seen anew now, which has the project look.
    scene.ended(End::FinalizeTakenBack).await;
    scene.world.gate.holds().await;
    for at in 0..3 {
        scene.world.gone("Gadget", &format!("g{at}")).await;
        while scene.world.engine.object(key(at)).await.unwrap().is_some() {
            tokio::task::yield_now().await;
        }
    }
    scene.world.gate.open();
    scene.world.gone("Project", "shop").await;
}

#[tokio::test]
async fn r15_an_object_that_ends_before_its_kind_is_followed_is_not_waited_for() {
    let mut world = World::new(&[("w.yaml", &widget("w", 1))]).await;
    world.synced(1).await;
    let held = json!({"metadata": {"finalizers": [HELD]}});
    world.patch("Widget", "w", held).await;
    world.delete("Project", "shop").await;
    world.status(|status| status["phase"] == "Deleting").await;
    world.gate.close("widgets");
    world.restart().await;
    world.gate.holds().await;
    let free = json!({"metadata": {"finalizers": null}});
    world.patch("Widget", "w", free).await;
    world.gone("Widget", "w").await;
    world.gate.open();
    world.gone("Project", "shop").await;
}

/// Rule G12b: what can't be read is there until a read by uid says otherwise.
#[tokio::test]
async fn g12b_a_project_waits_for_objects_of_a_kind_that_is_not_served() {
    let mut scene = Scene::new(Stop::Finalizer, false).await;
    scene.stopped().await;
    scene.unserve().await;
    let hidden = |status: &Value| {
        let reason = status["waitingOn"][0]["reason"].as_str();
        reason.is_some_and(|reason| reason.contains("served"))
    };
    scene.world.status(hidden).await;
    scene.serve_again().await;
    scene.world.status(|status| !hidden(status)).await;
    assert_eq!(scene.world.names("Gadget").await, ["g0", "g1", "g2"]);
    scene.let_go().await;
    scene.world.gone("Project", "shop").await;
}

/// What serves the hook may be any object of the project: a widget stands for it here.
async fn serving_scene() -> Scene {
    let scene = Scene::new(Stop::Fails, true).await;
    scene.world.write("w.yaml", &widget("w", 1));
    scene.world.synced(7).await;
    scene
}

async fn nothing_else_is_marked(world: &World) {
    for (kind, name) in [
        ("Widget", "w"),
        ("Reconciler", "gadgets"),
        ("CustomResourceDefinition", "gadgets.example.com"),
    ] {
        let found = world.get(kind, name).await;
        let marked = &found["metadata"]["deletionTimestamp"];
        assert!(found.is_object() && marked.is_null(), "{found:#}");
    }
}

#[tokio::test]
async fn r15_what_a_hook_must_clean_up_goes_before_all_else_of_the_project() {
    let mut scene = serving_scene().await;
    scene.stopped().await;
    nothing_else_is_marked(&scene.world).await;
    scene.return_hook().await;
    scene.world.gone("Project", "shop").await;
    assert!(scene.world.get("Widget", "w").await.is_null());
}

#[tokio::test]
async fn r15_files_that_vanish_together_go_in_the_same_order() {
    for down in [false, true] {
        let mut scene = serving_scene().await;
        if down {
            scene.world.stop().await;
        }
        let all = ["g0.json", "g1.json", "g2.json", "w.yaml", "reconciler.json"];
        for file in all {
            scene.world.remove(file);
        }
        if down {
            // What was known of the Reconciler is known from the store only.
            scene.world.restart().await;
        }
        for at in 0..3 {
            let marked = |found: &Value| found["metadata"]["deletionTimestamp"].is_string();
            scene.world.until("Gadget", &format!("g{at}"), marked).await;
        }
        nothing_else_is_marked(&scene.world).await;
        scene.return_hook().await;
        scene.world.gone("Widget", "w").await;
        scene.world.gone("Reconciler", "gadgets").await;
        scene.world.synced(2).await;
    }
}

/// The hook is there for all objects of the kind: those of others go with the definition.
#[tokio::test]
async fn r15_a_reconciler_stays_until_its_definition_is_gone() {
    let mut scene = serving_scene().await;
    for at in 0..3 {
        scene.world.remove(&format!("g{at}.json"));
    }
    scene.world.write(".returned", "");
    scene.world.synced(4).await;
    scene.world.remove(".returned");
    let mut foreign = gadget(0, Stop::Fails);
    foreign["metadata"]["namespace"] = json!("default");
    scene.world.create(foreign).await;
    let held = |found: &Value| found["metadata"]["finalizers"].is_array();
    scene.world.until("Gadget", "g0", held).await;
    scene.world.delete("Project", "shop").await;
    let marked = |found: &Value| found["metadata"]["deletionTimestamp"].is_string();
    scene.world.until("Gadget", "g0", marked).await;
    for (kind, name) in [("Reconciler", "gadgets"), ("Widget", "w")] {
        let found = scene.world.get(kind, name).await;
        let unmarked = found["metadata"]["deletionTimestamp"].is_null();
        assert!(found.is_object() && unmarked, "{found:#}");
    }
    assert!(held(&scene.world.get("Gadget", "g0").await));
    scene.return_hook().await;
    scene.world.gone("Project", "shop").await;
    assert!(scene.world.get("Reconciler", "gadgets").await.is_null());
}
