//! A page as blocks of code, in its order, each with where it stands.

use std::path::{Path, PathBuf};

/// How the pages say that the program in the first terminal is ended.
const ENDED: &str = "Press Ctrl-C";

/// One thing on a page that a reader acts on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A block of code.
    Block(Block),
    /// The program in the first terminal is ended.
    Interrupt,
}

/// A block of code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// The title of the section that it is in.
    pub(crate) section: String,
    /// The line of the page that it begins in.
    pub(crate) line: usize,
    /// The word behind the fence; empty for a block that is only shown.
    pub(crate) language: String,
    /// What it says.
    pub(crate) text: String,
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of a page, by its path from the repository's root.
pub(crate) fn read(page: &str) -> String {
    let path = root().join(page);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All steps of a page.
pub(crate) fn steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut section = String::new();
    let mut open: Option<(usize, Block)> = None;
    for (at, line) in text.lines().enumerate() {
        let inner = line.trim_start();
        let indent = line.len() - inner.len();
        if let Some((fence, block)) = &mut open {
            if inner.starts_with("```") {
                steps.extend(open.take().map(|(_, block)| Step::Block(block)));
                continue;
            }
            // A block of a list is indented with it.
            let spaces = line.bytes().take_while(|byte| *byte == b' ').count();
            block.text.push_str(&line[spaces.min(*fence)..]);
            block.text.push('\n');
        } else if let Some(language) = inner.strip_prefix("```") {
            let block = Block {
                section: section.clone(),
                line: at + 1,
                language: language.trim().to_owned(),
                text: String::new(),
            };
            open = Some((indent, block));
        } else if let Some(title) = line.strip_prefix("## ") {
            title.clone_into(&mut section);
        } else if line.contains(ENDED) {
            steps.push(Step::Interrupt);
        }
    }
    assert!(open.is_none(), "a block is not closed");
    steps
}

/// The blocks of a page.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let steps = steps(text).into_iter();
    let blocks = steps.filter_map(|step| match step {
        Step::Block(block) => Some(block),
        Step::Interrupt => None,
    });
    blocks.collect()
}

#[test]
fn a_page_is_taken_apart() {
    let page = "# Title\n```sh\none\n```\n\n## Next\n\n1. Do:\n   ```\n   two\n     three\n   ```\nPress Ctrl-C, then\n```yaml\nx: 1\n```\n";
    let block = |section: &str, line, language: &str, text: &str| {
        Step::Block(Block {
            section: section.to_owned(),
            line,
            language: language.to_owned(),
            text: text.to_owned(),
        })
    };
    assert_eq!(
        steps(page),
        [
            block("", 2, "sh", "one\n"),
            block("Next", 9, "", "two\n  three\n"),
            Step::Interrupt,
            block("Next", 14, "yaml", "x: 1\n"),
        ]
    );
}
