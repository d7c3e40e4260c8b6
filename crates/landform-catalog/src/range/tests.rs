//! Tables of both dialects, and properties against a slower way to the same answer.

use proptest::prelude::*;
use semver::Version;

use super::Range;

fn version(text: &str) -> Version {
    Version::parse(text).unwrap()
}

fn check(range: &Range, within: &str, without: &str) {
    for text in within.split_whitespace() {
        assert!(range.contains(&version(text)), "{text} isn't in {range}");
    }
    for text in without.split_whitespace() {
        assert!(!range.contains(&version(text)), "{text} is in {range}");
    }
}

#[test]
fn blangs_ranges_hold_what_blang_says() {
    for (range, within, without) in [
        ("1.2.3", "1.2.3 1.2.3+build", "1.2.4 1.2.3-rc.1"),
        ("==1.2.3", "1.2.3", "1.2.2"),
        (
            ">=1.0.0 <2.0.0",
            "1.0.0 1.9.9 2.0.0-rc.1",
            "1.0.0-rc.1 2.0.0",
        ),
        (">= 1.0.0  < 2.0.0", "1.5.0", "2.0.0"),
        (
            ">1.0.0 <2.0.0 || >3.0.0 !4.2.1",
            "1.1.0 3.1.0 4.2.0",
            "2.5.0 4.2.1 3.0.0",
        ),
        ("!=1.0.0", "1.0.1 0.9.0", "1.0.0 1.0.0+x"),
        (
            ">=3.6.x <3.10.8",
            "3.6.0 3.10.7 3.7.0-rc.1",
            "3.5.9 3.6.0-rc.1 3.10.8",
        ),
        ("1.x", "1.0.0 1.99.0 2.0.0-a", "0.9.0 2.0.0"),
        ("1.2.x", "1.2.0 1.2.9", "1.3.0 1.1.9"),
        ("1.x.x", "1.7.0", "2.0.0"),
        (">1.2.x", "1.3.0", "1.2.9"),
        ("<1.2.*", "1.1.9", "1.2.0"),
        ("<=1.2.x", "1.2.9", "1.3.0"),
        ("!1.2.x", "1.1.0 1.3.0", "1.2.0 1.2.5"),
        ("*", "0.0.0 9.9.9-a", ""),
        ("<6.0.0", "0.0.0-a 5.9.9", "6.0.0"),
        (">=0.0.1", "0.0.1 99.0.0", "0.0.0"),
        ("=1.7.0", "1.7.0", "1.7.1"),
    ] {
        let parsed = Range::parse(range).unwrap();
        assert_eq!(parsed, Range::parse_blang(range).unwrap());
        assert_eq!(parsed.to_string(), range);
        check(&parsed, within, without);
    }
}

#[test]
fn masterminds_ranges_hold_what_masterminds_says() {
    for (range, within, without) in [
        (">=1.2, <3", "1.2.0 2.9.9", "1.1.9 3.0.0 2.0.0-rc.1"),
        ("~1.2.3", "1.2.3 1.2.9", "1.3.0 1.2.2"),
        ("~1.2", "1.2.0", "1.3.0"),
        ("~1", "1.9.9", "2.0.0"),
        ("~>1.2.3", "1.2.9", "1.3.0"),
        ("^1.2.3", "1.2.3 1.9.0", "2.0.0 1.2.2 1.3.0-rc.1"),
        ("^1.2", "1.2.0 1.9.9", "1.1.0 2.0.0"),
        ("^1", "1.0.0", "2.0.0"),
        ("^0.2.3", "0.2.3 0.2.9", "0.3.0"),
        ("^0.0.3", "0.0.3", "0.0.4"),
        ("^0.0", "0.0.9", "0.1.0"),
        ("^0", "0.9.0", "1.0.0"),
        ("^1.2.3-0", "1.2.3-rc.1 1.9.0-a", "2.0.0-rc.1"),
        ("1.2 - 2", "1.2.0 2.9.9", "1.1.9 3.0.0"),
        ("1.2.3 - 2.3.4", "1.2.3 2.3.4", "2.3.5"),
        ("1.2 - 1.4 || ^3.1, !=3.2.1", "1.4.9 3.1.0", "1.5.0 3.2.1"),
        (">=v1.2.0, <2", "1.2.0", "2.0.0"),
        ("=>1.2.0", "1.2.0", "1.1.0"),
        (">= 1.2.0, < 2.0.0", "1.2.0", "2.0.0"),
        ("1.2", "1.2.0 1.2.9", "1.3.0"),
        (">=1.2", "1.2.0 4.0.0", "1.1.0"),
        (">11", "12.0.0", "11.1.0"),
        ("<=11", "11.5.0", "12.0.0"),
    ] {
        let parsed = Range::parse(range).unwrap();
        assert_eq!(parsed, Range::parse_masterminds(range).unwrap());
        assert_eq!(parsed.to_string(), range);
        check(&parsed, within, without);
    }
}

#[test]
fn the_dialects_differ_in_pre_releases() {
    let rc = version("1.5.0-rc.1");
    assert!(Range::parse_blang(">=1.0.0").unwrap().contains(&rc));
    assert!(!Range::parse_masterminds(">=1.0.0").unwrap().contains(&rc));
    assert!(Range::parse_masterminds(">=1.0.0-0").unwrap().contains(&rc));
}

#[test]
fn what_is_no_range_is_refused_with_the_reason() {
    for (text, reason) in [
        ("", "a part of it is empty"),
        ("||", "a part of it is empty"),
        (">=1.0.0 ||", "a part of it is empty"),
        (">=1.0.0,", "a part of it is empty"),
        (">=", "no version follows"),
        ("etcd.v1.2.3", "is no version"),
        ("x", "is no version"),
        ("1.x.3", "is no version"),
        ("01.2.3", "is no version"),
        ("1.2.3.4", "is no version"),
        ("1.2 -", "no version follows the hyphen"),
        (">1.2 - 2", "can't be the end"),
        ("~18446744073709551615", "too high a number"),
        ("99999999999999999999.0.0", "is no version"),
    ] {
        let error = Range::parse(text).unwrap_err().to_string();
        assert!(error.contains(reason), "{text:?}: {error}");
    }
    assert!(Range::parse_blang("1.2").is_err());
    assert!(Range::parse_blang("^1.2.0").is_err());
    assert!(Range::parse_blang("1.0.0,2.0.0").is_err());
    assert!(Range::parse(&">1.0.0 ".repeat(1_000)).is_err());
}

#[test]
fn ranges_without_an_upper_bound_are_known() {
    for (range, unbounded) in [
        (">=0.0.1", true),
        ("!1.0.0", true),
        ("*", true),
        ("!1.x", true),
        (">1.0.0 <2.0.0 || >3.0.0", true),
        (">=1.0.0 <2.0.0", false),
        ("1.x", false),
        ("^1", false),
        ("1 - 2", false),
        ("<6.0.0", false),
        ("1.2.3", false),
    ] {
        let found = Range::parse(range).unwrap().is_unbounded_above();
        assert_eq!(found, unbounded, "{range}");
    }
}

type Numbers = (u64, u64, u64);

fn numbers() -> impl Strategy<Value = Numbers> {
    (0_u64..4, 0_u64..4, 0_u64..4)
}

/// A version with numbers left out at its end.
fn partial() -> impl Strategy<Value = (Numbers, usize)> {
    (numbers(), 1_usize..=3)
}

fn written((numbers, given): (Numbers, usize), wildcard: bool) -> String {
    let all = [numbers.0, numbers.1, numbers.2];
    let mut parts: Vec<String> = all[..given].iter().map(u64::to_string).collect();
    if wildcard && given < 3 {
        parts.push("x".to_owned());
    }
    parts.join(".")
}

/// What an operator means, by comparing lists of numbers.
fn naive(operator: &str, (numbers, given): (Numbers, usize), version: Numbers) -> bool {
    let want = &[numbers.0, numbers.1, numbers.2][..given];
    let all = [version.0, version.1, version.2];
    let have = &all[..given];
    let mut full = [0; 3];
    full[..given].copy_from_slice(want);
    match operator {
        "" | "=" => have == want,
        "!=" => have != want,
        "<" => have < want,
        "<=" => have <= want,
        ">" => have > want,
        ">=" => have >= want,
        "~" => all >= full && all[..given.min(2)] == want[..given.min(2)],
        "^" => {
            // Up to and including the first number that isn't zero, or the last one given.
            let kept = want.iter().position(|number| *number > 0);
            let kept = kept.unwrap_or(given - 1) + 1;
            all >= full && all[..kept] == want[..kept]
        }
        other => panic!("{other}"),
    }
}

proptest! {
    #[test]
    fn masterminds_agrees_with_lists_of_numbers(
        parts in prop::collection::vec(
            prop::collection::vec(
                (prop::sample::select(vec!["", "=", "!=", "<", "<=", ">", ">=", "~", "^"]), partial(), any::<bool>()),
                1..4,
            ),
            1..3,
        ),
        seen in numbers(),
    ) {
        let text = parts.iter().map(|all| {
            let all: Vec<_> = all.iter()
                .map(|(operator, given, wildcard)| format!("{operator}{}", written(*given, *wildcard)))
                .collect();
            all.join(", ")
        }).collect::<Vec<_>>().join(" || ");
        let expected = parts.iter()
            .any(|all| all.iter().all(|(operator, given, _)| naive(operator, *given, seen)));
        let range = Range::parse_masterminds(&text).unwrap();
        prop_assert_eq!(range.contains(&Version::new(seen.0, seen.1, seen.2)), expected, "{}", text);
    }

    #[test]
    fn blang_agrees_with_lists_of_numbers(
        parts in prop::collection::vec(
            prop::collection::vec(
                (prop::sample::select(vec!["", "=", "!=", "<", "<=", ">", ">="]), partial()),
                1..4,
            ),
            1..3,
        ),
        seen in numbers(),
    ) {
        let text = parts.iter().map(|all| {
            let all: Vec<_> = all.iter()
                .map(|(operator, given)| format!("{operator}{}", written(*given, true)))
                .collect();
            all.join(" ")
        }).collect::<Vec<_>>().join("||");
        let expected = parts.iter()
            .any(|all| all.iter().all(|(operator, given)| naive(operator, *given, seen)));
        let range = Range::parse(&text).unwrap();
        prop_assert_eq!(range.contains(&Version::new(seen.0, seen.1, seen.2)), expected, "{}", text);
    }

    #[test]
    fn no_text_makes_it_panic(text in "[ -~]{0,40}", odd in "\\PC{0,20}", like in "[0-9x.*<>=!~^|, v-]{0,30}") {
        for text in [text, odd, like] {
            if let Ok(range) = Range::parse(&text) {
                prop_assert_eq!(range.to_string(), text);
                let _ = (range.contains(&Version::new(1, 2, 3)), range.is_unbounded_above());
            }
        }
    }
}
