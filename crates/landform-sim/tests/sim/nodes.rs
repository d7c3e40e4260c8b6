//! The whole stack: engine, scheduler, reconcilers, API server, with faults and crashes.

use landform_sim::Template;
use landform_sim::node::{definition, run};

use crate::seeds::{all_hold, all_repeat};

#[test]
fn r2_r3_r4_r6_r7_r8_r9_r12_random_scenarios_end_as_if_nothing_had_gone_wrong() {
    let template = Template::new(&[definition()]).unwrap();
    all_hold(1000, |seed| run(&template, seed));
}

#[test]
fn a_seed_repeats_itself_byte_for_byte() {
    let template = Template::new(&[definition()]).unwrap();
    all_repeat(5, |seed| run(&template, seed));
}
