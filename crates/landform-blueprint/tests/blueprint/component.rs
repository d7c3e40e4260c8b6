//! Component descriptors that are written into an installation.

use landform_blueprint::{Component, Input};
use serde_json::{Value, json};

use crate::blueprint;

fn descriptor() -> Value {
    let nested = json!({
        "meta": {"schemaVersion": "v2"},
        "component": {
            "name": "example.org/ingress", "version": "v0.2.0",
            "resources": [{"name": "chart", "version": "1", "access": {"imageReference": "example.org/chart:1"}}],
        },
    });
    json!({
        "meta": {"schemaVersion": "v2"},
        "component": {
            "name": "example.org/shop", "version": "v1.0.0",
            "repositoryContexts": [{"type": "old"}, {"type": "ociRegistry", "baseUrl": "example.org/components"}],
            "resources": [
                {"name": "image", "version": "2", "extraIdentity": {"arch": "arm"}, "access": {"imageReference": "example.org/arm:2"}},
                {"name": "image", "version": "2", "extraIdentity": {"arch": "amd"}, "access": {"imageReference": "example.org/amd:2"}},
            ],
            "componentReferences": [
                {"name": "ingress", "componentName": "example.org/ingress", "version": "v0.2.0",
                 "labels": [{"name": "landscaper.gardener.cloud/component-descriptor", "value": nested}]},
                {"name": "elsewhere", "componentName": "example.org/elsewhere", "version": "v1"},
            ],
        },
    })
}

fn render(component: Value, expression: &str) -> Result<Value, String> {
    let template = format!(
        "deployExecutions:\n- name: main\n  type: GoTemplate\n  template: |\n    deployItems: [{{name: a, type: t, config: {{{{ {expression} | toJson }}}}}}]\n"
    );
    let input = Input {
        component: Component::read(&component).map_err(|error| error.to_string())?,
        blueprint: json!({"inline": {}}),
        ..Input::default()
    };
    let rendered = blueprint(&template).render_deploy_items(&input);
    let rendered = rendered.map_err(|error| error.to_string())?;
    Ok(rendered.value[0].config.clone().unwrap_or_default())
}

#[test]
fn templates_see_an_inline_descriptor_and_look_into_it() {
    let inline = json!({"inline": descriptor()});
    for (expression, expected) in [
        (".cd.component.name", json!("example.org/shop")),
        (
            ".componentDescriptorDef.inline.component.version",
            json!("v1.0.0"),
        ),
        ("len .components.components", json!(2)),
        (
            "(index .components.components 1).component.name",
            json!("example.org/ingress"),
        ),
        (".blueprintDef", json!({"inline": {}})),
        (
            r#"(getResource .cd "name" "image").access.imageReference"#,
            json!("example.org/arm:2"),
        ),
        (
            r#"(getResource .cd "name" "image" "arch" "amd").access.imageReference"#,
            json!("example.org/amd:2"),
        ),
        (
            r#"(getResource "name" "image" "arch" "amd").access.imageReference"#,
            json!("example.org/amd:2"),
        ),
        (
            r#"len (getResources .cd "name" "image" "version" "2")"#,
            json!(2),
        ),
        (
            r#"(getComponent .cd "name" "ingress").component.version"#,
            json!("v0.2.0"),
        ),
        (
            r#"(getResource (getComponent "name" "ingress") "name" "chart").access.imageReference"#,
            json!("example.org/chart:1"),
        ),
        (
            "(getRepositoryContext .cd).baseUrl",
            json!("example.org/components"),
        ),
    ] {
        let found = render(inline.clone(), expression);
        assert_eq!(found, Ok(expected), "{expression}");
    }
}

#[test]
fn the_third_form_of_descriptors_is_read_too() {
    let inline = json!({"inline": {
        "apiVersion": "ocm.software/v3alpha1", "kind": "ComponentVersion",
        "metadata": {"name": "example.org/shop", "version": "v1"},
        "spec": {"resources": [{"name": "image", "access": {"imageReference": "example.org/a:1"}}]},
    }});
    let found = render(
        inline,
        r#"(getResource .cd "name" "image").access.imageReference"#,
    );
    assert_eq!(found, Ok(json!("example.org/a:1")));
}

#[test]
fn what_is_not_inline_is_said() {
    let inline = json!({"inline": descriptor()});
    let reference = json!({"ref": {"componentName": "example.org/shop", "version": "v1"}});
    for (component, expression, piece) in [
        (
            &inline,
            r#"getResource .cd "name" "none""#,
            "no such resource",
        ),
        (
            &inline,
            r#"getResource .cd "name" "image" "arch" "riscv""#,
            "no such resource",
        ),
        (
            &inline,
            r#"getComponent .cd "name" "none""#,
            "no such reference",
        ),
        (
            &inline,
            r#"getComponent .cd "name" "elsewhere""#,
            "registries can't be read yet",
        ),
        (
            &inline,
            r#"getResource .cd "name""#,
            "pairs of keys and values",
        ),
        (&inline, r#"getResource .cd "name" 1"#, "have to be strings"),
        (
            &inline,
            r#"getResourceKey "cd://resources/image""#,
            "contents of components can't be read yet",
        ),
        (
            &reference,
            r#"getResource .cd "name" "image""#,
            "registries can't be yet",
        ),
        (
            &json!(null),
            r#"getResource .cd "name" "image""#,
            "spec.componentDescriptor.inline",
        ),
        (
            &json!({"inline": {"component": {}}}),
            "1",
            "this is no component descriptor",
        ),
    ] {
        let error = render(component.clone(), expression).expect_err(expression);
        assert!(error.contains(piece), "{expression}: {error}");
    }
    // A component that no template asks for has no effect.
    assert_eq!(
        render(reference, ".componentDescriptorDef.ref.version"),
        Ok(json!("v1"))
    );
}
