//! The part that a solver does: resolvo learns from conflicts, so that no order of trying is bad.
//!
//! A package is one of its names, a candidate one of its solvables. A need is a requirement on one or
//! several names, and a kind that only one may bring is a constraint on all other names that could.

use std::any::Any;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use resolvo::{
    Candidates, Condition, ConditionId, DenseIndex as _, Dependencies, DependencyProvider,
    HintDependenciesAvailable, Interner, KnownDependencies, NameId, Requirement, SolvableId,
    Solver, SolverCache, StringId, UnsolvableOrCancelled, VersionSetId, VersionSetUnionId,
};

use super::problem::{Problem, Root, Soft};

struct Provider<'p, 'g, 'a> {
    problem: &'p Problem<'g, 'a>,
    /// By package: what can be chosen.
    free: Vec<Vec<SolvableId>>,
    /// A package and some of its options.
    sets: Vec<(usize, BTreeSet<usize>)>,
    unions: Vec<Vec<VersionSetId>>,
    /// By option.
    dependencies: Vec<KnownDependencies>,
    /// How many rounds are left.
    patience: Cell<u32>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unsolved {
    /// There is none.
    Impossible,
    /// None was found in time.
    TooHard,
}

/// Rounds of drawing conclusions before the solver gives up. Real catalogs need some hundred.
const PATIENCE: u32 = 5_000;

/// The options that are chosen, as if `gone` weren't there.
pub(super) fn solve<'a>(
    problem: &Problem<'_, 'a>,
    gone: &BTreeSet<Soft<'a>>,
) -> Result<Vec<usize>, Unsolved> {
    let mut provider = Provider {
        problem,
        free: Vec::new(),
        sets: Vec::new(),
        unions: Vec::new(),
        dependencies: Vec::new(),
        patience: Cell::new(PATIENCE),
    };
    for node in &problem.packages {
        let free = node
            .options
            .iter()
            .filter(|option| problem.is_free(**option, gone));
        let free = free.map(|option| SolvableId::from_index(*option));
        provider.free.push(free.collect());
    }
    provider.encode_needs(gone);
    provider.encode_shared(gone);
    let mut requirements = Vec::new();
    for (place, node) in problem.packages.iter().enumerate() {
        let required = match node.root {
            Some(Root::Wanted(_)) => !gone.contains(&Soft::Wanted(node.name)),
            Some(Root::Installed) => true,
            None => false,
        };
        if required {
            let all = provider.set(place, node.options.iter().copied());
            requirements.push(Requirement::Single(all).into());
        }
    }
    let problem = resolvo::Problem::new().requirements(requirements);
    match Solver::new(provider).solve(problem) {
        Ok(solved) => Ok(solved.into_iter().map(SolvableId::to_index).collect()),
        Err(UnsolvableOrCancelled::Unsolvable(_)) => Err(Unsolved::Impossible),
        Err(UnsolvableOrCancelled::Cancelled(_)) => Err(Unsolved::TooHard),
    }
}

impl<'a> Provider<'_, '_, 'a> {
    fn set(&mut self, package: usize, options: impl Iterator<Item = usize>) -> VersionSetId {
        self.sets.push((package, options.collect()));
        VersionSetId::from_index(self.sets.len() - 1)
    }

    fn encode_needs(&mut self, gone: &BTreeSet<Soft<'a>>) {
        let problem = self.problem;
        for choice in &problem.options {
            let mut dependencies = KnownDependencies::default();
            for needed in choice.needs.iter().filter(|it| !gone.contains(&it.soft)) {
                // The order of packages is that of preference.
                let mut packages: Vec<(usize, Vec<usize>)> = Vec::new();
                for option in &needed.met_by {
                    let package = problem.options[*option].package;
                    match packages.last_mut() {
                        Some((last, options)) if *last == package => options.push(*option),
                        _ => packages.push((package, vec![*option])),
                    }
                }
                if packages.is_empty() {
                    packages.push((choice.package, Vec::new()));
                }
                let sets: Vec<VersionSetId> = packages
                    .into_iter()
                    .map(|(package, options)| self.set(package, options.into_iter()))
                    .collect();
                let requirement = match sets.as_slice() {
                    [only] => Requirement::Single(*only),
                    _ => {
                        self.unions.push(sets);
                        Requirement::Union(VersionSetUnionId::from_index(self.unions.len() - 1))
                    }
                };
                dependencies.requirements.push(requirement.into());
            }
            self.dependencies.push(dependencies);
        }
    }

    fn encode_shared(&mut self, gone: &BTreeSet<Soft<'a>>) {
        let problem = self.problem;
        for ((group, kind), owners) in &problem.shared {
            if gone.contains(&Soft::Exclusive(group, kind)) {
                continue;
            }
            let mut by_package: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
            for owner in owners {
                let package = problem.options[*owner].package;
                by_package.entry(package).or_default().insert(*owner);
            }
            let stays = |option: &usize| problem.options[*option].candidate.from.is_none();
            for (package, owning) in &by_package {
                let all = &problem.packages[*package].options;
                let without = all.iter().copied().filter(|it| !owning.contains(it));
                let without = self.set(*package, without);
                // Two that share a kind already are left in peace.
                let staying = all
                    .iter()
                    .copied()
                    .filter(|it| !owning.contains(it) || stays(it));
                let staying = self.set(*package, staying);
                let others = owners.iter().filter(|owner| !owning.contains(owner));
                for other in others {
                    let set = if stays(other) { staying } else { without };
                    self.dependencies[*other].constrains.push(set);
                }
            }
        }
    }
}

impl Interner for Provider<'_, '_, '_> {
    type NameId = NameId;
    type SolvableId = SolvableId;

    fn display_solvable(&self, solvable: SolvableId) -> impl Display + '_ {
        &self.problem.options[solvable.to_index()]
            .candidate
            .bundle
            .name
    }

    fn display_name(&self, name: NameId) -> impl Display + '_ {
        self.problem.packages[name.to_index()].name
    }

    fn display_version_set(&self, set: VersionSetId) -> impl Display + '_ {
        set.to_index()
    }

    fn display_string(&self, string: StringId) -> impl Display + '_ {
        string.to_index()
    }

    fn version_set_name(&self, set: VersionSetId) -> NameId {
        NameId::from_index(self.sets[set.to_index()].0)
    }

    fn solvable_name(&self, solvable: SolvableId) -> NameId {
        NameId::from_index(self.problem.options[solvable.to_index()].package)
    }

    fn version_sets_in_union(
        &self,
        union: VersionSetUnionId,
    ) -> impl Iterator<Item = VersionSetId> {
        self.unions[union.to_index()].iter().copied()
    }

    fn resolve_condition(&self, _: ConditionId) -> Condition {
        // No requirement here has a condition, so none is ever asked for.
        Condition::Requirement(VersionSetId::from_index(0))
    }
}

impl DependencyProvider for Provider<'_, '_, '_> {
    async fn filter_candidates(
        &self,
        candidates: &[SolvableId],
        set: VersionSetId,
        inverse: bool,
    ) -> Vec<SolvableId> {
        let (_, options) = &self.sets[set.to_index()];
        let fits = |found: &&SolvableId| options.contains(&found.to_index()) != inverse;
        candidates.iter().filter(fits).copied().collect()
    }

    async fn get_candidates(&self, name: NameId) -> Option<Candidates> {
        Some(Candidates {
            candidates: self.free[name.to_index()].clone(),
            hint_dependencies_available: HintDependenciesAvailable::All,
            ..Candidates::default()
        })
    }

    async fn sort_candidates(&self, _: &SolverCache<Self>, solvables: &mut [SolvableId]) {
        // Options were listed in the order of preference.
        solvables.sort_unstable_by_key(|solvable| solvable.to_index());
    }

    async fn get_dependencies(&self, solvable: SolvableId) -> Dependencies {
        Dependencies::Known(self.dependencies[solvable.to_index()].clone())
    }
    fn should_cancel_with_value(&self) -> Option<Box<dyn Any>> {
        let left = self.patience.get().checked_sub(1);
        self.patience.set(left.unwrap_or(0));
        left.is_none().then(|| Box::new(()) as Box<dyn Any>)
    }
}
