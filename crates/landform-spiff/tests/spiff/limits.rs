//! Documents that want too much end with an error.

use landform_spiff::{Bindings, Document, ErrorKind};
use landform_template::Environment;
use serde_json::{Value, json};

use crate::evaluate;

fn is_limited(text: &str, word: &str) {
    let errors = evaluate(text, None).unwrap_err();
    let shown = format!("{text:.200}\n{errors:?}");
    assert_eq!(errors[0].kind, ErrorKind::Limit, "{shown}");
    assert!(errors[0].message.contains(word), "{shown}");
}

/// Nodes that double the one before: the last has 2^n times its size.
fn doubling(first: &str, next: &str) -> String {
    let mut text = format!("n0: {first}\n");
    for at in 1..60 {
        let previous = at - 1;
        text.push_str(&format!(
            "n{at}: (( {} ))\n",
            next.replace('N', &format!("n{previous}"))
        ));
    }
    text
}

#[test]
fn what_grows_without_end_is_stopped() {
    is_limited(&doubling("xxxxxxxxxxxxxxxx", "N N"), "bytes");
    is_limited(&doubling("[1]", "N N"), "bytes");
    is_limited(&doubling("[1]", "[N, N]"), "");
    is_limited(&doubling("{a: 1}", "{\"a\"=N,\"b\"=N}"), "");
    is_limited(&doubling("{a: 1}", "asjson([N, N])"), "");
    is_limited("a: (( [1 .. 1000000000000] ))", "bytes");
    is_limited(
        "a: (( sum[[1 .. 1000000]|\"\"|s,x|->s \"xxxxxxxxxxxxxxxxxxxxxxxxxx\"] ))",
        "",
    );
    is_limited(
        "a: (( format(\"%999s\", join(\"\", map[[1 .. 200000]|x|->\"xxxxxxxxxxxxxxxxxxxxxxxx\"])) ))",
        "bytes",
    );
}

#[test]
fn what_never_ends_is_stopped() {
    is_limited("a: (( (|x|->_(x))(1) ))", "deeper");
    is_limited("t: (( &template(*t) ))\na: (( *t ))", "deeper");
    is_limited(
        "a: (( sum[[1 .. 300000]|(|x|->x)|s,i|->(|x|->s)] ))",
        "deeper",
    );
    let nested = "map[[1 .. 300]|x|->".repeat(8) + "1" + &"]".repeat(8);
    is_limited(&format!("a: (( {nested} ))"), "");
}

/// References may be long chains, to a depth that is the same on all machines.
#[test]
fn chains_of_references_have_a_limit() {
    let chain = |length: usize| {
        let mut text = String::from("last: 1\n");
        for at in 0..length {
            let next = if at + 1 == length {
                "last".to_owned()
            } else {
                format!("n{:04}", at + 1)
            };
            text.push_str(&format!("n{at:04}: (( {next} ))\n"));
        }
        text
    };
    assert!(evaluate(&chain(200), None).is_ok());
    is_limited(&chain(5_000), "deeper");
}

#[test]
fn deep_texts_are_refused() {
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("!", ""),
        ("*", ""),
        ("{\"a\"=", "}"),
        ("|x|->", ""),
        ("true ? ", " :1"),
        ("map[", "|x|->x]"),
        ("f(", ")"),
    ] {
        let inner = format!("{}1{}", open.repeat(5_000), close.repeat(5_000));
        let errors = evaluate(&json!({"a": format!("(( {inner} ))")}).to_string(), None);
        let error = &errors.unwrap_err()[0];
        assert_eq!(error.kind, ErrorKind::Syntax, "{open}");
        assert!(
            error.message.contains("nested") || error.message.contains("long"),
            "{error}"
        );
    }
}

/// The deepest evaluation that the limits allow fits on a small stack, also without optimisation.
#[test]
fn the_stack_is_large_enough_for_the_deepest_evaluation() {
    let run = || {
        let mut deep = json!("(( (|x|->x > 0 ? [map[[x]|y|->(_(y - 1))]] :x)(500) ))");
        for _ in 0..45 {
            deep = json!({"a": [deep]});
        }
        let errors = evaluate(&deep.to_string(), None).unwrap_err();
        assert_eq!(errors[0].kind, ErrorKind::Limit);
        let nested = "(".repeat(38) + "1" + &")".repeat(38);
        assert!(evaluate(&json!({"a": format!("(( {nested} ))")}).to_string(), None).is_ok());
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(run);
    thread.unwrap().join().unwrap();
}

/// Values that were given are never too deep to be taken.
#[test]
fn deep_values_of_bindings_are_an_error() {
    let mut deep = json!(1);
    for _ in 0..120 {
        deep = json!([deep]);
    }
    let values = json!({"deep": deep}).as_object().cloned().unwrap();
    let bindings = Bindings {
        values,
        state: None,
    };
    let document = Document::parse("test", "a: (( deep ))").unwrap();
    let errors = document
        .evaluate(&bindings, &Environment::default())
        .unwrap_err();
    assert_eq!(errors[0].kind, ErrorKind::Limit);
    let value: Value = json!({"a": 1});
    let document = Document::parse("test", "a: 1").unwrap();
    assert_eq!(
        document
            .evaluate(&bindings, &Environment::default())
            .unwrap()
            .value,
        value
    );
}

/// A long name is not repeated for each node below it.
#[test]
fn long_names_above_many_nodes_cost_little() {
    let name = "k".repeat(1 << 20);
    let items = "(( imports.name )),".repeat(50_000);
    let text = format!("? {name}\n: [{items}]\n");
    let value = evaluate(&text, None).unwrap().value;
    assert_eq!(value[&name][49_999], "ada");
    let text = format!("? {name}\n: [{items}(( nowhere ))]\n");
    let errors = evaluate(&text, None).unwrap_err();
    assert!(errors[0].to_string().len() < 1_000);
}

/// Attacks by patterns: large ones, searches that look to the end for each match, many different ones.
#[test]
fn patterns_cost_what_they_compute() {
    let long = "a".repeat(200_000);
    let table = [
        format!("a: (( map[[1 .. 1000]|x|->match(\"(a{{1,100}}){{1,100}}b\", t)] ))\nt: {long}\n"),
        format!("a: (( match(\"a*?b|a\", t, 1000000) ))\nt: {long}\n"),
        format!("a: (( replace_match(t, \"a*?b|a\", \"\") ))\nt: {long}\n"),
        format!("a: (( split_match(\"a*?b|a\", t) ))\nt: {long}\n"),
    ];
    for text in &table {
        is_limited(text, "steps");
    }
}
