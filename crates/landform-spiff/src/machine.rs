//! Evaluates nodes: each at most once, and when it is needed.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use landform_template::Environment;
use serde_json::{Map as JsonMap, Value as Json};

use crate::ast::{Expression, Kind, Merge, MergeSource, Span};
use crate::document::{Content, Document, Node};
use crate::error::{Complaint, ErrorKind};
use crate::instance::{Fault, Inherited, InstanceId, Instances, Memo, Outcome};
use crate::json;
use crate::meter::{Answer, Meter};
use crate::value::{Entries, Scope, Value};

pub(crate) struct Machine<'d> {
    pub(crate) environment: &'d Environment,
    pub(crate) meter: Meter,
    pub(crate) instances: Instances<'d>,
    pub(crate) root: InstanceId,
    /// The nodes that are being evaluated, from the outside.
    running: Vec<InstanceId>,
    bindings: &'d JsonMap<String, Json>,
    /// Bindings that were used.
    bound: BTreeMap<&'d str, Value<'d>>,
}

/// Where an expression is evaluated.
#[derive(Debug, Clone)]
pub(crate) struct Context<'d> {
    /// The node around which references look for names.
    pub(crate) place: InstanceId,
    /// The node whose text the expression is in; another one inside functions.
    pub(crate) source: &'d Node,
    pub(crate) scope: Scope<'d>,
}

impl<'d> Context<'d> {
    pub(crate) fn fault(&self, span: Span, complaint: Complaint) -> Rc<Fault<'d>> {
        Rc::new(Fault {
            kind: complaint.kind,
            message: complaint.message,
            source: self.source,
            span: Some(span),
        })
    }

    /// Adds the place to an answer.
    pub(crate) fn at<T>(&self, span: Span, answer: Answer<T>) -> Outcome<'d, T> {
        answer.map_err(|complaint| self.fault(span, complaint))
    }

    pub(crate) fn with_scope(&self, scope: Scope<'d>) -> Self {
        Context {
            scope,
            ..self.clone()
        }
    }
}

impl<'d> Machine<'d> {
    pub(crate) fn new(
        document: &'d Document,
        bindings: &'d JsonMap<String, Json>,
        state: Option<&Json>,
        environment: &'d Environment,
    ) -> Outcome<'d, Self> {
        let meter = Meter::new(environment);
        let root = &document.root;
        let about_root = |complaint| of_node(root, complaint);
        let stub = match state {
            Some(state) => Some(json::from_json(&meter, state).map_err(about_root)?),
            None => None,
        };
        let mut instances = Instances::default();
        let inherited = Inherited {
            parent: None,
            root: None,
            stub,
            replaceable: true,
            dormant: false,
            used: false,
        };
        let id = instances.create(&meter, root, &inherited);
        Ok(Machine {
            environment,
            root: id.map_err(about_root)?,
            meter,
            instances,
            running: Vec::new(),
            bindings,
            bound: BTreeMap::new(),
        })
    }

    pub(crate) fn node(&self, id: InstanceId) -> &'d Node {
        self.instances.get(id).node
    }

    /// The value of a node.
    pub(crate) fn value(&mut self, id: InstanceId) -> Outcome<'d, Value<'d>> {
        match &self.instances.get(id).memo {
            Memo::Done(value) => return Ok(value.clone()),
            Memo::Failed(fault) => return Err(Rc::clone(fault)),
            Memo::Running => return Err(self.cycle(id)),
            Memo::Fresh => {}
        }
        self.instances.get_mut(id).memo = Memo::Running;
        self.running.push(id);
        let entered = self.meter.enter();
        let outcome = match entered {
            Ok(()) => self.compute(id),
            Err(complaint) => Err(of_node(self.node(id), complaint)),
        };
        self.meter.leave();
        self.running.pop();
        self.instances.get_mut(id).memo = match &outcome {
            Ok(value) => Memo::Done(value.clone()),
            Err(fault) => Memo::Failed(Rc::clone(fault)),
        };
        outcome
    }

    fn cycle(&self, id: InstanceId) -> Rc<Fault<'d>> {
        const SHOWN: usize = 10;
        let start = self.running.iter().rposition(|running| *running == id);
        let circle = self.running[start.unwrap_or(0)..].iter();
        let paths: Vec<_> = circle
            .map(|id| shown_path(self.node(*id)))
            .chain([shown_path(self.node(id))])
            .collect();
        let shown = if paths.len() > SHOWN {
            let (first, last) = (&paths[..SHOWN - 1], &paths[paths.len() - 1]);
            format!("{} → … → {last}", first.join(" → "))
        } else {
            paths.join(" → ")
        };
        let source = self.running.last().map_or(id, |last| *last);
        Rc::new(Fault {
            kind: ErrorKind::Cycle,
            message: format!("these nodes need each other in a circle: {shown}"),
            source: self.node(source),
            span: None,
        })
    }

    fn compute(&mut self, id: InstanceId) -> Outcome<'d, Value<'d>> {
        let instance = self.instances.get(id);
        let node = instance.node;
        if instance.dormant && node.markers.template {
            return Ok(Value::Template(id));
        }
        match &node.content {
            Content::Plain(json) => match self.replacement(id) {
                Some(value) => Ok(value),
                None => {
                    json::from_json(&self.meter, json).map_err(|complaint| of_node(node, complaint))
                }
            },
            Content::Formula { formula, .. } => {
                let replacement = if formula.merges {
                    None
                } else {
                    self.replacement(id)
                };
                match (&formula.expression, replacement) {
                    (_, Some(value)) => Ok(value),
                    (Some(expression), None) => {
                        let context = Context {
                            place: id,
                            source: node,
                            scope: None,
                        };
                        self.evaluate(expression, &context)
                    }
                    (None, None) => Ok(Value::Undefined),
                }
            }
            Content::Map { entries, .. } => self.map_value(id, entries),
            Content::List { items, key } => {
                let insertions = items.iter().map(|item| item.insertion).collect();
                self.list_value(id, insertions, key)
            }
        }
    }

    /// What the state has in place of the node.
    fn replacement(&self, id: InstanceId) -> Option<Value<'d>> {
        let instance = self.instances.get(id);
        instance.stub.clone().filter(|_| instance.replaceable)
    }

    fn map_value(
        &mut self,
        id: InstanceId,
        entries: &'d [(String, Node)],
    ) -> Outcome<'d, Value<'d>> {
        let node = self.node(id);
        let mut values: Entries<'d> = Entries::new();
        if let Some(insertion) = self.instances.get(id).insertion {
            match self.inserted(insertion)? {
                Value::Undefined | Value::Nil => {}
                Value::Map(inserted) => {
                    if replaces(self.node(insertion)) {
                        return Ok(Value::Map(inserted));
                    }
                    values.clone_from(inserted.entries());
                }
                other => {
                    let message = format!(
                        "what is inserted into a map has to be a map, and is {}",
                        other.kind()
                    );
                    let complaint = Complaint::value(message);
                    return Err(of_node(self.node(insertion), complaint));
                }
            }
        }
        let children = self.instances.get(id).children.clone();
        for (child, (key, _)) in children.into_iter().zip(entries) {
            match self.entry_value(child)? {
                Some(value) => values.insert(Rc::from(key.as_str()), value),
                None => values.remove(key.as_str()),
            };
        }
        let map = self.meter.map(values);
        map.map_err(|complaint| of_node(node, complaint))
    }

    fn list_value(
        &mut self,
        id: InstanceId,
        insertions: Vec<bool>,
        key: &str,
    ) -> Outcome<'d, Value<'d>> {
        let node = self.node(id);
        let mut own = Vec::new();
        let children = self.instances.get(id).children.clone();
        for (child, insertion) in children.iter().zip(&insertions) {
            own.push(if *insertion {
                None
            } else {
                self.entry_value(*child)?
            });
        }
        let names: BTreeSet<&str> = own
            .iter()
            .flatten()
            .filter_map(|item| name(item, key))
            .collect();
        let mut items = Vec::new();
        for ((child, insertion), value) in children.iter().zip(insertions).zip(&own) {
            if !insertion {
                items.extend(value.clone());
                continue;
            }
            match self.inserted(*child)? {
                Value::Undefined | Value::Nil => {}
                Value::List(inserted) if replaces(self.node(*child)) => {
                    return Ok(Value::List(inserted));
                }
                Value::List(inserted) => {
                    let new = inserted.items().iter();
                    let known =
                        |item: &Value<'_>| name(item, key).is_some_and(|name| names.contains(name));
                    items.extend(new.filter(|item| !known(item)).cloned());
                }
                other => {
                    let message = format!(
                        "what is inserted into a list has to be a list, and is {}",
                        other.kind()
                    );
                    return Err(of_node(self.node(*child), Complaint::value(message)));
                }
            }
            let grown = self.meter.work(1 + items.len() / 16);
            grown.map_err(|complaint| of_node(node, complaint))?;
        }
        let list = self.meter.list(items);
        list.map_err(|complaint| of_node(node, complaint))
    }

    /// What is inserted. Without the word `required`, a merge with nothing inserts nothing.
    fn inserted(&mut self, insertion: InstanceId) -> Outcome<'d, Value<'d>> {
        let outcome = self.value(insertion);
        match outcome {
            Err(fault)
                if fault.kind == ErrorKind::NotFound && is_optional(self.node(insertion)) =>
            {
                Ok(Value::Nil)
            }
            other => other,
        }
    }

    /// The value of a child as its parent holds it; nothing when it is undefined.
    fn entry_value(&mut self, child: InstanceId) -> Outcome<'d, Option<Value<'d>>> {
        let value = self.value(child)?;
        if !value.is_defined() {
            return Ok(None);
        }
        if self.node(child).markers.temporary {
            return Ok(Some(Value::Temporary(Rc::new(value))));
        }
        Ok(Some(value))
    }

    /// A binding of the caller.
    pub(crate) fn binding(&mut self, name: &str) -> Answer<Option<Value<'d>>> {
        if let Some(value) = self.bound.get(name) {
            return Ok(Some(value.clone()));
        }
        let Some((name, json)) = self.bindings.get_key_value(name) else {
            return Ok(None);
        };
        let value = json::from_json(&self.meter, json)?;
        self.bound.insert(name, value.clone());
        Ok(Some(value))
    }

    /// All bindings as one map.
    pub(crate) fn all_bindings(&mut self) -> Answer<Value<'d>> {
        let mut entries = Entries::new();
        for name in self.bindings.keys() {
            if let Some(value) = self.binding(name)? {
                entries.insert(Rc::from(name.as_str()), value);
            }
        }
        self.meter.map(entries)
    }

    /// All that is wrong, each fault once.
    pub(crate) fn faults(&mut self, first: Rc<Fault<'d>>) -> Vec<Rc<Fault<'d>>> {
        const REPORTED: usize = 10;
        let mut faults: Vec<Rc<Fault<'d>>> = Vec::new();
        let ids: Vec<_> = self.instances.ids().collect();
        for id in ids {
            if first.kind == ErrorKind::Limit || faults.len() >= REPORTED {
                break;
            }
            if self.instances.get(id).dormant || self.node(id).formula().is_none() {
                continue;
            }
            let outcome = if self.is_insertion(id) {
                self.inserted(id)
            } else {
                self.value(id)
            };
            if let Err(fault) = outcome
                && fault.kind != ErrorKind::Limit
                && !faults.iter().any(|known| Rc::ptr_eq(known, &fault))
            {
                faults.push(fault);
            }
        }
        if faults.is_empty() {
            faults.push(first);
        }
        faults
    }

    fn is_insertion(&self, id: InstanceId) -> bool {
        let Some(parent) = self.instances.get(id).parent else {
            return false;
        };
        let parent = self.instances.get(parent);
        if parent.insertion == Some(id) {
            return true;
        }
        let at = parent.children.iter().position(|child| *child == id);
        match (&parent.node.content, at) {
            (Content::List { items, .. }, Some(at)) => {
                items.get(at).is_some_and(|item| item.insertion)
            }
            _ => false,
        }
    }
}

/// A complaint about a whole node.
pub(crate) fn of_node<'d>(node: &'d Node, complaint: Complaint) -> Rc<Fault<'d>> {
    Rc::new(Fault {
        kind: complaint.kind,
        message: complaint.message,
        source: node,
        span: None,
    })
}

fn shown_path(node: &Node) -> String {
    if node.path.is_root() {
        return "the document".to_owned();
    }
    node.path.to_string()
}

fn merge_of(node: &Node) -> Option<&Merge> {
    match node.formula()?.expression.as_ref()? {
        Expression {
            kind: Kind::Merge(merge),
            ..
        } => Some(merge),
        _ => None,
    }
}

fn replaces(node: &Node) -> bool {
    merge_of(node).is_some_and(|merge| merge.replace)
}

fn is_optional(node: &Node) -> bool {
    merge_of(node).is_some_and(|merge| !merge.required && merge.source == MergeSource::Here)
}

fn name<'v>(item: &'v Value<'_>, key: &str) -> Option<&'v str> {
    match item.plain() {
        Value::Map(map) => match map.get(key)? {
            Value::Text(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}
