//! Runs the tree of a template.

use std::rc::Rc;

use serde_json::Value as Json;

use crate::Template;
use crate::ast::{Branch, Command, Node, Operand, Pipe, Span, Term};
use crate::environment::Environment;
use crate::error::{ErrorKind, Fault, TemplateError};
use crate::functions::{self, Call};
use crate::json::{from_json, to_json};
use crate::print;
use crate::run::{Answer, Problem, Run};
use crate::value::Value;

/// What Go prints for nothing.
const NO_VALUE: &str = "<no value>";

/// What a function of the caller costs: it may look at more than its arguments.
const STEPS_OF_AN_EXTRA_FUNCTION: usize = 100;

pub(crate) fn render(
    template: &Template,
    data: &Json,
    environment: &Environment,
) -> Result<String, TemplateError> {
    let run = Run::new(environment);
    let start = Span::default();
    let outside =
        |problem: Problem| template.error(Fault::new(problem.kind, start, problem.message));
    // The data is the caller's, and its size no fault of the template.
    let loader = Environment::default().with_limits(crate::Limits {
        max_steps: u64::MAX,
        max_memory_bytes: usize::MAX,
        ..environment.limits
    });
    let loading = Run::new(&loader);
    let data = from_json(&loading, data).map_err(outside)?;
    run_template(&run, template, data).map_err(|error| *error)
}

/// Runs one text: the template itself, or one that is included.
fn run_template(
    run: &Run<'_>,
    template: &Template,
    data: Value,
) -> Result<String, Box<TemplateError>> {
    template.check(run.environment).map_err(Box::new)?;
    let mut evaluator = Evaluator {
        run,
        template,
        output: String::new(),
        variables: vec![(Rc::from("$"), data.clone())],
    };
    match evaluator.nodes(&template.tree.body, &data) {
        Ok(()) | Err(Stop::Break | Stop::Continue) => {}
        Err(Stop::Fault(fault)) => {
            return Err(Box::new(template.error(fault)));
        }
        Err(Stop::Elsewhere(error)) => return Err(error),
    }
    let output = evaluator.output;
    if let Some(at) = output.find(NO_VALUE) {
        let line = output[..at].matches('\n').count() + 1;
        let place = template.text.find(NO_VALUE).unwrap_or_default();
        let message = format!("line {line} of the output holds `{NO_VALUE}`, which is not allowed");
        let span = Span::new(place, place);
        let fault = Fault::new(ErrorKind::NoValue, span, message);
        return Err(Box::new(template.error(fault)));
    }
    Ok(output)
}

/// Why the nodes after this one are not run.
enum Stop {
    Fault(Fault),
    /// An error in another text, which was included.
    Elsewhere(Box<TemplateError>),
    Break,
    Continue,
}

type Step<T = ()> = Result<T, Stop>;

/// Gives a problem its place.
fn at<T>(span: Span, answer: Answer<T>) -> Step<T> {
    answer.map_err(|problem| Stop::Fault(Fault::new(problem.kind, span, problem.message)))
}

fn fault<T>(kind: ErrorKind, span: Span, message: impl Into<String>) -> Step<T> {
    Err(Stop::Fault(Fault::new(kind, span, message)))
}

struct Evaluator<'a> {
    run: &'a Run<'a>,
    template: &'a Template,
    output: String,
    variables: Vec<(Rc<str>, Value)>,
}

impl<'a> Evaluator<'a> {
    fn nodes(&mut self, nodes: &'a [Node], dot: &Value) -> Step {
        nodes.iter().try_for_each(|node| self.node(node, dot))
    }

    fn node(&mut self, node: &'a Node, dot: &Value) -> Step {
        match node {
            Node::Text(text) => self.write(text, Span::default()),
            Node::Action(pipe) => {
                let value = self.pipe(pipe, dot)?;
                if pipe.variables.is_empty() {
                    self.print(&value, pipe)?;
                }
                Ok(())
            }
            Node::If(branch) => self.block(branch.pipe.span, |this| {
                let condition = this.pipe(&branch.pipe, dot)?;
                let nodes = taken(branch, &condition);
                this.nodes(nodes, dot)
            }),
            Node::With(branch) => self.block(branch.pipe.span, |this| {
                let value = this.pipe(&branch.pipe, dot)?;
                let inner = if value.is_true() { &value } else { dot };
                this.nodes(taken(branch, &value), inner)
            }),
            Node::Range(branch) => self.block(branch.pipe.span, |this| this.range(branch, dot)),
            Node::Template {
                span,
                name,
                argument,
            } => self.named(name, argument.as_ref(), *span, dot),
            Node::Break => Err(Stop::Break),
            Node::Continue => Err(Stop::Continue),
        }
    }

    /// Runs something that nests and whose variables end with it.
    fn block(&mut self, span: Span, inside: impl FnOnce(&mut Self) -> Step) -> Step {
        at(span, self.run.enter())?;
        let variables = self.variables.len();
        let result = inside(self);
        self.variables.truncate(variables);
        self.run.leave();
        result
    }

    fn write(&mut self, text: &str, span: Span) -> Step {
        let most = self.run.environment.limits.max_output_bytes;
        if self.output.len() + text.len() > most {
            return fault(
                ErrorKind::Limit,
                span,
                format!("the output is longer than {most} bytes (limit max_output_bytes)"),
            );
        }
        at(span, self.run.work(1 + text.len() / 1024))?;
        self.output.push_str(text);
        Ok(())
    }

    fn print(&mut self, value: &Value, pipe: &Pipe) -> Step {
        match value {
            Value::Nil => fault(
                ErrorKind::NoValue,
                pipe.span,
                format!(
                    "this gives no value, and the output would be `{NO_VALUE}`: check the name, or \
                     write `| default …`"
                ),
            ),
            Value::Text(text) => self.write(text, pipe.span),
            other => {
                let text = at(pipe.span, print::print(self.run, other))?;
                self.write(&text, pipe.span)
            }
        }
    }

    fn range(&mut self, branch: &'a Branch, dot: &Value) -> Step {
        let over = self.pipe_value(&branch.pipe, dot)?;
        // What is walked is fixed before the first turn, also when the body changes the dict.
        let items: Box<dyn Iterator<Item = (Value, Value)>> = match over {
            Value::Nil => Box::new(std::iter::empty()),
            Value::Int(count) => Box::new((0..count).map(|at| (Value::Int(at), Value::Int(at)))),
            Value::List(list) => {
                let length = list.items().len();
                let item = move |at: usize| list.items().get(at).cloned().unwrap_or(Value::Nil);
                Box::new((0..length).map(move |at| (Value::Int(at as i64), item(at))))
            }
            Value::Map(map) => {
                at(branch.pipe.span, self.run.allocate(48 * map.len()))?;
                let entries: Vec<_> = map
                    .entries()
                    .iter()
                    .map(|(key, value)| (Value::Text(Rc::clone(key)), value.clone()))
                    .collect();
                Box::new(entries.into_iter())
            }
            other => {
                return fault(
                    ErrorKind::Value,
                    branch.pipe.span,
                    format!(
                        "`range` walks lists, maps and numbers, and this is a {}",
                        other.kind()
                    ),
                );
            }
        };
        let mut walked = false;
        for (key, item) in items {
            walked = true;
            at(branch.pipe.span, self.run.work(1))?;
            let variables = self.variables.len();
            match branch.pipe.variables.as_slice() {
                [] => {}
                [only] => self.set(only, item.clone(), branch.pipe.assigns),
                [first, second, ..] => {
                    self.set(first, key, branch.pipe.assigns);
                    self.set(second, item.clone(), branch.pipe.assigns);
                }
            }
            let result = self.nodes(&branch.body, &item);
            self.variables.truncate(variables);
            match result {
                Err(Stop::Break) => break,
                Ok(()) | Err(Stop::Continue) => {}
                other => return other,
            }
        }
        if walked {
            return Ok(());
        }
        self.nodes(&branch.otherwise, dot)
    }

    /// A template that is defined in the same text. It sees none of the caller's variables.
    fn named(&mut self, name: &str, argument: Option<&'a Pipe>, span: Span, dot: &Value) -> Step {
        let data = match argument {
            Some(pipe) => self.pipe(pipe, dot)?,
            None => Value::Nil,
        };
        let Some(body) = self.template.tree.definitions.get(name) else {
            return fault(
                ErrorKind::Syntax,
                span,
                format!("the template {name:?} is not defined"),
            );
        };
        at(span, self.run.enter())?;
        at(span, self.run.work(1))?;
        let inner = vec![(Rc::from("$"), data.clone())];
        let variables = std::mem::replace(&mut self.variables, inner);
        let result = self.nodes(body, &data);
        self.variables = variables;
        self.run.leave();
        result
    }

    fn set(&mut self, name: &str, value: Value, assigns: bool) {
        if assigns {
            let known = self.variables.iter_mut().rev();
            if let Some((_, slot)) = known.into_iter().find(|(known, _)| **known == *name) {
                *slot = value;
                return;
            }
        }
        self.variables.push((Rc::from(name), value));
    }

    fn pipe(&mut self, pipe: &'a Pipe, dot: &Value) -> Step<Value> {
        let value = self.pipe_value(pipe, dot)?;
        if let Some(name) = pipe.variables.first() {
            self.set(name, value.clone(), pipe.assigns);
        }
        Ok(value)
    }

    fn pipe_value(&mut self, pipe: &'a Pipe, dot: &Value) -> Step<Value> {
        let mut last = None;
        for command in &pipe.commands {
            last = Some(self.command(command, last, dot)?);
        }
        Ok(last.unwrap_or(Value::Nil))
    }

    fn command(&mut self, command: &'a Command, piped: Option<Value>, dot: &Value) -> Step<Value> {
        at(command.span, self.run.work(1))?;
        let first = &command.first;
        if let Term::Function(name) = &first.term {
            let value = match name.as_str() {
                "and" | "or" => self.short_circuit(name, command, piped, dot)?,
                _ => {
                    let mut arguments = Vec::with_capacity(command.arguments.len() + 1);
                    for argument in &command.arguments {
                        arguments.push(self.operand(argument, dot)?);
                    }
                    arguments.extend(piped);
                    self.call(name, &arguments, command.span)?
                }
            };
            return self.fields(value, first);
        }
        if piped.is_some() || !command.arguments.is_empty() {
            return fault(
                ErrorKind::Value,
                first.span,
                "this is no function and takes no arguments",
            );
        }
        self.operand(first, dot)
    }

    fn short_circuit(
        &mut self,
        name: &str,
        command: &'a Command,
        piped: Option<Value>,
        dot: &Value,
    ) -> Step<Value> {
        let mut last = None;
        for argument in &command.arguments {
            let value = self.operand(argument, dot)?;
            if value.is_true() == (name == "or") {
                return Ok(value);
            }
            last = Some(value);
        }
        match piped.or(last) {
            Some(value) => Ok(value),
            None => fault(
                ErrorKind::Value,
                command.span,
                format!("`{name}` needs at least one argument"),
            ),
        }
    }

    fn operand(&mut self, operand: &'a Operand, dot: &Value) -> Step<Value> {
        at(operand.span, self.run.work(1))?;
        let value = match &operand.term {
            Term::Dot => dot.clone(),
            Term::Variable(name) => {
                let known = self.variables.iter().rev();
                let found = known.into_iter().find(|(known, _)| **known == **name);
                match found {
                    Some((_, value)) => value.clone(),
                    None => {
                        return fault(
                            ErrorKind::Syntax,
                            operand.span,
                            format!("the variable `{name}` is not known here"),
                        );
                    }
                }
            }
            Term::Function(name) => self.call(name, &[], operand.span)?,
            Term::Text(text) => Value::text(text),
            Term::Int(number) => Value::Int(*number),
            Term::Float(number) => Value::Float(*number),
            Term::Bool(value) => Value::Bool(*value),
            Term::Nil => Value::Nil,
            Term::Pipe(pipe) => {
                at(operand.span, self.run.enter())?;
                let variables = self.variables.len();
                let value = self.pipe(pipe, dot)?;
                self.variables.truncate(variables);
                self.run.leave();
                value
            }
        };
        self.fields(value, operand)
    }

    fn fields(&self, value: Value, operand: &Operand) -> Step<Value> {
        let mut value = value;
        for (place, name) in operand.fields.iter().enumerate() {
            value = match &value {
                Value::Map(map) => map.get(name).unwrap_or(Value::Nil),
                Value::Nil => {
                    let holder = match operand.fields[..place].join(".") {
                        path if path.is_empty() => "what it is read from".to_owned(),
                        path => format!("`{path}`"),
                    };
                    return fault(
                        ErrorKind::NoValue,
                        operand.span,
                        format!(
                            "the field `{name}` can't be read, because {holder} has no value: check \
                             the name, or ask with `if` before"
                        ),
                    );
                }
                other => {
                    return fault(
                        ErrorKind::Value,
                        operand.span,
                        format!("a {} has no field `{name}`", other.kind()),
                    );
                }
            };
        }
        Ok(value)
    }

    fn call(&mut self, name: &str, arguments: &[Value], span: Span) -> Step<Value> {
        for argument in arguments {
            at(span, self.run.read(argument))?;
        }
        if let Some(function) = self.run.environment.functions.get(name) {
            let run = self.run;
            at(span, run.work(STEPS_OF_AN_EXTRA_FUNCTION))?;
            let json = arguments.iter().map(|argument| to_json(run, argument));
            let json = at(span, json.collect::<Answer<Vec<_>>>())?;
            let answer = function(&json)
                .map_err(Problem::value)
                .and_then(|json| from_json(run, &json));
            return at(span, answer);
        }
        if name == "include" && self.run.environment.includes.is_some() {
            return self.include(arguments, span);
        }
        let Some(entry) = functions::find(name) else {
            return fault(
                ErrorKind::Syntax,
                span,
                format!("there is no function `{name}`"),
            );
        };
        let call = Call {
            run: self.run,
            name,
            arguments,
        };
        at(span, entry.call(&call))
    }

    fn include(&mut self, arguments: &[Value], span: Span) -> Step<Value> {
        let (Some(find), [Value::Text(path), data]) = (&self.run.environment.includes, arguments)
        else {
            return fault(
                ErrorKind::Value,
                span,
                "`include` takes the path of a file and the value that it gets",
            );
        };
        let template = at(span, find(path).map_err(Problem::value))?;
        at(span, self.run.enter())?;
        // Reading and checking it takes time, also when little of it runs.
        at(span, self.run.work(template.text.len() / 16))?;
        let output = run_template(self.run, &template, data.clone()).map_err(Stop::Elsewhere)?;
        self.run.leave();
        at(span, self.run.text(output))
    }
}

fn taken<'n>(branch: &'n Branch, condition: &Value) -> &'n [Node] {
    if condition.is_true() {
        &branch.body
    } else {
        &branch.otherwise
    }
}
