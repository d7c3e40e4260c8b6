//! Finds what references mean: names around a node, from the inside to the outside, then bindings.

use crate::ast::{Component, Expression, Kind, Reference, Span, Step, StepKind};
use crate::document::Content;
use crate::error::{Complaint, ErrorKind};
use crate::instance::{InstanceId, Outcome};
use crate::machine::{Context, Machine};
use crate::value::{Entries, Frame, Value, position};

/// Something that a path has led to. Nodes are evaluated as late as possible: `a.b` has a value also
/// while other parts of `a` are being evaluated.
#[derive(Debug, Clone)]
pub(crate) enum Found<'d> {
    Node(InstanceId),
    Value(Value<'d>),
}

impl<'d> Machine<'d> {
    pub(crate) fn reference(
        &mut self,
        reference: &'d Reference,
        span: Span,
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        let found = self.find(reference, span, context)?;
        self.forced(found, span, context)
    }

    /// The value of what was found. What a path leads to must not be undefined; what a function gave
    /// may be.
    fn forced(
        &mut self,
        found: Found<'d>,
        span: Span,
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        let id = match found {
            Found::Value(value) => return Ok(value.plain().clone()),
            Found::Node(id) => id,
        };
        let value = self.value(id)?;
        if value.is_defined() {
            return Ok(value);
        }
        let message = format!("`{}` is undefined", self.node(id).path);
        Err(context.fault(span, Complaint::new(ErrorKind::NotFound, message)))
    }

    fn find(
        &mut self,
        reference: &'d Reference,
        span: Span,
        context: &Context<'d>,
    ) -> Outcome<'d, Found<'d>> {
        let root = self.instances.get(context.place).root;
        let Some((Component::Key(name), mut rest)) = reference.path.split_first() else {
            return Ok(Found::Node(root));
        };
        // `_` counts as found: it stands before the name.
        let mut known = 0;
        let mut found = if reference.absolute {
            match self.entry(root, name, context.place)? {
                Some(found) => Some(found),
                None => self.bound(name, span, context)?,
            }
        } else {
            match (Frame::find(&context.scope, name), rest.first()) {
                // `_.name` is a name around the place where the function was made.
                (Some(Value::Lambda(function)), Some(Component::Key(next))) if name == "_" => {
                    let (place, scope) = (function.place, function.scope.clone());
                    let context = Context {
                        place,
                        scope,
                        source: context.source,
                    };
                    rest = &rest[1..];
                    known = 1;
                    self.around(next, span, &context)?
                }
                (Some(value), _) => Some(Found::Value(value.clone())),
                (None, _) => self.around(name, span, context)?,
            }
        };
        for component in rest {
            let Some(last) = found else { break };
            known += 1;
            found = self.component(last, component)?;
        }
        found.ok_or_else(|| {
            let name = shown(reference, known + 1);
            let message = match known {
                0 => format!(
                    "`{name}` is not found: no node around this one and no binding has that name"
                ),
                _ => format!("`{name}` is not found"),
            };
            context.fault(span, Complaint::new(ErrorKind::NotFound, message))
        })
    }

    /// Looks for a name in the scopes and maps around a place, then among the bindings.
    fn around(
        &mut self,
        name: &str,
        span: Span,
        context: &Context<'d>,
    ) -> Outcome<'d, Option<Found<'d>>> {
        let mut inner = context.place;
        loop {
            if let Some(value) = Frame::find(&self.instances.get(inner).scope, name) {
                return Ok(Some(Found::Value(value.clone())));
            }
            let Some(parent) = self.instances.get(inner).parent else {
                return self.bound(name, span, context);
            };
            context.at(span, self.meter.work(1))?;
            if let Some(found) = self.entry(parent, name, inner)? {
                return Ok(Some(found));
            }
            inner = parent;
        }
    }

    fn bound(
        &mut self,
        name: &str,
        span: Span,
        context: &Context<'d>,
    ) -> Outcome<'d, Option<Found<'d>>> {
        let bound = if name == "__ctx" {
            self.evaluation_context().map(Some)
        } else {
            self.binding(name)
        };
        Ok(context.at(span, bound)?.map(Found::Value))
    }

    /// `__ctx`, with the bindings as the only outer document.
    fn evaluation_context(&mut self) -> crate::meter::Answer<Value<'d>> {
        let bindings = self.all_bindings()?;
        let outer = self.meter.list(vec![bindings])?;
        let entries = Entries::from([("OUTER".into(), outer)]);
        self.meter.map(entries)
    }

    /// The entry of a map node. What is inserted into the map is not looked at for a part of itself.
    fn entry(
        &mut self,
        id: InstanceId,
        key: &str,
        inner: InstanceId,
    ) -> Outcome<'d, Option<Found<'d>>> {
        let instance = self.instances.get(id);
        let Content::Map { entries, .. } = &instance.node.content else {
            return Ok(None);
        };
        let at = entries.iter().position(|(own, _)| own == key);
        if let Some(child) = at.and_then(|at| instance.children.get(at)) {
            return Ok(Some(Found::Node(*child)));
        }
        match instance.insertion {
            Some(insertion) if insertion != inner => {
                let inserted = match self.value(insertion) {
                    // Whoever needs the whole map gets the error.
                    Err(fault) if fault.kind == ErrorKind::NotFound => return Ok(None),
                    other => other?,
                };
                match inserted {
                    Value::Map(map) => Ok(map.get(key).cloned().map(Found::Value)),
                    _ => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    fn component(
        &mut self,
        found: Found<'d>,
        component: &Component,
    ) -> Outcome<'d, Option<Found<'d>>> {
        let id = match found {
            Found::Value(value) => return Ok(step(&value, component).cloned().map(Found::Value)),
            Found::Node(id) => id,
        };
        let instance = self.instances.get(id);
        if instance.dormant {
            return Ok(None);
        }
        match (&instance.node.content, component) {
            (Content::Map { .. }, Component::Key(key)) => self.entry(id, key, id),
            (Content::List { items, .. }, Component::Index(index))
                if *index >= 0 && items.iter().all(|item| !item.insertion) =>
            {
                self.item(id, *index)
            }
            (Content::List { items, key }, Component::Key(name))
                if items.iter().all(|item| !item.insertion) =>
            {
                self.named_item(id, key, name)
            }
            _ => {
                let value = self.value(id)?;
                Ok(step(&value, component).cloned().map(Found::Value))
            }
        }
    }

    /// The item at a position. Undefined ones don't count, so those before it are evaluated that may be.
    fn item(&mut self, id: InstanceId, index: i64) -> Outcome<'d, Option<Found<'d>>> {
        let children = self.instances.get(id).children.clone();
        let mut defined = 0;
        for child in children {
            let formula = self.node(child).formula();
            let is_defined = !formula.is_some_and(|formula| formula.may_be_undefined)
                || self.value(child)?.is_defined();
            if is_defined && defined == index {
                return Ok(Some(Found::Node(child)));
            }
            defined += i64::from(is_defined);
        }
        Ok(None)
    }

    /// The item with a name, for which only the names are evaluated where they are written down.
    fn named_item(
        &mut self,
        id: InstanceId,
        key: &str,
        name: &str,
    ) -> Outcome<'d, Option<Found<'d>>> {
        let children = self.instances.get(id).children.clone();
        for child in children {
            let own = match self.component(Found::Node(child), &Component::Key(key.to_owned()))? {
                Some(Found::Node(own)) => self.value(own)?,
                Some(Found::Value(own)) => own,
                None => continue,
            };
            if matches!(&own, Value::Text(own) if **own == *name) {
                return Ok(Some(Found::Node(child)));
            }
        }
        Ok(None)
    }

    /// A value, and what is done with it from left to right.
    pub(crate) fn chained(
        &mut self,
        base: &'d Expression,
        steps: &'d [Step],
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        let (found, done) = match (&base.kind, steps.first()) {
            (Kind::Reference(reference), Some(first)) => match &first.kind {
                StepKind::Call(arguments) => {
                    let called = self.call(base, reference, arguments, first.span, context)?;
                    (Found::Value(called), 1)
                }
                _ => match self.builtin_currying(reference, first, context)? {
                    Some(curried) => (Found::Value(curried), 1),
                    None => (self.find(reference, base.span, context)?, 0),
                },
            },
            _ => (Found::Value(self.evaluate(base, context)?), 0),
        };
        self.steps(found, base.span, &steps[done..], context)
    }

    fn steps(
        &mut self,
        mut found: Found<'d>,
        mut span: Span,
        steps: &'d [Step],
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        for (at, step) in steps.iter().enumerate() {
            let whole = Span {
                start: span.start,
                end: step.span.end,
            };
            found = match &step.kind {
                StepKind::Component(component) => {
                    let next = self.component(found, component)?;
                    next.ok_or_else(|| missing(context, whole))?
                }
                StepKind::Dynamic(indices) => {
                    for index in indices {
                        found = self.dynamic(found, index, whole, context)?;
                    }
                    found
                }
                StepKind::Call(arguments) => {
                    let function = self.forced(found, span, context)?;
                    Found::Value(self.call_value(&function, arguments, whole, context)?)
                }
                StepKind::Curry(arguments) => {
                    let function = self.forced(found, span, context)?;
                    Found::Value(self.curry_value(&function, arguments, whole, context)?)
                }
                StepKind::Projection | StepKind::Slice(_) => {
                    let source = self.forced(found, span, context)?;
                    return self.projection(&source, step, &steps[at + 1..], whole, context);
                }
            };
            span = whole;
        }
        self.forced(found, span, context)
    }

    /// One step by the value of an expression: a name, a number, or a list of them.
    fn dynamic(
        &mut self,
        found: Found<'d>,
        index: &'d Expression,
        span: Span,
        context: &Context<'d>,
    ) -> Outcome<'d, Found<'d>> {
        let index_value = self.evaluate(index, context)?;
        let components: Vec<Value<'d>> = match &index_value {
            Value::List(list) => list.plain().cloned().collect(),
            other => vec![other.clone()],
        };
        let mut found = found;
        for component in components {
            let component = match component {
                Value::Text(key) => Component::Key(key.to_string()),
                Value::Int(index) => Component::Index(i64::try_from(index).unwrap_or(i64::MAX)),
                other => {
                    let message = format!(
                        "an index has to be a string or an integer, and this is {}",
                        other.kind()
                    );
                    return Err(context.fault(index.span, Complaint::value(message)));
                }
            };
            let next = self.component(found, &component)?;
            found = next.ok_or_else(|| missing(context, span))?;
        }
        Ok(found)
    }

    /// Does the remaining steps with each item of a list, or of a part of it.
    fn projection(
        &mut self,
        source: &Value<'d>,
        step: &'d Step,
        rest: &'d [Step],
        span: Span,
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        let mut items: Vec<Value<'d>> = match source {
            Value::List(list) => list.plain().cloned().collect(),
            Value::Map(map) => map.plain().map(|(_, value)| value.clone()).collect(),
            other => {
                let message = format!("`[*]` and slices need a list, and this is {}", other.kind());
                return Err(context.fault(span, Complaint::value(message)));
            }
        };
        if let StepKind::Slice(range) = &step.kind {
            let bound = |machine: &mut Self, bound: Option<&'d Expression>| match bound {
                Some(bound) => machine.integer(bound, context).map(Some),
                None => Ok(None),
            };
            let first = bound(self, range.first.as_ref())?;
            let last = bound(self, range.last.as_ref())?;
            items = slice(items, first, last).ok_or_else(|| {
                context.fault(span, Complaint::value("the slice is out of range"))
            })?;
        }
        let mut values = Vec::new();
        for item in items {
            let entered = context.at(span, self.meter.enter());
            let value = entered.and_then(|()| self.steps(Found::Value(item), span, rest, context));
            self.meter.leave();
            values.push(value?);
        }
        context.at(span, self.meter.list(values))
    }
}

/// From the first to the last index, both counted in; negative ones count from the end.
fn slice<'d>(
    items: Vec<Value<'d>>,
    first: Option<i128>,
    last: Option<i128>,
) -> Option<Vec<Value<'d>>> {
    let length = i128::try_from(items.len()).ok()?;
    let from_end = |index: i128| if index < 0 { index + length } else { index };
    let first = from_end(first.unwrap_or(0));
    let last = from_end(last.unwrap_or(length - 1));
    if first < 0 || last >= length {
        return None;
    }
    let first = usize::try_from(first).ok()?;
    let end = usize::try_from(last + 1).unwrap_or(0);
    let count = end.saturating_sub(first);
    Some(items.into_iter().skip(first).take(count).collect())
}

/// One step into a value.
pub(crate) fn step<'v, 'd>(value: &'v Value<'d>, component: &Component) -> Option<&'v Value<'d>> {
    match (value.plain(), component) {
        (Value::Map(map), Component::Key(key)) => map.get(key),
        (Value::List(list), Component::Index(index)) => {
            position(*index, list.items().len())?;
            list.at(*index)
        }
        (Value::List(list), Component::Key(name)) => list.named("name", name),
        _ => None,
    }
}

fn missing<'d>(context: &Context<'d>, span: Span) -> std::rc::Rc<crate::instance::Fault<'d>> {
    // The name is not repeated: it may come from data. The excerpt shows the expression.
    let message = "there is nothing at this path";
    context.fault(span, Complaint::new(ErrorKind::NotFound, message))
}

/// The first components of a reference as they were written.
fn shown(reference: &Reference, components: usize) -> String {
    let mut text = String::new();
    for (at, component) in reference.path.iter().take(components).enumerate() {
        match component {
            Component::Key(key) => {
                if at > 0 || reference.absolute {
                    text.push('.');
                }
                text.push_str(key);
            }
            Component::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}
