//! The verbs that kubectl has too, run by both on objects of their own: what they print, how they end, what is stored.

use landform_e2e::{Finished, Server, run, run_with_input};
use serde_json::Value;

use crate::{WEB, assert_contains, config_map, landform_ok, landform_on};

/// What one client made of a command.
#[derive(Debug, PartialEq, Eq)]
struct Made {
    code: Option<i32>,
    stdout: String,
}

fn made(finished: &Finished, name: &str) -> Made {
    // kubectl lists labels in any order.
    let mut lines: Vec<_> = finished
        .stdout
        .lines()
        .map(|line| line.replace(name, "NAME"))
        .collect();
    lines.sort();
    Made {
        code: finished.status.code(),
        stdout: lines.join("\n"),
    }
}

/// Runs a command with both clients, each on the object of its own name (`NAME` in the words).
fn both(server: &Server, words: &[&str]) -> (Finished, Finished) {
    let with = |name: &str| -> Vec<String> {
        words
            .iter()
            .map(|word| word.replace("NAME", name))
            .collect()
    };
    let (ours, theirs) = (with("ours"), with("theirs"));
    let ours: Vec<&str> = ours.iter().map(String::as_str).collect();
    let theirs: Vec<&str> = theirs.iter().map(String::as_str).collect();
    (
        landform_on(server, &ours),
        run(&mut server.kubectl_command(&theirs)),
    )
}

/// The same output, end and content for both.
#[track_caller]
fn alike(server: &Server, words: &[&str]) {
    let (ours, theirs) = both(server, words);
    assert_eq!(
        made(&ours, "ours"),
        made(&theirs, "theirs"),
        "{}\n{}",
        ours.report(),
        theirs.report()
    );
    let content = |name: &str| {
        let object = server.kubectl_json(&["get", "cm", name]);
        let metadata = &object["metadata"];
        (
            object["data"].clone(),
            metadata["labels"].clone(),
            metadata["annotations"].clone(),
        )
    };
    assert_eq!(content("ours"), content("theirs"), "{words:?}");
}

fn with_two() -> Server {
    let server = Server::start();
    let data = [("k", "v"), ("n", "2")];
    let text = config_map("ours", "x", &data) + &config_map("theirs", "x", &data);
    landform_ok(&server, &["create", "-f", &server.file("two.yaml", &text)]);
    server
}

#[test]
fn labels_annotations_and_patches_are_as_kubectl_makes_them() {
    let server = with_two();
    for words in [
        &["label", "cm", "NAME", "t=1"][..],
        &["label", "cm/NAME", "t=1"],
        &["label", "cm", "NAME", "t=2", "--overwrite"],
        &["label", "cm", "NAME", "a=1", "example.com/b=2", "t-"],
        &["label", "cm", "NAME", "a-", "example.com/b-"],
        &["label", "cm", "NAME", "never=1", "--dry-run=server"],
        &["label", "cm", "NAME", "t=9", "-o", "name"],
        &["label", "cm", "NAME", "--list"],
        &["annotate", "cm", "NAME", "note=a b=c"],
        &["annotate", "cm", "NAME", "note=d", "--overwrite"],
        &["annotate", "cm", "NAME", "note-"],
        &["patch", "cm", "NAME", "-p", r#"{"data": {"k": "v2"}}"#],
        &["patch", "cm", "NAME", "-p", r#"{"data": {"k": "v2"}}"#],
        &[
            "patch",
            "cm",
            "NAME",
            "--type=merge",
            "-p",
            "data: {n: null, new: yes!}",
        ],
        &[
            "patch",
            "cm",
            "NAME",
            "--type=json",
            "-p",
            r#"[{"op": "replace", "path": "/data/k", "value": "v3"}]"#,
        ],
        &[
            "patch",
            "cm",
            "NAME",
            "-p",
            r#"{"data": {"k": "v4"}}"#,
            "-o",
            "jsonpath={.data.k}",
        ],
    ] {
        alike(&server, words);
    }
    // Both fail, and change nothing.
    for (words, told) in [
        (&["label", "cm", "NAME", "t=10"][..], "already has a value"),
        (&["annotate", "cm", "none", "a=b"], "none"),
        (
            &["label", "cm", "NAME", "t=not a label", "--overwrite"],
            "t",
        ),
        (
            &[
                "patch",
                "cm",
                "NAME",
                "--type=json",
                "-p",
                r#"[{"op": "remove", "path": "/no"}]"#,
            ],
            "",
        ),
        (&["patch", "cm", "NAME"], "-"),
    ] {
        let (ours, theirs) = both(&server, words);
        assert!(
            !ours.status.success() && !theirs.status.success(),
            "{}",
            ours.report()
        );
        assert_contains(&ours.stderr, &[told]);
    }
    let all = landform_ok(&server, &["label", "cm", "-l", "app=x", "both=1"]);
    assert_eq!(all, "configmap/ours labeled\nconfigmap/theirs labeled\n");
    let off = server.kubectl(&["label", "cm", "-l", "app=x", "both-"]);
    assert_contains(&off, &["configmap/ours", "configmap/theirs"]);
    let every = landform_ok(&server, &["annotate", "cm", "--all", "every=1"]);
    assert_contains(
        &every,
        &["configmap/ours annotated", "configmap/theirs annotated"],
    );
}

#[test]
fn create_fails_for_what_is_there_and_makes_the_rest() {
    let server = with_two();
    let text = config_map("ours", "x", &[]) + &config_map("third", "x", &[]);
    let finished = landform_on(&server, &["create", "-f", &server.file("more.yaml", &text)]);
    assert_eq!(finished.status.code(), Some(1), "{}", finished.report());
    assert_eq!(finished.stdout, "configmap/third created\n");
    assert_contains(
        &finished.stderr,
        &[
            "more.yaml:2: ConfigMap/ours: ",
            "already exists",
            "1 of 2 objects were not created",
        ],
    );
    let named = "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: gen-}\n";
    let mut command = server.client(landform_e2e::landform());
    let made = run_with_input(command.args(["create", "-f", "-", "-o", "name"]), named);
    assert!(
        made.stdout.starts_with("configmap/gen-"),
        "{}",
        made.report()
    );
    let tried = config_map("tried", "x", &[]);
    let tried = landform_ok(
        &server,
        &["create", "-f", &server.file("t.yaml", &tried), "--dry-run"],
    );
    assert_eq!(tried, "configmap/tried created (server dry run)\n");
    server.kubectl_fails(&["get", "cm", "tried"]);
}

#[test]
fn strategic_patches_know_containers_and_custom_kinds_are_merged() {
    let server = Server::start();
    server.apply(WEB);
    let change = r#"{"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "nginx:2.0"}]}}}}"#;
    landform_ok(&server, &["patch", "deploy/web", "-p", change]);
    let found = server.kubectl_json(&["get", "deploy", "web"]);
    let container = &found["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "nginx:2.0");
    assert_eq!(container["env"].as_array().unwrap().len(), 2);
    let data = "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: DataObject\nmetadata: {name: d}\ndata: {a: 1, b: 2}\n";
    server.apply(data);
    // kubectl wants --type=merge here.
    let told = landform_ok(&server, &["patch", "dobj/d", "-p", "data: {b: null}"]);
    assert_contains(&told, &["dataobject.landscaper.gardener.cloud/d patched"]);
    assert_eq!(
        server.kubectl_json(&["get", "dobj", "d"])["data"],
        serde_json::json!({"a": 1})
    );
    let refused = landform_on(
        &server,
        &["patch", "dobj/d", "--type=strategic", "-p", "{}"],
    );
    assert_contains(&refused.stderr, &["say --type=merge"]);
}

#[test]
fn forms_of_output_are_kubectl_s() {
    let server = with_two();
    server.apply(&config_map("a10", "x", &[("k", "z")]));
    for words in [
        &[
            "get",
            "cm",
            "-l",
            "app=x",
            "-o",
            "jsonpath={.items[*].metadata.name}",
        ][..],
        &[
            "get",
            "cm",
            "-l",
            "app=x",
            "-o",
            r#"jsonpath={range .items[*]}{.metadata.name}{"\t"}{.data.k}{"\n"}{end}"#,
        ],
        &["get", "cm", "ours", "-o", "jsonpath={.data}"],
        &["get", "cm", "ours", "-o", "jsonpath={.absent}"],
        &[
            "get",
            "cm",
            "-l",
            "app=x",
            "-o",
            "jsonpath={.items[*]['metadata.name', 'data.k']}",
        ],
        &[
            "get",
            "cm",
            "-l",
            "app=x",
            "-o",
            r#"jsonpath={.items[?(@.data.k=="z")].metadata.name}"#,
        ],
        &[
            "get",
            "cm",
            "-l",
            "app=x",
            "-o",
            "custom-columns=TITLE:.metadata.name,N:.data.n",
        ],
        &[
            "get",
            "cm",
            "-l",
            "app=x",
            "-o",
            r#"go-template={{range .items}}{{.metadata.name}}{{"\n"}}{{end}}"#,
        ],
        &["get", "cm", "ours", "-o", "go-template={{.data.k}}"],
        &[
            "get",
            "cm",
            "-l",
            "app=x",
            "-o",
            "name",
            "--sort-by={.data.k}",
        ],
        &[
            "get",
            "cm",
            "-l",
            "app=x",
            "-o",
            "custom-columns=TITLE:.metadata.name",
            "--sort-by=.data.k",
        ],
        &["api-resources", "-o", "name"],
        &["api-resources"],
        &[
            "api-resources",
            "--namespaced=false",
            "-o",
            "name",
            "--sort-by=name",
        ],
    ] {
        let (ours, theirs) = both(&server, words);
        assert_eq!(ours.stdout, theirs.stdout, "{words:?}\n{}", ours.stderr);
        assert_eq!(ours.status.code(), theirs.status.code(), "{words:?}");
    }
    let json = landform_ok(&server, &["get", "cm/ours", "--json"]);
    assert_eq!(
        json,
        landform_ok(&server, &["get", "cm/ours", "-o", "json"])
    );
    let why: Value = serde_json::from_str(&landform_ok(&server, &["tree", "--json"])).unwrap();
    let yaml = landform_ok(&server, &["tree", "-o", "yaml"]);
    assert_contains(&yaml, &["kind: Tree"]);
    assert_eq!(why["kind"], "Tree");
    for wrong in ["xml", "jsonpath={", "custom-columns=A", "go-template={{"] {
        let refused = landform_on(&server, &["get", "cm", "-o", wrong]);
        assert_eq!(refused.status.code(), Some(3), "{}", refused.report());
    }
}

/// The lines that name fields.
fn fields(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| line.contains("\t<"));
    lines.map(|line| line.trim_end().to_owned()).collect()
}

#[test]
fn explain_names_the_fields_and_types_that_kubectl_names() {
    let server = Server::start();
    for what in [
        "cm",
        "cm.metadata",
        "deploy.spec.template.spec.containers",
        "deploy.spec.strategy",
        "ns.status",
        "inst",
        "inst.spec.imports.data",
        "di.status",
        "crd.spec.versions",
    ] {
        for recursive in [&[][..], &["--recursive"]] {
            let words = [&["explain", what], recursive].concat();
            let (ours, theirs) = both(&server, &words);
            assert_eq!(fields(&ours.stdout), fields(&theirs.stdout), "{words:?}");
            let head = |text: &str| text.lines().take(3).map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(head(&ours.stdout), head(&theirs.stdout), "{words:?}");
        }
    }
    let (ours, theirs) = both(&server, &["explain", "inst.spec.nope"]);
    assert_eq!(ours.status.code(), theirs.status.code());
    assert_contains(&ours.stderr, &["spec has no field \"nope\"", "blueprint"]);
    // Without a server the kinds that Landform brings are explained.
    let alone = landform_on(
        &server,
        &["explain", "inst.spec", "--kubeconfig", "/no/such"],
    );
    assert!(alone.status.success(), "{}", alone.report());
    assert_contains(&alone.stdout, &["KIND:       Installation", "blueprint"]);
}
