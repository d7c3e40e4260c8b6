//! Hooks, renames, definitions that come and go, uncoordinated writers: everything at once, with all faults.

use landform_sim::mixed::{run, template};

use crate::seeds::{all_hold, all_repeat, these_hold};

#[test]
fn c4_g10_g12b_g16_r2_r3_r4_r8_r8b_r9_r9b_r10_r12b_rules_hold_while_everything_happens_at_once() {
    let template = template().unwrap();
    all_hold(320, |seed| run(&template, seed));
}

#[test]
fn r2_r12b_a_time_that_falls_due_during_a_run_brings_another_one() {
    let template = template().unwrap();
    // 786: a run began before the time and called after it. 1198: a command answered in the moment of its end.
    these_hold(&[786, 1198], |seed| run(&template, seed));
}

#[test]
fn a_mixed_seed_repeats_itself_byte_for_byte() {
    let template = template().unwrap();
    all_repeat(5, |seed| run(&template, seed));
}
