//! Each row of `docs/migrating-from-landscaper.md` that works is a landscape that is applied to the real binary.

use std::collections::BTreeSet;
use std::path::Path;

use landform_e2e::{Server, fixture};
use landform_yaml::{Budget, parse_one};
use serde_json::Value;

/// The files with landscapes, in the order of the page's tables.
const FILES: [&str; 5] = ["blueprints", "templates", "installations", "items", "kinds"];

fn rows() -> Vec<Value> {
    let rows = FILES.iter().flat_map(|file| {
        let path = fixture("migrating").join(format!("{file}.yaml"));
        let text = std::fs::read_to_string(path).unwrap();
        let rows = parse_one(&text, &Budget::FILE).unwrap();
        rows.as_array().unwrap().clone()
    });
    rows.collect()
}

/// The rows of the page's tables that have one of these words in their second column.
fn documented(words: &[&str]) -> Vec<String> {
    let page =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/migrating-from-landscaper.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows = page.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let name = cells.next()?;
        let word = cells.next()?.trim_end_matches(" |");
        words.contains(&word).then(|| name.to_owned())
    });
    rows.collect()
}

#[test]
fn every_row_of_the_page_that_works_has_a_landscape_and_every_landscape_a_row() {
    let documented = documented(&["works", "differs"]);
    let unique: BTreeSet<_> = documented.iter().collect();
    assert_eq!(unique.len(), documented.len(), "a row is there twice");
    let run: Vec<_> = rows()
        .iter()
        .map(|row| row["row"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(documented, run);
    assert!(run.len() > 40);
}

#[test]
fn the_landscape_of_every_row_gives_what_it_should() {
    let server = Server::start();
    if !server.kubectl_is_at_least(23) {
        return;
    }
    let admin = std::fs::read_to_string(server.kubeconfig()).unwrap();
    let indented = admin.trim_end().replace('\n', "\n    ");
    let rows = rows();
    let namespaces: Vec<_> = (0..rows.len()).map(|at| format!("row-{at}")).collect();
    for (row, namespace) in rows.iter().zip(&namespaces) {
        server.kubectl(&["create", "namespace", namespace]);
        let manifests = row["manifests"].as_str().unwrap();
        let manifests = manifests.replace("NAMESPACE", namespace);
        let manifests = manifests.replace("KUBECONFIG", &indented);
        server.kubectl_with(&["apply", "-n", namespace, "-f", "-"], &manifests);
    }
    let mut wrong = Vec::new();
    for (row, namespace) in rows.iter().zip(&namespaces) {
        for expected in row["expect"].as_array().unwrap() {
            let found = found(&server, namespace, expected, row);
            let wanted = expected["is"].as_str().unwrap();
            if found.as_deref() != Ok(wanted) {
                let (name, get) = (&row["row"], &expected["get"]);
                wrong.push(format!("{name}: {get} is {found:?} and not {wanted:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is there when everything of the row has settled.
fn found(
    server: &Server,
    namespace: &str,
    expected: &Value,
    row: &Value,
) -> Result<String, String> {
    let manifests = row["manifests"].as_str().unwrap();
    if manifests.contains("kind: Installation\n") {
        let done = "--for=jsonpath={.status.phase}=Succeeded";
        let all = [
            "wait",
            done,
            "installations",
            "--all",
            "-n",
            namespace,
            "--timeout=30s",
        ];
        let waited = server.try_kubectl(&all);
        if !waited.status.success() {
            let path = "-ojsonpath={.items[*].status.lastError.message}";
            let told = server.kubectl(&["get", "installations", "-n", namespace, path]);
            return Err(told);
        }
    } else if manifests.contains("kind: TargetSync\n") {
        let done = "--for=jsonpath={.status.observedGeneration}=1";
        let all = [
            "wait",
            done,
            "targetsyncs",
            "--all",
            "-n",
            namespace,
            "--timeout=30s",
        ];
        server.kubectl(&all);
    }
    let path = format!("-ojsonpath={{{}}}", expected["path"].as_str().unwrap());
    let mut arguments = vec!["get", "-n", namespace, &path];
    arguments.extend(expected["get"].as_str().unwrap().split(' '));
    let answer = server.try_kubectl(&arguments);
    if answer.status.success() {
        Ok(answer.stdout)
    } else {
        Err(answer.stderr)
    }
}
