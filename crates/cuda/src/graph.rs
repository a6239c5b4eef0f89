//! CUDA graphs: sequences of launches with all arguments, built once and launched together.
//!
//! Graphs are built node by node, not captured: a capture would forbid other threads to make unrelated calls. A node
//! copies its arguments, so the host's buffers may be freed.

use crate::{
    driver::Failure,
    gpu::{Gpu, arguments, failure},
    launch::Launch,
};
use cudarc::driver::{result, sys};
use std::{collections::HashMap, ptr};

/// Discarded graphs that may accumulate before a wait is forced to destroy them.
const GIVEN_UP: usize = 256;

/// All graphs of a GPU by number.
#[derive(Default)]
pub(crate) struct Graphs {
    live: HashMap<u64, sys::CUgraphExec>,
    /// Discarded graphs that may still be running.
    given_up: Vec<sys::CUgraphExec>,
    next: u64,
}

impl Graphs {
    pub(crate) fn keep(&mut self, graph: sys::CUgraphExec) -> u64 {
        self.next += 1;
        self.live.insert(self.next, graph);
        self.next
    }

    pub(crate) fn get(&self, number: u64) -> sys::CUgraphExec {
        self.live[&number]
    }

    /// Discards a graph, to be destroyed when no work runs. Returns whether that should happen soon.
    pub(crate) fn give_up(&mut self, number: u64) -> bool {
        self.given_up.extend(self.live.remove(&number));
        self.given_up.len() >= GIVEN_UP
    }

    /// Takes the discarded graphs, to be destroyed after the work submitted so far.
    pub(crate) fn take_discarded(&mut self) -> Vec<sys::CUgraphExec> {
        std::mem::take(&mut self.given_up)
    }

    /// Takes all graphs.
    pub(crate) fn all(&mut self) -> Vec<sys::CUgraphExec> {
        self.live.drain().map(|(_, graph)| graph).chain(self.given_up.drain(..)).collect()
    }
}

/// Destroys graphs that are not running.
pub(crate) fn destroy(graphs: Vec<sys::CUgraphExec>) {
    for graph in graphs {
        // SAFETY: instantiated by `put_together`, taken from the list once. What fails here concerns nothing else.
        let _ = unsafe { result::graph::exec_destroy(graph) };
    }
}

impl Gpu {
    /// Builds an executable graph.
    pub(crate) fn build_graph(&self, launches: &[Launch]) -> Result<sys::CUgraphExec, Failure> {
        let mut graph = ptr::null_mut();
        // SAFETY: the pointer is to a variable of this function.
        unsafe { sys::cuGraphCreate(&raw mut graph, 0) }.result().map_err(failure)?;
        let whole = self.in_order(graph, launches).and_then(|()| {
            // SAFETY: the graph was created above.
            unsafe { result::graph::instantiate(graph, sys::CUgraphInstantiate_flags(0)) }.map_err(failure)
        });
        // SAFETY: as above; what was instantiated does not need it.
        let _ = unsafe { result::graph::destroy(graph) };
        whole
    }

    /// Adds nodes, each depending on the one before.
    fn in_order(&self, graph: sys::CUgraph, launches: &[Launch]) -> Result<(), Failure> {
        let mut before = None;
        for launch in launches {
            let mut args = arguments(launch);
            let [x, y, z] = launch.grid;
            let node = sys::CUDA_KERNEL_NODE_PARAMS {
                func: self.kernel(launch),
                gridDimX: x,
                gridDimY: y,
                gridDimZ: z,
                blockDimX: launch.threads,
                blockDimY: 1,
                blockDimZ: 1,
                sharedMemBytes: launch.shared_bytes,
                kernelParams: args.as_mut_ptr(),
                extra: ptr::null_mut(),
                kern: ptr::null_mut(),
                ctx: ptr::null_mut(),
            };
            let (mut added, depends) = (ptr::null_mut(), before.as_slice());
            // SAFETY: number and sizes of arguments are the kernel's (as in `launch`); they are copied before this returns. The
            // dependencies are as many nodes of this graph as the slice has.
            let code = unsafe {
                sys::cuGraphAddKernelNode_v2(&raw mut added, graph, depends.as_ptr(), depends.len(), &raw const node)
            };
            code.result().map_err(failure)?;
            before = Some(added);
        }
        Ok(())
    }
}
