//! Small cases by hand.
