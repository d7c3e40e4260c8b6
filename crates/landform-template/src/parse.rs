//! Builds the tree of a template from its tokens, by the grammar of Go's text/template.
//!
//! Variables are checked here, as Go does; functions and named templates only when the template
//! is checked or run, because callers may add functions.

use std::collections::BTreeMap;

use crate::ast::{Branch, Command, Node, Operand, Pipe, Span, Term};
use crate::error::{ErrorKind, Fault};
use crate::lex::{self, Token};

/// How deep blocks and parentheses may stand inside each other.
const DEEPEST: usize = 60;

/// The body of a template and of those that it defines.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Tree {
    pub(crate) body: Vec<Node>,
    pub(crate) definitions: BTreeMap<String, Vec<Node>>,
}

pub(crate) fn parse(text: &str) -> Result<Tree, Fault> {
    let mut parser = Parser {
        tokens: lex::tokens(text)?,
        at: 0,
        end: text.len(),
        depth: 0,
        ranges: 0,
        variables: vec!["$".to_owned()],
        definitions: BTreeMap::new(),
    };
    let (body, ending) = parser.list(true)?;
    match ending {
        Ending::Text => Ok(Tree {
            body,
            definitions: parser.definitions,
        }),
        Ending::End(span) => Err(syntax(span, "this `end` closes nothing: remove it")),
        Ending::Else(span) => Err(syntax(
            span,
            "this `else` belongs to no `if`, `with` or `range`",
        )),
    }
}

fn syntax(span: Span, message: impl Into<String>) -> Fault {
    Fault::new(ErrorKind::Syntax, span, message)
}

/// What ended a list of nodes.
enum Ending {
    Text,
    End(Span),
    Else(Span),
}

struct Parser {
    tokens: Vec<(Token, Span)>,
    at: usize,
    end: usize,
    depth: usize,
    /// How many `range` are open, for `break` and `continue`.
    ranges: usize,
    variables: Vec<String>,
    definitions: BTreeMap<String, Vec<Node>>,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn span(&self) -> Span {
        let end = Span::new(self.end, self.end);
        self.tokens.get(self.at).map_or(end, |(_, span)| *span)
    }

    fn previous_span(&self) -> Span {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        before.map_or(Span::default(), |(_, span)| *span)
    }

    fn skip_space(&mut self) {
        while self.peek() == Some(&Token::Space) {
            self.at += 1;
        }
    }

    fn deeper(&mut self, span: Span) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(syntax(
                span,
                format!("blocks and parentheses are nested deeper than {DEEPEST} here"),
            ));
        }
        Ok(())
    }

    /// Nodes up to the `end` or `else` that belongs to somebody outside, or to the end of the text.
    fn list(&mut self, top: bool) -> Result<(Vec<Node>, Ending), Fault> {
        let mut nodes = Vec::new();
        loop {
            let span = self.span();
            match self.peek() {
                None => return Ok((nodes, Ending::Text)),
                Some(Token::Text(text)) => {
                    nodes.push(Node::Text(text.clone()));
                    self.at += 1;
                }
                _ => {
                    self.at += 1;
                    self.skip_space();
                    let word = match self.peek() {
                        Some(Token::Word(word)) => word.clone(),
                        _ => String::new(),
                    };
                    let span = span.to(self.span());
                    match word.as_str() {
                        "end" => {
                            self.at += 1;
                            self.close("end")?;
                            return Ok((nodes, Ending::End(span)));
                        }
                        "else" => {
                            self.at += 1;
                            return Ok((nodes, Ending::Else(span)));
                        }
                        _ => nodes.extend(self.node(&word, span, top)?),
                    }
                }
            }
        }
    }

    /// The node of one action whose `{{` was read.
    fn node(&mut self, word: &str, span: Span, top: bool) -> Result<Option<Node>, Fault> {
        match word {
            "if" | "with" | "range" => {
                self.at += 1;
                self.branch(word, span).map(Some)
            }
            "template" => {
                self.at += 1;
                let name = self.name("template")?;
                let argument = self.argument()?;
                Ok(Some(Node::Template {
                    span,
                    name,
                    argument,
                }))
            }
            "define" if !top => Err(syntax(span, "`define` can't stand inside another block")),
            "define" => {
                self.at += 1;
                let name = self.name("define")?;
                self.close("define")?;
                self.definition(name, span)?;
                Ok(None)
            }
            "block" => {
                self.at += 1;
                let name = self.name("block")?;
                let argument = self.argument()?;
                self.definition(name.clone(), span)?;
                Ok(Some(Node::Template {
                    span,
                    name,
                    argument,
                }))
            }
            "break" | "continue" => {
                self.at += 1;
                self.close(word)?;
                if self.ranges == 0 {
                    return Err(syntax(span, format!("`{word}` stands in no `range`")));
                }
                Ok(Some(if word == "break" {
                    Node::Break
                } else {
                    Node::Continue
                }))
            }
            _ => {
                let pipe = self.pipe(false)?;
                self.close("the action")?;
                Ok(Some(Node::Action(pipe)))
            }
        }
    }

    fn name(&mut self, of: &str) -> Result<String, Fault> {
        self.skip_space();
        let Some(Token::String(name)) = self.peek() else {
            return Err(syntax(
                self.span(),
                format!("`{of}` needs the name of a template in quotes"),
            ));
        };
        let name = name.clone();
        self.at += 1;
        self.skip_space();
        Ok(name)
    }

    /// The pipeline of `template` and `block`, when there is one.
    fn argument(&mut self) -> Result<Option<Pipe>, Fault> {
        if self.peek() == Some(&Token::Close) {
            self.at += 1;
            return Ok(None);
        }
        let pipe = self.pipe(false)?;
        self.close("the action")?;
        Ok(Some(pipe))
    }

    /// The body of `define` and `block`, which sees none of the variables around it.
    fn definition(&mut self, name: String, span: Span) -> Result<(), Fault> {
        let variables = std::mem::replace(&mut self.variables, vec!["$".to_owned()]);
        let ranges = std::mem::take(&mut self.ranges);
        self.deeper(span)?;
        let (body, ending) = self.list(false)?;
        self.depth -= 1;
        self.variables = variables;
        self.ranges = ranges;
        self.expect_end(&ending, span)?;
        let blank = |nodes: &[Node]| {
            let blank = |node: &Node| matches!(node, Node::Text(text) if text.trim().is_empty());
            nodes.iter().all(blank)
        };
        match self.definitions.get(&name) {
            Some(earlier) if !blank(earlier) && !blank(&body) => Err(syntax(
                span,
                format!("the template {name:?} is defined twice"),
            )),
            Some(earlier) if !blank(earlier) => Ok(()),
            _ => {
                self.definitions.insert(name, body);
                Ok(())
            }
        }
    }

    fn expect_end(&self, ending: &Ending, opened: Span) -> Result<(), Fault> {
        match ending {
            Ending::End(_) => Ok(()),
            Ending::Text => Err(syntax(
                opened,
                "this block is not closed: write `{{ end }}` after it",
            )),
            Ending::Else(span) => Err(syntax(*span, "there is an `else` already, or none belongs")),
        }
    }

    fn branch(&mut self, word: &str, span: Span) -> Result<Node, Fault> {
        self.deeper(span)?;
        let scope = self.variables.len();
        let pipe = self.pipe(word == "range")?;
        self.close(word)?;
        self.ranges += usize::from(word == "range");
        let inner = self.variables.len();
        let (body, ending) = self.list(false)?;
        self.variables.truncate(inner);
        self.ranges -= usize::from(word == "range");
        let otherwise = match ending {
            Ending::Else(_) => self.otherwise(word, span)?,
            ending => {
                self.expect_end(&ending, span)?;
                Vec::new()
            }
        };
        self.variables.truncate(scope);
        self.depth -= 1;
        let branch = Branch {
            pipe,
            body,
            otherwise,
        };
        Ok(match word {
            "if" => Node::If(branch),
            "with" => Node::With(branch),
            _ => Node::Range(branch),
        })
    }

    /// What follows `{{ else`: `}}` and nodes, or another `if` or `with` that shares its `end`.
    fn otherwise(&mut self, word: &str, opened: Span) -> Result<Vec<Node>, Fault> {
        self.skip_space();
        let span = self.span();
        if let Some(Token::Word(next)) = self.peek() {
            let next = next.clone();
            if (next == "if" && word == "if") || (next == "with" && word == "with") {
                self.at += 1;
                return Ok(vec![self.branch(&next, span)?]);
            }
        }
        self.close("else")?;
        let (nodes, ending) = self.list(false)?;
        self.expect_end(&ending, opened)?;
        Ok(nodes)
    }

    fn close(&mut self, after: &str) -> Result<(), Fault> {
        self.skip_space();
        if self.peek() == Some(&Token::Close) {
            self.at += 1;
            return Ok(());
        }
        Err(syntax(
            self.span(),
            format!("this is unexpected after {after}: write `}}}}` before it, or remove it"),
        ))
    }

    fn pipe(&mut self, range: bool) -> Result<Pipe, Fault> {
        self.skip_space();
        let start = self.span();
        let (variables, assigns) = self.variables_of_pipe(range)?;
        let mut commands = Vec::new();
        loop {
            self.skip_space();
            commands.push(self.command(commands.is_empty())?);
            self.skip_space();
            if self.peek() != Some(&Token::Pipe) {
                break;
            }
            self.at += 1;
        }
        let span = match commands.last() {
            Some(last) => start.to(last.span),
            None => start,
        };
        if !assigns {
            self.variables.extend(variables.iter().cloned());
        }
        Ok(Pipe {
            span,
            variables,
            assigns,
            commands,
        })
    }

    /// `$x :=`, `$x =`, or `$i, $x :=` of a range; nothing is read when there is none.
    fn variables_of_pipe(&mut self, range: bool) -> Result<(Vec<String>, bool), Fault> {
        let start = self.at;
        let mut names = Vec::new();
        while let Some(Token::Variable(name)) = self.peek() {
            let name = name.clone();
            let span = self.span();
            names.push((name, span));
            self.at += 1;
            self.skip_space();
            match self.peek() {
                Some(Token::Comma) => {
                    self.at += 1;
                    self.skip_space();
                }
                Some(token @ (Token::Declare | Token::Assign)) => {
                    let assigns = *token == Token::Assign;
                    self.at += 1;
                    if names.len() > if range { 2 } else { 1 } {
                        return Err(syntax(
                            span,
                            "only `range` sets two variables, and nothing sets more",
                        ));
                    }
                    for (name, span) in &names {
                        if assigns {
                            self.known(name, *span)?;
                        }
                    }
                    let names = names.into_iter().map(|(name, _)| name).collect();
                    return Ok((names, assigns));
                }
                _ => break,
            }
        }
        self.at = start;
        Ok((Vec::new(), false))
    }

    fn known(&self, name: &str, span: Span) -> Result<(), Fault> {
        if self.variables.iter().any(|known| known == name) {
            return Ok(());
        }
        Err(syntax(
            span,
            format!("the variable `{name}` is not known here: set it with `{name} := …` before"),
        ))
    }

    fn command(&mut self, leading: bool) -> Result<Command, Fault> {
        let mut operands = Vec::new();
        loop {
            self.skip_space();
            match self.operand()? {
                Some(operand) => operands.push(operand),
                None => break,
            }
            let separated = matches!(
                self.peek(),
                None | Some(Token::Space | Token::Pipe | Token::Close | Token::CloseParen)
            );
            if !separated {
                return Err(syntax(
                    self.span(),
                    "this can't follow directly: write a space before it, or remove it",
                ));
            }
        }
        let mut operands = operands.into_iter();
        let Some(first) = operands.next() else {
            return Err(syntax(self.span(), "a value or a function is missing here"));
        };
        let arguments: Vec<_> = operands.collect();
        let span = arguments
            .last()
            .map_or(first.span, |last| first.span.to(last.span));
        let constant = !matches!(
            first.term,
            Term::Function(_) | Term::Pipe(_) | Term::Dot | Term::Variable(_)
        );
        if !leading && constant {
            return Err(syntax(
                first.span,
                "only a function can follow `|`, and this is a constant",
            ));
        }
        if first.term == Term::Nil && first.fields.is_empty() {
            return Err(syntax(
                first.span,
                "`nil` can only be an argument of a function",
            ));
        }
        Ok(Command {
            span,
            first,
            arguments,
        })
    }

    fn operand(&mut self) -> Result<Option<Operand>, Fault> {
        let span = self.span();
        let Some(token) = self.peek().cloned() else {
            return Ok(None);
        };
        let mut fields = Vec::new();
        let term = match token {
            Token::Dot => Term::Dot,
            Token::Field(name) => {
                fields.push(name);
                Term::Dot
            }
            Token::Variable(name) => {
                self.known(&name, span)?;
                Term::Variable(name)
            }
            Token::Word(word) => match word.as_str() {
                "true" | "false" => Term::Bool(word == "true"),
                "nil" => Term::Nil,
                "if" | "else" | "end" | "range" | "with" | "define" | "block" | "template" => {
                    return Err(syntax(span, format!("`{word}` can't stand here")));
                }
                _ => Term::Function(word),
            },
            Token::String(text) => Term::Text(text),
            Token::Int(number) => Term::Int(number),
            Token::Float(number) => Term::Float(number),
            Token::OpenParen => {
                self.at += 1;
                self.deeper(span)?;
                let pipe = self.pipe(false)?;
                self.depth -= 1;
                self.skip_space();
                if self.peek() != Some(&Token::CloseParen) {
                    return Err(syntax(span, "this parenthesis is not closed: write `)`"));
                }
                Term::Pipe(Box::new(pipe))
            }
            Token::Text(_)
            | Token::Open
            | Token::Close
            | Token::Space
            | Token::Declare
            | Token::Assign
            | Token::Comma
            | Token::Pipe
            | Token::CloseParen => return Ok(None),
        };
        self.at += 1;
        while let Some(Token::Field(name)) = self.peek() {
            fields.push(name.clone());
            self.at += 1;
        }
        let plain = matches!(
            term,
            Term::Text(_) | Term::Int(_) | Term::Float(_) | Term::Bool(_) | Term::Nil
        );
        let span = span.to(self.previous_span());
        if plain && !fields.is_empty() {
            return Err(syntax(span, "a constant has no fields"));
        }
        Ok(Some(Operand { span, term, fields }))
    }
}
