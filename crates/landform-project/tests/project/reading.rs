//! Reading directories, without any API.

use std::path::Path;

use landform_api::project::ProjectSpec;
use landform_project::{Reader, Reading, parse};
use proptest::prelude::*;
use serde_json::json;

use crate::harness::map;

fn read(reader: &mut Reader, path: &Path) -> Reading {
    // What is missing counts at once.
    let spec = ProjectSpec {
        grace: Some("0s".into()),
        ..ProjectSpec::default()
    };
    reader.read(path, "p", &spec, 0).unwrap()
}

#[test]
fn every_problem_of_a_file_has_its_place() {
    let table = [
        ("a: 1\n", (1, 1), "apiVersion is missing"),
        (
            "# x\n---\n  kind: X\n  apiVersion: v1\n",
            (3, 3),
            "metadata.name of this X is missing",
        ),
        (
            "apiVersion: a/b/c\nkind: X\n",
            (1, 1),
            "must be GROUP/VERSION",
        ),
        ("- 1\n", (1, 1), "this is no object"),
        (
            "kind: X\napiVersion: v1\nmetadata: {name: a/b}\n",
            (1, 1),
            "characters that no name may have",
        ),
        (
            "kind: X\napiVersion: v1\nmetadata: {name: a, labels: {b: 1}}\n",
            (1, 1),
            "put numbers and booleans in quotes",
        ),
        ("a: 1\na: 2\n", (2, 1), "given twice"),
    ];
    for (text, place, message) in table {
        let parsed = parse::parse("f.yaml", text);
        assert_eq!(
            (parsed.objects.len(), parsed.problems.len()),
            (0, 1),
            "{text}"
        );
        let problem = &parsed.problems[0];
        assert!(problem.message.contains(message), "{}", problem.message);
        assert_eq!(
            (problem.line, problem.column),
            place,
            "{text}: {}",
            problem.message
        );
        assert_eq!(problem.excerpt, text.lines().nth(place.0 - 1).unwrap());
    }
}

#[test]
fn a_template_shows_where_it_fails() {
    let data = json!({"Values": {"a": 1}});
    let wrong = parse::render("f.gotmpl", "x: 1\ny: {{ .Values.b.c }}\n", &data);
    assert_eq!(wrong.problems[0].line, 2);
    assert_eq!(wrong.problems[0].excerpt, "y: {{ .Values.b.c }}");
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: n{{ .Values.a }}}\n";
    let good = parse::render("f.gotmpl", text, &data);
    assert_eq!(
        (good.objects[0].name.as_str(), good.objects[0].line),
        ("n1", 1)
    );
    let odd = parse::render("f.gotmpl", "a: {{ .Values.a }}: 2\n", &data);
    assert!(
        odd.problems[0]
            .message
            .contains("in what the template renders, line 1"),
        "{odd:?}"
    );
}

#[derive(Clone, Debug)]
enum Edit {
    Write(usize, usize),
    Remove(usize),
    Move(usize, usize),
    Settings(usize),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let edit = prop_oneof![
        (0..6_usize, 0..6_usize).prop_map(|(file, text)| Edit::Write(file, text)),
        (0..6_usize).prop_map(Edit::Remove),
        (0..6_usize, 0..6_usize).prop_map(|(from, to)| Edit::Move(from, to)),
        (0..3_usize).prop_map(Edit::Settings),
    ];
    prop::collection::vec(edit, 1..20)
}

fn carry_out(root: &Path, edit: &Edit) {
    let names = [
        "a.yaml",
        "b.json",
        "d/c.yaml",
        "d/e/f.yml",
        "g.gotmpl",
        "d/blueprint.yaml",
    ];
    let texts = [
        map("a", "1"),
        map("b", "1"),
        map("a", "2"),
        "broken: [".into(),
        String::new(),
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: t{{ .Values.x }}}\n".into(),
    ];
    std::fs::create_dir_all(root.join("d/e")).unwrap();
    match edit {
        Edit::Write(file, text) => std::fs::write(root.join(names[*file]), &texts[*text]).unwrap(),
        Edit::Remove(file) => drop(std::fs::remove_file(root.join(names[*file]))),
        Edit::Move(from, to) => drop(std::fs::rename(
            root.join(names[*from]),
            root.join(names[*to]),
        )),
        Edit::Settings(value) => {
            let text = format!(
                "apiVersion: landform.dev/v1alpha1\nkind: Project\nspec: {{values: {{x: {value}}}}}\n"
            );
            std::fs::write(root.join("landform.yaml"), text).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn reading_what_changed_is_as_good_as_reading_all(edits in edits()) {
        let directory = tempfile::tempdir().unwrap();
        let mut reader = Reader::default();
        for edit in &edits {
            carry_out(directory.path(), edit);
            let fresh = read(&mut Reader::default(), directory.path());
            prop_assert_eq!(read(&mut reader, directory.path()), fresh);
        }
    }

    #[test]
    fn no_text_makes_parsing_panic(text in "\\PC*", lines in "[a-z:\\-{}\\[\\]\"|> \n]{0,80}") {
        for text in [&text, &lines] {
            let parsed = parse::parse("f.yaml", text);
            for problem in parsed.problems {
                prop_assert!(problem.line > 0 && !problem.message.is_empty());
            }
            let _ = parse::render("f.gotmpl", text, &json!({}));
        }
    }
}
