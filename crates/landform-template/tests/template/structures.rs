//! Lists and dicts.

use crate::{check, check_errors};

#[test]
fn lists() {
    check(&[
        (
            "{{ list 1 \"a\" }} {{ tuple 1 2 }} {{ list }}",
            "[1 a] [1 2] []",
        ),
        (
            "{{ first .list }} {{ mustFirst .list }} {{ last .list }} {{ mustLast .list }}",
            "1 1 3 3",
        ),
        (
            "{{ rest .list }} {{ mustRest (list) }} {{ initial .list }} {{ mustInitial (list 1) }}",
            "[2 3] [] [1 2] []",
        ),
        (
            "{{ append .list 4 }} {{ mustAppend .list 4 }} {{ push .list 4 }} {{ mustPush (list) 1 }}",
            "[1 2 3 4] [1 2 3 4] [1 2 3 4] [1]",
        ),
        (
            "{{ prepend .list 0 }} {{ mustPrepend .list 0 }}",
            "[0 1 2 3] [0 1 2 3]",
        ),
        ("{{ concat .list (list 6 7) (list) }}", "[1 2 3 6 7]"),
        (
            "{{ reverse .list }} {{ mustReverse .words }}",
            "[3 2 1] [c a b]",
        ),
        (
            "{{ list 1 1 1 2 \"1\" | uniq }} {{ mustUniq (list (dict) (dict)) }}",
            "[1 2 1] [map[]]",
        ),
        (
            "{{ without .list 3 }} {{ mustWithout .list 1 2 }}",
            "[1 2] [3]",
        ),
        (
            "{{ has 3 .list }} {{ mustHas 9 .list }} {{ has 1 .missing }}",
            "true false false",
        ),
        (
            "{{ compact (list 1 \"a\" \"\" 0 nil) }} {{ mustCompact (list \"\") }}",
            "[1 a] []",
        ),
        (
            "{{ slice .list }} {{ slice .list 1 }} {{ mustSlice .list 0 1 }}",
            "[1 2 3] [2 3] [1]",
        ),
        (
            "{{ chunk 2 (list 1 2 3) }} {{ mustChunk 3 (list) }}",
            "[[1 2] [3]] []",
        ),
    ]);
    check_errors(&[
        (
            "{{ first \"a\" }}",
            "wants a list as argument 1, and gets a string",
        ),
        ("{{ chunk 0 .list }}", "zero"),
    ]);
}

#[test]
fn dicts() {
    check(&[
        ("{{ $d := dict \"a\" 1 \"b\" }}{{ $d }}", "map[a:1 b:]"),
        (
            "{{ get .map \"a\" }} {{ get .map \"x\" | quote }}",
            "1 \"\"",
        ),
        (
            "{{ hasKey .map \"a\" }} {{ hasKey .map \"x\" }}",
            "true false",
        ),
        ("{{ pluck \"a\" .map (dict \"a\" 5) (dict) }}", "[1 5]"),
        (
            "{{ dig \"c\" \"d\" \"none\" .map }} {{ dig \"c\" \"x\" \"none\" .map }} {{ .map | dig \"x\" \"y\" 7 }}",
            "deep none 7",
        ),
        (
            "{{ keys .map }} {{ keys .map (dict \"z\" 1) }} {{ values (dict \"b\" 2 \"a\" 1) }}",
            "[a b c] [a b c z] [1 2]",
        ),
        (
            "{{ pick .map \"a\" \"b\" }} {{ omit .map \"c\" }}",
            "map[a:1 b:2] map[a:1 b:2]",
        ),
        (
            "{{ merge (dict \"a\" 1) (dict \"a\" 2 \"b\" 3) }}",
            "map[a:1 b:3]",
        ),
        (
            "{{ mustMerge (dict \"m\" (dict \"x\" 1)) (dict \"m\" (dict \"x\" 2 \"y\" 3)) }}",
            "map[m:map[x:1 y:3]]",
        ),
        (
            "{{ mergeOverwrite (dict \"a\" 1 \"c\" 3) (dict \"a\" 2) (dict \"a\" 4) }}",
            "map[a:4 c:3]",
        ),
        (
            "{{ mustMergeOverwrite (dict \"a\" true) (dict \"a\" false) }}",
            "map[a:false]",
        ),
    ]);
    check_errors(&[
        (
            "{{ get .list \"a\" }}",
            "wants a map as argument 1, and gets a list",
        ),
        ("{{ dig \"a\" \"b\" 1 .map }}", "leads to a int"),
    ]);
}

#[test]
fn dicts_change_in_place() {
    check(&[
        (
            "{{ $d := dict \"a\" 1 }}{{ $_ := set $d \"b\" 2 }}{{ $d }}",
            "map[a:1 b:2]",
        ),
        (
            "{{ $d := dict }}{{ range .words }}{{ $_ := set $d . true }}{{ end }}{{ keys $d }}",
            "[a b c]",
        ),
        (
            "{{ $d := dict \"a\" 1 }}{{ $_ := unset $d \"a\" }}{{ $d }}",
            "map[]",
        ),
        (
            "{{ $_ := set .map \"new\" 9 }}{{ .map.new }} {{ $.map.new }}",
            "9 9",
        ),
        (
            "{{ $d := dict \"in\" (dict) }}{{ $_ := set $d.in \"x\" 1 }}{{ $d.in.x }}",
            "1",
        ),
        (
            "{{ $a := dict }}{{ $b := $a }}{{ $_ := set $b \"x\" 1 }}{{ $a.x }}",
            "1",
        ),
        (
            "{{ $a := dict \"m\" (dict) }}{{ $b := deepCopy $a }}{{ $_ := set $b.m \"x\" 1 }}{{ $a }}",
            "map[m:map[]]",
        ),
        (
            "{{ $a := dict }}{{ $_ := mergeOverwrite $a (dict \"x\" 1) }}{{ $a.x }}",
            "1",
        ),
        ("{{ $b := mustDeepCopy .list }}{{ $b }}", "[1 2 3]"),
        (
            "{{ define \"f\" }}{{ $_ := set . \"out\" \"got\" }}{{ end }}{{ $d := dict }}{{ template \"f\" $d }}{{ $d.out }}",
            "got",
        ),
    ]);
}
