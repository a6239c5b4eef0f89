//! Limbwise: the same operations through its public interface.

use crate::Bootstrapper;
use limbwise::tfhe::{Ciphertext, ClientKey, Evaluator, ServerKey, Table, TfheParams, preset};
use limbwise_cpu::{Cpu, CpuLwe, CpuPoly};
use limbwise_device::{Device, Domain, Role, Rounding};
use limbwise_math::sampling::Seed;

/// Everything ready.
pub struct Ours {
    dev: Cpu,
    client: ClientKey,
    server: ServerKey<Cpu>,
    input: Ciphertext<Cpu>,
    narrow: CpuLwe,
    test: CpuPoly,
    table: Table,
    out: Option<Ciphertext<Cpu>>,
}

impl Ours {
    /// Keys and a batch of encryptions of 1, 2, … and the table of the identity.
    ///
    /// # Errors
    /// A preset that does not exist, a device that does not open.
    pub fn new(name: &str, batch: usize, threads: usize) -> Result<Self, Box<dyn std::error::Error>> {
        let params = TfheParams::new(&preset(name)?)?;
        let isa = limbwise_cpu::Isa::best();
        let dev = Cpu::new(isa, threads)?;
        let client = ClientKey::from_seed(&params, Seed([7; 32]));
        let server = ServerKey::new(&dev, &client.bootstrap_keys(&dev));
        let messages: Vec<u64> = (0..batch as u64).map(|i| (i + 1) % params.space()).collect();
        let input = client.encrypt(&dev, &messages)?;
        let table = Table::of(&params, |m| m)?;
        let narrow = dev.lwe_mod_switch(input.lwe(), params.lwe_modulus(), Rounding::Nearest);
        let narrow = dev.lwe_key_switch(&narrow, &server.switch);
        let test = dev.upload(&params.shape(1, Domain::Coeff), Role::Plaintext, &|_, row| row.fill(1 << 20));
        Ok(Self { dev, client, server, input, narrow, test, table, out: None })
    }

    /// Bytes of the bootstrapping key on the device.
    pub fn steps(&self) -> usize {
        self.client.params().literal().lwe_dimension
    }
}

impl Bootstrapper for Ours {
    fn rotate(&mut self) {
        let circle = 2 << self.client.params().ring().log_n();
        let exponents = self.dev.lwe_mod_switch(&self.narrow, circle, Rounding::CenteredForBinary);
        let exponents = self.dev.lwe_scale(&exponents, circle - 1);
        let parts = self.dev.blind_rotate(&self.test, &exponents, &self.server.bootstrap);
        drop(self.dev.sample_extract(&parts.iter().collect::<Vec<_>>(), &[0]));
    }

    fn switch_and_rotate(&mut self) {
        let eval = Evaluator::new(&self.dev, &self.server);
        let out = eval.bootstrap(&self.input, std::slice::from_ref(&self.table));
        self.out = Some(out.expect("parameters and keys go together"));
    }

    fn messages(&self) -> Vec<u64> {
        let out = self.out.as_ref().expect("something was bootstrapped");
        self.client.decrypt(&self.dev, out).expect("no bootstrapping fails in a benchmark")
    }
}
