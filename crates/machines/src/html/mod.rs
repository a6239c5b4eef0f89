//! Reports as one HTML file that needs nothing else: no network, no other file, no library.
//!
//! Enters: pages of tables and drawings (SVG), a timed program as a page, plots of points.
//! Stays out: any number that is not in a report, a schedule or a table that is handed over.
//!
//! Read in this order: [`page`], [`chart`] (drawings), [`timeline`], [`timing`] (a program on a machine).

pub mod chart;
pub mod page;
pub mod timeline;
pub mod timing;

pub use page::Page;
