//! `examples/nested`: three levels, a list of targets and exports that come up, by the commands of its README.

use crate::assert_contains;
use crate::example::Example;

#[test]
fn a_list_of_targets_goes_down_three_levels_as_the_readme_tells_it() {
    let example = Example::new("nested", &["/tmp/landform-signs"]);
    let up = example.up("Up");
    let seen = example.follow("Up");
    let text = "Today: rain, 11 degrees";
    assert_contains(
        &seen,
        &["north.txt", "south.txt", "island.txt", text, "count: 3"],
    );
    let looked = example.follow("Look");
    assert_contains(&looked, &["weather", "boards", "forecast", "signs"]);
    assert_contains(&example.follow("Change the report"), &["snow, -2 degrees"]);
    let left = example.follow("Take a station off the list");
    assert_contains(&left, &["north.txt", "island.txt"]);
    assert!(!left.contains("south.txt"), "{left}");
    let why = example.follow("Break it");
    assert_contains(&why, &["report", ".sky", "has to be one of"]);
    up.interrupt();
    assert!(up.finish().status.success());
    let down = example.follow("Down");
    assert!(!down.contains(".txt"), "{down}");
}
