//! tfhe-rs: keys, inputs and the operations that are timed, of words of 32 or 64 bits.
//!
//! `core_crypto` with its FFT in double precision, buffers and plans made beforehand: the calls that its own benchmarks
//! time. The modulus switch is the plain one, without the drift mitigation that its higher layer adds.

use crate::Bootstrapper;
use tfhe::core_crypto::{commons::math::random::Uniform, prelude::*};

/// Numbers of a parameter set, as tfhe-rs names them.
#[derive(Clone, Copy)]
pub struct Shape {
    /// n.
    pub lwe_dimension: usize,
    /// N.
    pub polynomial_size: usize,
    /// Base and levels of the blind rotation.
    pub pbs: (usize, usize),
    /// Base and levels of the key switch.
    pub ks: (usize, usize),
    /// Bits of a message, the padding bit not.
    pub message_bits: u32,
    /// Standard deviations of the errors of both keys, the narrow one's first, relative to the modulus.
    pub noise: [f64; 2],
    /// What these are worth where the gate's curves say below 128 bits.
    pub estimate: Option<&'static str>,
}

/// Words that tfhe-rs computes with.
pub trait Word:
    UnsignedTorus + CastInto<usize> + CastFrom<usize> + Encryptable<Uniform, Gaussian<f64>> + CastInto<u64> + CastFrom<u64>
{
}

impl Word for u32 {}
impl Word for u64 {}

/// Everything ready.
pub struct Rival<T: Word> {
    shape: Shape,
    bsk: FourierLweBootstrapKeyOwned,
    ksk: LweKeyswitchKeyOwned<T>,
    secret: LweSecretKeyOwned<T>,
    wide: LweCiphertextListOwned<T>,
    narrow: LweCiphertextListOwned<T>,
    tables: GlweCiphertextListOwned<T>,
    out: LweCiphertextListOwned<T>,
    fft: Fft,
    buffers: ComputationBuffers,
}

impl<T: Word> Rival<T> {
    /// Keys and a batch of encryptions of 1, 2, … and the table of the identity.
    pub fn new(shape: Shape, batch: usize) -> Self {
        let mut seeder = new_seeder();
        let seeder = seeder.as_mut();
        let mut secrets = SecretRandomGenerator::<DefaultRandomGenerator>::new(seeder.seed());
        let mut noise = EncryptionRandomGenerator::<DefaultRandomGenerator>::new(seeder.seed(), seeder);
        let [narrow_noise, wide_noise] = shape.noise.map(|s| Gaussian::from_dispersion_parameter(StandardDev(s), 0.0));
        let modulus = CiphertextModulus::<T>::new_native();
        let (n, size) = (LweDimension(shape.lwe_dimension), PolynomialSize(shape.polynomial_size));
        let k = GlweDimension(1);
        let narrow_key = allocate_and_generate_new_binary_lwe_secret_key::<T, _>(n, &mut secrets);
        let glwe_key = allocate_and_generate_new_binary_glwe_secret_key::<T, _>(k, size, &mut secrets);
        let [(base, levels), (ks_base, ks_levels)] =
            [shape.pbs, shape.ks].map(|(b, l)| (DecompositionBaseLog(b), DecompositionLevelCount(l)));
        let mut bsk = FourierLweBootstrapKeyOwned::new(n, k.to_glwe_size(), size, base, levels);
        {
            let plain = par_allocate_and_generate_new_lwe_bootstrap_key(
                &narrow_key,
                &glwe_key,
                base,
                levels,
                wide_noise,
                modulus,
                &mut noise,
            );
            convert_standard_lwe_bootstrap_key_to_fourier(&plain, &mut bsk);
        }
        let secret = glwe_key.into_lwe_secret_key();
        let ksk = allocate_and_generate_new_lwe_keyswitch_key(
            &secret,
            &narrow_key,
            ks_base,
            ks_levels,
            narrow_noise,
            modulus,
            &mut noise,
        );
        let (count, space) = (LweCiphertextCount(batch), 1usize << shape.message_bits);
        let delta: T = T::ONE << (T::BITS - 1 - shape.message_bits as usize);
        let plain: Vec<T> = (0..batch).map(|i| T::cast_from((i + 1) % space).wrapping_mul(delta)).collect();
        let plain = PlaintextList::from_container(plain);
        let mut list = |key: &LweSecretKeyOwned<T>, noise_of| {
            let mut list = LweCiphertextList::new(T::ZERO, key.lwe_dimension().to_lwe_size(), count, modulus);
            encrypt_lwe_ciphertext_list(key, &mut list, &plain, noise_of, &mut noise);
            list
        };
        let (wide, narrow) = (list(&secret, wide_noise), list(&narrow_key, narrow_noise));
        let table = generate_programmable_bootstrap_glwe_lut(size, k.to_glwe_size(), space, modulus, delta, |x| x);
        let tables = (0..batch).flat_map(|_| table.as_ref().to_vec()).collect();
        let tables = GlweCiphertextList::from_container(tables, k.to_glwe_size(), size, modulus);
        let out = LweCiphertextList::new(T::ZERO, secret.lwe_dimension().to_lwe_size(), count, modulus);
        let fft = Fft::new(size);
        let mut buffers = ComputationBuffers::new();
        let needed = batch_programmable_bootstrap_lwe_ciphertext_mem_optimized_requirement::<T>(
            k.to_glwe_size(),
            size,
            CiphertextCount(batch),
            fft.as_view(),
        );
        buffers.resize(needed.unaligned_bytes_required());
        Self { shape, bsk, ksk, secret, wide, narrow, tables, out, fft, buffers }
    }

    /// A list of one goes through the call for one, which tfhe-rs's higher layers make.
    fn bootstrap(&mut self) {
        let (fft, stack) = (self.fft.as_view(), self.buffers.stack());
        if self.narrow.lwe_ciphertext_count().0 == 1 {
            programmable_bootstrap_lwe_ciphertext_mem_optimized(
                &self.narrow.get(0),
                &mut self.out.get_mut(0),
                &self.tables.get(0),
                &self.bsk,
                fft,
                stack,
            );
        } else {
            batch_programmable_bootstrap_lwe_ciphertext_mem_optimized(
                &self.narrow,
                &mut self.out,
                &self.tables,
                &self.bsk,
                fft,
                stack,
            );
        }
    }
}

impl<T: Word> Bootstrapper for Rival<T> {
    fn rotate(&mut self) {
        self.bootstrap();
    }

    fn switch_and_rotate(&mut self) {
        for (wide, mut narrow) in self.wide.iter().zip(self.narrow.iter_mut()) {
            keyswitch_lwe_ciphertext(&self.ksk, &wide, &mut narrow);
        }
        self.bootstrap();
    }

    fn messages(&self) -> Vec<u64> {
        let shift = T::BITS - 2 - self.shape.message_bits as usize;
        let decrypt = |ct| {
            let phase: u64 = (decrypt_lwe_ciphertext(&self.secret, &ct).0 >> shift).cast_into();
            (phase.div_ceil(2)) % (2 << self.shape.message_bits)
        };
        self.out.iter().map(decrypt).collect()
    }
}
