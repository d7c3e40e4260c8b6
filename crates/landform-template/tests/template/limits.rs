//! No template hangs its caller, takes its memory or its stack.

use landform_template::{Environment, ErrorKind, Limits, Template};
use serde_json::json;

/// Templates that would never end, or take everything, each with the limit that stops it.
const HOSTILE: &[(&str, &str)] = &[
    ("{{ range 9000000000000 }}{{ end }}", "max_steps"),
    (
        "{{ range 100000 }}{{ range 100000 }}{{ end }}{{ end }}",
        "max_steps",
    ),
    ("{{ range 9000000000000 }}0123456789{{ end }}", "max_"),
    (
        "{{ define \"a\" }}{{ template \"a\" . }}{{ end }}{{ template \"a\" . }}",
        "max_depth",
    ),
    ("{{ repeat 9000000000000 \"a\" }}", "max_memory_bytes"),
    (
        "{{ $x := \"aaaaaaaaaa\" }}{{ range 100 }}{{ $x = print $x $x }}{{ end }}",
        "max_memory_bytes",
    ),
    (
        "{{ $x := list 1 }}{{ range 100 }}{{ $x = concat $x $x }}{{ end }}",
        "max_memory_bytes",
    ),
    (
        "{{ $x := list 1 }}{{ range 1000 }}{{ $x = list $x $x }}{{ end }}",
        "nested deeper",
    ),
    (
        "{{ $x := list 1 }}{{ range 60 }}{{ $x = list $x $x }}{{ end }}{{ toJson $x }}",
        "max_",
    ),
    (
        "{{ $x := dict }}{{ range 60 }}{{ $x = dict \"a\" $x \"b\" $x }}{{ end }}{{ $x }}",
        "max_",
    ),
    (
        "{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ toYaml $d }}",
        "holds itself",
    ),
    (
        "{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ $d }}",
        "holds itself",
    ),
    (
        "{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ deepCopy $d }}",
        "holds itself",
    ),
    ("{{ until 2000000000 }}", "no more than"),
    ("{{ untilStep 0 9000000000000000000 1 }}", "no more than"),
    ("{{ seq 0 9000000000000000000 }}", "no more than"),
    ("{{ indent 2000000000 \"a\" }}", "max_memory_bytes"),
    ("{{ printf \"%2000000000d\" 1 }}", "no field wider"),
    (
        "{{ wrapWith 1 (repeat 100000 \"x\") (repeat 100000 \"y\") }}",
        "max_memory_bytes",
    ),
    (
        "{{ replace \"a\" (repeat 100000 \"b\") (repeat 100000 \"a\") }}",
        "max_memory_bytes",
    ),
    (
        "{{ regexReplaceAll \"a\" (repeat 100000 \"a\") (repeat 100000 \"b\") }}",
        "max_memory_bytes",
    ),
    (
        "{{ regexMatch \"((a{1000}){1000}){1000}\" \"a\" }}",
        "too large",
    ),
    (
        "{{ $s := repeat 1000000 \"a\" }}{{ range 2000000 }}{{ $x := contains \"b\" $s }}{{ end }}",
        "max_steps",
    ),
    (
        "{{ $a := repeat 1000000 \"a\" }}{{ range until 1000 }}{{ $y := regexMatch \"(a{1,100}){1,100}b\" $a }}{{ end }}",
        "max_steps",
    ),
    (
        "{{ $a := repeat 500000 \"a\" }}{{ $y := regexFindAll \"a*?b|a\" $a -1 }}",
        "max_steps",
    ),
    (
        "{{ $a := repeat 500000 \"a\" }}{{ $y := regexReplaceAll \"a*?b|a\" $a \"\" }}",
        "max_steps",
    ),
    (
        "{{ $a := repeat 500000 \"a\" }}{{ $y := regexReplaceAllLiteral \"a*?b|a\" $a \"\" }}",
        "max_steps",
    ),
    (
        "{{ $a := repeat 500000 \"a\" }}{{ $y := regexSplit \"a*?b|a\" $a -1 }}",
        "max_steps",
    ),
    (
        "{{ $a := repeat 500000 \"a\" }}{{ range until 5000 }}{{ $y := regexFind (printf \"x%d\" .) $a }}{{ end }}",
        "max_steps",
    ),
    (
        "{{ range until 5000 }}{{ $y := regexMatch (printf \"\\\\w{10}%d\" .) \"a\" }}{{ end }}",
        "max_",
    ),
    (
        "{{ range until 100000 }}{{ $x := until 100000 }}{{ end }}",
        "max_",
    ),
];

#[test]
fn hostile_templates_end_with_the_limit_they_pass() {
    for (text, limit) in HOSTILE {
        let template = Template::parse("t", text).unwrap();
        let error = template
            .render(&json!({}), &Environment::default())
            .expect_err(text);
        assert!(error.message.contains(limit), "{text}: {error}");
    }
}

#[test]
fn a_long_chain_of_dicts_does_no_harm() {
    let text = "{{ $first := dict }}{{ $last := $first }}{{ range 100000 }}{{ $next := dict }}\
                {{ $_ := set $last \"n\" $next }}{{ $last = $next }}{{ end }}done";
    let template = Template::parse("t", text).unwrap();
    assert_eq!(
        template
            .render(&json!({}), &Environment::default())
            .unwrap(),
        "done"
    );
}

#[test]
fn deep_texts_are_refused_when_they_are_read() {
    let deep = format!("{{{{ {}1{} }}}}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(
        Template::parse("t", &deep)
            .unwrap_err()
            .message
            .contains("nested deeper")
    );
    let deep = "{{ if true }}".repeat(100_000);
    assert!(
        Template::parse("t", &deep)
            .unwrap_err()
            .message
            .contains("nested deeper")
    );
    let chain = format!(
        "{{{{ if false }}}}{}{{{{ end }}}}",
        "{{ else if false }}".repeat(100_000)
    );
    assert!(
        Template::parse("t", &chain)
            .unwrap_err()
            .message
            .contains("nested deeper")
    );
}

#[test]
fn limits_are_the_callers() {
    let render = |text: &str, limits: Limits| {
        let environment = Environment::default().with_limits(limits);
        let template = Template::parse("t", text).unwrap();
        template.render(&json!({}), &environment)
    };
    let limits = Limits {
        max_output_bytes: 10,
        ..Limits::default()
    };
    assert_eq!(render("0123456789", limits).unwrap().len(), 10);
    let error = render("0123456789a", limits).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Limit);
    assert!(error.message.contains("longer than 10 bytes"), "{error}");
    let limits = Limits {
        max_steps: 100,
        ..Limits::default()
    };
    assert!(render("{{ range 20 }}a{{ end }}", limits).is_ok());
    assert!(render("{{ range 200 }}a{{ end }}", limits).is_err());
}

#[test]
fn the_deepest_templates_fit_on_a_small_stack() {
    // Threads of servers and of tests have 2 MiB.
    let text = "{{ define \"a\" }}{{ if gt . 0 }}{{ with (sub (add . 0) 1) }}{{ template \"a\" ((((.)))) }}\
                {{ end }}{{ end }}{{ end }}{{ template \"a\" 1000 }}";
    let template = Template::parse("t", text).unwrap();
    let error = template
        .render(&json!({}), &Environment::default())
        .unwrap_err();
    assert!(error.message.contains("max_depth"), "{error}");
}
