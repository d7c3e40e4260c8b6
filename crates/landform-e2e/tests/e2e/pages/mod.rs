//! Every command on every page is run: this is the table that says by which test.

mod page;
mod walk;

use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use landform_e2e::Lines;

use crate::assert_contains;
use page::{Block, blocks};
use walk::{Page, follow};

const FIRST_BLUEPRINT: Page = Page {
    path: "docs/first-blueprint.md",
    words: &["7501", "7502"],
    uses: &[],
};

const ENVIRONMENTS: Page = Page {
    path: "docs/environments.md",
    words: &["7511", "7512", "7513"],
    uses: &[],
};

const NEW: Page = Page {
    path: "docs/new.md",
    words: &[],
    uses: &[],
};

const PRODUCTION: Page = Page {
    path: "docs/production.md",
    words: &[],
    uses: &[],
};

const UPGRADING: Page = Page {
    path: "docs/upgrading.md",
    words: &[],
    uses: &[],
};

const COMING_FROM: Page = Page {
    path: "docs/coming-from.md",
    words: &["7521"],
    uses: &[],
};

const LANDSCAPES: Page = Page {
    path: "docs/landscapes.md",
    words: &["7401", "7402", "7403"],
    uses: &["examples/shop"],
};

const BLUEPRINTS: Page = Page {
    path: "docs/blueprints.md",
    words: &[],
    uses: &["examples/blueprints"],
};

const README: Page = Page {
    path: "README.md",
    words: &["7401", "7402", "7403", "7411"],
    uses: &["examples/shop", "examples/widgets"],
};

const GETTING_STARTED: Page = Page {
    path: "docs/getting-started.md",
    words: &["7401", "7402", "7403", "7411"],
    uses: &["examples/shop"],
};

const NESTED: Page = Page {
    path: "examples/nested/README.md",
    words: &["/tmp/landform-signs"],
    uses: &["examples/nested"],
};

/// Pages that are followed here, from top to bottom.
const FOLLOWED: [&Page; 11] = [
    &README,
    &GETTING_STARTED,
    &NESTED,
    &FIRST_BLUEPRINT,
    &ENVIRONMENTS,
    &NEW,
    &PRODUCTION,
    &UPGRADING,
    &COMING_FROM,
    &LANDSCAPES,
    &BLUEPRINTS,
];

/// Pages with commands that need more than a home, and the file with the tests that run them.
const ELSEWHERE: &[(&str, &str)] = &[
    ("docs/api.md", "access.rs"),
    // A program that is a hook, and no commands.
    ("docs/reconcilers.md", "pages/mod.rs"),
    ("examples/deployer-python/README.md", "deployer_python.rs"),
    ("examples/operator/README.md", "operator_example.rs"),
    (
        "examples/python-reconciler/README.md",
        "python_reconciler.rs",
    ),
    ("examples/shop/README.md", "shop.rs"),
];

/// Blocks without a language, or of what a console shows: the page, how the block begins, and why it isn't run.
const SHOWN: &[(&str, &str, &str)] = &[
    ("ARCHITECTURE.md", "", "a picture"),
    (
        "docs/adding-a-resource-type.md",
        "$ kubectl get greetings",
        "against the reader's own program, which tests/guide builds and runs",
    ),
    (
        "docs/audit.md",
        "$ tail -n 1",
        "needs jq; the lines are tested in tests/api/audit.rs",
    ),
    (
        "docs/blueprints.md",
        "{{- $labels",
        "a template, which is a file of examples/blueprints",
    ),
    (
        "docs/catalogs.md",
        "landform catalog list",
        "a list of forms",
    ),
    ("docs/catalogs.md", "lantern/", "a directory"),
    (
        "docs/catalogs.md",
        "$ landform catalog",
        "what is printed for catalogs of the tests, in tests/e2e/catalog_command.rs",
    ),
    (
        "docs/cli.md",
        "",
        "generated: forms, and examples with names that the reader has",
    ),
    (
        "docs/deletion.md",
        "$ landform delete",
        "what is printed, in tests/e2e/landform_delete.rs",
    ),
    (
        "docs/deletion.md",
        "kubectl annotate installation db landform.dev/protect=true",
        "a form; landform-apiserver, tests/api/protection.rs protects objects",
    ),
    ("docs/landscapes.md", "Installation ──renders", "a picture"),
    (
        "docs/deployers/process.md",
        "landform ps\n",
        "tests/e2e/processes.rs runs these commands on processes of its own",
    ),
    (
        "docs/migrating-from-landscaper.md",
        "landform blueprint validate DIR",
        "a form; docs/blueprints.md has it with names",
    ),
    (
        "docs/migrating-from-landscaper.md",
        "landscape/",
        "a directory",
    ),
    (
        "docs/migrating-from-olm.md",
        "landform catalog list --catalog DIR",
        "forms; tests/e2e/catalog_command.rs has them with names",
    ),
    ("docs/migrating-from-olm.md", "operators/", "a directory"),
    ("docs/plan.md", "In this order:", "what is printed"),
    (
        "docs/production.md",
        "useradd",
        "changes the users of the machine",
    ),
    (
        "docs/production.md",
        "systemctl daemon-reload",
        "needs systemd",
    ),
    (
        "docs/production.md",
        "sudo -u landform",
        "needs the user of the page",
    ),
    (
        "docs/projects.md",
        "landform approve project/shop",
        "a form; tests/e2e/up.rs approves deletions",
    ),
    (
        "docs/simulator.md",
        "# A run that fails",
        "a scenario of landform-sim",
    ),
    ("docs/simulator.md", "00:00:46.957", "what is printed"),
    ("docs/templates.md", "deploy.yaml:3:10", "what is printed"),
    (
        "docs/templates.md",
        "blueprint.yaml:14:22",
        "what is printed",
    ),
    (
        "docs/troubleshooting.md",
        "landform why KIND/NAME",
        "a form",
    ),
    (
        "docs/troubleshooting.md",
        "kubectl get --raw",
        "tests/e2e/kubectl_cascade.rs reads the same path",
    ),
    (
        "docs/upgrading.md",
        "cargo install",
        "builds a release for minutes; CONTRIBUTING.md's commands build the same crate",
    ),
    (
        "docs/upgrading.md",
        "cargo xtask dist",
        "writes below /usr/local; xtask/tests unpacks the archive elsewhere",
    ),
    ("docs/why.md", "Installation/web is", "what is printed"),
    (
        "docs/why.md",
        "apiVersion: landform.dev",
        "the form of an answer",
    ),
    ("examples/nested/README.md", "weather ", "a picture"),
    (
        "examples/python-reconciler/README.md",
        "NAME ",
        "what is printed",
    ),
    (
        "examples/python-reconciler/README.md",
        "listening on",
        "what is printed",
    ),
    (
        "examples/python-reconciler/README.md",
        "{\"cheese\"",
        "what is printed",
    ),
    ("examples/shop/README.md", "shop-config", "a picture"),
    ("examples/shop/README.md", "<h1>", "what is printed"),
];

/// All pages that people read: paths from the repository's root.
fn pages() -> Vec<String> {
    let mut found = Vec::new();
    for page in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        found.push(page.to_owned());
    }
    for directory in ["docs", "docs/deployers", "docs/kinds", "examples"] {
        for entry in std::fs::read_dir(page::root().join(directory)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.ends_with(".md") {
                found.push(format!("{directory}/{name}"));
            } else if directory == "examples" && path.join("README.md").exists() {
                found.push(format!("{directory}/{name}/README.md"));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_block_of_every_page_is_run_or_has_a_reason() {
    let mut reasons: Vec<_> = SHOWN.iter().map(|reason| (reason, false)).collect();
    let mut wrong = Vec::new();
    for page in pages() {
        let followed = FOLLOWED.iter().any(|followed| followed.path == page);
        let elsewhere = ELSEWHERE.iter().any(|(other, _)| *other == page);
        for Block {
            language,
            line,
            text,
            ..
        } in blocks(&page::read(&page))
        {
            match language.as_str() {
                "sh" if followed || elsewhere => {}
                "sh" => wrong.push(format!("{page}:{line}: no test runs these commands")),
                "" | "console" => {
                    let mut known = reasons.iter_mut().filter(|((known, begins, _), _)| {
                        *known == page && text.starts_with(begins)
                    });
                    match known.next() {
                        Some((_, used)) => *used = true,
                        None => {
                            wrong.push(format!("{page}:{line}: is only shown, without a reason"));
                        }
                    }
                }
                _ => {}
            }
        }
    }
    let unused = reasons.iter().filter(|(_, used)| !used);
    wrong.extend(
        unused.map(|((page, begins, _), _)| format!("{page}: no block begins with {begins:?}")),
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e");
    for (page, file) in ELSEWHERE {
        assert!(tests.join(file).is_file(), "{page}: there is no {file}");
    }
}

#[test]
fn every_page_of_the_documentation_is_in_its_list() {
    let list = page::read("docs/README.md");
    for page in pages() {
        let Some(name) = page.strip_prefix("docs/") else {
            continue;
        };
        let listed = name == "README.md" || name.starts_with("kinds/");
        assert!(
            listed || list.contains(&format!("]({name})")),
            "docs/README.md has no link to {name}"
        );
    }
}

#[test]
fn the_readme_brings_the_shop_up_asks_takes_it_down_and_serves_kubectl() {
    let walk = follow(&README);
    let up = walk.printed("Run it");
    assert_contains(up, &["<h1>Shop</h1>", "shop-web", "Succeeded"]);
    let asked = walk.printed("Ask before, ask why");
    assert_contains(
        asked,
        &["shop-config", "shop-database", "nothing is wrong with it"],
    );
    let served = walk.printed("Serve any client");
    assert_contains(
        served,
        &["configmap/hello created", "widgets.example.com created"],
    );
}

#[test]
fn every_command_of_getting_started_does_what_the_page_says() {
    let walk = follow(&GETTING_STARTED);
    for section in ["Up", "Change a file", "Stop and go on"] {
        assert_contains(walk.printed(section), &["<li>tea: 3.50</li>"]);
    }
    let seen = [
        "shop-database",
        "shop-api",
        "shop-web",
        "Synced",
        "Succeeded",
        "nothing is wrong with it",
    ];
    assert_contains(walk.printed("Look"), &seen);
    assert_contains(walk.printed("Break a file"), &["config.yaml"]);
    let why = walk.printed("Break a value, and ask why");
    assert_contains(why, &["shop-database", "config", ".port", "1024"]);
    let plan = walk.printed("Plan a change");
    assert_contains(plan, &["shop-config", "shop-database", "shop-api"]);
    let renamed = walk.printed("Rename something");
    let uids: Vec<_> = renamed
        .lines()
        .filter_map(|line| line.strip_prefix("  uid: "))
        .collect();
    assert!(uids.len() == 2 && uids[0] == uids[1], "{renamed}");
    let closed = walk.localized("127.0.0.1:7403");
    assert!(TcpStream::connect(closed).is_err(), "the page is away");
}

#[test]
fn a_list_of_targets_goes_down_three_levels_as_the_page_tells() {
    let walk = follow(&NESTED);
    let text = "Today: rain, 11 degrees";
    assert_contains(
        walk.printed("Up"),
        &["north.txt", "south.txt", "island.txt", text, "count: 3"],
    );
    let looked = walk.printed("Look");
    assert_contains(looked, &["weather", "boards", "forecast", "signs"]);
    let changed = walk.printed("Change the report");
    assert_contains(changed, &["snow, -2 degrees"]);
    let why = walk.printed("Break it");
    assert_contains(why, &["report", ".sky", "has to be one of"]);
    let signs = walk.localized("/tmp/landform-signs");
    let left = std::fs::read_dir(signs).into_iter().flatten().count();
    assert_eq!(left, 0, "all signs are gone");
}

#[test]
fn the_first_blueprint_is_made_as_the_page_tells() {
    let walk = follow(&FIRST_BLUEPRINT);
    assert_contains(walk.printed("Up"), &["Hello, world", "page-url"]);
    assert_contains(walk.printed("Use it twice"), &["second"]);
    assert_contains(walk.printed("A wrong value"), &["second", "port", "1024"]);
    assert!(walk.path("hello/landform.yaml").exists());
}

#[test]
fn environments_are_made_as_the_page_tells() {
    let walk = follow(&ENVIRONMENTS);
    assert_contains(walk.printed("Up"), &["Staging says hello", "Hello"]);
    let plan = walk.printed("Change one of them");
    assert_contains(plan, &["staging", "Staging says hello"]);
    let production = plan.lines().any(|line| line.contains("in production"));
    assert!(!production, "{plan}");
}

#[test]
fn all_scaffolds_work_together_as_the_page_tells() {
    let walk = follow(&NEW);
    assert_contains(walk.printed("A project"), &["Hello from hello"]);
    assert_contains(walk.printed("A deployer"), &["/deployed/"]);
    assert_contains(walk.printed("An operator"), &["note.v1.0.0", "Succeeded"]);
    let schema = std::fs::read_to_string(walk.path("hello/project.schema.json")).unwrap();
    let written = std::fs::read_to_string(walk.path("hello/.schemas/project.json")).unwrap();
    assert_eq!(schema, written);
}

#[test]
fn a_server_is_kept_backed_up_and_restored_as_the_page_tells() {
    let walk = follow(&PRODUCTION);
    assert_contains(
        walk.printed("Try it without systemd"),
        &["shop", "Succeeded"],
    );
    assert_contains(walk.printed("Backups"), &["shop"]);
}

#[test]
fn an_upgrade_and_the_way_back_are_as_the_page_tells() {
    let walk = follow(&UPGRADING);
    assert_contains(walk.printed("Upgrade"), &["hello", "Synced", "Succeeded"]);
}

#[test]
fn a_compose_file_becomes_a_project_as_the_page_tells() {
    let walk = follow(&COMING_FROM);
    let told = walk.printed("From Docker Compose");
    assert_contains(
        told,
        &[
            "compose.yaml:16:5: database: there is no `command`",
            "<h1>hello</h1>",
            "the host web became 127.0.0.1",
        ],
    );
}

#[test]
fn a_landscape_is_looked_at_as_the_page_tells() {
    let walk = follow(&LANDSCAPES);
    assert_contains(walk.printed("Try it"), &["shop-web"]);
}

#[test]
fn blueprints_are_checked_and_rendered_as_the_page_tells() {
    let walk = follow(&BLUEPRINTS);
    assert_contains(walk.printed(""), &["deployItems", "url: https://"]);
}

/// The unit of the page with directories of this test.
#[test]
fn the_unit_of_systemd_starts_what_it_says() {
    let home = tempfile::tempdir().unwrap();
    let page = page::read(PRODUCTION.path);
    let unit = blocks(&page)
        .into_iter()
        .find(|block| block.language == "ini");
    let unit = unit.expect("the page has a unit").text;
    assert!(
        unit.lines().any(|line| line == "KillMode=process"),
        "{unit}"
    );
    let line = unit
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="));
    let line = line.expect("the unit starts a program");
    let line = line
        .replace(
            "/usr/local/bin/landform",
            &landform_e2e::landform().display().to_string(),
        )
        .replace("127.0.0.1:7443", "127.0.0.1:0");
    let line = ["/srv/", "/var/lib/"].iter().fold(line, |line, path| {
        line.replace(path, &format!("{}{path}", home.path().display()))
    });
    std::fs::create_dir_all(home.path().join("srv/shop")).unwrap();
    std::fs::create_dir_all(home.path().join("var/lib/landform")).unwrap();
    let mut words = line.split(' ');
    let mut command = Command::new(words.next().unwrap());
    let mut up = Lines::of(command.args(words).env("HOME", home.path()));
    up.expect(&["Watching the files"]);
    up.interrupt();
    let ended = up.finish();
    assert!(ended.status.success(), "{}", ended.report());
    let data = home.path().join("var/lib/landform/data");
    assert!(data.join("audit/audit.log").is_file());
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&data).unwrap());
    assert_eq!(mode & 0o777, 0o700, "only Landform's user enters its data");
}

/// The hook in the shell that docs/reconcilers.md shows, called as Landform would.
#[test]
fn the_hook_of_the_page_answers_a_call() {
    let page = page::read("docs/reconcilers.md");
    let hooks = blocks(&page).into_iter();
    let hooks: Vec<_> = hooks.filter(|block| block.language == "sh").collect();
    assert_eq!(hooks.len(), 1, "the page has one program");
    let mut shell = Command::new("sh");
    let call = r#"{"object": {"metadata": {"name": "tea"}}}"#;
    let done = landform_e2e::run_with_input(shell.args(["-c", &hooks[0].text]), call);
    assert!(done.status.success(), "{}", done.report());
    let answer: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(answer["owned"][0]["metadata"]["name"], "tea");
}
