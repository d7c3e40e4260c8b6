//! `kubectl get` and `describe` in all their forms.

use landform_e2e::Server;

use crate::{WEB, assert_contains, config_map, namespace};

fn with_three_maps() -> Server {
    let server = Server::start();
    let maps = [("one", "web"), ("two", "web"), ("three", "db")];
    let manifests: Vec<_> = maps
        .iter()
        .map(|(name, app)| config_map(name, app, &[("k", name)]))
        .collect();
    server.apply(&manifests.concat());
    server
}

/// The names that a `get cm` with these arguments prints, in order.
fn names(server: &Server, arguments: &[&str]) -> Vec<String> {
    let printed = server.kubectl(&[&["get", "cm", "-o", "name"], arguments].concat());
    let lines = printed
        .lines()
        .map(|line| line.trim_start_matches("configmap/").to_owned());
    // Kubernetes puts a map with its certificate into every namespace; we don't depend on it.
    lines.filter(|name| name != "kube-root-ca.crt").collect()
}

#[test]
fn output_in_all_forms() {
    let server = with_three_maps();
    let yaml = server.kubectl(&["get", "cm", "one", "-o", "yaml"]);
    assert_contains(
        &yaml,
        &[
            "apiVersion: v1\n",
            "data:\n  k: one\n",
            "kind: ConfigMap\n",
            "  uid: ",
        ],
    );
    let json = server.kubectl_json(&["get", "cm", "one"]);
    assert_eq!(
        (&json["kind"], &json["data"]["k"]),
        (&"ConfigMap".into(), &"one".into())
    );
    let list = server.kubectl_json(&["get", "cm", "-l", "app"]);
    assert_eq!(list["items"].as_array().map(Vec::len), Some(3));
    assert_eq!(names(&server, &["one"]), ["one"]);
    let jsonpath = "jsonpath={.items[*].metadata.name}";
    assert_eq!(
        server.kubectl(&["get", "cm", "-l", "app", "-o", jsonpath]),
        "one three two"
    );
    let columns = "custom-columns=N:.metadata.name,APP:.metadata.labels.app";
    let printed = server.kubectl(&["get", "cm", "-l", "app=db", "-o", columns]);
    assert_eq!(
        printed.split_whitespace().collect::<Vec<_>>(),
        ["N", "APP", "three", "db"]
    );
}

#[test]
fn tables_have_the_columns_that_people_know() {
    let server = with_three_maps();
    server.apply(WEB);
    let words = |arguments: &[&str]| -> Vec<Vec<String>> {
        let printed = server.kubectl(arguments);
        printed
            .lines()
            .map(|line| line.split_whitespace().map(str::to_owned).collect())
            .collect()
    };
    let maps = words(&["get", "cm", "-l", "app=web"]);
    assert_eq!(maps[0], ["NAME", "DATA", "AGE"]);
    assert_eq!(maps[1][..2], ["one", "1"]);
    assert_eq!(maps[2][..2], ["two", "1"]);
    let deployments = words(&["get", "deployments", "-o", "wide"]);
    let expected = [
        "NAME",
        "READY",
        "UP-TO-DATE",
        "AVAILABLE",
        "AGE",
        "CONTAINERS",
        "IMAGES",
        "SELECTOR",
    ];
    assert_eq!(deployments[0], expected);
    assert_eq!(deployments[1][..2], ["web", "0/2"]);
    assert_eq!(deployments[1][5..], ["web", "nginx:1.0", "app=web"]);
    let namespaces = words(&["get", "namespaces"]);
    assert_eq!(namespaces[0], ["NAME", "STATUS", "AGE"]);
    assert!(
        namespaces
            .iter()
            .any(|line| line[..2] == ["default", "Active"]),
        "{namespaces:?}"
    );
    let labels = words(&["get", "cm", "one", "-L", "app", "--no-headers"]);
    assert_eq!(labels[0].last().map(String::as_str), Some("web"));
}

#[test]
fn label_selectors() {
    let server = with_three_maps();
    let table: [(&str, &[&str]); 7] = [
        ("app=web", &["one", "two"]),
        ("app==db", &["three"]),
        ("app!=web,app", &["three"]),
        ("app in (web, db)", &["one", "three", "two"]),
        ("app notin (web),app", &["three"]),
        ("app", &["one", "three", "two"]),
        ("app,!app", &[]),
    ];
    for (selector, expected) in table {
        assert_eq!(
            names(&server, &["-l", selector]),
            expected,
            "for {selector}"
        );
    }
    assert_contains(
        &server.kubectl_fails(&["get", "cm", "-l", "app in ("]),
        &["unable to parse"],
    );
}

#[test]
fn field_selectors() {
    let server = with_three_maps();
    let table: [(&str, &[&str]); 3] = [
        ("metadata.name=one", &["one"]),
        ("metadata.name!=one,metadata.name!=two", &["three"]),
        ("metadata.namespace=other", &[]),
    ];
    for (selector, expected) in table {
        assert_eq!(
            names(&server, &["--field-selector", selector]),
            expected,
            "for {selector}"
        );
    }
    let said = server.kubectl_fails(&["get", "cm", "--field-selector", "spec.color=red"]);
    assert_contains(&said, &["field label not supported", "spec.color"]);
}

#[test]
fn namespaces_separate_and_join() {
    let server = with_three_maps();
    server.apply(&namespace("other"));
    server.kubectl_with(
        &["apply", "-n", "other", "-f", "-"],
        &config_map("one", "web", &[]),
    );
    assert_eq!(names(&server, &["-n", "other"]), ["one"]);
    let all = server.kubectl(&[
        "get",
        "cm",
        "-A",
        "--field-selector",
        "metadata.name=one",
        "--no-headers",
    ]);
    let found: Vec<_> = all
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(found, ["default", "other"]);
}

#[test]
fn long_lists_come_in_chunks() {
    let server = Server::start();
    let manifests: String = (10..22)
        .map(|number| config_map(&format!("map-{number}"), "many", &[]))
        .collect();
    server.apply(&manifests);
    let finished = server.try_kubectl(&[
        "get",
        "cm",
        "-l",
        "app=many",
        "-o",
        "name",
        "--chunk-size=5",
        "-v=6",
    ]);
    let expected: Vec<_> = (10..22)
        .map(|number| format!("configmap/map-{number}"))
        .collect();
    assert_eq!(
        finished.stdout.lines().collect::<Vec<_>>(),
        expected,
        "{}",
        finished.report()
    );
    let pages = finished
        .stderr
        .lines()
        .filter(|line| line.contains("limit=5"));
    assert_eq!(pages.count(), 3, "{}", finished.report());
}

#[test]
fn what_is_not_there_is_said_so() {
    let server = Server::start();
    assert_eq!(
        server.kubectl_fails(&["get", "cm", "nope"]),
        "Error from server (NotFound): configmaps \"nope\" not found"
    );
    let said = server.kubectl_fails(&["get", "gadgets"]);
    assert_contains(
        &said,
        &["the server doesn't have a resource type \"gadgets\""],
    );
}

#[test]
fn c5_a_watch_shows_additions_changes_and_deletions() {
    let server = with_three_maps();
    let mut watch = server.kubectl_lines(&[
        "get",
        "cm",
        "-l",
        "app=web",
        "--watch",
        "--output-watch-events",
        "--no-headers",
    ]);
    watch.expect(&["ADDED", "one"]);
    watch.expect(&["ADDED", "two"]);
    server.apply(&config_map("four", "web", &[("k", "4")]));
    watch.expect(&["ADDED", "four"]);
    server.apply(&config_map("four", "web", &[("k", "4"), ("l", "5")]));
    watch.expect(&["MODIFIED", "four", "2"]);
    // An object that leaves the selection is deleted as far as this watch can see.
    server.kubectl(&["label", "cm", "two", "app=db", "--overwrite"]);
    watch.expect(&["DELETED", "two"]);
    server.kubectl(&["delete", "cm", "four"]);
    watch.expect(&["DELETED", "four"]);
}

#[test]
fn a_watch_begins_now_when_asked_to() {
    let server = with_three_maps();
    let mut watch = server.kubectl_lines(&[
        "get",
        "cm",
        "--watch-only",
        "-o",
        "jsonpath={.metadata.name}={.data.k} ",
        "-v=6",
    ]);
    watch.expect(&["watch=true"]);
    server.apply(&config_map("late", "web", &[("k", "now")]));
    server.apply(&config_map("last", "web", &[("k", "end\\n")]));
    let line = watch.expect(&["late=now"]);
    assert!(!line.contains("one=one"), "{line}");
}

#[test]
fn events_are_listed_and_described() {
    let server = Server::start();
    server.apply(&config_map("settings", "web", &[("a", "1")]));
    let uid = server.kubectl(&["get", "cm", "settings", "-o", "jsonpath={.metadata.uid}"]);
    server.apply(&format!(
        "apiVersion: v1\nkind: Event\nmetadata: {{name: settings.1, namespace: default}}\n\
         involvedObject: {{apiVersion: v1, kind: ConfigMap, name: settings, namespace: default, uid: {uid}}}\n\
         reason: Looked\nmessage: Somebody looked\ntype: Normal\ncount: 1\n\
         firstTimestamp: \"2024-01-01T00:00:00Z\"\nlastTimestamp: \"2024-01-01T00:00:00Z\"\n\
         source: {{component: test}}\n"
    ));
    let table = server.kubectl(&["get", "events"]);
    assert_contains(
        &table,
        &["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"],
    );
    assert_contains(
        &table,
        &["Normal", "Looked", "configmap/settings", "Somebody looked"],
    );
    let selector = format!("involvedObject.name=settings,involvedObject.uid={uid}");
    let found = server.kubectl(&["get", "events", "--field-selector", &selector, "-o", "name"]);
    assert_eq!(found, "event/settings.1");
    let none = server.kubectl(&[
        "get",
        "events",
        "--field-selector",
        "type=Warning",
        "-o",
        "name",
    ]);
    assert_eq!(none, "");
    let text = server.kubectl(&["describe", "cm", "settings"]);
    assert_contains(
        &text,
        &[
            "Name:         settings",
            "Labels:       app=web",
            "Somebody looked",
        ],
    );
    let found = server.kubectl(&[
        "get",
        "events.events.k8s.io",
        "-o",
        "jsonpath={.items[*].note}",
    ]);
    assert_eq!(found, "Somebody looked");
}

#[test]
fn describe_built_in_kinds() {
    let server = Server::start();
    server.apply(WEB);
    let text = server.kubectl(&["describe", "deployment", "web"]);
    assert_contains(
        &text,
        &[
            "Name:",
            "web",
            "Replicas:",
            "2 desired",
            "Image:",
            "nginx:1.0",
        ],
    );
    server.apply(
        "{\"apiVersion\": \"v1\", \"kind\": \"Secret\", \"metadata\": {\"name\": \"password\"}, \
         \"stringData\": {\"p\": \"secret\"}}",
    );
    let text = server.kubectl(&["describe", "secret", "password"]);
    assert_contains(&text, &["Type:  Opaque", "p:  6 bytes"]);
    assert_contains(
        &server.kubectl(&["describe", "namespace", "default"]),
        &["Status:", "Active"],
    );
}
