//! Random landscapes and changes, with all faults: the end is that of a fresh landscape.

use landform_sim::landscape::{run, run_woven, template};

use crate::seeds::{all_hold, all_repeat};

#[test]
fn c3_i13_i15_e5_e6_random_changes_end_as_a_fresh_landscape_would() {
    let template = template().unwrap();
    all_hold(10, |seed| run(&template, seed));
}

#[test]
fn i10b_i40b_no_item_is_deployed_with_a_mix_while_sources_change_and_exports_move() {
    let template = template().unwrap();
    all_hold(10, |seed| run_woven(&template, seed));
}

#[test]
fn a_landscape_repeats_itself_byte_for_byte() {
    let template = template().unwrap();
    all_repeat(1, |seed| run(&template, seed));
}
