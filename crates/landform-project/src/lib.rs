//! Directories of files that are reconciled into objects (R15).
//!
//! In reading order: `scan` walks a directory, `settings` reads its `landform.yaml` (`settings_schema` is that for editors, `applied` knows it as an object) and `settling` says which settings hold, `parse` reads one file,
//! `reader` puts these together and remembers what hasn't changed; `object` and `resolve` say which objects
//! the files want; `decide` with `renames` says what must be done, `preview` for those who only ask; `apply` does it to one object, on any Kubernetes API;
//! `order` says what comes before what; `reconciler` with `act` puts a run together; `hidden` knows what no list has, `leaving` shows what goes with a project, `keeping` holds back what should stay; `watch` wakes it when somebody saves a file.

mod act;
mod applied;
pub mod apply;
mod blueprint;
pub mod decide;
mod hidden;
mod ignore;
mod keeping;
mod leaving;
mod live;
mod namespaces;
mod object;
mod order;
pub mod parse;
mod place;
mod preview;
mod programs;
mod projects;
mod reader;
mod reconciler;
mod remove;
mod renames;
mod resolve;
mod scan;
pub mod settings;
pub mod settings_schema;
mod settling;
mod state;
mod status;
mod touched;
mod watch;

pub use leaving::{Leaving, leaving};
pub use object::{ObjectId, Source, Wanted};
pub use preview::{Preview, PreviewError, preview};
pub use projects::Projects;
pub use reader::{ReadProblem, Reader, Reading};
pub use reconciler::ProjectReconciler;
pub use renames::steps as rename_steps;
pub use resolve::{Resolved, kinds, resolve};
pub use scan::{Limits, ScanError};
pub use settings::Settings;
pub use watch::{Changed, Following, Notifier};
