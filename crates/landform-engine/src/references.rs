//! The references that the engine has found, for pictures of them.

use serde::Serialize;

use crate::driver::Driver;
use crate::engine::{Engine, EngineError};
use crate::view::{Filter, NameView, name_of};

/// One object refers to another one, which need not exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reference {
    /// The one that refers.
    pub from: NameView,
    /// The one that is referred to, or the name that several objects provide.
    pub to: NameView,
}

impl Engine {
    /// References of the objects that fit, and how many more there are. Names that objects provide refer to
    /// those that provide them.
    ///
    /// # Errors
    /// When the engine has stopped.
    pub async fn references(&self, filter: Filter) -> Result<(Vec<Reference>, usize), EngineError> {
        self.visit(move |driver| driver.references(&filter)).await
    }
}

impl Driver {
    fn references(&self, filter: &Filter) -> (Vec<Reference>, usize) {
        let fits = |text: &str, wanted: &Option<String>| {
            let wanted = wanted.as_ref();
            wanted.is_none_or(|wanted| wanted.eq_ignore_ascii_case(text))
        };
        let kinds = self.kinds.values();
        let kinds = kinds.filter(|kind| fits(&kind.name.kind, &filter.kind));
        let keys = kinds.flat_map(|kind| kind.objects.keys());
        let keys = keys.filter(|key| fits(&key.namespace, &filter.namespace));
        let (mut found, mut more) = (Vec::new(), 0);
        for key in keys {
            for to in self.machine.refs(key) {
                if found.len() < filter.limit {
                    found.push(Reference {
                        from: name_of(key),
                        to: name_of(to),
                    });
                } else {
                    more += 1;
                }
            }
        }
        (found, more)
    }
}
