//! Composites limb by limb: what one operation writes and the next reads stays in the cache.
//!
//! Enters: overrides of the device's composites, each equal to its default body residue for residue.
//! Stays out: arithmetic on limbs (`kernels`), strategies.
//!
//! Read in this order: [`prepare`] (limbs about to be converted), [`divide`] (`mod_down`, `rescale`), [`mod_up`],
//! [`key_switch`] (and `gadget_product`), [`weighted`] (`weighted_sums`, `extend_limb`), [`blind_rotate`].
//!
//! Memory: beside its result a composite holds rows from the device's pool for the limbs it converts, as
//! [`limbwise_device::null`] counts them, and rows of a thread's own from a second pool ([`crate::Cpu::scratch`]).

mod blind_rotate;
mod divide;
mod key_switch;
mod mod_up;
mod prepare;
mod weighted;
