//! The same over the state of a checkpoint: what is gone on from is what was kept.

use crate::{campaign::count, sides::Folder};
use limbwise::{
    ckks::{Encoder, Packing, Promise, encrypt},
    params::{Insecure, Params, ParamsLiteral},
    rlwe::{KeyGenerator, SecretKey},
    scheme::Ckks,
};
use limbwise_apps::{Journal, State};
use limbwise_cpu::Cpu;
use limbwise_device::HostRead;
use limbwise_fuzz::forge::{Dice, damaged, lie};
use limbwise_math::sampling::Seed;
use limbwise_runtime::{
    journal::{Checkpoint, CheckpointDir, Identity},
    sealed,
};
use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
};

#[test]
fn a_changed_state_is_refused_or_is_what_was_kept() {
    let mut literal = ParamsLiteral::chain(10, 40, 30, 1, (40, 2), 1);
    literal.insecure = Some(Insecure { reason: "a test of trust".into() });
    let (params, dev) = (Params::new(&literal).unwrap(), Cpu::builder().threads(1).open().unwrap());
    let secret = SecretKey::generate(&params, &Seed([1; 32]));
    let public = KeyGenerator::new(&dev, &params, &secret).unwrap().public_key();
    let promise = Promise { magnitude: 1.0, peak: 1.0, real: true };
    let packing = Packing { slots: 8, level: 1, scale: params.scale(1) };
    let fresh = |x: f64| {
        let plain = Encoder::new(&params).encode(&dev, &[vec![x.into(); 8]], packing).unwrap();
        encrypt(&dev, &params, &public, &plain).unwrap().with_promise(promise).unwrap()
    };
    let folder = Folder::new("states");
    let open = || {
        let dir = CheckpointDir::open(&folder.0).unwrap();
        Checkpoint::<Cpu, Ckks>::open(&dev, &params, dir, Identity([7; 32]))
    };
    let kept = State { step: 3, ciphertexts: vec![fresh(0.25), fresh(0.5)], numbers: vec![0.1, -3.0] };
    open().unwrap().keep(&kept).unwrap();
    let words = |state: &State<Cpu>| {
        let parts = state.ciphertexts.iter().flat_map(|c| &c.parts);
        parts.map(|part| dev.download(part).unwrap()).collect::<Vec<_>>()
    };
    let files: Vec<_> = ["state.json", "0.ct", "1.ct"].map(|name| folder.0.join("step-000003").join(name)).into();
    let honest: Vec<Vec<u8>> = files.iter().map(|path| fs::read(path).unwrap()).collect();
    let resume = || open().map_err(|_| limbwise::Error::Stopped).and_then(|mut journal| journal.resume());
    let same =
        |state: &State<Cpu>| state.step == kept.step && state.numbers == kept.numbers && words(state) == words(&kept);
    assert!(same(&resume().unwrap().unwrap()));
    // A state of version 1 had neither seal nor hashes.
    let mut first: serde_json::Value = sealed::unseal(&honest[0]).unwrap();
    first["version"] = 1.into();
    first.as_object_mut().unwrap().remove("hashes");
    fs::write(&files[0], first.to_string()).unwrap();
    assert!(same(&resume().unwrap().unwrap()));
    first["version"] = 2.into();
    fs::write(&files[0], first.to_string()).unwrap();
    assert!(resume().is_err(), "one of version 2 has them");
    fs::write(&files[0], &honest[0]).unwrap();
    for input in 0..count() / 4 {
        let mut dice = Dice::new(input as u64);
        let at = dice.below(files.len());
        let hostile = match dice.below(3) {
            0 if at == 0 => lie(&honest[0], &mut dice),
            1 if at > 0 => honest[3 - at].clone(), // the ciphertexts change places
            _ => damaged(&honest[at], &mut dice),
        };
        fs::write(&files[at], &hostile).unwrap();
        match catch_unwind(AssertUnwindSafe(resume)) {
            Ok(Ok(Some(state))) => assert!(same(&state), "input {input} goes on from another state"),
            Ok(Ok(None) | Err(_)) => {}
            Err(_) => panic!("input {input} panics"),
        }
        fs::write(&files[at], &honest[at]).unwrap();
    }
}
