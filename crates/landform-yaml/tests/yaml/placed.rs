//! Texts with the place of every value, where words of YAML 1.1 stay strings.

use landform_api::Budget;
use landform_yaml::parse_placed;
use serde_json::json;

#[test]
fn every_value_has_its_place() {
    let placed = parse_placed("a: 1\nb:\n- x\n- c/d: {e: 2}\n", &Budget::FILE).unwrap();
    assert_eq!(placed.value, json!({"a": 1, "b": ["x", {"c/d": {"e": 2}}]}));
    let place = |pointer: &str| placed.places.get(pointer).copied();
    assert_eq!(place(""), Some((1, 1)));
    assert_eq!(place("/a"), Some((1, 4)));
    assert_eq!(place("/b/0"), Some((3, 3)));
    assert_eq!(place("/b/1/c~1d/e"), Some((4, 12)));
    assert_eq!(place("/none"), None);
}

#[test]
fn words_stay_strings_and_are_listed() {
    let text = "y: yes\nOn: [no, \"off\", true, FALSE, !!bool n]\n";
    let placed = parse_placed(text, &Budget::FILE).unwrap();
    assert_eq!(
        placed.value,
        json!({"y": "yes", "On": ["no", "off", true, false, false]})
    );
    let words: Vec<_> = placed
        .words
        .iter()
        .map(|word| (word.line, word.column, word.text.as_str()))
        .collect();
    assert_eq!(
        words,
        [(1, 1, "y"), (1, 4, "yes"), (2, 1, "On"), (2, 6, "no")]
    );
}

#[test]
fn no_document_is_null_and_two_are_refused() {
    let nothing = parse_placed("# nothing\n", &Budget::FILE).unwrap();
    assert_eq!(nothing.value, json!(null));
    let error = parse_placed("a: 1\n---\nb: 2\n", &Budget::FILE).unwrap_err();
    assert_eq!(error.line, 3);
}

/// A long key stands in the pointers of all below it: there are not more of them than fit.
#[test]
fn pointers_take_no_more_memory_than_a_text_may() {
    let key = "k".repeat(1 << 20);
    let text = format!(
        "before: 1\n? {key}\n: [{}]\nlast: 1\n",
        "1,".repeat(100_000)
    );
    let placed = parse_placed(&text, &Budget::FILE).unwrap();
    let bytes: usize = placed.places.keys().map(String::len).sum();
    assert!(bytes < 64 << 20, "{bytes}");
    assert_eq!(placed.places.get("/before"), Some(&(1, 9)));
    assert_eq!(placed.value["last"], 1);
}
