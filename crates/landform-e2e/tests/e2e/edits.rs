//! Edits of a project's directory × what is deployed afterwards: every kind of file, changed, broken, away and back,
//! renamed, swapped. What counts is what the deployed commands have written, not what a status says; and
//! `landform plan` of the changed directory has said just that before.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use landform_e2e::{Lines, run};
use serde_json::Value;

use crate::assert_contains;
use crate::project::Project;

const SETTINGS: &str = "apiVersion: landform.dev/v1alpha1
kind: Project
metadata: {name: edits}
spec:
  values: {tail: short}
";
const STACK: &str = "apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Installation
metadata: {name: outer}
spec:
  blueprint: {path: blueprints/outer}
  imports: {data: [{name: color, dataRef: color}]}
  importDataMappings: {tail: {{ .Values.tail }}, out: OUT}
";
const COLOR: &str = "apiVersion: landscaper.gardener.cloud/v1alpha1
kind: DataObject
metadata: {name: color}
data: red
";
/// The nested installation's path is known only when the template has run.
const OUTER: &str = "apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
imports:
- {name: color, type: data, schema: {type: string}}
- {name: tail, type: data, schema: {type: string}, required: false}
- {name: out, type: data, schema: {type: string}, required: false}
deployExecutions:
- {name: items, type: GoTemplate, file: deploy.yaml}
subinstallationExecutions:
- name: nested
  type: GoTemplate
  template: |
    subinstallations:
    - name: inner
      blueprint: {path: blueprints/{{ print \"in\" \"ner\" }}}
      imports: {data: [{name: out, dataRef: out}]}
";
const DEPLOY: &str = r#"deployItems:
- name: write
  type: landform.dev/command
  config:
    command: [sh, run.sh, "{{ .imports.out }}/outer", {{ .imports.color }}, {{ .imports.tail }}, {{ include "part.tpl" . }}]
    files:
      run.sh: {{ readFile "run.sh" | toJson }}
"#;
const INNER: &str = r#"apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
imports:
- {name: out, type: data, schema: {type: string}, required: false}
deployExecutions:
- name: items
  type: GoTemplate
  template: |
    deployItems:
    - name: write
      type: landform.dev/command
      config:
        command: [sh, run.sh, "{{ .imports.out }}/inner", first]
        files:
          run.sh: {{ readFile "deep/run.sh" | toJson }}
"#;
const FIRST_SCRIPT: &str = "file=$1; shift; echo \"a $*\" >> $file\n";
const SECOND_SCRIPT: &str = "file=$1; shift; echo \"b $*\" >> $file\n";

/// How an edit ends, as far as it can be seen.
enum End {
    /// Something was worked on, and then everything is ready.
    Ready,
    /// A line with these words is told, and nothing is deployed.
    Says(&'static [&'static str]),
    /// Nothing is to be seen.
    Quiet,
}

struct Row {
    name: &'static str,
    edit: fn(&Path),
    end: End,
    /// The last lines that the items have written, and how many lines each has written because of this edit.
    outer: (&'static str, usize),
    inner: (&'static str, usize),
    /// What a plan of the changed directory says beside what it would deploy.
    plan: &'static [&'static str],
}

/// An object that says nothing but that it was read.
fn beat(number: usize) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: beat}}\ndata: {{count: \"{number}\"}}\n"
    )
}

fn replace(root: &Path, file: &str, from: &str, to: &str) {
    let path = root.join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file}: {text}");
    save(root, file, &text.replace(from, to));
}

/// As editors save: another file in its place.
fn save(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let hidden = path.with_file_name(".hidden.swp");
    fs::write(&hidden, text).unwrap();
    fs::rename(hidden, path).unwrap();
}

const INNER_DIR: &str = "blueprints/inner";

fn rows() -> Vec<Row> {
    let row = |name, edit, end, outer, inner| Row {
        name,
        edit,
        end,
        outer,
        inner,
        plan: &[],
    };
    vec![
        row(
            "nothing",
            |_| {},
            End::Quiet,
            ("a red short one", 0),
            ("a first", 0),
        ),
        row(
            "an object",
            |root| replace(root, "color.yaml", "red", "blue"),
            End::Ready,
            ("a blue short one", 1),
            ("a first", 0),
        ),
        row(
            "a value of landform.yaml",
            |root| replace(root, "landform.yaml", "short", "long"),
            End::Ready,
            ("a blue long one", 1),
            ("a first", 0),
        ),
        row(
            "a template",
            |root| replace(root, "stack.yaml.gotmpl", "{{ .Values.tail }}", "none"),
            End::Ready,
            ("a blue none one", 1),
            ("a first", 0),
        ),
        row(
            "a program that is copied into an item",
            |root| save(root, "blueprints/outer/run.sh", SECOND_SCRIPT),
            End::Ready,
            ("b blue none one", 1),
            ("a first", 0),
        ),
        row(
            "a file that a template includes",
            |root| save(root, "blueprints/outer/part.tpl", "two"),
            End::Ready,
            ("b blue none two", 1),
            ("a first", 0),
        ),
        row(
            "a template file of the blueprint",
            |root| {
                replace(
                    root,
                    "blueprints/outer/deploy.yaml",
                    ".imports.tail",
                    "\"tail\"",
                );
            },
            End::Ready,
            ("b blue tail two", 1),
            ("a first", 0),
        ),
        row(
            "a nested blueprint",
            |root| replace(root, "blueprints/inner/blueprint.yaml", "first", "second"),
            End::Ready,
            ("b blue tail two", 0),
            ("a second", 1),
        ),
        row(
            "a file of a nested blueprint",
            |root| save(root, "blueprints/inner/deep/run.sh", SECOND_SCRIPT),
            End::Ready,
            ("b blue tail two", 0),
            ("b second", 1),
        ),
        row(
            "a file that nothing reads",
            |root| save(root, "blueprints/outer/README.md", "# Outer\n"),
            End::Ready,
            ("b blue tail two", 0),
            ("b second", 0),
        ),
        Row {
            plan: &["Installation/outer", "blueprints/outer: deploy.yaml:"],
            ..row(
                "a broken template of the blueprint",
                |root| {
                    save(
                        root,
                        "blueprints/outer/deploy.yaml",
                        &format!("{DEPLOY}{{{{ if\n"),
                    );
                },
                End::Says(&[
                    "Installation/outer",
                    "Failed",
                    "blueprints/outer: deploy.yaml:8:",
                ]),
                ("b blue tail two", 0),
                ("b second", 0),
            )
        },
        row(
            "repaired",
            |root| {
                let text = DEPLOY.replace(".imports.tail", "\"tail\"");
                save(root, "blueprints/outer/deploy.yaml", &text);
            },
            End::Ready,
            ("b blue tail two", 0),
            ("b second", 0),
        ),
        Row {
            plan: &["blueprints/inner: blueprint.yaml:1:"],
            ..row(
                "a broken nested blueprint",
                |root| save(root, "blueprints/inner/blueprint.yaml", "imports: [\n"),
                End::Says(&[
                    "Installation/outer",
                    "Failed",
                    "blueprints/inner: blueprint.yaml:1:",
                ]),
                ("b blue tail two", 0),
                ("b second", 0),
            )
        },
        row(
            "repaired, and changed",
            |root| {
                let text = INNER.replace("first", "third");
                save(root, "blueprints/inner/blueprint.yaml", &text);
            },
            End::Ready,
            ("b blue tail two", 0),
            ("b third", 1),
        ),
        Row {
            plan: &[
                "there is no such blueprint",
                "blueprints/inner/blueprint.yaml doesn't exist",
            ],
            ..row(
                "a nested blueprint is away",
                |root| fs::rename(root.join(INNER_DIR), root.join("away")).unwrap(),
                End::Says(&[
                    "Installation/outer",
                    "Failed",
                    "blueprints/inner/blueprint.yaml doesn't exist",
                ]),
                ("b blue tail two", 0),
                ("b third", 0),
            )
        },
        row(
            "it is back",
            |root| fs::rename(root.join("away"), root.join(INNER_DIR)).unwrap(),
            End::Ready,
            ("b blue tail two", 0),
            ("b third", 0),
        ),
        row(
            "two programs change places",
            |root| {
                save(root, "blueprints/outer/run.sh", FIRST_SCRIPT);
                save(
                    root,
                    "blueprints/inner/deep/run.sh",
                    "file=$1; shift; echo \"c $*\" >> $file\n",
                );
            },
            End::Ready,
            ("a blue tail two", 1),
            ("c third", 1),
        ),
        row(
            "a file is renamed",
            |root| {
                fs::rename(root.join("stack.yaml.gotmpl"), root.join("all.yaml.gotmpl")).unwrap();
            },
            End::Quiet,
            ("a blue tail two", 0),
            ("c third", 0),
        ),
        Row {
            plan: &["error: color.yaml:"],
            ..row(
                "a broken object file",
                |root| save(root, "color.yaml", "a: [\n"),
                End::Says(&["error: color.yaml:"]),
                ("a blue tail two", 0),
                ("c third", 0),
            )
        },
        row(
            "repaired and changed",
            |root| save(root, "color.yaml", &COLOR.replace("red", "green")),
            End::Ready,
            ("a green tail two", 1),
            ("c third", 0),
        ),
    ]
}

/// A project that is up.
struct Site {
    project: Project,
    up: Lines,
    beats: usize,
    written: (usize, usize),
}

impl Site {
    fn new() -> Self {
        let project = Project::empty();
        let root = project.directory();
        let out = project.home.path().join("out");
        fs::create_dir_all(&out).unwrap();
        save(&root, "landform.yaml", SETTINGS);
        save(&root, "color.yaml", COLOR);
        save(
            &root,
            "stack.yaml.gotmpl",
            &STACK.replace("OUT", out.to_str().unwrap()),
        );
        save(&root, "blueprints/outer/blueprint.yaml", OUTER);
        save(&root, "blueprints/outer/deploy.yaml", DEPLOY);
        save(&root, "blueprints/outer/part.tpl", "one");
        save(&root, "blueprints/outer/run.sh", FIRST_SCRIPT);
        save(&root, "blueprints/inner/blueprint.yaml", INNER);
        save(&root, "blueprints/inner/deep/run.sh", FIRST_SCRIPT);
        save(&root, "beat.yaml", &beat(0));
        let mut up = project.up(&[]);
        up.expect(&["Everything is ready after "]);
        up.expect(&["Watching the files"]);
        Self {
            project,
            up,
            beats: 0,
            written: (1, 1),
        }
    }

    fn root(&self) -> PathBuf {
        self.project.directory()
    }

    /// Waits until everything that was saved before has been taken in.
    fn beat(&mut self) {
        self.beats += 1;
        let beat = self.beats;
        save(&self.root(), "beat.yaml", &self::beat(beat));
        let wanted = format!("--for=jsonpath={{.data.count}}={beat}");
        self.project
            .landform(&["wait", "configmap/beat", &wanted, "--timeout", "50s"]);
    }

    /// What an item has written: the last line, and how many there are.
    fn out(&self, item: &str) -> (String, usize) {
        let path = self.project.home.path().join("out").join(item);
        let text = fs::read_to_string(path).unwrap();
        (
            text.lines().last().unwrap_or_default().to_owned(),
            text.lines().count(),
        )
    }

    /// A plan of a copy of the directory with an edit: what it says, and how many items it would deploy.
    fn plan(&self, edit: fn(&Path)) -> (String, usize) {
        let copy = self.project.home.path().join("copy");
        let _ = fs::remove_dir_all(&copy);
        let copied = Command::new("cp")
            .arg("-r")
            .arg(self.root())
            .arg(&copy)
            .status();
        assert!(copied.unwrap().success());
        fs::remove_dir_all(copy.join(".landform")).unwrap();
        edit(&copy);
        let kubeconfig = self.root().join(".landform/kubeconfig");
        let arguments = [
            "plan",
            copy.to_str().unwrap(),
            "--json",
            "--kubeconfig",
            kubeconfig.to_str().unwrap(),
        ];
        let done = run(&mut self.project.command(&arguments));
        assert!(
            matches!(done.status.code(), Some(0 | 2)),
            "{}",
            done.report()
        );
        let plan: Value = serde_json::from_str(&done.stdout).unwrap();
        let changes = plan["changes"].as_array().unwrap();
        let deploys = changes
            .iter()
            .filter(|change| change["action"] == "Deploy")
            .count();
        let changed = deploys > 0
            || plan["problems"]
                .as_array()
                .is_some_and(|all| !all.is_empty());
        if changed {
            assert_eq!(done.status.code(), Some(2), "{}", done.report());
        }
        (done.report(), deploys)
    }

    fn check(&mut self, row: &Row) {
        let name = row.name;
        let (said, deploys) = self.plan(row.edit);
        assert_contains(&said, row.plan);
        assert_eq!(deploys, row.outer.1 + row.inner.1, "{name}: {said}");
        (row.edit)(&self.root());
        match row.end {
            End::Ready => drop(self.up.expect(&["Everything is ready after "])),
            End::Says(words) => drop(self.up.expect(words)),
            End::Quiet => {}
        }
        self.beat();
        let (outer, inner) = (self.out("outer"), self.out("inner"));
        assert_eq!(
            (outer.0.as_str(), inner.0.as_str()),
            (row.outer.0, row.inner.0),
            "{name}"
        );
        let written = (outer.1 - self.written.0, inner.1 - self.written.1);
        assert_eq!(
            written,
            (row.outer.1, row.inner.1),
            "{name}: how often it was deployed"
        );
        self.written = (outer.1, inner.1);
    }
}

#[test]
fn i13_r15_what_is_deployed_follows_every_edit_and_the_plan_says_so_before() {
    let mut site = Site::new();
    for row in rows() {
        site.check(&row);
    }
}

#[test]
fn r15b_what_is_away_for_a_moment_or_protected_is_not_taken_down() {
    let mut site = Site::new();
    let root = site.root();
    let deployed = |site: &Site| (site.out("outer"), site.out("inner"));
    let before = deployed(&site);
    // Away and back within the grace: a blueprint, an object, and the settings.
    for name in [
        "blueprints/outer",
        "blueprints/inner",
        "stack.yaml.gotmpl",
        "landform.yaml",
    ] {
        let away = root.join(".away");
        fs::rename(root.join(name), &away).unwrap();
        site.beat();
        fs::rename(&away, root.join(name)).unwrap();
        site.beat();
        assert_eq!(deployed(&site), before, "{name}");
        assert_eq!(
            site.project.get("installation/outer")["status"]["phase"],
            "Succeeded",
            "{name}"
        );
    }
    // Away for longer: it is asked for, and what is deployed stays.
    let uid = site.project.get("installation/outer")["metadata"]["uid"].clone();
    fs::rename(root.join("stack.yaml.gotmpl"), root.join(".away")).unwrap();
    site.up.expect(&[
        "objects would be deleted",
        "Installation default/outer",
        "landform approve project/edits",
        "bring the files back",
    ]);
    let outer = site.project.get("installation/outer");
    assert_eq!(outer["metadata"]["deletionTimestamp"], Value::Null);
    fs::rename(root.join(".away"), root.join("stack.yaml.gotmpl")).unwrap();
    site.up.expect(&["Project/edits", "Synced"]);
    assert_eq!(
        site.project.get("installation/outer")["metadata"]["uid"],
        uid
    );
    assert_eq!(deployed(&site), before);

    // Protected by the settings: neither a missing file, nor an approval, nor down, nor a delete takes it.
    save(
        &root,
        "landform.yaml",
        &format!("{SETTINGS}  protect: [Installation]\n  deletions: Grace\n"),
    );
    site.beat();
    let patience = [
        "wait",
        "installation/outer",
        "--for=jsonpath={.metadata.annotations.landform\\.dev/protect}=settings",
        "--timeout",
        "50s",
    ];
    site.project.landform(&patience);
    let deleted = run(&mut site
        .project
        .command(&["delete", "installation", "outer", "--yes"]));
    assert_eq!(deleted.status.code(), Some(1), "{}", deleted.report());
    assert_contains(
        &deleted.stderr,
        &[
            "is protected from deletion",
            "spec.protect of its landform.yaml",
        ],
    );
    let down = run(&mut site.project.command(&["down", ".", "--yes"]));
    assert_eq!(down.status.code(), Some(1), "{}", down.report());
    assert_contains(
        &down.stderr,
        &["nothing was deleted", "Installation default/outer"],
    );
    fs::rename(root.join("stack.yaml.gotmpl"), root.join(".away")).unwrap();
    site.up.expect(&["Project/edits", "Held"]);
    let project = site.project.get("project/edits");
    assert_contains(
        &project["status"]["waitingOn"].to_string(),
        &["protected from deletion", "outer"],
    );
    fs::rename(root.join(".away"), root.join("stack.yaml.gotmpl")).unwrap();
    site.up.expect(&["Project/edits", "Synced"]);
    assert_eq!(
        site.project.get("installation/outer")["metadata"]["uid"],
        uid
    );
    assert_eq!(deployed(&site), before);

    // The advice, followed.
    save(&root, "landform.yaml", SETTINGS);
    site.up.expect(&["Project/edits", "Synced"]);
    site.project.landform(&[
        "wait",
        "installation/outer",
        "--for=jsonpath={.metadata.annotations.landform\\.dev/protect}=",
        "--timeout",
        "50s",
    ]);
    fs::remove_file(root.join("stack.yaml.gotmpl")).unwrap();
    site.up.expect(&["landform approve project/edits"]);
    site.project.landform(&["approve", "project/edits"]);
    site.up.expect(&["Installation/outer", "→ gone"]);
}

#[test]
fn up_asks_with_the_plan_and_agrees_to_deletions_when_told_to() {
    let site = Site::new();
    site.up.interrupt();
    let Site { project, up, .. } = site;
    assert!(up.finish().status.success());
    let root = project.directory();
    save(&root, "blueprints/outer/part.tpl", "two");
    let asked = run(&mut project.command(&["up", ".", "--plan", "--listen", "127.0.0.1:0"]));
    assert_eq!(asked.status.code(), Some(1), "{}", asked.report());
    assert_contains(&asked.stdout, &["1 to deploy"]);
    assert_contains(
        &asked.stderr,
        &["nobody can be asked here", "nothing was changed"],
    );
    let out = fs::read_to_string(project.home.path().join("out/outer")).unwrap();
    assert_eq!(out, "a red short one\n", "nothing was deployed");
    fs::remove_file(root.join("stack.yaml.gotmpl")).unwrap();
    let mut up = project.up(&["--approve-deletes"]);
    up.expect(&["Installation default/outer", "--approve-deletes"]);
    up.expect(&["Installation/outer", "→ gone"]);
}
