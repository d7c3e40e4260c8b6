//! Removes the fields that a schema doesn't know.

use serde_json::{Map, Value};

use super::node::{Additional, Arena, NodeId};

/// Prunes a value and adds the paths of what was removed.
pub(crate) fn prune(arena: &Arena, root: NodeId, value: &mut Value) -> Vec<String> {
    let mut walk = Walk {
        arena,
        path: String::new(),
        removed: Vec::new(),
    };
    walk.value(root, value);
    walk.removed
}

struct Walk<'a> {
    arena: &'a Arena,
    path: String,
    removed: Vec<String>,
}

impl Walk<'_> {
    fn value(&mut self, id: NodeId, value: &mut Value) {
        match value {
            Value::Object(map) => self.object(id, map),
            Value::Array(entries) => {
                let Some(items) = self.arena.get(id).items else {
                    return;
                };
                for (index, entry) in entries.iter_mut().enumerate() {
                    if entry.is_object() || entry.is_array() {
                        let mark = self.path.len();
                        self.path.push_str(&format!("[{index}]"));
                        self.value(items, entry);
                        self.path.truncate(mark);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn object(&mut self, id: NodeId, map: &mut Map<String, Value>) {
        let node = self.arena.get(id);
        let keeps_unknown = node.preserve_unknown || node.additional != Additional::No;
        if !keeps_unknown && map.keys().any(|name| node.property(name).is_none()) {
            let unknown: Vec<String> = map
                .keys()
                .filter(|name| node.property(name).is_none())
                .cloned()
                .collect();
            for name in unknown {
                map.remove(&name);
                let dot = if self.path.is_empty() { "" } else { "." };
                self.removed.push(format!("{}{dot}{name}", self.path));
            }
        }
        for (name, value) in map.iter_mut() {
            if !(value.is_object() || value.is_array()) {
                continue;
            }
            if let Some(child) = node.field(name) {
                let mark = self.path.len();
                if mark > 0 {
                    self.path.push('.');
                }
                self.path.push_str(name);
                self.value(child, value);
                self.path.truncate(mark);
            }
        }
    }
}
