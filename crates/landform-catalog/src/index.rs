//! What all catalogs offer together: which one a package comes from, and who brings or needs a kind.
//!
//! A package comes from the catalog with the highest priority among those that count. Two with the same
//! priority are an error of that package alone. What is indexed hangs on packages, so a catalog that
//! gains a version costs as much as the package that has it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use landform_api::GroupVersionKind;
use landform_api::catalog::app_type::CatalogSelector;

use crate::model::{Bundle, Channel, Content, Package};

/// A catalog as the index takes it in.
#[derive(Clone, Debug)]
pub struct CatalogInput {
    /// Its name.
    pub name: Arc<str>,
    /// The highest wins.
    pub priority: i32,
    /// What selectors look at.
    pub labels: BTreeMap<String, String>,
    /// It counts only for a selector that names it: who wrote it may not act for others (C6).
    pub only_by_name: bool,
    /// What it offers.
    pub content: Arc<Content>,
}

/// All catalogs together.
#[derive(Clone, Debug, Default)]
pub struct Index {
    catalogs: BTreeMap<Arc<str>, CatalogInput>,
    packages: BTreeMap<Arc<str>, Vec<Offered>>,
    owned: Kinds,
    required: Kinds,
}

/// By kind: the packages that have a bundle with it, each with the catalog.
type Kinds = BTreeMap<GroupVersionKind, BTreeSet<(Arc<str>, Arc<str>)>>;

/// A package of one catalog; the best catalog is first.
#[derive(Clone, Debug)]
struct Offered {
    priority: i32,
    catalog: Arc<str>,
    package: Arc<Package>,
    owned: Arc<Positions>,
    required: Arc<Positions>,
}

/// Which bundles of a package have a kind, from the lowest version to the highest.
type Positions = BTreeMap<GroupVersionKind, Vec<u32>>;

/// A package, and where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct Offering<'a> {
    /// The catalog.
    pub catalog: &'a Arc<str>,
    /// The catalog's priority.
    pub priority: i32,
    /// The package.
    pub package: &'a Arc<Package>,
}

/// Why a package can't be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoOffering {
    /// No catalog that counts has it.
    Absent {
        /// The package.
        package: Arc<str>,
    },
    /// Several catalogs have it, and none goes before the others.
    Tie {
        /// The package.
        package: Arc<str>,
        /// The catalogs, by name.
        catalogs: Vec<Arc<str>>,
        /// What they all have.
        priority: i32,
    },
}

/// Bundles of a package that bring or need a kind.
#[derive(Clone, Copy, Debug)]
pub struct Having<'a> {
    /// The package, and where it comes from.
    pub offering: Offering<'a>,
    positions: &'a [u32],
}

impl Index {
    /// Joins catalogs.
    pub fn new(catalogs: impl IntoIterator<Item = CatalogInput>) -> Self {
        let mut index = Self::default();
        for catalog in catalogs {
            index.insert(catalog);
        }
        index
    }

    /// Adds a catalog or takes the place of the one with its name. Returns the packages that this may
    /// change anything for.
    pub fn insert(&mut self, catalog: CatalogInput) -> BTreeSet<Arc<str>> {
        let name = catalog.name.clone();
        let known = self.catalogs.get(&name);
        let same = known.is_some_and(|known| {
            known.priority == catalog.priority
                && known.labels == catalog.labels
                && known.only_by_name == catalog.only_by_name
        });
        if same {
            return self.replace(&name, catalog.content);
        }
        let mut changed = self.remove(&name);
        let content = catalog.content.clone();
        let empty = Arc::new(Content::default());
        let catalog = CatalogInput {
            content: empty,
            ..catalog
        };
        self.catalogs.insert(name.clone(), catalog);
        changed.extend(self.replace(&name, content));
        changed
    }

    /// Takes away a catalog. Returns its packages.
    pub fn remove(&mut self, catalog: &str) -> BTreeSet<Arc<str>> {
        let changed = self.replace(catalog, Arc::new(Content::default()));
        self.catalogs.remove(catalog);
        changed
    }

    /// Gives a catalog other content. Returns the packages that have changed. A catalog that isn't there
    /// stays so.
    pub fn replace(&mut self, catalog: &str, content: Arc<Content>) -> BTreeSet<Arc<str>> {
        let Some(known) = self.catalogs.get_mut(catalog) else {
            return BTreeSet::new();
        };
        let (name, priority) = (known.name.clone(), known.priority);
        let before = std::mem::replace(&mut known.content, content.clone());
        let mut changed = BTreeSet::new();
        for (package, old) in &before.packages {
            match content.packages.get(package) {
                Some(new) if Arc::ptr_eq(old, new) => {}
                Some(new) if old.digest == new.digest => self.swap(&name, new),
                Some(_) | None => {
                    self.take_out(&name, package);
                    changed.insert(package.clone());
                }
            }
        }
        for (package, new) in &content.packages {
            let fresh = !before.packages.contains_key(package);
            if fresh || changed.contains(package) {
                self.put_in(&name, priority, new);
                changed.insert(package.clone());
            }
        }
        changed
    }

    /// The same package, read again: the old text may go.
    fn swap(&mut self, catalog: &Arc<str>, package: &Arc<Package>) {
        let all = self.packages.get_mut(&package.name).into_iter().flatten();
        for offered in all.filter(|offered| offered.catalog == *catalog) {
            offered.package = package.clone();
        }
    }

    fn put_in(&mut self, catalog: &Arc<str>, priority: i32, package: &Arc<Package>) {
        let owned = positions(package, |bundle| &bundle.owned);
        let required = positions(package, |bundle| &bundle.required);
        for (kinds, positions) in [(&mut self.owned, &owned), (&mut self.required, &required)] {
            for kind in positions.keys() {
                let place = (package.name.clone(), catalog.clone());
                if let Some(places) = kinds.get_mut(kind) {
                    places.insert(place);
                } else {
                    kinds.insert(kind.clone(), BTreeSet::from([place]));
                }
            }
        }
        let all = self.packages.entry(package.name.clone()).or_default();
        let best = |offered: &Offered| (-i64::from(offered.priority), offered.catalog.clone());
        let offered = Offered {
            priority,
            catalog: catalog.clone(),
            package: package.clone(),
            owned: Arc::new(owned),
            required: Arc::new(required),
        };
        let place = all.partition_point(|other| best(other) < best(&offered));
        all.insert(place, offered);
    }

    fn take_out(&mut self, catalog: &Arc<str>, package: &Arc<str>) {
        let Some(all) = self.packages.get_mut(package) else {
            return;
        };
        let Some(place) = all.iter().position(|found| found.catalog == *catalog) else {
            return;
        };
        let offered = all.remove(place);
        if all.is_empty() {
            self.packages.remove(package);
        }
        let place = (package.clone(), catalog.clone());
        for (kinds, positions) in [
            (&mut self.owned, &offered.owned),
            (&mut self.required, &offered.required),
        ] {
            for kind in positions.keys() {
                if let Some(places) = kinds.get_mut(kind) {
                    places.remove(&place);
                    if places.is_empty() {
                        kinds.remove(kind);
                    }
                }
            }
        }
    }

    /// The names of all packages.
    pub fn packages(&self) -> impl Iterator<Item = &Arc<str>> {
        self.packages.keys()
    }

    /// All catalogs, by name.
    pub fn catalogs(&self) -> impl Iterator<Item = &CatalogInput> {
        self.catalogs.values()
    }

    /// Where a package comes from, for somebody for whom only some catalogs count.
    ///
    /// # Errors
    /// When no such catalog has it, or several with the same priority.
    pub fn offering(
        &self,
        package: &str,
        selector: Option<&CatalogSelector>,
    ) -> Result<Offering<'_>, NoOffering> {
        self.offered(package, selector).map(Offered::offering)
    }

    fn offered(
        &self,
        package: &str,
        selector: Option<&CatalogSelector>,
    ) -> Result<&Offered, NoOffering> {
        let absent = || NoOffering::Absent {
            package: package.into(),
        };
        let all = self.packages.get(package).ok_or_else(absent)?;
        let mut counting = all
            .iter()
            .filter(|offered| self.counts(&offered.catalog, selector));
        let best = counting.next().ok_or_else(absent)?;
        let mut catalogs: Vec<_> = counting
            .take_while(|other| other.priority == best.priority)
            .map(|other| other.catalog.clone())
            .collect();
        if catalogs.is_empty() {
            return Ok(best);
        }
        catalogs.insert(0, best.catalog.clone());
        Err(NoOffering::Tie {
            package: package.into(),
            catalogs,
            priority: best.priority,
        })
    }

    /// Whether a catalog is among those that count.
    #[must_use]
    pub fn counts(&self, catalog: &str, selector: Option<&CatalogSelector>) -> bool {
        let known = self.catalogs.get(catalog);
        let hidden = known.is_some_and(|known| known.only_by_name);
        let Some(selector) = selector else {
            return !hidden;
        };
        let named = selector.names.iter().any(|name| name == catalog);
        if !named && (hidden || !selector.names.is_empty()) {
            return false;
        }
        let labels = known.map(|found| &found.labels);
        selector
            .match_labels
            .iter()
            .all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value))
    }

    /// The packages that have a bundle that brings this kind, by name.
    pub fn owners<'a>(
        &'a self,
        kind: &'a GroupVersionKind,
        selector: Option<&'a CatalogSelector>,
    ) -> impl Iterator<Item = Having<'a>> {
        self.having(&self.owned, kind, selector, |offered| &offered.owned)
    }

    /// The packages that have a bundle that needs this kind, by name.
    pub fn requirers<'a>(
        &'a self,
        kind: &'a GroupVersionKind,
        selector: Option<&'a CatalogSelector>,
    ) -> impl Iterator<Item = Having<'a>> {
        self.having(&self.required, kind, selector, |offered| &offered.required)
    }

    fn having<'a>(
        &'a self,
        kinds: &'a Kinds,
        kind: &'a GroupVersionKind,
        selector: Option<&'a CatalogSelector>,
        positions: fn(&Offered) -> &Positions,
    ) -> impl Iterator<Item = Having<'a>> {
        let places = kinds.get(kind).into_iter().flatten();
        // Only the catalog that the package comes from counts.
        places.filter_map(move |(package, catalog)| {
            let offered = self.offered(package, selector).ok()?;
            if offered.catalog != *catalog {
                return None;
            }
            Some(Having {
                offering: offered.offering(),
                positions: positions(offered).get(kind)?,
            })
        })
    }

    /// Every kind that some bundle brings.
    pub fn kinds(&self) -> impl Iterator<Item = &GroupVersionKind> {
        self.owned.keys()
    }

    /// Packages that can't be had because of a tie, for those for whom all catalogs count.
    pub fn ties(&self) -> impl Iterator<Item = NoOffering> {
        self.packages.iter().filter_map(|(package, all)| {
            let [first, second, ..] = all.as_slice() else {
                return None;
            };
            (first.priority == second.priority)
                .then(|| self.offered(package, None).err())
                .flatten()
        })
    }
}

fn positions(package: &Package, kinds: fn(&Bundle) -> &Vec<GroupVersionKind>) -> Positions {
    let mut found = Positions::new();
    for (position, bundle) in (0_u32..).zip(&package.bundles) {
        for kind in kinds(bundle) {
            // Most versions bring the kinds of the one before, so a key is rarely made.
            if let Some(positions) = found.get_mut(kind) {
                if positions.last() != Some(&position) {
                    positions.push(position);
                }
            } else {
                found.insert(kind.clone(), vec![position]);
            }
        }
    }
    found
}

impl Offered {
    fn offering(&self) -> Offering<'_> {
        Offering {
            catalog: &self.catalog,
            priority: self.priority,
            package: &self.package,
        }
    }
}

impl<'a> Offering<'a> {
    /// The channel that somebody means who names this one, or none.
    #[must_use]
    pub fn channel(&self, name: Option<&str>) -> Option<&'a Channel> {
        self.package.channel(name)
    }
}

impl<'a> Having<'a> {
    /// The bundles, from the lowest version to the highest.
    pub fn bundles(&self) -> impl DoubleEndedIterator<Item = &'a Bundle> {
        let package = self.offering.package;
        let positions = self.positions.iter();
        positions.filter_map(move |position| package.bundles.get(*position as usize))
    }
}

impl fmt::Display for NoOffering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent { package } => write!(f, "no catalog that counts offers {package}"),
            Self::Tie {
                package,
                catalogs,
                priority,
            } => write!(
                f,
                "the catalogs {} all offer {package} with priority {priority}, so none of them wins",
                catalogs.join(" and ")
            ),
        }
    }
}

impl std::error::Error for NoOffering {}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
