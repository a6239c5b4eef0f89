//! Several ciphertexts as one batch, and the reverse.

use super::{ciphertext::Ciphertext, evaluator::Evaluator, shadow::Shadow};
use limbwise_device::{Device, Handle as _};

impl<D: Device> Evaluator<'_, D> {
    /// Concatenates the batches of ciphertexts of one level, scale and packing; no words are copied. The estimate is
    /// the worst of theirs.
    ///
    /// # Panics
    /// If the list is empty or they differ.
    #[must_use]
    pub fn stack(&self, ciphertexts: &[Ciphertext<D>]) -> Ciphertext<D> {
        let [first, others @ ..] = ciphertexts else { panic!("a batch has a ciphertext") };
        let shape = |c: &Ciphertext<D>| (c.level, c.slots, c.parts.len());
        assert!(others.iter().all(|c| shape(c) == shape(first)), "ciphertexts of one level, packing and degree");
        let part = |i: usize| {
            let parts: Vec<&D::Poly> = ciphertexts.iter().map(|c| &c.parts[i]).collect();
            self.dev.stack(&parts)
        };
        let shadows: Option<Vec<&Shadow>> = ciphertexts.iter().map(|c| c.shadow.as_ref()).collect();
        let shadow = shadows.map(|all| {
            let values: Vec<_> = all.iter().flat_map(|s| s.values().iter().cloned()).collect();
            Shadow::new(&values, first.slots)
        });
        let estimate = others.iter().fold(first.estimate, |worst, c| worst.or_worse(c.estimate));
        Ciphertext { parts: (0..first.parts.len()).map(part).collect(), estimate, shadow, ..*first }
    }

    /// The messages `from … to − 1` of a batch; no words are copied.
    #[must_use]
    pub fn split(&self, a: &Ciphertext<D>, from: usize, to: usize) -> Ciphertext<D> {
        let parts: Vec<D::Poly> = a.parts.iter().map(|p| self.dev.split(p, from, to)).collect();
        debug_assert!(parts.iter().all(|p| p.shape().batch == to - from));
        Ciphertext { parts, shadow: a.shadow.as_ref().map(|s| s.split(from, to)), ..*a }
    }
}
