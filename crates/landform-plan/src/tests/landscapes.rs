//! Each way to change a landscape, and what its plan says.

use serde_json::json;

use super::harness::{OUTSIDE, Site, applied, data, deleted, has, installation, lines, named};
use crate::{Action, Question, Rename, render};

const MOCK: &str = "landscaper.gardener.cloud/mock";

/// `api` imports what `db` exports, and `db` imports the data object `size`.
fn shop() -> Site {
    let site = Site::new();
    site.apply(vec![
        data("size", json!(1)),
        installation(MOCK, "db", &["size"], &json!("first")),
        installation(MOCK, "api", &["db"], &json!("api")),
    ]);
    assert_eq!(site.phase("db"), "Succeeded");
    assert_eq!(site.phase("api"), "Succeeded");
    site
}

#[test]
fn without_a_change_a_plan_is_empty() {
    let site = shop();
    let revision = site.revision();
    let plan = site.plan(&applied(vec![data("size", json!(1))]));
    assert!(!plan.has_changes(), "{plan:#?}");
    assert!(plan.already_under_way.is_empty(), "{plan:#?}");
    let text = render::plan(&plan, render::Colours::None);
    assert_eq!(text, "Plan: nothing changes.\n");
    assert_eq!(site.revision(), revision);
}

#[test]
fn a_changed_installation_reaches_those_that_import_from_it() {
    let site = shop();
    let question = applied(vec![installation(MOCK, "db", &["size"], &json!("second"))]);
    let plan = site.plan(&question);
    let found = lines(&plan.changes);
    for line in [
        "Change Installation/db",
        "Change Installation/db > Execution/db",
    ] {
        assert!(found.contains(&line.to_owned()), "{found:#?}");
    }
    let deployed: Vec<_> = found
        .iter()
        .filter(|line| line.starts_with("Deploy"))
        .collect();
    assert!(deployed[0].contains("Installation/db >"), "{found:#?}");
    assert!(deployed[1].contains("Installation/api >"), "{found:#?}");
    assert_eq!(deployed.len(), 2);
    let because = plan.changes.iter().map(|change| change.because.as_deref());
    assert!(
        because
            .clone()
            .all(|because| because == Some("Installation/db")),
        "{plan:#?}"
    );
    assert_eq!(plan.blast_radius.items, 2);
    let reached: Vec<_> = plan.blast_radius.installations.iter().collect();
    assert_eq!(reached, ["default/api", "default/db"]);
    assert!(
        plan.problems.is_empty() && plan.unknown.is_empty(),
        "{plan:#?}"
    );
    let carried_out = site.make(&question);
    assert_eq!(plan.changes, carried_out);
}

#[test]
fn values_that_landform_passes_on_are_not_in_a_plan() {
    let site = shop();
    let plan = site.plan(&applied(vec![data("size", json!("canary"))]));
    assert!(has(&plan, Action::Change, "DataObject/size"), "{plan:#?}");
    let (own, others): (Vec<_>, Vec<_>) = plan
        .changes
        .iter()
        .partition(|change| change.object.path == ["DataObject/size"]);
    assert_eq!(own[0].diff[0].to, Some(json!("canary")));
    assert!(others.len() >= 4, "{plan:#?}");
    assert!(!serde_json::to_string(&others).unwrap().contains("canary"));
    assert!(
        others
            .iter()
            .all(|change| change.because.as_deref() == Some("DataObject/size"))
    );
}

#[test]
fn a_new_installation_is_told_with_names_that_hold() {
    let site = shop();
    let question = applied(vec![installation(MOCK, "web", &["api"], &json!(1))]);
    let plan = site.plan(&question);
    for path in [
        "Installation/web",
        "Installation/web > Execution/web",
        "Installation/web > Execution/web > DeployItem/item-…",
        "Installation/web > Execution/web > DeployItem/item-… > Secret/item-…-export",
    ] {
        assert!(has(&plan, Action::Create, path), "{path}: {plan:#?}");
    }
    let item = "Installation/web > Execution/web > DeployItem/item-…";
    assert!(has(&plan, Action::Deploy, item), "{plan:#?}");
    assert_eq!(plan, site.plan(&question));
    assert_eq!(plan.changes, site.make(&question));
    let text = render::plan(&plan, render::Colours::None);
    assert!(text.contains("+ create Installation/web"), "{text}");
    assert!(
        text.contains(" 0 to change, 0 to delete, 1 to deploy."),
        "{text}"
    );
}

#[test]
fn i31_a_deletion_that_a_sibling_blocks_is_a_problem() {
    let site = shop();
    let plan = site.plan(&deleted("Installation", "db"));
    assert!(has(&plan, Action::Delete, "Installation/db"), "{plan:#?}");
    assert_eq!(plan.count(Action::Remove), 0);
    let problem = plan
        .problems
        .iter()
        .find(|problem| problem.object.name == "db");
    assert!(problem.unwrap().message.contains("api"), "{plan:#?}");
}

#[test]
fn a_deletion_that_nothing_blocks_removes_what_was_deployed() {
    let site = shop();
    let question = deleted("Installation", "api");
    let plan = site.plan(&question);
    assert_eq!(plan.count(Action::Remove), 1);
    assert!(
        has(&plan, Action::Delete, "Installation/api > Execution/api"),
        "{plan:#?}"
    );
    let place = |action, path: &[&str]| {
        let mut changes = plan.changes.iter();
        let found = changes.find(|change| change.action == action && change.object.path == path);
        found.unwrap().order
    };
    let removed = plan
        .changes
        .iter()
        .find(|change| change.action == Action::Remove);
    assert!(removed.unwrap().order < place(Action::Delete, &["Installation/api"]));
    assert_eq!(plan.changes, site.make(&question));
}

#[test]
fn a_broken_blueprint_is_a_problem_in_the_words_of_its_status() {
    let site = shop();
    let mut broken = installation(MOCK, "db", &["size"], &json!(1));
    broken["spec"]["blueprint"]["inline"]["filesystem"]["blueprint.yaml"] = json!("imports: {");
    let question = applied(vec![broken]);
    let plan = site.plan(&question);
    site.make(&question);
    let name = "default/db";
    let found = site
        .get("installations.landscaper.gardener.cloud", name)
        .unwrap();
    let problem = plan
        .problems
        .iter()
        .find(|problem| problem.object.name == "db");
    assert_eq!(
        json!(problem.unwrap().message),
        found["status"]["lastError"]["message"]
    );
}

#[test]
fn what_the_api_would_refuse_is_a_problem() {
    let site = shop();
    let unknown =
        json!({"apiVersion": "example.dev/v1", "kind": "Thing", "metadata": {"name": "x"}});
    let mut wrong = data("a", json!(1));
    wrong["metadata"]["name"] = json!("Not A Name");
    let plan = site.plan(&applied(vec![unknown, wrong]));
    assert!(!plan.has_changes());
    assert_eq!(plan.problems.len(), 2, "{plan:#?}");
    assert!(
        plan.problems[0]
            .message
            .contains("doesn't know the kind Thing")
    );
}

#[test]
fn what_only_a_run_can_tell_is_unknown_for_all_that_wait_for_it() {
    let site = Site::new();
    let plan = site.plan(&applied(vec![
        installation(OUTSIDE, "db", &[], &json!(1)),
        installation(MOCK, "api", &["db"], &json!(1)),
    ]));
    assert_eq!(plan.unknown.len(), 1, "{plan:#?}");
    let unknown = &plan.unknown[0];
    assert_eq!(unknown.before.path.last().unwrap(), "DeployItem/item-…");
    assert_eq!(unknown.affects.len(), 1, "{plan:#?}");
    assert!(
        unknown.affects[0].starts_with("Installation/api ("),
        "{plan:#?}"
    );
    assert!(plan.problems.is_empty(), "{plan:#?}");
}

#[test]
fn exports_of_before_are_assumed_and_said_to_be() {
    let site = Site::new();
    site.apply(vec![
        installation(OUTSIDE, "db", &[], &json!(1)),
        installation(MOCK, "api", &["db"], &json!(1)),
    ]);
    assert_eq!(site.phase("api"), "Succeeded");
    let plan = site.plan(&applied(vec![installation(OUTSIDE, "db", &[], &json!(2))]));
    assert_eq!(plan.assumed.len(), 1, "{plan:#?}");
    assert!(
        plan.assumed[0].what.contains("exported before: value"),
        "{plan:#?}"
    );
    assert_eq!(plan.count(Action::Deploy), 1, "{plan:#?}");
    assert!(plan.unknown.is_empty(), "{plan:#?}");
}

#[test]
fn a_missing_import_is_a_problem_that_names_it() {
    let site = Site::new();
    let plan = site.plan(&applied(vec![installation(
        MOCK,
        "api",
        &["nowhere"],
        &json!(1),
    )]));
    assert!(has(&plan, Action::Create, "Installation/api"), "{plan:#?}");
    let problem = plan
        .problems
        .iter()
        .find(|problem| problem.object.name == "api");
    assert!(problem.unwrap().message.contains("nowhere"), "{plan:#?}");
}

#[test]
fn r15_a_renamed_object_is_one_change_and_not_two() {
    let site = Site::new();
    site.apply(vec![data("old", json!(1)), data("other", json!(2))]);
    let rename = |to: &str| Question {
        rename: vec![Rename {
            object: named("DataObject", "old"),
            to: to.into(),
        }],
        ..Question::default()
    };
    let plan = site.plan(&rename("new"));
    assert_eq!(lines(&plan.changes), ["Rename DataObject/new"]);
    let plan = site.plan(&rename("other"));
    assert!(plan.problems[0].message.contains("exists"), "{plan:#?}");
    assert!(!plan.has_changes());
}

#[test]
fn r15b_an_object_that_is_renamed_and_changed_shows_both() {
    let site = Site::new();
    site.apply(vec![data("old", json!(1))]);
    let plan = site.plan(&Question {
        rename: vec![Rename {
            object: named("DataObject", "old"),
            to: "new".into(),
        }],
        objects: vec![data("new", json!(2))],
        ..Question::default()
    });
    assert_eq!(lines(&plan.changes), ["Rename DataObject/new"]);
    let fields = plan.changes[0].diff.iter();
    let fields: Vec<_> = fields.map(|field| field.path.as_str()).collect();
    assert_eq!(fields, ["metadata.name", "data"]);
}

#[test]
fn r15b_a_swap_of_names_is_two_renames() {
    let site = Site::new();
    site.apply(vec![data("one", json!(1)), data("two", json!(2))]);
    let rename = |from: &str, to: &str| Rename {
        object: named("DataObject", from),
        to: to.into(),
    };
    let plan = site.plan(&Question {
        rename: vec![rename("one", "two"), rename("two", "one")],
        ..Question::default()
    });
    assert_eq!(plan.problems, []);
    let mut found = lines(&plan.changes);
    found.sort();
    assert_eq!(found, ["Rename DataObject/one", "Rename DataObject/two"]);
}

#[test]
fn what_was_begun_before_is_no_part_of_the_change() {
    let site = shop();
    let stuck = "deployItems: [{name: item, type: landscaper.gardener.cloud/mock, config: {phase: Progressing}}]";
    site.apply(vec![super::harness::with_items("slow", &[], stuck)]);
    assert_eq!(site.phase("slow"), "Progressing");
    let plan = site.plan(&applied(vec![data("fresh", json!(1))]));
    assert_eq!(lines(&plan.changes), ["Create DataObject/fresh"]);
    let under_way = lines(&plan.already_under_way);
    assert_eq!(under_way.len(), 1, "{under_way:#?}");
    assert!(
        under_way[0].starts_with("Deploy Installation/slow >"),
        "{under_way:#?}"
    );
}

#[test]
fn a_plan_reads_well() {
    let site = shop();
    let mut db = installation(MOCK, "db", &["size"], &json!("second"));
    db["metadata"]["labels"] = json!({"tier": "data"});
    let plan = site.plan(&applied(vec![
        db,
        installation(OUTSIDE, "mail", &["api"], &json!(1)),
    ]));
    let text = render::plan(&plan, render::Colours::None);
    for piece in [
        "In this order:\n   1 ~ change Installation/db  in default\n",
        "         metadata.labels.tier: \"data\"\n",
        "~ change Installation/db > Execution/db  in default\n",
        "~ change Installation/api > Execution/api  in default  because of Installation/db\n",
        "+ create Installation/mail > Execution/mail > DeployItem/item-…  in default",
        "Can't be known before:\n  - Installation/mail > Execution/mail > DeployItem/item-…: what it exports",
        "installations: default/api, default/db, default/mail; namespaces: default.\n",
        "; 1 can't be known before.\n",
    ] {
        assert!(text.contains(piece), "{piece:?} is missing in:\n{text}");
    }
    let coloured = render::plan(&plan, render::Colours::Ansi);
    assert!(coloured.contains("\u{1b}[33m~ change Installation/db\u{1b}[0m"));
    assert_eq!(text.matches('\u{1b}').count(), 0);
}

#[test]
fn a_field_that_is_applied_no_more_goes_and_one_of_somebody_else_stays() {
    let site = Site::new();
    let labelled = |labels: serde_json::Value| {
        let mut object = data("size", json!(1));
        object["metadata"]["labels"] = labels;
        object
    };
    site.apply(vec![labelled(json!({"a": "1", "b": "2"}))]);
    let plan = site.plan(&applied(vec![labelled(json!({"a": "1", "c": "3"}))]));
    let fields: Vec<_> = plan.changes[0].diff.iter().collect();
    let found: Vec<_> = fields
        .iter()
        .map(|field| (field.path.as_str(), &field.from, &field.to))
        .collect();
    let value = |text: &str| Some(json!(text));
    let expected = [
        ("metadata.labels.b", &value("2"), &None),
        ("metadata.labels.c", &None, &value("3")),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_namespace_that_goes_takes_all_that_is_in_it() {
    let site = Site::new();
    let mut inside = data("size", json!(1));
    inside["metadata"]["namespace"] = json!("away");
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "away"}});
    site.apply(vec![inside, namespace]);
    let mut question = deleted("Namespace", "away");
    question.delete[0].api_version = "v1".into();
    let plan = site.plan(&question);
    assert!(has(&plan, Action::Delete, "DataObject/size"), "{plan:#?}");
    assert!(has(&plan, Action::Delete, "Namespace/away"), "{plan:#?}");
    assert!(plan.problems.is_empty(), "{plan:#?}");
    assert!(plan.blast_radius.namespaces.contains("away"));
    assert_eq!(plan.changes, site.make(&question));
}
