//! Numbers: arithmetic, sequences, conversions, types.

use crate::{check, check_errors};

#[test]
fn integers() {
    check(&[
        (
            "{{ add 1 2 3 }} {{ add }} {{ add1 .count }} {{ sub 5 3 }} {{ mul 1 2 3 }}",
            "6 0 4 2 6",
        ),
        ("{{ div 7 2 }} {{ mod 7 2 }} {{ div -7 2 }}", "3 1 -3"),
        ("{{ max 1 2 3 }} {{ min 1 2 3 }} {{ biggest 4 2 }}", "3 1 4"),
        ("{{ add \"2\" 1.9 true }}", "4"),
        ("{{ len .list | add 10 }}", "13"),
    ]);
    check_errors(&[
        ("{{ div 1 0 }}", "divides by zero"),
        ("{{ mod 1 0 }}", "divides by zero"),
        ("{{ add 9223372036854775807 1 }}", "more than 64 bits"),
        ("{{ mul 9223372036854775807 2 }}", "more than 64 bits"),
        ("{{ 9223372036854775808 }}", "no number"),
    ]);
}

#[test]
fn floats() {
    check(&[
        (
            "{{ add1f 1.5 }} {{ addf 1.5 2 2 }} {{ addf 0.1 0.2 }}",
            "2.5 5.5 0.3",
        ),
        (
            "{{ subf 7.5 2 3 }} {{ mulf 1.5 2 2 }} {{ divf 10 2 4 }}",
            "2.5 6 1.25",
        ),
        ("{{ maxf 1 2.5 3 }} {{ minf 1.5 2 3 }}", "3 1.5"),
        (
            "{{ floor 123.9999 }} {{ ceil 123.001 }} {{ round 123.555555 3 }} {{ round -2.5 0 }}",
            "123 124 123.556 -3",
        ),
        ("{{ round 1.44 1 0.3 }}", "1.5"),
    ]);
    check_errors(&[("{{ divf 1 0 }}", "divides by zero")]);
}

#[test]
fn sequences() {
    check(&[
        (
            "{{ until 5 }} {{ until 0 }} {{ until -2 }}",
            "[0 1 2 3 4] [] [0 -1]",
        ),
        (
            "{{ untilStep 3 6 2 }} {{ untilStep 6 3 -2 }} {{ untilStep 3 6 -1 }}",
            "[3 5] [6 4] []",
        ),
        (
            "{{ seq 5 }}|{{ seq -3 }}|{{ seq 0 2 }}|{{ seq 2 -2 }}|{{ seq 0 2 10 }}|{{ seq 0 -2 -5 }}",
            "1 2 3 4 5|1 0 -1 -2 -3|0 1 2|2 1 0 -1 -2|0 2 4 6 8 10|0 -2 -4",
        ),
    ]);
}

#[test]
fn conversions() {
    check(&[
        (
            "{{ atoi \"42\" }} {{ atoi \"x\" }} {{ int \"12\" }} {{ int 3.9 }} {{ int64 \"0x1f\" }}",
            "42 0 12 3 31",
        ),
        (
            "{{ float64 \"1.5\" }} {{ float64 2 }} {{ int true }} {{ int nil }}",
            "1.5 2 1 0",
        ),
        ("{{ toDecimal \"0777\" }} {{ toDecimal 644 }}", "511 420"),
        (
            "{{ toString 1.50 | quote }} {{ toString .list }} {{ toString nil }}",
            "\"1.5\" [1 2 3] <nil>",
        ),
        ("{{ .count }} {{ .ratio }} {{ toJson .count }}", "3 1.5 3"),
    ]);
}

#[test]
fn types() {
    check(&[
        (
            "{{ kindOf \"a\" }} {{ kindOf .list }} {{ kindOf .map }} {{ kindOf 1 }} {{ kindOf 1.5 }} {{ kindOf true }} {{ kindOf nil }}",
            "string slice map int float64 bool invalid",
        ),
        (
            "{{ typeOf \"a\" }} {{ typeOf .list }} {{ typeOf .map }} {{ typeOf nil }}",
            "string []interface {} map[string]interface {} <nil>",
        ),
        (
            "{{ kindIs \"int\" 123 }} {{ kindIs \"float64\" .count }} {{ kindIs \"map\" .map }} {{ kindIs \"string\" 1 }}",
            "true true true false",
        ),
        (
            "{{ typeIs \"int\" 123 }} {{ typeIsLike \"string\" \"a\" }} {{ typeIs \"string\" 1 }}",
            "true true false",
        ),
        (
            "{{ deepEqual (list 1 2 3) .list }} {{ deepEqual (dict \"a\" 1) (dict \"a\" 2) }} {{ deepEqual 1 1.0 }}",
            "true false true",
        ),
    ]);
}
