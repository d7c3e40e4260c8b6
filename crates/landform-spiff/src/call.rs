//! Calls functions: those of the library, those of the caller, and lambdas.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::ast::{Arguments, Component, Expression, Kind, Reference, Span, Step, StepKind};
use crate::error::{Complaint, ErrorKind};
use crate::functions::{self, Function};
use crate::instance::Outcome;
use crate::json;
use crate::machine::{Context, Machine};
use crate::value::{Closure, Entries, Frame, Value};

/// What a function of the caller costs.
const STEPS_OF_A_CALL: usize = 100;

/// Whether a function has the name `_` for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnName {
    Bound,
    Unbound,
}

/// Values for parameters.
#[derive(Debug, Default)]
pub(crate) struct Given<'d> {
    named: Vec<(&'d str, Value<'d>)>,
    pub(crate) items: Vec<Value<'d>>,
}

impl<'d> Given<'d> {
    pub(crate) fn items(items: Vec<Value<'d>>) -> Self {
        Given {
            items,
            ..Given::default()
        }
    }
}

impl<'d> Machine<'d> {
    /// A call by a name or a path.
    pub(crate) fn call(
        &mut self,
        base: &'d Expression,
        reference: &'d Reference,
        arguments: &'d Arguments,
        step: Span,
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        let span = Span {
            start: base.span.start,
            end: step.end,
        };
        let Some(name) = plain_name(reference) else {
            let function = self.evaluate(base, context)?;
            return self.call_value(&function, arguments, span, context);
        };
        if let Some(Value::Lambda(function)) = Frame::find(&context.scope, name).cloned() {
            let given = self.given(arguments, context)?;
            return self.apply(&function, given, OwnName::Bound, span, context);
        }
        if let Some(function) = functions::find(name) {
            return self.library(name, function, arguments, span, context);
        }
        if let Some(function) = self.environment.function(name).cloned() {
            context.at(span, self.meter.work(STEPS_OF_A_CALL))?;
            let given = self.given(arguments, context)?;
            let values = given.items.iter();
            let values = values.map(|value| json::to_json(&self.meter, value));
            let values: Vec<_> = context.at(span, values.collect::<Result<_, _>>())?;
            let answer = function(&values).map_err(Complaint::value);
            let answer = answer.and_then(|answer| json::from_json(&self.meter, &answer));
            return context.at(span, answer);
        }
        if let Some(reason) = functions::refused(name) {
            let message = format!("`{name}` is not supported: {reason}");
            return Err(context.fault(span, Complaint::value(message)));
        }
        match self.evaluate(base, context) {
            Ok(function) => self.call_value(&function, arguments, span, context),
            Err(fault) if fault.kind == ErrorKind::NotFound => {
                let message = format!("there is no function `{name}`");
                Err(context.fault(base.span, Complaint::value(message)))
            }
            Err(fault) => Err(fault),
        }
    }

    fn library(
        &mut self,
        name: &str,
        function: Function,
        arguments: &'d Arguments,
        span: Span,
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        if !arguments.named.is_empty() {
            let complaint = Complaint::value("only lambdas take arguments by name");
            return Err(context.fault(span, complaint));
        }
        match function {
            Function::Plain(function) => {
                let values = self.items(&arguments.items, context)?;
                let answer = function(&self.meter, &values);
                context.at(span, answer.map_err(|complaint| about(name, complaint)))
            }
            Function::Machine(function) => {
                let values = self.items(&arguments.items, context)?;
                function(self, &values, span, context)
            }
            Function::Lazy(function) => function(self, &arguments.items, span, context),
        }
    }

    /// `join*(",")`: a function of the library with its first arguments is a list that waits for the
    /// others. Lambdas are curried elsewhere.
    pub(crate) fn builtin_currying(
        &mut self,
        reference: &'d Reference,
        step: &'d Step,
        context: &Context<'d>,
    ) -> Outcome<'d, Option<Value<'d>>> {
        let (Some(name), StepKind::Curry(_)) = (plain_name(reference), &step.kind) else {
            return Ok(None);
        };
        if functions::find(name).is_none() || Frame::find(&context.scope, name).is_some() {
            return Ok(None);
        }
        let message = format!("only lambdas can be curried: write `|x|->{name}(…, x)`");
        Err(context.fault(step.span, Complaint::value(message)))
    }

    /// A call of a value, which has to be a lambda.
    pub(crate) fn call_value(
        &mut self,
        function: &Value<'d>,
        arguments: &'d Arguments,
        span: Span,
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        let function = closure(function, span, context)?;
        let given = self.given(arguments, context)?;
        self.apply(&function, given, OwnName::Bound, span, context)
    }

    pub(crate) fn curry_value(
        &mut self,
        function: &Value<'d>,
        arguments: &'d Arguments,
        span: Span,
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        let function = closure(function, span, context)?;
        let given = self.given(arguments, context)?;
        let bound = bind(&function, given).map_err(|complaint| context.fault(span, complaint))?;
        self.curried(&function, bound, span, context)
    }

    fn given(&mut self, arguments: &'d Arguments, context: &Context<'d>) -> Outcome<'d, Given<'d>> {
        let mut named = Vec::new();
        for (name, value) in &arguments.named {
            named.push((name.as_str(), self.evaluate(value, context)?));
        }
        Ok(Given {
            named,
            items: self.items(&arguments.items, context)?,
        })
    }

    /// Calls a lambda. Names in its body are looked for in its own scope, then around the caller.
    pub(crate) fn apply(
        &mut self,
        function: &Rc<Closure<'d>>,
        given: Given<'d>,
        own_name: OwnName,
        span: Span,
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        let mut bound =
            bind(function, given).map_err(|complaint| context.fault(span, complaint))?;
        let lambda = function.lambda;
        let missing = |at: &&usize| !bound.contains_key(*at);
        let missing: Vec<usize> = function.open.iter().filter(missing).copied().collect();
        let defaults = lambda.parameters.iter().any(|p| p.default.is_some());
        for at in missing {
            let last = at + 1 == lambda.parameters.len();
            let default = lambda.parameters.get(at).and_then(|p| p.default.as_ref());
            let value = match default {
                _ if last && lambda.variadic => context.at(span, self.meter.list(Vec::new()))?,
                Some(default) => {
                    let context = Context {
                        place: function.place,
                        source: function.source,
                        scope: function.scope.clone(),
                    };
                    self.evaluate(default, &context)?
                }
                // As in Spiff, a call with too few arguments gives a function for the others.
                None if !defaults => return self.curried(function, bound, span, context),
                None => {
                    let complaint = Complaint::value("this call has too few arguments");
                    return Err(context.fault(span, complaint));
                }
            };
            bound.insert(at, value);
        }
        let mut names = named(function, bound);
        if own_name == OwnName::Bound {
            names.push((Rc::from("_"), Value::Lambda(Rc::clone(function))));
        }
        let scope = context.at(span, self.meter.scope(names, function.scope.clone()))?;
        let inner = Context {
            place: context.place,
            source: function.source,
            scope,
        };
        self.evaluate(&lambda.body, &inner)
    }

    fn curried(
        &mut self,
        function: &Rc<Closure<'d>>,
        bound: BTreeMap<usize, Value<'d>>,
        span: Span,
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        let open = function.open.iter().copied();
        let open = open.filter(|at| !bound.contains_key(at)).collect();
        let scope = self
            .meter
            .scope(named(function, bound), function.scope.clone());
        Ok(Value::Lambda(Rc::new(Closure {
            lambda: function.lambda,
            open,
            scope: context.at(span, scope)?,
            source: function.source,
            place: function.place,
        })))
    }

    /// `catch[tried|value,error|->…]`
    pub(crate) fn catch(
        &mut self,
        tried: &'d Expression,
        function: &'d Expression,
        span: Span,
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        let (value, error) = match self.evaluate(tried, context) {
            Ok(value) => (value, Value::Nil),
            Err(fault) if fault.kind.can_be_caught() => {
                let message = context.at(span, self.meter.text(&fault.message))?;
                (Value::Nil, message)
            }
            Err(fault) => return Err(fault),
        };
        let function = self.evaluate(function, context)?;
        let function = closure(&function, span, context)?;
        let mut items = vec![value, error];
        items.truncate(function.open.len());
        self.apply(
            &function,
            Given::items(items),
            OwnName::Unbound,
            span,
            context,
        )
    }

    /// The fields `valid`, `error` and `value` of the function `catch`.
    pub(crate) fn caught(
        &mut self,
        tried: &'d Expression,
        span: Span,
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        let mut entries = Entries::new();
        let (valid, error) = match self.evaluate(tried, context) {
            Ok(value) => {
                if value.is_defined() {
                    entries.insert(Rc::from("value"), value);
                }
                (true, String::new())
            }
            Err(fault) if fault.kind.can_be_caught() => (false, fault.message.clone()),
            Err(fault) => return Err(fault),
        };
        entries.insert(Rc::from("valid"), Value::Bool(valid));
        let error = context.at(span, self.meter.text(error))?;
        entries.insert(Rc::from("error"), error);
        context.at(span, self.meter.map(entries))
    }
}

/// The function's name in front of what it complains about.
fn about(name: &str, complaint: Complaint) -> Complaint {
    match complaint.kind {
        ErrorKind::Value => Complaint::value(format!("{name}: {}", complaint.message)),
        _ => complaint,
    }
}

/// The name of a reference that is one word.
fn plain_name(reference: &Reference) -> Option<&str> {
    match reference.path.as_slice() {
        [Component::Key(name)] if !reference.absolute => Some(name),
        _ => None,
    }
}

/// The reference that an argument is, when it is nothing else.
pub(crate) fn as_reference(expression: &Expression) -> Option<&Reference> {
    match &expression.kind {
        Kind::Reference(reference) => Some(reference),
        _ => None,
    }
}

pub(crate) fn closure<'d>(
    value: &Value<'d>,
    span: Span,
    context: &Context<'d>,
) -> Outcome<'d, Rc<Closure<'d>>> {
    match value {
        Value::Lambda(function) => Ok(Rc::clone(function)),
        other => {
            let message = format!("here a function is needed, and this is {}", other.kind());
            Err(context.fault(span, Complaint::value(message)))
        }
    }
}

/// Values by the number of their parameter: those with a name first, the others in order.
fn bind<'d>(
    function: &Closure<'d>,
    given: Given<'d>,
) -> Result<BTreeMap<usize, Value<'d>>, Complaint> {
    let parameters = &function.lambda.parameters;
    let mut bound = BTreeMap::new();
    for (name, value) in given.named {
        let by_number = name.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
        let by_name = parameters.iter().position(|p| p.name == name);
        let at = by_name
            .or(by_number)
            .filter(|at| function.open.contains(at));
        let Some(at) = at else {
            return Err(Complaint::value(format!(
                "the function has no parameter `{name}`"
            )));
        };
        if bound.insert(at, value).is_some() {
            return Err(Complaint::value(format!(
                "the parameter `{name}` is given twice"
            )));
        }
    }
    let mut items = given.items.into_iter().peekable();
    for at in &function.open {
        if bound.contains_key(at) || items.peek().is_none() {
            continue;
        }
        let last = *at + 1 == parameters.len();
        let value = if last && function.lambda.variadic {
            let rest: Vec<_> = items.by_ref().collect();
            let list = crate::value::List::new(rest);
            list.map(Value::List).ok_or_else(crate::meter::too_deep)?
        } else {
            items.next().unwrap_or(Value::Nil)
        };
        bound.insert(*at, value);
    }
    if items.next().is_some() {
        return Err(Complaint::value("this call has too many arguments"));
    }
    Ok(bound)
}

fn named<'d>(
    function: &Closure<'d>,
    bound: BTreeMap<usize, Value<'d>>,
) -> Vec<(Rc<str>, Value<'d>)> {
    let parameters = &function.lambda.parameters;
    let names = bound.into_iter().filter_map(|(at, value)| {
        let parameter = parameters.get(at)?;
        Some((Rc::from(parameter.name.as_str()), value))
    });
    names.collect()
}
