//! What an expression is made of.
//!
//! Chains (`a || b || c`, `1 + 2 + 3`, `a.b(c).d`) are lists, not trees: their length costs no depth.

use std::sync::Arc;

/// Bytes of the text of a node, its parentheses counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expression {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Nil,
    Undefined,
    Boolean(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    Reference(Reference),
    /// A value, and what is done with it from left to right.
    Chained {
        base: Box<Expression>,
        steps: Vec<Step>,
    },
    List(Vec<Item>),
    /// `[first .. last]`
    Range(Box<Range>),
    Map(Vec<(Expression, Expression)>),
    Not(Box<Expression>),
    /// `*template`
    Substitution(Box<Expression>),
    /// `a || b // c`
    Alternatives {
        first: Box<Expression>,
        rest: Vec<(Alternative, Expression)>,
    },
    Conditional(Box<Conditional>),
    Concatenation(Vec<Expression>),
    /// Operators of one level, from left to right.
    Operations {
        first: Box<Expression>,
        rest: Vec<(Operator, Expression)>,
    },
    Lambda(Arc<Lambda>),
    /// `( "name" = value ) body`
    Scoped {
        assignments: Vec<(Expression, Expression)>,
        body: Box<Expression>,
    },
    Merge(Merge),
    Iteration(Box<Iteration>),
    /// `catch[tried|function]`
    Catch {
        tried: Box<Expression>,
        function: Box<Expression>,
    },
}

/// A path that begins at a name: `a.b[0]`, `.a.b`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reference {
    /// Whether it begins at the root of the document.
    pub(crate) absolute: bool,
    /// At least one.
    pub(crate) path: Vec<Component>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Component {
    Key(String),
    Index(i64),
}

/// What is done with a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    pub(crate) kind: StepKind,
    pub(crate) span: Span,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StepKind {
    Component(Component),
    /// `[expression, …]`
    Dynamic(Vec<Expression>),
    Call(Arguments),
    /// `*(…)`
    Curry(Arguments),
    /// `[*]`: what follows is done with each item.
    Projection,
    /// `[first..last]`, and what follows is done with each item.
    Slice(Range),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Range {
    pub(crate) first: Option<Expression>,
    pub(crate) last: Option<Expression>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Arguments {
    /// `name=value`
    pub(crate) named: Vec<(String, Expression)>,
    pub(crate) items: Vec<Item>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    pub(crate) expression: Expression,
    /// `list...`: the items of the list stand in its place.
    pub(crate) expanded: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alternative {
    /// `||`: when there is no value.
    Undefined,
    /// `//`: when there is no value, or nil.
    Nil,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Conditional {
    pub(crate) condition: Expression,
    pub(crate) then: Expression,
    pub(crate) otherwise: Expression,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lambda {
    pub(crate) parameters: Vec<Parameter>,
    /// Whether the last parameter takes all arguments that are left.
    pub(crate) variadic: bool,
    pub(crate) body: Expression,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) default: Option<Expression>,
}

/// The keyword `merge`: what another document has, which here can only be the state.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Merge {
    pub(crate) required: bool,
    pub(crate) replace: bool,
    pub(crate) source: MergeSource,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MergeSource {
    /// The same path.
    Here,
    /// `merge none`
    Nothing,
    /// Another path.
    Reference(Reference),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Iteration {
    pub(crate) form: Form,
    /// Whether the result is a map: `map{…}`.
    pub(crate) to_map: bool,
    pub(crate) source: Expression,
    /// Of `sum`.
    pub(crate) initial: Option<Expression>,
    pub(crate) function: Expression,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Map,
    /// `select` and `filter`
    Select,
    Sum,
}

impl Form {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Form::Map => "map",
            Form::Select => "select",
            Form::Sum => "sum",
        }
    }
}

/// What is written before an expression: `&temporary &state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Markers {
    pub(crate) temporary: bool,
    pub(crate) template: bool,
    pub(crate) state: bool,
}

impl Markers {
    pub(crate) fn and(self, other: Markers) -> Self {
        Markers {
            temporary: self.temporary || other.temporary,
            template: self.template || other.template,
            state: self.state || other.state,
        }
    }
}

/// All that stands between `((` and `))`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Formula {
    pub(crate) markers: Markers,
    /// There may be markers only.
    pub(crate) expression: Option<Expression>,
    /// Whether its value can be undefined, as far as the text tells.
    pub(crate) may_be_undefined: bool,
    /// Whether the state doesn't replace it: it says itself what to do, by `merge` or `prefer`.
    pub(crate) merges: bool,
}

impl Expression {
    /// Whether its value can be undefined, as far as the text tells.
    pub(crate) fn may_be_undefined(&self) -> bool {
        match &self.kind {
            Kind::Undefined | Kind::Substitution(_) | Kind::Catch { .. } => true,
            Kind::Conditional(conditional) => {
                conditional.then.may_be_undefined() || conditional.otherwise.may_be_undefined()
            }
            Kind::Alternatives { rest, .. } => {
                rest.last().is_some_and(|(_, last)| last.may_be_undefined())
            }
            Kind::Scoped { body, .. } => body.may_be_undefined(),
            Kind::List(items) => items.iter().any(|item| item.expression.may_be_undefined()),
            Kind::Iteration(iteration) => iteration.form == Form::Sum,
            // A function of the library always gives something, but this is not known here.
            Kind::Chained { steps, .. } => steps
                .iter()
                .any(|step| matches!(step.kind, StepKind::Call(_))),
            Kind::Nil
            | Kind::Boolean(_)
            | Kind::Integer(_)
            | Kind::Float(_)
            | Kind::Text(_)
            | Kind::Reference(_)
            | Kind::Range(_)
            | Kind::Map(_)
            | Kind::Not(_)
            | Kind::Concatenation(_)
            | Kind::Operations { .. }
            | Kind::Lambda(_)
            | Kind::Merge(_) => false,
        }
    }
}
