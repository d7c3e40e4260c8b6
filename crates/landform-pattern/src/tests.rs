//! What is charged, in numbers; and that what is found is what the `regex` crate finds.

use std::cell::Cell;

use proptest::prelude::*;

use super::*;

fn pattern(text: &str) -> Pattern {
    Pattern::compile(text, Price::of(text).unwrap()).unwrap()
}

/// The steps that something charges.
fn charged<T>(work: impl FnOnce(&dyn Fn(usize) -> Result<(), ()>) -> T) -> usize {
    let sum = Cell::new(0_usize);
    work(&|steps| {
        sum.set(sum.get().saturating_add(steps));
        Ok(())
    });
    sum.get()
}

#[test]
fn a_search_costs_the_pattern_times_the_text() {
    let text = "a".repeat(10_000);
    // (pattern, the fewest and the most steps)
    let table = [
        ("b", 600, 700),
        ("a*b", 1_800, 2_600),
        (r"\d+", 2_500, 8_000),
        ("(a{1,100}){1,100}b", 10_000_000, 30_000_000),
        ("a{1,1000}b", 1_000_000, 2_000_000),
        ("(a?){500}", 600_000, 2_000_000),
        ("((a{1,30}){1,30}){1,30}", 30_000_000, usize::MAX),
    ];
    for (text_of_pattern, least, most) in table {
        let price = Price::of(text_of_pattern).unwrap();
        let steps = price.steps_of(text.len());
        assert!(
            (least..=most).contains(&steps),
            "{text_of_pattern}: {steps}"
        );
    }
}

#[test]
fn all_matches_are_charged_for_what_each_search_looks_at() {
    let text = "a".repeat(4_000);
    let all = |text_of_pattern: &str, text: &str| {
        let pattern = pattern(text_of_pattern);
        charged(|charge| pattern.find_all(text, usize::MAX, charge))
    };
    // Each search looks to the end of the text for a b, and finds one a.
    for quadratic in ["a*?b|a", "a*b|a", "(a|a)*b|a", "a(a*b)?"] {
        let steps = all(quadratic, &text);
        assert!(steps > 1_000_000, "{quadratic}: {steps}");
    }
    // These look at each byte about once.
    let words = "some words, of a text. ".repeat(200);
    for linear in ["a", r"\W+", r"\s*,\s*", r"[a-z]+", "^", "$", r"\b"] {
        let steps = all(linear, &words);
        assert!(steps < 20_000, "{linear}: {steps}");
    }
    // Where it can't be measured it is charged as if all were looked at.
    let steps = all(r"\bä", &"ä ".repeat(500));
    assert!(steps > 10_000, "{steps}");
}

#[test]
fn a_search_that_is_not_paid_is_not_made() {
    let text = "a".repeat(1_000_000);
    let pattern = pattern("a*?b|a");
    let charges = Cell::new(0_usize);
    let result = pattern.find_all(&text, usize::MAX, |steps| {
        charges.set(charges.get() + steps);
        if charges.get() > 5_000 {
            Err("enough")
        } else {
            Ok(())
        }
    });
    assert_eq!(result.unwrap_err(), "enough");
    // What was done without being paid is one piece at most.
    assert!(charges.get() < 6_000, "{}", charges.get());
}

#[test]
fn what_is_no_pattern_or_too_large_is_refused() {
    let table = [
        ("(", Refused::Malformed),
        ("*", Refused::Malformed),
        (r"(\w)\1", Refused::Malformed),
    ];
    for (text, refused) in table {
        assert_eq!(Price::of(text), Err(refused), "{text}");
    }
    assert_eq!(
        Price::of(&"(".repeat(500)),
        Err(Refused::Malformed),
        "depth"
    );
    assert_eq!(Price::of(&r"\w".repeat(10_000)), Err(Refused::TooLarge));
    assert_eq!(Price::of(r"\w{1000}"), Err(Refused::TooLarge));
    assert_eq!(Price::of("((a{1000}){1000}){1000}"), Err(Refused::TooLarge));
    let large = r"\w{120}";
    let price = Price::of(large).unwrap();
    assert!(price.steps_to_compile() > 50_000);
    assert_eq!(
        Pattern::compile(large, price).unwrap_err(),
        Refused::TooLarge
    );
    assert!(Price::of("^[a-z0-9-]{1,63}$").unwrap().steps_to_compile() < 1_000);
}

proptest! {
    #[test]
    fn what_is_found_is_what_is_there(
        text in "[ab ä\n]{0,40}",
        of in prop::sample::select(vec!["a", "a*", "a*?b|a", r"\b", "", "(a)(b)?", r"\w+", "$", "(?m)^", "ä|a ", r"\bä"]),
        most in 0_usize..10,
    ) {
        let pattern = pattern(of);
        let free = |_| Ok::<(), ()>(());
        let expected: Vec<_> = pattern.regex.find_iter(&text).take(most).map(|m| m.range()).collect();
        let found = pattern.find_all(&text, most, free).unwrap();
        prop_assert_eq!(found.iter().map(Match::range).collect::<Vec<_>>(), expected.clone());
        let mut groups = Vec::new();
        pattern.each_captures(&text, most, free, |found| {
            groups.push(found.get(0).unwrap().range());
            Ok(())
        }).unwrap();
        prop_assert_eq!(groups, expected);
        prop_assert_eq!(pattern.is_match(&text, free).unwrap(), pattern.regex.is_match(&text));
    }
}
