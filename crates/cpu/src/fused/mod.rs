//! Composites limb by limb, so that the cache holds the data between one operation and the next.
//!
//! Enters: overrides of the device's composites, each equal to its default body residue for residue.
//! Stays out: arithmetic on limbs (`kernels`), strategies.
//!
//! Read in this order: [`prepare`] (limbs about to be converted), [`divide`] (`mod_down`, `rescale`), [`mod_up`],
//! [`key_switch`] (and `gadget_product`), [`weighted`] (`weighted_sums`, `extend_limb`), [`rotated`] (`rotated_sums`),
//! [`tensor`], [`matrix`] (`matrix_product`), [`blind_rotate`].
//!
//! Memory: beside its result a composite holds rows from the device's pool for the limbs it converts, as
//! [`limbwise_device::null`] counts them, and rows private to a thread from a second pool ([`crate::Cpu::scratch`]).

mod blind_rotate;
mod divide;
mod key_switch;
mod matrix;
mod mod_up;
mod prepare;
mod rotated;
mod tensor;
mod weighted;
