//! Encrypted layers equal their clear twins, through the whole of a program.

#[cfg(test)]
mod encrypted;
#[cfg(test)]
mod lola;
#[cfg(test)]
mod network;
#[cfg(test)]
mod onnx;
#[cfg(test)]
mod places;
#[cfg(test)]
mod resnet;
