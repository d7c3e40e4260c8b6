//! Looks for functions and templates that don't exist, in all branches of a template.

use crate::ast::{Branch, Command, Node, Operand, Pipe, Span, Term};
use crate::environment::Environment;
use crate::error::{ErrorKind, Fault};
use crate::functions;
use crate::parse::Tree;

pub(crate) fn check(tree: &Tree, environment: &Environment) -> Result<(), Fault> {
    let checker = Checker { tree, environment };
    checker.nodes(&tree.body)?;
    tree.definitions
        .values()
        .try_for_each(|body| checker.nodes(body))
}

struct Checker<'a> {
    tree: &'a Tree,
    environment: &'a Environment,
}

impl Checker<'_> {
    fn nodes(&self, nodes: &[Node]) -> Result<(), Fault> {
        nodes.iter().try_for_each(|node| match node {
            Node::Text(_) | Node::Break | Node::Continue => Ok(()),
            Node::Action(pipe) => self.pipe(pipe),
            Node::If(branch) | Node::With(branch) | Node::Range(branch) => self.branch(branch),
            Node::Template {
                span,
                name,
                argument,
            } => {
                if !self.tree.definitions.contains_key(name) {
                    let message = format!(
                        "the template {name:?} is not defined: write `{{{{ define {name:?} }}}}`"
                    );
                    return Err(Fault::new(ErrorKind::Syntax, *span, message));
                }
                argument.iter().try_for_each(|pipe| self.pipe(pipe))
            }
        })
    }

    fn branch(&self, branch: &Branch) -> Result<(), Fault> {
        self.pipe(&branch.pipe)?;
        self.nodes(&branch.body)?;
        self.nodes(&branch.otherwise)
    }

    fn pipe(&self, pipe: &Pipe) -> Result<(), Fault> {
        pipe.commands.iter().try_for_each(|command| {
            let Command {
                first, arguments, ..
            } = command;
            self.operand(first)?;
            arguments
                .iter()
                .try_for_each(|operand| self.operand(operand))
        })
    }

    fn operand(&self, operand: &Operand) -> Result<(), Fault> {
        match &operand.term {
            Term::Function(name) => self.function(name, operand.span),
            Term::Pipe(pipe) => self.pipe(pipe),
            _ => Ok(()),
        }
    }

    fn function(&self, name: &str, span: Span) -> Result<(), Fault> {
        let included = name == "include" && self.environment.includes.is_some();
        if included
            || matches!(name, "and" | "or")
            || self.environment.functions.contains_key(name)
            || functions::find(name).is_some()
        {
            return Ok(());
        }
        let message = match functions::why_left_out(name) {
            Some(reason) => format!("the function `{name}` is left out: {reason}"),
            None => match self.similar(name) {
                Some(similar) => {
                    format!("there is no function `{name}`; did you mean `{similar}`?")
                }
                None => format!("there is no function `{name}`"),
            },
        };
        Err(Fault::new(ErrorKind::Syntax, span, message))
    }

    /// A function whose name differs in case, or by one character.
    fn similar(&self, name: &str) -> Option<String> {
        let own = self.environment.functions.keys().map(String::as_str);
        let known: Vec<&str> = functions::names().into_iter().chain(own).collect();
        let same = known.iter().find(|known| known.eq_ignore_ascii_case(name));
        let close = || known.iter().find(|known| differs_by_one(known, name));
        same.or_else(close).map(|found| (*found).to_owned())
    }
}

fn differs_by_one(known: &str, name: &str) -> bool {
    let (known, name): (Vec<char>, Vec<char>) = (known.chars().collect(), name.chars().collect());
    if known.len() < 4 || known.len().abs_diff(name.len()) > 1 {
        return false;
    }
    let before = known.iter().zip(&name).take_while(|(a, b)| a == b).count();
    let (known, name) = (&known[before..], &name[before..]);
    let skip = |rest: &[char]| rest.get(1..).unwrap_or_default().to_vec();
    skip(known) == skip(name) || skip(known) == name || known == skip(name)
}
