//! Rules and objects that are made to take the server's time, memory or stack.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{check, spec, with_spec};
use crate::Schema;

/// The least that a thread of the server has.
const SMALL_STACK: usize = 1 << 20;

/// Carries out something on a thread with a small stack: an overflow aborts the whole test.
fn on_a_small_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(SMALL_STACK);
        let thread = builder.spawn_scoped(scope, work).expect("a thread");
        thread.join().expect("no panic")
    })
}

/// A schema of texts, lists and maps with these rules.
fn schema(rules: &[String]) -> Result<Schema, Vec<String>> {
    let text = json!({"type": "string"});
    let rules: Vec<Value> = rules.iter().map(|rule| json!({"rule": rule})).collect();
    with_spec(
        &json!({"type": "object", "x-kubernetes-validations": rules, "properties": {
            "s": text,
            "l": {"type": "array", "maxItems": 400_000, "items": {"type": "integer"}},
            "a": {"type": "object", "additionalProperties": {"type": "integer"}},
            "b": {"type": "object", "additionalProperties": {"type": "integer"}},
        }}),
    )
}

fn messages(schema: &Schema, spec: &Value) -> Vec<String> {
    let errors = schema.validate(&json!({"spec": spec}), None);
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn calls_in_calls_are_evaluated_once() {
    type Nest = fn(&str) -> String;
    let nests: [(&str, Nest); 10] = [
        ("'b'", |inner| format!("self.s.replace('b', {inner})")),
        ("'b'", |inner| {
            format!("string(self.s.lastIndexOf({inner}))")
        }),
        ("'b'", |inner| format!("string(self.s.indexOf({inner}))")),
        ("'b'", |inner| format!("[self.s].join({inner})")),
        ("'b'", |inner| format!("{inner}.replace('b', 'b')")),
        ("'b'", |inner| {
            format!("([1].all(x, {inner} != 'c') ? 'b' : 'c')")
        }),
        ("'b'", |inner| {
            format!("([1].exists(x, {inner} != 'c') ? 'b' : 'c')")
        }),
        ("'b'", |inner| {
            format!("([1].exists_one(x, {inner} != 'c') ? 'b' : 'c')")
        }),
        ("'b'", |inner| format!("['b'].filter(x, {inner} != 'c')[0]")),
        ("'b'", |inner| format!("[1].map(x, {inner} != 'c', 'b')[0]")),
    ];
    for (innermost, nest) in nests {
        let rule = (0..26).fold(innermost.to_owned(), |inner, _| nest(&inner));
        let start = Instant::now();
        let schema = schema(&[format!("{rule} != ''")]).expect(&rule);
        assert_eq!(messages(&schema, &json!({"s": "ab"})), Vec::<String>::new());
        let took = start.elapsed();
        assert!(took < Duration::from_secs(5), "{rule}: {took:?}");
    }
}

#[test]
fn no_expression_overflows_the_stack() {
    let many = |part: &str, times: usize| part.repeat(times);
    let starts = [
        "",
        "true // '\n && ",
        "true // \"\n && ",
        r"r'\' == '' || ",
        r#"'''it's''' == '' || "#,
        r"b'\'' == b'' || '",
    ];
    let parts = [
        "1+", "1+1*1-", "(", "[", "{1:", "-", "!", "a?", "a?1:", "self.", "self[", "1==", "1<",
        "true&&", "true||", "1 in ", "has(", "'a'+", "// '\n1+", ".a", "[0]", ".?a", "[?0]",
    ];
    on_a_small_stack(|| {
        for start in starts {
            for part in parts {
                for times in [100, 900, 16_000 / part.len()] {
                    for end in ["1 == 1", ""] {
                        let rule = format!("{start}{}{end}", many(part, times));
                        let rule = json!([{"rule": rule, "message": "no"}]);
                        if let Ok(schema) = with_spec(&spec(&rule)) {
                            let _ = schema.validate(&json!({"spec": {"min": 1}}), None);
                        }
                    }
                }
            }
        }
    });
}

#[test]
fn operators_are_counted_outside_of_literals_and_comments_only() {
    let plus = "+".repeat(2_000);
    for rule in [
        format!("self.name != '{plus}'"),
        format!("self.name != \"{plus}\""),
        format!(r"self.name != r'\' && self.name != '{plus}'"),
        format!(r"self.name != '\'{plus}'"),
        format!("self.min > 0 // {plus}"),
    ] {
        assert_eq!(
            check(&rule, &json!({"min": 1, "name": "x"}), None),
            Vec::<String>::new(),
            "{rule}"
        );
    }
    let sum = "1 + ".repeat(1_100);
    for rule in [
        format!("true // '\n && {sum}1 > 0"),
        format!(r"self.name != r'\' && {sum}1 > 0 && self.name != '\''"),
        format!("self.name != '''it's''' && {sum}1 > 0"),
    ] {
        let rules = json!([{"rule": rule, "message": "no"}]);
        let errors = with_spec(&spec(&rules)).expect_err(&rule);
        assert!(errors[0].contains("operators"), "{errors:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn random_expressions_do_not_abort(
        pieces in prop::collection::vec((0..24_usize, 1..700_usize), 1..12)
    ) {
        const PIECES: [&str; 24] = [
            "1+", "1", "'", "\"", "'''", "\"\"\"", "r'", "b\"", "\\", "// ", "\n", "(", ")", "!", "-", "&&",
            "||", "true", "self.min", "[", "]", "?1:", ".a", "{",
        ];
        let text: String = pieces
            .iter()
            .map(|(piece, times)| PIECES[*piece].repeat(*times))
            .collect();
        let schema = json!([{"rule": text, "message": "no"}]);
        on_a_small_stack(|| {
            if let Ok(schema) = with_spec(&spec(&schema)) {
                let _ = schema.validate(&json!({"spec": {"min": 1}}), None);
            }
        });
    }
}

#[test]
fn functions_cost_the_same_in_both_forms() {
    let numbers: Vec<usize> = (0..60_000).collect();
    let long = "a".repeat(60_000);
    for rule in [
        "distinct(self.l).size() > 0",
        "self.l.distinct().size() > 0",
        "replace(self.s, 'a', self.s).size() > 0",
        "indexOf(self.s, self.s.substring(30000) + 'b') < 0",
        "lastIndexOf(self.s, 'b' + self.s.substring(30000)) < 0",
        "join(self.l.map(x, string(x)), self.s).size() > 0",
        "sum(self.l.map(x, self.s)).size() > 0",
        "self.l.map(x, self.s.substring(0, 9000)).sum().size() > 0",
        "bytes(self.s).contains(bytes('b' + self.s.substring(30000)))",
    ] {
        let schema = schema(&[rule.to_owned()]).expect(rule);
        let start = Instant::now();
        let errors = messages(&schema, &json!({"s": long, "l": numbers}));
        let took = start.elapsed();
        assert!(
            errors.join(" ").contains("call cost exceeds limit"),
            "{rule}: {errors:?}"
        );
        assert!(took < Duration::from_secs(5), "{rule}: {took:?}");
    }
    // What is put into a list or map is a copy.
    for (begin, between, end) in [
        ("[", ", ", "][0]"),
        ("[", "] + [", "][0]"),
        ("{0: ", "}[0].size() + {0: ", "}[0]"),
    ] {
        let rule = format!(
            "{begin}{}{end}.size() > 0",
            vec!["self.l"; 20].join(between)
        );
        let schema = schema(std::slice::from_ref(&rule)).expect(&rule);
        let errors = messages(&schema, &json!({"l": numbers}));
        assert!(
            errors.join(" ").contains("call cost exceeds limit"),
            "{rule}: {errors:?}"
        );
    }
    for rule in [
        "distinct([1, 1, 2]) == [1, 2]",
        "replace('a-b', '-', '+') == 'a+b'",
        "indexOf('abc', 'c') == 2",
        "[1, 2].sum() == 3 && [2, 1].sort() == [1, 2] && sort([2, 1]) == [1, 2]",
    ] {
        assert!(check(rule, &json!({"min": 1}), None).is_empty(), "{rule}");
    }
}

#[test]
fn the_keys_of_a_map_cost_what_they_are_long() {
    let schema = schema(&["self.l.all(x, self.a == self.b)".to_owned()]).expect("a schema");
    let map = json!({"k".repeat(1_300_000): 1});
    let numbers = vec![1; 10_000];
    let start = Instant::now();
    let errors = messages(&schema, &json!({"a": map, "b": map, "l": numbers}));
    assert!(errors[0].contains("cost"), "{errors:?}");
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn each_rule_pays_for_the_values_that_it_sees() {
    let rules: Vec<String> = (0..900)
        .map(|n| format!("self.a['0'] == 0 && {n} >= 0"))
        .collect();
    let small = schema(&rules).expect("a schema");
    let map: serde_json::Map<String, Value> =
        (0..5_000).map(|n| (n.to_string(), json!(0))).collect();
    let start = Instant::now();
    let errors = messages(&small, &json!({"a": map}));
    let took = start.elapsed();
    assert!(
        errors.join(" ").contains("running out of cost budget"),
        "{errors:?}"
    );
    assert!(took < Duration::from_secs(10), "{took:?}");
    // Rules of each entry of a long list.
    let rules: Vec<Value> = (0..900)
        .map(|n| json!({"rule": format!("{n} >= 0")}))
        .collect();
    let entries = with_spec(
        &json!({"type": "object", "properties": {"l": {"type": "array",
        "items": {"type": "integer", "x-kubernetes-validations": rules}}}}),
    )
    .expect("a schema");
    let numbers: Vec<usize> = (0..300_000).collect();
    let start = Instant::now();
    let errors = messages(&entries, &json!({"l": numbers}));
    let took = start.elapsed();
    assert!(
        errors.join(" ").contains("running out of cost budget"),
        "{errors:?}"
    );
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn the_first_hundred_refusals_of_rules_are_reported() {
    let schema = with_spec(
        &json!({"type": "object", "properties": {"l": {"type": "array", "maxItems": 20_000,
        "items": {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 0"}]}}}}),
    )
    .expect("a schema");
    let numbers: Vec<usize> = (0..20_000).collect();
    assert_eq!(messages(&schema, &json!({"l": numbers})).len(), 100);
}

#[test]
fn a_definition_has_a_budget_for_its_rules() {
    let long = vec!["self.s != 'some longer text'"; 25].join(" && ");
    let table = [
        (vec!["true".to_owned(); 8_000], "rules"),
        (vec![long.clone(); 1_500], "bytes"),
    ];
    for (rules, what) in table {
        let start = Instant::now();
        let errors = schema(&rules).expect_err("too many");
        let took = start.elapsed();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].contains("together"), "{errors:?}");
        assert!(errors[0].contains(what), "{errors:?}");
        assert!(took < Duration::from_secs(20), "{took:?}");
    }
    // The parser takes the square of their number for brackets, and repeats the text for each problem that it finds.
    for text in ["[".repeat(999), "a.map(x,".repeat(400), "1 ".repeat(7_000)] {
        let text = format!("{text}{}", " ".repeat(15_000 - text.len()));
        let start = Instant::now();
        let errors = schema(&vec![text; 16]).expect_err("no expression");
        assert!(errors.iter().all(|error| error.len() < 6_000));
        let took = start.elapsed();
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
    // What is allowed doesn't take long.
    let start = Instant::now();
    schema(&vec![long; 300]).expect("within the budget");
    let took = start.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
    // Fields are looked up by name, however many there are.
    let fields: serde_json::Map<String, Value> = (0..20_000)
        .map(|n| (format!("f-{n}"), json!({"type": "integer"})))
        .collect();
    let rules: Vec<Value> = (0..200)
        .map(|n| {
            let terms: Vec<String> = (0..20)
                .map(|m| format!("self.f__dash__{}", n + m))
                .collect();
            json!({"rule": format!("{} > 0", terms.join(" + "))})
        })
        .collect();
    let start = Instant::now();
    with_spec(&json!({"type": "object", "properties": fields, "x-kubernetes-validations": rules}))
        .expect("many fields");
    let took = start.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn a_quantity_has_a_size_that_can_be_computed_with() {
    let rule = |text: &str| format!("quantity('{text}').compareTo(quantity('1')) == 1");
    for text in ["2", "1.5", "1e3", "3E6", "2Gi", "1e18"] {
        assert!(
            check(&rule(text), &json!({"min": 1}), None).is_empty(),
            "{text}"
        );
        assert!(check(&format!("isQuantity('{text}')"), &json!({"min": 1}), None).is_empty());
    }
    for text in [
        "1e999999999",
        "1e-999999999",
        "1e99",
        "1E+40",
        "9999999999999999999999999999999999999",
        "x",
    ] {
        let errors = check(&rule(text), &json!({"min": 1}), None);
        assert!(errors[0].contains("quantity"), "{text}: {errors:?}");
        assert!(!errors[0].contains("internal error"), "{text}: {errors:?}");
        let is_none = format!("!isQuantity('{text}')");
        assert!(
            check(&is_none, &json!({"min": 1}), None).is_empty(),
            "{text}"
        );
    }
}
