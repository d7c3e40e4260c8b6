//! Reads expressions. White space counts in dynaml: `a -1` are two values side by side, `a - 1` is a
//! subtraction. Each level of operators is a loop; only brackets and lambdas nest.

mod cursor;
mod keywords;
mod primary;

use std::sync::Arc;

use crate::ast::{
    Alternative, Conditional, Expression, Formula, Kind, Lambda, Markers, Operator, Parameter, Span,
};
use crate::error::SyntaxFault;

pub(crate) use cursor::Cursor;

/// How deep brackets, lambdas and conditions may stand in each other.
const DEEPEST_NESTING: usize = 40;
/// What reading one expression may cost.
const MOST_STEPS: usize = 200_000;

pub(crate) type Parsed<T = Expression> = Result<T, SyntaxFault>;

/// Whether a text is an expression, or an escaped one.
pub(crate) fn is_expression(text: &str) -> bool {
    text.len() >= 4 && text.starts_with("((") && text.ends_with("))")
}

/// The text that an escaped expression stands for: `((! a ))` is `(( a ))`.
pub(crate) fn unescaped(text: &str) -> Option<String> {
    let rest = text.strip_prefix("((!")?;
    is_expression(text).then(|| format!("(({rest}"))
}

/// Reads a text that [`is_expression`].
pub(crate) fn parse(text: &str) -> Parsed<Formula> {
    let mut parser = Parser {
        cursor: Cursor::new(text, 2, text.len() - 2),
        depth: 0,
        merges: false,
    };
    parser.formula()
}

pub(crate) struct Parser<'t> {
    cursor: Cursor<'t>,
    depth: usize,
    merges: bool,
}

impl Parser<'_> {
    fn formula(&mut self) -> Parsed<Formula> {
        self.cursor.space();
        let mut markers = Markers::default();
        let mut marked = false;
        while self.cursor.peek() == Some(b'&') {
            markers = markers.and(self.marker()?);
            marked = true;
            self.cursor.space();
        }
        let expression = if marked && self.cursor.at_end() {
            None
        } else if marked {
            self.cursor
                .expect("(", "after a marker, an expression stands in parentheses")?;
            let inner = self.expression()?;
            self.cursor
                .expect(")", "the parenthesis after the marker is not closed")?;
            Some(inner)
        } else {
            Some(self.preferred()?)
        };
        self.cursor.space();
        if !self.cursor.at_end() {
            return Err(self.unexpected());
        }
        let may_be_undefined = expression.as_ref().is_none_or(Expression::may_be_undefined);
        Ok(Formula {
            markers,
            may_be_undefined,
            expression,
            merges: self.merges,
        })
    }

    fn marker(&mut self) -> Parsed<Markers> {
        let start = self.cursor.position();
        self.cursor.take("&");
        let name = self.cursor.name().to_owned();
        let mut markers = Markers::default();
        match name.as_str() {
            "temporary" | "local" => markers.temporary = true,
            "template" => markers.template = true,
            "state" => markers.state = true,
            // They say what is done with documents below this one, and there are none.
            "inject" | "default" => {}
            _ => {
                let message = "this marker is not supported: &temporary, &local, &template, &state, &inject and \
                               &default are";
                return Err(self.cursor.fault_since(start, message));
            }
        }
        Ok(markers)
    }

    /// `prefer` holds for the whole of an expression.
    fn preferred(&mut self) -> Parsed {
        self.cursor.space();
        if self.cursor.looking_at_word("prefer") {
            let before = self.cursor;
            self.cursor.take("prefer");
            if self.cursor.space() && !self.cursor.at_end() {
                self.merges = true;
                return self.expression();
            }
            self.cursor = before;
        }
        self.expression()
    }

    /// An expression with the white space around it.
    pub(crate) fn expression(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > DEEPEST_NESTING {
            let message = format!("the expression is nested deeper than {DEEPEST_NESTING}");
            return Err(self.cursor.fault(message));
        }
        self.cursor.space();
        self.count(1)?;
        let expression = if self.cursor.peek() == Some(b'|') {
            let start = self.cursor.position();
            let lambda = self.lambda()?;
            self.spanned(start, Kind::Lambda(Arc::new(lambda)))
        } else if self.at_scope()? {
            self.scoped()?
        } else {
            self.alternatives()?
        };
        self.cursor.space();
        self.depth -= 1;
        Ok(expression)
    }

    /// Whether the parenthesis here holds assignments. Found by looking ahead, because reading it
    /// twice would cost twice the time for each parenthesis inside.
    fn at_scope(&mut self) -> Parsed<bool> {
        let (scope, looked_at) = self.cursor.assignments_in_parentheses();
        self.count(looked_at / 16)?;
        Ok(scope)
    }

    fn scoped(&mut self) -> Parsed {
        let start = self.cursor.position();
        self.cursor.take("(");
        self.cursor.space();
        let assignments = if self.cursor.peek() == Some(b')') {
            Vec::new()
        } else {
            self.assignments()?
        };
        self.cursor
            .expect(")", "the parenthesis of this scope is not closed")?;
        let body = Box::new(self.expression()?);
        Ok(self.spanned(start, Kind::Scoped { assignments, body }))
    }

    pub(crate) fn assignments(&mut self) -> Parsed<Vec<(Expression, Expression)>> {
        let mut assignments = Vec::new();
        loop {
            let key = self.expression()?;
            self.cursor
                .expect("=", "an assignment has the form `\"name\" = value`")?;
            assignments.push((key, self.expression()?));
            if !self.cursor.take(",") {
                return Ok(assignments);
            }
        }
    }

    pub(crate) fn alternatives(&mut self) -> Parsed {
        self.cursor.space();
        let start = self.cursor.position();
        let first = self.conditional()?;
        let mut rest = Vec::new();
        while let Some(sign) = self.cursor.spaced_operator(&["||", "//"]) {
            let alternative = match sign {
                "||" => Alternative::Undefined,
                _ => Alternative::Nil,
            };
            rest.push((alternative, self.conditional()?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        let first = Box::new(first);
        Ok(self.spanned(start, Kind::Alternatives { first, rest }))
    }

    fn conditional(&mut self) -> Parsed {
        let start = self.cursor.position();
        let condition = self.concatenation()?;
        let before = self.cursor;
        self.cursor.space();
        if !self.cursor.take("?") {
            self.cursor = before;
            return Ok(condition);
        }
        let then = self.expression()?;
        self.cursor.expect(
            ":",
            "a condition has the form `condition ? value :other`, with a space before the colon",
        )?;
        let otherwise = self.expression()?;
        let conditional = Conditional {
            condition,
            then,
            otherwise,
        };
        Ok(self.spanned(start, Kind::Conditional(Box::new(conditional))))
    }

    fn concatenation(&mut self) -> Parsed {
        let start = self.cursor.position();
        let mut parts = vec![self.logic()?];
        while self.cursor.spaced_operand() {
            parts.push(self.logic()?);
        }
        match parts.len() {
            1 => Ok(parts.remove(0)),
            _ => Ok(self.spanned(start, Kind::Concatenation(parts))),
        }
    }

    fn logic(&mut self) -> Parsed {
        const SIGNS: &[(&str, Operator)] = &[("-or", Operator::Or), ("-and", Operator::And)];
        self.operations(SIGNS, Self::comparison)
    }

    fn comparison(&mut self) -> Parsed {
        const SIGNS: &[(&str, Operator)] = &[
            ("==", Operator::Equal),
            ("!=", Operator::NotEqual),
            ("<=", Operator::LessOrEqual),
            (">=", Operator::GreaterOrEqual),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ];
        self.operations(SIGNS, Self::sum)
    }

    fn sum(&mut self) -> Parsed {
        const SIGNS: &[(&str, Operator)] = &[("+", Operator::Add), ("-", Operator::Subtract)];
        self.operations(SIGNS, Self::product)
    }

    fn product(&mut self) -> Parsed {
        const SIGNS: &[(&str, Operator)] = &[
            ("*", Operator::Multiply),
            ("/", Operator::Divide),
            ("%", Operator::Modulo),
        ];
        self.operations(SIGNS, Self::primary)
    }

    fn operations(
        &mut self,
        signs: &[(&'static str, Operator)],
        operand: fn(&mut Self) -> Parsed,
    ) -> Parsed {
        let start = self.cursor.position();
        let first = operand(self)?;
        let mut rest = Vec::new();
        let texts: Vec<_> = signs.iter().map(|(sign, _)| *sign).collect();
        while let Some(found) = self.cursor.spaced_operator(&texts) {
            self.count(1)?;
            let operator = signs.iter().find(|(sign, _)| *sign == found);
            if let Some((_, operator)) = operator {
                rest.push((*operator, operand(self)?));
            }
        }
        if rest.is_empty() {
            return Ok(first);
        }
        let first = Box::new(first);
        Ok(self.spanned(start, Kind::Operations { first, rest }))
    }

    /// `|a,b=1,c...|->body`, at the first bar.
    pub(crate) fn lambda(&mut self) -> Parsed<Lambda> {
        self.cursor.expect("|", "a function begins with `|`")?;
        let mut parameters = Vec::new();
        let mut variadic = false;
        self.cursor.space();
        while self.cursor.peek() != Some(b'|') {
            let name = self.cursor.name().to_owned();
            if name.is_empty() || variadic {
                return Err(self.cursor.fault("here a parameter's name is expected"));
            }
            self.cursor.space();
            let default = if self.cursor.take("=") {
                Some(self.expression()?)
            } else {
                None
            };
            parameters.push(Parameter { name, default });
            variadic = self.cursor.take("...");
            self.cursor.space();
            if !self.cursor.take(",") {
                break;
            }
            self.cursor.space();
        }
        self.cursor
            .expect("|", "the parameters of a function end with `|`")?;
        self.cursor.space();
        self.cursor
            .expect("->", "a function has the form `|x|->expression`")?;
        let body = self.expression()?;
        Ok(Lambda {
            parameters,
            variadic,
            body,
        })
    }

    pub(crate) fn spanned(&self, start: usize, kind: Kind) -> Expression {
        let end = self.cursor.end_of_word().max(start);
        Expression {
            kind,
            span: Span { start, end },
        }
    }

    fn count(&mut self, steps: usize) -> Parsed<()> {
        if self.cursor.count(steps) > MOST_STEPS {
            let message = "the expression is too long: take it apart into several nodes";
            return Err(self.cursor.fault(message));
        }
        Ok(())
    }

    pub(crate) fn unexpected(&self) -> SyntaxFault {
        if self.cursor.at_end() {
            return self.cursor.fault("here an expression is expected");
        }
        if self.cursor.looking_at("&&") {
            let message = "dynaml has no `&&`: write `-and`";
            return self.cursor.fault(message);
        }
        let message = "this can't be read: operators have a space on both sides, and values that are joined \
                       have one between them";
        self.cursor.fault(message)
    }
}
