//! `docs/rules.md` is what the names of the tests say.

use std::path::Path;

use xtask::{repository, rules};

#[test]
fn the_table_of_rules_is_up_to_date() {
    let found = repository::read(Path::new(rules::TABLE)).unwrap();
    let expected = rules::table().unwrap();
    assert!(
        found == expected,
        "{} is out of date: run `cargo xtask rules`",
        rules::TABLE
    );
}
