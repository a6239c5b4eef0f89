//! Keys, two bootstrappings and their precision on one back end, as Poulpy's own tests set its presets up.

use std::error::Error;
use std::time::Instant;

use poulpy_ckks::api::{
    CKKSAllOpsTmpBytes, CKKSBootstrappingCIOps, CKKSBootstrappingOps, CKKSDecryptOps, CKKSEncodingHostOps,
    CKKSEncryptOps,
};
use poulpy_ckks::layouts::{
    BootstrappingContextPrepared, BootstrappingKeySet, CKKSCiphertextAlloc, CKKSCiphertextOwned, CKKSPlaintextAlloc,
    EvalModRing,
};
use poulpy_ckks::presets::bootstrapping::BootstrappingPreset;
use poulpy_ckks::{CKKSInfos, CKKSLayout, GLWEPlaintextMeta, Scale, SetCKKSInfos, SlotsKind};
use poulpy_core::api::{GLWESecretPreparedFactory, GLWESecretSampling};
use poulpy_core::layouts::{BackendGLWESecret, BackendGLWESecretPrepared, GLWESecretAlloc, LWEInfos, SetK};
use poulpy_hal::api::{ScratchOwnedAlloc, ScratchOwnedBorrow};
use poulpy_hal::layouts::{Module, ScratchOwned, WriterTo};
use poulpy_hal::source::Source;

use super::Backend as B;
use crate::{Counted, Measured, precision};

type Ci = <Module<B> as CKKSBootstrappingCIOps<B>>::CI;
type Owned = <B as poulpy_hal::layouts::Backend>::OwnedBuf;
type Word = <B as poulpy_hal::layouts::Backend>::ZnxWord;
type Step =
    Box<dyn FnMut(&Module<B>, &mut CKKSCiphertextOwned<B>, &CKKSCiphertextOwned<B>) -> Result<(), Box<dyn Error>>>;

/// Sums of products stay exact but with probability 2^−128 a bootstrapping, as Poulpy's own benchmarks ask.
const FAILURE_BITS: usize = 128;
/// Bits above the scale that a decrypted result keeps: slots are below 2 in absolute value.
const WHOLE_BITS: usize = 8;

/// A bootstrapping that is ready to run, and what its keys cost.
struct Ready {
    step: Step,
    keygen_seconds: f64,
    key_bytes: u64,
}

/// Runs a set twice on a random complex message, encrypted under the secret key.
pub fn measure(preset: &BootstrappingPreset) -> Result<Measured, Box<dyn Error>> {
    let preset = &preset.with_backend_base2k::<B, Ci>(FAILURE_BITS)?;
    let conjugate_invariant = preset.plan().eval_mod_ring() != EvalModRing::Standard;
    // One module of degree 2N serves the conversions to the conjugate-invariant ring and the steps of degree N.
    let degree = if conjugate_invariant { 2 * preset.n() } else { preset.n() };
    let module = Module::<B>::new(degree as u64);
    let (raw, secret) = secret(&module, preset);
    let ready =
        if conjugate_invariant { with_conversions(&module, preset, &raw)? } else { standard(&module, preset, &raw)? };
    let Ready { mut step, keygen_seconds, key_bytes } = ready;
    let mut scratch = ScratchOwned::<B>::alloc(operations_bytes(&module, preset));
    let want = message(preset.n() / 2);
    let input = encrypt(&module, preset, &secret, &want, &mut scratch)?;
    let mut output = module.ckks_ciphertext_alloc_from_glwe_infos(&preset.bootstrap_layout());
    let mut seconds = Vec::new();
    for _ in 0..2 {
        output.set_k(preset.bootstrap_k().into()); // a bootstrapping lowers it to that of its result
        let start = Instant::now();
        step(&module, &mut output, &input)?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    let got = decrypt(&module, preset, &secret, &output, &mut scratch)?;
    Ok(Measured {
        seconds,
        keygen_seconds,
        key_bytes,
        usable_bits: output.k().as_usize() - input.k().as_usize(),
        level_bits: preset.log_delta(),
        bits: precision([&got.0, &got.1], [&want.0, &want.1]),
        slots: preset.n() / 2,
        words: format!(
            "{}: raised modulus {} bits, result {}, input {}, limbs of {} bits, digits of {}",
            preset.name(),
            preset.bootstrap_k(),
            preset.output_k(),
            preset.input_k(),
            preset.base2k(),
            preset.key_k_digit()
        ),
        security: format!(
            "128 bits by Poulpy's table: ternary secrets of weight {} up to 2^{}, of weight {} up to 2^{}",
            preset.dense_secret_hamming_weight(),
            preset.max_dense_modulus(),
            preset.sparse_secret_hamming_weight(),
            preset.max_sparse_modulus()
        ),
    })
}

/// Sources of secrets, masks and errors: seeds are fixed, nothing here protects data.
fn sources() -> [Source; 3] {
    [Source::new([7; 32]), Source::new([1; 32]), Source::new([2; 32])]
}

/// Real and imaginary parts, uniform in [−1, 1].
fn message(slots: usize) -> (Vec<f64>, Vec<f64>) {
    let mut source = Source::new([5; 32]);
    let mut part = || (0..slots).map(|_| source.next_f64(-1.0, 1.0)).collect();
    (part(), part())
}

fn secret(module: &Module<B>, preset: &BootstrappingPreset) -> (BackendGLWESecret<B>, BackendGLWESecretPrepared<B>) {
    let layout = preset.bootstrap_layout().glwe_layout;
    let mut raw = module.glwe_secret_alloc_from_infos(&layout);
    module.glwe_secret_fill_ternary_hw(&mut raw, preset.dense_secret_hamming_weight(), &mut Source::new([0; 32]));
    let mut prepared = module.glwe_secret_prepared_alloc_from_infos(&layout);
    module.glwe_secret_prepare(&mut prepared, &raw);
    (raw, prepared)
}

/// Scratch for encryption, decryption and the keys of EvalMod on the standard ring.
fn operations_bytes(module: &Module<B>, preset: &BootstrappingPreset) -> usize {
    let (layout, keys) = (preset.bootstrap_layout(), preset.keys_layout());
    let meta = preset.plan().eval_mod().coeffs_meta;
    let mut coefficients = CKKSLayout { meta: at_scale(meta.log_delta()), ..layout };
    coefficients.glwe_layout.k = ((meta.log_delta() + meta.log_budget()) as u32).into();
    let of = |key| module.ckks_all_ops_with_atk_tmp_bytes(&layout, &coefficients, &keys.tensor_key, key);
    keys.rotation_key_layouts().iter().map(of).max().unwrap_or(0)
}

fn at_scale(bits: usize) -> GLWEPlaintextMeta {
    GLWEPlaintextMeta { scale: Scale::Log(bits), slots: SlotsKind::Complex, log_sparsity: 0 }
}

/// Keys and bootstrapping with EvalMod on the standard ring.
fn standard(
    module: &Module<B>,
    preset: &BootstrappingPreset,
    raw: &BackendGLWESecret<B>,
) -> Result<Ready, Box<dyn Error>> {
    let (plan, layout) = (preset.plan(), preset.keys_layout());
    let start = Instant::now();
    let [mut secrets, mut masks, mut errors] = sources();
    let mut scratch = ScratchOwned::<B>::alloc(operations_bytes(module, preset));
    let keys = plan.generate_keys(module, raw, layout, &mut secrets, &mut errors, &mut masks, &mut scratch.borrow())?;
    let mut keygen_seconds = start.elapsed().as_secs_f64();
    let key_bytes = serialized(&keys)?;
    let start = Instant::now();
    let mut scratch = ScratchOwned::<B>::alloc(layout.prepare_tmp_bytes(module));
    let prepared = keys.transfer_and_prepare(module, &mut scratch.borrow());
    keygen_seconds += start.elapsed().as_secs_f64();
    drop(keys); // the step needs the prepared ones only
    let bytes = BootstrappingContextPrepared::<B, f64>::compile_unprepared_tmp_bytes(module, plan)?;
    let mut scratch = ScratchOwned::<B>::alloc(bytes);
    let context = BootstrappingContextPrepared::<B, f64>::compile_unprepared(
        module,
        preset.base2k().into(),
        plan,
        &mut scratch.borrow(),
    )?;
    let mut scratch = ScratchOwned::<B>::alloc(context.prepare_tmp_bytes(module));
    let context = context.prepare(module, &mut scratch.borrow())?;
    let bytes = module.ckks_bootstrap_tmp_bytes(&preset.bootstrap_layout(), &preset.input_layout(), &context, layout);
    let mut scratch = ScratchOwned::<B>::alloc(bytes);
    let step: Step = Box::new(move |module, output, input| {
        Ok(module.ckks_bootstrap(output, input, &context, &prepared, &mut scratch.borrow())?)
    });
    Ok(Ready { step, keygen_seconds, key_bytes })
}

/// Keys and bootstrapping with EvalMod on the conjugate-invariant ring.
fn with_conversions(
    module: &Module<B>,
    preset: &BootstrappingPreset,
    raw: &BackendGLWESecret<B>,
) -> Result<Ready, Box<dyn Error>> {
    let (plan, layout) = (preset.plan(), preset.keys_layout());
    let ci = Module::<Ci>::new(preset.n() as u64);
    let start = Instant::now();
    let [mut secrets, mut masks, mut errors] = sources();
    let mut scratch = both(layout.generate_ci_tmp_bytes(module, &ci));
    let keys = plan.generate_keys_ci(
        module,
        &ci,
        raw,
        layout,
        &mut secrets,
        &mut errors,
        &mut masks,
        &mut scratch.0.borrow(),
        &mut scratch.1.borrow(),
    )?;
    let mut keygen_seconds = start.elapsed().as_secs_f64();
    let key_bytes = serialized(&keys)?;
    let start = Instant::now();
    let mut scratch = both(layout.prepare_ci_tmp_bytes(module, &ci));
    let prepared = keys.transfer_and_prepare_ci(module, &ci, &mut scratch.0.borrow(), &mut scratch.1.borrow())?;
    keygen_seconds += start.elapsed().as_secs_f64();
    drop(keys); // the step needs the prepared ones only
    let mut scratch = both(BootstrappingContextPrepared::<B, f64>::compile_ci_unprepared_tmp_bytes(module, &ci, plan)?);
    let context = BootstrappingContextPrepared::<B, f64>::compile_ci_unprepared(
        module,
        &ci,
        preset.base2k().into(),
        plan,
        &mut scratch.0.borrow(),
        &mut scratch.1.borrow(),
    )?;
    let mut scratch = ScratchOwned::<B>::alloc(context.prepare_tmp_bytes(module));
    let context = context.prepare(module, &mut scratch.borrow())?;
    let (wide, narrow) = (preset.bootstrap_layout(), preset.input_layout());
    let mut scratch = both(module.ckks_bootstrap_ci_tmp_bytes(&ci, &wide, &narrow, &context, layout));
    let step: Step = Box::new(move |module, output, input| {
        let (main, other) = (&mut scratch.0.borrow(), &mut scratch.1.borrow());
        Ok(module.ckks_bootstrap_ci_into(&ci, output, input, &context, &prepared, main, other)?)
    });
    Ok(Ready { step, keygen_seconds, key_bytes })
}

fn both((main, other): (usize, usize)) -> (ScratchOwned<B>, ScratchOwned<Ci>) {
    (ScratchOwned::<B>::alloc(main), ScratchOwned::<Ci>::alloc(other))
}

/// The bytes of all keys as Poulpy writes them; a back end's prepared keys are larger.
fn serialized(keys: &BootstrappingKeySet<Owned, Word>) -> Result<u64, Box<dyn Error>> {
    let mut counted = Counted::default();
    for key in keys.rotation_keys.values() {
        key.write_to(&mut counted)?;
    }
    keys.tensor_key.write_to(&mut counted)?;
    if let Some((to_sparse, to_dense)) = &keys.encapsulation_keys {
        to_sparse.write_to(&mut counted)?;
        to_dense.iter().try_for_each(|key| key.write_to(&mut counted))?;
    }
    for key in keys.first_factor_keys.values() {
        key.write_to(&mut counted)?;
    }
    if let Some((trace, embed)) = &keys.conversion_keys {
        trace.write_to(&mut counted)?;
        embed.write_to(&mut counted)?;
    }
    Ok(counted.0)
}

fn encrypt(
    module: &Module<B>,
    preset: &BootstrappingPreset,
    secret: &BackendGLWESecretPrepared<B>,
    want: &(Vec<f64>, Vec<f64>),
    scratch: &mut ScratchOwned<B>,
) -> Result<CKKSCiphertextOwned<B>, Box<dyn Error>> {
    let layout = preset.input_layout();
    let mut plain =
        module.ckks_plaintext_alloc_from_slots(preset.n() / 2, preset.base2k().into(), layout.glwe_layout.k);
    plain.set_meta(layout.meta);
    module.ckks_encode_slots_host_into(&mut plain, &want.0, &want.1, &mut scratch.borrow())?;
    let mut input = module.ckks_ciphertext_alloc_from_glwe_infos(&layout);
    let (mut masks, mut errors) = (Source::new([3; 32]), Source::new([4; 32]));
    module.ckks_encrypt_sk(&mut input, &plain, secret, &mut errors, &mut masks, &mut scratch.borrow())?;
    Ok(input)
}

fn decrypt(
    module: &Module<B>,
    preset: &BootstrappingPreset,
    secret: &BackendGLWESecretPrepared<B>,
    output: &CKKSCiphertextOwned<B>,
    scratch: &mut ScratchOwned<B>,
) -> Result<(Vec<f64>, Vec<f64>), Box<dyn Error>> {
    let slots = preset.n() / 2;
    let bits = output.log_delta() + output.log_budget().min(WHOLE_BITS);
    let mut plain = module.ckks_plaintext_alloc_from_slots(slots, output.base2k(), (bits as u32).into());
    plain.set_meta(at_scale(output.log_delta()));
    module.ckks_decrypt(&mut plain, output, secret, &mut scratch.borrow())?;
    let mut got = (vec![0.0; slots], vec![0.0; slots]);
    module.ckks_decode_slots_host_into(&plain, &mut got.0, &mut got.1, &mut scratch.borrow())?;
    Ok(got)
}
