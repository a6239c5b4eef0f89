//! Keys on disk give what keys in memory give.

#[cfg(test)]
mod disk;
#[cfg(test)]
mod recent;
