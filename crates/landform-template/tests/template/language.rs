//! The language of text/template.

use crate::{check, check_errors};

#[test]
fn white_space_is_trimmed_where_dashes_say_so() {
    check(&[
        ("a  {{- 1 }}  b", "a1  b"),
        ("a  {{ 1 -}}  b", "a  1b"),
        ("a \n\t {{- 1 -}} \n b", "a1b"),
        ("{{ 3 }} - {{- -3 }}", "3 --3"),
        ("{{-3}}", "-3"),
        ("a {{/* a comment */}} b", "a  b"),
        ("a {{- /* a comment */ -}} b", "ab"),
        ("{{- if true }}\nx\n{{- end }}\n", "\nx\n"),
        ("", ""),
        ("plain } text {", "plain } text {"),
    ]);
}

#[test]
fn values_fields_and_pipelines() {
    check(&[
        ("{{ .name }}", "ada"),
        ("{{ .map.c.d }}", "deep"),
        ("{{ $.map.c.d }}", "deep"),
        ("{{ .name | upper | quote }}", "\"ADA\""),
        ("{{ \"x\" | printf \"%s-%s\" .name }}", "ada-x"),
        ("{{ (index .items 1).name }}", "y"),
        ("{{ ((.map)).a }}", "1"),
        ("{{ printf \"%d\" (add 1 (mul 2 3)) }}", "7"),
        ("{{ `raw \"text\"` }}", "raw \"text\""),
        ("{{ \"tab\\tquote\\\"\\u00e9\" }}", "tab\tquote\"é"),
        ("{{ 'a' }} {{ '\\n' }}", "97 10"),
        (
            "{{ 0x1F }} {{ 1_000 }} {{ 0b11 }} {{ 0o17 }} {{ 017 }}",
            "31 1000 3 15 15",
        ),
        ("{{ 1e3 }} {{ 1.50 }} {{ -2 }}", "1000 1.5 -2"),
        ("{{ true }} {{ false }}", "true false"),
        (
            "{{ .list }} {{ .map }}",
            "[1 2 3] map[a:1 b:2 c:map[d:deep]]",
        ),
        ("{{ list nil 1 }}", "[<nil> 1]"),
        ("{{\n  .name\n  | upper\n}}", "ADA"),
        ("{{ print .count }}{{ print \"a\" 1 2 \"b\" }}", "3a1 2b"),
        ("{{ println \"a\" 1 }}", "a 1\n"),
        ("{{ (dict \"a\" (dict \"b\" 1)).a.b }}", "1"),
    ]);
}

#[test]
fn blocks() {
    check(&[
        ("{{ if .yes }}a{{ else }}b{{ end }}", "a"),
        ("{{ if .no }}a{{ else }}b{{ end }}", "b"),
        ("{{ if .no }}a{{ else if .yes }}b{{ else }}c{{ end }}", "b"),
        ("{{ if .no }}a{{ else if .no }}b{{ else }}c{{ end }}", "c"),
        ("{{ if .missing }}a{{ end }}", ""),
        ("{{ if .empty }}a{{ else }}b{{ end }}", "b"),
        ("{{ with .map }}{{ .a }}{{ $.name }}{{ end }}", "1ada"),
        ("{{ with .missing }}a{{ else }}{{ .name }}{{ end }}", "ada"),
        (
            "{{ with .missing }}a{{ else with .map }}{{ .a }}{{ end }}",
            "1",
        ),
        ("{{ with $x := .map.c }}{{ $x.d }}{{ end }}", "deep"),
        ("{{ range .list }}{{ . }},{{ end }}", "1,2,3,"),
        (
            "{{ range $i, $x := .words }}{{ $i }}={{ $x }} {{ end }}",
            "0=b 1=a 2=c ",
        ),
        ("{{ range $k, $v := .map }}{{ $k }} {{ end }}", "a b c "),
        ("{{ range $x := .words }}{{ $x }}{{ end }}", "bac"),
        ("{{ range .missing }}a{{ else }}none{{ end }}", "none"),
        ("{{ range (list) }}a{{ else }}{{ .name }}{{ end }}", "ada"),
        ("{{ range 3 }}{{ . }}{{ end }}", "012"),
        (
            "{{ range .list }}{{ if eq . 2 }}{{ continue }}{{ end }}{{ . }}{{ end }}",
            "13",
        ),
        (
            "{{ range .list }}{{ if eq . 2 }}{{ break }}{{ end }}{{ . }}{{ end }}",
            "1",
        ),
        (
            "{{ range $i, $_ := .list }}{{ range $.words }}{{ break }}{{ end }}{{ $i }}{{ end }}",
            "012",
        ),
        (
            "{{ range .items }}{{ if .on }}{{ .name }}{{ end }}{{ end }}",
            "x",
        ),
    ]);
}

#[test]
fn variables_end_with_their_block() {
    check(&[
        (
            "{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}",
            "2",
        ),
        (
            "{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ $x }}{{ end }}{{ $x }}",
            "21",
        ),
        (
            "{{ $s := 0 }}{{ range .list }}{{ $s = add $s . }}{{ end }}{{ $s }}",
            "6",
        ),
        ("{{ $x := 0 }}{{ range $x = .list }}{{ end }}{{ $x }}", "3"),
        ("{{ range .list }}{{ $y := . }}{{ $y }}{{ end }}", "123"),
    ]);
    check_errors(&[
        (
            "{{ if true }}{{ $x := 2 }}{{ end }}{{ $x }}",
            "variable `$x` is not known",
        ),
        ("{{ $x = 1 }}", "variable `$x` is not known"),
        (
            "{{ define \"a\" }}{{ $x }}{{ end }}{{ $x := 1 }}",
            "`$x` is not known",
        ),
    ]);
}

#[test]
fn templates_in_templates() {
    check(&[
        (
            "{{ define \"a\" }}<{{ . }}>{{ end }}{{ template \"a\" .name }}",
            "<ada>",
        ),
        (
            "{{ template \"a\" .map }}{{ define \"a\" }}{{ .a }}{{ $.b }}{{ end }}",
            "12",
        ),
        ("{{ block \"a\" .name }}[{{ . }}]{{ end }}", "[ada]"),
        ("{{ define \"a\" }}x{{ end }}{{ template \"a\" }}", "x"),
        (
            "{{ define \"down\" }}{{ . }}{{ if gt . 0 }}{{ template \"down\" (sub . 1) }}{{ end }}{{ end }}{{ template \"down\" 3 }}",
            "3210",
        ),
    ]);
    check_errors(&[
        (
            "{{ template \"missing\" . }}",
            "template \"missing\" is not defined",
        ),
        (
            "{{ define \"a\" }}1{{ end }}{{ define \"a\" }}2{{ end }}",
            "defined twice",
        ),
        (
            "{{ if true }}{{ define \"a\" }}{{ end }}{{ end }}",
            "inside another block",
        ),
    ]);
}

#[test]
fn and_or_not_stop_early() {
    check(&[
        ("{{ and 1 0 (fail \"never\") }}", "0"),
        ("{{ or 0 2 (fail \"never\") }}", "2"),
        ("{{ or .missing \"x\" }}", "x"),
        ("{{ and .yes .name }}", "ada"),
        ("{{ not .yes }} {{ not .missing }}", "false true"),
        ("{{ if and .yes (not .no) }}a{{ end }}", "a"),
        (
            "{{ if or (eq .name \"eve\") (eq .name \"ada\") }}a{{ end }}",
            "a",
        ),
    ]);
}

#[test]
fn comparisons() {
    check(&[
        (
            "{{ eq .count 3 }} {{ eq .count 3.0 }} {{ eq .ratio 1.5 }}",
            "true true true",
        ),
        (
            "{{ eq .name \"a\" \"ada\" }} {{ ne .name \"a\" }}",
            "true true",
        ),
        (
            "{{ lt 1 2 }} {{ le 2 2 }} {{ gt 2 1.5 }} {{ ge 1 2 }}",
            "true true true false",
        ),
        ("{{ lt \"a\" \"b\" }} {{ eq true .yes }}", "true true"),
        (
            "{{ eq .missing nil }} {{ eq .missing \"x\" }}",
            "true false",
        ),
        ("{{ eq 9007199254740993 9007199254740992.0 }}", "false"),
    ]);
    check_errors(&[
        ("{{ eq 1 \"1\" }}", "a int and a string can't be compared"),
        ("{{ lt true false }}", "can't be compared"),
        ("{{ eq .list .list }}", "can't be compared"),
    ]);
}

#[test]
fn index_slice_and_length() {
    check(&[
        ("{{ index .map \"c\" \"d\" }}", "deep"),
        ("{{ index .items 0 \"name\" }}", "x"),
        ("{{ index .list 2 }}", "3"),
        ("{{ len .list }} {{ len .map }} {{ len \"äb\" }}", "3 3 3"),
        (
            "{{ slice .list 1 2 }} {{ slice .list 1 }} {{ slice \"abcd\" 1 3 }}",
            "[2] [2 3] bc",
        ),
        ("{{ default \"x\" (index .map \"none\") }}", "x"),
    ]);
    check_errors(&[
        (
            "{{ index .list 3 }}",
            "outside of the list, which has 3 items",
        ),
        (
            "{{ index .list \"a\" }}",
            "a list can't be indexed with a string",
        ),
        ("{{ index .missing \"a\" }}", "no value"),
        ("{{ len 3 }}", "a int has no length"),
        ("{{ slice .list 2 9 }}", "not inside"),
    ]);
}

#[test]
fn printf_as_in_go() {
    check(&[
        (
            "{{ printf \"%s|%d|%v|%q|%t\" \"a\" 3 .ratio \"q\\\"\" true }}",
            "a|3|1.5|\"q\\\"\"|true",
        ),
        (
            "{{ printf \"%05d|%5d|%-5d|%+d\" 42 42 42 42 }}",
            "00042|   42|42   |+42",
        ),
        (
            "{{ printf \"%x|%X|%#x|%o|%b\" 255 255 255 8 5 }}",
            "ff|FF|0xff|10|101",
        ),
        ("{{ printf \"%x\" \"hi\" }}", "6869"),
        (
            "{{ printf \"%.2f|%6.1f|%e|%g\" 3.14159 2.5 1234.5 0.5 }}",
            "3.14|   2.5|1.234500e+03|0.5",
        ),
        (
            "{{ printf \"%5s|%-5s|%.2s\" \"ab\" \"ab\" \"abc\" }}",
            "   ab|ab   |ab",
        ),
        ("{{ printf \"%c %U %%\" 65 65 }}", "A U+0041 %"),
        ("{{ printf \"%T %T\" 1 \"a\" }}", "int string"),
        ("{{ printf \"%d\" \"x\" }}", "%!d(string=x)"),
        ("{{ printf \"%d\" }}", "%!d(MISSING)"),
        ("{{ printf \"a\" 1 }}", "a%!(EXTRA int=1)"),
        ("{{ printf \"%s\" .missing }}", "%!s(<nil>)"),
        (
            "{{ printf \"%v\" .list }} {{ printf \"%s\" .words }}",
            "[1 2 3] [b a c]",
        ),
        ("{{ printf \"%*d\" 5 42 }}", "   42"),
        (
            "{{ printf \"%.3g\" 1234.5678 }} {{ printf \"%.3g\" 0.00012345 }}",
            "1.23e+03 0.000123",
        ),
        ("{{ printf \"%v %v\" 1e21 0.00001 }}", "1e+21 1e-05"),
    ]);
}

#[test]
fn escaping() {
    check(&[
        (
            "{{ html \"<a b='c'>&\\\"\" }}",
            "&lt;a b=&#39;c&#39;&gt;&amp;&#34;",
        ),
        ("{{ js \"it's <b>\" }}", "it\\'s \\u003Cb\\u003E"),
        ("{{ urlquery \"a b&c/ä\" }}", "a+b%26c%2F%C3%A4"),
    ]);
}
