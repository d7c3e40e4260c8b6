//! `docs/getting-started.md`: every command of it, as it stands there.

use crate::example::Example;
use crate::{assert_contains, readme};

const PORTS: [&str; 4] = ["7401", "7402", "7403", "7411"];

#[test]
fn every_command_of_getting_started_does_what_the_page_says() {
    let page = "docs/getting-started.md";
    let shop = Example::at("shop", "my-shop", page, &PORTS).inside("my-shop");
    let up = shop.up("Up");
    assert_contains(&shop.follow("Up"), &["<li>tea: 3.50</li>"]);
    let seen = shop.follow("Look");
    assert_contains(
        &seen,
        &[
            "shop-database",
            "shop-api",
            "shop-web",
            "Synced",
            "Succeeded",
            "nothing is wrong with it",
        ],
    );
    assert_contains(&shop.follow("Change a file"), &["<li>tea: 3.50</li>"]);
    let broken = shop.follow("Break a file");
    assert_contains(&broken, &["config.yaml"]);
    let why = shop.follow("Break a value, and ask why");
    assert_contains(&why, &["shop-database", "config", ".port", "1024"]);
    let plan = shop.follow("Plan a change");
    assert_contains(&plan, &["shop-config", "shop-database", "shop-api"]);

    let renamed = shop.follow("Rename something");
    let uids: Vec<_> = renamed
        .split_whitespace()
        .filter(|word| word.matches('-').count() == 4)
        .collect();
    assert!(uids.len() >= 2 && uids.first() == uids.last(), "{renamed}");

    up.interrupt();
    let ended = up.finish();
    assert!(ended.status.success(), "{}", ended.report());
    assert_contains(&ended.stdout, &["Stopped. What was deployed goes on"]);
    assert_contains(&shop.follow("Stop and go on"), &["<li>tea: 3.50</li>"]);

    shop.follow("Down");
    let closed = shop.follow_failing("Stop and go on");
    assert!(!closed.contains("<h1>"), "{closed}");
}

#[test]
fn no_section_of_getting_started_is_left_out() {
    let page = include_str!("../../../../docs/getting-started.md");
    let tested = [
        "Build",
        "Up",
        "Look",
        "Change a file",
        "Break a file",
        "Break a value, and ask why",
        "Plan a change",
        "Rename something",
        "Stop and go on",
        "Down",
    ];
    assert_eq!(readme::sections(page), tested);
}
