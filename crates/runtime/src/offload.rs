//! A program divided between two devices: placed before it runs, by the machine models of both.
//!
//! The host's model is calibrated, and so is a GPU's; DPUs have the machine `upmem`. Each operation of the recording then
//! runs where the best placement has it, in program order, and what comes out does not depend on that. Where no division
//! beats one device alone, that device runs all of it, and the report says by how much.

use crate::{
    any_device::AnyDevice,
    calibrate::{Degrees, calibrated, gpu_spec},
    error::Result,
};
use limbwise_cuda::Cuda;
use limbwise_device::{
    Basis, HostRead, Hybrid, Shape,
    hybrid::{Assignment, Half, Shares},
};
use limbwise_graph::{Graph, NodeId, Op};
use limbwise_machines::{
    Machine, Spec, TaskKind, machine,
    offload::{
        ByKind, Duplex, Genetic, Heft, Link, MinCut, Modelled, MoveSeconds, OneSide, OperationId, Placement, Policy,
        Problem, Recorded, SideId, SideModel, Timetable, ValueId, lanes,
    },
};
use limbwise_upmem::{ModuliOrder, Options};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Instant;

const HOME: SideId = SideId(0);
const AWAY: SideId = SideId(1);
/// Latency of a copy between host and GPU: a launch and its return. Assumed, like the model's launch.
const COPY_SECONDS: f64 = 1e-5;
/// Bytes of the copy by which a GPU's link is measured.
const PROBE_LIMBS: usize = 16;

/// How a program is divided between two devices.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Division {
    /// Names of the devices, that of all operations first.
    pub devices: [String; 2],
    /// Predicted seconds of the best division that uses both; absent where the second has none of the operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divided_seconds: Option<f64>,
    /// Predicted seconds on each device alone; absent where it does not have all operations.
    pub alone_seconds: [Option<f64>; 2],
    /// Operations on each device, as placed.
    pub operations: [usize; 2],
    /// Predicted bytes between the devices.
    pub link_bytes: u64,
    /// Policy that found the placement.
    pub policy: String,
}

impl Division {
    /// Predicted seconds of the program as it is placed.
    pub fn seconds(&self) -> f64 {
        let alone = self.alone_seconds.into_iter().flatten();
        self.divided_seconds.into_iter().chain(alone).fold(f64::INFINITY, f64::min)
    }

    /// One sentence: what is gained, or that nothing is, and by how much.
    pub fn sentence(&self) -> String {
        let [home, away] = &self.devices;
        let best = self.alone_seconds.iter().zip(&self.devices).filter_map(|(s, name)| s.map(|s| (s, name)));
        let Some((alone, name)) = best.min_by(|a, b| a.0.total_cmp(&b.0)) else {
            return format!("offload: neither {home} nor {away} has all operations; they share the program");
        };
        let Some(divided) = self.divided_seconds else {
            return format!("offload: {away} has none of this program's operations; all of it runs on {home}");
        };
        if divided < alone {
            return format!(
                "offload: {} operations on {home} and {} on {away} take {divided:.3e} s by the models ({}), {name} alone {alone:.3e} s: {:.2} times as fast",
                self.operations[0],
                self.operations[1],
                self.policy,
                alone / divided
            );
        }
        format!(
            "offload: no placement on {home} and {away} is better than {name} alone: by the models the best that uses both takes {divided:.3e} s, {name} alone {alone:.3e} s ({:.2} times as fast); all of it runs on {name}",
            divided / alone
        )
    }
}

/// Places a recorded program on a device that divides it; `None` for any other device.
///
/// # Errors
/// Those of the calibration and of the models.
pub fn arrange(dev: &AnyDevice, graph: &Graph) -> Result<Option<Division>> {
    match dev {
        AnyDevice::CpuUpmem(both) => Ok(Some(with_dpus(dev, both, graph)?)),
        AnyDevice::CpuCuda(both) => Ok(Some(with_gpu(dev, both, graph)?)),
        _ => Ok(None),
    }
}

/// What to tell the reader after the run: what the division gained, and operations that it did not foresee.
pub(crate) fn sentences(dev: &AnyDevice, division: Option<&Division>) -> Vec<String> {
    let strayed = shares(dev).map_or(0, |shares| shares.strayed);
    let unforeseen = (strayed > 0).then(|| format!("offload: {strayed} operations were not recorded and ran on cpu"));
    division.map(Division::sentence).into_iter().chain(unforeseen).collect()
}

/// What was done where since [`arrange`]; `None` for a device that divides nothing.
pub fn shares(dev: &AnyDevice) -> Option<Shares> {
    match dev {
        AnyDevice::CpuUpmem(both) => Some(both.shares()),
        AnyDevice::CpuCuda(both) => Some(both.shares()),
        _ => None,
    }
}

/// log₂ of the largest ring of a program, and of that of its blind rotations.
fn degrees(graph: &Graph) -> Degrees {
    let log_n = |id: NodeId| graph.lwe_shape(id).is_none().then(|| graph.shape(id).ring.log_n());
    let rotated = graph.ids().filter(|&id| graph.node(id).op() == Op::MonomialMul).filter_map(log_n).max();
    [graph.ids().filter_map(log_n).max(), rotated]
}

/// The host's model of a program. Before a run the plan has calibrated the host for the same rings, so nothing is said of
/// it; an evaluation from files has no plan and may measure here, for seconds.
fn host_model(dev: &AnyDevice, graph: &Graph) -> Result<Modelled> {
    let cpu = machine::open(&calibrated(dev, degrees(graph), |_| {})?.spec()?)?;
    Ok(Modelled::new("cpu", &*cpu, graph))
}

/// The other device has no seeds to expand.
fn away_model(name: &'static str, machine: &dyn Machine, graph: &Graph) -> Modelled {
    Modelled::new(name, machine, graph).without(graph, |id| graph.node(id).op().is_input())
}

fn with_dpus<D>(dev: &AnyDevice, both: &Hybrid<D, crate::any_device::Dpus>, graph: &Graph) -> Result<Division> {
    let Options { dpus, tasklets, link, order, .. } = both.away().options();
    let order = if *order == ModuliOrder::ByRank { "by-rank" } else { "sequential" };
    let spec = Spec::load("upmem")?.with_overrides(&[
        ("dpus", dpus.to_string()),
        ("tasklets", tasklets.to_string()),
        ("transfer_preset", link.name.to_owned()),
        ("moduli_order", order.to_owned()),
    ])?;
    let machine = machine::Upmem::new(&spec)?;
    let (host, units) = (host_model(dev, graph)?, away_model("upmem", &machine, graph));
    let links = [(HOME, AWAY, Link { bandwidth_gb_s: machine.link_gb_s(), ..Link::new(1.0, 0.0, Duplex::Half) })];
    if graph.ids().any(|id| graph.node(id).op().is_tfhe()) {
        return place(both, (graph, &host, &units), &links, None);
    }
    let seconds = machine.move_seconds(graph);
    let moves = |value: NodeId, basis: Basis, [_, to]: [SideId; 2]| {
        Some(seconds(value, basis, if to == AWAY { TaskKind::Load } else { TaskKind::Store }))
    };
    place(both, (graph, &host, &units), &links, Some(&moves))
}

fn with_gpu<D>(dev: &AnyDevice, both: &Hybrid<D, Cuda>, graph: &Graph) -> Result<Division> {
    let gpu = machine::open(&gpu_spec(both.away(), degrees(graph))?)?;
    let (host, gpu) = (host_model(dev, graph)?, away_model("cuda", &*gpu, graph));
    let largest = graph.ids().filter(|&id| graph.lwe_shape(id).is_none()).map(|id| graph.shape(id));
    let bandwidth_gb_s = match largest.max_by_key(|shape| shape.ring.log_n()) {
        Some(shape) => copied_gb_s(both.away(), shape)?,
        None => [1.0; 2],
    };
    let links = [(HOME, AWAY, Link { bandwidth_gb_s, ..Link::new(1.0, COPY_SECONDS, Duplex::Full) })];
    place(both, (graph, &host, &gpu), &links, None)
}

/// Bandwidth to a device and back, through the seam as a divided program copies.
fn copied_gb_s<D: HostRead>(dev: &D, like: &Shape) -> Result<[f64; 2]> {
    let ring = dev.ring(like.ring.spec()).map_err(limbwise::Error::Ring)?;
    let shape = Shape::eval(&ring, Basis::single(0)).with_batch(PROBE_LIMBS);
    let gb = shape.bytes() as f64 / 1e9;
    let upload = || dev.upload(&shape, limbwise_device::Role::Temporary, &|_, row| row.fill(1));
    let device = limbwise::Error::Device;
    drop(upload());
    dev.sync().map_err(device)?;
    let begin = Instant::now();
    let there = upload();
    dev.sync().map_err(device)?;
    let to = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    dev.download(&there).map_err(device)?;
    let back = begin.elapsed().as_secs_f64();
    Ok([to, back].map(|seconds| gb / seconds.max(1e-9)))
}

/// A placement with the policy that found it, timed in program order, as it will run.
struct Found {
    policy: &'static str,
    placement: Placement,
    table: Timetable,
}

/// Finds the best placement and gives it to the device.
fn place<H, D>(
    both: &Hybrid<H, D>,
    (graph, home, away): (&Graph, &Modelled, &Modelled),
    links: &[(SideId, SideId, Link)],
    move_seconds: Option<MoveSeconds<'_>>,
) -> Result<Division> {
    let sides: [&dyn SideModel; 2] = [home, away];
    let recorded = Recorded { move_seconds, ..Recorded::new(graph, &sides, links) };
    let problem = recorded.problem().map_err(limbwise_machines::MachineError::from)?;
    let alone = [HOME, AWAY].map(|side| found(&problem, &OneSide(side)));
    let policies: [&dyn Policy; 4] = [&MinCut, &Heft, &ByKind, &Genetic::default()];
    let divided = policies.iter().filter_map(|policy| found(&problem, *policy));
    let divided = divided.filter(|found| found.table.operations(&problem).iter().all(|&count| count > 0));
    let divided = divided.min_by_key(|found| found.table.makespan).or_else(|| one_away(&problem));
    let alone_seconds = alone.each_ref().map(|found| found.as_ref().map(|found| found.table.seconds()));
    let divided_seconds = divided.as_ref().map(|found| found.table.seconds());
    let best = alone.into_iter().flatten().chain(divided).min_by_key(|found| found.table.makespan);
    let best = best.expect("the host has every operation");
    both.assign(assignment(graph, &problem, &best.placement));
    let count = best.table.operations(&problem);
    let names = lanes::units(&problem);
    Ok(Division {
        devices: [names[0].to_owned(), names[1].to_owned()],
        divided_seconds,
        alone_seconds,
        operations: [count[0], count[1]],
        link_bytes: best.table.link_bytes(&problem),
        policy: best.policy.to_owned(),
    })
}

fn found(problem: &Problem, policy: &dyn Policy) -> Option<Found> {
    let Placement { side, .. } = policy.place(problem).ok()?;
    let placement = Placement::in_program_order(side);
    let table = Timetable::of(problem, &placement);
    Some(Found { policy: policy.name(), placement, table })
}

/// All operations at home but the one that costs least to place away, with the copies of its operands and results: the
/// division to name where every policy leaves the second device idle. `None` where that device has none of the operations.
fn one_away(problem: &Problem) -> Option<Found> {
    let transfers = |values: &[ValueId], from, to| -> u64 {
        values.iter().map(|&value| problem.transfer_ticks(value, from, to)).sum()
    };
    let added = |id: OperationId| {
        let away = problem.ticks(id, AWAY)?
            + transfers(problem.reads(id), HOME, AWAY)
            + transfers(problem.makes(id), AWAY, HOME);
        Some((i128::from(away) - i128::from(problem.ticks(id, HOME)?), id))
    };
    let (_, moved) = problem.operations().filter_map(added).min()?;
    let mut side = vec![HOME; problem.len()];
    side[moved.index()] = AWAY;
    let placement = Placement::in_program_order(side);
    let table = Timetable::of(problem, &placement);
    Some(Found { policy: "one operation", placement, table })
}

/// The placement by the names of operations, in program order. Inputs are made at home without being asked for.
fn assignment(graph: &Graph, problem: &Problem, placement: &Placement) -> Assignment {
    let half = |side: SideId| if side == HOME { Half::Home } else { Half::Away };
    let mut sides = placement.side.iter().copied();
    match sides.next() {
        Some(first) if sides.all(|side| side == first) => return Assignment::Whole(half(first)),
        None => return Assignment::Whole(Half::Home),
        Some(_) => {}
    }
    let each = problem.operations().zip(&placement.side).map(|(id, &side)| (problem.nodes(id)[0], half(side)));
    let asked = each.filter(|(node, _)| !graph.node(*node).op().is_input());
    Assignment::Each(asked.map(|(node, half)| (graph.node(node).op().name(), half)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use limbwise_machines::offload::{Draft, DraftOperation, Side};

    /// Two operations in a row; the second is on both devices, and slower away by what is given.
    fn two_operations(away_seconds: Option<f64>) -> Problem {
        let mut draft = Draft::new(["cpu", "upmem"].map(|name| Side { name, streams: 1, balance: 1.0 }).to_vec());
        draft.link(HOME, AWAY, Link::new(1.0, 1e-6, Duplex::Half));
        let first = draft.operation(DraftOperation::new(NodeId(0), &[Some(1e-3), None]), []);
        let value = draft.value(first, 1000);
        draft.operation(DraftOperation::new(NodeId(1), &[Some(1e-3), away_seconds]), [value]);
        draft.build().unwrap()
    }

    #[test]
    fn a_device_that_no_policy_uses_is_named_with_what_it_costs() {
        let problem = two_operations(Some(1.0));
        let found = one_away(&problem).unwrap();
        assert_eq!(found.table.operations(&problem), [1, 1]);
        assert!(found.table.seconds() > 1.0);
        assert!(one_away(&two_operations(None)).is_none());
    }

    #[test]
    fn the_sentence_says_what_is_gained_or_lost() {
        let division = |divided_seconds, alone_seconds| Division {
            devices: ["cpu".into(), "upmem".into()],
            divided_seconds,
            alone_seconds,
            operations: [3, 2],
            link_bytes: 0,
            policy: "heft".into(),
        };
        let better = division(Some(0.5), [Some(1.0), None]);
        assert_eq!(
            (better.sentence().as_str(), better.seconds()),
            (
                "offload: 3 operations on cpu and 2 on upmem take 5.000e-1 s by the models (heft), cpu alone 1.000e0 s: 2.00 times as fast",
                0.5
            )
        );
        let worse = division(Some(3.0), [Some(1.0), Some(2.0)]);
        assert_eq!(
            (worse.sentence().as_str(), worse.seconds()),
            (
                "offload: no placement on cpu and upmem is better than cpu alone: by the models the best that uses both takes 3.000e0 s, cpu alone 1.000e0 s (3.00 times as fast); all of it runs on cpu",
                1.0
            )
        );
        let none = division(None, [Some(1.0), None]).sentence();
        assert_eq!(none, "offload: upmem has none of this program's operations; all of it runs on cpu");
    }
}
