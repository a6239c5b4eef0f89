//! The keys of one program: for RLWE, for TFHE, or for both.

use crate::{
    ckks::Watch,
    error::{KeyError, Result},
    rlwe::{EvaluationKey, KeyName, KeyStore},
    tfhe::ServerKey,
};
#[cfg(feature = "client")]
use crate::{
    params::Params,
    rlwe::{KeyGenerator, SecretKey},
    tfhe::{BootstrapKeys, ClientKey, TfheParams},
    wire::{Fingerprint, Origin},
};
use limbwise_device::Device;
#[cfg(feature = "client")]
use limbwise_math::sampling::SeedSource;

/// The server's keys for a program, and an observer.
pub struct Keys<'k, D: Device> {
    /// Evaluation keys of RLWE.
    pub store: &'k dyn KeyStore<D>,
    /// Bootstrapping keys of TFHE, if the program bootstraps messages.
    pub bootstrap: Option<&'k ServerKey<D>>,
    /// Observes every operation on slots.
    pub watch: Option<&'k dyn Watch<D>>,
}

impl<D: Device> Clone for Keys<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Keys<'_, D> {}

impl<'k, D: Device> Keys<'k, D> {
    /// The bootstrapping keys of TFHE.
    ///
    /// # Panics
    /// If the program needs TFHE keys and was given none: a bug of the caller.
    pub(super) fn server_key(&self) -> &'k ServerKey<D> {
        self.bootstrap.expect("a program of TFHE is served with its keys")
    }
}

/// The key store of a scheme without RLWE evaluation keys.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoKeys;

impl<D: Device> KeyStore<D> for NoKeys {
    fn check(&self, op: &'static str, name: KeyName, level: usize) -> Result<()> {
        KeyStore::<D>::key(self, op, name, level).map(drop)
    }

    fn key(&self, op: &'static str, name: KeyName, _level: usize) -> Result<EvaluationKey<D>> {
        Err(KeyError::Missing { op, wanted: name.label(), present: "no keys".into() }.into())
    }
}

/// The secret keys of one program on the host, wiped on drop.
#[cfg(feature = "client")]
#[derive(Debug)]
pub struct Secrets {
    /// Secret key of RLWE.
    pub rlwe: Option<SecretKey>,
    /// Client key of TFHE.
    pub tfhe: Option<ClientKey>,
}

/// The public keys that a client derives from its secrets, for servers and for encryption.
#[cfg(feature = "client")]
pub struct Published<'a, D: Device> {
    /// Generates evaluation keys and the public key.
    pub generator: Option<KeyGenerator<'a, D>>,
    /// Bootstrapping keys of TFHE.
    pub bootstrap: Option<BootstrapKeys<D>>,
}

#[cfg(feature = "client")]
impl Secrets {
    /// Generates a secret for each parameter set given.
    ///
    /// # Errors
    /// The operating system gave no randomness.
    pub fn generate(rlwe: Option<&Params>, tfhe: Option<&TfheParams>, seeds: &SeedSource) -> Result<Self> {
        let rlwe = rlwe.map(|params| Ok::<_, crate::Error>(SecretKey::generate(params, &seeds.seed("secret key")?)));
        let tfhe = tfhe.map(|params| Ok::<_, crate::Error>(ClientKey::from_seed(params, seeds.seed("tfhe key")?)));
        Ok(Self { rlwe: rlwe.transpose()?, tfhe: tfhe.transpose()? })
    }

    /// The secret key of RLWE.
    ///
    /// # Panics
    /// If the program has none: a bug of the caller.
    pub(super) fn rlwe(&self) -> &SecretKey {
        self.rlwe.as_ref().expect("a program of RLWE has a secret")
    }

    /// The client key of TFHE.
    ///
    /// # Panics
    /// If the program has none: a bug of the caller.
    pub(super) fn tfhe(&self) -> &ClientKey {
        self.tfhe.as_ref().expect("a program of TFHE has a secret")
    }

    /// The public name of the key set (ADR 120): that of its one key, or a hash of both.
    ///
    /// # Panics
    /// If there is no key.
    #[must_use]
    pub fn identity(&self, rlwe: Option<&Params>) -> Fingerprint {
        let one = rlwe.zip(self.rlwe.as_ref()).map(|(params, secret)| secret.identity(params));
        match (one, self.tfhe.as_ref().map(ClientKey::identity)) {
            (Some(one), None) | (None, Some(one)) => one,
            (Some(one), Some(other)) => {
                let mut hasher = blake3::Hasher::new_derive_key("limbwise 2026-11-22 identity of two key sets");
                Fingerprint(*hasher.update(&one.0).update(&other.0).finalize().as_bytes())
            }
            (None, None) => panic!("a program has a secret"),
        }
    }

    /// Fails if the label of a key file names another key set. With two secrets, each file's label names both. A locked
    /// file's label is not authenticated by its passphrase, so it is compared with the keys themselves.
    ///
    /// # Errors
    /// [`WireError::Origin`](crate::wire::WireError::Origin).
    pub fn check_origin(&self, rlwe: Option<&Params>, label: &Origin) -> Result<()> {
        Ok(label.admits_keys(self.identity(rlwe))?)
    }

    /// Starts the generation of the public keys.
    ///
    /// # Errors
    /// No randomness; [`ParamsError`](crate::params::ParamsError) for two secrets that do not fit together.
    pub fn publish<'a, D: Device>(
        &self,
        dev: &'a D,
        rlwe: Option<&'a Params>,
        seeds: &SeedSource,
    ) -> Result<Published<'a, D>> {
        let bootstrap = self.tfhe.as_ref().map(|client| client.bootstrap_keys(dev));
        let generator = match rlwe.zip(self.rlwe.as_ref()) {
            None => None,
            Some((params, secret)) => {
                let generator = KeyGenerator::from_seed(dev, params, secret, seeds.seed("keys")?);
                Some(match &self.tfhe {
                    None => generator,
                    Some(client) => generator.with_lwe(client)?,
                })
            }
        };
        Ok(Published { generator, bootstrap })
    }
}
