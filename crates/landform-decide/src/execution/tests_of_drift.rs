//! What others have changed of items, and what goes while the execution lives.

use landform_api::landscaper::{ExecutionPhase, Operation};

use super::tests::{item, succeeded};
use super::{Action, Observed, decide};

#[test]
fn i5b_what_says_whose_an_item_is_is_put_right_before_anything_else() {
    let put_right = vec![Action::PutRight(vec!["x-b".into()])];
    for asked in [None, Some(Operation::Reconcile), Some(Operation::Abort)] {
        let mut seen = Observed {
            operation: asked,
            ..succeeded()
        };
        seen.items[1].is_whole = false;
        let decision = decide(&seen);
        assert_eq!(decision.actions, put_right, "{asked:?}");
        assert_eq!((decision.phase, decision.afterwards.len()), (None, 0));
        seen.items[1].marked = true;
        assert_ne!(decide(&seen).actions, put_right, "it goes anyway");
    }
}

#[test]
fn i35b_what_goes_hears_that_it_may_stay_outside_while_the_execution_lives() {
    let keep = Action::KeepOutside(vec!["x-c".into()]);
    let told = |change: fn(&mut Observed)| {
        let mut seen = Observed {
            bare: true,
            ..succeeded()
        };
        let mut orphan = item("c", &[]);
        orphan.marked = true;
        orphan.phase = Some(ExecutionPhase::Failed);
        seen.items.push(orphan);
        change(&mut seen);
        decide(&seen).actions.contains(&keep)
    };
    assert!(told(|_| {}));
    assert!(told(|seen| seen.phase = Some(ExecutionPhase::Failed)));
    assert!(told(|seen| seen.marked = true));
    assert!(!told(|seen| seen.items[2].bare = true), "it knows");
    assert!(!told(|seen| seen.bare = false));
    assert!(!told(|seen| seen.ignore = true));
}
