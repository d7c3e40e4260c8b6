//! The hostile suite in its short form: `cargo xtask hostile` runs the whole one.

use landform_e2e::hostile::{Options, run};

#[test]
fn every_attack_keeps_its_bounds() {
    let options = Options {
        quick: true,
        ..Options::default()
    };
    let report = run(&options, |_| {}).unwrap();
    let broken: Vec<String> = report
        .rows
        .iter()
        .filter(|row| !row.broken.is_empty())
        .map(ToString::to_string)
        .collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
