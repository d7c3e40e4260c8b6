//! A directory of files that people edit, with all faults.

use landform_sim::project::{run, template};

use crate::seeds::{all_hold, all_repeat, these_hold};

#[test]
fn r15_r15b_objects_are_what_files_say_whatever_people_do_with_them() {
    let template = template().unwrap();
    all_hold(250, |seed| run(&template, seed));
}

#[test]
fn r15b_a_file_that_is_away_twice_is_missed_anew() {
    let template = template().unwrap();
    these_hold(&[559], |seed| run(&template, seed));
}

#[test]
fn a_seed_of_a_project_repeats_itself_byte_for_byte() {
    let template = template().unwrap();
    all_repeat(5, |seed| run(&template, seed));
}
