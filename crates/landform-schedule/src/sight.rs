//! Objects appear, change, go and get other names (R2, R5, R11).

use std::collections::BTreeSet;

use landform_graph::NodeId;

use crate::command::{Cause, Reason, Touch};
use crate::event::{ObjectKey, Role, Sight, Version};
use crate::object::{Former, Object, Presence};
use crate::scheduler::Scheduler;

/// Where a sight comes from.
#[derive(Clone, Copy)]
enum Source {
    /// A watch: no version before this one was left out.
    Watch,
    /// A list, or anything else that may leave versions out.
    List,
}

/// Whose change it is that was seen.
enum Author {
    /// The object's own run.
    Own,
    /// Anybody else.
    Other,
    /// Nobody knows until the run's write has ended.
    Unknown,
}

impl<K: ObjectKey> Scheduler<K> {
    /// A list of objects. The first one is loaded as a whole.
    pub(crate) fn listed(&mut self, sights: Vec<Sight<K>>) {
        if !self.graph.is_empty() {
            for sight in &sights {
                self.look(sight, Reason::Appeared, Source::List);
            }
            return;
        }
        let objects = sights.iter();
        self.graph
            .load(objects.map(|sight| (&sight.key, sight.refs.as_slice())));
        self.grow();
        let nodes: Vec<_> = sights
            .iter()
            .map(|sight| self.graph.intern(&sight.key))
            .collect();
        for (node, sight) in nodes.iter().zip(&sights) {
            self.remember(*node, sight);
        }
        let cyclic = nodes.iter().filter(|node| self.graph.is_cyclic(**node));
        self.ripple.regrouped.extend(cyclic);
        for (node, sight) in nodes.iter().zip(&sights) {
            let reason = if sight.marked {
                Reason::Marked
            } else {
                Reason::Appeared
            };
            // That everything is looked at once at the start needs no million reports.
            self.demand(*node, reason);
        }
        if let Some(node) = nodes.first() {
            self.flow(*node);
        }
    }

    pub(crate) fn seen(&mut self, sight: &Sight<K>) {
        self.look(sight, Reason::Appeared, Source::Watch);
    }

    /// Compares an object with what is known of it. `appeared` is the reason if it is new.
    fn look(&mut self, sight: &Sight<K>, appeared: Reason, source: Source) {
        let node = self.graph.intern(&sight.key);
        self.grow();
        let before = *self.object(node);
        let recreated = before.presence == Presence::Marked && !sight.marked;
        let new = !before.exists() || recreated;
        if !new && sight.version < before.version {
            return;
        }
        if new {
            self.cut.remove(&node);
            self.own_versions.remove(&node);
            self.former_names.remove(&node);
            self.release_waiting(node);
            self.stop(node, Cause::Object(Touch::Recreated));
            self.clear_due(node);
        }
        self.remember(node, sight);
        let related = !self.cut.contains(&node) && self.relate(node, &sight.refs);
        if self.must_be_cut(node) {
            self.ripple.regrouped.push(node);
        }
        let reason = if new {
            Some(if sight.marked {
                Reason::Marked
            } else {
                appeared
            })
        } else {
            change(&before, sight, related)
        };
        let author = if new {
            Author::Other
        } else {
            self.author(node, sight.version, source)
        };
        match (reason, author) {
            (None, _) => {}
            (Some(reason), Author::Own) => self.changed_by_itself(node, reason),
            (Some(reason), Author::Other) => self.changed_by_others(node, reason),
            (Some(reason), Author::Unknown) => {
                if let Some(run) = self.runs.get_mut(&node) {
                    run.writes.held.push((sight.version, reason));
                }
            }
        }
        if related {
            self.candidate(node);
        }
        if reason.is_some() || related {
            self.recount(node);
            self.flow(node);
        }
    }

    fn remember(&mut self, node: NodeId, sight: &Sight<K>) {
        self.set_order(node, &sight.order);
        let renamed = self.former_names.contains_key(&node);
        let object = self.object_mut(node);
        object.version = sight.version;
        object.content = sight.content;
        object.role = sight.role;
        object.presence = match (sight.marked, renamed) {
            (true, _) => Presence::Marked,
            (false, true) => Presence::Renamed,
            (false, false) => Presence::Live,
        };
    }

    /// Sets the refs of an object; says whether they changed.
    fn relate(&mut self, node: NodeId, refs: &[K]) -> bool {
        let before: Vec<_> = self.graph.refs(node).collect();
        let refs: Vec<_> = refs.iter().map(|key| self.graph.intern_ref(key)).collect();
        self.grow();
        let kept: BTreeSet<NodeId> = refs.iter().copied().collect();
        let lost = before.iter().filter(|to| !kept.contains(to));
        let lost: Vec<_> = lost.copied().collect();
        self.keep_past_refs(node, &lost);
        let changed = self.graph.set_refs(node, &refs, &mut self.ripple);
        if changed {
            self.cut_edges = true;
            for to in before {
                self.release(to);
            }
        }
        changed
    }

    fn author(&mut self, node: NodeId, version: Version, source: Source) -> Author {
        let own = self.own_versions.get_mut(&node).is_some_and(|versions| {
            let own = versions.contains(&version);
            versions.retain(|known| *known > version);
            own
        });
        if self.own_versions.get(&node).is_some_and(Vec::is_empty) {
            self.own_versions.remove(&node);
        }
        let run = self.runs.get(&node);
        let writing = run.is_some_and(|run| run.writes.under_way > 0);
        match source {
            // Between two lists somebody else's change may hide behind an own one.
            Source::List => Author::Other,
            Source::Watch if own => Author::Own,
            Source::Watch if writing => Author::Unknown,
            Source::Watch => Author::Other,
        }
    }

    /// Somebody else's change: the run is stale, the object must run, past failures don't count.
    pub(crate) fn changed_by_others(&mut self, node: NodeId, reason: Reason) {
        self.troubles.remove(&node);
        let touch = match reason {
            Reason::Marked => Touch::Marked,
            _ => Touch::Changed,
        };
        self.cancel(node, Cause::Object(touch));
        self.set_due(node, reason);
    }

    /// A run's own change: it goes on, and isn't repeated. Only its own mark brings another run, for
    /// which it wasn't made.
    pub(crate) fn changed_by_itself(&mut self, node: NodeId, reason: Reason) {
        if reason == Reason::Marked {
            self.set_due(node, reason);
        }
    }

    pub(crate) fn gone(&mut self, key: &K) {
        let Some(node) = self.graph.find(key) else {
            return;
        };
        if !self.object(node).exists() {
            return;
        }
        self.vanish(node);
        if let Some(run) = self.runs.get_mut(&node) {
            if run.writes.under_way > 0 {
                run.writes.held_gone = true;
            } else if !run.writes.removed {
                self.stop(node, Cause::Object(Touch::Gone));
            }
        }
        self.flow(node);
        self.release(node);
    }

    /// An object is no more; its dependents see a missing ref.
    fn vanish(&mut self, node: NodeId) {
        self.clear_due(node);
        self.clear_timer(node);
        let object = self.object_mut(node);
        object.presence = Presence::Missing;
        object.cyclic = false;
        self.troubles.remove(&node);
        self.former_names.remove(&node);
        self.own_versions.remove(&node);
        self.cut.remove(&node);
        self.relate(node, &[]);
        self.recount(node);
        self.release_waiting(node);
        self.trigger_dependents(node);
    }

    pub(crate) fn renamed(&mut self, from: &K, taken: bool, sight: &Sight<K>) {
        let found = self.graph.find(from);
        let old = found.filter(|node| !taken && self.object(*node).exists());
        let mut former = from.clone();
        // The removal of the former name may have been seen before; a run under it goes on all the same.
        self.keep_renamed(from, &sight.key);
        if let Some(old) = old {
            // A second rename before the first was carried out: the reconciler knows the first name,
            // unless the object has that one again and half of the first rename may be done.
            former = match self.former_names.remove(&old) {
                Some(first) if first.name != sight.key || !first.tried => first.name,
                Some(_) | None => former,
            };
            self.vanish(old);
            self.stop(old, Cause::Object(Touch::Renamed));
            self.flow(old);
        }
        let node = self.graph.intern(&sight.key);
        self.grow();
        self.release_waiting(node);
        self.look(sight, Reason::Renamed, Source::List);
        if former != sight.key {
            let former = Former {
                name: former,
                tried: false,
            };
            self.former_names.insert(node, former);
            self.remember(node, sight);
            self.changed_by_others(node, Reason::Renamed);
        }
        self.recount(node);
        self.flow(node);
        if let Some(old) = old {
            self.release(old);
        }
    }

    pub(crate) fn asked(&mut self, key: &K) {
        let node = self.graph.find(key);
        let Some(node) = node.filter(|node| self.object(*node).exists()) else {
            return;
        };
        self.cancel(node, Cause::Object(Touch::Asked));
        self.set_due(node, Reason::Asked);
        self.flow(node);
    }

    pub(crate) fn related(&mut self, key: &K) {
        let node = self.graph.find(key);
        let Some(node) = node.filter(|node| self.object(*node).exists()) else {
            return;
        };
        self.set_due(node, Reason::Related);
        self.flow(node);
    }

    pub(crate) fn time_reached(&mut self, key: &K, at_ms: u64) {
        let Some(node) = self.graph.find(key) else {
            return;
        };
        // A timer that was set anew or cleared may still have been on its way.
        let timer = self.timers.get(&node).filter(|timer| timer.at_ms == at_ms);
        let Some(timer) = timer.copied() else {
            return;
        };
        self.timers.remove(&node);
        if !self.waits_for_those_below(node, timer) {
            self.set_due(node, timer.reason);
            self.flow(node);
        }
    }
}

/// What a sight of an object that is known says about it.
fn change<K>(before: &Object, sight: &Sight<K>, related: bool) -> Option<Reason> {
    let role_changed = before.role != sight.role && sight.role == Role::Reconciled;
    if sight.marked && before.presence != Presence::Marked {
        Some(Reason::Marked)
    } else if related || sight.content != before.content || role_changed {
        Some(Reason::Changed)
    } else {
        None
    }
}
