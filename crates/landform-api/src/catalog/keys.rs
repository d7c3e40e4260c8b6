//! Finalizers, labels and annotations of the contract.

/// Holds app types and operator versions until what they stand for is gone.
pub const FINALIZER: &str = "catalog.landform.dev/operators";

/// On an app type: the version that it shall go back to, or `previous`.
pub const ROLLBACK: &str = "catalog.landform.dev/rollback-to";
/// On an operator version: the name of the one that it takes the place of although that one is higher.
pub const ROLLBACK_OF: &str = "catalog.landform.dev/rollback-of";

/// On a definition: the package whose operator owns it.
pub const PACKAGE: &str = "catalog.landform.dev/package";
/// On a definition: the version of the operator that wrote it last.
pub const VERSION: &str = "catalog.landform.dev/version";
/// On a definition: its owner, as `AppType/NAMESPACE/NAME` or `OperatorVersion/NAMESPACE/NAME`.
pub const OWNER: &str = "catalog.landform.dev/owner";
/// On a definition: the uid of its owner.
pub const OWNER_UID: &str = "catalog.landform.dev/owner-uid";

/// On a Deployment of an operator: the name of its operator version.
pub const OPERATOR_VERSION: &str = "catalog.landform.dev/operator-version";
/// On a definition: of the text that was written last.
pub const DIGEST: &str = "catalog.landform.dev/digest";
/// On an app type that was not made by a person: who needed it.
pub const REQUIRED_BY: &str = "catalog.landform.dev/required-by";
/// On an operator version: the catalog that it is from.
pub const CATALOG: &str = "catalog.landform.dev/catalog";
