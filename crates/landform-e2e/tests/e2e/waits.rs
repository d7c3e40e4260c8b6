//! `landform wait` right after a file was saved: what it says is about what the files say, and what is deployed then is
//! that. What counts is what the deployed commands have written.

use std::fs;

use landform_e2e::run;

use crate::assert_contains;
use crate::project::Project;

const SETTINGS: &str = "apiVersion: landform.dev/v1alpha1
kind: Project
metadata: {name: waits}
";
/// Fails for the color `bad`.
const BLUEPRINT: &str = r#"apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
imports:
- {name: in, type: data, schema: {type: string}}
- {name: file, type: data, schema: {type: string}}
exports:
- {name: out, type: data, schema: {type: string}}
deployExecutions:
- name: items
  type: GoTemplate
  template: |
    deployItems:
    - name: write
      type: landform.dev/command
      config:
        command: [sh, run.sh]
        env: {IN: {{ .imports.in }}, FILE: {{ .imports.file }}}
        files:
          run.sh: |
            test $IN != bad || exit 3
            test $OPERATION = DELETE || echo $IN > $FILE
            printf '{"out": "%s"}' $IN > $EXPORTS_PATH
exportExecutions:
- name: exports
  type: GoTemplate
  template: |
    exports: {out: {{ .values.deployitems.write.out }}}
"#;

fn color(color: &str) -> String {
    format!(
        "apiVersion: landscaper.gardener.cloud/v1alpha1
kind: DataObject
metadata: {{name: color}}
data: {color}
"
    )
}

fn installation(project: &Project, name: &str, import: &str) -> String {
    let file = project.home.path().join(name);
    format!(
        "apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Installation
metadata: {{name: {name}}}
spec:
  blueprint: {{path: blueprint}}
  imports: {{data: [{{name: in, dataRef: {import}}}]}}
  importDataMappings: {{file: {}}}
  exports: {{data: [{{name: out, dataRef: {name}-out}}]}}
",
        file.display()
    )
}

#[test]
fn i10b_what_is_waited_for_right_after_a_save_is_what_was_saved() {
    let project = Project::empty();
    fs::create_dir(project.directory().join("blueprint")).unwrap();
    let blueprint = project.directory().join("blueprint/blueprint.yaml");
    fs::write(blueprint, BLUEPRINT).unwrap();
    project.write("landform.yaml", SETTINGS);
    project.write("color.yaml", &color("first"));
    project.write("one.yaml", &installation(&project, "one", "color"));
    project.write("two.yaml", &installation(&project, "two", "one-out"));
    let mut up = project.up(&[]);
    up.expect(&["Everything is ready after "]);
    up.expect(&["Watching the files"]);
    let deployed = |name: &str| fs::read_to_string(project.home.path().join(name)).unwrap();
    assert_eq!(deployed("two"), "first\n");
    let said = project.landform(&["wait", "project/waits", "--timeout", "20s"]);
    assert_contains(&said, &["Project/waits Synced"]);
    for round in 0..30 {
        let value = format!("round-{round}");
        project.write("color.yaml", &color(&value));
        let name = if round % 2 == 0 { "two" } else { "one" };
        project.landform(&["wait", &format!("inst/{name}"), "--timeout", "50s"]);
        assert_eq!(deployed(name), format!("{value}\n"), "{name}");
    }
    for round in 0..3 {
        project.write("color.yaml", &color("bad"));
        let failed = run(&mut project.command(&["wait", "inst/one", "--timeout", "50s"]));
        assert!(!failed.status.success(), "{}", failed.report());
        assert_contains(&failed.stderr, &["Installation/one has failed"]);
        let value = format!("good-{round}");
        project.write("color.yaml", &color(&value));
        project.landform(&["wait", "inst/one", "--timeout", "50s"]);
        assert_eq!(deployed("one"), format!("{value}\n"));
    }
    // A file that is new: the object isn't there yet.
    project.write("three.yaml", &installation(&project, "three", "color"));
    project.landform(&["wait", "inst/three", "--timeout", "50s"]);
    assert_eq!(deployed("three"), "good-2\n");
    project.write("color.yaml", "data: {");
    let wrong = run(&mut project.command(&["wait", "project/waits", "--timeout", "20s"]));
    assert_contains(&wrong.stderr, &["Project/waits is Incomplete"]);
}
