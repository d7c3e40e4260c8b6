//! `map`, `select`, `filter` and `sum`.

use std::rc::Rc;

use crate::ast::{Form, Iteration, Span};
use crate::call::{Given, OwnName, closure};
use crate::error::Complaint;
use crate::instance::Outcome;
use crate::machine::{Context, Machine};
use crate::value::{Closure, Entries, Value};

impl<'d> Machine<'d> {
    pub(crate) fn iteration(
        &mut self,
        iteration: &'d Iteration,
        span: Span,
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        let source = self.defined(&iteration.source, context)?;
        let initial = match &iteration.initial {
            Some(initial) => Some(self.evaluate(initial, context)?),
            None => None,
        };
        let function = self.evaluate(&iteration.function, context)?;
        let function = closure(&function, iteration.function.span, context)?;
        let pairs = match &source {
            Value::List(list) => {
                let numbers = (0_i128..).map(Value::Int);
                numbers.zip(list.plain().cloned()).collect::<Vec<_>>()
            }
            Value::Map(map) => map
                .plain()
                .map(|(key, value)| (Value::Text(Rc::clone(key)), value.clone()))
                .collect(),
            other => {
                let message = format!(
                    "`{}` goes through a list or a map, and this is {}",
                    iteration.form.name(),
                    other.kind()
                );
                return Err(context.fault(iteration.source.span, Complaint::value(message)));
            }
        };
        let bytes = 2 * size_of::<Value<'d>>() * pairs.len();
        context.at(span, self.meter.allocate(bytes))?;
        if iteration.form == Form::Sum {
            let mut sum = initial.unwrap_or(Value::Nil);
            for pair in pairs {
                sum = self.turn(&function, Some(sum), pair, span, context)?;
            }
            return Ok(sum);
        }
        let mut kept = Vec::new();
        for pair in pairs {
            let turned = self.turn(&function, None, pair.clone(), span, context)?;
            match (iteration.form, turned) {
                (Form::Select, turned) if turned.holds() => kept.push(pair),
                (Form::Map, turned) if !matches!(turned, Value::Undefined | Value::Nil) => {
                    // `map{list|x|->…}` takes the items for keys.
                    let of_items = iteration.to_map && matches!(source, Value::List(_));
                    kept.push((if of_items { pair.1 } else { pair.0 }, turned));
                }
                _ => {}
            }
        }
        self.collected(kept, iteration, span, context)
    }

    /// One call of the function of an iteration.
    fn turn(
        &mut self,
        function: &Rc<Closure<'d>>,
        sum: Option<Value<'d>>,
        (key, value): (Value<'d>, Value<'d>),
        span: Span,
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        let with_key = function.open.len() > 1 + usize::from(sum.is_some());
        let mut given = Given::default();
        given.items.extend(sum);
        given.items.extend(with_key.then_some(key));
        given.items.push(value);
        self.apply(function, given, OwnName::Unbound, span, context)
    }

    fn collected(
        &mut self,
        kept: Vec<(Value<'d>, Value<'d>)>,
        iteration: &Iteration,
        span: Span,
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        if !iteration.to_map {
            let values = kept.into_iter().map(|(_, value)| value).collect();
            return context.at(span, self.meter.list(values));
        }
        let mut entries = Entries::new();
        for (key, value) in kept {
            let Value::Text(key) = key else {
                let message = format!(
                    "`{}{{…}}` needs a map, or a list of strings for its keys",
                    iteration.form.name()
                );
                return Err(context.fault(span, Complaint::value(message)));
            };
            entries.insert(key, value);
        }
        context.at(span, self.meter.map(entries))
    }
}
