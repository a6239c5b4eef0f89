//! A client and a server in one process, for tests.

use limbwise::{
    params::{Insecure, PrimeChoice},
    tfhe::{Ciphertext, ClientKey, Evaluator, GadgetLiteral, ServerKey, TfheLiteral, TfheParams},
};
use limbwise_cpu::Cpu;
use limbwise_device::Checked;
use limbwise_math::sampling::Seed;

/// Every contract of the seam is checked in every test.
pub(crate) type Dev = Checked<Cpu>;

pub(crate) struct Session<D: limbwise_device::Device = Cpu> {
    pub(crate) dev: D,
    pub(crate) client: ClientKey,
    pub(crate) server: ServerKey<D>,
}

/// Few steps for speed; the reason says that it is a test.
pub(crate) fn small(message_bits: u32, masks: usize) -> TfheLiteral {
    TfheLiteral {
        log_n: 10,
        masks,
        prime: PrimeChoice::Bits(48),
        glwe_sigma: 3.2,
        lwe_dimension: 60,
        log_lwe_modulus: 32,
        lwe_sigma: 3.2,
        bootstrap: GadgetLiteral { base_log: 16, levels: 2 },
        key_switch: GadgetLiteral { base_log: 4, levels: 5 },
        message_bits,
        norm: 5.0,
        log2_failure: -40.0,
        insecure: Some(Insecure { reason: "a test of correctness".into() }),
    }
}

impl<D: limbwise_device::HostRead> Session<D> {
    pub(crate) fn on(dev: D, literal: &TfheLiteral, seed: u8) -> Self {
        let params = TfheParams::new(literal).unwrap();
        let client = ClientKey::from_seed(&params, Seed([seed; 32]));
        let server = ServerKey::new(&dev, &client.bootstrap_keys(&dev));
        Self { dev, client, server }
    }

    pub(crate) fn eval(&self) -> Evaluator<'_, D> {
        Evaluator::new(&self.dev, &self.server)
    }

    pub(crate) fn encrypt(&self, messages: &[u64]) -> Ciphertext<D> {
        self.client.encrypt(&self.dev, messages).unwrap()
    }

    pub(crate) fn decrypt(&self, a: &Ciphertext<D>) -> Vec<u64> {
        self.client.decrypt(&self.dev, a).unwrap()
    }
}

pub(crate) fn cpu() -> Cpu {
    Cpu::builder().threads(2).open().unwrap()
}

pub(crate) fn checked() -> Dev {
    Checked(cpu())
}
