//! The architecture, as far as `cargo metadata` can see it.

use xtask::metadata::Metadata;

use crate::expect_none;

/// The crates from the bottom up: a crate may use those before it. The order is that of
/// ARCHITECTURE.md.
const ORDER: &[&str] = &[
    "landform-api",
    "landform-pattern",
    "landform-yaml",
    "landform-protobuf",
    "landform-schema",
    "landform-graph",
    "landform-schedule",
    "landform-catalog",
    "landform-decide",
    "landform-template",
    "landform-spiff",
    "landform-blueprint",
    "landform-threads",
    "landform-store",
    "landform-apiserver",
    "landform-process",
    "landform-engine",
    "landform-controllers",
    "landform-deployers",
    "landform-operators",
    "landform-explain",
    "landform-project",
    "landform-plan",
    "landform-sim",
    "landform-bench",
    "landform",
    "landform-e2e",
    "xtask",
];

/// Crates that know no runtime, no socket, no chance and no store.
const PURE: &[&str] = &[
    "landform-api",
    "landform-pattern",
    "landform-yaml",
    "landform-protobuf",
    "landform-schema",
    "landform-graph",
    "landform-schedule",
    "landform-catalog",
    "landform-decide",
    "landform-template",
    "landform-spiff",
    "landform-blueprint",
];

const IMPURE: &[&str] = &[
    "tokio",
    "hyper",
    "kube-client",
    "rand",
    "rusqlite",
    "landform-store",
    "landform-apiserver",
];

/// Crates that may use kube and k8s-openapi, which cost minutes to build.
const KUBERNETES_CLIENTS: &[&str] = &[
    "landform-engine",
    "landform-controllers",
    "landform-deployers",
    "landform-operators",
    "landform-explain",
    "landform-project",
    "landform-plan",
    "landform-sim",
    "landform-bench",
    "landform",
    "landform-e2e",
];

/// Crates whose tests compare with Kubernetes' own types; what they ship does without.
const COMPARED_IN_TESTS: &[&str] = &["landform-schema"];

#[test]
fn pure_crates_reach_nothing_impure() {
    let metadata = Metadata::load().unwrap();
    let mut findings = Vec::new();
    for package in metadata
        .members()
        .filter(|package| PURE.contains(&package.name.as_str()))
    {
        let reachable = metadata.reachable(package);
        let chains = IMPURE.iter().filter_map(|impure| reachable.get(*impure));
        findings.extend(chains.map(|chain| chain.join(" → ")));
    }
    expect_none(&findings, "pure crates must not depend on these");

    let store = metadata
        .members()
        .find(|package| package.name == "landform-store")
        .unwrap();
    assert!(
        metadata.reachable(store).contains_key("tokio"),
        "this test sees nothing"
    );
}

#[test]
fn arrows_between_crates_go_one_way() {
    let metadata = Metadata::load().unwrap();
    let position = |name: &str| ORDER.iter().position(|known| *known == name);
    let mut findings = Vec::new();
    for package in metadata.members() {
        let Some(own) = position(&package.name) else {
            findings.push(format!("{} has no place in the order", package.name));
            continue;
        };
        for used in metadata
            .direct_normal(package)
            .filter(|used| !used.external)
        {
            if position(&used.name).is_none_or(|used| used >= own) {
                findings.push(format!("{} → {}", package.name, used.name));
            }
        }
    }
    expect_none(
        &findings,
        "crates may use only those before them in the order of this test",
    );
}

#[test]
fn only_clients_of_kubernetes_pay_for_its_types() {
    let metadata = Metadata::load().unwrap();
    let heavy = |name: &str| {
        matches!(
            name,
            "kube" | "kube-client" | "kube-runtime" | "k8s-openapi"
        )
    };
    let mut findings = Vec::new();
    for package in metadata.members() {
        let name = package.name.as_str();
        let used: Vec<_> = if KUBERNETES_CLIENTS.contains(&name) {
            continue;
        } else if COMPARED_IN_TESTS.contains(&name) {
            metadata.direct_normal(package).collect()
        } else {
            metadata.direct(package).collect()
        };
        let used = used.into_iter().filter(|used| heavy(&used.name));
        findings.extend(used.map(|used| format!("{name} → {}", used.name)));
    }
    expect_none(
        &findings,
        "these crates have to do without kube and k8s-openapi",
    );
}
