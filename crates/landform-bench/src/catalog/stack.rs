//! App types on the real server: how soon they know of a new version, and how much memory they take.
//!
//! Versions have nothing to install: what is measured is Landform, not what an operator brings.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, StatusCode};
use serde_json::{Value, json};

use crate::Outcome;
use crate::engine_metrics::quiet;
use crate::landscape::expect;
use crate::landscape::shapes::each;
use crate::lines::Lines;
use crate::process::resident_bytes;
use crate::report::{Figure, Goal};
use crate::server::Server;

const GROUP: &str = "/apis/catalog.landform.dev/v1alpha1";

/// How many app types learn of a new version; how many namespaces have how many operators.
struct Sizes {
    learning: usize,
    namespaces: usize,
    operators: usize,
}

const FULL: Sizes = Sizes {
    learning: 1_000,
    namespaces: 10_000,
    operators: 5,
};
const QUICK: Sizes = Sizes {
    learning: 50,
    namespaces: 100,
    operators: 5,
};

pub(super) async fn measure(
    binary: &Path,
    dir: &Path,
    quick: bool,
    notes: &mut Vec<String>,
) -> Outcome<Vec<Figure>> {
    let sizes = if quick { &QUICK } else { &FULL };
    let learning = learns(binary, &dir.join("learning"), sizes).await?;
    let mut figures = vec![learning];
    figures.extend(memory(binary, &dir.join("memory"), sizes, notes).await?);
    Ok(figures)
}

/// A version of a package that installs nothing.
fn version(package: &str, version: &str, replaces: Option<&str>) -> Value {
    json!({
        "apiVersion": "catalog.landform.dev/v1alpha1", "kind": "OperatorVersion",
        "metadata": {"name": format!("{package}.v{version}")},
        "spec": {
            "package": package, "version": version, "replaces": replaces,
            "owned": [{"group": format!("{package}.example.com"), "version": "v1", "kind": "Thing",
                "definition": definition(package)}],
            "install": {},
        },
    })
}

fn definition(package: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things.{package}.example.com")},
        "spec": {
            "group": format!("{package}.example.com"), "scope": "Namespaced",
            "names": {"kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            }}}],
        },
    })
}

async fn create_catalog(server: &Server, documents: &[Value]) -> Outcome {
    let catalog = json!({
        "apiVersion": "catalog.landform.dev/v1alpha1", "kind": "Catalog",
        "metadata": {"name": "bench"}, "spec": {"inline": documents},
    });
    let mut client = server.client().await?;
    let path = format!("{GROUP}/catalogs");
    let created = StatusCode::CREATED;
    expect(
        &mut client,
        Method::POST,
        &path,
        catalog.to_string(),
        created,
    )
    .await
}

/// Creates namespaces, and in each of them an app type for each package.
async fn create_app_types(
    server: &Server,
    namespaces: usize,
    packages: Vec<String>,
    policy: &str,
) -> Outcome {
    let policy = policy.to_owned();
    let names = (0..namespaces).map(|number| format!("n{number}")).collect();
    each(server, names, move |mut client, namespace| {
        let (packages, policy) = (packages.clone(), policy.clone());
        async move {
            client.create_namespace(&namespace).await?;
            for package in packages {
                let app_type = json!({
                    "apiVersion": "catalog.landform.dev/v1alpha1", "kind": "AppType",
                    "metadata": {"name": package},
                    "spec": {"package": package, "upgradePolicy": policy},
                });
                let path = format!("{GROUP}/namespaces/{namespace}/apptypes");
                let created = StatusCode::CREATED;
                expect(
                    &mut client,
                    Method::POST,
                    &path,
                    app_type.to_string(),
                    created,
                )
                .await?;
            }
            Ok(client)
        }
    })
    .await
}

/// Waits until so many app types are as they should be.
async fn until(lines: &mut Lines, count: usize, is_there: impl Fn(&Value) -> bool) -> Outcome {
    let mut there = BTreeSet::new();
    while there.len() < count {
        let event = lines.next().await?;
        let object = &event["object"];
        if is_there(&object["status"]) {
            there.insert(
                object["metadata"]["uid"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
            );
        }
    }
    Ok(())
}

/// From the write that adds a version to the catalog until the last app type says what it offers.
async fn learns(binary: &Path, data: &Path, sizes: &Sizes) -> Outcome<Figure> {
    eprintln!("· {} app types learn of a version", sizes.learning);
    let server = Server::start(binary, data)?;
    let first = version("p0", "1.0.0", None);
    create_catalog(&server, std::slice::from_ref(&first)).await?;
    let path = format!("{GROUP}/apptypes?watch=true");
    let mut lines = Lines::open(&server, &path).await?;
    let creating = create_app_types(&server, sizes.learning, vec!["p0".into()], "Manual");
    let installed = until(&mut lines, sizes.learning, |status| {
        status["phase"] == "Succeeded"
    });
    let (created, installed) = tokio::join!(creating, installed);
    created?;
    installed?;
    let mut client = server.client().await?;
    quiet(&mut client, 0.0).await?;
    let second = version("p0", "1.1.0", Some("p0.v1.0.0"));
    let change = json!({"spec": {"inline": [first, second]}}).to_string();
    let uri = client.uri(&format!("{GROUP}/catalogs/bench"))?;
    let started = Instant::now();
    let merge = HeaderValue::from_static("application/merge-patch+json");
    let headers = [(CONTENT_TYPE, merge)];
    let answer = client
        .send(Method::PATCH, uri, &headers, change.into())
        .await?;
    crate::client::take(answer, StatusCode::OK).await?;
    until(&mut lines, sizes.learning, |status| {
        status["next"][0]["version"] == "1.1.0" && status["blockedBy"][0]["reason"] == "NotApproved"
    })
    .await?;
    let reached = started.elapsed().as_secs_f64();
    server.stop().await?;
    Ok(Figure {
        what: format!(
            "a catalog gains a version → {} app types have decided and say so, wall clock",
            sizes.learning
        ),
        unit: "s",
        goal: Goal::AtMost(1.0),
        reached,
    })
}

/// Many namespaces with some operators each.
async fn memory(
    binary: &Path,
    data: &Path,
    sizes: &Sizes,
    notes: &mut Vec<String>,
) -> Outcome<Vec<Figure>> {
    let count = sizes.namespaces * sizes.operators;
    eprintln!("· {count} app types in {} namespaces", sizes.namespaces);
    let server = Server::start(binary, data)?;
    let packages: Vec<_> = (0..sizes.operators)
        .map(|number| format!("p{number}"))
        .collect();
    let documents: Vec<_> = packages
        .iter()
        .map(|package| version(package, "1.0.0", None))
        .collect();
    create_catalog(&server, &documents).await?;
    let mut lines = Lines::open(&server, &format!("{GROUP}/apptypes?watch=true")).await?;
    let started = Instant::now();
    let creating = create_app_types(&server, sizes.namespaces, packages, "Automatic");
    let installed = until(&mut lines, count, |status| status["phase"] == "Succeeded");
    let (created, installed) = tokio::join!(creating, installed);
    created?;
    installed?;
    let time = started.elapsed().as_secs_f64();
    let mut client = server.client().await?;
    quiet(&mut client, 0.0).await?;
    let resident = resident_bytes(server.id())? as f64 / 1e6;
    drop(client);
    server.stop().await?;
    let started = Instant::now();
    let server = Server::start(binary, data)?;
    let mut client = server.client().await?;
    quiet(&mut client, count as f64).await?;
    let restart = started.elapsed().as_secs_f64();
    let restarted = resident_bytes(server.id())? as f64 / 1e6;
    server.stop().await?;
    notes.push(format!(
        "{count} app types and as many operator versions in {} namespaces were there after {time:.0} s; a restart with \
         them took {restart:.1} s. Their versions bring a kind and install nothing.",
        sizes.namespaces
    ));
    let figure = |what: String, reached| Figure {
        what,
        unit: "MB",
        goal: Goal::AtMost(500.0),
        reached,
    };
    let what = format!(
        "memory with {} namespaces × {} operators",
        sizes.namespaces, sizes.operators
    );
    Ok(vec![
        figure(what, resident),
        figure("the same after a restart".into(), restarted),
    ])
}
