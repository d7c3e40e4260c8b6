//! Forms that begin with a word: `merge`, and those that go through lists and maps.

use std::sync::Arc;

use crate::ast::{Form, Iteration, Kind, Merge, MergeSource};

use super::{Parsed, Parser};

impl Parser<'_> {
    /// `merge`, `merge required`, `merge replace a.b`, `merge none`: behind the keyword.
    pub(super) fn merge(&mut self, start: usize) -> Parsed {
        self.merges = true;
        let mut merge = Merge {
            required: false,
            replace: false,
            source: MergeSource::Here,
        };
        let mut end = self.cursor;
        while self.cursor.space() {
            let from = self.cursor.position();
            let word = self.cursor.key().to_owned();
            match word.as_str() {
                "required" => merge.required = true,
                "replace" => merge.replace = true,
                // Lists of maps are merged by their key field whatever it is.
                "on" => {
                    self.cursor.space();
                    self.cursor.name();
                }
                "none" => merge.source = MergeSource::Nothing,
                "" => break,
                _ => {
                    let reference = self.reference(from, false, word)?;
                    let Kind::Reference(reference) = reference.kind else {
                        let message = "behind `merge` a plain path is expected";
                        return Err(self.cursor.fault_since(from, message));
                    };
                    merge.source = MergeSource::Reference(reference);
                    end = self.cursor;
                    break;
                }
            }
            end = self.cursor;
        }
        self.cursor = end;
        Ok(self.spanned(start, Kind::Merge(merge)))
    }

    /// `map[source|x|->body]` and its like, at the bracket.
    pub(super) fn iteration(&mut self, start: usize, word: &str) -> Parsed {
        let to_map = self.cursor.peek() == Some(b'{');
        self.cursor.advance(1);
        let source = self.inside_iteration()?;
        let form = match word {
            "map" => Form::Map,
            "sum" => Form::Sum,
            _ => Form::Select,
        };
        let initial = if form == Form::Sum {
            self.cursor.expect(
                "|",
                "`sum` has the form `sum[list|initial|sum,item|->expression]`",
            )?;
            Some(self.inside_iteration()?)
        } else {
            None
        };
        let function = self.iteration_function()?;
        let closing = if to_map { "}" } else { "]" };
        self.cursor
            .expect(closing, "the bracket is not closed here")?;
        if word == "catch" {
            let (tried, function) = (Box::new(source), Box::new(function));
            return Ok(self.spanned(start, Kind::Catch { tried, function }));
        }
        let iteration = Iteration {
            form,
            to_map,
            source,
            initial,
            function,
        };
        Ok(self.spanned(start, Kind::Iteration(Box::new(iteration))))
    }

    /// Brackets of an iteration nest without an expression between them.
    fn inside_iteration(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > super::DEEPEST_NESTING {
            return Err(self.cursor.fault("the expression is nested too deeply"));
        }
        let inner = self.alternatives();
        self.cursor.space();
        self.depth -= 1;
        inner
    }

    /// `|x|->body`, or `|expression` with a function for its value.
    fn iteration_function(&mut self) -> Parsed {
        let start = self.cursor.position();
        let (is_lambda, looked_at) = has_arrow(self.cursor.rest());
        self.count(looked_at / 16)?;
        if is_lambda {
            let lambda = self.lambda()?;
            return Ok(self.spanned(start, Kind::Lambda(Arc::new(lambda))));
        }
        self.cursor
            .expect("|", "here a function is expected: `|x|->expression`")?;
        self.expression()
    }
}

/// Whether `|…|->` stands at the beginning of the text, and how far was looked for that.
fn has_arrow(text: &str) -> (bool, usize) {
    let Some(rest) = text.strip_prefix('|') else {
        return (false, 0);
    };
    match rest.find('|') {
        Some(end) => (rest[end + 1..].trim_start().starts_with("->"), end),
        None => (false, rest.len()),
    }
}
