//! A place in the text of an expression.

use crate::ast::Span;
use crate::error::{SyntaxFault, floor_boundary};

/// Cheap to copy, so that a reader can go back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'t> {
    text: &'t str,
    at: usize,
    end: usize,
    steps: usize,
}

impl<'t> Cursor<'t> {
    pub(crate) fn new(text: &'t str, at: usize, end: usize) -> Self {
        let end = floor_boundary(text, end);
        Cursor {
            text,
            at,
            end,
            steps: 0,
        }
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn count(&mut self, steps: usize) -> usize {
        self.steps += steps;
        self.steps
    }

    pub(crate) fn rest(&self) -> &'t str {
        &self.text[self.at..self.end]
    }

    pub(crate) fn at_end(&self) -> bool {
        self.at >= self.end
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.rest().bytes().next()
    }

    pub(crate) fn peek_second(&self) -> Option<u8> {
        self.rest().as_bytes().get(1).copied()
    }

    pub(crate) fn looking_at(&self, sign: &str) -> bool {
        self.rest().starts_with(sign)
    }

    /// Whether the word stands here, and not only begins another one.
    pub(crate) fn looking_at_word(&self, word: &str) -> bool {
        let rest = self.rest().strip_prefix(word);
        rest.is_some_and(|rest| !rest.bytes().next().is_some_and(is_key))
    }

    pub(crate) fn take(&mut self, sign: &str) -> bool {
        let there = self.looking_at(sign);
        if there {
            self.at += sign.len();
        }
        there
    }

    pub(crate) fn expect(&mut self, sign: &str, message: &str) -> Result<(), SyntaxFault> {
        if self.take(sign) {
            return Ok(());
        }
        Err(self.fault(message))
    }

    /// Skips white space; whether there was any.
    pub(crate) fn space(&mut self) -> bool {
        let before = self.at;
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        self.at += self.rest().bytes().take_while(blank).count();
        self.at > before
    }

    pub(crate) fn take_while(&mut self, takes: impl Fn(u8) -> bool) -> &'t str {
        let start = self.at;
        let length = self.rest().bytes().take_while(|byte| takes(*byte)).count();
        self.at += length;
        &self.text[start..self.at]
    }

    /// A name of a parameter or a marker; empty when there is none.
    pub(crate) fn name(&mut self) -> &'t str {
        self.take_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    }

    /// A step of a path; empty when there is none.
    pub(crate) fn key(&mut self) -> &'t str {
        let start = self.at;
        if !self.peek().is_some_and(is_key_start) {
            return "";
        }
        self.take_while(is_key);
        // `key:name` is one key when nothing stands around the colon.
        if self.peek() == Some(b':') && self.peek_second().is_some_and(is_key_start) {
            self.at += 1;
            self.take_while(is_key);
        }
        &self.text[start..self.at]
    }

    pub(crate) fn advance(&mut self, bytes: usize) {
        self.at = (self.at + bytes).min(self.end);
    }

    /// One of the operators, with white space on both sides; the cursor then stands behind it.
    pub(crate) fn spaced_operator(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        let before = self.at;
        if self.space()
            && let Some(sign) = signs.iter().find(|sign| self.looking_at(sign))
        {
            self.at += sign.len();
            if self.space() {
                return Some(sign);
            }
        }
        self.at = before;
        None
    }

    /// Whether white space and then another value follow; the cursor then stands at that value.
    pub(crate) fn spaced_operand(&mut self) -> bool {
        let before = self.at;
        if self.space() && self.at_operand() {
            return true;
        }
        self.at = before;
        false
    }

    fn at_operand(&self) -> bool {
        let second = self.peek_second();
        match self.peek() {
            Some(b'"' | b'~' | b'$' | b'(' | b'[' | b'{') => true,
            Some(b'.') => second.is_some_and(|byte| is_key_start(byte) || byte == b'['),
            Some(b'-') => second.is_some_and(|byte| byte.is_ascii_digit()),
            Some(b'!') => second != Some(b'='),
            Some(b'*') => second.is_some_and(|byte| !byte.is_ascii_whitespace()),
            Some(byte) => is_key_start(byte),
            None => false,
        }
    }

    /// Whether a parenthesis begins here that is empty or holds an assignment, and how many bytes
    /// were looked at for that.
    pub(crate) fn assignments_in_parentheses(&self) -> (bool, usize) {
        let rest = self.rest().as_bytes();
        if rest.first() != Some(&b'(') {
            return (false, 0);
        }
        let inner = self.rest()[1..].trim_start();
        if inner.starts_with(')') {
            return (true, 1);
        }
        if inner.starts_with('|') || inner.starts_with("lambda") {
            return (false, 1);
        }
        let mut depth = 0_usize;
        let mut at = 0;
        while let Some(byte) = rest.get(at) {
            match byte {
                b'"' => at = end_of_text(rest, at),
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return (false, at);
                    }
                }
                b'=' if depth == 1 => {
                    let compares = rest.get(at + 1) == Some(&b'=')
                        || matches!(rest.get(at - 1), Some(b'=' | b'!' | b'<' | b'>'));
                    if !compares {
                        return (true, at);
                    }
                }
                _ => {}
            }
            at += 1;
        }
        (false, at)
    }

    /// The end of what was read, without white space.
    pub(crate) fn end_of_word(&self) -> usize {
        self.text[..self.at].trim_end().len()
    }

    pub(crate) fn text_since(&self, start: usize) -> &'t str {
        &self.text[start..self.at]
    }

    pub(crate) fn fault(&self, message: impl Into<String>) -> SyntaxFault {
        SyntaxFault {
            span: Span {
                start: self.at,
                end: self.at + 1,
            },
            message: message.into(),
        }
    }

    pub(crate) fn fault_since(&self, start: usize, message: impl Into<String>) -> SyntaxFault {
        SyntaxFault {
            span: Span {
                start,
                end: self.at,
            },
            message: message.into(),
        }
    }
}

/// The last byte of a text that begins at `at`.
pub(crate) fn end_of_text(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'"' => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

pub(crate) fn is_key_start(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(crate) fn is_key(byte: u8) -> bool {
    is_key_start(byte) || byte == b'-'
}
