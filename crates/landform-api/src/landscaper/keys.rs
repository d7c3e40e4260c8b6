//! Finalizers, labels and annotations of the contract.

/// Holds installations, executions and deploy items until what they stand for is gone (I2, E3).
pub const FINALIZER: &str = "finalizer.landscaper.gardener.cloud";
/// What a person, or a sibling, asks of an object: see [`super::Operation`].
pub const OPERATION: &str = "landscaper.gardener.cloud/operation";
/// `"true"`: an object in a final phase is left alone (I1, E2).
pub const IGNORE: &str = "landscaper.gardener.cloud/ignore";
/// `"true"`: the objects go, what they deployed stays (I36).
pub const DELETE_WITHOUT_UNINSTALL: &str = "landscaper.gardener.cloud/delete-without-uninstall";
/// When a deploy item was handed out; its deployer removes it (RFC 3339).
pub const RECONCILE_TIME: &str = "landscaper.gardener.cloud/reconcile-time";
/// When a deploy item was told to abort (RFC 3339).
pub const ABORT_TIME: &str = "landscaper.gardener.cloud/abort-time";

/// On a nested installation: the name of its parent.
pub const ENCOMPASSED_BY: &str = "landscaper.gardener.cloud/encompassed-by";
/// On a nested installation: the name that its parent's blueprint gives it.
pub const SUBINSTALLATION_NAME: &str = "landscaper.gardener.cloud/subinstallation-name";

/// On a deploy item: the name of its execution.
pub const MANAGED_BY: &str = "execution.landscaper.gardener.cloud/managed-by";
/// On a deploy item: the name that the execution gives it.
pub const ITEM_NAME: &str = "execution.landscaper.gardener.cloud/name";
/// On a deploy item: the items that it depends on, joined by commas.
pub const DEPENDS_ON: &str = "execution.landscaper.gardener.cloud/dependsOn";

/// On a data object or target: the context in which it has its key.
pub const DATA_CONTEXT: &str = "data.landscaper.gardener.cloud/context";
/// On a data object or target: `import` or `export`.
pub const DATA_SOURCE_TYPE: &str = "data.landscaper.gardener.cloud/sourceType";
/// On a data object or target: the name under which it is imported or exported.
pub const DATA_KEY: &str = "data.landscaper.gardener.cloud/key";
/// On a target that comes from a map: its key in the map.
pub const DATA_TARGET_MAP_KEY: &str = "data.landscaper.gardener.cloud/targetmapkey";
/// On a target that comes from a list: its place in the list.
pub const DATA_INDEX: &str = "data.landscaper.gardener.cloud/index";
/// On a data object or target: who wrote it, as a context (`Inst.x`, `Exec.x`).
pub const DATA_SOURCE: &str = "data.landscaper.gardener.cloud/source";
/// On a data object or target: a hash of its content.
pub const DATA_HASH: &str = "data.landscaper.gardener.cloud/hash";
/// On an execution or a nested installation: a hash of the spec that its installation gave it.
pub const SPEC_HASH: &str = "landform.dev/spec-hash";

/// On Targets and Secrets that a TargetSync made: `ok`.
pub const TARGET_SYNC: &str = "landscaper.gardener.cloud/targetsync";
/// On a TargetSync: its token is replaced now.
pub const ROTATE_TOKEN: &str = "landscaper.gardener.cloud/rotate-token";

/// The value of annotations that are either there or not.
pub const TRUE: &str = "true";
