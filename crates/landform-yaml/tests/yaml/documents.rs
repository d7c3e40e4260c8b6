//! Texts with no, one and several documents.

use landform_api::Budget;
use landform_yaml::{Document, Error, ErrorKind, parse_many};
use serde_json::{Value, json};

use crate::read;

fn many(text: &str) -> Result<Vec<(Value, usize)>, Error> {
    let documents = parse_many(text, &Budget::FILE)?.into_iter();
    Ok(documents
        .map(|Document { value, line }| (value, line))
        .collect())
}

#[test]
fn several_documents_with_their_lines() {
    let text = "a: 1\n---\n\n# nothing\n---\nb: 2\n---\nnull\n---\n- 3\n...\n---\n# c\nd: 4\n";
    let expected = vec![
        (json!({"a": 1}), 1),
        (json!({"b": 2}), 6),
        (json!([3]), 10),
        (json!({"d": 4}), 14),
    ];
    assert_eq!(many(text), Ok(expected));
}

#[test]
fn a_text_without_content_has_no_documents() {
    for text in [
        "",
        "\n",
        "# only a comment\n",
        "---\n",
        "---\n---\n",
        "\u{feff}",
    ] {
        assert_eq!(many(text), Ok(vec![]), "for the text {text:?}");
        let error = read(text).expect_err("no document");
        assert_eq!(error.kind, ErrorKind::DocumentCount);
        assert!(error.message.contains("holds no document"), "{error}");
    }
}

#[test]
fn one_document_means_one() {
    assert_eq!(read("---\na: 1\n---\n# the end\n"), Ok(json!({"a": 1})));
    assert_eq!(read("\u{feff}a: 1"), Ok(json!({"a": 1})));
    assert_eq!(read("null"), Ok(Value::Null));
    let error = read("a: 1\n---\nb: 2\n").expect_err("two documents");
    assert_eq!((error.kind, error.line), (ErrorKind::DocumentCount, 3));
}

#[test]
fn json_counts_as_one_document() {
    assert_eq!(many("\n\n{\"a\": 1}"), Ok(vec![(json!({"a": 1}), 3)]));
    assert_eq!(
        many("{\"a\": 1}\n---\n{\"b\": 2}\n"),
        Ok(vec![(json!({"a": 1}), 1), (json!({"b": 2}), 3)])
    );
}
