//! What the caller gives to a run beside the data: functions, the clock, files to include, limits.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use time::OffsetDateTime;

use crate::Template;

/// What one run of a template may cost. All are counted, none is measured: the same template with
/// the same data always ends at the same place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many nodes may be evaluated and values be looked at.
    pub max_steps: u64,
    /// How many bytes of texts, lists and dicts may be made, counted from the start of the run.
    pub max_memory_bytes: usize,
    /// How long the output may be.
    pub max_output_bytes: usize,
    /// How deep blocks, templates and parentheses may be nested while the template runs.
    pub max_depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_steps: 2_000_000,
            max_memory_bytes: 64 << 20,
            max_output_bytes: 4 << 20,
            max_depth: 150,
        }
    }
}

/// A function of the caller, on JSON values. The text of its error is shown to users as it is, so
/// it must not repeat values.
pub type ExtraFunction =
    Arc<dyn Fn(&[serde_json::Value]) -> Result<serde_json::Value, String> + Send + Sync>;

type Includes = Arc<dyn Fn(&str) -> Result<Arc<Template>, String> + Send + Sync>;

/// Everything that a run sees beside its data.
#[derive(Clone, Default)]
pub struct Environment {
    /// What the run may cost.
    pub limits: Limits,
    /// The steps that all runs together took, where they share them.
    spent: Option<Arc<AtomicU64>>,
    /// What `now` answers. Without it, `now` is an error.
    pub now: Option<OffsetDateTime>,
    pub(crate) functions: BTreeMap<String, ExtraFunction>,
    pub(crate) includes: Option<Includes>,
}

impl Environment {
    /// Adds a function, or replaces one of the library.
    #[must_use]
    pub fn with_function(
        mut self,
        name: &str,
        function: impl Fn(&[serde_json::Value]) -> Result<serde_json::Value, String>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.functions.insert(name.to_owned(), Arc::new(function));
        self
    }

    /// Makes all runs in this environment, one after the other, share one limit of steps.
    #[must_use]
    pub fn sharing_steps(mut self) -> Self {
        self.spent = Some(Arc::default());
        self
    }

    /// The steps that earlier runs took of what this one may take.
    #[must_use]
    pub fn spent(&self) -> u64 {
        let spent = self.spent.as_ref();
        spent.map_or(0, |spent| spent.load(Ordering::Relaxed))
    }

    /// Notes the steps that were taken so far, those of earlier runs included.
    pub fn set_spent(&self, steps: u64) {
        if let Some(spent) = &self.spent {
            spent.store(steps, Ordering::Relaxed);
        }
    }

    /// A function of the caller.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<&ExtraFunction> {
        self.functions.get(name)
    }

    /// Adds the function `include`, which runs another template with the value it is given and
    /// answers its output. The run's limits hold for all of them together.
    #[must_use]
    pub fn with_includes(
        mut self,
        find: impl Fn(&str) -> Result<Arc<Template>, String> + Send + Sync + 'static,
    ) -> Self {
        self.includes = Some(Arc::new(find));
        self
    }

    /// Sets what `now` answers.
    #[must_use]
    pub fn with_now(mut self, now: OffsetDateTime) -> Self {
        self.now = Some(now);
        self
    }

    /// Sets what a run may cost.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("limits", &self.limits)
            .field("now", &self.now)
            .field("functions", &self.functions.keys())
            .finish_non_exhaustive()
    }
}
