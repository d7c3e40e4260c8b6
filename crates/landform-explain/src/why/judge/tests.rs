//! Judgements of single objects: what each status, the engine and the collector lead to.

use serde_json::{Value, json};

use super::*;

const LANDSCAPER: &str = "landscaper.gardener.cloud/v1alpha1";
const LANDFORM: &str = "landform.dev/v1alpha1";
const CATALOG: &str = "catalog.landform.dev/v1alpha1";

fn object(api_version: &str, kind: &str, status: Value) -> Value {
    json!({
        "apiVersion": api_version, "kind": kind,
        "metadata": {"namespace": "shop", "name": "x", "generation": 1}, "status": status,
    })
}

fn judged(object: &Value, engine: Option<Value>, deletion: Option<Value>) -> Judged {
    judge(&Facts {
        name: &ObjectRef::of(object),
        object,
        engine: engine.as_ref(),
        deletion: deletion.as_ref(),
    })
}

/// The causes as `sort: message`, and the waits as `object: reason`.
fn told(judged: &Judged) -> Vec<String> {
    let causes = judged
        .causes
        .iter()
        .map(|cause| format!("{:?}: {}", cause.sort, cause.message));
    let waits = judged
        .waits
        .iter()
        .map(|wait| format!("{}: {}", wait.object, wait.reason));
    causes.chain(waits).collect()
}

#[test]
fn each_status_leads_to_what_it_says() {
    let error = |codes: Value| json!({"reason": "R", "message": "boom", "codes": codes});
    let waiting = json!([{"rule": "I14", "object": {"kind": "Installation", "name": "db"}, "reason": "not yet"}]);
    let blocked = json!([{"rule": "O5", "reason": "NotApproved", "message": "not approved", "unblock": "approve it"}]);
    let table = [
        (
            "all is well",
            LANDSCAPER,
            "Installation",
            json!({"phase": "Succeeded"}),
            vec![],
        ),
        (
            "it waits for another one",
            LANDSCAPER,
            "Installation",
            json!({"phase": "PendingDependencies", "waitingOn": waiting, "lastError": error(json!([]))}),
            vec!["Installation/db: not yet"],
        ),
        (
            "nobody has looked at it",
            LANDSCAPER,
            "Installation",
            Value::Null,
            vec!["NotSeen: it has not been looked at since it changed"],
        ),
        (
            "it was changed",
            LANDSCAPER,
            "Installation",
            json!({"phase": "Succeeded", "observedGeneration": 0}),
            vec!["NotSeen: it has not been looked at since it changed"],
        ),
        (
            "a mistake",
            LANDSCAPER,
            "Installation",
            json!({"phase": "Failed", "lastError": error(json!(["ERR_CONFIGURATION_PROBLEM"]))}),
            vec!["Configuration: boom"],
        ),
        (
            "a circle, whatever it waited for",
            LANDSCAPER,
            "Installation",
            json!({"phase": "Failed", "waitingOn": waiting, "lastError": error(json!(["ERR_CYCLIC_DEPENDENCIES"]))}),
            vec!["Cycle: boom"],
        ),
        (
            "too late",
            LANDSCAPER,
            "DeployItem",
            json!({"phase": "Failed", "lastError": error(json!(["ERR_TIMEOUT"]))}),
            vec!["Timeout: boom"],
        ),
        (
            "tried again",
            LANDSCAPER,
            "DeployItem",
            json!({"phase": "Progressing", "lastError": error(json!([]))}),
            vec!["Retried { again: None }: boom"],
        ),
        (
            "failed by itself",
            LANDSCAPER,
            "DeployItem",
            json!({"phase": "Failed", "lastError": error(json!([]))}),
            vec!["Failed: boom"],
        ),
        (
            "an upgrade is blocked",
            CATALOG,
            "AppType",
            json!({"phase": "Succeeded", "blockedBy": blocked}),
            vec!["Blocked { unblock: \"approve it\" }: not approved"],
        ),
        (
            "a requirement",
            CATALOG,
            "OperatorVersion",
            json!({"phase": "Pending", "message": "m", "waitingOn": [{"rule": "O8", "reason": "etcds: it isn't there"}]}),
            vec!["Waits: etcds: it isn't there"],
        ),
        (
            "a catalog that can't be read",
            CATALOG,
            "Catalog",
            json!({"phase": "Failed", "message": "no such directory"}),
            vec!["Failed: no such directory"],
        ),
        (
            "a catalog with a problem",
            CATALOG,
            "Catalog",
            json!({"phase": "Ready", "problems": [{"file": "a.yaml", "reason": "bad"}, {"file": "b", "reason": "c", "warning": true}]}),
            vec!["Configuration: a.yaml: bad"],
        ),
        (
            "files of a project",
            LANDFORM,
            "Project",
            json!({"phase": "Incomplete", "problems": [{"file": "a.yaml", "line": 3, "column": 0, "message": "bad"}]}),
            vec!["Configuration: a.yaml:3: bad"],
        ),
        (
            "deletions of a project",
            LANDFORM,
            "Project",
            json!({"phase": "Held", "heldDeletions": {"count": 9, "of": 10, "first": [], "token": "t"}}),
            vec!["Held { token: \"t\" }: 9 of 10 objects would be deleted"],
        ),
    ];
    for (case, api_version, kind, status, expected) in table {
        let found = judged(&object(api_version, kind, status), None, None);
        assert_eq!(told(&found), expected, "{case}");
        assert_eq!(found.well, expected.is_empty(), "{case}");
    }
}

#[test]
fn the_engine_tells_what_no_status_says() {
    let toy = object("example.com/v1", "Toy", json!({}));
    let table = [
        (json!({"state": "Idle"}), vec![]),
        (
            json!({"state": "Running", "reason": "changed", "runningSince": "t"}),
            vec!["Running { since: Some(\"t\") }: it is being reconciled: changed"],
        ),
        (
            json!({"state": "Cyclic", "cycle": "a → b → a"}),
            vec!["Cycle: it is in a cycle of references and doesn't run: a → b → a"],
        ),
        (
            json!({"state": "Idle", "lastError": "boom", "nextRun": "t"}),
            vec!["Retried { again: Some(\"t\") }: boom"],
        ),
        (
            json!({"state": "Idle", "lastError": "boom"}),
            vec!["Failed: boom"],
        ),
        (
            json!({"state": "Pending", "waitingOn": [{"relation": "Ref", "group": "", "kind": "Secret", "namespace": "shop", "name": "s"}]}),
            vec!["Secret/s: it is referred to and must have run first"],
        ),
        (
            json!({"state": "Stuck", "cancelled": "it changed"}),
            vec!["Stuck: its run was told to return and has not yet: it changed"],
        ),
    ];
    for (engine, expected) in table {
        let found = judged(&toy, Some(engine.clone()), None);
        assert_eq!(told(&found), expected, "{engine}");
    }
}

#[test]
fn g14_a_deletion_waits_for_finalizers_of_others_and_for_blockers_below() {
    let mut marked = object(LANDSCAPER, "Installation", json!({"phase": "Deleting"}));
    marked["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    marked["metadata"]["finalizers"] = json!(["finalizer.landscaper.gardener.cloud", "a.dev/hold"]);
    let held = "Finalizer { name: \"a.dev/hold\", responsible: \"the controller of a.dev\" }: Installation/x is held by a.dev/hold, which the controller of a.dev has to remove";
    let alone = judged(&marked, None, None);
    assert_eq!(told(&alone), [held], "without a collector to ask");
    assert_eq!(alone.state.since.as_deref(), Some("2026-01-01T00:00:00Z"));
    let deletion = json!({
        "rule": "G3",
        "finalizers": [{"name": "a.dev/hold", "responsible": "the controller of a.dev"}],
        "blockers": [
            {"object": {"apiVersion": LANDSCAPER, "kind": "Installation", "namespace": "shop", "name": "x"}, "message": "itself"},
            {"object": {"apiVersion": "v1", "kind": "Secret", "namespace": "shop", "name": "s"}, "message": "it is held"},
        ],
    });
    let found = judged(&marked, None, Some(deletion));
    assert_eq!(told(&found), [held, "Secret/s: it is held"]);
    assert!(!found.well);
}

#[test]
fn i1_e2_a_deletion_that_is_ignored_names_the_annotation() {
    let message = |phase: &str| {
        format!(
            "Ignored {{ annotation: \"landscaper.gardener.cloud/ignore\" }}: it is {phase} and has the annotation landscaper.gardener.cloud/ignore: Landform leaves it alone, and so its deletion"
        )
    };
    let table = [
        ("Execution", "Succeeded", "true", true),
        ("Execution", "Failed", "true", true),
        ("Execution", "Deleting", "true", false),
        ("Execution", "Succeeded", "false", false),
        ("Installation", "Succeeded", "true", true),
        ("Installation", "Progressing", "true", false),
        // Deploy items that are marked go on.
        ("DeployItem", "Succeeded", "true", false),
    ];
    for (kind, phase, annotation, expected) in table {
        let mut found = object(LANDSCAPER, kind, json!({"phase": phase}));
        found["metadata"]["annotations"] = json!({"landscaper.gardener.cloud/ignore": annotation});
        let told_of = |found: &Value| told(&judged(found, None, None));
        assert!(
            !told_of(&found).contains(&message(phase)),
            "it isn't marked"
        );
        found["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        found["metadata"]["finalizers"] = json!(["finalizer.landscaper.gardener.cloud"]);
        let said = told_of(&found).contains(&message(phase));
        assert_eq!(said, expected, "{kind} {phase} {annotation}");
    }
}

#[test]
fn r7b_an_error_that_the_engine_tells_on_an_object_is_read_there() {
    let mut annotated = object("example.com/v1", "Toy", json!({}));
    annotated["metadata"]["annotations"] = json!({"landform.dev/error": "boom"});
    let conditions = json!([
        {"type": "Ready", "status": "True"},
        {"type": "landform.dev/Reconciled", "status": "False", "reason": "ReconcileFailed", "message": "boom"},
    ]);
    let told_in_status = object("example.com/v1", "Toy", json!({"conditions": conditions}));
    for object in [annotated, told_in_status] {
        let again = json!({"state": "Idle", "lastError": "boom", "nextRun": "t"});
        let never = json!({"state": "Idle", "lastError": "boom"});
        for (engine, expected) in [
            (None, "Retried { again: None }: boom"),
            (Some(again), "Retried { again: Some(\"t\") }: boom"),
            (Some(never), "Failed: boom"),
        ] {
            let found = judged(&object, engine, None);
            assert_eq!(told(&found), [expected], "{object}");
            assert!(!found.well);
        }
    }
    let well = object(
        "example.com/v1",
        "Toy",
        json!({"conditions": [{"type": "Ready", "status": "True"}]}),
    );
    assert!(judged(&well, None, None).well);
    // What others write there is not believed.
    let mut forged = object("example.com/v1", "Toy", json!({}));
    forged["metadata"]["annotations"] = json!({"landform.dev/error": "boom"});
    assert!(judged(&forged, Some(json!({"state": "Idle"})), None).well);
}

#[test]
fn g15_the_finalizer_of_a_reconciler_tells_what_its_hook_does() {
    let mut marked = object("example.com/v1", "Toy", json!({}));
    marked["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    marked["metadata"]["finalizers"] = json!(["reconciler.landform.dev/toys"]);
    let table = [
        (
            json!({"state": "Running", "runningSince": "t"}),
            "Running { since: Some(\"t\") }",
            "it was called at t and has not answered",
        ),
        (
            json!({"state": "Idle", "lastError": "boom", "nextRun": "t"}),
            "Ended { again: Some(\"t\") }",
            "its last call failed: boom",
        ),
        (
            json!({"state": "Idle", "waitingFor": "the hook says that it isn't done"}),
            "Ended { again: None }",
            "it says that it isn't done",
        ),
        (
            json!({"state": "Idle"}),
            "Unknown",
            "nothing is known of a call",
        ),
    ];
    for (engine, now, what) in table {
        let expected = format!(
            "Hook {{ reconciler: \"toys\", now: {now} }}: Toy/x is held until the hook of Reconciler/toys is done: {what}"
        );
        let found = judged(&marked, Some(engine), None);
        assert_eq!(told(&found), [expected.as_str()]);
    }
}

#[test]
fn r13_what_is_waited_for_is_told_whatever_its_kind() {
    let waiting = |object: Value| {
        let waits = json!([{"rule": "R15", "object": object, "reason": "it must be gone"}]);
        json!({"phase": "Deleting", "waitingOn": waits})
    };
    let table = [
        (
            json!({"group": "example.com", "kind": "Toy", "name": "t"}),
            "example.com/",
        ),
        (
            json!({"group": "landscaper.gardener.cloud", "kind": "Installation", "name": "t"}),
            LANDSCAPER,
        ),
        (
            json!({"group": "example.com", "kind": "Installation", "name": "t"}),
            "example.com/",
        ),
        (json!({"kind": "Endpoints", "name": "t"}), "v1"),
    ];
    for (named, api_version) in table {
        let mut project = object(LANDFORM, "Project", waiting(named.clone()));
        project["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let found = judged(&project, None, None);
        assert_eq!(found.causes, [], "{named}");
        assert_eq!(found.waits[0].object.api_version, api_version, "{named}");
    }
}

#[test]
fn r13_only_what_will_be_looked_at_says_so() {
    let project = object(LANDFORM, "Project", json!({"phase": "Deleting"}));
    let table = [
        (
            json!({"state": "Pending"}),
            "NotSeen: it has not been looked at since it changed",
        ),
        (
            json!({"state": "Idle", "waitingFor": "objects must be gone"}),
            "Waits: objects must be gone",
        ),
        (
            json!({"state": "Idle", "nextRun": "t"}),
            "Waits: it is looked at again at t",
        ),
        (
            json!({"state": "Idle"}),
            "Silent: it was looked at, and says neither what it waits for nor what is wrong",
        ),
    ];
    for (engine, expected) in table {
        let found = judged(&project, Some(engine.clone()), None);
        assert_eq!(told(&found), [expected], "{engine}");
    }
}

#[test]
fn i4_an_operation_that_there_is_not_is_told_with_those_that_there_are() {
    for kind in ["Installation", "Execution", "DeployItem"] {
        let mut well = object(LANDSCAPER, kind, json!({"phase": "Succeeded"}));
        assert_eq!(told(&judged(&well, None, None)), [""; 0], "{kind}");
        let operation = "landscaper.gardener.cloud/operation";
        well["metadata"]["annotations"] = json!({operation: "reconcil"});
        let found = judged(&well, None, None);
        let sort = &found.causes[0].sort;
        let advised = |unblock: &String| unblock.contains("reconcile, force-reconcile, abort");
        assert!(
            matches!(sort, Sort::Blocked { unblock } if advised(unblock)),
            "{sort:?}"
        );
        assert!(found.causes[0].message.contains("reconcil"), "{kind}");
    }
}

#[test]
fn i35b_a_removal_that_failed_says_whether_it_is_tried_again() {
    let error = json!({"reason": "Clings", "message": "it clings"});
    let mut item = object(
        LANDSCAPER,
        "DeployItem",
        json!({"phase": "Failed", "lastError": error}),
    );
    assert_eq!(told(&judged(&item, None, None)), ["Failed: it clings"]);
    item["metadata"]["deletionTimestamp"] = json!("2026-11-16T10:00:00Z");
    assert!(needs_engine(&item));
    let again = json!({"state": "Backoff", "nextRun": "soon"});
    let retried = told(&judged(&item, Some(again), None));
    assert_eq!(retried, ["Retried { again: Some(\"soon\") }: it clings"]);
    let given_up = told(&judged(&item, Some(json!({"state": "Idle"})), None));
    assert_eq!(given_up, ["Failed: it clings"]);
}

#[test]
fn c6_a_write_that_was_refused_says_when_it_is_tried_again() {
    let error = json!({"reason": "WriteRefused", "message": "the quota is full"});
    for kind in ["Installation", "Execution", "DeployItem"] {
        let status = json!({"phase": "Failed", "lastError": error});
        let failed = object(LANDSCAPER, kind, status);
        assert!(needs_engine(&failed));
        let again = json!({"state": "Idle", "lastError": "the quota is full", "nextRun": "soon"});
        let retried = told(&judged(&failed, Some(again), None));
        assert_eq!(
            retried,
            ["Retried { again: Some(\"soon\") }: the quota is full"]
        );
    }
}

#[test]
fn e12_one_that_failed_without_an_error_is_not_waited_for() {
    let item = object(LANDSCAPER, "DeployItem", json!({"phase": "Failed"}));
    let expected = ["Failed: it has failed, and its status doesn't say why"];
    assert_eq!(told(&judged(&item, None, None)), expected);
}

#[test]
fn i1_e2_one_that_is_ignored_says_so_whatever_its_phase() {
    let error = json!({"reason": "R", "message": "boom"});
    let waiting = json!([{"rule": "I14", "object": {"kind": "Installation", "name": "db"}, "reason": "not yet"}]);
    let table = [
        ("Installation", json!({"phase": "Succeeded"}), ""),
        (
            "Execution",
            json!({"phase": "Succeeded", "waitingOn": waiting}),
            "",
        ),
        (
            "Installation",
            json!({"phase": "Failed", "lastError": error}),
            "; its last error: boom",
        ),
    ];
    for (kind, status, more) in table {
        let mut found = object(LANDSCAPER, kind, status);
        found["metadata"]["annotations"] = json!({"landscaper.gardener.cloud/ignore": "true"});
        let phase = found["status"]["phase"].as_str().unwrap_or_default();
        let expected = format!(
            "Ignored {{ annotation: \"landscaper.gardener.cloud/ignore\" }}: it is {phase} and has the annotation landscaper.gardener.cloud/ignore: Landform leaves it alone, whatever changes{more}"
        );
        let judged = judged(&found, None, None);
        assert_eq!(told(&judged), [expected], "{kind} {phase}");
        assert!(!judged.well && !judged.look_below);
    }
}

#[test]
fn g14_the_finalizers_of_the_api_are_landforms_own() {
    let names = [
        "cascade_deletion",
        "foregroundDeletion",
        "orphan",
        "kubernetes",
        "customresourcecleanup.apiextensions.k8s.io",
        "finalizer.landscaper.gardener.cloud",
    ];
    for name in names {
        let mut marked = object(LANDSCAPER, "Installation", json!({"phase": "Deleting"}));
        marked["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        marked["metadata"]["finalizers"] = json!([name]);
        let found = told(&judged(&marked, None, None));
        assert!(
            found.iter().all(|cause| !cause.starts_with("Finalizer")),
            "{name}: {found:?}"
        );
    }
}

#[test]
fn e10_a_removal_at_work_is_not_told_as_the_aborted_run_before_it() {
    let error = json!({"operation": "Abort", "reason": "Aborted", "message": "stopped"});
    let mut item = object(
        LANDSCAPER,
        "DeployItem",
        json!({"phase": "Deleting", "lastError": error}),
    );
    item["metadata"]["deletionTimestamp"] = json!("2026-11-16T10:00:00Z");
    let engine = json!({"state": "Running", "reason": "changed", "runningSince": "t"});
    let found = judged(&item, Some(engine), None);
    let expected = "Running { since: Some(\"t\") }: it is being reconciled: changed";
    assert_eq!(told(&found), [expected]);
    assert_eq!(found.state.error, None);
    item["status"]["phase"] = json!("Failed");
    let found = judged(&item, Some(json!({"state": "Idle"})), None);
    assert_eq!(told(&found), ["Aborted: stopped"]);
}
