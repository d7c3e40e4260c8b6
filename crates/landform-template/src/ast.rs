//! What a template says, as a tree; every part knows where it stands in the text.

/// A part of the template's text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Self {
        Span { start, end }
    }

    /// From the start of this part to the end of another.
    pub(crate) fn to(self, other: Span) -> Self {
        Span::new(self.start, other.end.max(self.end))
    }
}

/// A piece of a template's body.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Text(String),
    Action(Pipe),
    If(Branch),
    With(Branch),
    Range(Branch),
    Template {
        span: Span,
        name: String,
        argument: Option<Pipe>,
    },
    Break,
    Continue,
}

/// `if`, `with` or `range`, with what follows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Branch {
    pub(crate) pipe: Pipe,
    pub(crate) body: Vec<Node>,
    pub(crate) otherwise: Vec<Node>,
}

/// Commands that hand their results on, and the variables that get the last one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pipe {
    pub(crate) span: Span,
    pub(crate) variables: Vec<String>,
    /// Whether the variables are those of an outer block (`=`) or new ones (`:=`).
    pub(crate) assigns: bool,
    pub(crate) commands: Vec<Command>,
}

/// An operand, or a function with its arguments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Command {
    pub(crate) span: Span,
    pub(crate) first: Operand,
    pub(crate) arguments: Vec<Operand>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Operand {
    pub(crate) span: Span,
    pub(crate) term: Term,
    /// The names after the term: `.a.b` in `$x.a.b` or in `(index . 0).a.b`.
    pub(crate) fields: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Term {
    /// `.`, also at the start of `.a.b`.
    Dot,
    Variable(String),
    Function(String),
    Text(String),
    Int(i64),
    Float(f64),
    Bool(bool),
    Nil,
    Pipe(Box<Pipe>),
}
