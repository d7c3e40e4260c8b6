//! Random landscapes and changes, with all faults: the end is that of a fresh landscape.

use landform_sim::landscape::{run, template};

use crate::seeds::{all_hold, all_repeat};

#[test]
fn c3_i13_i15_e5_e6_random_changes_end_as_a_fresh_landscape_would() {
    let template = template().unwrap();
    all_hold(10, |seed| run(&template, seed));
}

#[test]
fn a_landscape_repeats_itself_byte_for_byte() {
    let template = template().unwrap();
    all_repeat(1, |seed| run(&template, seed));
}
