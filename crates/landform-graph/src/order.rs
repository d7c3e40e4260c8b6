//! A total order of places, in which a place can be added before or behind any other.
//!
//! Places are a linked list with 64-bit labels: comparing two is comparing labels. Where no label is
//! free between two places, the labels of a stretch around them are spread anew.

use crate::NONE;

/// The distance of places that are added at an end.
const GAP: u64 = 1 << 32;
const MIDDLE: u64 = 1 << 63;

#[derive(Clone, Copy)]
struct Place {
    label: u64,
    next: u32,
    previous: u32,
}

/// The list of places.
#[derive(Clone)]
pub(crate) struct Order {
    places: Vec<Place>,
    free: Vec<u32>,
    first: u32,
    last: u32,
}

impl Order {
    pub(crate) fn new() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
            first: NONE,
            last: NONE,
        }
    }

    pub(crate) fn label(&self, place: u32) -> u64 {
        self.places[place as usize].label
    }

    /// Adds a place before all others.
    pub(crate) fn add_first(&mut self) -> u32 {
        self.add_between(NONE, self.first)
    }

    /// Adds a place behind all others.
    pub(crate) fn add_last(&mut self) -> u32 {
        self.add_between(self.last, NONE)
    }

    /// Adds a place right behind another one.
    pub(crate) fn add_after(&mut self, place: u32) -> u32 {
        self.add_between(place, self.places[place as usize].next)
    }

    /// Takes a place out of the order.
    pub(crate) fn remove(&mut self, place: u32) {
        let Place { next, previous, .. } = self.places[place as usize];
        self.join(previous, next);
        self.free.push(place);
    }

    fn add_between(&mut self, previous: u32, next: u32) -> u32 {
        let label = self.label_between(previous, next).unwrap_or_else(|| {
            self.spread(if previous == NONE { next } else { previous });
            self.label_between(previous, next).unwrap_or(MIDDLE)
        });
        let new = Place {
            label,
            next: NONE,
            previous: NONE,
        };
        let place = if let Some(place) = self.free.pop() {
            self.places[place as usize] = new;
            place
        } else {
            self.places.push(new);
            u32::try_from(self.places.len() - 1).unwrap_or(NONE)
        };
        self.join(previous, place);
        self.join(place, next);
        place
    }

    fn join(&mut self, previous: u32, next: u32) {
        if previous == NONE {
            self.first = next;
        } else {
            self.places[previous as usize].next = next;
        }
        if next == NONE {
            self.last = previous;
        } else {
            self.places[next as usize].previous = previous;
        }
    }

    fn label_between(&self, previous: u32, next: u32) -> Option<u64> {
        match (previous, next) {
            (NONE, NONE) => Some(MIDDLE),
            (NONE, next) => {
                let label = self.label(next);
                label
                    .checked_sub(GAP)
                    .or_else(|| (label > 0).then_some(label / 2))
            }
            (previous, NONE) => {
                let label = self.label(previous);
                let room = u64::MAX - label;
                label
                    .checked_add(GAP)
                    .or_else(|| (room > 0).then_some(label + room.div_ceil(2)))
            }
            (previous, next) => {
                let (low, high) = (self.label(previous), self.label(next));
                (high - low > 1).then_some(low + (high - low) / 2)
            }
        }
    }

    /// Spreads the labels around a place: the stretch doubles until it has room for all in it,
    /// eight times over. The whole list is the last resort and has room for 2³² places.
    fn spread(&mut self, around: u32) {
        let (mut low, mut high) = (around, around);
        let (mut count, mut wanted) = (1_u64, 8_u64);
        loop {
            while count < wanted {
                let (previous, next) = (
                    self.places[low as usize].previous,
                    self.places[high as usize].next,
                );
                if previous == NONE && next == NONE {
                    break;
                }
                if previous != NONE {
                    low = previous;
                    count += 1;
                }
                if next != NONE {
                    high = next;
                    count += 1;
                }
            }
            let before = self.places[low as usize].previous;
            let behind = self.places[high as usize].next;
            let whole = before == NONE && behind == NONE;
            let from = if before == NONE {
                0
            } else {
                self.label(before)
            };
            let to = if behind == NONE {
                u64::MAX
            } else {
                self.label(behind)
            };
            let step = (to - from) / (count + 1);
            if step >= 8 || whole {
                self.relabel(low, high, from, step.max(1));
                return;
            }
            wanted *= 2;
        }
    }

    fn relabel(&mut self, low: u32, high: u32, from: u64, step: u64) {
        let (mut at, mut label) = (low, from);
        loop {
            label += step;
            self.places[at as usize].label = label;
            if at == high {
                return;
            }
            at = self.places[at as usize].next;
        }
    }

    #[cfg(test)]
    pub(crate) fn is_sorted(&self) -> bool {
        let mut at = self.first;
        while at != NONE {
            let next = self.places[at as usize].next;
            if next != NONE && self.label(next) <= self.label(at) {
                return false;
            }
            at = next;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::Order;

    #[test]
    fn a_crowded_spot_is_spread_and_stays_sorted() {
        let mut order = Order::new();
        let first = order.add_last();
        order.add_last();
        order.add_first();
        for _ in 0..5_000 {
            order.add_after(first);
        }
        assert!(order.is_sorted());
    }

    #[test]
    fn taking_and_adding_in_the_same_spot_needs_no_more_labels() {
        let mut order = Order::new();
        let first = order.add_last();
        let last = order.add_last();
        let labels = (order.label(first), order.label(last));
        for _ in 0..1_000 {
            let place = order.add_after(first);
            order.remove(place);
        }
        assert_eq!((order.label(first), order.label(last)), labels);
    }
}
