//! Tables: each rule fires once and is withheld once. Steps are separated by `|`, commands in a step by
//! `;`; what the last step brings is compared.

use super::scenarios::play;
use super::world::World;

/// Plays a script; returns what its last step brought.
pub(super) fn last(script: &str) -> String {
    let mut world = World::new();
    let mut brought = Vec::new();
    for step in script.split('|') {
        let commands: Vec<_> = step.split(';').map(str::trim).collect();
        brought = play(&mut world, &commands)
            .unwrap_or_else(|error| panic!("{script}, at {step}: {error}"));
    }
    brought.join("; ")
}

fn check(table: &[(&str, &str, &str)]) {
    for (words, script, expected) in table {
        assert_eq!(last(script), *expected, "{words}: {script}");
    }
}

#[test]
fn r2_what_brings_a_run_and_what_does_not() {
    let idle = "create a; create b -> a | finish a | finish b |";
    let table = [
        ("a new object", "create a", "start a (appeared)"),
        ("a changed spec", "update b", "start b (changed)"),
        ("changed refs", "relate b -> c", "start b (changed)"),
        ("a deletion mark", "delete b", "start delete b (marked)"),
        ("a rename", "rename b c", "start rename c (renamed, was b)"),
        ("a request", "ask b", "start b (asked for)"),
        (
            "a finished ref",
            "ask a | finish a",
            "start b (ref finished)",
        ),
        (
            "a failed ref",
            "ask a | finish a error",
            "timer a at 633 ms; start b (ref finished)",
        ),
        (
            "a due retrigger",
            "ask b | finish b retrigger soon | wait 1000",
            "start b (retrigger)",
        ),
        ("a status write", "status a", ""),
        ("the same refs again", "relate b -> a", ""),
        ("a finished dependent", "ask b | finish b", ""),
        (
            "a retrigger that isn't due",
            "ask b | finish b retrigger soon | wait 999",
            "",
        ),
    ];
    for (words, script, expected) in table {
        let script = if words == "a new object" {
            script.to_owned()
        } else {
            format!("{idle} {script}")
        };
        assert_eq!(last(&script), expected, "{words}: {script}");
    }
}

#[test]
fn r3_one_object_never_runs_twice_at_once() {
    check(&[
        (
            "others run at the same time",
            "create a | create b",
            "start b (appeared)",
        ),
        (
            "not the same one",
            "create a | ask a",
            "cancel a (asked for)",
        ),
        ("not while it returns", "create a | ask a | update a", ""),
        (
            "then it does",
            "create a | ask a | update a | finish a",
            "start a (appeared)",
        ),
        (
            "nor under another name",
            "create a | rename a b",
            "cancel a (renamed)",
        ),
        (
            "then it does",
            "create a | rename a b | rename b c | finish a",
            "start rename c (renamed, was a)",
        ),
        (
            "nor when it was created again",
            "create a | gone a | create a",
            "",
        ),
    ]);
}

#[test]
fn r4_relatives_never_run_together() {
    let chain = "create a; create b -> a; create c -> b | finish a | finish b | finish c |";
    let table = [
        (
            "an ancestor waits for its cancelled descendant",
            "ask c | ask a",
            "cancel c (by a)",
        ),
        ("a descendant waits for its ancestor", "ask a | ask c", ""),
        ("a delete too", "ask a | delete c", ""),
        (
            "and starts when it has finished",
            "ask a | delete c | finish a",
            "start delete c (marked)",
        ),
        ("also of a delete", "delete a | update c", ""),
        (
            "strangers don't wait",
            "create x | ask c",
            "start c (asked for)",
        ),
        (
            "siblings don't wait",
            "create s -> a | finish s | ask s | ask b",
            "start b (asked for)",
        ),
    ];
    for (words, script, expected) in table {
        assert_eq!(last(&format!("{chain} {script}")), expected, "{words}");
    }
}

#[test]
fn r4_r5_a_run_that_refers_to_an_active_object_is_cancelled_by_that() {
    check(&[
        (
            "by one that runs",
            "create a; create b | own relate b -> a",
            "cancel b (by a)",
        ),
        (
            "not by an idle one",
            "create a; create b | finish a | own relate b -> a",
            "",
        ),
        (
            "a delete too",
            "create a; create b | finish a; finish b | ask a | delete b | own relate b -> a",
            "cancel b (by a)",
        ),
    ]);
}

#[test]
fn r4_r7_a_cycle_that_closes_above_a_delete_joins_it_with_what_runs() {
    // c is active already, so that nothing changes next to d.
    let script = "create x; create b; create a -> b x; create c -> b; create d -> c | \
                  finish x; finish b | finish a; finish c | finish d | \
                  ask x | delete d; update c | relate b -> a";
    let errors = "error b: cycle a → b → a; error a: cycle a → b → a";
    assert_eq!(last(script), format!("{errors}; cancel d (by x)"));
}

#[test]
fn r6_an_ancestor_that_must_run_cancels_and_waits() {
    let running = "create a; create b -> a; create c -> b | finish a | finish b |";
    let table = [
        ("cancels", "update a", "cancel c (by a)"),
        ("once", "update a | update b", ""),
        ("waits", "update a | update a", ""),
        (
            "starts after the return",
            "update a | finish c",
            "start a (changed)",
        ),
        (
            "then what is between",
            "update a | finish c | finish a",
            "start b (ref finished)",
        ),
        (
            "then the cancelled one",
            "update a | finish c | finish a | finish b",
            "start c (appeared)",
        ),
        ("a status write cancels nothing", "status a", ""),
        (
            "a missing ref that comes does",
            "relate c -> b x | finish c | create x",
            "cancel c (by x)",
        ),
    ];
    for (words, script, expected) in table {
        assert_eq!(last(&format!("{running} {script}")), expected, "{words}");
    }
}

#[test]
fn r6_r9b_what_a_run_had_referred_to_waits_until_it_has_returned() {
    let runs = "create a; create b -> a; create c -> b | finish a | finish b |";
    let table = [
        ("a ref that is taken away", "relate c -> | ask b", ""),
        (
            "it runs then",
            "relate c -> | ask b | finish c",
            "start c (appeared); start b (asked for)",
        ),
        (
            "one ref after the other along the way",
            "relate c -> | relate b -> | finish b | ask a",
            "",
        ),
        (
            "the last of them runs then",
            "relate c -> | relate b -> | ask a | finish c",
            "start c (appeared); start b (changed); start a (asked for)",
        ),
        (
            "a ref that went, and is there again",
            "relate c -> | gone b | create b",
            "",
        ),
        (
            "a ref that gets a ref of its own",
            "relate c -> | relate b -> e | create e",
            "",
        ),
        (
            "another name of a ref that was taken away",
            "relate c -> | rename b d | ask d",
            "",
        ),
        ("a ref further up", "relate b -> | ask a", ""),
        ("an object that goes", "gone c | ask a", ""),
        ("one between that goes", "gone b | ask a", "cancel c (by a)"),
        ("another name of the object", "rename c d | ask a", ""),
        ("another name of the ref", "rename b d", "cancel c (by d)"),
        (
            "it runs then, too",
            "rename b d | finish c",
            "start rename d (renamed, was b)",
        ),
        (
            "a kind that nobody reconciles for a moment",
            "rename c d | gone d | create d",
            "",
        ),
        (
            "a ref that was none when it started",
            "create e | finish e | ask e",
            "start e (asked for)",
        ),
    ];
    for (words, script, expected) in table {
        assert_eq!(
            last(&format!("{runs} {script}")),
            expected,
            "{words}: {script}"
        );
    }
}

#[test]
fn r6_r8_an_ordinary_ancestor_waits_for_a_delete_below_it() {
    let deleting = "create a; create b -> a | finish a | finish b | delete b |";
    let table = [
        ("it doesn't cancel", "update a", ""),
        (
            "it starts afterwards",
            "update a | finish b",
            "start a (changed)",
        ),
        ("a delete above does", "delete a", "cancel b (by a)"),
        (
            "and goes first",
            "delete a | finish b",
            "start delete a (marked)",
        ),
        (
            "then the other again",
            "delete a | finish b | finish a",
            "start delete b (marked)",
        ),
    ];
    for (words, script, expected) in table {
        assert_eq!(last(&format!("{deleting} {script}")), expected, "{words}");
    }
}

#[test]
fn r7_cycles_get_an_error_at_once_and_run_when_they_are_broken() {
    let errors = "error a: cycle a → b → a; error b: cycle a → b → a";
    check(&[
        ("two", "create a -> b; create b -> a", errors),
        ("one", "create a -> a", "error a: cycle a → a"),
        (
            "no run by request",
            "create a -> b; create b -> a | ask a",
            "",
        ),
        (
            "broken",
            "create a -> b; create b -> a | relate a",
            "no cycle a; no cycle b; start a (appeared)",
        ),
        (
            "a member goes",
            "create a -> b; create b -> a | gone b",
            "no cycle a; start a (appeared)",
        ),
        (
            "who only refers to it runs",
            "create a -> a; create b -> a",
            "error a: cycle a → a; start b (appeared)",
        ),
        (
            "what runs above it holds back what is below",
            "create x; create a -> b x; create b -> a; create c -> b",
            &format!("{errors}; start x (appeared)"),
        ),
    ]);
}

#[test]
fn r8_deletes_then_renames_then_ordinary_runs() {
    let three = "create a; create b; create c | finish a; finish b; finish c |";
    let table = [
        (
            "deletes first",
            "update c; rename b d; delete a",
            "start delete a (marked)",
        ),
        (
            "then renames",
            "update c; rename b d; delete a | finish a",
            "start rename d (renamed, was b)",
        ),
        (
            "then ordinary runs",
            "update c; rename b d; delete a | finish a | finish d",
            "start c (changed)",
        ),
        ("all deletes", "update c; delete a; delete b | finish a", ""),
        (
            "what runs goes on",
            "ask c | delete a",
            "start delete a (marked)",
        ),
        (
            "a failed delete holds nobody back",
            "update c; delete a | finish a error",
            "timer a at 791 ms; start c (changed)",
        ),
        (
            "not in other namespaces",
            "delete a; create n/x | update n/x",
            "cancel n/x (changed)",
        ),
    ];
    for (words, script, expected) in table {
        assert_eq!(last(&format!("{three} {script}")), expected, "{words}");
    }
}

#[test]
fn r9_a_cancelled_run_is_always_followed_by_another() {
    check(&[
        (
            "after a change",
            "create a | update a | finish a",
            "start a (appeared)",
        ),
        (
            "even when it failed",
            "create a | update a | finish a error",
            "start a (appeared)",
        ),
        ("unless it is gone", "create a | gone a | finish a", ""),
        (
            "an overdue one is reported",
            "create a | update a | overdue a",
            "stuck a",
        ),
        ("only when cancelled", "create a | overdue a", ""),
    ]);
}

#[test]
fn r11_a_missing_ref_is_no_error() {
    let waiting = "create b -> a | finish b |";
    let table = [
        ("it runs without", "ask b", "start b (asked for)"),
        (
            "after the ref has appeared and run",
            "create a | finish a",
            "start b (ref finished)",
        ),
        (
            "when the ref goes",
            "create a | finish a | finish b | gone a",
            "start b (ref finished)",
        ),
        (
            "a passive ref has no run",
            "create a passive",
            "start b (ref finished)",
        ),
        (
            "when it changes",
            "create a passive | finish b | update a",
            "start b (ref finished)",
        ),
        (
            "its status doesn't count",
            "create a passive | finish b | status a",
            "",
        ),
        (
            "a change of it cancels",
            "create a passive | update a",
            "cancel b (by a)",
        ),
    ];
    for (words, script, expected) in table {
        assert_eq!(last(&format!("{waiting} {script}")), expected, "{words}");
    }
}

#[test]
fn r2_r4_a_passive_object_holds_back_and_passes_on_only_its_own_changes() {
    let there = "create a | finish a | create d -> a passive | create b -> d | finish b |";
    let table = [
        ("a run above it", "ask a | finish a", ""),
        ("its own change", "update d", "start b (ref finished)"),
        ("not while something above it runs", "ask a | update d", ""),
        (
            "but then",
            "ask a | update d | finish a",
            "start b (ref finished)",
        ),
        (
            "an ancestor behind it cancels",
            "ask b | ask a",
            "cancel b (by a)",
        ),
    ];
    for (words, script, expected) in table {
        assert_eq!(last(&format!("{there} {script}")), expected, "{words}");
    }
}

#[test]
fn r13_everybody_sees_what_an_object_waits_for() {
    check(&[
        ("running", "create a | status of a", "running (appeared)"),
        ("idle", "create a | finish a | status of a", "idle"),
        ("missing", "status of a", "missing"),
        (
            "on a ref",
            "create a; create b -> a | status of b",
            "pending (appeared) on ref a",
        ),
        (
            "to be triggered",
            "create a; create b -> a | finish a | finish b | ask a | status of b",
            "pending (by its refs) on ref a",
        ),
        (
            "on a dependent",
            "create a; create b -> a | finish a | ask a | status of a",
            "pending (asked for) on dependent b",
        ),
        (
            "on a delete",
            "create a; create b | finish a; finish b | delete a | ask b | status of b",
            "pending (asked for) on delete of a",
        ),
        (
            "cancelling",
            "create a | ask a | status of a",
            "cancelling (asked for)",
        ),
        (
            "an error",
            "create a | finish a error | status of a",
            "idle, error no, next at 655 ms",
        ),
        (
            "no old error while pending",
            "create a | finish a error | ask a | status of a",
            "running (asked for)",
        ),
    ]);
}
