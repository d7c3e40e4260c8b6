//! What can be said of a rule before it runs: whether its names exist, which parts of the value it
//! looks at, and what it may cost at most.

use std::collections::BTreeMap;

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, SelectExpr, operators,
};

use super::functions::is_function;
use super::metered::TYPE_NAMES;
use super::value::{escaped, unescaped};
use crate::schema::node::{Additional, Arena, NodeId, Type};

/// The largest request, which bounds every list whose length the schema doesn't.
const LARGEST_REQUEST: u64 = 3 * 1024 * 1024;

/// The parts of a value that a rule looks at, by escaped field name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Projection {
    All,
    Fields(BTreeMap<String, Projection>),
}

impl Projection {
    fn none() -> Self {
        Self::Fields(BTreeMap::new())
    }

    /// What is wanted of a field, if anything.
    pub(super) fn field(&self, name: &str) -> Option<&Self> {
        match self {
            Self::All => Some(self),
            Self::Fields(fields) => fields.get(name),
        }
    }

    fn add(&mut self, path: &[&str], leaf: Self) {
        match (self, path) {
            (Self::All, _) => {}
            (this, []) => this.merge(leaf),
            (Self::Fields(fields), [first, rest @ ..]) => {
                fields
                    .entry((*first).to_owned())
                    .or_insert_with(Self::none)
                    .add(rest, leaf);
            }
        }
    }

    /// Wants what either wants.
    pub(super) fn merge(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::All, _) => {}
            (_, Self::All) => *self = Self::All,
            (Self::Fields(mine), Self::Fields(theirs)) => {
                for (name, wanted) in theirs {
                    mine.entry(name).or_insert_with(Self::none).merge(wanted);
                }
            }
        }
    }
}

/// What was found out about an expression.
#[derive(Debug)]
pub(super) struct Analysis {
    /// The first name that doesn't exist.
    pub(super) problem: Option<String>,
    pub(super) uses_old: bool,
    pub(super) wanted: Projection,
    pub(super) wanted_old: Projection,
    /// An upper estimate of the cost of one evaluation.
    pub(super) cost: u64,
}

/// The schema that `self` follows.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) arena: &'a Arena,
    pub(super) node: NodeId,
}

/// Looks at an expression as it was written.
pub(super) fn analyse(expression: &IdedExpr, scope: Scope<'_>) -> Analysis {
    let analysis = Analysis {
        problem: None,
        uses_old: false,
        wanted: Projection::none(),
        wanted_old: Projection::none(),
        cost: 0,
    };
    let mut walk = Walk {
        scope,
        variables: Vec::new(),
        analysis,
    };
    let (_, cost) = walk.expression(expression);
    walk.analysis.cost = cost;
    walk.analysis
}

struct Walk<'a> {
    scope: Scope<'a>,
    /// Variables of comprehensions with the schema of their values, innermost last.
    variables: Vec<(String, Option<NodeId>)>,
    analysis: Analysis,
}

impl Walk<'_> {
    /// The schema of an expression's value, if it is known, and what it costs.
    fn expression(&mut self, expression: &IdedExpr) -> (Option<NodeId>, u64) {
        self.want(expression);
        match &expression.expr {
            Expr::Literal(_) | Expr::Unspecified => (None, 0),
            Expr::Ident(name) => (self.variable(name), 1),
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::List(list) => {
                let costs = list
                    .elements
                    .iter()
                    .map(|element| self.expression(element).1);
                (None, costs.fold(1, u64::saturating_add))
            }
            Expr::Map(map) => {
                let mut cost = 1_u64;
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        let (_, key) = self.expression(&entry.key);
                        let (_, value) = self.expression(&entry.value);
                        cost = cost.saturating_add(key).saturating_add(value);
                    }
                }
                (None, cost)
            }
            Expr::Struct(_) => {
                self.problem("messages can't be constructed in rules".to_owned());
                (None, 1)
            }
        }
    }

    fn problem(&mut self, problem: String) {
        self.analysis.problem.get_or_insert(problem);
    }

    fn variable(&mut self, name: &str) -> Option<NodeId> {
        if let Some((_, node)) = self.variables.iter().rev().find(|(bound, _)| bound == name) {
            return *node;
        }
        match name {
            "self" => Some(self.scope.node),
            "oldSelf" => {
                self.analysis.uses_old = true;
                // With optionalOldSelf this is an optional; its fields are then reached by value().
                Some(self.scope.node)
            }
            name if TYPE_NAMES.contains(&name) => None,
            name => {
                self.problem(format!("undeclared reference to '{name}'"));
                None
            }
        }
    }

    /// Records which part of `self` an expression looks at.
    fn want(&mut self, expression: &IdedExpr) {
        let (chain, leaf) = match &expression.expr {
            Expr::Select(select) if select.test => {
                let Some(mut chain) = path(&select.operand) else {
                    return;
                };
                chain.push(&select.field);
                (chain, Projection::none())
            }
            _ => match path(expression) {
                Some(chain) => (chain, Projection::All),
                None => return,
            },
        };
        let [root, fields @ ..] = chain.as_slice() else {
            return;
        };
        if self.variables.iter().any(|(bound, _)| bound == root) {
            return;
        }
        match *root {
            "self" => self.analysis.wanted.add(fields, leaf),
            "oldSelf" => self.analysis.wanted_old.add(fields, leaf),
            _ => {}
        }
    }

    fn select(&mut self, select: &SelectExpr) -> (Option<NodeId>, u64) {
        // Only the longest chain says what is wanted, so its inner parts aren't asked again.
        let (node, cost) = match &select.operand.expr {
            Expr::Ident(name) => (self.variable(name), 1),
            Expr::Select(inner) if !inner.test => self.select(inner),
            _ => self.expression(&select.operand),
        };
        let child = node.and_then(|node| self.field(node, &select.field));
        (child.filter(|_| !select.test), cost.saturating_add(1))
    }

    /// The schema of a field; a field that can't exist is a mistake in the rule.
    fn field(&mut self, node: NodeId, name: &str) -> Option<NodeId> {
        let schema = self.scope.arena.get(node);
        if schema.ty != Type::Object {
            return None;
        }
        if let Additional::Schema(values) = schema.additional {
            return Some(values);
        }
        let property = schema.property(name).or_else(|| {
            let property = schema.property(&unescaped(name));
            property.filter(|property| escaped(&property.name) == name)
        });
        let implied = matches!(name, "apiVersion" | "kind" | "metadata");
        if property.is_none() && !implied && schema.additional == Additional::No {
            self.problem(format!("undefined field '{name}'"));
        }
        property.map(|property| property.node)
    }

    fn call(&mut self, call: &CallExpr) -> (Option<NodeId>, u64) {
        let mut cost = 1_u64;
        let mut text = None;
        if let Some(target) = &call.target {
            let library = match &target.expr {
                Expr::Ident(name) if !self.is_variable(name) => Some(name),
                _ => None,
            };
            match library {
                Some(library) => self.function(&format!("{library}.{}", call.func_name)),
                None => {
                    self.function(&call.func_name);
                    let (node, target) = self.expression(target);
                    cost = cost.saturating_add(target);
                    text = node;
                }
            }
        } else if !is_operator(&call.func_name) {
            self.function(&call.func_name);
        }
        let nodes: Vec<Option<NodeId>> = call
            .args
            .iter()
            .map(|arg| {
                let (node, arg) = self.expression(arg);
                cost = cost.saturating_add(arg);
                node
            })
            .collect();
        if traverses(&call.func_name) {
            let length = text.map_or(0, |node| self.length(node));
            cost = cost.saturating_add(length / 10);
        }
        let node = match call.func_name.as_str() {
            operators::INDEX | operators::OPT_INDEX => {
                nodes.first().copied().flatten().and_then(|node| {
                    let schema = self.scope.arena.get(node);
                    match schema.additional {
                        Additional::Schema(values) => Some(values),
                        Additional::Any | Additional::No => schema.items,
                    }
                })
            }
            _ => None,
        };
        (node, cost)
    }

    fn is_variable(&self, name: &str) -> bool {
        matches!(name, "self" | "oldSelf") || self.variables.iter().any(|(bound, _)| bound == name)
    }

    fn function(&mut self, name: &str) {
        if !is_function(name) {
            self.problem(format!("undeclared reference to '{name}'"));
        }
    }

    fn comprehension(&mut self, comprehension: &ComprehensionExpr) -> (Option<NodeId>, u64) {
        let (range, range_cost) = self.expression(&comprehension.iter_range);
        let schema = range.map(|node| self.scope.arena.get(node));
        // A loop over a map goes over its keys.
        let entry = schema.and_then(|schema| schema.items);
        let rounds = match (&comprehension.iter_range.expr, range) {
            (Expr::List(list), _) => list.elements.len() as u64,
            (_, Some(node)) => self.length(node),
            // The result of a call: about as long as what it was made from, which was counted.
            (_, None) => 1,
        };
        let (_, init_cost) = self.expression(&comprehension.accu_init);
        self.variables.push((comprehension.accu_var.clone(), None));
        self.variables.push((comprehension.iter_var.clone(), entry));
        let (_, step_cost) = self.expression(&comprehension.loop_step);
        let (_, condition_cost) = self.expression(&comprehension.loop_cond);
        let (_, result_cost) = self.expression(&comprehension.result);
        self.variables
            .truncate(self.variables.len().saturating_sub(2));
        let round = step_cost.saturating_add(condition_cost.min(1));
        let loops = rounds.saturating_mul(round.max(1));
        let cost = range_cost
            .saturating_add(init_cost)
            .saturating_add(loops)
            .saturating_add(result_cost);
        (None, cost)
    }

    /// How many entries or characters a value may have.
    fn length(&self, node: NodeId) -> u64 {
        let schema = self.scope.arena.get(node);
        let checks = schema.checks.as_deref();
        match schema.ty {
            Type::Array => checks
                .and_then(|checks| checks.max_items)
                .unwrap_or_else(|| {
                    LARGEST_REQUEST / schema.items.map_or(2, |items| self.shortest(items))
                }),
            Type::Object => checks
                .and_then(|checks| checks.max_properties)
                .unwrap_or(LARGEST_REQUEST / 6),
            Type::String => {
                let listed = checks
                    .filter(|checks| !checks.enumeration.is_empty() || checks.format.is_some());
                let bound = checks.and_then(|checks| checks.max_length);
                bound.or(listed.map(|_| 64)).unwrap_or(LARGEST_REQUEST)
            }
            Type::Any
            | Type::Integer
            | Type::Number
            | Type::Boolean
            | Type::IntOrString
            | Type::Quantity => 1,
        }
    }

    /// The fewest bytes that an entry of a list can have, with its comma.
    fn shortest(&self, node: NodeId) -> u64 {
        let schema = self.scope.arena.get(node);
        match schema.ty {
            Type::Integer | Type::Number | Type::Any | Type::IntOrString | Type::Quantity => 2,
            Type::String | Type::Array => 3,
            Type::Boolean => 5,
            // Each required field takes its name, quotes, colon, a value and a comma.
            Type::Object => {
                let names = schema.required.iter().map(|name| name.len() as u64 + 5);
                names.fold(3, u64::saturating_add)
            }
        }
    }
}

/// The chain of names that an expression is, `self.spec.name`.
fn path(expression: &IdedExpr) -> Option<Vec<&str>> {
    match &expression.expr {
        Expr::Ident(name) => Some(vec![name]),
        Expr::Select(select) if !select.test => {
            let mut chain = path(&select.operand)?;
            chain.push(&select.field);
            Some(chain)
        }
        _ => None,
    }
}

fn is_operator(name: &str) -> bool {
    name.starts_with(['_', '@', '!', '-'])
}

/// Functions that look at every character of their target.
fn traverses(name: &str) -> bool {
    matches!(
        name,
        "contains"
            | "startsWith"
            | "endsWith"
            | "matches"
            | "find"
            | "findAll"
            | "replace"
            | "split"
            | "indexOf"
            | "lastIndexOf"
            | "lowerAscii"
            | "upperAscii"
    )
}
