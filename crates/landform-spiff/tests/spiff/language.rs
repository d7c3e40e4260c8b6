//! Expressions: references, operators, literals, functions.

use serde_json::json;

use crate::{check, expression};

#[test]
fn references_go_through_maps_lists_and_names() {
    check(&[
        ("imports.name", json!("ada")),
        (".imports.name", json!("ada")),
        ("imports.map.z.deep[1]", json!(8)),
        ("imports.map.z.deep.[1]", json!(8)),
        ("imports.map.z.deep[-1]", json!(8)),
        ("imports.list[1].v", json!(2)),
        ("imports.list.b.v", json!(2)),
        ("imports[\"name\"]", json!("ada")),
        ("imports.[\"na\" \"me\"]", json!("ada")),
        ("imports.map[\"z\",\"deep\",0]", json!(7)),
        ("imports.map.[[\"z\",\"deep\"]]", json!([7, 8])),
        ("imports.nothing", json!(null)),
        ("__ctx.OUTER[0].[\"dotted.name\"]", json!("found")),
        ("imports.list[0..0]", json!([{"name": "a", "v": 1}])),
        ("imports.list.[*].v", json!([1, 2])),
        ("imports.map.[*]", json!([1, {"deep": [7, 8]}])),
        ("[1,2,3,4].[1..2]", json!([2, 3])),
        ("[1,2,3,4].[-2..]", json!([3, 4])),
        ("[1,2,3,4].[..1]", json!([1, 2])),
        ("{\"a\"=[1,2]}.a[1]", json!(2)),
        ("(imports.map).x", json!(1)),
        (
            "[{\"b\"=[1,2]},{\"b\"=[3]}].[*].b.[*]",
            json!([[1, 2], [3]]),
        ),
    ]);
}

#[test]
fn alternatives_take_the_first_that_is_there() {
    check(&[
        ("imports.none.x || 1", json!(1)),
        ("imports.nowhere || imports.name", json!("ada")),
        ("nowhere || nowhere.else || 5", json!(5)),
        ("false || true", json!(false)),
        ("imports.nothing || 1", json!(null)),
        ("imports.nothing // 1", json!(1)),
        ("~~ || 3", json!(3)),
        ("1 / 0 || 4", json!(4)),
        ("error(\"no\") || 5", json!(5)),
        ("nowhere || ~~", json!("<left out>")),
        ("nowhere \"x\" || \"y\"", json!("y")),
        ("imports.none.x || imports.list.a ? 1 :2", json!(1)),
    ]);
}

#[test]
fn values_side_by_side_are_joined() {
    check(&[
        (
            "\"v\" imports.version \"-\" imports.count true",
            json!("v1.2-3true"),
        ),
        ("1 + 1 \"a\"", json!("2a")),
        ("3 -2", json!("3-2")),
        ("[1,2] [3]", json!([1, 2, 3])),
        ("[1] 2 \"x\" {}", json!([1, 2, "x", {}])),
        ("{\"a\"=1, \"b\"=1} {\"b\"=2}", json!({"a": 1, "b": 2})),
        ("\"a\" imports.name == \"x\"", json!("afalse")),
        ("\"a\" (\"b\")", json!("ab")),
        ("imports.words [0]", json!(["b", "a", 0])),
        ("[1] imports.nothing {}", json!([1, {}])),
        ("{\"a\"=1} imports.nothing", json!({"a": 1})),
    ]);
}

#[test]
fn arithmetic_and_comparison() {
    check(&[
        ("1 + 2 * 3", json!(7)),
        ("( 1 + 2 ) * 3", json!(9)),
        ("10 - 2 - 3", json!(5)),
        ("7 / 2", json!(3)),
        ("7.0 / 2", json!(3.5)),
        ("6 / 3.0", json!(2)),
        ("-7 % 3", json!(-1)),
        ("imports.ratio + 1", json!(2.5)),
        ("imports.count > 2", json!(true)),
        ("imports.count >= 4", json!(false)),
        ("1 < 1.5", json!(true)),
        ("\"a\" < \"b\"", json!(true)),
        ("1 == \"1\"", json!(true)),
        ("true == \"true\"", json!(true)),
        ("1 == 1.0", json!(true)),
        ("imports.nothing == ~", json!(true)),
        ("imports.nothing == 1", json!(false)),
        ("[1, {\"a\"=~}] == [1, {\"a\"=~}]", json!(true)),
        ("[] == {}", json!(false)),
        ("1 != 2", json!(true)),
        (
            "9223372036854775807 + 1",
            json!(9_223_372_036_854_775_808_u64),
        ),
    ]);
}

#[test]
fn conditions() {
    check(&[
        ("true ? 1 : 2", json!(1)),
        ("imports.none ? 1 :2", json!(2)),
        ("\"\" ? 1 :2", json!(2)),
        ("~ ? 1 :2", json!(2)),
        ("0 ? 1 :2", json!(2)),
        ("1 == 1?2:3", json!(2)),
        ("1 > 2 ? \"a\" :1 > 0 ? \"b\" :\"c\"", json!("b")),
        ("false ? nowhere :5", json!(5)),
        ("1 == 2 ? 1 :~~", json!("<left out>")),
        ("!true", json!(false)),
        ("! imports.none", json!(true)),
        ("1 == 1 -and 2 == 2", json!(true)),
        ("false -and nowhere", json!(false)),
        ("true -or nowhere", json!(true)),
        ("5 -or 6", json!(7)),
        ("5 -and 6", json!(4)),
        ("!(true -and false)", json!(true)),
    ]);
}

#[test]
fn literals() {
    check(&[
        ("\"a\\n\\u0041\\\"\"", json!("a\nA\"")),
        ("$name", json!("name")),
        ("1_000", json!(1000)),
        ("1.5e3", json!(1500)),
        ("-3", json!(-3)),
        ("nil", json!(null)),
        ("~", json!(null)),
        ("~~", json!("<left out>")),
        ("10.0.0.1", json!("10.0.0.1")),
        ("[]", json!([])),
        ("[1, imports.words..., 2]", json!([1, "b", "a", 2])),
        ("[~~]", json!("<left out>")),
        ("[1 .. 3]", json!([1, 2, 3])),
        ("[3..1]", json!([3, 2, 1])),
        ("{}", json!({})),
        (
            "{$a=1, \"b\"={imports.name=~~}}",
            json!({"a": 1, "b": {"ada": null}}),
        ),
        ("( \"alice\" = 25, $bob = 1 ) alice + bob", json!(26)),
        ("( $a = 1 ) ( $b = a ) b", json!(1)),
        ("() 5", json!(5)),
        ("((1))", json!(1)),
    ]);
}

#[test]
fn lists_and_maps_are_gone_through() {
    check(&[
        ("map[imports.list|x|->x.v + 1]", json!([2, 3])),
        ("map[imports.list|i,x|->i]", json!([0, 1])),
        ("map[imports.map|k,v|->k]", json!(["x", "z"])),
        ("map[[1,2]|x|->x == 1 ? ~ :x]", json!([2])),
        ("map[[1,2]|x|->x == 1 ? ~~ :x]", json!([2])),
        (
            "map[[[1,2],[3]]|x|->map[x|q|->q + 1]]",
            json!([[2, 3], [4]]),
        ),
        ("map{imports.map|k,v|->k}", json!({"x": "x", "z": "z"})),
        (
            "map{[\"a\",\"b\"]|x|->x \"!\"}",
            json!({"a": "a!", "b": "b!"}),
        ),
        (
            "select[imports.list|x|->x.v > 1]",
            json!([{"name": "b", "v": 2}]),
        ),
        ("select[imports.map|k,v|->k == \"x\"]", json!([1])),
        ("select{imports.map|v|->v == 1}", json!({"x": 1})),
        ("filter[[1,2,3]|i,x|->i % 2]", json!([2])),
        ("filter{imports.map|k,v|->k == \"x\"}", json!({"x": 1})),
        ("sum[imports.list|0|s,x|->s + x.v]", json!(3)),
        ("sum[[1,2,3]|0|s,i,x|->s + i * x]", json!(8)),
        (
            "sum[imports.map|[]|s,k,v|-> s [{\"key\" = k, \"value\" = v}]]",
            json!([{"key": "x", "value": 1}, {"key": "z", "value": {"deep": [7, 8]}}]),
        ),
        ("catch[1 / 0|v,e|->[v, valid(e)]]", json!([null, true])),
        ("catch[5|v|->v]", json!(5)),
    ]);
}

#[test]
fn functions_are_values() {
    check(&[
        ("(|x|->x + 1)(2)", json!(3)),
        ("(lambda |x|->x + 1)(2)", json!(3)),
        ("(|a,b=2|->a + b)(1)", json!(3)),
        ("(|a,b=2|->a + b)(b=5,1)", json!(6)),
        ("(|a,b...|->[a] b)(1,2,3)", json!([1, 2, 3])),
        ("(|x...|->x)()", json!([])),
        ("((|a,b|->a + b)*(1))(2)", json!(3)),
        ("((|a,b|->a + b)(1))(2)", json!(3)),
        ("(|x|->|y|->x * y)(2)(3)", json!(6)),
        ("(|x|-> x <= 1 ? x :_(x - 2) + _(x - 1))(10)", json!(55)),
        ("[{\"f\"=|x|->x}].[*].f(5)", json!([5])),
        ("type(|x|->x)", json!("lambda")),
        // They have no place in the output.
        ("|x|->x", json!("<left out>")),
    ]);
}

#[test]
fn functions_of_the_caller_are_called() {
    check(&[
        (
            "twice(1, imports.words)",
            json!([[1, ["b", "a"]], [1, ["b", "a"]]]),
        ),
        ("read(\"VERSION\")", json!("1.0.0\n")),
        (
            "\"v\" trim(read(\"VERSION\", \"text\"), \"\\n\")",
            json!("v1.0.0"),
        ),
        ("read(\"data.yaml\").a[1]", json!(2)),
        ("read(\"none\") || 0", json!(0)),
    ]);
}

/// Whatever data says, it is data: no expression comes from it.
#[test]
fn values_of_bindings_are_never_expressions() {
    check(&[
        ("imports.expression", json!("(( 1 + 1 ))")),
        ("[imports.expression]", json!(["(( 1 + 1 ))"])),
        ("parse(\"{a: \\\"(( 1 ))\\\"}\")", json!({"a": "(( 1 ))"})),
    ]);
}

#[test]
fn only_whole_strings_are_expressions() {
    let document = "a: x (( 1 ))\nb: (( 1 )) x\nc: ((! 1 ))\nd: ((!! 1 ))\ne: \"(( 1 ))\\n\"\nf: ((1))\ng: (())x\n";
    assert_eq!(
        crate::outcome(document),
        Ok(json!({
            "a": "x (( 1 ))", "b": "(( 1 )) x", "c": "(( 1 ))", "d": "((! 1 ))", "e": "(( 1 ))\n",
            "f": 1, "g": "(())x",
        }))
    );
    assert_eq!(expression("\"multi\n  line\""), Ok(json!("multi\n  line")));
}
