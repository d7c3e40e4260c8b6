//! What schemas cost: run with `cargo test --release -p landform-schema --test cost -- --ignored --nocapture`.

#![expect(clippy::print_stdout, reason = "its output is the result")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use landform_schema::{Schema, builtin};
use serde_json::{Value, json};

/// The best of several runs, as time for one call; the object is cloned outside of what is measured.
fn best(object: &Value, mut work: impl FnMut(&mut Value)) -> Duration {
    const CALLS: u32 = 500;
    let mut best = Duration::MAX;
    for _ in 0..40 {
        let mut copies: Vec<Value> = (0..CALLS).map(|_| object.clone()).collect();
        let start = Instant::now();
        for copy in &mut copies {
            work(black_box(copy));
        }
        best = best.min(start.elapsed() / CALLS);
    }
    best
}

fn admit(schema: &Schema, object: &mut Value) {
    schema.prune(object);
    assert!(schema.apply_defaults(object).is_ok());
    black_box(schema.validate(object, None));
}

fn deployment() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web", "tier": "front"}, "annotations": {"note": "a".repeat(200)}},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [
                {"name": "web", "image": "registry.example.org/web:1.2.3", "ports": [{"containerPort": 8080, "name": "http"}],
                 "env": [{"name": "A", "value": "b"}, {"name": "C", "value": "d"}],
                 "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
                 "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}},
                 "volumeMounts": [{"name": "config", "mountPath": "/etc/web"}]}],
                "volumes": [{"name": "config", "configMap": {"name": "web"}}]}}}})
}

#[test]
#[ignore = "a measurement, not a check"]
fn measure() {
    let start = Instant::now();
    let count = builtin::kinds().len();
    println!(
        "read and compile the tables of {count} kinds: {:?}",
        start.elapsed()
    );
    let deployment = deployment();
    println!("object: {} bytes", deployment.to_string().len());
    let kinds = builtin::kinds();
    let find = |name: &str| {
        kinds
            .iter()
            .find(|kind| kind.kind == name)
            .map(|kind| &kind.schema)
    };
    let Some(schema) = find("Deployment") else {
        return;
    };
    println!(
        "deployment, prune + default + validate: {:?}",
        best(&deployment, |object| admit(schema, object))
    );
    println!(
        "  prune: {:?}",
        best(&deployment, |object| {
            schema.prune(object);
        })
    );
    println!(
        "  default: {:?}",
        best(&deployment, |object| schema.apply_defaults(object).unwrap())
    );
    println!(
        "  validate: {:?}",
        best(&deployment, |object| {
            black_box(schema.validate(object, None));
        })
    );
    println!(
        "  validate an update: {:?}",
        best(&deployment, |object| {
            black_box(schema.validate(object, Some(&deployment)));
        })
    );
    let rule = json!({"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {"replicas": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.replicas >= 1 && self.replicas < 100"}]}}});
    if let Ok(schema) = Schema::from_crd(&rule) {
        println!(
            "one CEL rule: {:?}",
            best(&deployment, |object| {
                black_box(schema.validate(object, None));
            })
        );
    }
    for round in ["first", "second"] {
        let start = Instant::now();
        let _ = black_box(Schema::from_crd(&rule));
        println!("compile that schema, {round} time: {:?}", start.elapsed());
    }
}
