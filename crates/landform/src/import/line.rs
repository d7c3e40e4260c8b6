//! Command lines in one text, taken apart as a shell does it.

/// The words of a command line, or nothing when a quote is open.
pub(crate) fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '\'' => break,
                        letter => word.push(letter),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '"' => break,
                        '\\' => match letters.next()? {
                            letter @ ('"' | '\\' | '$' | '`') => word.push(letter),
                            letter => word.extend(['\\', letter]),
                        },
                        letter => word.push(letter),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(letters.next()?),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Some(words)
}

#[test]
fn command_lines_are_taken_apart() {
    for (line, expected) in [
        ("a b  c", Some(vec!["a", "b", "c"])),
        (
            r#"sh -c 'echo "x y"' """#,
            Some(vec!["sh", "-c", "echo \"x y\"", ""]),
        ),
        (r#"a\ b "c\"d\n""#, Some(vec!["a b", "c\"d\\n"])),
        ("a 'b", None),
    ] {
        let found = words(line);
        let found = found
            .as_ref()
            .map(|words| words.iter().map(String::as_str).collect());
        assert_eq!(found, expected, "{line}");
    }
}
