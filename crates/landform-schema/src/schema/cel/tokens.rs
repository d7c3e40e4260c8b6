//! Where literals and comments of an expression begin and end, as the specification of CEL says.

/// What an expression has outside of literals and comments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) operators: usize,
    /// How deep brackets are nested in brackets, closed or not.
    pub(super) brackets: usize,
}

/// What an expression has outside of literals and comments.
pub(super) fn shape(source: &str) -> Shape {
    let mut shape = Shape::default();
    let mut open = 0_usize;
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("//") {
            rest = comment.find('\n').map_or("", |end| &comment[end..]);
        } else if let Some((quote, is_raw)) = opening(rest) {
            rest = after_literal(quote, is_raw);
        } else if c.is_alphanumeric() || c == '_' {
            // A name that ends in `r` is no prefix of a literal.
            rest = rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
        } else {
            match c {
                '(' | '[' | '{' => open += 1,
                ')' | ']' | '}' => open = open.saturating_sub(1),
                _ => {}
            }
            shape.brackets = shape.brackets.max(open);
            shape.operators += usize::from("+-*/%<>=!&|?.([{".contains(c));
            rest = &rest[c.len_utf8()..];
        }
    }
    shape
}

/// The text from the opening quote on, if a literal begins here, and whether it is a raw one.
fn opening(text: &str) -> Option<(&str, bool)> {
    let prefix = text
        .find(|c: char| !"rRbB".contains(c))
        .filter(|length| *length <= 2)?;
    let (prefix, quote) = text.split_at(prefix);
    let is_raw = prefix.contains(['r', 'R']);
    quote.starts_with(['\'', '"']).then_some((quote, is_raw))
}

/// What follows a literal; all that is left if it isn't closed.
fn after_literal(literal: &str, is_raw: bool) -> &str {
    let quotes = ["'''", "\"\"\"", "'", "\""];
    let Some(quote) = quotes.into_iter().find(|quote| literal.starts_with(quote)) else {
        return literal;
    };
    let mut rest = &literal[quote.len()..];
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix(quote) {
            return after;
        }
        if c == '\n' && quote.len() == 1 {
            // It isn't closed: the parser refuses the text, whatever follows.
            return rest;
        }
        rest = &rest[c.len_utf8()..];
        if c == '\\' && !is_raw {
            rest = rest.chars().next().map_or("", |c| &rest[c.len_utf8()..]);
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_counted_outside_of_literals_and_comments() {
        let table = [
            ("a + b * c", 2),
            ("([{}])[(']')]", 5),
            ("a + '+' + \"+'+\"", 2),
            (r"'\'+' + 1", 1),
            (r"r'\' + '+'", 1),
            (r"R'\' + B'\'+'", 1),
            (r"bR'\' + rb'\' + 1", 2),
            ("'''it's + ''' + '''+'''", 1),
            ("1 // '\n + 1", 1),
            ("'// ' + 1", 1),
            ("bar'+' + 1", 1),
            ("'a\n+1", 1),
            ("'+", 0),
        ];
        for (text, count) in table {
            assert_eq!(shape(text).operators, count, "{text}");
        }
        assert_eq!(shape("([{}])[(']')]").brackets, 3);
        assert_eq!(shape("'(' // (((").brackets, 0);
        assert_eq!(shape("(((").brackets, 3);
    }
}
