//! Errors: where, what, and never a value.

use landform_template::{Environment, ErrorKind, Template};
use serde_json::json;

use crate::{check_errors, render};

#[test]
fn an_error_shows_the_place() {
    let text = "kind: A\nname: {{ .name }}\nsize: {{ upper .count }}\nrest: 1\n";
    let error = render(text).unwrap_err();
    assert_eq!((error.line, error.column), (3, 10));
    assert_eq!(error.expression, "upper .count");
    assert_eq!(error.kind, ErrorKind::Value);
    assert_eq!(
        error.to_string(),
        "test:3:10: `upper` wants a string as argument 1, and gets a int\n\
         2 | name: {{ .name }}\n\
         3 | size: {{ upper .count }}\n\
         \x20 |          ^^^^^^^^^^^^\n\
         4 | rest: 1"
    );
}

#[test]
fn a_value_that_is_not_there_is_no_output() {
    let error = render("a: {{ .map.missing }}").unwrap_err();
    assert_eq!(error.kind, ErrorKind::NoValue);
    assert_eq!(error.expression, ".map.missing");
    check_errors(&[
        ("{{ .missing }}", "gives no value"),
        (
            "{{ .missing.field }}",
            "`field` can't be read, because `missing` has no value",
        ),
        ("{{ .map.c.d.e }}", "a string has no field `e`"),
        ("{{ first (list) }}", "gives no value"),
        ("{{ print \"<no \" \"value>\" }}", "line 1 of the output"),
    ]);
}

#[test]
fn wrong_templates() {
    check_errors(&[
        ("{{ .a", "not closed"),
        ("{{ if .a }}x", "this block is not closed"),
        ("{{ range .a }}{{ else }}x", "this block is not closed"),
        ("{{ end }}", "closes nothing"),
        ("{{ else }}", "belongs to no"),
        ("{{ if .a }}{{ else }}{{ else }}{{ end }}", "`else`"),
        ("{{ if }}{{ end }}", "missing here"),
        ("{{ }}", "missing here"),
        ("{{ \"abc }}", "not closed"),
        ("{{ `abc }}", "not closed"),
        ("{{ (1 }}", "parenthesis is not closed"),
        ("{{ 1) }}", "unexpected"),
        ("{{ .a-b }}", "can't follow a name"),
        ("{{ break }}", "stands in no `range`"),
        ("{{ nil }}", "`nil` can only be an argument"),
        ("{{ .name | 3 }}", "only a function can follow"),
        ("{{ .name 3 }}", "this is no function"),
        ("{{ \"a\".b }}", "a constant has no fields"),
        ("{{ 1a }}", "no number"),
        ("{{ ! }}", "means nothing"),
        ("{{/* a }}", "comment is not closed"),
        ("{{ template }}", "name of a template in quotes"),
        ("{{ $a, $b := .list }}", "only `range` sets two"),
        (
            "{{ if false }}{{ nope }}{{ end }}",
            "there is no function `nope`",
        ),
        ("{{ Upper .name }}", "did you mean `upper`?"),
        ("{{ toYamll .map }}", "did you mean `toYaml`?"),
        (
            "{{ env \"HOME\" }}",
            "left out: templates don't see the environment",
        ),
        ("{{ randAlpha 5 }}", "left out: the output must be the same"),
        ("{{ upper }}", "takes 1 argument, and 0 are given"),
        ("{{ dict | set 1 }}", "takes 3 arguments, and 2 are given"),
    ]);
}

#[test]
fn fail_says_what_the_author_says() {
    let error =
        render("{{ if eq .count 3 }}{{ fail \"three is too many\" }}{{ end }}").unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Failed, "three is too many")
    );
}

/// Every way to an error that we know, with data that must not be in it.
#[test]
fn errors_never_hold_values() {
    const CANARY: &str = "canary-5f3a";
    let data = json!({
        "secret": CANARY,
        "list": [CANARY, {"k": CANARY}],
        "map": {CANARY: CANARY, "s": CANARY},
        "json": format!("{{\"a\": {CANARY}"),
        "yaml": format!("a: [{CANARY}"),
        "twice": format!("{CANARY}: 1\n{CANARY}: 2"),
        "pattern": format!("({CANARY}"),
    });
    let templates = [
        "{{ .secret.field }}",
        "{{ .secret.a.b }}",
        "{{ (index .list 0).x }}",
        "{{ add1 .secret | upper }}",
        "{{ index .list .secret }}",
        "{{ index .map 3 }}",
        "{{ range .secret }}{{ end }}",
        "{{ range $a, $b := .secret }}{{ end }}",
        "{{ eq .secret 1 }}",
        "{{ lt .secret 1 }}",
        "{{ eq .list .list }}",
        "{{ len 1 }}{{ upper .list }}",
        "{{ upper .map }}",
        "{{ mustFromJson .json }}",
        "{{ fromYaml .yaml }}",
        "{{ fromYaml .twice }}",
        "{{ regexMatch .pattern \"a\" }}",
        "{{ b64dec .secret }}",
        "{{ b32dec .secret }}",
        "{{ semver .secret }}",
        "{{ semverCompare .secret \"1.2.3\" }}",
        "{{ semverCompare \">1\" .secret }}",
        "{{ toDate \"2006\" .secret }}",
        "{{ dateModify .secret 0 }}",
        "{{ dateInZone \"2006\" 0 .secret }}",
        "{{ date \"2006\" .secret }}",
        "{{ div 1 .secret }}",
        "{{ dig \"s\" \"x\" 1 .map }}",
        "{{ get .secret \"a\" }}",
        "{{ set .list \"a\" 1 }}",
        "{{ join .list 1 }}",
        "{{ repeat .secret \"a\" }}",
        "{{ until .secret }}",
        "{{ ternary 1 2 .secret }}",
        "{{ slice .secret 0 99 }}",
        "{{ first .secret }}",
        "{{ chunk 0 .list }}",
        "{{ urlJoin (dict \"host\" .list) }}",
        "{{ printf .list }}",
        "{{ .secret | .map }}",
        "{{ template .secret }}",
        "{{ index .map .secret \"a\" }}",
        "{{ merge .map .secret }}",
        "{{ wrap .secret \"a\" }}",
        "{{ index .map (printf \"%s\" .secret) 1 2 }}",
        "{{ $d := dict }}{{ $_ := set $d .secret $d }}{{ toYaml $d }}",
        "{{ own .secret }}",
        "{{ range 100000 }}{{ $.secret }}{{ end }}{{ range 10000000 }}{{ end }}",
    ];
    let environment =
        Environment::default().with_function("own", |_| Err("it is not to be had".to_owned()));
    for text in templates {
        let error = Template::parse("t", text)
            .and_then(|template| template.render(&data, &environment))
            .expect_err(text);
        assert!(
            !format!("{error} {error:?}").contains("canary"),
            "{text}: {error}"
        );
    }
}

#[test]
fn extra_functions_and_includes() {
    let environment = Environment::default()
        .with_function("double", |arguments| match arguments {
            [serde_json::Value::Number(number)] => {
                Ok(json!(number.as_i64().unwrap_or_default() * 2))
            }
            _ => Err("`double` takes a number".to_owned()),
        })
        .with_includes(|path| match path {
            "inner" => Template::parse("inner", "<{{ .x }}>")
                .map(std::sync::Arc::new)
                .map_err(|error| error.summary()),
            "loop" => Template::parse("loop", "{{ include \"loop\" . }}")
                .map(std::sync::Arc::new)
                .map_err(|error| error.summary()),
            _ => Err("there is no such file".to_owned()),
        });
    let render = |text: &str| {
        let template = Template::parse("t", text).unwrap();
        template.render(&json!({"x": 4}), &environment)
    };
    assert_eq!(render("{{ double .x }}").unwrap(), "8");
    assert_eq!(
        render("{{ include \"inner\" . | indent 2 }}").unwrap(),
        "  <4>"
    );
    assert!(
        render("{{ double \"a\" }}")
            .unwrap_err()
            .message
            .contains("takes a number")
    );
    let inside = render("{{ include \"inner\" (dict) }}").unwrap_err();
    assert_eq!((inside.name.as_str(), inside.column), ("inner", 5));
    assert_eq!(
        render("{{ include \"loop\" . }}").unwrap_err().kind,
        ErrorKind::Limit
    );
}
