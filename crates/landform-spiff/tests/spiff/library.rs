//! Every function has a row.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::check;

fn rows() -> Vec<(&'static str, Value)> {
    vec![
        ("abs(-1.5)", json!(1.5)),
        (
            "asjson({\"b\"=[1,~],\"a\"=\"x\"})",
            json!("{\"a\":\"x\",\"b\":[1,null]}"),
        ),
        ("asyaml({\"b\"=[1],\"a\"=\"x\"})", json!("a: x\nb:\n- 1\n")),
        ("base64(\"test\")", json!("dGVzdA==")),
        ("base64(\"abcdef\", 4)", json!("YWJj\nZGVm")),
        ("base64_decode(\"dGVz\\ndA==\")", json!("test")),
        ("basename(\"a/b\")", json!("b")),
        ("basename(\"http://h/a/b?c=d\")", json!("b")),
        ("bool(\"true\")", json!(true)),
        ("bool(0)", json!(false)),
        ("catch(5).value", json!(5)),
        ("catch(1 / 0).valid", json!(false)),
        ("ceil(1.5)", json!(2)),
        ("compact([\"a\",\"\",~,[],{},0])", json!(["a", 0])),
        ("contains([1,[2]],[2])", json!(true)),
        ("contains(\"foobar\",\"oob\")", json!(true)),
        ("contains({\"a\"=1},\"b\")", json!(false)),
        ("deepmerge([{\"a\"=1},{\"b\"=2}])", json!({"a": 1, "b": 2})),
        ("defined(imports.name)", json!(true)),
        ("defined(~)", json!(true)),
        ("defined(nowhere)", json!(false)),
        ("dirname(\"a/b\")", json!("a")),
        ("dirname(\"http://h/a/b\")", json!("/a")),
        ("dirname(\"a\")", json!(".")),
        ("element([1,2],1)", json!(2)),
        ("element({\"a.b\"=5},\"a.b\")", json!(5)),
        ("error(\"x\") || 1", json!(1)),
        ("float(\"1.5\")", json!(1.5)),
        ("floor(-1.5)", json!(-2)),
        (
            "format(\"%s-%d-%v %05d %t %.2f %x %q %-3s| %%\", \"a\", 5, [1], 42, true, 1.5, 255, \"z\", \"b\")",
            json!("a-5-- 1\n 00042 true 1.50 ff \"z\" b  | %"),
        ),
        (
            "hash(\"a\")",
            json!("ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"),
        ),
        (
            "hash(\"a\",\"sha1\")",
            json!("86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"),
        ),
        ("index([1,2],2)", json!(1)),
        ("index(\"foobar\",\"b\")", json!(3)),
        ("index([1],5)", json!(-1)),
        ("integer(\"5\")", json!(5)),
        ("integer(1.6)", json!(1)),
        ("intersect([1,2,[3]],[2,[3]])", json!([2, [3]])),
        (
            "join(\", \", \"bob\", imports.words, 10, ~)",
            json!("bob, b, a, 10"),
        ),
        ("keys(imports.map)", json!(["x", "z"])),
        ("lastindex([1,2,1],1)", json!(2)),
        (
            "length(imports.map) length(\"abc\") length([])",
            json!("230"),
        ),
        (
            "list_to_map(imports.list)",
            json!({"a": {"v": 1}, "b": {"v": 2}}),
        ),
        (
            "list_to_map([{\"k\"=\"a\",\"v\"=1}],\"k\")",
            json!({"a": {"v": 1}}),
        ),
        ("lower(\"AB\")", json!("ab")),
        ("makemap(\"a\",1,2,\"b\")", json!({"a": 1, "2": "b"})),
        ("makemap([{\"key\"=5,\"value\"=1}])", json!({"5": 1})),
        (
            "match(\"(f.*)(b.*)\",\"xxxfoobar\")",
            json!(["foobar", "foo", "bar"]),
        ),
        ("match(\"z\",\"foo\")", json!([])),
        ("match(\"o\",\"foo\",-1)", json!([["o"], ["o"]])),
        ("merge({\"a\"=1},{\"a\"=2,\"b\"=3})", json!({"a": 2})),
        ("optional(true, 5)", json!(5)),
        ("parse(\"{a: [1, yes]}\").a", json!([1, "yes"])),
        ("parse(\"a: 1\", \"text\")", json!("a: 1")),
        ("parse(\"a\\n---\\nb\", \"multiyaml\")", json!(["a", "b"])),
        ("read(\"data.yaml\")", json!({"a": [1, 2]})),
        ("replace(\"foobar\",\"o\",\"u\")", json!("fuubar")),
        ("replace(\"foobar\",\"o\",\"u\",1)", json!("fuobar")),
        (
            "replace_match(\"foobar\",\"(o*)b\",\"b${1}\")",
            json!("fbooar"),
        ),
        ("require(~) || 5", json!(5)),
        ("require(1)", json!(1)),
        ("reverse([1,2])", json!([2, 1])),
        ("round(1.5)", json!(2)),
        ("sort([\"b\",\"a\"])", json!(["a", "b"])),
        ("sort([10,9])", json!([9, 10])),
        ("sort([3,1,2],|a,b|->a > b)", json!([3, 2, 1])),
        (
            "sort([\"ccc\",\"a\",\"bb\",\"d\"],|a,b|->length(a) - length(b))",
            json!(["a", "d", "bb", "ccc"]),
        ),
        ("split(\",\",\"a,b\")", json!(["a", "b"])),
        ("split(\",\",\"a,b,c\",2)", json!(["a", "b,c"])),
        ("split(2,\"abcde\")", json!(["ab", "cd", "e"])),
        ("split_match(\"[,;]\",\"a,b;c\")", json!(["a", "b", "c"])),
        ("string(5) string(true)", json!("5true")),
        ("string(1.5)", json!("1.5")),
        ("stub(a.b) || 1", json!(1)),
        ("substr(\"foobar\",-2)", json!("ar")),
        ("substr(\"foobar\",1,-1)", json!("ooba")),
        ("trim(\" a \")", json!("a")),
        ("trim([\" a \",\"\\tb\"])", json!(["a", "b"])),
        ("trim(\"xax\",\"x\")", json!("a")),
        (
            "[type(1),type(1.5),type(true),type(\"\"),type([]),type({}),type(~),type(~~)]",
            json!([
                "int", "float", "bool", "string", "list", "map", "nil", "undef"
            ]),
        ),
        ("uniq([1,2,1,\"1\"])", json!([1, 2])),
        ("upper(\"ab\")", json!("AB")),
        ("valid(imports.name)", json!(true)),
        ("valid(imports.nothing)", json!(false)),
    ]
}

#[test]
fn functions_answer_as_in_spiff() {
    check(&rows());
}

#[test]
fn every_function_has_a_row() {
    let rows = rows();
    let missing: BTreeSet<_> = landform_spiff::function_names()
        .iter()
        .filter(|name| {
            !rows
                .iter()
                .any(|(row, _)| row.contains(&format!("{name}(")))
        })
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_function_is_in_the_documentation() {
    let documentation = include_str!("../../../../docs/templates.md");
    let spiff = documentation.split("## Spiff").nth(1).unwrap_or_default();
    let missing: BTreeSet<_> = landform_spiff::function_names()
        .iter()
        .filter(|name| !spiff.contains(&format!("`{name}`")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
