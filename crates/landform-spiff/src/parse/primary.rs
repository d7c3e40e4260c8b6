//! Literals, references, brackets, and what stands right behind them.

use std::sync::Arc;

use crate::ast::{
    Arguments, Component, Expression, Item, Kind, Range, Reference, Span, Step, StepKind,
};

use super::cursor::{Cursor, end_of_text, is_key_start};
use super::{Parsed, Parser};

impl Parser<'_> {
    /// A value without operators around it.
    pub(super) fn primary(&mut self) -> Parsed {
        self.count(1)?;
        let start = self.cursor.position();
        match self.cursor.peek() {
            Some(b'"') => self.text(),
            Some(b'0'..=b'9') => self.number(),
            Some(b'-')
                if self
                    .cursor
                    .peek_second()
                    .is_some_and(|b| b.is_ascii_digit()) =>
            {
                self.number()
            }
            Some(b'~') => {
                let kind = if self.cursor.take("~~") {
                    Kind::Undefined
                } else {
                    self.cursor.take("~");
                    Kind::Nil
                };
                Ok(self.spanned(start, kind))
            }
            Some(b'$') => self.symbol(),
            Some(b'!') => {
                self.cursor.take("!");
                let inner = Box::new(self.nested_primary()?);
                Ok(self.spanned(start, Kind::Not(inner)))
            }
            Some(b'*') => {
                self.cursor.take("*");
                let inner = Box::new(self.nested_primary()?);
                Ok(self.spanned(start, Kind::Substitution(inner)))
            }
            Some(b'(') => {
                self.cursor.take("(");
                let inner = self.expression()?;
                self.cursor
                    .expect(")", "the parenthesis is not closed here")?;
                self.chained(start, inner)
            }
            Some(b'[') => {
                let list = self.list_or_range()?;
                self.chained(start, list)
            }
            Some(b'{') => {
                let map = self.map()?;
                self.chained(start, map)
            }
            Some(b'.') => self.absolute(),
            Some(byte) if is_key_start(byte) => self.word(),
            _ => Err(self.unexpected()),
        }
    }

    /// Signs before a value nest: they count like brackets.
    fn nested_primary(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > super::DEEPEST_NESTING {
            return Err(self.cursor.fault("the expression is nested too deeply"));
        }
        self.cursor.space();
        let inner = self.primary();
        self.depth -= 1;
        inner
    }

    fn text(&mut self) -> Parsed {
        let start = self.cursor.position();
        let rest = self.cursor.rest();
        let end = end_of_text(rest.as_bytes(), 0);
        if end >= rest.len() {
            return Err(self.cursor.fault("this string is not closed"));
        }
        self.cursor.advance(end + 1);
        // The escapes are those of JSON; a line break may stand as it is.
        let literal = rest[..=end].replace('\n', "\\n").replace('\t', "\\t");
        match serde_json::from_str(&literal) {
            Ok(text) => Ok(self.spanned(start, Kind::Text(text))),
            Err(_) => {
                let message = "this string has an escape that JSON doesn't have: write `\\\\` for a backslash";
                Err(self.cursor.fault_since(start, message))
            }
        }
    }

    fn number(&mut self) -> Parsed {
        let start = self.cursor.position();
        if let Some(length) = address_length(self.cursor.rest()) {
            let address = self.cursor.rest()[..length].to_owned();
            self.cursor.advance(length);
            return Ok(self.spanned(start, Kind::Text(address)));
        }
        self.cursor.take("-");
        let digits = |byte: u8| byte.is_ascii_digit();
        self.cursor
            .take_while(|byte| byte.is_ascii_digit() || byte == b'_');
        let mut float = false;
        if self.cursor.peek() == Some(b'.') && self.cursor.peek_second().is_some_and(digits) {
            self.cursor.take(".");
            self.cursor.take_while(digits);
            float = true;
        }
        let before = self.cursor;
        if self.cursor.take("e") || self.cursor.take("E") {
            self.cursor.take("-");
            if self.cursor.take_while(digits).is_empty() {
                self.cursor = before;
            } else {
                float = true;
            }
        }
        let text = self.cursor.text_since(start).replace('_', "");
        let kind = if float {
            let number: Option<f64> = text.parse().ok();
            number.filter(|number| number.is_finite()).map(Kind::Float)
        } else {
            text.parse().ok().map(Kind::Integer)
        };
        match kind {
            Some(kind) => Ok(self.spanned(start, kind)),
            None => Err(self.cursor.fault_since(start, "this number is too large")),
        }
    }

    /// `$name` is the text `name`.
    fn symbol(&mut self) -> Parsed {
        let start = self.cursor.position();
        self.cursor.take("$");
        let name = self.cursor.name().to_owned();
        if name.is_empty() {
            return Err(self.cursor.fault("here a name is expected: `$name`"));
        }
        Ok(self.spanned(start, Kind::Text(name)))
    }

    fn list_or_range(&mut self) -> Parsed {
        let start = self.cursor.position();
        self.cursor.take("[");
        self.cursor.space();
        if self.cursor.take("]") {
            return Ok(self.spanned(start, Kind::List(Vec::new())));
        }
        match self.brackets()? {
            Brackets::Items(items) => Ok(self.spanned(start, Kind::List(items))),
            Brackets::Range(range) => Ok(self.spanned(start, Kind::Range(Box::new(range)))),
        }
    }

    /// What stands in brackets, from behind the first to behind the last one.
    fn brackets(&mut self) -> Parsed<Brackets> {
        let mut items: Vec<Item> = Vec::new();
        loop {
            self.cursor.space();
            let first = if at_range(&self.cursor) {
                None
            } else {
                Some(self.expression()?)
            };
            if at_range(&self.cursor) && items.is_empty() {
                self.cursor.take("..");
                self.cursor.space();
                let last = match self.cursor.peek() {
                    Some(b']') => None,
                    _ => Some(self.expression()?),
                };
                self.cursor
                    .expect("]", "the bracket of this range is not closed here")?;
                return Ok(Brackets::Range(Range { first, last }));
            }
            let Some(expression) = first else {
                return Err(self.unexpected());
            };
            items.push(self.item(expression));
            if self.cursor.take(",") {
                continue;
            }
            self.cursor.expect(
                "]",
                "the bracket is not closed here: items are separated by commas",
            )?;
            return Ok(Brackets::Items(items));
        }
    }

    fn item(&mut self, expression: Expression) -> Item {
        let expanded = self.cursor.take("...");
        self.cursor.space();
        Item {
            expression,
            expanded,
        }
    }

    fn map(&mut self) -> Parsed {
        let start = self.cursor.position();
        self.cursor.take("{");
        self.cursor.space();
        let assignments = if self.cursor.peek() == Some(b'}') {
            Vec::new()
        } else {
            self.assignments()?
        };
        self.cursor.expect(
            "}",
            "the map is not closed here: it has the form `{ \"key\" = value, … }`",
        )?;
        Ok(self.spanned(start, Kind::Map(assignments)))
    }

    /// `.a.b` begins at the root, `.[…]` is an index into it.
    fn absolute(&mut self) -> Parsed {
        let start = self.cursor.position();
        self.cursor.take(".");
        if self.cursor.peek() == Some(b'[') {
            let root = Reference {
                absolute: true,
                path: Vec::new(),
            };
            let root = self.spanned(start, Kind::Reference(root));
            return self.chained(start, root);
        }
        let key = self.cursor.key().to_owned();
        if key.is_empty() {
            return Err(self.cursor.fault("here a name is expected: `.name`"));
        }
        self.reference(start, true, key)
    }

    fn word(&mut self) -> Parsed {
        let start = self.cursor.position();
        let before = self.cursor;
        let key = self.cursor.key().to_owned();
        let literal = match key.as_str() {
            "true" => Some(Kind::Boolean(true)),
            "false" => Some(Kind::Boolean(false)),
            "nil" => Some(Kind::Nil),
            _ => None,
        };
        if let Some(kind) = literal {
            return Ok(self.spanned(start, kind));
        }
        match (key.as_str(), self.cursor.peek()) {
            ("merge", next) if next != Some(b'(') => return self.merge(start),
            ("map" | "select" | "filter", Some(b'[' | b'{')) | ("sum" | "catch", Some(b'[')) => {
                let iteration = self.iteration(start, &key)?;
                return self.chained(start, iteration);
            }
            ("lambda", Some(b'|')) => {
                let lambda = self.lambda()?;
                return Ok(self.spanned(start, Kind::Lambda(Arc::new(lambda))));
            }
            ("lambda", Some(b' ')) => {
                self.cursor.space();
                if self.cursor.peek() == Some(b'|') {
                    let lambda = self.lambda()?;
                    return Ok(self.spanned(start, Kind::Lambda(Arc::new(lambda))));
                }
                // `lambda value` is that value, which has to be a function where it is called.
                return self.expression();
            }
            ("sync", Some(b'[')) | ("auto", _) => {
                let message = "this form of dynaml is not supported here";
                return Err(self.cursor.fault_since(start, message));
            }
            _ => {}
        }
        if self.cursor.looking_at("::") {
            let message = "tags are not supported: refer to the node by its path";
            return Err(self.cursor.fault_since(start, message));
        }
        if key.is_empty() {
            self.cursor = before;
            return Err(self.unexpected());
        }
        self.reference(start, false, key)
    }

    /// The path behind a first key, and what is done with what it leads to.
    pub(super) fn reference(&mut self, start: usize, absolute: bool, key: String) -> Parsed {
        let mut path = vec![Component::Key(key)];
        while let Some(component) = self.component() {
            path.push(component);
        }
        let reference = Reference { absolute, path };
        let reference = self.spanned(start, Kind::Reference(reference));
        self.chained(start, reference)
    }

    /// `.key`, `[0]` or `.[0]`
    fn component(&mut self) -> Option<Component> {
        let before = self.cursor;
        let dotted = self.cursor.take(".");
        if self.cursor.take("[") {
            let start = self.cursor.position();
            self.cursor.take("-");
            let digits = self.cursor.take_while(|byte| byte.is_ascii_digit());
            let index = self.cursor.text_since(start).parse();
            if !digits.is_empty()
                && self.cursor.take("]")
                && let Ok(index) = index
            {
                return Some(Component::Index(index));
            }
        } else if dotted {
            let key = self.cursor.key();
            if !key.is_empty() {
                return Some(Component::Key(key.to_owned()));
            }
        }
        self.cursor = before;
        None
    }

    fn chained(&mut self, start: usize, base: Expression) -> Parsed {
        let mut steps = Vec::new();
        loop {
            self.count(1)?;
            let from = self.cursor.position();
            let Some(kind) = self.step()? else {
                break;
            };
            let end = self.cursor.position();
            let span = Span { start: from, end };
            steps.push(Step { kind, span });
        }
        if steps.is_empty() {
            return Ok(base);
        }
        let base = Box::new(base);
        Ok(self.spanned(start, Kind::Chained { base, steps }))
    }

    fn step(&mut self) -> Parsed<Option<StepKind>> {
        if let Some(component) = self.component() {
            return Ok(Some(StepKind::Component(component)));
        }
        if self.cursor.take("(") {
            return Ok(Some(StepKind::Call(self.arguments()?)));
        }
        if self.cursor.looking_at("*(") {
            self.cursor.advance(2);
            return Ok(Some(StepKind::Curry(self.arguments()?)));
        }
        if self.cursor.take(".[*]") || self.cursor.take("[*]") {
            return Ok(Some(StepKind::Projection));
        }
        if self.cursor.take(".[") || self.cursor.take("[") {
            let indices = match self.brackets()? {
                Brackets::Range(range) => return Ok(Some(StepKind::Slice(range))),
                Brackets::Items(items) => items,
            };
            let indices = indices.into_iter().map(|item| item.expression);
            return Ok(Some(StepKind::Dynamic(indices.collect())));
        }
        Ok(None)
    }

    /// Arguments, from behind the first to behind the last parenthesis.
    fn arguments(&mut self) -> Parsed<Arguments> {
        let mut arguments = Arguments::default();
        self.cursor.space();
        if self.cursor.take(")") {
            return Ok(arguments);
        }
        loop {
            self.cursor.space();
            match self.argument_name() {
                Some(name) => {
                    let value = self.expression()?;
                    arguments.named.push((name, value));
                }
                None => {
                    let expression = self.expression()?;
                    let item = self.item(expression);
                    arguments.items.push(item);
                }
            }
            if self.cursor.take(",") {
                continue;
            }
            self.cursor.expect(
                ")",
                "the arguments are not closed here: they are separated by commas",
            )?;
            return Ok(arguments);
        }
    }

    fn argument_name(&mut self) -> Option<String> {
        let before = self.cursor;
        let name = self.cursor.name().to_owned();
        self.cursor.space();
        if !name.is_empty() && !self.cursor.looking_at("==") && self.cursor.take("=") {
            return Some(name);
        }
        self.cursor = before;
        None
    }
}

enum Brackets {
    Items(Vec<Item>),
    Range(Range),
}

fn at_range(cursor: &Cursor<'_>) -> bool {
    cursor.looking_at("..") && !cursor.looking_at("...")
}

/// How long the IPv4 address is that the text begins with.
fn address_length(text: &str) -> Option<usize> {
    let end = text
        .bytes()
        .take_while(|b| b.is_ascii_digit() || *b == b'.');
    let length = end.count();
    let parts: Vec<_> = text[..length].split('.').collect();
    let digits = parts.iter().all(|part| !part.is_empty());
    (parts.len() == 4 && digits).then_some(length)
}
