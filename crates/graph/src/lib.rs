//! A program as a graph: its operations, their counts, and the lifetimes of its values.
//!
//! Enters: the recorder (a device), the graph of primitives with its tree of regions, exact counts, bytes by role,
//! liveness, the file format.
//! Stays out: seconds and joules (they belong to `machines`), residues, scheme words.
//!
//! Read in this order: [`graph`] (nodes, shapes, regions), [`recorder`], [`counts`], [`traffic`], [`liveness`],
//! [`jsonl`] (the file format, described in `docs/graph-format.md`).

pub mod counts;
pub mod entries;
pub mod graph;
pub mod groups;
pub mod jsonl;
pub mod limbs;

pub mod liveness;
pub mod op;
pub mod recorder;
pub mod traffic;
mod validate;

pub use counts::Counts;
pub use graph::{Graph, Node, NodeId, Piece, RegionId, RegionInfo, ShapeId};

pub use jsonl::GraphError;
pub use limbs::{Entries, LimbOrder};
pub use limbwise_device::{Basis, Domain, KeyId, Region, Role, Shape};
pub use op::Op;
pub use recorder::{Recorded, Recorder};
pub use traffic::{KeyTraffic, RoleBytes, Traffic};
