//! From `x-kubernetes-validations` to rules that can run.

use std::sync::Arc;

use landform_api::{FieldError, FieldReason};
use serde_json::{Map, Value};

use super::analysis::{self, Analysis, Scope};
use super::program::Program;
use super::{Rule, RuleSet};
use crate::schema::node::{Node, NodeId};
use crate::schema::parse::Parser;

/// How many rules a schema may have.
const RULES_MAX: usize = 1_000;
/// What all expressions of a schema may have together: each byte takes time to parse.
const BYTES_MAX: usize = 256 * 1024;
/// The estimated cost above which a rule is refused.
const COST_LIMIT: u64 = 10_000_000;

/// What the rules of one schema have taken of what they may take to be compiled.
#[derive(Default)]
pub(crate) struct Room {
    rules: usize,
    bytes: usize,
    is_exceeded: bool,
}

impl Room {
    /// Takes what the rules of a node need. What is too much is said once; no rule is compiled from then on.
    fn take(&mut self, rules: &[Value]) -> Result<(), Option<String>> {
        if self.is_exceeded {
            return Err(None);
        }
        let expressions = rules.iter().flat_map(|rule| {
            ["rule", "messageExpression"].map(|keyword| rule.get(keyword).and_then(Value::as_str))
        });
        self.rules = self.rules.saturating_add(rules.len());
        self.bytes += expressions.flatten().map(str::len).sum::<usize>();
        self.is_exceeded = self.rules > RULES_MAX || self.bytes > BYTES_MAX;
        if self.is_exceeded {
            return Err(Some(format!(
                "this and the rules before it are too many together: a schema has at most {RULES_MAX} rules, \
                 whose expressions have at most {BYTES_MAX} bytes together"
            )));
        }
        Ok(())
    }
}

impl RuleSet {
    /// Compiles the rules of a schema node; problems are reported to the parser.
    pub(crate) fn compile(
        parser: &mut Parser,
        map: &Map<String, Value>,
        node: &Node,
    ) -> Option<Arc<Self>> {
        let texts = map
            .get("x-kubernetes-validations")
            .and_then(Value::as_array)?;
        if let Err(problem) = parser.rules.take(texts) {
            if let Some(problem) = problem {
                parser.report("x-kubernetes-validations", FieldReason::TooMany, &problem);
            }
            return None;
        }
        // The analysis looks fields up by place, and this node has none before it is complete.
        let id = parser.arena.add(node.clone());
        let mut rules = Vec::with_capacity(texts.len());
        let mark = parser.path.push_field("x-kubernetes-validations");
        for (index, rule) in texts.iter().enumerate() {
            let inner = parser.path.push_index(index);
            rules.extend(compile_rule(parser, rule, id));
            parser.path.pop(inner);
        }
        parser.path.pop(mark);
        (!rules.is_empty()).then(|| Arc::new(Self { rules }))
    }
}

fn compile_rule(parser: &mut Parser, rule: &Value, node: NodeId) -> Option<Rule> {
    let text = |keyword: &str| {
        rule.get(keyword)
            .and_then(Value::as_str)
            .map(str::trim)
            .filter(|text| !text.is_empty())
    };
    let Some(source) = text("rule") else {
        parser.report("rule", FieldReason::Required, "rule is not specified");
        return None;
    };
    let message = text("message").map(str::to_owned);
    if message.is_none() && source.contains('\n') && text("messageExpression").is_none() {
        let detail = "message must be specified if rule contains line breaks";
        parser.report("message", FieldReason::Required, detail);
    }
    if let Some(message) = message.as_ref().filter(|message| message.contains('\n')) {
        parser.invalid(
            "message",
            &Value::from(message.as_str()),
            "message must not contain line breaks",
        );
    }
    let (expression, analysis) = parse(parser, "rule", source, node)?;
    let message_expression =
        text("messageExpression").and_then(|text| parse(parser, "messageExpression", text, node));
    check_cost(parser, &analysis);
    let optional_old = rule
        .get("optionalOldSelf")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    if optional_old && !analysis.uses_old {
        let detail = "may not be set if oldSelf is not used in rule";
        parser.invalid("optionalOldSelf", &Value::Bool(true), detail);
    }
    if analysis.uses_old && !parser.correlatable {
        let detail = "oldSelf cannot be used on the uncorrelatable portion of the schema, such as \
                      the items of a list that isn't of type map";
        parser.invalid("rule", &Value::from(source), detail);
    }
    let (mut wanted, mut wanted_old) = (analysis.wanted, analysis.wanted_old);
    let message_expression = message_expression.map(|(expression, more)| {
        wanted.merge(more.wanted);
        wanted_old.merge(more.wanted_old);
        expression
    });
    Some(Rule {
        text: source.to_owned(),
        expression,
        message,
        message_expression,
        reason: reason(parser, text("reason")),
        field_path: field_path(parser, text("fieldPath"), node),
        uses_old: analysis.uses_old,
        optional_old,
        wanted,
        wanted_old,
    })
}

/// Parses and checks one expression.
fn parse(
    parser: &mut Parser,
    keyword: &str,
    source: &str,
    node: NodeId,
) -> Option<(Program, Analysis)> {
    let scope = Scope {
        arena: &parser.arena,
        node,
    };
    let checked = Program::read(source, |expression| {
        let analysis = analysis::analyse(&expression, scope);
        match analysis.problem.clone() {
            None => Ok((Program::with_meter(expression), analysis)),
            Some(problem) => Err(problem),
        }
    });
    match checked {
        Ok(checked) => Some(checked),
        Err(problem) => {
            parser.invalid(
                keyword,
                &Value::from(source),
                &format!("compilation failed: {problem}"),
            );
            None
        }
    }
}

fn check_cost(parser: &mut Parser, analysis: &Analysis) {
    let cost = analysis.cost.saturating_mul(parser.cardinality.max(1));
    if cost > COST_LIMIT {
        let factor = cost / COST_LIMIT;
        let factor = match factor {
            0..=1 => "more than 1x".to_owned(),
            2..=100 => format!("{factor}x"),
            _ => "more than 100x".to_owned(),
        };
        let detail = format!(
            "estimated rule cost exceeds budget by factor of {factor} (try simplifying the rule, or \
             adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
        );
        parser.report("rule", FieldReason::Forbidden, &detail);
    }
}

fn reason(parser: &mut Parser, name: Option<&str>) -> FieldReason {
    match name {
        None | Some("FieldValueInvalid") => FieldReason::Invalid,
        Some("FieldValueForbidden") => FieldReason::Forbidden,
        Some("FieldValueRequired") => FieldReason::Required,
        Some("FieldValueDuplicate") => FieldReason::Duplicate,
        Some(other) => {
            let path = parser.path.field("reason");
            let detail = r#"supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired""#;
            let value = Value::from(other);
            let error = FieldError::with_value(&path, FieldReason::NotSupported, &value, detail);
            parser.errors.push(error);
            FieldReason::Invalid
        }
    }
}

/// A path like `.spec.name` or `.labels['a.b']`, in the form in which errors spell it.
fn field_path(parser: &mut Parser, text: Option<&str>, node: NodeId) -> Option<String> {
    let text = text?;
    let mut rest = text;
    let mut spelled = String::new();
    let mut node = Some(node);
    while !rest.is_empty() {
        let step = if let Some(after) = rest.strip_prefix("['") {
            after
                .split_once("']")
                .map(|(name, rest)| (name, rest, true))
        } else if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            Some((&after[..end], &after[end..], false)).filter(|(name, ..)| !name.is_empty())
        } else {
            None
        };
        let Some((name, after, quoted)) = step else {
            let detail = "must be a path of field names such as .spec.name or .labels['a.b']";
            parser.invalid("fieldPath", &Value::from(text), detail);
            return None;
        };
        node = node.and_then(|id| parser.arena.get(id).field(name));
        if node.is_none() {
            let detail = format!("does not refer to a valid field: there is no {name:?}");
            parser.invalid("fieldPath", &Value::from(text), &detail);
            return None;
        }
        if quoted {
            spelled.push_str(&format!("[{name}]"));
        } else {
            spelled.push_str(&format!(".{name}"));
        }
        rest = after;
    }
    Some(spelled)
}
