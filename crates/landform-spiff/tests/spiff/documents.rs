//! Nodes that refer to nodes, insertions, markers and templates.

use serde_json::{Value, json};

use crate::outcome;

fn check(rows: &[(&str, Value)]) {
    for (text, expected) in rows {
        assert_eq!(outcome(text).as_ref(), Ok(expected), "{text}");
    }
}

#[test]
fn names_are_looked_for_from_the_inside_to_the_outside() {
    check(&[
        (
            "foo: 3\nouter: (( foo ))\nin:\n  foo: 1\n  bar: (( foo ))\n  root: (( .foo ))",
            json!({"foo": 3, "outer": 3, "in": {"foo": 1, "bar": 1, "root": 3}}),
        ),
        (
            "imports: {name: mine}\nis: (( imports.name ))\nversion: (( imports.version || \"none\" ))",
            json!({"imports": {"name": "mine"}, "is": "mine", "version": "none"}),
        ),
        (
            "a:\n  b: 1\n  c: (( a.b ))\n  d: (( .a.c + 1 ))",
            json!({"a": {"b": 1, "c": 1, "d": 2}}),
        ),
        (
            "l:\n- (( l[1] ))\n- (( l[2].x + 1 ))\n- {x: 1}",
            json!({"l": [2, 2, {"x": 1}]}),
        ),
        (
            "l:\n- name: one\n  v: (( name ))\n- name: two\n  v: (( l.one.v ))",
            json!({"l": [{"name": "one", "v": "one"}, {"name": "two", "v": "one"}]}),
        ),
        (
            "l:\n- key:id: a\n  v: 1\n- id: b\n  v: 2\nx: (( l.b.v ))",
            json!({"l": [{"id": "a", "v": 1}, {"id": "b", "v": 2}], "x": 2}),
        ),
        ("- a: 1\n  b: (( a ))", json!([{"a": 1, "b": 1}])),
        ("(( imports.name ))", json!("ada")),
        (
            "p:\n  name: alice\n  foo: (( values.[name].bar ))\n  values: {alice: {bar: 42}}",
            json!({"p": {"name": "alice", "foo": 42, "values": {"alice": {"bar": 42}}}}),
        ),
    ]);
}

#[test]
fn what_is_undefined_is_left_out() {
    check(&[
        ("a: (( ~~ ))\nb: (( a || 1 ))", json!({"b": 1})),
        (
            "a:\n- (( ~~ ))\n- 7\nb: (( a[0] ))",
            json!({"a": [7], "b": 7}),
        ),
        (
            "errors:\n- (( imports.name == \"eve\" ? \"no\" :~~ ))",
            json!({"errors": []}),
        ),
        (
            "a: (( optional(nowhere, 5) ))\nb: (( optional(true, 5) ))",
            json!({"b": 5}),
        ),
    ]);
}

#[test]
fn maps_and_lists_are_inserted() {
    check(&[
        (
            "a:\n  <<<: (( b ))\n  c: 1\n  d: (( e ))\nb: {e: 5, c: 6}",
            json!({"a": {"c": 1, "d": 5, "e": 5}, "b": {"e": 5, "c": 6}}),
        ),
        (
            "b:\n  <<<: (( imports.map ))\nc: (( b.x ))",
            json!({"b": {"x": 1, "z": {"deep": [7, 8]}}, "c": 1}),
        ),
        (
            "\"<<\": (( imports.map ))\nx: 5",
            json!({"x": 5, "z": {"deep": [7, 8]}}),
        ),
        (
            "a:\n- 3\n- <<<: (( imports.words ))\n- 4",
            json!({"a": [3, "b", "a", 4]}),
        ),
        (
            "l:\n- name: a\n  v: 9\n- <<<: (( imports.list ))",
            json!({"l": [{"name": "a", "v": 9}, {"name": "b", "v": 2}]}),
        ),
        (
            "errors:\n- <<<: (( imports.errors || ~~ ))",
            json!({"errors": []}),
        ),
        ("a:\n  <<<: (( ~ ))\n  b: 1", json!({"a": {"b": 1}})),
        ("a:\n  <<<: (( merge ))\n  b: 1", json!({"a": {"b": 1}})),
        (
            "a:\n  <<<!: 1\n  <<<!!: 2",
            json!({"a": {"<<<": 1, "<<<!": 2}}),
        ),
        (
            "a:\n  <<<: (( *t ))\n  x: 1\nt:\n  <<<: (( &template ))\n  inner: (( x ))",
            json!({"a": {"x": 1, "inner": 1}}),
        ),
    ]);
}

#[test]
fn temporary_nodes_can_be_used_and_are_left_out() {
    check(&[
        (
            "t:\n  <<<: (( &temporary ))\n  f: 1\nx: (( t ))\nz: (( t.f ))",
            json!({"x": {"f": 1}, "z": 1}),
        ),
        (
            "t:\n  f: (( &temporary ( 5 ) ))\n  g: 1\nx: (( t ))\nq: (( t.f ))\nz: (( length(t) ))",
            json!({"q": 5, "t": {"g": 1}, "x": {"g": 1}, "z": 2}),
        ),
        (
            "b:\n- <<<: (( &temporary ))\n- 5\nc: (( b[0] ))",
            json!({"c": 5}),
        ),
        ("a: (( &local(1) ))\nb: (( a ))", json!({"b": 1})),
    ]);
}

#[test]
fn templates_are_evaluated_where_they_are_used() {
    check(&[
        (
            "t:\n  <<<: (( &template ))\n  a: (( x ))\n  b: (( a ))\nuse:\n  x: 5\n  z: (( *t ))\n  w: (( *.t ))",
            json!({"use": {"x": 5, "z": {"a": 5, "b": 5}, "w": {"a": 5, "b": 5}}}),
        ),
        (
            "t: (( &template ( x + 1 ) ))\nuse: {x: 5, z: (( *t ))}",
            json!({"use": {"x": 5, "z": 6}}),
        ),
        (
            "t:\n  <<<: (( &template ))\n  v: (( q ))\nm: (( map[[1,2]|q|->*t] ))",
            json!({"m": [{"v": 1}, {"v": 2}]}),
        ),
    ]);
}

#[test]
fn functions_see_their_own_scope_and_the_callers() {
    check(&[
        (
            "f: (( &temporary(|x,y|->x + y + offset) ))\noffset: 0\nv:\n  offset: 3\n  value: (( .f(1,2) ))",
            json!({"offset": 0, "v": {"offset": 3, "value": 6}}),
        ),
        (
            "env:\n  func: (( |x|->[ x, scope, _.scope ] ))\n  scope: definition\ncall:\n  result: (( env.func(\"arg\") ))\n  scope: call",
            json!({
                "env": {"scope": "definition"},
                "call": {"scope": "call", "result": ["arg", "call", "definition"]},
            }),
        ),
        (
            "f: (( |x|->x.v ))\nx: (( map[imports.list|f] ))",
            json!({"x": [1, 2]}),
        ),
    ]);
}

#[test]
fn maps_are_merged() {
    check(&[
        (
            "m1: {alice: 24, bob: (( alice ))}\nm2: {alice: 26, peter: 8}\nr: (( merge(m1,m2) ))",
            json!({"m1": {"alice": 24, "bob": 24}, "m2": {"alice": 26, "peter": 8}, "r": {"alice": 26, "bob": 24}}),
        ),
        (
            "m1:\n  <<<: (( &template ))\n  alice: 24\n  bob: (( alice ))\nm2: {alice: 26}\nr: (( merge(m1,m2) ))",
            json!({"m2": {"alice": 26}, "r": {"alice": 26, "bob": 26}}),
        ),
        (
            "r: (( merge({\"a\"={\"b\"=1,\"c\"=2}},{\"a\"={\"b\"=5,\"d\"=7}}) ))\ns: (( merge({\"a\"=1,\"b\"=1},{\"a\"=2},{\"b\"=3}) ))",
            json!({"r": {"a": {"b": 5, "c": 2}}, "s": {"a": 2, "b": 3}}),
        ),
        (
            "r: (( merge({\"a\"=[1,2],\"l\"=imports.list},{\"a\"=[3],\"l\"=[{\"name\"=\"b\",\"v\"=5}]}) ))",
            json!({"r": {"a": [1, 2], "l": [{"name": "a", "v": 1}, {"name": "b", "v": 5}]}}),
        ),
        (
            "r: (( deepmerge({\"a\"={\"b\"=1}},{\"a\"={\"c\"=2},\"d\"=[3]}) ))",
            json!({"r": {"a": {"b": 1, "c": 2}, "d": [3]}}),
        ),
    ]);
}

/// The order of the nodes makes no difference.
#[test]
fn nodes_are_evaluated_by_need() {
    let forward = "a: (( b + 1 ))\nb: (( c + 1 ))\nc: 1\n";
    let backward = "c: (( b + 1 ))\nb: (( a + 1 ))\na: 1\n";
    assert_eq!(outcome(forward), Ok(json!({"a": 3, "b": 2, "c": 1})));
    assert_eq!(outcome(backward), Ok(json!({"a": 1, "b": 2, "c": 3})));
}
