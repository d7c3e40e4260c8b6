//! A plan is made with the rights of the user who asks (C6).

use landform_apiserver::{AUTHENTICATED, Identity, MASTERS};
use serde_json::{Value, json};

use super::harness::{API, Site, applied};
use crate::{Action, Plan, Question};

const CANARY: &str = "canary-7f3a";
const RBAC: &str = "rbac.authorization.k8s.io/v1";

fn jane() -> Identity {
    Identity::new("jane", [AUTHENTICATED])
}

fn role(name: &str, rules: &Value) -> [Value; 2] {
    let of = "rbac.authorization.k8s.io";
    [
        json!({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}),
        json!({
            "apiVersion": RBAC, "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": of, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": of, "kind": "User", "name": "jane"}],
        }),
    ]
}

fn rule(group: &str, resource: &str, verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": [resource], "verbs": verbs})
}

fn importing(template: &str) -> Value {
    let blueprint = json!({
        "apiVersion": API, "kind": "Blueprint",
        "imports": [{"name": "x", "type": "data", "schema": {}}],
        "deployExecutions": [{"name": "d", "type": "GoTemplate", "template": template}],
    });
    json!({
        "apiVersion": API, "kind": "Installation", "metadata": {"name": "n", "namespace": "default"},
        "spec": {
            "blueprint": {"inline": {"filesystem": {"blueprint.yaml": blueprint.to_string()}}},
            "imports": {"data": [{"name": "x", "secretRef": {"name": "top", "key": "k"}}]},
        },
    })
}

/// A site with a Secret, where the planner has these rights.
fn site(rules: &Value) -> Site {
    let site = Site::new();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "top", "namespace": "default"},
        "stringData": {"k": CANARY},
    });
    let mut objects = vec![secret];
    objects.extend(role("planner", rules));
    site.apply(objects);
    site
}

fn problems(plan: &Plan) -> String {
    let messages = plan.problems.iter().map(|problem| problem.message.clone());
    messages.collect::<Vec<_>>().join("\n")
}

const ITEM: &str = "deployItems: [{name: a, type: landscaper.gardener.cloud/mock, config: {v: \"{{ .imports.x }}\"}}]";

#[test]
fn c6_what_is_planned_reads_no_secret_that_its_planner_may_not_read() {
    let templates = [
        "{{ fail .imports.x }}",
        "{{ fail (toJson .imports) }}",
        "{{ if hasPrefix \"canary\" .imports.x }}{{ fail \"yes\" }}{{ end }}deployItems: []",
        "deployItems: [{name: a, type: x, dependsOn: [\"{{ .imports.x }}\"]}]",
        ITEM,
    ];
    let installations = rule("landscaper.gardener.cloud", "installations", &["*"]);
    for (rules, missing) in [
        (json!([]), "installations"),
        (
            json!([installations]),
            "get secrets \"top\" in the namespace default",
        ),
    ] {
        let site = site(&rules);
        for template in templates {
            let plan = site.plan_as(&applied(vec![importing(template)]), &jane());
            assert!(problems(&plan).contains(missing), "{template}: {plan:#?}");
            let text = serde_json::to_string(&plan).unwrap();
            assert!(
                !text.contains(CANARY) && !problems(&plan).contains("yes"),
                "{template}: {text}"
            );
            assert_eq!(plan.count(Action::Deploy), 0, "{plan:#?}");
        }
    }
}

#[test]
fn c6_a_planner_with_the_rights_sees_what_an_administrator_sees() {
    let rules = json!([
        rule("landscaper.gardener.cloud", "installations", &["*"]),
        rule("", "secrets", &["get"]),
    ]);
    let site = site(&rules);
    let question = applied(vec![importing(ITEM)]);
    let plan = site.plan_as(&question, &jane());
    assert_eq!(problems(&plan), "");
    assert_eq!(plan.count(Action::Deploy), 1, "{plan:#?}");
    for other in [Identity::internal(), Identity::new("admin", [MASTERS])] {
        assert_eq!(site.plan_as(&question, &other), plan);
    }
    assert!(!serde_json::to_string(&plan).unwrap().contains(CANARY));
}

#[test]
fn c6_a_planner_gains_no_right_within_a_plan() {
    let rules = json!([
        rule("landscaper.gardener.cloud", "installations", &["*"]),
        rule(RBAC.split('/').next().unwrap(), "clusterroles", &["*"]),
        rule(
            RBAC.split('/').next().unwrap(),
            "clusterrolebindings",
            &["create", "get", "patch"]
        ),
    ]);
    let rules = {
        // Without `bind` and `escalate`, which `*` would be.
        let mut rules = rules;
        rules[1]["verbs"] = json!(["create", "get", "patch"]);
        rules
    };
    let site = site(&rules);
    let mut objects = role("more", &json!([rule("", "secrets", &["get"])])).to_vec();
    objects.push(importing(ITEM));
    let plan = site.plan_as(&applied(objects), &jane());
    assert_eq!(plan.count(Action::Deploy), 0, "{plan:#?}");
    assert!(problems(&plan).contains("get secrets"), "{plan:#?}");
}

#[test]
fn c6_blueprints_of_others_are_replaced_only_by_those_who_may_read_what_these_import() {
    let directory = tempfile::tempdir().unwrap();
    let blueprint = |template: &str| {
        json!({
            "apiVersion": API, "kind": "Blueprint",
            "imports": [{"name": "x", "type": "data", "schema": {}}],
            "deployExecutions": [{"name": "d", "type": "GoTemplate", "template": template}],
        })
        .to_string()
    };
    let path = directory.path().join("shop/web");
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("blueprint.yaml"), blueprint("deployItems: []")).unwrap();
    let question = {
        use base64::Engine as _;
        let text = blueprint("{{ fail \"it was rendered\" }}");
        let text = base64::engine::general_purpose::STANDARD.encode(text);
        let blueprints = json!({
            "directory": directory.path().join("shop"), "files": {"web": {"blueprint.yaml": text}},
        });
        Question {
            blueprints: Some(serde_json::from_value(blueprints).unwrap()),
            ..Question::default()
        }
    };
    let secrets = json!([rule("", "secrets", &["get"])]);
    for (rules, allowed) in [(json!([]), false), (secrets, true)] {
        let mut site = site(&rules);
        site.settings.blueprints = Some(directory.path().to_owned());
        let mut installation = importing("");
        installation["spec"]["blueprint"] = json!({"path": "shop/web"});
        site.apply(vec![installation]);
        let plan = site.plan_as(&question, &jane());
        let said = problems(&plan);
        assert_eq!(said.contains("it was rendered"), allowed, "{plan:#?}");
        assert_eq!(
            said.contains("takes the right to get secrets"),
            !allowed,
            "{plan:#?}"
        );
    }
}
