//! Crash at every write: holds for a reconciler that is safe, and is noticed for those that are not.

use landform_sim::node::{Flaw, NodeWorld, Spec, definition, node_name};
use landform_sim::simulation::Failure;
use landform_sim::user::Wish;
use landform_sim::{Action, Template, crash_at_every_write};

fn node(name: &str, value: u64, refs: &[&str], children: u64) -> Action {
    let spec = Spec {
        value,
        refs: refs.iter().map(|name| (*name).to_owned()).collect(),
        children,
        pause: 0,
    };
    Action::Wish(Wish::Applied(spec.object(name)))
}

/// A chain is made, changed at its root, and loses its middle.
fn story() -> Vec<Action> {
    vec![
        node("a", 1, &[], 1),
        node("b", 10, &["a"], 2),
        node("c", 100, &["b"], 0),
        Action::Rest,
        node("a", 2, &[], 0),
        Action::Rest,
        Action::Wish(Wish::Deleted(node_name("b"))),
    ]
}

fn crash_everywhere(flaw: Option<Flaw>) -> Result<u64, Failure> {
    let template = Template::new(&[definition()]).unwrap();
    crash_at_every_write(&template, || NodeWorld::with_flaw(flaw), &story())
}

#[test]
fn r1_g10_a_crash_after_any_write_does_not_show_in_the_end() {
    let writes = crash_everywhere(None).unwrap();
    assert!(writes > 15, "{writes} writes are too few to mean anything");
}

#[test]
fn a_reconciler_that_does_something_only_once_is_found_out() {
    let failure = crash_everywhere(Some(Flaw::ChildrenOnlyOnce)).unwrap_err();
    let text = failure.to_string();
    let expected = "(put nodes.sim.landform.dev default/a) changes the end:";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("configmaps default/a-0 is missing"), "{text}");
}

#[test]
fn a_reconciler_that_remembers_only_in_memory_is_found_out() {
    let failure = crash_everywhere(Some(Flaw::RemembersInMemory)).unwrap_err();
    let text = failure.to_string();
    assert!(text.contains("outside b should not be there"), "{text}");
}
