//! What is recorded of every strategy for a linear map equals its formula, and the frontier is one.

#[cfg(test)]
mod choice;
#[cfg(test)]
mod formulas;
