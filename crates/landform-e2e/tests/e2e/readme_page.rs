//! The README's commands, as they stand there.

use landform_e2e::{Server, run};

use crate::example::Example;
use crate::{assert_contains, readme};

const PAGE: &str = "README.md";
const TEXT: &str = include_str!("../../../../README.md");

#[test]
fn the_readme_brings_the_shop_up_asks_and_takes_it_down() {
    let shop = Example::at(
        "shop",
        "examples/shop",
        PAGE,
        &["7401", "7402", "7403", "7411"],
    );
    let up = shop.up("Run it");
    assert_contains(
        &shop.follow("Run it"),
        &["<h1>Shop</h1>", "shop-web", "Succeeded"],
    );
    let asked = shop.follow("Ask before, ask why");
    assert_contains(
        &asked,
        &["shop-config", "shop-database", "nothing is wrong with it"],
    );
    up.interrupt();
    assert!(up.finish().status.success());
    shop.follow("Take it down");
}

#[test]
fn the_readme_serves_kubectl() {
    let server = Server::start();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let script = readme::script(TEXT, "Serve any client");
    let lines: Vec<_> = script
        .lines()
        .filter(|line| *line != "landform serve")
        .collect();
    let done = run(server
        .client("sh")
        .current_dir(root)
        .args(["-ec", &lines.join("\n")]));
    assert!(done.status.success(), "{}", done.report());
    assert_contains(
        &done.stdout,
        &["configmap/hello created", "widgets.example.com created"],
    );
}

#[test]
fn no_section_of_the_readme_is_left_out() {
    // The last one is how this test was started.
    let known = [
        "Run it",
        "Ask before, ask why",
        "Take it down",
        "Serve any client",
        "Test it",
    ];
    assert_eq!(readme::sections(TEXT), known);
}
