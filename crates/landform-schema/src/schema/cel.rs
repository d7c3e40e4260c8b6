//! CEL rules of a schema (`x-kubernetes-validations`).

use std::sync::Arc;

use landform_api::FieldError;
use serde_json::{Map, Value};

use super::node::{Arena, Node, NodeId};
use super::parse::Parser;

/// The compiled rules of one node.
#[derive(Debug)]
pub(crate) struct RuleSet {}

impl RuleSet {
    /// Compiles the rules of a schema node; problems are reported to the parser.
    pub(crate) fn compile(
        _parser: &mut Parser,
        _map: &Map<String, Value>,
        _node: &Node,
    ) -> Option<Arc<Self>> {
        None
    }
}

/// Evaluates the rules of all nodes that occur in an object and appends what they refuse.
pub(crate) fn check_rules(
    _arena: &Arena,
    _root: NodeId,
    _object: &Value,
    _old: Option<&Value>,
    errors: Vec<FieldError>,
) -> Vec<FieldError> {
    errors
}
