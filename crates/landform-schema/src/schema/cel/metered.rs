//! Evaluation with a limit on its cost.
//!
//! The interpreter knows no limit, so the expression is rewritten before it runs: what takes time in
//! proportion to the size of a value is wrapped in a call of `@charge`, which counts that size and
//! fails when the budget is used up. Since CEL forgives errors in `||` and `&&`, the budget stays
//! empty once it is, and the result is discarded then. No clock is involved: the same object always
//! costs the same.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, LiteralValue,
    MapEntryExpr, operators,
};
use kube_cel::cel::extractors::{Arguments, This};
use kube_cel::cel::objects::{Key, OptionalValue};
use kube_cel::cel::{Context, ExecutionError, Value};
use landform_pattern::{Pattern, Price, Refused};
use serde_json::Value as Json;

use super::analysis::Projection;
use super::functions::is_function;
use super::prices;
use super::program::Program;
use super::value::Converter;
use crate::schema::cut::Cut;
use crate::schema::node::{Arena, NodeId};
use crate::schema::pattern;

/// What one rule may cost; about a tenth of a second.
const RULE_BUDGET: u64 = 1_000_000;
/// What all rules of one object may cost together.
const OBJECT_BUDGET: u64 = 10_000_000;
/// What one charge costs beside the size of the value: measured, so that the budget of a rule is
/// about a tenth of a second.
const CHARGE_COST: u64 = 3;
/// What it costs to run an expression, whatever it says.
const RUN_COST: u64 = 10;
/// What the interpreter says is cut here.
const PROBLEM_BYTES_MAX: usize = 200;
/// This many steps of a search take the time of one unit.
const STEPS_OF_A_UNIT: usize = 4;
/// The memory of the compiled patterns that a thread keeps.
const PATTERNS_KEPT: usize = 4 * 1024 * 1024;

const CHARGE: &str = "@charge";

/// Names of types, which rules compare with the result of `type()`.
pub(super) const TYPE_NAMES: [&str; 9] = [
    "bool",
    "bytes",
    "double",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "uint",
];

thread_local! {
    static BUDGET: Cell<u64> = const { Cell::new(0) };
    static PATTERNS: RefCell<Patterns> = RefCell::default();
}

static FUNCTIONS: LazyLock<Context<'static>> = LazyLock::new(|| {
    let mut context = Context::default().with_all();
    context.add_function(CHARGE, charge);
    prices::register(&mut context);
    context.add_function("matches", matches);
    context.add_function("find", find);
    context.add_function("findAll", find_all);
    context.add_function("type", type_of);
    context.add_function("dyn", |value: Value| -> Result<Value, ExecutionError> {
        Ok(value)
    });
    context
});

/// The values that a rule sees.
pub(super) struct Inputs {
    pub(super) current: Value,
    pub(super) old: Option<Value>,
}

/// Why an expression has no result.
pub(super) enum Failure {
    /// The rule alone costs too much.
    RuleCost,
    /// The rules of the object together cost too much.
    ObjectCost,
    /// The expression fails on this object.
    Evaluation(String),
}

/// The budget of one object.
pub(super) struct Meter {
    left: u64,
}

impl Meter {
    pub(super) fn for_object() -> Self {
        Self {
            left: OBJECT_BUDGET,
        }
    }

    /// Whether nothing is left; the rule that used it up has been reported.
    pub(super) fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// Takes what something costs, if as much is left and more.
    pub(super) fn take(&mut self, cost: u64) -> bool {
        self.left = self.left.saturating_sub(cost);
        self.left > 0
    }

    /// Converts the wanted parts of a value within what is left. Once nothing is, no expression runs.
    pub(super) fn convert(
        &mut self,
        arena: &Arena,
        id: NodeId,
        value: &Json,
        wanted: &Projection,
    ) -> Value {
        let left = &mut self.left;
        Converter { arena, left }.typed(id, value, wanted)
    }

    /// Evaluates an expression within what is left.
    pub(super) fn run(&mut self, expression: &Program, inputs: &Inputs) -> Result<Value, Failure> {
        if !self.take(RUN_COST) {
            return Err(Failure::ObjectCost);
        }
        let allowed = self.left.min(RULE_BUDGET);
        BUDGET.set(allowed);
        let mut context = FUNCTIONS.new_inner_scope();
        context.add_variable_from_value("self", inputs.current.clone());
        if let Some(old) = &inputs.old {
            context.add_variable_from_value("oldSelf", old.clone());
        }
        // The interpreter is code of another project that runs what a client wrote: a panic in it
        // must not take the server down.
        let run = std::panic::AssertUnwindSafe(|| expression.evaluate(&context));
        let result = std::panic::catch_unwind(run);
        let rest = BUDGET.get();
        self.left -= allowed - rest;
        match result {
            _ if rest == 0 && self.left == 0 => Err(Failure::ObjectCost),
            _ if rest == 0 => Err(Failure::RuleCost),
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(Failure::Evaluation(shortened(&error))),
            Err(_) => Err(Failure::Evaluation("internal error".to_owned())),
        }
    }
}

/// An error without the values that the interpreter prints into it.
fn shortened(error: &ExecutionError) -> String {
    let text = match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::NoSuchOverload => "no such overload".to_owned(),
        other => return Cut::of(other, PROBLEM_BYTES_MAX),
    };
    Cut::of(&text, PROBLEM_BYTES_MAX)
}

pub(super) fn spend(cost: u64) -> Result<(), ExecutionError> {
    let left = BUDGET.get().saturating_sub(cost);
    BUDGET.set(left);
    if left == 0 {
        return Err(ExecutionError::function_error(
            "cost",
            "the cost limit is exceeded",
        ));
    }
    Ok(())
}

fn charge(value: Value) -> Result<Value, ExecutionError> {
    spend(CHARGE_COST + size(&value))?;
    Ok(value)
}

/// What it costs to look at a value as a whole.
pub(super) fn size(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64 / 10,
        Value::Bytes(bytes) => bytes.len() as u64 / 10,
        Value::List(entries) => entries.iter().map(|entry| 1 + size(entry)).sum(),
        Value::Map(map) => {
            let entries = map.map.iter();
            entries
                .map(|(key, value)| 1 + key_size(key) + size(value))
                .sum()
        }
        Value::Opaque(opaque) => opaque
            .downcast_ref::<OptionalValue>()
            .and_then(OptionalValue::value)
            .map_or(0, size),
        _ => 0,
    }
}

fn key_size(key: &Key) -> u64 {
    match key {
        Key::String(text) => text.len() as u64 / 10,
        Key::Int(_) | Key::Uint(_) | Key::Bool(_) => 0,
    }
}

/// Patterns that were compiled, so that a rule over a list compiles them once.
#[derive(Default)]
struct Patterns {
    compiled: HashMap<String, Pattern>,
    bytes: usize,
}

impl Patterns {
    fn get(&mut self, text: &str) -> Result<&Pattern, ExecutionError> {
        if !self.compiled.contains_key(text) {
            let (pattern, bytes) = compiled(text)?;
            if self.bytes + bytes > PATTERNS_KEPT {
                *self = Self::default();
            }
            self.bytes += bytes;
            self.compiled.insert(text.to_owned(), pattern);
        }
        Ok(&self.compiled[text])
    }
}

/// Compiles a pattern that is paid for, and says what memory it takes.
fn compiled(text: &str) -> Result<(Pattern, usize), ExecutionError> {
    let refused = |refused: Refused| {
        // The compiler says better what is wrong.
        let problem = match (refused, pattern::compile(text)) {
            (Refused::Malformed, Err(problem)) => problem,
            _ => refused.to_string(),
        };
        ExecutionError::function_error("regex", format!("{text:?}: {problem}"))
    };
    let translated = pattern::translate(text);
    let price = Price::of(&translated).map_err(refused)?;
    spend(price.steps_to_compile() as u64)?;
    let pattern = Pattern::compile(&translated, price).map_err(refused)?;
    Ok((pattern, price.bytes()))
}

/// Works with a pattern.
fn with_pattern(
    text: &str,
    work: impl FnOnce(&Pattern) -> Result<Value, ExecutionError>,
) -> Result<Value, ExecutionError> {
    PATTERNS.with_borrow_mut(|patterns| work(patterns.get(text)?))
}

/// What a search costs.
fn search(steps: usize) -> Result<(), ExecutionError> {
    spend(steps.div_ceil(STEPS_OF_A_UNIT) as u64)
}

/// `text.matches(pattern)`
#[expect(
    clippy::needless_pass_by_value,
    reason = "the interpreter passes arguments so"
)]
fn matches(This(text): This<Arc<String>>, pattern: Arc<String>) -> Result<Value, ExecutionError> {
    with_pattern(&pattern, |pattern| {
        pattern.is_match(&text, search).map(Value::Bool)
    })
}

/// `text.find(pattern)`: the first match, or nothing.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the interpreter passes arguments so"
)]
fn find(This(text): This<Arc<String>>, pattern: Arc<String>) -> Result<Value, ExecutionError> {
    with_pattern(&pattern, |pattern| {
        let found = pattern.find(&text, search)?;
        let found = found.map_or("", |found| found.as_str());
        Ok(Value::String(Arc::new(found.to_owned())))
    })
}

/// `text.findAll(pattern)` and `text.findAll(pattern, limit)`; a negative limit is none.
fn find_all(
    This(text): This<Arc<String>>,
    Arguments(args): Arguments,
) -> Result<Value, ExecutionError> {
    let Some(Value::String(pattern)) = args.first() else {
        return Err(ExecutionError::NoSuchOverload);
    };
    let limit = match args.get(1) {
        None => usize::MAX,
        Some(Value::Int(limit)) => usize::try_from(*limit).unwrap_or(usize::MAX),
        Some(_) => return Err(ExecutionError::NoSuchOverload),
    };
    spend(text.len() as u64)?;
    with_pattern(pattern, |pattern| {
        let found = pattern.find_all(&text, limit, search)?;
        let found = found.into_iter();
        let found = found.map(|found| Value::String(Arc::new(found.as_str().to_owned())));
        Ok(Value::List(Arc::new(found.collect())))
    })
}

/// The name of a value's type.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the interpreter passes arguments so"
)]
fn type_of(value: Value) -> String {
    match value {
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Int(_) => "int",
        Value::UInt(_) => "uint",
        Value::Float(_) => "double",
        Value::String(_) => "string",
        Value::Bytes(_) => "bytes",
        Value::Bool(_) => "bool",
        Value::Null => "null_type",
        Value::Duration(_) => "google.protobuf.Duration",
        Value::Timestamp(_) => "google.protobuf.Timestamp",
        Value::Function(..) | Value::Opaque(_) => "unknown",
    }
    .to_owned()
}

/// Rewrites an expression so that its evaluation is charged for.
pub(super) fn with_meter(expression: IdedExpr) -> IdedExpr {
    let IdedExpr { id, expr } = expression;
    let expr = match expr {
        Expr::Call(call) => metered_call(call),
        Expr::Comprehension(comprehension) => metered_comprehension(*comprehension),
        // Selecting copies what it selects, indexing doesn't.
        Expr::Select(select) if !select.test => {
            let field = LiteralValue::String(select.field.as_str().into());
            let field = IdedExpr {
                id,
                expr: Expr::Literal(field),
            };
            Expr::Call(CallExpr {
                func_name: operators::INDEX.to_owned(),
                target: None,
                args: vec![with_meter(*select.operand), field],
            })
        }
        Expr::Select(mut select) => {
            select.operand = Box::new(with_meter(*select.operand));
            Expr::Select(select)
        }
        Expr::List(mut list) => {
            list.elements = list.elements.into_iter().map(copied).collect();
            Expr::List(list)
        }
        Expr::Map(mut map) => {
            map.entries = map.entries.into_iter().map(metered_entry).collect();
            Expr::Map(map)
        }
        Expr::Ident(name) if TYPE_NAMES.contains(&name.as_str()) => {
            Expr::Literal(LiteralValue::String(name.as_str().into()))
        }
        other => other,
    };
    IdedExpr { id, expr }
}

fn metered_entry(entry: IdedEntryExpr) -> IdedEntryExpr {
    let expr = match entry.expr {
        EntryExpr::MapEntry(MapEntryExpr {
            key,
            value,
            optional,
        }) => EntryExpr::MapEntry(MapEntryExpr {
            key: copied(key),
            value: copied(value),
            optional,
        }),
        other @ EntryExpr::StructField(_) => other,
    };
    IdedEntryExpr { id: entry.id, expr }
}

fn metered_call(call: CallExpr) -> Expr {
    let CallExpr {
        func_name,
        target,
        args,
    } = call;
    // A target that names a library, as in `math.least(…)`, is part of the function's name.
    let target = target.map(|target| match target.expr {
        Expr::Ident(ref name) if is_function(&format!("{name}.{func_name}")) => target,
        _ => Box::new(charged(with_meter(*target))),
    });
    let charges = match func_name.as_str() {
        operators::CONDITIONAL
        | operators::LOGICAL_AND
        | operators::LOGICAL_OR
        | operators::LOGICAL_NOT
        | operators::NEGATE
        | operators::NOT_STRICTLY_FALSE
        | operators::INDEX
        | operators::OPT_INDEX
        | operators::OPT_SELECT => false,
        // Comparing with a literal takes no longer than the literal is long.
        operators::EQUALS | operators::NOT_EQUALS => !args.iter().any(is_literal),
        _ => true,
    };
    let args = args.into_iter().map(|arg| {
        let literal = is_literal(&arg);
        let arg = with_meter(arg);
        if charges && !literal {
            charged(arg)
        } else {
            arg
        }
    });
    let args = args.collect();
    let call = |func_name| {
        Expr::Call(CallExpr {
            func_name,
            target,
            args,
        })
    };
    match func_name.as_str() {
        // The interpreter's optional selection fails on a missing key; its optional index doesn't. What it finds is a copy.
        operators::OPT_SELECT | operators::OPT_INDEX => {
            charge_of(call(operators::OPT_INDEX.to_owned()))
        }
        _ => call(func_name),
    }
}

/// A part of a list or map that is made: it is copied into it.
fn copied(expression: IdedExpr) -> IdedExpr {
    let literal = is_literal(&expression);
    let expression = with_meter(expression);
    if literal {
        expression
    } else {
        charged(expression)
    }
}

fn is_literal(expression: &IdedExpr) -> bool {
    matches!(expression.expr, Expr::Literal(_))
}

fn metered_comprehension(comprehension: ComprehensionExpr) -> Expr {
    let collects = matches!(comprehension.accu_init.expr, Expr::List(_));
    let step = with_meter(comprehension.loop_step);
    Expr::Comprehension(Box::new(ComprehensionExpr {
        iter_range: charged(with_meter(comprehension.iter_range)),
        // One unit for each round.
        loop_cond: charged(with_meter(comprehension.loop_cond)),
        // A list that grows is copied in each round.
        loop_step: if collects { charged(step) } else { step },
        accu_init: with_meter(comprehension.accu_init),
        result: with_meter(comprehension.result),
        iter_var: comprehension.iter_var,
        iter_var2: comprehension.iter_var2,
        accu_var: comprehension.accu_var,
    }))
}

fn charged(expression: IdedExpr) -> IdedExpr {
    let IdedExpr { id, expr } = expression;
    let expr = charge_of(expr);
    IdedExpr { id, expr }
}

fn charge_of(expr: Expr) -> Expr {
    Expr::Call(CallExpr {
        func_name: CHARGE.to_owned(),
        target: None,
        args: vec![IdedExpr { id: 0, expr }],
    })
}
