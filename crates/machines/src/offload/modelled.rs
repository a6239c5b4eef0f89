//! A machine model as a side: its own time for each node, one node after another.

use super::{
    problem::{Side, TICK_SECONDS},
    recorded::SideModel,
};
use crate::{machine::Machine, report::as_f64};
use limbwise_graph::{Graph, NodeId};

/// A machine as a side of a certain program.
#[derive(Clone, Debug, PartialEq)]
pub struct Modelled {
    side: Side,
    /// By node; `None` where the machine's own units do not have it.
    seconds: Vec<Option<f64>>,
}

impl Modelled {
    /// A machine under a name, with one stream. Its balance is that of the fastest products and the fastest bytes that it
    /// reaches in this program.
    #[must_use]
    pub fn new(name: &'static str, machine: &dyn Machine, graph: &Graph) -> Self {
        let tick = machine.tick_seconds();
        let seconds: Vec<Option<f64>> =
            machine.own_ticks(graph).into_iter().map(|ticks| ticks.map(|ticks| as_f64(ticks) * tick)).collect();
        let (mut products_s, mut bytes_s) = (0.0f64, 0.0f64);
        for (id, seconds) in graph.ids().zip(&seconds) {
            if let Some(seconds) = seconds.filter(|&seconds| seconds > TICK_SECONDS) {
                let read = graph.operands(id).iter().map(|&operand| graph.value_bytes(operand));
                let bytes = read.fold(graph.value_bytes(id), u64::saturating_add);
                products_s = products_s.max(as_f64(graph.work(id).products()) / seconds);
                bytes_s = bytes_s.max(as_f64(bytes) / seconds);
            }
        }
        let balance = if bytes_s > 0.0 { products_s / bytes_s } else { 0.0 };
        Self { side: Side { name, streams: 1, balance }, seconds }
    }

    /// The same without the operations that a device does elsewhere.
    #[must_use]
    pub fn without(mut self, graph: &Graph, elsewhere: impl Fn(NodeId) -> bool) -> Self {
        graph.ids().zip(&mut self.seconds).filter(|(id, _)| elsewhere(*id)).for_each(|(_, seconds)| *seconds = None);
        self
    }
}

impl SideModel for Modelled {
    fn side(&self) -> Side {
        self.side
    }

    fn seconds(&self, _graph: &Graph, nodes: &[NodeId]) -> Option<f64> {
        nodes.iter().map(|id| self.seconds[id.index()]).sum()
    }
}
