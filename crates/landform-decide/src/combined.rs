//! How the standings of many objects become one (I10, I10b, I11b).

use landform_api::landscaper::{ExecutionPhase, InstallationPhase};

/// How an object is doing, as far as the one above it is concerned. Later ones win.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It is as it should be.
    Succeeded,
    /// Nothing has been done to it.
    Init,
    /// It waits for something outside that may still come. Neither an update nor a deletion waits for it.
    Waiting,
    /// It has failed, or can't go on because of something that failed or doesn't exist (I11b).
    Failed,
    /// It was aborted.
    Aborted,
    /// It is at work, or about to be: its phase is not about what it is now (I10b).
    AtWork,
}

impl Standing {
    /// The standing of an object that needs nothing of those beside it.
    #[must_use]
    pub fn of(phase: Option<InstallationPhase>, current: bool) -> Self {
        if !current {
            return Self::AtWork;
        }
        match phase {
            Some(
                InstallationPhase::Progressing
                | InstallationPhase::PendingDependencies
                | InstallationPhase::Deleting,
            ) => Self::AtWork,
            Some(InstallationPhase::Aborted) => Self::Aborted,
            Some(InstallationPhase::Failed) => Self::Failed,
            None | Some(InstallationPhase::Init) => Self::Init,
            Some(InstallationPhase::Succeeded) => Self::Succeeded,
        }
    }

    /// Whether an update or a deletion of the object above has to wait.
    #[must_use]
    pub fn is_at_work(self) -> bool {
        matches!(self, Self::AtWork | Self::Init)
    }
}

/// The standing of many objects: the one that wins. None if there are no objects.
pub fn combined(of: impl IntoIterator<Item = Standing>) -> Option<Standing> {
    of.into_iter().max()
}

/// The combined phase of deploy items, each with its phase and whether that is about what it is now.
pub fn combined_items(
    of: impl IntoIterator<Item = (Option<ExecutionPhase>, bool)>,
) -> Option<ExecutionPhase> {
    let standings = of
        .into_iter()
        .map(|(phase, current)| Standing::of(phase.map(Into::into), current));
    combined(standings).map(|standing| match standing {
        Standing::Succeeded => ExecutionPhase::Succeeded,
        Standing::Init => ExecutionPhase::Init,
        Standing::Failed | Standing::Aborted => ExecutionPhase::Failed,
        Standing::Waiting | Standing::AtWork => ExecutionPhase::Progressing,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use InstallationPhase as Phase;

    #[test]
    fn i10_the_first_that_fits() {
        let table: &[(&[Phase], Option<Standing>)] = &[
            (&[], None),
            (
                &[Phase::Succeeded, Phase::Succeeded],
                Some(Standing::Succeeded),
            ),
            (&[Phase::Succeeded, Phase::Init], Some(Standing::Init)),
            (&[Phase::Init, Phase::Failed], Some(Standing::Failed)),
            (&[Phase::Failed, Phase::Aborted], Some(Standing::Aborted)),
            (
                &[Phase::Aborted, Phase::Progressing],
                Some(Standing::AtWork),
            ),
            (&[Phase::Succeeded, Phase::Deleting], Some(Standing::AtWork)),
        ];
        for (phases, expected) in table {
            let standings = phases.iter().map(|phase| Standing::of(Some(*phase), true));
            assert_eq!(combined(standings), *expected, "{phases:?}");
        }
    }

    #[test]
    fn i11b_what_only_waits_is_not_at_work() {
        let waits = [Standing::Succeeded, Standing::Waiting];
        assert_eq!(combined(waits), Some(Standing::Waiting));
        assert!(!Standing::Waiting.is_at_work());
        let failed = [Standing::Failed, Standing::Waiting];
        assert_eq!(combined(failed), Some(Standing::Failed));
        let works = [Standing::Failed, Standing::AtWork];
        assert_eq!(combined(works), Some(Standing::AtWork));
    }

    #[test]
    fn i10b_a_phase_that_is_not_about_the_present_counts_as_work() {
        let old = Standing::of(Some(Phase::Succeeded), false);
        assert_eq!(old, Standing::AtWork);
        let new = Standing::of(Some(Phase::Succeeded), true);
        assert_eq!(new, Standing::Succeeded);
    }
}
