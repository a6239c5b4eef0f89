//! Offloading: an exhaustive search is the oracle of every policy, and the checker of every timetable.

mod checker;
mod given;
mod oracle;
mod recorded;
