//! Whole sessions of client and server.

#[cfg(test)]
mod exchange;
#[cfg(test)]
mod fhetch;
#[cfg(test)]
mod footprint;
mod foreign;
#[cfg(test)]
mod heir;
#[cfg(test)]
mod hybrid;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod plan_and_run;
#[cfg(test)]
mod protobuf;
#[cfg(test)]
mod resnet;
#[cfg(test)]
mod tape;
