//! Custom kinds: usable at once, validated, defaulted, pruned, printed, scaled and removed.

use landform_e2e::Server;
use serde_json::json;

use crate::assert_contains;

/// A kind with everything that clients rely on.
pub(crate) const WIDGETS: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, shortNames: [wd], categories: [toys]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.count, statusReplicasPath: .status.count}
    additionalPrinterColumns:
    - {name: Color, type: string, jsonPath: .spec.color}
    - {name: Count, type: integer, jsonPath: .spec.count, priority: 1}
    selectableFields:
    - jsonPath: .spec.color
    schema:
      openAPIV3Schema:
        type: object
        description: A thing to play with.
        properties:
          spec:
            type: object
            required: [color]
            x-kubernetes-validations:
            - rule: "self.count <= 10 || self.color == 'red'"
              message: only red widgets come in large numbers
            properties:
              color:
                type: string
                description: What it looks like.
                enum: [red, green, blue]
              count: {type: integer, minimum: 0, default: 1}
              port: {x-kubernetes-int-or-string: true}
              anything: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status:
            type: object
            x-kubernetes-preserve-unknown-fields: true
  - name: v1beta1
    served: true
    storage: false
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
"#;

/// A widget with these lines in its spec.
pub(crate) fn widget(name: &str, spec: &str) -> String {
    format!(
        "---\napiVersion: example.com/v1\nkind: Widget\nmetadata: {{name: {name}}}\nspec: {spec}\n"
    )
}

pub(crate) fn with_widgets() -> Server {
    let server = Server::start();
    server.apply(WIDGETS);
    server
}

#[test]
fn a_kind_is_usable_the_moment_it_is_defined() {
    let server = Server::start();
    let said = server.kubectl_with_fails(&["apply", "-f", "-"], &widget("w", "{color: red}"));
    assert_contains(&said, &["no matches for kind \"Widget\""]);
    assert_eq!(
        server.apply(WIDGETS),
        "customresourcedefinition.apiextensions.k8s.io/widgets.example.com created"
    );
    assert_eq!(
        server.apply(&widget("w", "{color: red}")),
        "widget.example.com/w created"
    );
    let said = server.kubectl(&[
        "wait",
        "--for=condition=Established",
        "crd/widgets.example.com",
    ]);
    assert_contains(&said, &["condition met"]);
    let conditions = "jsonpath={.status.conditions[?(@.type==\"NamesAccepted\")].status}";
    assert_eq!(
        server.kubectl(&["get", "crd", "widgets.example.com", "-o", conditions]),
        "True"
    );
    assert_eq!(
        server.apply(WIDGETS),
        "customresourcedefinition.apiextensions.k8s.io/widgets.example.com unchanged"
    );
}

#[test]
fn names_columns_and_categories() {
    let server = with_widgets();
    server.apply(&(widget("a", "{color: red}") + &widget("b", "{color: blue, count: 3}")));
    for name in [
        "widgets",
        "widget",
        "wd",
        "widgets.example.com",
        "widgets.v1.example.com",
        "toys",
    ] {
        assert_contains(
            &server.kubectl(&["get", name, "-o", "name"]),
            &["widget.example.com/a"],
        );
    }
    let table = server.kubectl(&["get", "wd"]);
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows[0], ["NAME", "COLOR"]);
    assert_eq!(rows[1..], [["a", "red"], ["b", "blue"]]);
    let wide = server.kubectl(&["get", "wd", "-o", "wide"]);
    assert_contains(&wide, &["COUNT", "3"]);
    let found = server.kubectl(&[
        "get",
        "wd",
        "--field-selector",
        "spec.color=blue",
        "-o",
        "name",
    ]);
    assert_eq!(found, "widget.example.com/b");
    let resources = server.kubectl(&["api-resources", "--api-group=example.com", "--no-headers"]);
    let words: Vec<&str> = resources.split_whitespace().collect();
    assert_eq!(words, ["widgets", "wd", "example.com/v1", "true", "Widget"]);
}

#[test]
fn values_are_defaulted_pruned_and_kept() {
    let server = with_widgets();
    let spec = "{color: red, port: http, anything: {deep: [1, {x: z}]}}";
    server.apply(&widget("w", spec));
    let found = server.kubectl_json(&["get", "widget", "w"]);
    let expected =
        json!({"color": "red", "count": 1, "port": "http", "anything": {"deep": [1, {"x": "z"}]}});
    assert_eq!(found["spec"], expected);
    let unknown = widget("u", "{color: red, unknown: 1}");
    server.kubectl_with(&["create", "--validate=false", "-f", "-"], &unknown);
    let found = server.kubectl_json(&["get", "widget", "u"]);
    assert_eq!(
        found["spec"],
        json!({"color": "red", "count": 1}),
        "unknown fields are pruned"
    );
    let said = server.kubectl_with_fails(&["apply", "-f", "-"], &unknown);
    assert_contains(&said, &["unknown"]);
}

#[test]
fn invalid_objects_are_refused_with_path_and_reason() {
    let server = with_widgets();
    let table: [(&str, &[&str]); 5] = [
        ("{count: 1}", &["spec.color", "Required value"]),
        (
            "{color: pink}",
            &["spec.color", "Unsupported value", "\"pink\""],
        ),
        (
            "{color: red, count: -1}",
            &["spec.count", "greater than or equal to 0"],
        ),
        ("{color: red, count: many}", &["spec.count", "integer"]),
        (
            "{color: blue, count: 11}",
            &["only red widgets come in large numbers"],
        ),
    ];
    for (spec, expected) in table {
        let said = server.kubectl_with_fails(
            &["create", "--validate=false", "-f", "-"],
            &widget("w", spec),
        );
        assert_contains(&said, expected);
    }
    server.apply(&widget("w", "{color: red, count: 11}"));
}

#[test]
fn c2_status_and_scale_have_doors_of_their_own() {
    let server = with_widgets();
    server.apply(&(widget("w", "{color: red}") + "status: {seen: ignored}\n"));
    let found = server.kubectl_json(&["get", "widget", "w"]);
    assert_eq!(
        (&found["status"], &found["metadata"]["generation"]),
        (&json!(null), &json!(1))
    );
    server.kubectl(&["scale", "widget/w", "--replicas=4"]);
    let found = server.kubectl_json(&["get", "widget", "w"]);
    assert_eq!(
        (&found["spec"]["count"], &found["metadata"]["generation"]),
        (&json!(4), &json!(2))
    );
    if server.kubectl_is_at_least(24) {
        let patch = r#"{"status": {"count": 4}, "spec": {"color": "blue"}}"#;
        server.kubectl(&[
            "patch",
            "widget",
            "w",
            "--subresource=status",
            "--type=merge",
            "-p",
            patch,
        ]);
        let found = server.kubectl_json(&["get", "widget", "w"]);
        assert_eq!(
            (&found["status"]["count"], &found["spec"]["color"]),
            (&json!(4), &json!("red"))
        );
        assert_eq!(found["metadata"]["generation"], 2);
    }
}

#[test]
fn explain_and_diff_know_custom_kinds() {
    let server = with_widgets();
    let text = server.kubectl(&["explain", "widget"]);
    assert_contains(&text, &["Widget", "A thing to play with.", "spec"]);
    let text = server.kubectl(&["explain", "widget.spec.color"]);
    assert_contains(&text, &["color", "<string>", "What it looks like."]);
    server.apply(&widget("w", "{color: red}"));
    let file = server.file("w.yaml", &widget("w", "{color: blue}"));
    let differs = server.try_kubectl(&["diff", "-f", &file]);
    assert_eq!(differs.status.code(), Some(1), "{}", differs.report());
    assert_contains(&differs.stdout, &["-  color: red", "+  color: blue"]);
    assert_contains(
        &server.kubectl(&["describe", "widget", "w"]),
        &["Color:  red", "Kind:         Widget"],
    );
}

#[test]
fn every_served_version_shows_the_same_objects() {
    let server = with_widgets();
    server.apply(&widget("w", "{color: red}"));
    let old = server.kubectl_json(&["get", "widgets.v1beta1.example.com", "w"]);
    assert_eq!(
        (&old["apiVersion"], &old["spec"]["color"]),
        (&json!("example.com/v1beta1"), &json!("red"))
    );
    let mut watch = server.kubectl_lines(&[
        "get",
        "widgets.v1beta1.example.com",
        "-w",
        "-o",
        "jsonpath={.apiVersion} {.spec.color}{\"\\n\"}",
    ]);
    watch.expect(&["example.com/v1beta1 red"]);
    server.kubectl(&[
        "patch",
        "widget",
        "w",
        "--type=merge",
        "-p",
        r#"{"spec": {"color": "green"}}"#,
    ]);
    watch.expect(&["example.com/v1beta1 green"]);
}

#[test]
fn a_definition_takes_its_objects_with_it() {
    let server = with_widgets();
    server.apply(&widget("w", "{color: red}"));
    let mut watch = server.kubectl_lines(&[
        "get",
        "widgets",
        "-w",
        "--output-watch-events",
        "--no-headers",
    ]);
    watch.expect(&["ADDED", "w"]);
    server.kubectl(&["delete", "crd", "widgets.example.com"]);
    watch.expect(&["DELETED", "w"]);
    // kubectl still knows the kind from its cache; the server doesn't.
    let said = server.kubectl_fails(&["get", "widgets"]);
    assert_contains(&said, &["could not find the requested resource"]);
    server.apply(WIDGETS);
    assert_eq!(server.kubectl(&["get", "widgets", "-o", "name"]), "");
}

#[test]
fn a_definition_that_is_wrong_is_refused() {
    let server = Server::start();
    let wrong = WIDGETS.replace("name: widgets.example.com", "name: other.example.com");
    let said = server.kubectl_with_fails(&["create", "-f", "-"], &wrong);
    assert_contains(&said, &["is invalid", "metadata.name"]);
    let wrong = WIDGETS.replace("count: {type: integer,", "count: {");
    let said = server.kubectl_with_fails(&["create", "-f", "-"], &wrong);
    assert_contains(&said, &["is invalid", "count", "type"]);
}
