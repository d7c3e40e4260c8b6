//! Every command on every page is run: this is the table that says by which test.

mod page;
mod walk;

use crate::assert_contains;
use page::blocks;
use walk::{Page, follow};

const FIRST_BLUEPRINT: Page = Page {
    path: "docs/first-blueprint.md",
    words: &["7501", "7502"],
    uses: &[],
};

const ENVIRONMENTS: Page = Page {
    path: "docs/environments.md",
    words: &["7511", "7512", "7513"],
    uses: &[],
};

#[test]
fn the_first_blueprint_is_made_as_the_page_tells() {
    let walk = follow(&FIRST_BLUEPRINT);
    assert_contains(walk.printed("Up"), &["Hello, world", "page-url"]);
    assert_contains(walk.printed("Use it twice"), &["second"]);
    assert_contains(walk.printed("A wrong value"), &["second", "port", "1024"]);
    assert!(walk.path("hello/landform.yaml").exists());
}

#[test]
fn environments_are_made_as_the_page_tells() {
    let walk = follow(&ENVIRONMENTS);
    assert_contains(walk.printed("Up"), &["Staging says hello", "Hello"]);
    let plan = walk.printed("Change one of them");
    assert_contains(plan, &["staging", "Staging says hello"]);
}
