//! Cuts a template's text into tokens.
//!
//! Text outside of `{{ }}` is one token with the white space that `{{-` and `-}}` ask to remove
//! already gone; comments are dropped.

use crate::ast::Span;
use crate::error::{ErrorKind, Fault};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    Text(String),
    /// `{{`
    Open,
    /// `}}`
    Close,
    /// White space inside an action; it separates operands.
    Space,
    Word(String),
    /// `.name`
    Field(String),
    Dot,
    /// `$` or `$name`
    Variable(String),
    String(String),
    Int(i64),
    Float(f64),
    Declare,
    Assign,
    Comma,
    Pipe,
    OpenParen,
    CloseParen,
}

const OPEN: &str = "{{";
const CLOSE: &str = "}}";

pub(crate) fn tokens(text: &str) -> Result<Vec<(Token, Span)>, Fault> {
    let mut lexer = Lexer {
        text,
        at: 0,
        tokens: Vec::new(),
    };
    lexer.run()?;
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    tokens: Vec<(Token, Span)>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn push(&mut self, token: Token, length: usize) {
        let span = Span::new(self.at, self.at + length);
        self.tokens.push((token, span));
        self.at += length;
    }

    fn fault(&self, length: usize, message: impl Into<String>) -> Fault {
        Fault::new(
            ErrorKind::Syntax,
            Span::new(self.at, self.at + length),
            message,
        )
    }

    fn run(&mut self) -> Result<(), Fault> {
        let mut trim_start = false;
        loop {
            let rest = self.rest();
            let open = rest.find(OPEN);
            let raw = &rest[..open.unwrap_or(rest.len())];
            let action = open.map(|at| &rest[at + OPEN.len()..]);
            let trim_end = action.is_some_and(trims_before);
            let mut kept = raw;
            if trim_start {
                kept = kept.trim_start_matches(SPACES);
            }
            if trim_end {
                kept = kept.trim_end_matches(SPACES);
            }
            if !kept.is_empty() {
                let span = Span::new(self.at, self.at + raw.len());
                self.tokens.push((Token::Text(kept.to_owned()), span));
            }
            self.at += raw.len();
            if open.is_none() {
                return Ok(());
            }
            trim_start = self.action(trim_end)?;
        }
    }

    /// One `{{ … }}`; answers whether the text after it loses its leading white space.
    fn action(&mut self, trimmed: bool) -> Result<bool, Fault> {
        let opening = Span::new(self.at, self.at + OPEN.len());
        let skipped = OPEN.len() + usize::from(trimmed);
        let inside = &self.rest()[skipped..];
        let comment = if trimmed {
            inside.trim_start_matches(SPACES)
        } else {
            inside
        };
        if comment.starts_with("/*") {
            self.at += skipped + (inside.len() - comment.len());
            return self.comment();
        }
        self.tokens.push((Token::Open, opening));
        self.at += skipped;
        loop {
            let rest = self.rest();
            if let Some(trims) = closes(rest) {
                if trims {
                    // The space before `-}}` and the dash.
                    self.at += rest.len() - rest.trim_start_matches(SPACES).len() + 1;
                }
                self.push(Token::Close, CLOSE.len());
                return Ok(trims);
            }
            if rest.is_empty() {
                return Err(Fault::new(
                    ErrorKind::Syntax,
                    opening,
                    "this action is not closed: write `}}` after it",
                ));
            }
            self.token()?;
        }
    }

    fn comment(&mut self) -> Result<bool, Fault> {
        let rest = self.rest();
        let Some(end) = rest.find("*/") else {
            return Err(self.fault(2, "this comment is not closed: write `*/}}` after it"));
        };
        let after = &rest[end + 2..];
        match closes(after) {
            Some(trims) => {
                let length = after.find(CLOSE).unwrap_or_default() + CLOSE.len();
                self.at += end + 2 + length;
                Ok(trims)
            }
            None => Err(self.fault(
                2,
                "a comment stands alone in its action: `{{/*` at its start and `*/}}` at its end",
            )),
        }
    }

    fn token(&mut self) -> Result<(), Fault> {
        let rest = self.rest();
        let first = rest.chars().next().unwrap_or_default();
        match first {
            ' ' | '\t' | '\r' | '\n' => {
                let length = rest.len() - rest.trim_start_matches(SPACES).len();
                self.push(Token::Space, length);
            }
            ':' if rest.starts_with(":=") => self.push(Token::Declare, 2),
            '=' => self.push(Token::Assign, 1),
            ',' => self.push(Token::Comma, 1),
            '|' => self.push(Token::Pipe, 1),
            '(' => self.push(Token::OpenParen, 1),
            ')' => self.push(Token::CloseParen, 1),
            '"' => self.quoted()?,
            '`' => match rest[1..].find('`') {
                Some(length) => {
                    let text = rest[1..=length].to_owned();
                    self.push(Token::String(text), length + 2);
                }
                None => return Err(self.fault(1, "this text is not closed: write a backquote")),
            },
            '\'' => self.character()?,
            '$' => {
                let length = word_length(&rest[1..]);
                self.push(Token::Variable(rest[..=length].to_owned()), length + 1);
                self.expect_end_of_operand()?;
            }
            '.' if !rest[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                let length = word_length(&rest[1..]);
                if length == 0 {
                    self.push(Token::Dot, 1);
                } else {
                    self.push(Token::Field(rest[1..=length].to_owned()), length + 1);
                }
                self.expect_end_of_operand()?;
            }
            '+' | '-' | '.' | '0'..='9' => self.number()?,
            c if is_word(c) => {
                let length = word_length(rest);
                self.push(Token::Word(rest[..length].to_owned()), length);
                self.expect_end_of_operand()?;
            }
            other => {
                return Err(self.fault(
                    other.len_utf8(),
                    format!("the character {other:?} means nothing here"),
                ));
            }
        }
        Ok(())
    }

    /// Go refuses `.a-b` and `$x"text"`: what follows a name has to be separated from it.
    fn expect_end_of_operand(&self) -> Result<(), Fault> {
        let rest = self.rest();
        let next = rest.chars().next();
        let fine = next.is_none_or(|c| " \t\r\n.,|:=)(".contains(c)) || rest.starts_with(CLOSE);
        match next {
            Some(other) if !fine => Err(self.fault(
                other.len_utf8(),
                format!(
                    "the character {other:?} can't follow a name: write a space before it, or \
                     `index` for keys with special characters"
                ),
            )),
            _ => Ok(()),
        }
    }

    fn quoted(&mut self) -> Result<(), Fault> {
        let rest = self.rest();
        let mut text = String::new();
        let mut chars = rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.push(Token::String(text), at + 1);
                    return Ok(());
                }
                '\n' => break,
                '\\' => {
                    let Some(escaped) = escape(&mut chars) else {
                        return Err(self.fault(at + 2, "this text has an unknown escape sequence"));
                    };
                    text.push(escaped);
                }
                c => text.push(c),
            }
        }
        Err(self.fault(1, "this text is not closed: write `\"` on the same line"))
    }

    fn character(&mut self) -> Result<(), Fault> {
        let rest = self.rest();
        let mut chars = rest.char_indices().skip(1);
        let value = match chars.next() {
            Some((_, '\\')) => escape(&mut chars),
            Some((_, c)) if c != '\'' && c != '\n' => Some(c),
            _ => None,
        };
        match (value, chars.next()) {
            (Some(c), Some((at, '\''))) => {
                self.push(Token::Int(i64::from(u32::from(c))), at + 1);
                Ok(())
            }
            _ => Err(self.fault(
                1,
                "this is no character constant: write texts in double quotes",
            )),
        }
    }

    fn number(&mut self) -> Result<(), Fault> {
        let rest = self.rest();
        let mut length = 0;
        let mut previous = ' ';
        let hexadecimal = rest
            .trim_start_matches(['+', '-'])
            .get(..2)
            .is_some_and(|start| start.eq_ignore_ascii_case("0x"));
        for (at, c) in rest.char_indices() {
            let sign = matches!(c, '+' | '-')
                && (at == 0
                    || if hexadecimal {
                        matches!(previous, 'p' | 'P')
                    } else {
                        matches!(previous, 'e' | 'E')
                    });
            if !(sign || c.is_ascii_alphanumeric() || c == '.' || c == '_') {
                break;
            }
            previous = c;
            length = at + 1;
        }
        let Some(token) = parse_number(&rest[..length]) else {
            return Err(self.fault(length.max(1), "this is no number"));
        };
        self.push(token, length);
        self.expect_end_of_operand()
    }
}

const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];

/// Whether the text after `{{` begins with the mark that removes white space before the action.
fn trims_before(action: &str) -> bool {
    action
        .strip_prefix('-')
        .is_some_and(|after| after.starts_with(SPACES))
}

/// Whether an action ends here, and if so whether white space after it is removed.
fn closes(rest: &str) -> Option<bool> {
    if rest.starts_with(CLOSE) {
        return Some(false);
    }
    let dash = rest.trim_start_matches(SPACES);
    (dash.len() < rest.len() && dash.strip_prefix('-')?.starts_with(CLOSE)).then_some(true)
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn word_length(text: &str) -> usize {
    text.find(|c| !is_word(c)).unwrap_or(text.len())
}

/// The character after a backslash, as Go writes them.
fn escape(chars: &mut impl Iterator<Item = (usize, char)>) -> Option<char> {
    let (_, kind) = chars.next()?;
    let mut digits = |count: usize, radix: u32, start: u32| {
        let mut value = start;
        for _ in 0..count {
            let (_, digit) = chars.next()?;
            value = value * radix + digit.to_digit(radix)?;
        }
        char::from_u32(value)
    };
    Some(match kind {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'v' => '\u{b}',
        '\\' | '"' | '\'' => kind,
        'x' => digits(2, 16, 0)?,
        'u' => digits(4, 16, 0)?,
        'U' => {
            let (_, first) = chars.next()?;
            let (_, second) = chars.next()?;
            if first != '0' || second != '0' {
                return None;
            }
            let mut value = 0;
            for _ in 0..6 {
                value = value * 16 + chars.next()?.1.to_digit(16)?;
            }
            char::from_u32(value)?
        }
        '0'..='7' => digits(2, 8, kind.to_digit(8)?)?,
        _ => return None,
    })
}

fn parse_number(text: &str) -> Option<Token> {
    let plain = text.replace('_', "");
    let (negative, digits) = match plain.as_bytes().first()? {
        b'-' => (true, &plain[1..]),
        b'+' => (false, &plain[1..]),
        _ => (false, plain.as_str()),
    };
    let (radix, body) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', rest @ ..] if !rest.is_empty() && rest.iter().all(u8::is_ascii_digit) => {
            (8, &digits[1..])
        }
        _ => (10, digits),
    };
    if body.starts_with(['+', '-']) {
        return None;
    }
    let magnitude = i128::from_str_radix(body, radix).ok();
    if let Some(magnitude) = magnitude {
        let value = if negative { -magnitude } else { magnitude };
        return i64::try_from(value).ok().map(Token::Int);
    }
    let float_like = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    let value: f64 = if float_like {
        plain.parse().ok()?
    } else {
        return None;
    };
    value.is_finite().then_some(Token::Float(value))
}
