//! Timing probes, tight: at t − 1 blocked, at t free.

use crate::{
    programs::{input, open},
    toy::{Toy, stage},
};
use limbwise_device::{Device, Role, Shape};
use limbwise_graph::Graph;
use limbwise_machines::{
    Machine, MachineError,
    check::{Violation, check},
    dram::Stream,
    program::{Order, Pool, Stage},
    scratchpad::OffChip,
};

/// So many nodes; each but the first reads the one before, or none reads any.
fn nodes(count: usize, chained: bool) -> Graph {
    let (dev, ring) = open(10, 1);
    let mut values = vec![dev.zeros(&Shape::eval(&ring, ring.full()))];
    for _ in 1..count {
        values.push(if chained {
            dev.copy(&values[values.len() - 1])
        } else {
            dev.zeros(&Shape::eval(&ring, ring.full()))
        });
    }
    let graph = dev.graph();
    drop(values);
    graph
}

#[test]
fn a_unit_takes_the_next_task_when_it_is_free() {
    Toy::new(false, &[stage(0, 10, 7, 1), stage(0, 5, 0, 1)]).tight(&nodes(2, false), 1, 10);
}

#[test]
fn a_value_is_there_when_it_left_the_pipeline() {
    let graph = nodes(2, true);
    Toy::new(false, &[stage(0, 10, 7, 5), stage(1, 5, 0, 5)]).tight(&graph, 1, 17);
    let whole = Stage { whole_input: true, ..stage(1, 5, 0, 5) };
    Toy::new(true, &[stage(0, 10, 7, 5), whole]).tight(&graph, 1, 17);
}

#[test]
fn streaming_starts_at_the_first_part_but_never_overtakes() {
    let graph = nodes(2, true);
    let second = |occupancy| Toy::new(true, &[stage(0, 10, 7, 5), stage(1, occupancy, 0, 5)]);
    second(10).tight(&graph, 1, 9); // 7 + one part of 2
    second(20).tight(&graph, 1, 9); // a slower one cannot overtake
    second(5).tight(&graph, 1, 13); // a faster one waits: its last part at 17
}

#[test]
fn stages_of_a_node_follow_one_another() {
    let toy = Toy { costs: vec![vec![stage(0, 10, 2, 1), stage(1, 4, 0, 1)]], ..Toy::new(false, &[]) };
    toy.tight(&nodes(1, false), 1, 12);
}

#[test]
fn a_wide_unit_takes_what_fits_beside_others() {
    let half = |occupancy| Stage { width: 2, ..stage(0, occupancy, 0, 1) };
    let whole = Stage { width: 4, ..stage(0, 5, 0, 1) };
    let wide = |stages: &[Stage]| Toy { widths: [4, 1], ..Toy::new(false, stages) };
    let graph = nodes(3, false);
    assert_eq!(wide(&[half(10), half(6), half(3)]).starts(&graph), [0, 0, 6]);
    wide(&[half(10), half(6), half(3)]).tight(&graph, 2, 6);
    // The first in the plan is not overtaken on its unit, so it cannot starve.
    assert_eq!(wide(&[half(10), whole, half(3)]).starts(&graph), [0, 10, 15]);
    let busy = wide(&[half(10), half(6), half(3)]).schedule(&graph).unwrap().busy();
    assert_eq!(busy, [10, 0]); // 19 ticks of half the unit
}

#[test]
fn units_share_a_bandwidth() {
    let pools = vec![Pool::new("port", 100.0)];
    let draws = |unit, occupancy, bytes: u64| stage(unit, occupancy, 0, 1).drawing(&pools, &[bytes]);
    let toy = |stages: &[Stage]| Toy { pools: pools.clone(), ..Toy::new(false, stages) };
    let graph = nodes(2, false);
    assert_eq!(toy(&[draws(0, 10, 600), draws(1, 10, 400)]).starts(&graph), [0, 0]);
    toy(&[draws(0, 10, 600), draws(1, 10, 401)]).tight(&graph, 1, 10);
    // Alone it takes as long as the port takes for its bytes.
    assert_eq!(draws(0, 10, 2500).occupancy, 25);
    let both = toy(&[draws(0, 10, 600), draws(1, 10, 400)]).schedule(&graph).unwrap();
    assert_eq!(both.drawn_bytes(), [1000]);
}

#[test]
fn free_units_take_the_first_of_the_plan() {
    let graph = {
        let (dev, ring) = open(10, 1);
        let a = dev.zeros(&Shape::eval(&ring, ring.full()));
        let b = dev.copy(&a);
        let rest: Vec<_> = (0..3).map(|_| dev.zeros(&Shape::eval(&ring, ring.full()))).collect();
        let graph = dev.graph();
        drop((a, b, rest));
        graph
    };
    let stages = [stage(0, 10, 0, 1), stage(1, 3, 0, 1), stage(1, 4, 0, 1), stage(1, 4, 0, 1), stage(1, 4, 0, 1)];
    let list = Toy::new(false, &stages);
    assert_eq!(list.starts(&graph), [0, 12, 0, 4, 8]); // those after the second fill the gap before it
    let schedule = list.schedule(&graph).unwrap();
    let path: Vec<(u32, u64)> = schedule.critical_path().iter().map(|(id, ticks)| (id.0, *ticks)).collect();
    assert_eq!(path, [(1, 3), (4, 4), (3, 4), (2, 4)]);
    assert_eq!((schedule.ticks(), schedule.busy()), (15, vec![10, 15]));
    let in_order = Toy { order: Order::InOrder, ..list };
    assert_eq!(in_order.starts(&graph), [0, 10, 13, 17, 21]);
    let mut early = in_order.schedule(&graph).unwrap();
    early.start = vec![0, 12, 0, 4, 8];
    assert!(check(&graph, &in_order, &early).is_err());
}

/// A memory of so many limbs of 8192 bytes, of which it moves one in 100 ticks; loads are on unit b.
fn memory(limbs: u64, ahead: u64) -> OffChip {
    OffChip {
        unit: 1,
        stream: Stream::Bandwidth { bytes_per_tick: 81.92, latency: 7, burst_bytes: 64 },
        capacity_bytes: limbs * 8192,
        capacity_field: "memory.toy",
        prefetch_bytes: ahead * 8192,
        results_bytes: 0,
        makes_seeds: false,
    }
}

/// Products of each of three inputs with itself, in this order; results are not kept.
fn products(order: &[usize]) -> Graph {
    let (dev, ring) = open(10, 1);
    let inputs: Vec<_> = (0..3).map(|_| input(&dev, &ring, 1, Role::Plaintext)).collect();
    for &i in order {
        dev.mul(&inputs[i], &inputs[i]);
    }
    drop(inputs);
    dev.graph()
}

#[test]
fn room_is_free_when_its_readers_have_taken_it() {
    let graph = products(&[0, 1, 2]);
    let toy = |limbs, ahead| Toy { memory: Some(memory(limbs, ahead)), ..Toy::new(false, &[stage(0, 10, 3, 1); 6]) };
    // Room for one: the next load begins when the product has taken what was there, not when it is out.
    assert_eq!(toy(1, 0).starts(&graph), [0, 107, 117, 224, 234, 341]);
    toy(1, 0).tight(&graph, 2, 117);
    // Room for two: a load is under way while the one before is used.
    assert_eq!(toy(2, 1).starts(&graph), [0, 100, 107, 200, 207, 307]);
    // Room for three: all loads come first in the plan.
    assert_eq!(toy(3, 2).starts(&graph), [0, 100, 200, 107, 207, 307]);
    // One of the three is for results under way: loads ahead leave it alone.
    let memory = OffChip { results_bytes: 8192, ..memory(3, 1) };
    let toy = Toy { memory: Some(memory), ..toy(3, 1) };
    assert_eq!(toy.starts(&graph), [0, 100, 107, 200, 207, 307]);
}

#[test]
fn memory_is_watched_in_time() {
    let graph = products(&[0, 1, 2]);
    let toy = Toy { memory: Some(memory(1, 0)), ..Toy::new(false, &[stage(0, 10, 3, 1); 6]) };
    let mut late = toy.schedule(&graph).unwrap();
    // In the order of the plan there is one at a time; but all products wait until everything is loaded.
    for task in [1, 3, 5] {
        late.start[task] += 1000;
    }
    let wanted = Violation::Capacity { tick: 117, bytes: 2 * 8192, capacity: 8192 };
    assert_eq!(check(&graph, &toy, &late), Err(wanted));
}

#[test]
fn nothing_is_overwritten_while_somebody_reads_it() {
    let (dev, ring) = open(10, 1);
    let input = input(&dev, &ring, 1, Role::Plaintext);
    let a = dev.copy(&input); // node 1
    let reader = dev.mul(&a, &input); // node 2 reads it
    let b = dev.ntt(dev.intt(a)); // nodes 3 and 4 work in its room
    let graph = dev.graph();
    drop((reader, b, input));
    let mut toy = Toy::new(false, &[stage(0, 10, 0, 1); 5]);
    toy.costs[2] = vec![stage(1, 50, 0, 1)];
    toy.memory = Some(memory(3, 0));
    let starts = toy.starts(&graph);
    assert_eq!(starts[3], starts[2] + 50);
    toy.tight(&graph, 3, starts[3]);
}

#[test]
fn what_does_not_fit_is_said() {
    let toy = Toy { memory: Some(memory(3, 2)), ..Toy::new(false, &[stage(0, 10, 3, 1); 6]) };
    let (dev, ring) = open(10, 2);
    let two = dev.copy(&input(&dev, &ring, 2, Role::Plaintext));
    let graph = dev.graph();
    drop(two);
    let got = toy.schedule(&graph).unwrap_err();
    assert!(matches!(got, MachineError::NoRoom { needs: 16_384, room: 8192, missing: 8192, ahead: 16_384, .. }));
    let text = "copy (node 1, region \"\") needs 16384 bytes at once on the chip of machine \"cpu\", which has 8192 for it \
                and keeps 16384 for loads ahead and results under way: 8192 bytes are missing; raise memory.toy, or run a smaller batch";
    assert_eq!(got.to_string(), text);
}
