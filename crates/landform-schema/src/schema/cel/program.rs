//! An expression that is ready to run, and the stack that it needs.
//!
//! Parsing, checking, running and even dropping an expression recurse over it. A thread of the server has a stack of two
//! megabytes or less, so each of these is done on a stack that is large enough for the expression at hand.

use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedExpr};
use kube_cel::cel::parser::Parser;
use kube_cel::cel::{Context, ResolveResult, Value};

use super::metered;
use crate::schema::cut::Cut;

/// Longer expressions are refused.
const LONGEST: usize = 16 * 1024;
/// More operators are refused, since all walks recurse over chains of them.
const MOST_OPERATORS: usize = 1000;
/// Brackets that are nested deeper are refused: so does the parser, after a time that grows with their square.
const MOST_BRACKETS: usize = 96;
/// What the parser says is cut here: each of its problems repeats the expression.
const PROBLEM_BYTES_MAX: usize = 1024;
/// What one level of an expression takes of the stack at most: a build that isn't optimised passes the tests with a quarter.
const STACK_OF_A_LEVEL: usize = 16 * 1024;
/// What is needed beside that.
const STACK_OF_A_CALL: usize = 128 * 1024;
/// What the parser takes for each byte of a text at most, since each may be a level of its own: the tests pass with a quarter.
const PARSER_STACK_OF_A_BYTE: usize = 8 * 1024;
/// What the parser takes for parentheses in parentheses, which it limits itself.
const PARSER_STACK: usize = 16 * 1024 * 1024;

/// An expression with its meter.
#[derive(Debug)]
pub(super) struct Program {
    expression: IdedExpr,
    stack: usize,
}

impl Program {
    /// Parses an expression and makes of it what is wanted.
    pub(super) fn read<T>(
        source: &str,
        work: impl FnOnce(IdedExpr) -> Result<T, String>,
    ) -> Result<T, String> {
        if source.len() > LONGEST {
            return Err(format!("the expression is longer than {LONGEST} bytes"));
        }
        let shape = super::tokens::shape(source);
        if shape.operators > MOST_OPERATORS {
            return Err(format!(
                "the expression has more than {MOST_OPERATORS} operators"
            ));
        }
        if shape.brackets > MOST_BRACKETS {
            return Err(format!(
                "the expression has more than {MOST_BRACKETS} brackets in brackets"
            ));
        }
        on_large_stack(source, work)
    }

    /// Adds what charges for the evaluation of an expression.
    pub(super) fn with_meter(expression: IdedExpr) -> Self {
        let expression = metered::with_meter(expression);
        let stack = STACK_OF_A_CALL + STACK_OF_A_LEVEL * depth(&expression);
        Self { expression, stack }
    }

    pub(super) fn evaluate(&self, context: &Context<'_>) -> ResolveResult {
        stacker::maybe_grow(self.stack, self.stack, || {
            Value::resolve(&self.expression, context)
        })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let nothing = IdedExpr {
            id: 0,
            expr: Expr::Unspecified,
        };
        let expression = std::mem::replace(&mut self.expression, nothing);
        stacker::maybe_grow(self.stack, self.stack, || drop(expression));
    }
}

/// Parses a text on a stack that is enough whatever it says, and refuses what is too deep.
fn on_large_stack<T>(
    source: &str,
    work: impl FnOnce(IdedExpr) -> Result<T, String>,
) -> Result<T, String> {
    let stack = PARSER_STACK + PARSER_STACK_OF_A_BYTE * source.len();
    stacker::maybe_grow(stack, stack, || {
        let expression = parse(source)?;
        if depth(&expression) > MOST_OPERATORS {
            return Err(format!(
                "the expression is more than {MOST_OPERATORS} levels deep"
            ));
        }
        work(expression)
    })
}

fn parse(source: &str) -> Result<IdedExpr, String> {
    // The parser is generated code of another project, and the text comes from a client: a panic in
    // it must not take the server down.
    let parsed = std::panic::catch_unwind(|| {
        Parser::default()
            .enable_optional_syntax(true)
            .parse(source)
            .map_err(|errors| Cut::of(&errors, PROBLEM_BYTES_MAX))
    });
    parsed.unwrap_or_else(|_| Err("the expression can't be parsed".to_owned()))
}

/// How many levels an expression has.
fn depth(expression: &IdedExpr) -> usize {
    let below = match &expression.expr {
        Expr::Call(call) => {
            let target = call.target.as_deref();
            target.into_iter().chain(&call.args).map(depth).max()
        }
        Expr::Select(select) => Some(depth(&select.operand)),
        Expr::List(list) => list.elements.iter().map(depth).max(),
        Expr::Map(map) => map
            .entries
            .iter()
            .map(|entry| entry_depth(&entry.expr))
            .max(),
        Expr::Struct(parts) => parts
            .entries
            .iter()
            .map(|entry| entry_depth(&entry.expr))
            .max(),
        Expr::Comprehension(comprehension) => [
            &comprehension.iter_range,
            &comprehension.accu_init,
            &comprehension.loop_cond,
            &comprehension.loop_step,
            &comprehension.result,
        ]
        .into_iter()
        .map(depth)
        .max(),
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => None,
    };
    1 + below.unwrap_or_default()
}

fn entry_depth(entry: &EntryExpr) -> usize {
    match entry {
        EntryExpr::MapEntry(entry) => depth(&entry.key).max(depth(&entry.value)),
        EntryExpr::StructField(field) => depth(&field.value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Even if the operators of a text were not counted.
    #[test]
    fn the_parser_has_stack_enough_for_any_text() {
        let parts = [
            "1+", "1+1*1-", "(", "{1:", "-", "!", "a?", "a?1:", "self.", "self[", "1==", "1<",
            "true&&", "1||", "1 in ", "has(", ".a", "[0]", ".?a", "a.map(x,", "a{b:", "'",
            "1//\n+",
        ];
        for part in parts {
            let text = format!("1{}1", part.repeat((LONGEST - 4) / part.len()));
            for text in [&text[1..], &text] {
                let thread = std::thread::Builder::new().stack_size(1 << 20);
                std::thread::scope(|scope| {
                    let parse = || on_large_stack(text, |_| Ok(())).err();
                    let thread = thread.spawn_scoped(scope, parse).expect("a thread");
                    let problem = thread.join().expect("no panic");
                    let length = problem.map_or(0, |problem| problem.len());
                    assert!(length <= PROBLEM_BYTES_MAX + 10, "{part}: {length}");
                });
            }
        }
    }
}
