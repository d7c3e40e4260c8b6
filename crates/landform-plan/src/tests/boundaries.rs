//! Nothing real is touched by a plan.

use std::sync::Arc;
use std::time::Duration;

use landform_apiserver::{ApiServer, Config, Identity, LocalService};
use serde_json::{Value, json};

use super::harness::{Site, applied, installation, with_items};
use crate::{Action, Named, Plan, PlanError, Plans, Question, Settings, plan};

#[test]
fn a_plan_starts_no_process_and_writes_no_file() {
    let site = Site::new();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("made");
    let deploy = |kind: &str, exports: &str| {
        format!(
            "deployItems: [{{name: item, type: {kind}, config: {{command: [touch, {file:?}]{exports}}}}}]"
        )
    };
    let process = deploy("landform.dev/process", ", exports: {value: {value: 80}}");
    let command = deploy("landform.dev/command", "");
    let revision = site.revision();
    let plan = site.plan(&applied(vec![
        with_items("one", &[], &process),
        with_items("two", &[], &command),
    ]));
    assert_eq!(plan.count(Action::Deploy), 2, "{plan:#?}");
    // What the process exports stands in its configuration; what the command exports doesn't.
    assert_eq!(plan.unknown.len(), 1, "{plan:#?}");
    assert_eq!(plan.unknown[0].before.path[0], "Installation/two");
    assert!(plan.problems.is_empty(), "{plan:#?}");
    assert!(!file.exists());
    assert_eq!(site.revision(), revision);
}

#[test]
fn manifests_are_named_and_not_applied() {
    let site = Site::new();
    let deploy = "deployItems: [{name: item, type: landscaper.gardener.cloud/kubernetes-manifest, config: {\
        thisServer: true, manifests: [{manifest: {apiVersion: v1, kind: ConfigMap, \
        metadata: {name: made, namespace: default}, data: {x: canary}}}], \
        exports: {exports: [{key: value, jsonPath: .data.x}]}}}]";
    let plan = site.plan(&applied(vec![with_items("one", &[], deploy)]));
    let deployed = plan
        .changes
        .iter()
        .find(|change| change.action == Action::Deploy);
    assert_eq!(deployed.unwrap().target_objects, ["ConfigMap default/made"]);
    assert!(plan.unknown.is_empty(), "{plan:#?}");
    assert!(plan.problems.is_empty(), "{plan:#?}");
}

#[test]
fn a_hook_is_not_called_and_what_it_would_do_is_unknown() {
    let site = Site::new();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("called");
    let definition = definition();
    let reconciler = json!({
        "apiVersion": "landform.dev/v1alpha1", "kind": "Reconciler",
        "metadata": {"name": "widgets"},
        "spec": {
            "for": {"group": "example.dev", "version": "v1", "kind": "Widget"},
            "hook": {"command": ["touch", file.to_str().unwrap()]},
        },
    });
    let widget = json!({
        "apiVersion": "example.dev/v1", "kind": "Widget",
        "metadata": {"name": "a", "namespace": "default"}, "spec": {"size": 1},
    });
    let plan = site.plan(&applied(vec![definition, reconciler, widget]));
    assert!(plan.problems.is_empty(), "{plan:#?}");
    let unknown: Vec<_> = plan
        .unknown
        .iter()
        .map(|unknown| unknown.before.short())
        .collect();
    assert_eq!(unknown, ["Widget/a"], "{plan:#?}");
    assert!(!file.exists());
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.dev"},
        "spec": {
            "group": "example.dev", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                }},
            }],
        },
    })
}

/// What takes a definition's last objects to go is told of these; the definition itself waits for them.
#[test]
fn a_definition_waits_for_objects_that_hooks_or_finalizers_hold() {
    let reconciler = json!({
        "apiVersion": "landform.dev/v1alpha1", "kind": "Reconciler",
        "metadata": {"name": "widgets"},
        "spec": {
            "for": {"group": "example.dev", "version": "v1", "kind": "Widget"},
            "finalize": true,
            "hook": {"command": ["true"]},
        },
    });
    let widget = |finalizers: Value| {
        json!({
            "apiVersion": "example.dev/v1", "kind": "Widget",
            "metadata": {"name": "a", "namespace": "default", "finalizers": finalizers},
        })
    };
    let gone = Question {
        delete: vec![Named {
            api_version: "apiextensions.k8s.io/v1".into(),
            kind: "CustomResourceDefinition".into(),
            namespace: String::new(),
            name: "widgets.example.dev".into(),
        }],
        ..Question::default()
    };
    let hooked = Site::new();
    hooked.apply(vec![definition(), reconciler, widget(json!([]))]);
    let plan = hooked.plan(&gone);
    assert!(plan.problems.is_empty(), "{plan:#?}");
    let affects = &plan.unknown[0].affects;
    assert_eq!(
        affects[..],
        [
            "CustomResourceDefinition/widgets.example.dev (it goes when Widget/a in default has gone)"
        ],
        "{plan:#?}"
    );
    let held = Site::new();
    held.apply(vec![definition(), widget(json!(["example.com/held"]))]);
    let plan = held.plan(&gone);
    let problems = plan.problems.iter();
    let problems: Vec<_> = problems
        .map(|problem| format!("{}: {}", problem.object.short(), problem.message))
        .collect();
    assert_eq!(
        problems,
        [
            "CustomResourceDefinition/widgets.example.dev: it would be marked and go when Widget/a in default has gone",
            "Widget/a: it would be marked and not go: example.com/held holds it",
        ]
    );
}

#[test]
fn a_plan_is_asked_for_by_the_api() {
    let site = Site::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let question = applied(vec![installation(
        "landscaper.gardener.cloud/mock",
        "db",
        &[],
        &json!(1),
    )]);
    runtime.unwrap().block_on(async {
        let server = ApiServer::start(site.store.clone(), Config::default()).await;
        let server = server.unwrap();
        let plans = Plans::new(site.store.clone(), site.settings.clone());
        server.mount("plans", Arc::new(plans));
        let service = LocalService::new(server, Identity::internal());
        let client = kube::Client::new(service, "default");
        let ask = async |question: &Value| {
            let request = http::Request::post("/apis/landform.dev/v1alpha1/plans");
            let request = request.body(serde_json::to_vec(question).unwrap()).unwrap();
            client.request::<Value>(request).await
        };
        let answer = ask(&serde_json::to_value(&question).unwrap())
            .await
            .unwrap();
        let plan: Plan = serde_json::from_value(answer).unwrap();
        assert!(plan.has_changes());
        assert_eq!(plan.count(Action::Deploy), 1);
        let refused = ask(&json!({"things": []})).await.unwrap_err();
        assert!(refused.to_string().contains("can't be read"), "{refused}");
    });
}

#[test]
fn a_plan_that_takes_too_long_is_given_up() {
    let site = Site::new();
    let settings = Settings {
        patience: Some(Duration::ZERO),
        ..Settings::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let question = applied(vec![installation("example.dev/x", "db", &[], &json!(1))]);
    let planned = async { plan(&*site.store, question, &settings, &Identity::internal()).await };
    let planned = runtime.unwrap().block_on(planned);
    assert!(matches!(planned, Err(PlanError::TooLong)), "{planned:?}");
}
