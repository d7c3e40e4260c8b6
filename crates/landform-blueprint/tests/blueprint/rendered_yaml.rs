//! YAML as templates render it: keys that are given twice, anchors, aliases and merge keys.

use landform_blueprint::{Blueprint, Input};
use serde_json::json;

use crate::{blueprint, files, input, problems, read};

fn deploying(template: &str) -> Blueprint {
    let head = "imports:\n- {name: data, required: false, schema: {}}\n\
                deployExecutions:\n- {name: main, type: GoTemplate, file: main.yaml}\n";
    let files = files(&[("blueprint.yaml", head), ("main.yaml", template)]);
    Blueprint::from_files(files).unwrap()
}

#[test]
fn the_last_of_repeated_keys_counts_with_a_warning_that_says_which_and_where() {
    let template = "deployItems:\n- name: a\n  type: t\n  config:\n    size: canary-1\n    size: {{ .imports.data }}\n  type: u\n";
    let rendered = deploying(template).render_deploy_items(&input(json!({"data": "canary-2"})));
    let rendered = rendered.unwrap();
    assert_eq!(
        json!(rendered.value),
        json!([{"name": "a", "type": "u", "config": {"size": "canary-2"}}])
    );
    let warnings: Vec<_> = rendered.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "output of deploy executor \"main\":6:5: deployItems[0].config.size: this key is given more than \
             once, also on line 5, and the last one counts: remove the others",
            "output of deploy executor \"main\":7:3: deployItems[0].type: this key is given more than once, \
             also on line 3, and the last one counts: remove the others",
        ]
    );
    assert!(!warnings.join("").contains("canary"));
}

#[test]
fn templates_may_render_anchors_aliases_and_merge_keys() {
    let template = "base: &base {size: 1, color: red}\ndeployItems:\n- name: a\n  type: &type t\n  config: {<<: *base, size: {{ .imports.data }}}\n\
                    - name: b\n  type: *type\n  config: *base\n";
    let rendered = deploying(template).render_deploy_items(&input(json!({"data": 2})));
    assert_eq!(
        json!(rendered.unwrap().value),
        json!([
            {"name": "a", "type": "t", "config": {"size": 2, "color": "red"}},
            {"name": "b", "type": "t", "config": {"size": 1, "color": "red"}},
        ])
    );
    let bomb = "{{ range $i := until 9 }}a{{ $i }}: &a{{ $i }} [{{ range until 20 }}{{ if $i }}*a{{ sub $i 1 }}{{ else }}x{{ end }}, {{ end }}]\n{{ end }}";
    let error = deploying(bomb).render_deploy_items(&Input::default());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("too many values"), "{error}");
}

#[test]
fn blueprints_may_have_anchors_and_no_repeated_keys() {
    let blueprint = blueprint(
        "common: &text {type: string, minLength: 2}\nimports:\n- {name: a, schema: *text}\n- name: b\n  schema:\n    <<: *text\n    minLength: 3\n",
    );
    let given = |a: &str, b: &str| {
        let values = input(json!({"a": a, "b": b})).imports;
        blueprint.complete_imports(&values).is_ok()
    };
    assert!(given("ab", "abc"));
    assert!(!given("a", "abc"));
    assert!(!given("ab", "ab"));
    let found = problems(read("imports: []\nimports: []\n"));
    assert!(found[0].contains("blueprint.yaml:2:1"), "{found:?}");
    assert!(found[0].contains("given twice"), "{found:?}");
}
