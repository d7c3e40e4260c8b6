//! How the phases of many objects become one (I10).

use landform_api::landscaper::{ExecutionPhase, InstallationPhase};

/// What of an object counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its phase.
    pub phase: Option<InstallationPhase>,
    /// Whether the phase is about the object as it is now (C3).
    pub up_to_date: bool,
}

/// The combined phase of some objects: the first of these that fits. None if there are no objects.
///
/// 1. Progressing: one is at work, or its phase is not about what it is now.
/// 2. Aborted, Failed, Init: one is in that phase.
/// 3. Succeeded: all are.
pub fn combined(of: impl IntoIterator<Item = Standing>) -> Option<InstallationPhase> {
    let mut most = None;
    for standing in of {
        let weight = weight(standing);
        if most.is_none_or(|most| weight > most) {
            most = Some(weight);
        }
    }
    most.map(|weight| match weight {
        Weight::Succeeded => InstallationPhase::Succeeded,
        Weight::Init => InstallationPhase::Init,
        Weight::Failed => InstallationPhase::Failed,
        Weight::Aborted => InstallationPhase::Aborted,
        Weight::Progressing => InstallationPhase::Progressing,
    })
}

/// Later ones win.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    Succeeded,
    Init,
    Failed,
    Aborted,
    Progressing,
}

fn weight(standing: Standing) -> Weight {
    if !standing.up_to_date {
        return Weight::Progressing;
    }
    match standing.phase {
        Some(
            InstallationPhase::Progressing
            | InstallationPhase::PendingDependencies
            | InstallationPhase::Deleting,
        ) => Weight::Progressing,
        Some(InstallationPhase::Aborted) => Weight::Aborted,
        Some(InstallationPhase::Failed) => Weight::Failed,
        None | Some(InstallationPhase::Init) => Weight::Init,
        Some(InstallationPhase::Succeeded) => Weight::Succeeded,
    }
}

/// The same for deploy items, whose phases are fewer.
pub fn combined_items(
    of: impl IntoIterator<Item = (Option<ExecutionPhase>, bool)>,
) -> Option<ExecutionPhase> {
    let standings = of.into_iter().map(|(phase, up_to_date)| Standing {
        phase: phase.map(Into::into),
        up_to_date,
    });
    combined(standings).map(|phase| match phase {
        InstallationPhase::Init => ExecutionPhase::Init,
        InstallationPhase::PendingDependencies | InstallationPhase::Progressing => {
            ExecutionPhase::Progressing
        }
        InstallationPhase::Deleting => ExecutionPhase::Deleting,
        InstallationPhase::Aborted | InstallationPhase::Failed => ExecutionPhase::Failed,
        InstallationPhase::Succeeded => ExecutionPhase::Succeeded,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use InstallationPhase::{
        Aborted, Deleting, Failed, Init, PendingDependencies, Progressing, Succeeded,
    };

    #[test]
    fn i10_the_first_that_fits() {
        let table: &[(&[InstallationPhase], Option<InstallationPhase>)] = &[
            (&[], None),
            (&[Succeeded, Succeeded], Some(Succeeded)),
            (&[Succeeded, Init], Some(Init)),
            (&[Init, Failed], Some(Failed)),
            (&[Failed, Aborted], Some(Aborted)),
            (&[Aborted, Progressing], Some(Progressing)),
            (&[Failed, PendingDependencies], Some(Progressing)),
            (&[Succeeded, Deleting], Some(Progressing)),
        ];
        for (phases, expected) in table {
            let standings = phases.iter().map(|phase| Standing {
                phase: Some(*phase),
                up_to_date: true,
            });
            assert_eq!(combined(standings), *expected, "{phases:?}");
        }
    }

    #[test]
    fn i10_a_phase_that_is_not_up_to_date_counts_as_progressing() {
        let old = Standing {
            phase: Some(Succeeded),
            up_to_date: false,
        };
        assert_eq!(combined([old]), Some(Progressing));
        let new = Standing {
            up_to_date: true,
            ..old
        };
        assert_eq!(combined([new]), Some(Succeeded));
    }
}
