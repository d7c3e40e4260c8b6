//! Hooks, renames, definitions that come and go, uncoordinated writers: everything at once, with all faults.

use landform_sim::mixed::{run, template};

use crate::seeds::{all_hold, all_repeat};

#[test]
fn c4_g10_g12b_g16_r2_r3_r4_r8_r8b_r9_r9b_r10_r12b_rules_hold_while_everything_happens_at_once() {
    let template = template().unwrap();
    all_hold(300, |seed| run(&template, seed));
}

#[test]
fn a_mixed_seed_repeats_itself_byte_for_byte() {
    let template = template().unwrap();
    all_repeat(5, |seed| run(&template, seed));
}
