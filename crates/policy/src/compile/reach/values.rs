//! Sets of values of one field, as sorted intervals that neither overlap nor touch.

use ipnet::IpNet;

/// A value; the first part keeps apart what never compares, such as the two families of addresses.
type Point = (u8, u128);

/// First and last value, both included.
type Interval = (Point, Point);

/// Some values of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Values(Vec<Interval>);

impl Values {
    /// From intervals in any order.
    pub fn new(intervals: impl IntoIterator<Item = Interval>) -> Self {
        let mut sorted: Vec<Interval> = intervals.into_iter().collect();
        sorted.sort_unstable();
        let mut joined: Vec<Interval> = Vec::with_capacity(sorted.len());
        for (first, last) in sorted {
            match joined.last_mut() {
                Some((_, end)) if first <= *end || successor(*end) == Some(first) => *end = last.max(*end),
                _ => joined.push((first, last)),
            }
        }
        Self(joined)
    }

    /// From numbers, first and last.
    pub fn numbers<T: Into<u128>>(ranges: impl IntoIterator<Item = (T, T)>) -> Self {
        Self::new(ranges.into_iter().map(|(first, last)| ((0, first.into()), (0, last.into()))))
    }

    /// From prefixes; those of different families have no address in common.
    pub fn prefixes(prefixes: &[IpNet]) -> Self {
        Self::new(prefixes.iter().map(|prefix| match prefix {
            IpNet::V4(prefix) => {
                ((4, prefix.network().to_bits().into()), (4, prefix.broadcast().to_bits().into()))
            }
            IpNet::V6(prefix) => ((6, prefix.network().to_bits()), (6, prefix.broadcast().to_bits())),
        }))
    }

    /// The values of any of these.
    pub fn union<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        Self::new(all.into_iter().flat_map(|values| values.0.iter().copied()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether every value of `other` is here.
    pub fn contains(&self, other: &Self) -> bool {
        let holder = |first: &Point| self.0.partition_point(|(start, _)| start <= first).checked_sub(1);
        other.0.iter().all(|(first, last)| holder(first).is_some_and(|index| *last <= self.0[index].1))
    }

    /// Whether some value is in both.
    pub fn intersects(&self, other: &Self) -> bool {
        let (few, many) = if self.0.len() < other.0.len() { (self, other) } else { (other, self) };
        let before = |last: &Point| many.0.partition_point(|(start, _)| start <= last).checked_sub(1);
        few.0.iter().any(|(first, last)| before(last).is_some_and(|index| many.0[index].1 >= *first))
    }
}

fn successor((part, value): Point) -> Option<Point> {
    value.checked_add(1).map(|next| (part, next))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports(ranges: &[(u16, u16)]) -> Values {
        Values::numbers(ranges.iter().copied())
    }

    fn prefixes(texts: &[&str]) -> Values {
        let prefixes: Vec<IpNet> = texts.iter().map(|text| text.parse().unwrap()).collect();
        Values::prefixes(&prefixes)
    }

    #[test]
    fn neighbours_join() {
        assert_eq!(ports(&[(101, 200), (1, 100), (5, 7)]), ports(&[(1, 200)]));
        assert_ne!(ports(&[(1, 99), (101, 200)]), ports(&[(1, 200)]));
        assert_eq!(prefixes(&["128.0.0.0/1", "0.0.0.0/1"]), prefixes(&["0.0.0.0/0"]));
        assert_eq!(prefixes(&["::/1", "8000::/1"]), prefixes(&["::/0"]));
    }

    #[test]
    fn families_are_apart() {
        assert!(!prefixes(&["::/0"]).contains(&prefixes(&["192.0.2.0/24"])));
        assert!(!prefixes(&["0.0.0.0/0"]).intersects(&prefixes(&["::/96"])));
        assert!(prefixes(&["0.0.0.0/0", "::/0"]).contains(&prefixes(&["192.0.2.0/24", "2001:db8::/32"])));
    }

    #[test]
    fn containment_and_intersection() {
        let two = ports(&[(10, 20), (30, 40)]);
        assert!(two.contains(&ports(&[(10, 10), (35, 40)])));
        assert!(!two.contains(&ports(&[(15, 35)])) && two.intersects(&ports(&[(15, 35)])));
        assert!(!two.intersects(&ports(&[(21, 29)])) && !two.intersects(&ports(&[(0, 9), (41, 65535)])));
        assert!(two.intersects(&ports(&[(0, 10)])) && two.intersects(&ports(&[(40, 50)])));
        assert!(two.contains(&Values::default()) && !two.intersects(&Values::default()));
    }
}
