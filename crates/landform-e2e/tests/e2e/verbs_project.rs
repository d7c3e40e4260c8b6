//! Commands about projects: their namespaces, `validate`, `adopt`, and the way back of installations.

use landform_e2e::{Lines, Server, landform, run};

use crate::project::{Installation, Project};
use crate::{assert_contains, config_map, landform_ok, landform_on, namespace};

/// Waits until a command prints a piece.
#[track_caller]
fn until(mut attempt: impl FnMut() -> String, piece: &str) -> String {
    let deadline = std::time::Instant::now() + landform_e2e::DEADLINE;
    loop {
        let found = attempt();
        if found.contains(piece) {
            return found;
        }
        assert!(
            std::time::Instant::now() < deadline,
            "{piece:?} is missing in:\n{found}"
        );
        std::thread::yield_now();
    }
}

fn two_namespaces() -> (Project, Lines) {
    let project = Project::empty();
    project.write("db.yaml", &Installation::default().named("db"));
    let web = Installation::default().named("web");
    let web = web.replace("  name: web\n", "  name: web\n  namespace: front\n");
    project.write("web.yaml", &web);
    project.write("front.yaml", &namespace("front"));
    let mut up = project.up(&[]);
    up.expect(&["Everything is ready after "]);
    (project, up)
}

#[test]
fn in_a_project_s_directory_all_its_namespaces_are_looked_into() {
    let (project, _up) = two_namespaces();
    let all = project.landform(&["get", "inst"]);
    assert_contains(&all, &["NAMESPACE", "default ", "front ", "db ", "web "]);
    let one = project.landform(&["get", "inst", "-n", "front"]);
    assert!(
        one.contains("web") && !one.contains("db") && !one.contains("NAMESPACE"),
        "{one}"
    );
    // One object is found where it is, by all commands.
    assert_contains(
        &project.landform(&["describe", "inst/web"]),
        &["Installation front/web"],
    );
    assert_eq!(
        project.landform(&["wait", "inst/web"]),
        "Installation/web Succeeded\n"
    );
    let tree = project.landform(&["tree"]);
    assert_contains(
        &tree,
        &[
            "In namespace default:\nInstallation/db",
            "In namespace front:\nInstallation/web",
        ],
    );
    assert_contains(
        &project.landform(&["graph"]),
        &["Installation/db", "Installation/web"],
    );
    let maps = project.landform(&["get", "cm", "-o", "name"]);
    assert!(!maps.contains("kube-system"), "{maps}");
    assert_eq!(
        project.landform(&["wait", "project/pair"]),
        "Project/pair Synced\n"
    );
    // The same name in two namespaces is asked about.
    let twice = config_map("twice", "x", &[]);
    project.write(
        "twice.yaml",
        &(twice.clone() + &twice.replace("metadata:\n", "metadata:\n  namespace: front\n")),
    );
    until(
        || project.landform(&["get", "cm", "-o", "name"]),
        "configmap/twice",
    );
    project.landform(&["wait", "project/pair"]);
    let asked = run(&mut project.command(&["get", "cm/twice"]));
    assert_eq!(asked.status.code(), Some(1), "{}", asked.report());
    assert_contains(
        &asked.stderr,
        &["in the namespaces default, front: say which one with -n"],
    );
}

#[test]
fn o20_an_object_is_adopted_by_a_project_by_an_explicit_word() {
    let (project, _up) = two_namespaces();
    let apply = project.home.path().join("apply.yaml");
    std::fs::write(&apply, config_map("settings", "x", &[("k", "v")])).unwrap();
    project.landform(&["apply", "-f", apply.to_str().unwrap()]);
    let told = project.landform(&["adopt", "cm/settings", "--file", "settings.yaml"]);
    assert_contains(&told, &["ConfigMap/settings is in settings.yaml"]);
    until(
        || project.landform(&["get", "cm/settings", "-o", "yaml"]),
        "landform.dev/project: pair",
    );
    project.edit("settings.yaml", "k: v", "k: other");
    until(
        || project.landform(&["get", "cm/settings", "-o", "jsonpath={.data.k}"]),
        "other",
    );
    for (words, piece) in [
        (
            &["adopt", "cm/settings", "--file", "again.yaml"][..],
            "files of the project pair",
        ),
        (
            &["adopt", "cm/none", "--file", "again.yaml"],
            "there is no ConfigMap none",
        ),
        (
            &["adopt", "inst/db", "--item", "di/none"],
            "files of the project pair",
        ),
    ] {
        let refused = run(&mut project.command(words));
        assert_eq!(refused.status.code(), Some(1), "{}", refused.report());
        assert_contains(&refused.stderr, &[piece]);
    }
    assert!(!project.directory().join("again.yaml").exists());
    // The way back of what files say is in the files.
    project.edit("db.yaml", "exports: {}", "exports: {a: 1}");
    let refused = run(&mut project.command(&["rollback", "inst/db"]));
    assert_eq!(refused.status.code(), Some(1), "{}", refused.report());
    assert!(
        ["change the file instead", "no earlier revision"]
            .iter()
            .any(|piece| refused.stderr.contains(piece)),
        "{}",
        refused.report()
    );
}

#[test]
fn o20_a_deploy_item_takes_an_object_over_that_was_there() {
    let server = Server::start();
    server.apply(&config_map("settings", "x", &[("k", "mine")]));
    let item = "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Target\nmetadata: {name: here}\n\
        spec: {type: landform.dev/this-server}\n---\n\
        apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: DeployItem\nmetadata: {name: item}\n\
        spec:\n  type: landscaper.gardener.cloud/kubernetes-manifest\n  target: {name: here}\n  config:\n    \
        apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2\n    kind: ProviderConfiguration\n    \
        manifests:\n    - policy: manage\n      manifest:\n        apiVersion: v1\n        kind: ConfigMap\n        \
        metadata: {name: settings, namespace: default}\n        data: {k: theirs}\n";
    server.apply(item);
    landform_ok(&server, &["wait", "di/item", "--for=phase=Failed"]);
    assert_eq!(
        server.kubectl(&["get", "cm", "settings", "-o", "jsonpath={.data.k}"]),
        "mine"
    );
    let told = landform_ok(&server, &["adopt", "cm/settings", "--item", "di/item"]);
    assert_contains(
        &told,
        &["ConfigMap/settings belongs to DeployItem/item now"],
    );
    landform_ok(&server, &["wait", "di/item"]);
    assert_eq!(
        server.kubectl(&["get", "cm", "settings", "-o", "jsonpath={.data.k}"]),
        "theirs"
    );
}

#[test]
fn an_installation_goes_back_to_a_spec_with_which_it_succeeded() {
    let server = Server::start();
    let with = |value: &str| {
        Installation {
            exports: &["address"],
            value,
            ..Installation::default()
        }
        .named("db")
    };
    let data =
        |server: &Server| server.kubectl(&["get", "dobj", "address", "-o", "jsonpath={.data}"]);
    let listed = |server: &Server| landform_ok(server, &["rollback", "inst/db", "--list"]);
    for (number, value) in [("1 ", "one"), ("2 ", "two")] {
        server.apply(&with(value));
        landform_ok(&server, &["reconcile", "inst/db"]);
        landform_ok(&server, &["wait", "inst/db"]);
        assert_eq!(data(&server), value);
        until(|| listed(&server), &format!("\n{number}"));
    }
    // A restart forgets nothing and notes nothing twice.
    let server = server.restart(|_| ());
    assert_eq!(listed(&server).lines().count(), 3);
    let told = landform_ok(&server, &["rollback", "installation/db"]);
    assert_contains(
        &told,
        &["goes back to revision 1", "Installation/db Succeeded"],
    );
    assert_eq!(data(&server), "one");
    // What was gone back to is the newest one, and the way forth is as short.
    until(|| listed(&server), "\n3 ");
    landform_ok(&server, &["rollback", "installation/db", "--to", "2"]);
    assert_eq!(data(&server), "two");
    let none = landform_on(&server, &["rollback", "inst/db", "--to", "77"]);
    assert_contains(&none.stderr, &["has no revision 77"]);
    // What is gone has no revisions.
    landform_ok(&server, &["delete", "inst/db", "--yes"]);
    until(
        || {
            let all = server.kubectl(&["get", "controllerrevisions", "-o", "name"]);
            if all.is_empty() {
                "gone".to_owned()
            } else {
                all
            }
        },
        "gone",
    );
}

#[test]
fn validate_says_what_is_wrong_with_file_and_line() {
    let project = Project::empty();
    let validate = |more: &[&str]| run(&mut project.command(&[&["validate"], more].concat()));
    let db = Installation {
        exports: &["address"],
        ..Installation::default()
    };
    let web = Installation {
        imports: &["address"],
        ..Installation::default()
    };
    project.write("db.yaml", &db.named("db"));
    project.write("web.yaml", &web.named("web"));
    let fine = validate(&[]);
    assert_eq!(fine.status.code(), Some(0), "{}", fine.report());
    assert_contains(&fine.stdout, &[". is valid: 2 objects, 2 installations"]);
    let circle = Installation {
        imports: &["back"],
        exports: &["address"],
        ..Installation::default()
    };
    let back = Installation {
        imports: &["address"],
        exports: &["back"],
        ..Installation::default()
    };
    let integer = Installation {
        imports: &["address"],
        schema: "{type: integer}",
        ..Installation::default()
    };
    let given = "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: DataObject\nmetadata: {name: address}\ndata: word\n";
    for (file, text, pieces) in [
        (
            "db.yaml",
            String::new(),
            &["error: web.yaml:6:", "which no installation exports"][..],
        ),
        (
            "web.yaml",
            web.named("web")
                .replace("dataRef: address", "dataRef: adress"),
            &["web.yaml:6:", "did you mean address?"],
        ),
        (
            "db.yaml",
            db.named("db")
                .replace("exports: [{name: address", "exports: [{name: other"),
            &["db.yaml", "has no export \"address\"; it has other"],
        ),
        (
            "db.yaml",
            db.named("db").replace("spec:\n", "spec:\n  blueprnt: {}\n"),
            &["db.yaml:6:", "unknown field", "blueprnt"],
        ),
        (
            "db.yaml",
            circle.named("db"),
            &["which no installation exports"],
        ),
        ("x.yaml", "a: [\n".to_owned(), &["error: x.yaml:"]),
        (
            "x.yaml",
            "apiVersion: no.such/v1\nkind: Toy\nmetadata: {name: a}\n".to_owned(),
            &["x.yaml:1:1", "doesn't know the kind Toy"],
        ),
        ("x.yaml", config_map("B_D", "x", &[]), &["x.yaml:", "B_D"]),
        (
            "db.yaml",
            db.named("db")
                .replace("deployItems:", "deployItems: {{ .nope"),
            &["db.yaml", "blueprint.yaml:"],
        ),
    ] {
        let path = project.directory().join(file);
        let before = std::fs::read_to_string(&path).ok();
        project.write(file, &text);
        let found = validate(&[]);
        assert_eq!(found.status.code(), Some(1), "{file}: {}", found.report());
        assert_contains(&found.stderr, pieces);
        assert_contains(&found.stdout, &[". is not valid: "]);
        match before {
            Some(before) => project.write(file, &before),
            None => std::fs::remove_file(path).unwrap(),
        }
    }
    project.write("db.yaml", &circle.named("db"));
    project.write("back.yaml", &back.named("back"));
    let found = validate(&[]);
    assert_contains(&found.stderr, &["in a circle", "back → db → back"]);
    std::fs::remove_file(project.directory().join("back.yaml")).unwrap();
    // A value that stands in a file is checked by the schema of who imports it.
    project.write("db.yaml", given);
    project.write("web.yaml", &integer.named("web"));
    let found = validate(&["-o", "json"]);
    assert_eq!(found.status.code(), Some(1), "{}", found.report());
    let report: serde_json::Value = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!(report["valid"], false);
    assert_contains(
        &found.stdout,
        &["has to be an integer", "\"file\": \"web.yaml\""],
    );
    std::fs::create_dir(project.directory().join("empty")).unwrap();
    let empty = validate(&["empty"]);
    assert_contains(&empty.stderr, &["has no file of a project"]);
    let nowhere = run(&mut project.command(&["validate", "no/such"]));
    assert_eq!(nowhere.status.code(), Some(1), "{}", nowhere.report());
}

#[test]
fn the_examples_are_valid() {
    for example in ["shop", "nested", "python-reconciler", "operator"] {
        let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../examples")
            .join(example);
        let mut command = std::process::Command::new(landform());
        let found = run(command.arg("validate").arg(directory));
        assert!(found.status.success(), "{}", found.report());
    }
}

#[test]
fn shells_complete_kinds_and_names_of_the_server_and_stay_silent_without_one() {
    let (project, _up) = two_namespaces();
    let script = project.landform(&["completion", "bash"]);
    std::fs::write(project.home.path().join("completion.bash"), script).unwrap();
    let bin = project.home.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(landform(), bin.join("landform")).unwrap();
    let complete = |words: &str, directory: &std::path::Path| {
        let line = format!(
            "source {}/completion.bash; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); \
             _landform_words landform \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            project.home.path().display()
        );
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let mut command = std::process::Command::new("bash");
        command
            .args(["-c", &line])
            .current_dir(directory)
            .env("PATH", path);
        command
            .env("HOME", project.home.path())
            .env_remove("KUBECONFIG");
        run(&mut command)
    };
    let here = project.directory();
    for (words, pieces) in [
        (
            "landform get installa",
            &["installation\n", "installations\n"][..],
        ),
        ("landform get inst ''", &["db\n", "web\n"]),
        ("landform describe inst/w", &["inst/web\n"]),
        ("landform get inst -n fr", &["front\n"]),
        ("landform explain configm", &["configmap\n"]),
        ("landform get --sort", &["--sort-by\n"]),
        ("landform vali", &["validate\n"]),
    ] {
        let found = complete(words, &here);
        assert_contains(&found.stdout, pieces);
    }
    let elsewhere = complete("landform get inst ''", project.home.path());
    assert!(!elsewhere.stdout.contains("db\n"), "{}", elsewhere.report());
    assert_eq!(elsewhere.stderr, "", "{}", elsewhere.report());
}

#[test]
fn why_names_the_file_of_a_value_that_is_refused() {
    let project = Project::empty();
    let given = "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: DataObject\nmetadata: {name: port}\ndata: 80\n";
    project.write("port.yaml", given);
    let web = Installation {
        imports: &["port"],
        schema: "{type: integer}",
        ..Installation::default()
    };
    project.write("web.yaml", &web.named("web"));
    let mut up = project.up(&[]);
    up.expect(&["Everything is ready after "]);
    project.edit("port.yaml", "data: 80", "data: word");
    // What was just saved counts, and what can't succeed ends at once.
    let refused = run(&mut project.command(&["wait", "inst/web", "--timeout=50s"]));
    assert_eq!(refused.status.code(), Some(1), "{}", refused.report());
    assert_contains(&refused.stderr, &["has failed", "port"]);
    let why = project.landform(&["why", "inst/web"]);
    assert_contains(
        &why,
        &[
            "DataObject/port in the file port.yaml",
            "Installation/web in the file web.yaml",
        ],
    );
    // The advice is followed.
    project.edit("port.yaml", "data: word", "data: 81");
    assert_eq!(
        project.landform(&["wait", "inst/web"]),
        "Installation/web Succeeded\n"
    );
    assert_contains(&project.landform(&["tree"]), &["Installation/web"]);
}

#[test]
fn waiting_for_a_catalog_ends_well_or_at_once_with_what_is_wrong() {
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/operator");
    let server = Server::start_with(&["--catalogs", examples.to_str().unwrap()]);
    let catalog = |name: &str, path: &str| {
        format!(
            "---\napiVersion: catalog.landform.dev/v1alpha1\nkind: Catalog\nmetadata: {{name: {name}}}\n\
             spec: {{directory: {{path: {path}}}}}\n"
        )
    };
    server.apply(&(catalog("good", "catalog") + &catalog("bad", "no-such-directory")));
    assert_eq!(
        landform_ok(&server, &["wait", "catalog/good", "--timeout=50s"]),
        "Catalog/good Ready\n"
    );
    let refused = landform_on(&server, &["wait", "catalog/bad", "--timeout=50s"]);
    assert_eq!(refused.status.code(), Some(1), "{}", refused.report());
    assert_contains(&refused.stderr, &["Catalog/bad", "no-such-directory"]);
    assert!(
        !refused.stderr.contains("after 50s"),
        "{}",
        refused.report()
    );
}
