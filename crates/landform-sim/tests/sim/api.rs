//! The API server alone: random clients, watchers, faults and crashes.

use landform_sim::Template;
use landform_sim::api_world::run;

use crate::seeds::{all_hold, all_repeat};

#[test]
fn c4_c5_g10_clients_and_watchers_agree_with_the_log_whatever_happens() {
    let template = Template::new(&[]).unwrap();
    all_hold(1000, |seed| run(&template, seed));
}

#[test]
fn a_seed_repeats_itself_byte_for_byte() {
    let template = Template::new(&[]).unwrap();
    all_repeat(5, |seed| run(&template, seed));
}
