//! A problem of a project's file, as text.

use landform_api::project::ProjectProblem;

/// A problem as people look for it in an editor.
pub(crate) fn problem_lines(problem: &ProjectProblem) -> Vec<String> {
    let ProjectProblem {
        file,
        line,
        column,
        excerpt,
        message,
    } = problem;
    let place = match (line, column) {
        (0, _) => file.clone(),
        (line, 0) => format!("{file}:{line}"),
        (line, column) => format!("{file}:{line}:{column}"),
    };
    let mut lines = vec![format!("error: {place}: {message}")];
    if !excerpt.is_empty() && *line > 0 {
        let number = line.to_string();
        lines.push(format!("  {number} | {excerpt}"));
        if *column > 0 {
            let margin = " ".repeat(number.len() + 2);
            let indent = " ".repeat(column.saturating_sub(1));
            lines.push(format!("{margin} | {indent}^"));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_shows_its_place_and_the_line_itself() {
        let problem = ProjectProblem {
            file: "db.yaml".into(),
            line: 12,
            column: 3,
            excerpt: "  port: [1".into(),
            message: "the list has no end".into(),
        };
        let lines = problem_lines(&problem);
        assert_eq!(
            lines,
            [
                "error: db.yaml:12:3: the list has no end",
                "  12 |   port: [1",
                "     |   ^",
            ]
        );
        let whole = ProjectProblem {
            file: "x.yaml".into(),
            message: "can't be read".into(),
            ..ProjectProblem::default()
        };
        assert_eq!(problem_lines(&whole), ["error: x.yaml: can't be read"]);
    }
}
