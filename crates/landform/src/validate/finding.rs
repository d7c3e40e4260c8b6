//! One thing that is wrong, or looks wrong, with its place.

use std::path::Path;

use landform_api::project::ProjectProblem;
use landform_blueprint::Problem;
use landform_project::Source;
use serde::Serialize;

use crate::up::problem_lines;

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Finding {
    #[serde(flatten)]
    problem: ProjectProblem,
    /// `error` or `warning`.
    severity: &'static str,
    /// A word that stands in the line that is wrong, at or below the place.
    #[serde(skip)]
    word: String,
}

impl Finding {
    pub(super) fn error(problem: ProjectProblem) -> Self {
        Self {
            problem,
            severity: "error",
            word: String::new(),
        }
    }

    pub(super) fn warning(problem: ProjectProblem) -> Self {
        Self {
            problem,
            severity: "warning",
            word: String::new(),
        }
    }

    /// As people look for it in an editor.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = problem_lines(&self.problem);
        if self.severity != "error"
            && let Some(first) = lines.first_mut()
        {
            *first = first.replacen("error", self.severity, 1);
        }
        lines
    }
}

/// All that was found.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    pub(super) fn add(&mut self, finding: Finding) {
        self.0.push(finding);
    }

    pub(super) fn error(&mut self, at: Place<'_>, message: impl Into<String>) {
        self.add(Finding::error(at.problem(message.into())));
    }

    /// Something that is wrong in the line with a word, somewhere in an object.
    pub(super) fn error_in(&mut self, at: Place<'_>, word: &str, message: impl Into<String>) {
        let mut found = Finding::error(at.problem(message.into()));
        word.clone_into(&mut found.word);
        self.add(found);
    }

    /// Finds the lines of words. Files with credentials are left alone: no line of them is shown.
    pub(super) fn locate(&mut self, directory: &Path) {
        for found in self.0.iter_mut().filter(|found| !found.word.is_empty()) {
            let problem = &mut found.problem;
            let Ok(text) = std::fs::read_to_string(directory.join(&problem.file)) else {
                continue;
            };
            if ["Secret", "Target"].iter().any(|kind| text.contains(kind)) {
                continue;
            }
            let lines = text
                .lines()
                .enumerate()
                .skip(problem.line.saturating_sub(1));
            // Not beyond the object.
            let lines = lines
                .enumerate()
                .take_while(|(at, (_, line))| *at == 0 || !line.starts_with("---"));
            for (_, (at, line)) in lines {
                if let Some(column) = whole_word(line, &found.word) {
                    (problem.line, problem.column) = (at + 1, column + 1);
                    line.trim_end().clone_into(&mut problem.excerpt);
                    break;
                }
            }
        }
    }

    pub(super) fn warning(&mut self, at: Place<'_>, message: impl Into<String>) {
        self.add(Finding::warning(at.problem(message.into())));
    }

    /// What is wrong with a blueprint whose files stand below a path of the project.
    pub(super) fn of_directory(&mut self, path: &str, problem: &Problem, is_error: bool) {
        let (line, column) = problem.place.unwrap_or_default();
        let field = if problem.path.is_empty() {
            String::new()
        } else {
            format!("{}: ", problem.path)
        };
        let found = ProjectProblem {
            file: format!("{path}/{}", problem.file),
            line,
            column,
            excerpt: String::new(),
            message: format!("{field}{}", problem.message),
        };
        self.add(if is_error {
            Finding::error(found)
        } else {
            Finding::warning(found)
        });
    }

    /// Errors and warnings.
    pub(super) fn counts(&self) -> (usize, usize) {
        let errors = self.0.iter().filter(|found| found.severity == "error");
        let errors = errors.count();
        (errors, self.0.len() - errors)
    }

    pub(super) fn all(&self) -> &[Finding] {
        &self.0
    }

    /// In the order of files and lines, each once.
    pub(super) fn sort(&mut self) {
        self.0.sort();
        self.0.dedup();
    }
}

/// Where a word stands by itself, in letters.
fn whole_word(line: &str, word: &str) -> Option<usize> {
    let part = |letter: Option<char>| {
        letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '-')
    };
    line.match_indices(word).find_map(|(at, _)| {
        let before = line.get(..at)?.chars().next_back();
        let after = line.get(at + word.len()..)?.chars().next();
        (!part(before) && !part(after)).then(|| line[..at].chars().count())
    })
}

/// Where an object begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) file: &'a str,
    pub(super) source: &'a Source,
}

impl Place<'_> {
    fn problem(self, message: String) -> ProjectProblem {
        ProjectProblem {
            file: self.file.to_owned(),
            line: self.source.line,
            column: self.source.column,
            excerpt: self.source.excerpt.clone(),
            message,
        }
    }
}
