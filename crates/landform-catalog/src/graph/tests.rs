//! Small channels with all that is known to go wrong in real ones.

use proptest::prelude::*;

use super::*;
use crate::testing::{package, version};

fn shown(bundles: &[&Bundle]) -> String {
    let versions: Vec<_> = bundles
        .iter()
        .map(|found| found.version.to_string())
        .collect();
    versions.join(" ")
}

fn way(package: &Package, channel: &str, from: &str, to: &str) -> Result<String, String> {
    let (name, from) = (format!("{}.v{from}", package.name), version(from));
    let channel = &package.channels[channel];
    let found = path(package, channel, (&name, &from), &version(to));
    let stops = found.map_err(|error| error.to_string())?;
    let versions: Vec<_> = stops.iter().map(|stop| stop.version.to_string()).collect();
    Ok(versions.join(" "))
}

fn next(package: &Package, from: &str) -> String {
    let (name, from) = (format!("{}.v{from}", package.name), version(from));
    let channel = package.channel(None).unwrap();
    shown(&steps(package, channel, (&name, &from)))
}

fn messages(package: &Package) -> Vec<(ProblemKind, String)> {
    let found = problems(package).into_iter();
    found
        .map(|problem| (problem.kind, problem.message))
        .collect()
}

const CHAIN: &str = "stable 1.0.0
    stable 1.1.0 replaces=foo.v1.0.0
    stable 1.2.0 replaces=foo.v1.1.0
    stable 1.3.0 replaces=foo.v1.2.0 range=>=1.1.0_<1.3.0
    stable 1.4.0 replaces=foo.v1.3.0 skips=foo.v1.3.0,1.2.0";

#[test]
fn steps_are_the_highest_first_and_never_skipped_ones() {
    let foo = package("foo", CHAIN);
    assert_eq!(next(&foo, "1.0.0"), "1.1.0");
    assert_eq!(next(&foo, "1.1.0"), "");
    assert_eq!(next(&foo, "1.2.0"), "1.4.0");
    assert_eq!(next(&foo, "1.3.0"), "1.4.0");
    assert_eq!(next(&foo, "1.4.0"), "");
    // From a version that the catalog doesn't have.
    assert_eq!(next(&foo, "1.1.5"), "");
    let wide = package("foo", "a 1.0.0\na 1.1.0 range=<1.1.0\na 1.2.0 range=<1.2.0");
    assert_eq!(next(&wide, "0.5.0"), "1.2.0 1.1.0");
}

#[test]
fn the_shortest_way_is_found_and_ties_go_to_the_highest() {
    let foo = package(
        "foo",
        "a 1.0.0
         a 1.1.0 replaces=foo.v1.0.0
         a 1.2.0 replaces=foo.v1.0.0
         a 1.3.0 replaces=foo.v1.1.0 skips=1.0.9
         a 1.4.0 replaces=foo.v1.3.0 range=>=1.1.0_<1.3.0",
    );
    assert_eq!(
        way(&foo, "a", "1.0.0", "1.4.0").unwrap(),
        "1.0.0 1.2.0 1.4.0"
    );
    assert_eq!(
        way(&foo, "a", "1.0.0", "1.3.0").unwrap(),
        "1.0.0 1.1.0 1.3.0"
    );
    assert_eq!(
        way(&foo, "a", "1.0.9", "1.4.0").unwrap(),
        "1.0.9 1.3.0 1.4.0"
    );
    assert_eq!(way(&foo, "a", "1.4.0", "1.4.0").unwrap(), "1.4.0");
}

#[test]
fn no_way_says_why_and_what_would_help() {
    let foo = package(
        "foo",
        "a 1.0.0
         a,b 1.1.0 replaces=foo.v1.0.0
         a,b 1.4.0 replaces=foo.v1.3.0
         a,b 2.0.0 replaces=foo.v1.4.0
         b 1.3.0 replaces=foo.v1.1.0
         a 2.1.0 replaces=foo.v2.0.0 skips=2.0.1
         a 2.0.1 replaces=foo.v2.0.0",
    );
    for (from, to, text) in [
        (
            "1.0.0",
            "2.0.0",
            "there is no way from 1.0.0 to 2.0.0: in the channel a the way from 1.0.0 ends at 1.1.0, \
             and 2.0.0 can only be reached from 1.4.0 on. To get there, choose the channel b, which \
             has a way; or let 1.4.0 replace 1.1.0 too, by skips or a range; or go to 1.1.0, the nearest that can be reached.",
        ),
        (
            "1.1.0",
            "2.0.0",
            "there is no way from 1.1.0 to 2.0.0: nothing in the channel a replaces 1.1.0, and 2.0.0 \
             can only be reached from 1.4.0 on. To get there, choose the channel b, which has a way; \
             or let 1.4.0 replace 1.1.0 too, by skips or a range.",
        ),
        (
            "2.0.0",
            "1.0.0",
            "there is no way from 2.0.0 to 1.0.0: 1.0.0 is lower than 2.0.0, and no way goes down. To \
             get there, roll back if 1.0.0 ran before, or remove 2.0.0 and install 1.0.0.",
        ),
        (
            "1.0.0",
            "3.0.0",
            "there is no way from 1.0.0 to 3.0.0: the channel a has no version 3.0.0. To get there, \
             name a version that the channel a has.",
        ),
        (
            "2.0.0",
            "2.0.1",
            "there is no way from 2.0.0 to 2.0.1: 2.1.0 skips 2.0.1 in the channel a, so nobody goes \
             there. To get there, go to 2.1.0 instead.",
        ),
    ] {
        assert_eq!(way(&foo, "a", from, to).unwrap_err(), text);
    }
    let foo = package("foo", "a 1.0.0\na 1.2.0 replaces=foo.v1.1.0");
    let error = way(&foo, "a", "1.0.0", "1.2.0").unwrap_err();
    assert_eq!(
        error,
        "there is no way from 1.0.0 to 1.2.0: nothing in the channel a replaces 1.0.0; 1.2.0 replaces \
         foo.v1.1.0, which the catalog doesn't have. To get there, add foo.v1.1.0 to the catalog as one \
         that replaces 1.0.0; or let 1.2.0 replace 1.0.0 too, by skips or a range."
    );
}

#[test]
fn the_latest_is_the_head_or_the_highest_in_the_range() {
    let foo = package(
        "foo",
        &format!("{CHAIN}\nstable 1.5.0-rc.1 replaces=foo.v1.4.0"),
    );
    let channel = foo.channel(None).unwrap();
    let found = |range: &str| {
        let range = Range::parse(range).unwrap();
        latest(&foo, channel, Some(&range)).map(|found| found.version.to_string())
    };
    assert_eq!(head(&foo, channel).unwrap().version, version("1.5.0-rc.1"));
    assert_eq!(shown(&heads(&foo, channel)), "1.5.0-rc.1 1.1.0");
    assert_eq!(found(">=1.0.0").unwrap(), "1.5.0-rc.1");
    assert_eq!(found("^1").unwrap(), "1.4.0");
    // 1.3.0 and 1.2.0 are skipped.
    assert_eq!(found("<1.4.0").unwrap(), "1.1.0");
    assert_eq!(found("<1.0.0"), None);
    assert_eq!(
        find(&foo, &version("1.2.0")).unwrap().version,
        version("1.2.0")
    );
}

#[test]
fn a_healthy_channel_has_no_problems() {
    let foo = package(
        "foo",
        "a 1.0.0\na 1.1.0 replaces=foo.v1.0.0\na 1.2.0 range=<1.2.0",
    );
    assert_eq!(messages(&foo), []);
}

#[test]
fn each_problem_is_a_sentence_with_its_effect() {
    use ProblemKind as Kind;
    for (text, kind, message) in [
        (
            "a 1.0.0 replaces=foo.v1.0.0",
            Kind::SelfReplacing,
            "foo.v1.0.0 replaces itself: that counts for nothing",
        ),
        (
            "a 1.0.0\na 1.1.0 replaces=foo.v1.0.0 range=<=1.1.0",
            Kind::SelfReplacing,
            "the skipRange of foo.v1.1.0, <=1.1.0, has 1.1.0 itself in it: only what is lower counts",
        ),
        (
            "a 1.0.0 replaces=foo.v1.2.0\na 1.1.0 replaces=foo.v1.0.0\na 1.2.0 replaces=foo.v1.1.0",
            Kind::Cycle,
            "foo.v1.0.0 → foo.v1.2.0 → foo.v1.1.0 → foo.v1.0.0 replace each other in a circle: only \
             the steps up count",
        ),
        (
            "a 1.0.0\na 1.1.0",
            Kind::SeveralHeads,
            "the channel a has 2 heads: new installations get foo.v1.1.0, and who runs foo.v1.0.0 \
             stays there",
        ),
        (
            "a 1.1.0 replaces=foo.v1.0.0",
            Kind::AbsentTarget,
            "foo.v1.1.0 replaces foo.v1.0.0, which the catalog doesn't have: who runs that can go on, \
             but no other version leads here by it",
        ),
        (
            "a 1.0.0 absent\na 1.1.0 replaces=foo.v1.0.0",
            Kind::AbsentBundle,
            "the channel a names foo.v1.0.0, which the catalog doesn't have: it can't be installed or \
             gone through",
        ),
        (
            "a 1.0.0\na 1.1.0 replaces=foo.v1.0.0 range=<0.9.0",
            Kind::StaleRange,
            "no lower version of the channel a is in the skipRange of foo.v1.1.0, <0.9.0: it leads \
             here from none of them",
        ),
        (
            "a 1.0.0\na 1.1.0 range=>=0.1.0",
            Kind::UnboundedRange,
            "the skipRange of foo.v1.1.0, >=0.1.0, has no upper bound: only what is lower than 1.1.0 \
             counts",
        ),
        (
            "a 1.0.0 replaces=foo.v1.1.0\na 1.1.0 range=<1.1.0",
            Kind::Downgrade,
            "foo.v1.0.0 replaces foo.v1.1.0, which isn't lower: that counts for nothing, since no way \
             goes down",
        ),
        (
            "a 1.0.0\na 1.1.0 replaces=foo.v1.0.0\na 1.0.5",
            Kind::Unreachable,
            "no lower version of the channel a leads to foo.v1.0.5: it can only be installed afresh",
        ),
    ] {
        let found = messages(&package("foo", text));
        assert!(
            found.contains(&(kind, message.to_owned())),
            "{text}\n{found:#?}"
        );
    }
}

#[test]
fn circles_of_skips_and_versions_are_found_once() {
    let foo = package(
        "foo",
        "a 1.0.0 skips=1.1.0\na 1.1.0 replaces=1.0.0\na 1.2.0 replaces=1.1.0",
    );
    let found = problems(&foo);
    let cycles: Vec<_> = found
        .iter()
        .filter(|found| found.kind == ProblemKind::Cycle)
        .collect();
    assert_eq!(cycles.len(), 1, "{found:#?}");
    let listed = cycles[0].clone().in_catalog(&foo);
    assert_eq!((&*listed.file, &*listed.package), ("test", "foo"));
}

fn wild_channel() -> impl Strategy<Value = String> {
    let reference = prop_oneof![
        (0_u64..3, 0_u64..4).prop_map(|(minor, patch)| format!("foo.v1.{minor}.{patch}")),
        (0_u64..3, 0_u64..4).prop_map(|(minor, patch)| format!("1.{minor}.{patch}")),
        prop::sample::select(vec![">=1.0.0", "<1.2.2", "1.1.x", "!1.1.1"]).prop_map(str::to_owned),
    ];
    let entry = (
        (0_u64..3, 0_u64..4),
        reference.clone(),
        reference,
        any::<u8>(),
    );
    prop::collection::btree_map((0_u64..3, 0_u64..4), entry, 1..10).prop_map(|entries| {
        let lines = entries
            .into_iter()
            .map(|((minor, patch), (_, replaces, skips, which))| {
                let mut line = format!("a 1.{minor}.{patch}");
                if which & 1 == 0 {
                    line.push_str(&format!(" replaces={replaces}"));
                }
                if which & 6 == 0 {
                    line.push_str(&format!(" skips={skips}"));
                }
                if which & 24 == 0 {
                    line.push_str(" range=>=1.0.0");
                }
                if which & 224 == 0 {
                    line.push_str(" absent");
                }
                line
            });
        lines.collect::<Vec<_>>().join("\n")
    })
}

proptest! {
    #[test]
    fn walks_go_up_and_end_and_agree_with_plain_search(text in wild_channel(), to in (0_u64..3, 0_u64..4)) {
        let foo = package("foo", &text);
        let channel = foo.channel(None).unwrap();
        let to = Version::new(1, to.0, to.1);
        let _ = problems(&foo);
        for bundle in &foo.bundles {
            // Breadth first, by asking for steps only.
            let mut layer = vec![bundle];
            let mut length = 1;
            let mut expected = None;
            while !layer.is_empty() && length < 20 {
                if layer.iter().any(|found| found.version == to) {
                    expected = Some(length);
                    break;
                }
                layer = layer.iter()
                    .flat_map(|from| steps(&foo, channel, (&from.name, &from.version)))
                    .collect();
                length += 1;
            }
            let found = path(&foo, channel, (&bundle.name, &bundle.version), &to);
            prop_assert_eq!(found.as_ref().ok().map(Vec::len), expected, "{} to {}\n{}", bundle.name, to, text);
            if let Ok(stops) = found {
                prop_assert!(stops.is_sorted_by(|one, other| one.version < other.version));
                prop_assert_eq!(stops.last().unwrap().version, &to);
            }
            let reachable = Walk::new(&foo, channel).reachable((&bundle.name, &bundle.version));
            let listed = reachable.iter().any(|found| found.version == to);
            prop_assert_eq!(listed, expected.is_some_and(|length| length > 1));
        }
    }
}
