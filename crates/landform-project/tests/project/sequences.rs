//! Random sequences of edits: in the end the objects are as the directory says, and what only moved is the same object.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;

use crate::harness::{World, widget};

/// What somebody does to the directory. Numbers choose among what is there.
#[derive(Clone, Debug)]
enum Edit {
    Rename(usize),
    Swap(usize, usize),
    Chain(usize, usize),
    Move(usize, usize),
    RenameFile(usize),
    VanishAndReturn(usize),
    BreakAndMend(usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = 0..4_usize;
    prop_oneof![
        at.clone().prop_map(Edit::Rename),
        (at.clone(), at.clone()).prop_map(|(one, other)| Edit::Swap(one, other)),
        (at.clone(), at.clone()).prop_map(|(one, other)| Edit::Chain(one, other)),
        (at.clone(), at.clone()).prop_map(|(object, file)| Edit::Move(object, file)),
        at.clone().prop_map(Edit::RenameFile),
        at.clone().prop_map(Edit::VanishAndReturn),
        at.prop_map(Edit::BreakAndMend),
    ]
}

/// Four objects, which are known by their sizes: the file and the name of each.
struct Model {
    objects: Vec<(String, String)>,
    names: usize,
}

impl Model {
    fn fresh(&mut self) -> String {
        self.names += 1;
        format!("n{}", self.names)
    }

    fn files(&self) -> BTreeMap<String, String> {
        let mut files: BTreeMap<String, String> = BTreeMap::new();
        for (size, (file, name)) in (0_u32..).zip(&self.objects) {
            let text = files.entry(file.clone()).or_default();
            text.push_str("---\n");
            text.push_str(&widget(name, size));
        }
        files
    }

    /// Changes the model; returns a file that is gone or broken for a moment, and what is in it then.
    fn make(&mut self, edit: &Edit) -> Option<(String, Option<&'static str>)> {
        match edit {
            Edit::Rename(at) => self.objects[*at].1 = self.fresh(),
            Edit::Swap(one, other) => {
                let name = self.objects[*one].1.clone();
                self.objects[*one].1 = std::mem::replace(&mut self.objects[*other].1, name);
            }
            Edit::Chain(one, other) => {
                let fresh = self.fresh();
                let freed = std::mem::replace(&mut self.objects[*one].1, fresh);
                if one != other {
                    self.objects[*other].1 = freed;
                }
            }
            Edit::Move(object, file) => self.objects[*object].0 = format!("f{file}.yaml"),
            Edit::RenameFile(at) => {
                let (former, fresh) = (self.objects[*at].0.clone(), self.fresh());
                for (file, _) in self.objects.iter_mut().filter(|(file, _)| *file == former) {
                    *file = format!("{fresh}.yaml");
                }
            }
            Edit::VanishAndReturn(at) => return Some((self.objects[*at].0.clone(), None)),
            Edit::BreakAndMend(at) => return Some((self.objects[*at].0.clone(), Some("a: ["))),
        }
        None
    }
}

fn save(world: &World, before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) {
    for file in before.keys().filter(|file| !after.contains_key(*file)) {
        world.remove(file);
    }
    for (file, text) in after
        .iter()
        .filter(|(file, text)| before.get(*file) != Some(text))
    {
        world.write(file, text);
    }
}

async fn run(edits: Vec<Edit>) {
    let objects = (0..4).map(|at| (format!("f{at}.yaml"), format!("o{at}")));
    let mut model = Model {
        objects: objects.collect(),
        names: 0,
    };
    let world = World::empty().await;
    // What is gone for a moment must not be deleted because the machine is busy.
    let head = "apiVersion: landform.dev/v1alpha1\nkind: Project\n";
    world.write("landform.yaml", &format!("{head}spec: {{grace: 10m}}\n"));
    save(&world, &BTreeMap::new(), &model.files());
    world.create(crate::harness::manifest()).await;
    let mut uids = Vec::new();
    for (_, name) in &model.objects {
        let found = world.until("Widget", name, Value::is_object).await;
        uids.push(found["metadata"]["uid"].clone());
    }
    for edit in &edits {
        let before = model.files();
        if let Some((file, meanwhile)) = model.make(edit) {
            match meanwhile {
                Some(broken) => {
                    world.write(&file, broken);
                    world.status(|status| status["phase"] == "Incomplete").await;
                }
                None => {
                    world.remove(&file);
                    // It says what it holds, and that it does.
                    world
                        .status(|status| {
                            status["phase"] == "Settling"
                                && status["waitingOn"][0]["rule"] == "R15b"
                        })
                        .await;
                }
            }
            world.write(&file, &before[&file]);
        }
        save(&world, &before, &model.files());
        for (size, (file, name)) in model.objects.iter().enumerate() {
            let found = world
                .until("Widget", name, |found| {
                    let at = &found["metadata"]["annotations"]["landform.dev/project-file"];
                    found["spec"]["size"] == size && *at == **file
                })
                .await;
            assert_eq!(
                found["metadata"]["uid"], uids[size],
                "{edit:?} of {edits:?}"
            );
        }
        world.synced(4).await;
        assert_eq!(
            world.names("Widget").await.len(),
            4,
            "{edit:?} of {edits:?}"
        );
    }
    world.stop().await;
}

#[test]
fn r15b_objects_survive_whatever_is_done_to_their_files() {
    // A case is a server, an engine and dozens of files: fewer of them, unless somebody asks for more.
    let asked = std::env::var("PROPTEST_CASES").is_ok();
    let cases = if asked { Config::default().cases } else { 8 };
    let mut runner = TestRunner::new(Config {
        cases,
        max_shrink_iters: 20,
        failure_persistence: None,
        ..Config::default()
    });
    let edits = proptest::collection::vec(edit(), 1..8);
    let held = runner.run(&edits, |edits| {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(run(edits));
        Ok(())
    });
    held.unwrap();
}
