//! A plan of a changed copy of a project's directory says exactly what is done when the directory itself is changed:
//! over generated directories of objects and blueprints, own and nested, and generated edits.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use landform_project::preview;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use super::harness::{API, Site, lines};
use crate::{Action, Blueprints, Named, Question, Rename};

const CASES: &str = "LANDFORM_PLAN_CASES";
const FEW: u32 = 8;
/// Installations and blueprints of a project.
const MOST: usize = 3;

/// A project: what each installation uses, and what each blueprint says.
#[derive(Clone, Debug)]
struct Files {
    /// By name: the blueprint, and the constant that is handed to it.
    installations: BTreeMap<usize, (usize, u8)>,
    blueprints: Vec<Said>,
}

#[derive(Clone, Debug)]
struct Said {
    constant: u8,
    /// What a template reads from a file of its own.
    file: u8,
    /// Another blueprint that is nested in it: one that comes later, so that there is no circle.
    nested: Option<usize>,
    broken: bool,
    away: bool,
}

#[derive(Clone, Debug)]
enum Edit {
    Constant(usize, u8),
    File(usize, u8),
    Nested(usize, Option<usize>),
    Broken(usize, bool),
    Away(usize, bool),
    Uses(usize, usize, u8),
    Gone(usize),
    Swapped(usize, usize),
}

fn said() -> impl Strategy<Value = Said> {
    let nested = proptest::option::of(0..MOST);
    (0..3_u8, 0..3_u8, nested).prop_map(|(constant, file, nested)| Said {
        constant,
        file,
        nested,
        broken: false,
        away: false,
    })
}

fn files() -> impl Strategy<Value = Files> {
    let installations = proptest::collection::btree_map(0..MOST, (0..MOST, 0..2_u8), 1..=MOST);
    let blueprints = proptest::collection::vec(said(), MOST);
    (installations, blueprints).prop_map(|(installations, blueprints)| Files {
        installations,
        blueprints,
    })
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = 0..MOST;
    prop_oneof![
        (at.clone(), 0..3_u8).prop_map(|(at, value)| Edit::Constant(at, value)),
        (at.clone(), 0..3_u8).prop_map(|(at, value)| Edit::File(at, value)),
        (at.clone(), proptest::option::of(0..MOST))
            .prop_map(|(at, nested)| Edit::Nested(at, nested)),
        (at.clone(), any::<bool>()).prop_map(|(at, broken)| Edit::Broken(at, broken)),
        (at.clone(), any::<bool>()).prop_map(|(at, away)| Edit::Away(at, away)),
        (at.clone(), at.clone(), 0..2_u8).prop_map(|(at, uses, value)| Edit::Uses(at, uses, value)),
        at.clone().prop_map(Edit::Gone),
        (at.clone(), at).prop_map(|(one, other)| Edit::Swapped(one, other)),
    ]
}

impl Files {
    fn edit(&mut self, edit: &Edit) {
        match *edit {
            Edit::Constant(at, value) => self.blueprints[at].constant = value,
            Edit::File(at, value) => self.blueprints[at].file = value,
            Edit::Nested(at, nested) => self.blueprints[at].nested = nested,
            Edit::Broken(at, broken) => self.blueprints[at].broken = broken,
            Edit::Away(at, away) => self.blueprints[at].away = away,
            Edit::Uses(at, uses, value) => drop(self.installations.insert(at, (uses, value))),
            Edit::Gone(at) => drop(self.installations.remove(&at)),
            Edit::Swapped(one, other) => self.blueprints.swap(one, other),
        }
    }

    fn write(&self, root: &Path) {
        for entry in fs::read_dir(root).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                fs::remove_dir_all(path).unwrap();
            } else {
                fs::remove_file(path).unwrap();
            }
        }
        for (name, (uses, value)) in &self.installations {
            let object = json!({
                "apiVersion": API, "kind": "Installation", "metadata": {"name": format!("i{name}")},
                "spec": {"blueprint": {"path": format!("b{uses}")}, "importDataMappings": {"given": value}},
            });
            fs::write(root.join(format!("i{name}.yaml")), object.to_string()).unwrap();
        }
        for (at, said) in self.blueprints.iter().enumerate() {
            if !said.away {
                said.write(at, &root.join(format!("b{at}")));
            }
        }
    }
}

impl Said {
    fn write(&self, at: usize, place: &Path) {
        fs::create_dir_all(place.join("deep")).unwrap();
        let deploy = format!(
            "deployItems: [{{name: item, type: landscaper.gardener.cloud/mock, config: {{constant: {}, \
             given: {{{{ .imports.given }}}}, file: {{{{ readFile \"deep/file\" }}}}}}}}]",
            self.constant
        );
        // Its path is known only when the template has run.
        let nested = self.nested.filter(|nested| *nested > at);
        let nested = nested.map(|nested| {
            let template = format!(
                "subinstallations: [{{name: inner, blueprint: {{path: 'b{{{{ {nested} }}}}'}}, \
                 importDataMappings: {{given: 7}}}}]"
            );
            json!([{"name": "nested", "type": "GoTemplate", "template": template}])
        });
        let blueprint = json!({
            "apiVersion": API, "kind": "Blueprint",
            "imports": [{"name": "given", "type": "data", "schema": {}, "required": false}],
            "deployExecutions": [{"name": "items", "type": "GoTemplate", "template": deploy}],
            "subinstallationExecutions": nested.unwrap_or_else(|| json!([])),
        });
        let text = blueprint.to_string();
        let text = if self.broken { "imports: [\n" } else { &text };
        fs::write(place.join("blueprint.yaml"), text).unwrap();
        fs::write(place.join("deep/file"), self.file.to_string()).unwrap();
    }
}

/// The question about a directory, as `landform plan DIR` asks it.
async fn question(site: &Site, directory: &Path, real: &Path) -> Question {
    let world = site.world().await;
    assert!(world.settle().await);
    let found = preview(&world.client, directory, "shop").await.unwrap();
    let places = found.blueprints.unwrap_or_default();
    let files = places
        .into_iter()
        .map(|(path, place)| (path, contents(&place)));
    let named = |api_version: String, id: landform_project::ObjectId| Named {
        api_version,
        kind: id.kind,
        namespace: id.namespace.unwrap_or_default(),
        name: id.name,
    };
    let deletions = found.deletions.into_iter();
    let renames = found.renames.into_iter();
    Question {
        objects: found
            .objects
            .iter()
            .map(|object| Value::clone(object))
            .collect(),
        delete: deletions.map(|(version, id)| named(version, id)).collect(),
        rename: renames
            .map(|(version, id, to)| Rename {
                object: named(version, id),
                to,
            })
            .collect(),
        blueprints: Some(Blueprints {
            directory: real.to_owned(),
            files: files.collect(),
        }),
    }
}

fn contents(place: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        for entry in fs::read_dir(place.join(&below)).unwrap() {
            let path = below.join(entry.unwrap().file_name());
            if place.join(&path).is_dir() {
                open.push(path);
            } else {
                let content = STANDARD.encode(fs::read(place.join(&path)).unwrap());
                found.insert(path.to_string_lossy().into_owned(), content);
            }
        }
    }
    found
}

/// A directory that a site is in step with.
struct Directory {
    site: Site,
    real: tempfile::TempDir,
    copy: tempfile::TempDir,
}

impl Directory {
    fn new(files: &Files) -> Self {
        let (real, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut site = Site::new();
        site.settings.blueprints = Some(real.path().to_owned());
        files.write(real.path());
        let directory = Self { site, real, copy };
        let first = Question {
            blueprints: None,
            ..directory.question(directory.real.path())
        };
        directory.site.make(&first);
        directory
    }

    fn question(&self, directory: &Path) -> Question {
        super::harness::on_paused(question(&self.site, directory, self.real.path()))
    }

    /// Plans with a copy that has the edits, then makes them in earnest. What each has done.
    fn plan_and_make(&self, files: &Files) -> (Vec<String>, Vec<String>, usize) {
        files.write(self.copy.path());
        let asked = self.question(self.copy.path());
        let plan = self.site.plan(&asked);
        files.write(self.real.path());
        let made = Question {
            blueprints: None,
            ..asked
        };
        let made = self.site.make(&made);
        let deploys = plan.count(Action::Deploy);
        (lines(&plan.changes), lines(&made), deploys)
    }
}

fn example() -> Files {
    let said = |nested| Said {
        constant: 0,
        file: 0,
        nested,
        broken: false,
        away: false,
    };
    Files {
        installations: BTreeMap::from([(0, (0, 0)), (1, (2, 0))]),
        blueprints: vec![said(Some(1)), said(Some(2)), said(None)],
    }
}

#[test]
fn i13_a_changed_blueprint_reaches_all_that_use_it_however_deep() {
    let mut files = example();
    let directory = Directory::new(&files);
    let (plan, made, deploys) = directory.plan_and_make(&files);
    assert_eq!(
        (plan, made, deploys),
        (Vec::new(), Vec::new(), 0),
        "nothing changes"
    );
    let table = [
        // The item of i1, and the one two levels below i0.
        (Edit::File(2, 1), 2),
        (Edit::Constant(2, 1), 2),
        (Edit::Constant(0, 1), 1),
        (Edit::File(1, 1), 1),
        (Edit::Broken(1, true), 0),
        // While it is broken, what is below it isn't reached; i1 is.
        (Edit::File(2, 2), 1),
        (Edit::Broken(1, false), 1),
        (Edit::Away(2, true), 0),
        (Edit::Away(2, false), 0),
        (Edit::Nested(1, None), 0),
        (Edit::Constant(2, 2), 1),
        (Edit::Nested(1, Some(2)), 1),
    ];
    for (edit, expected) in table {
        files.edit(&edit);
        let (plan, made, deploys) = directory.plan_and_make(&files);
        assert_eq!(plan, made, "{edit:?}");
        assert_eq!(deploys, expected, "{edit:?}: {plan:#?}");
    }
}

#[test]
fn r15_a_plan_of_a_changed_directory_is_what_then_is_done() {
    let cases = std::env::var(CASES).ok().and_then(|text| text.parse().ok());
    let mut runner = TestRunner::new(Config {
        cases: cases.unwrap_or(FEW),
        max_shrink_iters: 100,
        failure_persistence: None,
        ..Config::default()
    });
    let edits = proptest::collection::vec(proptest::collection::vec(edit(), 1..3), 1..4);
    let outcome = runner.run(&(files(), edits), |(mut files, saves)| {
        let directory = Directory::new(&files);
        for edits in saves {
            for edit in &edits {
                files.edit(edit);
            }
            let (plan, made, _) = directory.plan_and_make(&files);
            prop_assert_eq!(plan, made, "{:?}", edits);
        }
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}
