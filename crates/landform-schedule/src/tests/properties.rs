//! Random graphs and random events against the naive model, in steps of several events.

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use super::world::{Action, How, Name, Race, World, name};
use crate::{Event, Order, Role, Scheduler, Sight, Version};

fn any_name() -> impl Strategy<Value = Name> {
    // Two namespaces, and a few names that are rarely created.
    prop::sample::select(vec!["a", "b", "c", "d", "n/e", "n/f", "n/g", "h"]).prop_map(name)
}

fn any_how() -> impl Strategy<Value = How> {
    prop_oneof![
        6 => Just(How::Well),
        1 => Just(How::Error),
        1 => Just(How::RetriggerPast),
        1 => Just(How::RetriggerSoon),
    ]
}

fn any_order() -> impl Strategy<Value = Order<Name>> {
    let related = (vec(any_name(), 0..2), vec(any_name(), 0..2));
    prop_oneof![
        3 => Just(Order::Strict),
        3 => related.prop_map(|(owners, names)| Order::Related { owners, names }),
        1 => Just(Order::Free),
    ]
}

fn any_action() -> impl Strategy<Value = Action> {
    let refs = || btree_set(any_name(), 0..3);
    let race = prop_oneof![Just(Race::WatchFirst), Just(Race::AnswerFirst)];
    prop_oneof![
        8 => (any_name(), refs(), prop::bool::weighted(0.15), any_order()).prop_map(
            |(name, refs, passive, order)| Action::Create { name, refs, passive, order }
        ),
        12 => (any_name(), any_how()).prop_map(|(name, how)| Action::Finish(name, how)),
        2 => any_name().prop_map(Action::Update),
        1 => any_name().prop_map(Action::Status),
        2 => (any_name(), refs()).prop_map(|(name, refs)| Action::Relate(name, refs)),
        2 => any_name().prop_map(Action::Mark),
        1 => any_name().prop_map(Action::Gone),
        2 => (any_name(), any_name()).prop_map(|(from, to)| Action::Rename(from, to)),
        1 => any_name().prop_map(Action::Ask),
        1 => any_name().prop_map(Action::Child),
        1 => (any_name(), race).prop_map(|(name, race)| Action::OwnUpdate(name, race)),
        1 => (any_name(), refs()).prop_map(|(name, refs)| Action::OwnRelate(name, refs)),
        1 => any_name().prop_map(Action::OwnMark),
        1 => any_name().prop_map(Action::OwnGone),
        1 => any_name().prop_map(Action::Overdue),
        2 => any_name().prop_map(Action::Due),
        1 => any_name().prop_map(Action::Late),
    ]
}

/// Lets everything run that wants to, until nothing does.
fn run_dry(world: &mut World) -> Result<(), String> {
    for _ in 0..1_000 {
        let mut flights = world.model.flights.values();
        let Some(name) = flights.next().map(|fly| fly.name.clone()) else {
            return Ok(());
        };
        world.try_step(&[Action::Finish(name, How::Well)])?;
    }
    Err("it never comes to rest".to_owned())
}

proptest! {
    #[test]
    fn r3_r4_r5_r6_r7_r8_r8b_random_events_agree_with_the_naive_model(
        steps in vec(vec(any_action(), 1..4), 1..60)
    ) {
        let mut world = World::new();
        for mut actions in steps {
            // The model takes all commands of a step together, and runs that return come first.
            actions.sort_by_key(|action| match action {
                Action::Finish(..) | Action::Overdue(_) | Action::Late(_) => 0,
                Action::Due(_) => 1,
                _ => 2,
            });
            world.try_step(&actions).map_err(TestCaseError::fail)?;
        }
        run_dry(&mut world).map_err(TestCaseError::fail)?;
        let waiting = world.model.must.iter().find(|name| !world.model.is_cyclic(name));
        prop_assert!(waiting.is_none(), "{waiting:?} never runs");
    }

    #[test]
    fn r2_r16_a_list_gives_the_same_as_its_objects_one_by_one(
        objects in vec(btree_set(0_u8..9, 0..3), 1..9), marked in 0_u8..9
    ) {
        let sights: Vec<_> = (0_u8..).zip(&objects).map(|(at, refs)| Sight {
            key: name(&at.to_string()),
            version: Version(1),
            content: 0,
            refs: refs.iter().map(|to| name(&to.to_string())).collect(),
            marked: at == marked,
            role: Role::Reconciled,
            order: Order::Strict,
        }).collect();
        let mut listed = Scheduler::new(7);
        listed.handle(Event::Listed(sights.clone()));
        listed.verify().map_err(TestCaseError::fail)?;
        let mut seen = Scheduler::new(7);
        seen.step(sights.into_iter().map(Event::Seen), &mut Vec::new());
        prop_assert_eq!(listed.fingerprint(), seen.fingerprint());
    }
}
