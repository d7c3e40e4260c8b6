//! Writes that the API refuses: who asked for them says so, in words that help, goes on when it may, and can be deleted.

use http::Method;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, DeleteParams};
use serde_json::{Value, json};

use crate::harness::{
    Landscape, OPERATION, contains, data_import, product, spec, template, text, wiring,
};
use crate::nested::sub;
use crate::refusals::Refusal;

/// A root with an item of its own and one nested installation, both of which import `in`; it exports `out`.
fn root(more: &str) -> Value {
    let inner = wiring(&["in"], &["between"]);
    let mut low = product("low", &["in"], &["between"]);
    low["localTypes"] = json!({"note": {"type": "string", "description": more}});
    let items = format!(
        "deployItems: [{{name: top, type: test.dev/recorder, config: {{given: {{{{ toJson (index .imports \"in\") }}}}{more}, export: {{value: 1}}}}}}]"
    );
    json!({
        "imports": [data_import("in", json!({}))],
        "exports": [data_import("out", json!({}))],
        "subinstallations": [sub("inner", low, inner)],
        "deployExecutions": template("items", &items),
        "exportExecutions": template("exports", "exports: {out: {{ .values.dataobjects.between }}-{{ index .imports \"in\" }}}"),
    })
}

/// When a write is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    /// When it comes up.
    Up,
    /// When its import and its blueprint change.
    Change,
    /// When it is deleted.
    Down,
}

struct Row {
    when: When,
    method: Method,
    path: &'static str,
    /// The kinds of which one must tell of it.
    tells: &'static [&'static str],
}

fn rows() -> Vec<Row> {
    use When::{Change, Down, Up};
    let row = |when, method: &Method, path, tells| Row {
        when,
        method: method.clone(),
        path,
        tells,
    };
    let (installation, execution): (&'static [_], &'static [_]) =
        (&["Installation"], &["Execution"]);
    vec![
        row(Up, &Method::POST, "/executions$", installation),
        row(Up, &Method::POST, "/installations$", installation),
        row(Up, &Method::POST, "/deployitems$", execution),
        row(Up, &Method::POST, "/secrets$", &["DeployItem"]),
        row(
            Up,
            &Method::POST,
            "/dataobjects$",
            &["Installation", "Execution"],
        ),
        // The finalizers.
        row(Up, &Method::PATCH, "/installations/root$", installation),
        row(Up, &Method::PATCH, "/executions/root$", execution),
        row(Change, &Method::PUT, "/executions/root$", installation),
        row(Change, &Method::PUT, "/installations/inner-", installation),
        row(Change, &Method::PUT, "/deployitems/root-top-", execution),
        row(Change, &Method::PUT, "/dataobjects/", installation),
        row(Down, &Method::DELETE, "/executions/root$", installation),
        row(Down, &Method::DELETE, "/installations/inner-", installation),
        row(Down, &Method::DELETE, "/deployitems/", execution),
        row(Down, &Method::PATCH, "/installations/root$", installation),
        row(Down, &Method::PATCH, "/executions/root$", execution),
        row(
            Down,
            &Method::PATCH,
            "/deployitems/root-top-",
            &["DeployItem"],
        ),
    ]
}

async fn begin() -> Landscape {
    let land = Landscape::new().await;
    land.data("in", json!("one")).await;
    land
}

async fn come_up(land: &Landscape) {
    land.install("root", root(""), wiring(&["in"], &["out"]))
        .await;
}

async fn change(land: &Landscape) {
    let spec = spec(root(", more: 1"), wiring(&["in"], &["out"]));
    land.patch("DataObject", "in", json!({"data": "two"})).await;
    land.patch("Installation", "root", json!({"spec": spec}))
        .await;
}

async fn is_up(land: &Landscape, value: &str) {
    land.phase("root", "Succeeded").await;
    land.until("DataObject", "out", |data| {
        data["data"] == format!("low-{value}").as_str()
    })
    .await;
    land.phase("root", "Succeeded").await;
    land.quiet().await;
    for kind in ["Installation", "Execution", "DeployItem"] {
        for object in land.list(kind).await {
            assert_eq!(object["status"]["phase"], "Succeeded", "{object:#}");
            assert!(object["status"]["lastError"].is_null(), "{object:#}");
        }
    }
}

async fn is_down(land: &Landscape) {
    land.gone("Installation", "root").await;
    land.quiet().await;
    for kind in ["Installation", "Execution", "DeployItem", "Secret"] {
        land.left(kind, &[]).await;
    }
    land.left("DataObject", &["in"]).await;
}

/// Waits until an object of one of these kinds tells of the refusal.
async fn told(land: &Landscape, kinds: &[&str], code: u16) -> Value {
    let all = async {
        loop {
            for kind in kinds {
                for object in land.list(kind).await {
                    let error = &object["status"]["lastError"];
                    let piece = format!("refused by a test with {code}");
                    if text(&error["message"]).contains(&piece) {
                        return object;
                    }
                }
            }
            land.active().await;
        }
    };
    let found = tokio::time::timeout(std::time::Duration::from_secs(20), all).await;
    found.unwrap_or_else(|_| panic!("none of {kinds:?} tells of {code}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn c6_a_write_that_may_work_later_is_told_and_tried_again() {
    for Row {
        when,
        method,
        path,
        tells,
    } in rows()
    {
        let land = begin().await;
        if when != When::Up {
            come_up(&land).await;
            is_up(&land, "one").await;
        }
        let code = 403;
        land.refusals.set(Refusal { method, path, code });
        match when {
            When::Up => come_up(&land).await,
            When::Change => change(&land).await,
            When::Down => land.delete("Installation", "root").await,
        }
        let object = told(&land, tells, code).await;
        let error = &object["status"]["lastError"];
        assert_eq!(error["reason"], "WriteRefused", "{path}: {object:#}");
        assert!(land.refusals.count() > 0);
        land.refusals.end();
        match when {
            When::Up => is_up(&land, "one").await,
            When::Change => is_up(&land, "two").await,
            When::Down => is_down(&land).await,
        }
        land.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c6_whatever_refuses_a_write_what_asked_for_it_can_be_deleted() {
    let may_go_on = |row: &Row| row.when != When::Down && row.method != Method::PATCH;
    for Row {
        when,
        method,
        path,
        tells,
    } in rows().into_iter().filter(may_go_on)
    {
        for code in [400, 403, 413, 422, 507] {
            let land = begin().await;
            if when != When::Up {
                come_up(&land).await;
                is_up(&land, "one").await;
            }
            let method = method.clone();
            land.refusals.set(Refusal { method, path, code });
            match when {
                When::Up => come_up(&land).await,
                When::Change | When::Down => change(&land).await,
            }
            let object = told(&land, tells, code).await;
            let message = text(&object["status"]["lastError"]["message"]);
            contains(message, &["can't be", "; "]);
            if [400, 413, 422].contains(&code) {
                // It will never work as it is: the root says so, too, and nothing shows as being in work.
                let root = land.phase("root", "Failed").await;
                let error = &root["status"]["lastError"]["message"];
                contains(text(error), &["refused by a test"]);
            }
            // While the API still refuses.
            land.delete("Installation", "root").await;
            is_down(&land).await;
            land.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c6_a_failed_write_of_ours_goes_on_when_it_is_corrected() {
    let land = begin().await;
    land.refusals.set(Refusal {
        method: Method::POST,
        path: "/deployitems$",
        code: 422,
    });
    come_up(&land).await;
    land.phase("root", "Failed").await;
    land.quiet().await;
    land.refusals.end();
    change(&land).await;
    is_up(&land, "two").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r7b_a_status_that_is_refused_is_told_beside_it() {
    let land = begin().await;
    land.refusals.set(Refusal {
        method: Method::PATCH,
        path: "/installations/root/status$",
        code: 403,
    });
    come_up(&land).await;
    land.until("Installation", "root", |object| {
        let error = &object["metadata"]["annotations"]["landform.dev/error"];
        text(error).contains("refused by a test")
    })
    .await;
    land.refusals.end();
    is_up(&land, "one").await;
    let root = land.get("Installation", "root").await;
    assert!(root["metadata"]["annotations"]["landform.dev/error"].is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn c6_a_quota_that_is_full_is_told_with_its_name_and_ends_by_itself() {
    let quotas = [
        ("executions", "Installation"),
        ("installations", "Installation"),
        ("deployitems", "Execution"),
        ("dataobjects", "Installation"),
    ];
    for (plural, tells) in quotas {
        let land = begin().await;
        let count = format!("count/{plural}.landscaper.gardener.cloud");
        // One for what is there already.
        let most = usize::from(plural == "installations" || plural == "dataobjects");
        let hard = json!({count.as_str(): most.to_string()});
        land.create("ResourceQuota", "small", json!({"spec": {"hard": hard}}))
            .await;
        come_up(&land).await;
        let found = land
            .until(tells, "root", |object| {
                text(&object["status"]["lastError"]["message"]).contains("exceeded quota: small")
            })
            .await;
        let message = text(&found["status"]["lastError"]["message"]);
        contains(message, &["raise the quota", "can't be created"]);
        land.delete("Installation", "root").await;
        is_down(&land).await;
        come_up(&land).await;
        land.until(tells, "root", |object| {
            text(&object["status"]["lastError"]["message"]).contains("exceeded quota: small")
        })
        .await;
        land.delete("ResourceQuota", "small").await;
        is_up(&land, "one").await;
        land.stop().await;
    }
}

/// A root with two nested installations, of which the second imports from the first.
fn two(both: bool) -> Value {
    let first = sub(
        "first",
        product("low", &["in"], &["between"]),
        wiring(&["in"], &["between"]),
    );
    let second = sub(
        "second",
        product("high", &["between"], &[]),
        wiring(&["between"], &[]),
    );
    let all = if both {
        vec![first, second]
    } else {
        vec![first]
    };
    json!({"imports": [data_import("in", json!({}))], "subinstallations": all})
}

/// The root's second nested installation can't write its execution, after it was asked to run by the first one.
async fn second_refused(land: &Landscape) {
    let hard = json!({"count/executions.landscaper.gardener.cloud": "1"});
    land.create("ResourceQuota", "small", json!({"spec": {"hard": hard}}))
        .await;
    land.install("root", two(true), wiring(&["in"], &[])).await;
    let root = land.phase("root", "Failed").await;
    let message = text(&root["status"]["lastError"]["message"]);
    contains(message, &["second", "exceeded quota: small"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn i11b_c6_a_nested_installation_whose_write_is_refused_locks_nothing() {
    for way in ["quota", "blueprint", "delete", "namespace"] {
        let land = Landscape::in_namespace("team").await;
        land.data("in", json!("one")).await;
        second_refused(&land).await;
        match way {
            "quota" => {
                land.delete("ResourceQuota", "small").await;
                land.phase("root", "Succeeded").await;
            }
            "blueprint" => {
                let spec = spec(two(false), wiring(&["in"], &[]));
                land.patch("Installation", "root", json!({"spec": spec}))
                    .await;
                land.phase("root", "Succeeded").await;
                land.quiet().await;
                land.left(
                    "Installation",
                    &[&land.nested("root", "first").await, "root"],
                )
                .await;
            }
            "delete" => {
                land.delete("Installation", "root").await;
                is_down(&land).await;
            }
            _ => {
                let namespaces: Api<Namespace> = Api::all(land.client.clone());
                let background = DeleteParams::background();
                namespaces.delete("team", &background).await.unwrap();
                land.gone("Installation", "root").await;
            }
        }
        land.stop().await;
    }
}

#[tokio::test]
async fn e5_an_item_whose_labels_others_have_changed_is_found_and_put_right() {
    let land = begin().await;
    come_up(&land).await;
    is_up(&land, "one").await;
    let items = land.names("DeployItem").await;
    for item in &items {
        let labels = json!({
            "execution.landscaper.gardener.cloud/managed-by": null,
            "execution.landscaper.gardener.cloud/name": "another",
        });
        land.patch("DeployItem", item, json!({"metadata": {"labels": labels}}))
            .await;
    }
    change(&land).await;
    is_up(&land, "two").await;
    assert_eq!(land.names("DeployItem").await, items);
    assert_eq!(land.config("root", "top").await["given"], "two");
    land.delete("Installation", "root").await;
    is_down(&land).await;
}

/// Three items; the last one may have a label that no object may have.
fn three(label: &str) -> Value {
    let item = |name: &str, label: &str| json!({"name": name, "type": "test.dev/recorder", "labels": {"tier": label}, "config": {}});
    let items = json!({"deployItems": [item("a", "x"), item("b", "x"), item("c", label)]});
    json!({"deployExecutions": template("items", &items.to_string())})
}

#[tokio::test(flavor = "multi_thread")]
async fn e8_what_was_handed_out_before_a_refused_item_is_deployed_once() {
    for refusal in ["exceeded quota: small", "no label!"] {
        let land = begin().await;
        let by_quota = refusal.contains("quota");
        if by_quota {
            let hard = json!({"hard": {"count/deployitems.landscaper.gardener.cloud": "2"}});
            land.create("ResourceQuota", "small", json!({"spec": hard}))
                .await;
        }
        let label = if by_quota { "x" } else { "no label!" };
        land.install("root", three(label), json!({})).await;
        let failed = land.phase("root", "Failed").await;
        contains(text(&failed["status"]["lastError"]["message"]), &[refusal]);
        // Another one comes up meanwhile: much would have been deployed again.
        land.install("other", product("d", &[], &[]), json!({}))
            .await;
        let other = land.until("Installation", "other", |object| {
            ["Succeeded", "Failed"].contains(&text(&object["status"]["phase"]))
        });
        other.await;
        let deployed = |journal: &[String], item: &str| {
            let all = journal
                .iter()
                .filter(|line| **line == format!("deploy {item}"));
            all.count()
        };
        let journal = land.recorder.journal();
        assert_eq!(deployed(&journal, "a"), 1, "{refusal}: {journal:?}");
        assert_eq!(deployed(&journal, "b"), 1, "{refusal}: {journal:?}");
        // What is forced runs once more, and the word is gone.
        land.recorder.take();
        land.annotate("Installation", "root", OPERATION, "force-reconcile")
            .await;
        for kind in ["Installation", "Execution"] {
            land.until(kind, "root", |object| {
                object["metadata"]["annotations"][OPERATION].is_null()
                    && object["status"]["phase"] == "Failed"
            })
            .await;
        }
        land.phase("root", "Failed").await;
        let journal = land.recorder.take();
        assert_eq!(deployed(&journal, "a"), 1, "{refusal}: {journal:?}");
        if by_quota {
            land.delete("ResourceQuota", "small").await;
        } else {
            land.patch(
                "Installation",
                "root",
                json!({"spec": spec(three("x"), json!({}))}),
            )
            .await;
        }
        land.phase("root", "Succeeded").await;
        let journal = land.recorder.take();
        assert_eq!(deployed(&journal, "c"), 1, "{refusal}: {journal:?}");
        land.delete("Installation", "root").await;
        land.gone("Installation", "root").await;
        land.stop().await;
    }
}
