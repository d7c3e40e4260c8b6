//! Strings, defaults, encodings, dates, patterns, versions, paths: sprig's manual as tables.

use std::collections::BTreeSet;

use landform_template::function_names;

use crate::{check, check_errors};

#[test]
fn strings() {
    check(&[
        ("{{ trim \"   hello    \" }}", "hello"),
        (
            "{{ trimAll \"$\" \"$5.00\" }} {{ trimall \"-\" \"--a-\" }}",
            "5.00 a",
        ),
        (
            "{{ trimSuffix \"-\" \"hello-\" }} {{ trimPrefix \"-\" \"-hello\" }}",
            "hello hello",
        ),
        ("{{ upper \"hello\" }} {{ lower \"HELLO\" }}", "HELLO hello"),
        (
            "{{ title \"hello world\" }} {{ untitle \"Hello World\" }}",
            "Hello World hello world",
        ),
        ("{{ repeat 3 \"hello\" }}", "hellohellohello"),
        (
            "{{ substr 0 5 \"hello world\" }} {{ substr -1 3 \"hello\" }} {{ substr 6 -1 \"hello world\" }}",
            "hello hel world",
        ),
        ("{{ nospace \"hello w o r l d\" }}", "helloworld"),
        (
            "{{ trunc 5 \"hello world\" }} {{ trunc -5 \"hello world\" }} {{ trunc 9 \"a\" }}",
            "hello world a",
        ),
        (
            "{{ trunc 63 \"release-name\" | trimSuffix \"-\" }}",
            "release-name",
        ),
        (
            "{{ abbrev 5 \"hello world\" }} {{ abbrev 20 \"short\" }}",
            "he... short",
        ),
        ("{{ abbrevboth 5 10 \"1234 5678 9123\" }}", "...5678..."),
        ("{{ initials \"First Try\" }}", "FT"),
        (
            "{{ wrap 10 \"the quick brown fox\" }}",
            "the quick\nbrown fox",
        ),
        ("{{ wrapWith 5 \"\\t\" \"HelloWorld\" }}", "Hello\tWorld"),
        (
            "{{ contains \"cat\" \"catch\" }} {{ hasPrefix \"cat\" \"catch\" }} {{ hasSuffix \"ch\" \"catch\" }}",
            "true true true",
        ),
        (
            "{{ quote \"a\\n\" 1 nil true }} {{ squote \"a\" 2 }}",
            "\"a\\n\" \"1\" \"true\" 'a' '2'",
        ),
        (
            "{{ cat \"hello\" \"beautiful\" nil \"world\" }}",
            "hello beautiful world",
        ),
        (
            "{{ indent 4 \"a\\nb\" }}|{{ nindent 2 \"a\\nb\" }}",
            "    a\n    b|\n  a\n  b",
        ),
        (
            "{{ \"I Am Henry VIII\" | replace \" \" \"-\" }}",
            "I-Am-Henry-VIII",
        ),
        (
            "{{ plural \"one anchovy\" \"many anchovies\" 1 }}|{{ plural \"one\" \"many\" 0 }}",
            "one anchovy|many",
        ),
        (
            "{{ snakecase \"FirstName\" }} {{ snakecase \"HTTPServer-two\" }}",
            "first_name http_server_two",
        ),
        (
            "{{ camelcase \"http_server\" }} {{ kebabcase \"FirstName\" }}",
            "HttpServer first-name",
        ),
        ("{{ swapcase \"This Is A.Test\" }}", "tHIS iS a.tEST"),
    ]);
}

#[test]
fn string_lists() {
    check(&[
        (
            "{{ list \"hello\" \"world\" | join \"_\" }} {{ list 1 2 3 | join \"+\" }}",
            "hello_world 1+2+3",
        ),
        ("{{ splitList \"$\" \"foo$bar$baz\" }}", "[foo bar baz]"),
        (
            "{{ $a := split \"$\" \"foo$bar$baz\" }}{{ $a._0 }} {{ $a._2 }}",
            "foo baz",
        ),
        (
            "{{ $a := splitn \"$\" 2 \"foo$bar$baz\" }}{{ $a._1 }}",
            "bar$baz",
        ),
        (
            "{{ .words | sortAlpha }} {{ sortAlpha (list 3 20 1) }}",
            "[a b c] [1 20 3]",
        ),
        ("{{ toStrings (list 1 2.5 \"a\") | join \",\" }}", "1,2.5,a"),
    ]);
}

#[test]
fn defaults_and_flow() {
    check(&[
        (
            "{{ .missing | default \"x\" }} {{ default \"x\" .name }} {{ default 5 0 }} {{ default \"only\" }}",
            "x ada 5 only",
        ),
        (
            "{{ empty 0 }} {{ empty .list }} {{ empty (dict) }} {{ empty .missing }}",
            "true false true true",
        ),
        ("{{ coalesce 0 \"\" .missing 3 4 }}", "3"),
        (
            "{{ all 1 true \"a\" }} {{ all 1 0 }} {{ any 0 \"\" 1 }} {{ any 0 false }}",
            "true false true false",
        ),
        (
            "{{ ternary \"foo\" \"bar\" true }} {{ false | ternary \"foo\" \"bar\" }}",
            "foo bar",
        ),
    ]);
    check_errors(&[
        ("{{ ternary 1 2 3 }}", "has to be a bool"),
        ("{{ fail \"no\" }}", "no"),
    ]);
}

#[test]
fn json_and_yaml() {
    check(&[
        (
            "{{ toJson .map }}",
            "{\"a\":1,\"b\":2,\"c\":{\"d\":\"deep\"}}",
        ),
        (
            "{{ mustToJson \"<a&b>\" }} {{ toRawJson \"<a&b>\" }} {{ mustToRawJson 1 }}",
            "\"\\u003ca\\u0026b\\u003e\" \"<a&b>\" 1",
        ),
        (
            "{{ toPrettyJson (dict \"a\" (list 1)) }}",
            "{\n  \"a\": [\n    1\n  ]\n}",
        ),
        ("{{ mustToPrettyJson (list) }}", "[]"),
        (
            "{{ (fromJson \"{\\\"foo\\\": 55}\").foo }} {{ (mustFromJson \"[1,2]\") }}",
            "55 [1 2]",
        ),
        ("{{ fromJson \"no json\" | quote }}", "\"\""),
        (
            "{{ toJson 1.0 }} {{ toJson 1.5 }} {{ toJson nil }} {{ toJson .nothing }}",
            "1 1.5 null null",
        ),
        ("{{ toYaml .map }}", "a: 1\nb: 2\nc:\n  d: deep"),
        (
            "x:\n{{ toYaml .items | indent 2 }}",
            "x:\n  - name: x\n    \"on\": true\n  - name: \"y\"\n    \"on\": false",
        ),
        (
            "x:{{ toYaml .list | nindent 2 }}",
            "x:\n  - 1\n  - 2\n  - 3",
        ),
        ("{{ mustToYaml \"yes\" }}", "\"yes\""),
        (
            "{{ (fromYaml \"a: 1\\nb: [x]\").b }} {{ (mustFromYaml \"a: 1\").a }} {{ fromYaml \"\" }}",
            "[x] 1 map[]",
        ),
    ]);
    check_errors(&[
        ("{{ mustFromJson \"{\" }}", "not JSON at its line 1"),
        ("{{ fromYaml \"a: [\" }}", "not YAML"),
    ]);
}

#[test]
fn encodings_and_sums() {
    check(&[
        (
            "{{ b64enc \"hello\" }} {{ b64dec \"aGVsbG8=\" }}",
            "aGVsbG8= hello",
        ),
        (
            "{{ b32enc \"hello\" }} {{ b32dec \"NBSWY3DP\" }} {{ b32enc \"a\" }} {{ b32dec \"ME======\" }}",
            "NBSWY3DP hello ME====== a",
        ),
        (
            "{{ sha1sum \"Hello world!\" }}",
            "d3486ae9136e7856bc42212385ea797094475802",
        ),
        (
            "{{ sha256sum \"Hello world!\" }}",
            "c0535e4be2b79ffd93291305436bf889314e4a3faec05ecffcbb7df31ad9e51a",
        ),
        ("{{ sha512sum \"\" | trunc 16 }}", "cf83e1357eefb8bd"),
        ("{{ adler32sum \"Hello world!\" }}", "487130206"),
        (
            "{{ $u := urlParse \"http://admin:secret@server.com:8080/api?list=false#anchor\" }}{{ $u.scheme }} {{ $u.host }} {{ $u.hostname }} {{ $u.path }} {{ $u.query }} {{ $u.userinfo }} {{ $u.fragment }}",
            "http server.com:8080 server.com /api list=false admin:secret anchor",
        ),
        (
            "{{ urlJoin (dict \"fragment\" \"fragment\" \"host\" \"host:80\" \"path\" \"/path\" \"query\" \"query\" \"scheme\" \"http\") }}",
            "http://host:80/path?query#fragment",
        ),
        ("{{ (urlParse \"mailto:a@b\").opaque }}", "a@b"),
    ]);
    check_errors(&[
        ("{{ b64dec \"!\" }}", "not base64"),
        ("{{ b64dec \"/w==\" }}", "no UTF-8"),
        ("{{ b32dec \"a\" }}", "not base32"),
    ]);
}

#[test]
fn dates() {
    check(&[
        (
            "{{ now | date \"2006-01-02\" }} {{ now | unixEpoch }}",
            "2009-11-10 1257894000",
        ),
        (
            "{{ date \"Mon Jan _2 15:04:05 2006\" 0 }}",
            "Thu Jan  1 00:00:00 1970",
        ),
        (
            "{{ date \"Monday, 02-Jan-06 3:04PM MST\" now }}",
            "Tuesday, 10-Nov-09 11:00PM UTC",
        ),
        (
            "{{ dateInZone \"2006-01-02T15:04:05Z07:00\" now \"+02:00\" }}",
            "2009-11-11T01:00:00+02:00",
        ),
        (
            "{{ date_in_zone \"15:04\" now \"UTC\" }} {{ htmlDateInZone now \"+0200\" }}",
            "23:00 2009-11-11",
        ),
        (
            "{{ now | dateModify \"-1.5h\" | date \"15:04\" }} {{ now | date_modify \"2h45m\" | htmlDate }}",
            "21:30 2009-11-11",
        ),
        (
            "{{ now | mustDateModify \"1s\" | unixEpoch }} {{ now | must_date_modify \"-1s\" | unixEpoch }}",
            "1257894001 1257893999",
        ),
        (
            "{{ toDate \"2006-01-02\" \"2017-12-31\" | date \"02/01/2006\" }}",
            "31/12/2017",
        ),
        (
            "{{ mustToDate \"2006-01-02T15:04:05Z07:00\" \"2017-12-31T01:02:03.5+01:00\" | date \"Jan 2 15:04:05.000 -0700\" }}",
            "Dec 31 01:02:03.500 +0100",
        ),
        (
            "{{ duration \"95\" }} {{ duration 3600 }} {{ duration 5 }}",
            "1m35s 1h0m0s 5s",
        ),
        (
            "{{ durationRound \"2400h10m5s\" }} {{ durationRound \"90s\" }}",
            "3mo 1m",
        ),
        (
            "{{ ago (toDate \"2006-01-02 15:04:05\" \"2009-11-10 22:58:25\") }}",
            "1m35s",
        ),
        ("{{ now }}", "2009-11-10 23:00:00 +0000 UTC"),
        ("{{ toJson now }}", "\"2009-11-10T23:00:00Z\""),
    ]);
    check_errors(&[
        (
            "{{ toDate \"2006-01-02\" \"x\" }}",
            "doesn't fit the layout",
        ),
        (
            "{{ dateInZone \"2006\" now \"Europe/Berlin\" }}",
            "only UTC and offsets",
        ),
        ("{{ dateModify \"soon\" now }}", "no duration"),
    ]);
    let template = landform_template::Template::parse("t", "{{ now }}").unwrap();
    let without = template.render(
        &serde_json::json!({}),
        &landform_template::Environment::default(),
    );
    assert!(without.unwrap_err().message.contains("without a clock"));
}

#[test]
fn patterns() {
    check(&[
        (
            "{{ regexMatch \"^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\\\\.[A-Za-z]{2,}$\" \"test@acme.com\" }}",
            "true",
        ),
        ("{{ mustRegexMatch \"^a\" \"ba\" }}", "false"),
        (
            "{{ regexFindAll \"[2,4,6,8]\" \"123456789\" -1 }} {{ mustRegexFindAll \"\\\\d\" \"a1b2\" 1 }}",
            "[2 4 6 8] [1]",
        ),
        (
            "{{ regexFind \"[a-zA-Z][1-9]\" \"abcd1234\" }} {{ mustRegexFind \"x\" \"a\" | quote }}",
            "d1 \"\"",
        ),
        (
            "{{ regexReplaceAll \"a(x*)b\" \"-ab-axxb-\" \"${1}W\" }}",
            "-W-xxW-",
        ),
        (
            "{{ mustRegexReplaceAll \"a(x*)b\" \"-ab-axxb-\" \"$1\" }}",
            "--xx-",
        ),
        (
            "{{ regexReplaceAllLiteral \"a(x*)b\" \"-ab-axxb-\" \"${1}\" }}",
            "-${1}-${1}-",
        ),
        (
            "{{ mustRegexReplaceAllLiteral \"a\" \"bab\" \"$\" }}",
            "b$b",
        ),
        (
            "{{ regexSplit \"z+\" \"pizza\" -1 }} {{ mustRegexSplit \",\" \"a,b,c\" 2 }}",
            "[pi a] [a b,c]",
        ),
        ("{{ regexQuoteMeta \"1.2.3\" }}", "1\\.2\\.3"),
    ]);
    check_errors(&[("{{ regexMatch \"(\" \"a\" }}", "not a regular expression")]);
}

#[test]
fn versions() {
    check(&[
        (
            "{{ $v := semver \"v1.2.3-alpha.1+123\" }}{{ $v.Major }} {{ $v.Minor }} {{ $v.Patch }} {{ $v.Prerelease }} {{ $v.Metadata }} {{ $v.Original }}",
            "1 2 3 alpha.1 123 v1.2.3-alpha.1+123",
        ),
        (
            "{{ semverCompare \"1.2.3\" \"v1.2.3\" }} {{ semverCompare \"^1.2.0\" \"1.9.1\" }} {{ semverCompare \"^1.2.0\" \"2.0.0\" }}",
            "true true false",
        ),
        (
            "{{ semverCompare \"~1.2\" \"1.2.9\" }} {{ semverCompare \"~1.2.3\" \"1.3.0\" }} {{ semverCompare \"~1\" \"1.9.0\" }}",
            "true false true",
        ),
        (
            "{{ semverCompare \">=1.19-0\" \"1.20.4-gke.1\" }} {{ semverCompare \">=1.19\" \"1.20.4-gke.1\" }}",
            "true false",
        ),
        (
            "{{ semverCompare \">= 1.2, < 3.0.0 || >= 4.2.3\" \"4.3.0\" }} {{ semverCompare \">=1.2 <3\" \"3.0.0\" }}",
            "true false",
        ),
        (
            "{{ semverCompare \"1.2 - 1.4.5\" \"1.4.5\" }} {{ semverCompare \"1.2.x\" \"1.2.7\" }} {{ semverCompare \"*\" \"7.0.0\" }}",
            "true true true",
        ),
        (
            "{{ semverCompare \"^0.2.3\" \"0.2.9\" }} {{ semverCompare \"^0.2.3\" \"0.3.0\" }} {{ semverCompare \"^0.0.3\" \"0.0.4\" }}",
            "true false false",
        ),
        (
            "{{ semverCompare \"!=1.2.3\" \"1.2.4\" }} {{ semverCompare \">1.2\" \"1.2.5\" }} {{ semverCompare \"<=1.2\" \"1.2.5\" }}",
            "true false true",
        ),
    ]);
    check_errors(&[
        ("{{ semver \"x\" }}", "is no version"),
        ("{{ semverCompare \">a\" \"1.0.0\" }}", "no range"),
    ]);
}

#[test]
fn paths() {
    check(&[
        (
            "{{ base \"foo/bar/baz\" }} {{ dir \"foo/bar/baz\" }} {{ ext \"foo.bar\" }}",
            "baz foo/bar .bar",
        ),
        (
            "{{ clean \"foo/bar/../baz\" }} {{ clean \"/../a//b/.\" }} {{ clean \"\" }}",
            "foo/baz /a/b .",
        ),
        (
            "{{ isAbs \"/a\" }} {{ isAbs \"a\" }} {{ base \"/\" }} {{ dir \"/a\" }} {{ dir \"a\" }}",
            "true false / / .",
        ),
        (
            "{{ osBase \"/a/b\" }} {{ osDir \"/a/b\" }} {{ osExt \"/a.b/c\" | quote }} {{ osClean \"./a\" }} {{ osIsAbs \"/\" }}",
            "b /a \"\" a true",
        ),
    ]);
}

/// Every function of the library has a row in one of the tables.
#[test]
fn every_function_is_in_a_table() {
    let tables = [
        include_str!("library.rs"),
        include_str!("structures.rs"),
        include_str!("numbers.rs"),
        include_str!("language.rs"),
        include_str!("errors.rs"),
    ]
    .concat();
    let words: BTreeSet<&str> = tables
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .collect();
    let names = function_names();
    let untested: Vec<_> = names.iter().filter(|name| !words.contains(*name)).collect();
    assert!(untested.is_empty(), "{untested:?}");
    assert!(names.len() > 200, "{} functions", names.len());
}

#[test]
fn the_manual_lists_every_function() {
    let manual = include_str!("../../../../docs/templates.md");
    let words: BTreeSet<&str> = manual.split(['`', ' ', '\n']).collect();
    let missing: Vec<_> = function_names()
        .into_iter()
        .filter(|name| !words.contains(name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
