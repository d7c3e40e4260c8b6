//! The rules by name, as decisions, conditions, Events and tests cite them.

use std::fmt;

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident)*) => {
        /// A rule of `docs/rules.md`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule { $($(#[$doc])* $name,)* }

        impl Rule {
            /// The rule's id.
            #[must_use]
            pub fn id(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }
        }
    };
}

rules! {
    /// A final phase and the ignore annotation: nothing is done.
    I1
    /// The finalizer is added first.
    I2
    /// A deletion mark leads to the deletion flow.
    I3
    /// What the operation annotation asks for.
    I4
    /// Final and up to date: nested objects are looked at.
    I5
    /// What others deleted or changed is put right.
    I5b
    /// Otherwise the standard flow.
    I6
    /// The combined phase of nested objects.
    I10
    /// A nested object's phase counts if it is about its present spec and imports.
    I10b
    /// Nested objects are at work.
    I11
    /// What only waits is not at work.
    I11b
    /// Aborted.
    I12
    /// Whether an update is required.
    I13
    /// Whether an update is possible.
    I14
    /// A nested installation is updated only while its parent is progressing.
    I14b
    /// The update.
    I15
    /// The nested objects' final phase is the installation's.
    I16
    /// What failed below runs again.
    I16b
    /// Exports are made.
    I17
    /// Dependents are triggered.
    I18
    /// Force: are the imports satisfied?
    I20
    /// Force: the update.
    I21
    /// Deletion by force.
    I30
    /// A sibling needs what this one exports.
    I31
    /// Nothing nested is left.
    I32
    /// Nested objects are at work; the deletion waits.
    I33
    /// An update before the deletion.
    I34
    /// Nested objects are deleted.
    I35
    /// A deletion ends, or says who is in the way.
    I35b
    /// Objects go, what they deployed stays.
    I36
    /// Imports and exports between siblings.
    I40
    /// Names that move from one sibling to another.
    I40b
    /// Data must fit its schema.
    I41
    /// Which phases are completed.
    E1
    /// Completed and ignored.
    E2
    /// The finalizer is added.
    E3
    /// Which operation is due.
    E4
    /// Whether an item's spec is up to date.
    E5
    /// Items without a counterpart are removed.
    E6
    /// The classes of items.
    E7
    /// The reconcile operation.
    E8
    /// The re-check.
    E9
    /// The delete operation.
    E10
    /// Dependencies between items must make sense.
    E11
    /// Items are picked up, progress and abort in time.
    E12
    /// An app type gets the latest version that it may have.
    O1
    /// A higher version is gone to, or it is said why not.
    O2
    /// The owner of a kind is there.
    O3
    /// A higher version that replaces the present one.
    O4
    /// Whether an upgrade happens by itself.
    O5
    /// Requirements are checked and the install strategy is followed.
    O10
    /// A missing kind is got from the catalog.
    O11
    /// The successor becomes a second owner.
    O12
    /// The successor becomes the controller, the old owner goes.
    O13
    /// The operator's own loop hands over, or Landform's for those that have none.
    O14
    /// Never two controllers, never no owner.
    O15
    /// A version that was replaced and owns nothing goes.
    O16
    /// A failed upgrade leaves the old version running.
    O17
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}
