//! Nodes as they are evaluated: once for the document, and once more wherever a template is used.

use std::rc::Rc;

use crate::ast::Span;
use crate::document::{Content, Node};
use crate::error::ErrorKind;
use crate::meter::{Answer, Meter};
use crate::value::{Scope, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InstanceId(usize);

/// Why a node has no value. Shared, because all that need the node have it too.
#[derive(Debug)]
pub(crate) struct Fault<'d> {
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
    /// The node whose text the span is in.
    pub(crate) source: &'d Node,
    pub(crate) span: Option<Span>,
}

pub(crate) type Outcome<'d, T> = Result<T, Rc<Fault<'d>>>;

#[derive(Debug)]
pub(crate) struct Instance<'d> {
    pub(crate) node: &'d Node,
    pub(crate) parent: Option<InstanceId>,
    /// The document that absolute references begin in.
    pub(crate) root: InstanceId,
    /// In the order of the node's entries or items.
    pub(crate) children: Vec<InstanceId>,
    pub(crate) insertion: Option<InstanceId>,
    /// The names around the use of a template, at its topmost node.
    pub(crate) scope: Scope<'d>,
    /// What the state has at this path.
    pub(crate) stub: Option<Value<'d>>,
    /// Whether the state replaces what the node says.
    pub(crate) replaceable: bool,
    /// Whether this is a template that was not used, or a part of one.
    pub(crate) dormant: bool,
    pub(crate) memo: Memo<'d>,
}

#[derive(Debug)]
pub(crate) enum Memo<'d> {
    Fresh,
    Running,
    Done(Value<'d>),
    Failed(Rc<Fault<'d>>),
}

/// What the nodes below get from the one above.
#[derive(Debug, Clone)]
pub(crate) struct Inherited<'d> {
    pub(crate) parent: Option<InstanceId>,
    /// Without it the node is the root itself.
    pub(crate) root: Option<InstanceId>,
    pub(crate) stub: Option<Value<'d>>,
    pub(crate) replaceable: bool,
    pub(crate) dormant: bool,
    /// Whether a template is being used: its own marker then doesn't count.
    pub(crate) used: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Instances<'d>(Vec<Instance<'d>>);

impl<'d> Instances<'d> {
    pub(crate) fn get(&self, id: InstanceId) -> &Instance<'d> {
        &self.0[id.0]
    }

    pub(crate) fn get_mut(&mut self, id: InstanceId) -> &mut Instance<'d> {
        &mut self.0[id.0]
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = InstanceId> + use<> {
        (0..self.0.len()).map(InstanceId)
    }

    /// Makes instances of a node and of all below it.
    pub(crate) fn create(
        &mut self,
        meter: &Meter,
        node: &'d Node,
        inherited: &Inherited<'d>,
    ) -> Answer<InstanceId> {
        meter.work(1)?;
        meter.allocate(size_of::<Instance<'d>>() + 32)?;
        let id = InstanceId(self.0.len());
        let root = inherited.root.unwrap_or(id);
        let dormant = inherited.dormant || (node.markers.template && !inherited.used);
        self.0.push(Instance {
            node,
            parent: inherited.parent,
            root,
            children: Vec::new(),
            insertion: None,
            scope: None,
            stub: inherited.stub.clone(),
            replaceable: inherited.replaceable,
            dormant,
            memo: Memo::Fresh,
        });
        let mut below = Inherited {
            parent: Some(id),
            root: Some(root),
            stub: inherited.stub.clone(),
            replaceable: inherited.replaceable,
            dormant,
            used: false,
        };
        match &node.content {
            Content::Map { entries, insertion } => {
                if let Some(insertion) = insertion {
                    below.replaceable &= !insertion.merges_nothing();
                    // Its markers are those of the map.
                    let own = Inherited {
                        replaceable: false,
                        used: true,
                        ..below.clone()
                    };
                    let made = self.create(meter, insertion, &own)?;
                    self.get_mut(id).insertion = Some(made);
                }
                for (key, child) in entries {
                    below.stub = match &inherited.stub {
                        Some(Value::Map(map)) => map.get(key).cloned(),
                        _ => None,
                    };
                    let made = self.create(meter, child, &below)?;
                    self.get_mut(id).children.push(made);
                }
            }
            Content::List { items, key } => {
                for item in items {
                    below.stub = match (&inherited.stub, name_of(&item.node, key)) {
                        _ if item.insertion => inherited.stub.clone(),
                        (Some(Value::List(list)), Some(name)) => list.named(key, name).cloned(),
                        _ => None,
                    };
                    let own = Inherited {
                        replaceable: below.replaceable && !item.insertion,
                        used: item.insertion,
                        ..below.clone()
                    };
                    let made = self.create(meter, &item.node, &own)?;
                    self.get_mut(id).children.push(made);
                }
            }
            Content::Plain(_) | Content::Formula { .. } => {}
        }
        Ok(id)
    }
}

/// The name of a list item, when it is written down.
fn name_of<'n>(item: &'n Node, key: &str) -> Option<&'n str> {
    let Content::Map { entries, .. } = &item.content else {
        return None;
    };
    let (_, name) = entries.iter().find(|(own, _)| own == key)?;
    match &name.content {
        Content::Plain(name) => name.as_str(),
        Content::Formula { .. } | Content::Map { .. } | Content::List { .. } => None,
    }
}
