//! Advice by causes, as a table.

use super::*;
use serde_json::json;

#[test]
fn i16b_advice_names_the_blueprints_file_and_how_a_command_runs_again() {
    let path = || Some("bp/leafa/blueprint.yaml".to_owned());
    let changes = "Landform goes on by itself when they change";
    let table = [
        (
            "Refused",
            None,
            format!(
                "fix the blueprint or the imports of Installation/root in the file root.yaml; {changes}"
            ),
        ),
        (
            "Refused",
            path(),
            format!(
                "fix the blueprint in the file bp/leafa/blueprint.yaml or the imports of Installation/root in the file root.yaml; {changes}"
            ),
        ),
        (
            "CommandFailed",
            None,
            format!(
                "fix the blueprint or the imports of Installation/root in the file root.yaml; {changes}; if the cause is elsewhere, remove it and run: landform retry Installation/root"
            ),
        ),
    ];
    let of = |kind: &str, name: &str| {
        json!({
            "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": kind,
            "metadata": {"name": name, "namespace": "default"},
        })
    };
    let (item, root) = (of("DeployItem", "a"), of("Installation", "root"));
    for (reason, blueprint, expected) in table {
        let cause = Cause {
            sort: Sort::Configuration,
            rule: None,
            reason: reason.to_owned(),
            message: "it has failed".to_owned(),
        };
        let handle = Handle {
            file: Some("root.yaml".to_owned()),
            blueprint,
            ..Handle::alone(&ObjectRef::of(&root))
        };
        assert_eq!(about(&cause, &item, &handle, None).act, expected);
    }
    let of_path = |path: Value| json!({"kind": "Installation", "spec": {"blueprint": path}});
    for (chain, expected) in [
        (
            vec![
                item.clone(),
                of_path(json!({"path": "bp/leafa"})),
                of_path(json!({"path": "bp/root"})),
            ],
            path(),
        ),
        (
            vec![
                item.clone(),
                of_path(json!({"inline": {}})),
                of_path(json!({"path": "bp/leafa/"})),
            ],
            path(),
        ),
        (
            vec![item.clone(), of_path(json!({"path": "./bp/leafa"}))],
            path(),
        ),
        (vec![item, of_path(json!({"inline": {}}))], None),
    ] {
        assert_eq!(blueprint_file(chain.iter()), expected);
    }
}

#[test]
fn c6_advice_about_rights_says_how_it_goes_on() {
    let message = format!("jane wrote it, {RIGHTS_MISSING} run processes.landform.dev");
    let again = || Some("12:00".to_owned());
    let held = |now| Sort::Hook {
        reconciler: "toys".to_owned(),
        now,
    };
    let table = [
        (
            Sort::Configuration,
            false,
            "landform retry DeployItem/a -n team",
        ),
        (
            Sort::Configuration,
            true,
            "tries to remove it again by itself",
        ),
        (Sort::Retried { again: again() }, false, "next at 12:00"),
        (Sort::Retried { again: None }, false, "by itself"),
        (
            held(HookCall::Ended { again: again() }),
            true,
            "called then, at 12:00",
        ),
        (held(HookCall::Unknown), true, "the hook is called then"),
    ];
    for (sort, marked, expected) in table {
        let mut object = json!({
            "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem",
            "metadata": {"name": "a", "namespace": "team"},
        });
        if marked {
            object["metadata"]["deletionTimestamp"] = json!("2026-11-18T00:00:00Z");
        }
        let cause = Cause {
            sort,
            rule: None,
            reason: String::new(),
            message: message.clone(),
        };
        let handle = Handle {
            object: ObjectRef::of(&object),
            file: None,
            blueprint: None,
            values: Vec::new(),
            leaves: false,
            again: None,
        };
        let advice = about(&cause, &object, &handle, None);
        assert!(advice.act.starts_with("grant the rights"), "{}", advice.act);
        assert!(advice.act.contains(expected), "{expected}: {}", advice.act);
        assert_eq!(advice.rank, Rank::Person);
    }
}
