//! NSGA-II: who of a population survives where two costs count. Source: \[DPAM02\].
//!
//! Those that nobody beats in both costs come first, then those that only these beat, and so on; of the last front that
//! has room, those that stand alone. With one cost, given twice, that is the order of that cost.

/// Two costs, of which less is better.
pub(super) type Costs = [f64; 2];

/// Whether one is no worse in both costs and better in one.
pub(super) fn dominates(a: &Costs, b: &Costs) -> bool {
    a[0] <= b[0] && a[1] <= b[1] && (a[0] < b[0] || a[1] < b[1])
}

/// Positions by front, the best front first.
pub(super) fn fronts(costs: &[Costs]) -> Vec<Vec<usize>> {
    let mut beaten_by: Vec<usize> =
        costs.iter().map(|own| costs.iter().filter(|other| dominates(other, own)).count()).collect();
    let mut left: Vec<usize> = (0..costs.len()).collect();
    let mut fronts = Vec::new();
    while !left.is_empty() {
        let (front, others): (Vec<usize>, Vec<usize>) = left.iter().partition(|&&at| beaten_by[at] == 0);
        for &at in &others {
            beaten_by[at] -= front.iter().filter(|&&own| dominates(&costs[own], &costs[at])).count();
        }
        fronts.push(front);
        left = others;
    }
    fronts
}

/// How far each of a front is from its neighbours, in both costs; the ends are infinitely far.
fn crowding(costs: &[Costs], front: &[usize]) -> Vec<f64> {
    let mut distance = vec![0.0; front.len()];
    for which in [0, 1] {
        let cost = |at: usize| costs[front[at]][which];
        let mut order: Vec<usize> = (0..front.len()).collect();
        order.sort_by(|&a, &b| cost(a).total_cmp(&cost(b)));
        let (Some(&first), Some(&last)) = (order.first(), order.last()) else { continue };
        let span = (cost(last) - cost(first)).max(f64::MIN_POSITIVE);
        distance[first] = f64::INFINITY;
        distance[last] = f64::INFINITY;
        for three in order.windows(3) {
            distance[three[1]] += (cost(three[2]) - cost(three[0])) / span;
        }
    }
    distance
}

/// Positions of the survivors, the best first.
pub(super) fn survivors(costs: &[Costs], most: usize) -> Vec<usize> {
    let mut kept = Vec::with_capacity(most);
    for front in fronts(costs) {
        let distance = crowding(costs, &front);
        let mut order: Vec<usize> = (0..front.len()).collect();
        order.sort_by(|&a, &b| distance[b].total_cmp(&distance[a]).then(front[a].cmp(&front[b])));
        kept.extend(order.into_iter().map(|at| front[at]).take(most - kept.len()));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fronts_are_peeled_and_the_crowded_leave_first() {
        let costs = [[1.0, 5.0], [2.0, 2.0], [5.0, 1.0], [3.0, 3.0], [2.1, 1.9], [6.0, 6.0]];
        assert_eq!(fronts(&costs), [vec![0, 1, 2, 4], vec![3], vec![5]]);
        // Of the first front both ends stay, and the one whose neighbours are further apart.
        let kept = survivors(&costs, 3);
        assert_eq!(&kept[..2], [0, 2]);
        assert_eq!(kept.len(), 3);
        assert_eq!(survivors(&costs, 6).len(), 6);
    }

    #[test]
    fn one_cost_is_a_plain_order() {
        let costs: Vec<Costs> = [3.0, 1.0, 2.0].iter().map(|&x| [x, x]).collect();
        assert_eq!(survivors(&costs, 2), [1, 2]);
    }
}
