//! Plays the scenario files. `UPDATE_SCENARIOS=1` writes down what really happens.

use std::path::Path;

use landform_schedule::scenario::replay;
use landform_sim::Template;
use landform_sim::node::{API_VERSION, NodeWorld, definition};
use landform_sim::script::Script;

#[test]
fn r2_r4_r5_r6_r7_r8_r9_r11_r12_every_scenario_goes_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let template = Template::new(&[definition()]).unwrap();
    let kinds = [(API_VERSION, "Node"), ("v1", "ConfigMap")];
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut script = Script::new(&template, NodeWorld::new(), &kinds);
        let replayed = replay(&text, |commands| script.carry_out(commands));
        let replayed = replayed.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        if std::env::var_os("UPDATE_SCENARIOS").is_some() {
            std::fs::write(&file, &replayed).unwrap();
            continue;
        }
        assert_eq!(text.trim(), replayed.trim(), "{}", file.display());
    }
}
