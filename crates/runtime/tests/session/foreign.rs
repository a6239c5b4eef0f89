//! Files that OpenFHE 1.6.1 and Lattigo 6.2.0 wrote (scripts/make_openfhe_vector.py, bench/peers/lattigo/vector) are read,
//! decrypt under their secret keys to their values, and are computed with under their evaluation keys.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use flate2::read::GzDecoder;
use limbwise::{
    Complex64,
    ckks::{Ciphertext, Encoder, Estimate, Evaluator, Precision, decrypt},
    params::Params,
    rlwe::{KeySet, SecretKey},
};
use limbwise_cpu::Cpu;
use limbwise_device::HostRead;
use limbwise_runtime::exchange::foreign::{
    Binding, Content, ForeignCiphertext, compare, lattigo, openfhe::Document, openfhe_write,
};
use std::{io::Read, path::Path};

/// The ring of the files is too small to be secure; their script says why.
const REASON: &str = "small files for a test";

fn packed(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session/foreign").join(name);
    let mut bytes = Vec::new();
    GzDecoder::new(std::fs::File::open(&path).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}

fn dev() -> Cpu {
    Cpu::builder().threads(1).open().unwrap()
}

/// What both scripts encrypt.
fn values(slots: usize) -> Vec<Complex64> {
    (0..slots).map(|i| Complex64::new((i % 17) as f64 / 16.0 - 0.5, 0.0)).collect()
}

fn ciphertext(content: Content) -> ForeignCiphertext {
    match content {
        Content::Ciphertext(ciphertext) => ciphertext,
        other => panic!("{} in the place of a ciphertext", other.kind()),
    }
}

/// A library's files, by name.
struct Theirs<'a> {
    read: &'a dyn Fn(&str) -> Content,
    names: [&'a str; 3],
    keys: &'a [&'a str],
}

/// Bits that are right in every slot.
fn bits(params: &Params, secret: &SecretKey, ciphertext: &Ciphertext<Cpu>, wanted: &[Complex64], dev: &Cpu) -> f64 {
    let got = decrypt(dev, &Encoder::new(params), params, secret, ciphertext).unwrap().concat();
    Precision::of(&got, wanted).min
}

/// Decrypts a fresh ciphertext and a product of theirs; computes both products with their keys here.
fn as_ours(params: &Params, theirs: &Theirs<'_>) -> (Ciphertext<Cpu>, SecretKey) {
    let (dev, binding) = (dev(), Binding::new(params));
    let [fresh, product, secret] = theirs.names.map(theirs.read);
    let Content::SecretKey(secret) = secret else { panic!("a secret key") };
    let secret = binding.secret(&dev, &secret).unwrap();
    let upload = |content| binding.ciphertext(&dev, &ciphertext(content), Estimate::exact(2.0)).unwrap();
    let (a, squared) = (upload(fresh), upload(product));
    let x = values(params.max_slots());
    let squares: Vec<Complex64> = x.iter().map(|x| x * x).collect();
    let turned: Vec<Complex64> = (0..x.len()).map(|i| squares[(i + 3) % x.len()]).collect();
    let right = |ciphertext: &Ciphertext<Cpu>, wanted: &[Complex64]| bits(params, &secret, ciphertext, wanted, &dev);
    // 2^30 at N = 2^10: errors of a fresh encryption are about 2^-17.
    assert!(right(&a, &x) > 15.0, "fresh: {}", right(&a, &x));
    assert!(right(&squared, &squares) > 14.0, "their product: {}", right(&squared, &squares));
    assert_eq!((a.level, squared.level), (1, 0));
    // With their keys, here.
    let keys = theirs.keys.iter().flat_map(|name| match (theirs.read)(name) {
        Content::Keys(keys) => binding.keys(&dev, &keys).unwrap(),
        other => panic!("{} in the place of keys", other.kind()),
    });
    let keys = KeySet::new(params, keys.collect());
    let eval = Evaluator::new(&dev, params, &keys);
    let own = eval.relinearize(&eval.square(&a).unwrap()).unwrap();
    let divided = eval.rescale(&own).unwrap();
    assert!(right(&divided, &squares) > 14.0, "product: {}", right(&divided, &squares));
    // The key's digits are those of the top level; a lower level takes the first of them.
    for ciphertext in [&own, &divided] {
        let rotated = eval.rotate(ciphertext, 3).unwrap();
        assert!(right(&rotated, &turned) > 14.0, "rotation: {}", right(&rotated, &turned));
    }
    (a, secret)
}

fn openfhe(name: &str) -> Document {
    Document::parse(&packed(&format!("openfhe/{name}.json.gz"))).unwrap()
}

#[test]
fn openfhes_files_decrypt_and_their_keys_work() {
    // The special primes of the context follow OpenFHE's rule; keys have them written out.
    let chain = openfhe("relin").chain().unwrap();
    assert_eq!(openfhe("context").chain().unwrap(), chain);
    assert!(chain.literal(None).unwrap_err().to_string().contains("128"), "a ring below 128 bits wants a reason");
    let params = Params::new(&chain.literal(Some(REASON)).unwrap()).unwrap();
    let names = ["a", "product", "secret"];
    let read = |name: &str| openfhe(name).content().unwrap();
    let (a, _) = as_ours(&params, &Theirs { read: &read, names, keys: &["relin", "galois"] });
    // Back in their form it is the file that it came from, and so at a lower level.
    let document = openfhe("a");
    let roots = document.roots().unwrap();
    let dev = dev();
    for name in names.into_iter().take(2) {
        let theirs = ciphertext(read(name));
        let ours = Binding::new(&params).ciphertext(&dev, &theirs, a.estimate).unwrap();
        let out = compare::exported(&dev, &params, &ours, &|q| roots.get(&q).copied()).unwrap();
        let text = openfhe_write::replaced(&packed("openfhe/a.json.gz"), &out).unwrap();
        let again = ciphertext(Document::parse(text.as_bytes()).unwrap().content().unwrap());
        assert_eq!((again.scale.to_bits(), again.slots), (theirs.scale.to_bits(), theirs.slots));
        let limbs = |c: &ForeignCiphertext| c.parts.iter().map(|part| part.limbs.clone()).collect::<Vec<_>>();
        assert!(limbs(&again) == limbs(&theirs), "{name}: other residues");
    }
}

#[test]
fn lattigos_files_decrypt_and_their_keys_work() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session/foreign/lattigo/params.json");
    let chain = lattigo::chain(&std::fs::read(path).unwrap()).unwrap();
    let params = Params::new(&chain.literal(Some(REASON)).unwrap()).unwrap();
    let file = |name: &str| packed(&format!("lattigo/{name}.bin.gz"));
    let read = |name: &str| lattigo::read(&file(name), &params).unwrap();
    let (a, _) = as_ours(&params, &Theirs { read: &read, names: ["ct", "product", "secret"], keys: &["keys"] });
    let out = compare::exported(&dev(), &params, &a, &|_| None).unwrap();
    assert!(lattigo::write(&out) == file("ct"), "the way back gives the same bytes");
}

#[test]
fn residues_that_differ_are_named() {
    let params = Params::new(&openfhe("relin").chain().unwrap().literal(Some(REASON)).unwrap()).unwrap();
    let (dev, binding) = (dev(), Binding::new(&params));
    let theirs = ciphertext(openfhe("a").content().unwrap());
    let ours = |theirs: &ForeignCiphertext| binding.ciphertext(&dev, theirs, Estimate::exact(2.0)).unwrap();
    let a = ours(&theirs);
    let n = params.ring().n() as u64;
    let same = compare::residues(&dev, &params, [&a, &ours(&theirs)]).unwrap();
    assert_eq!((same.compared, same.different, same.first), (4 * n, 0, None));
    // One coefficient of c1 modulo the second prime is one more.
    let shape =
        limbwise_device::Shape::eval(params.ring(), params.basis(1)).with_domain(limbwise_device::Domain::Coeff);
    let one = limbwise_device::Device::upload(&dev, &shape, limbwise_device::Role::Temporary, &|at, row| {
        row.fill(0);
        row[7] = u64::from(at.prime == 1);
    });
    let mut b = ours(&theirs);
    b.parts[1] = limbwise_device::Device::add(&dev, &b.parts[1], &limbwise_device::Device::ntt(&dev, one));
    let found = compare::residues(&dev, &params, [&a, &b]).unwrap();
    let first = found.first.unwrap();
    assert_eq!((found.different, first.part, first.limb, first.coefficient), (1, 1, 1, 7));
    assert_eq!(first.modulus, params.ring().moduli()[1].value());
    assert_eq!((first.residues[0] + 1) % first.modulus, first.residues[1]);
    assert!(dev.download(&a.parts[0]).is_ok());
}

/// What does not fit is refused with its place, before any word is used.
#[test]
fn foreign_files_that_do_not_fit_are_refused() {
    let text = String::from_utf8(packed("openfhe/a.json.gz")).unwrap();
    let chain = openfhe("relin").chain().unwrap();
    let params = Params::new(&chain.literal(Some(REASON)).unwrap()).unwrap();
    let refused = |text: &str| {
        let content = Document::parse(text.as_bytes()).and_then(|document| document.content());
        let bound = content
            .and_then(|content| Binding::new(&params).ciphertext(&dev(), &ciphertext(content), Estimate::exact(2.0)));
        bound.map(drop).unwrap_err().to_string()
    };
    let q = chain.moduli[0].to_string();
    let first = text.find("\"v\":[{").unwrap();
    let (head, large) = text.split_at(first);
    let number = large.find("\"data\":{").and_then(|at| Some(at + large[at..].find("\"v\":[")? + 5)).unwrap();
    let end = number + large[number..].find(',').unwrap();
    let with = |word: &str| format!("{head}{}{word}{}", &large[..number], &large[end..]);
    assert!(refused(&with(&q)).contains(&format!(".0: got {q}, wanted a residue of {q}")), "{}", refused(&with(&q)));
    assert!(refused(&with("-1")).contains("got -1, wanted a residue"));
    assert!(refused(&with(&format!("1,{}", &large[number..end]))).contains("wanted 1024 numbers"));
    for length in [0, 10, text.len() / 2, text.len() - 1] {
        assert!(refused(&text[..length]).contains("not JSON of OpenFHE"));
    }
    assert!(refused(&text.replace("\"sl\":512", "\"sl\":1024")).contains("slots: got 1024"));
    assert!(refused(&text.replace("\"co\":2048", "\"co\":1099511627776")).contains("a power of two from"));
    // Another set of primes.
    let mut other = chain.clone();
    other.moduli.swap(0, 1);
    let other = Params::new(&other.literal(Some(REASON)).unwrap()).unwrap();
    let theirs = ciphertext(openfhe("a").content().unwrap());
    let error =
        Binding::new(&other).ciphertext(&dev(), &theirs, Estimate::exact(2.0)).map(drop).unwrap_err().to_string();
    assert!(error.contains("moduli: got") && error.contains("the primes of the parameters"), "{error}");
    // Binary: every length, and a word that is no residue.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session/foreign/lattigo/params.json");
    let params = lattigo::chain(&std::fs::read(path).unwrap()).unwrap().literal(Some(REASON)).unwrap();
    let params = Params::new(&params).unwrap();
    let refused = |bytes: &[u8]| lattigo::read(bytes, &params).map(drop).unwrap_err().to_string();
    let whole = packed("lattigo/product.bin.gz");
    for length in (0..whole.len()).step_by(97).chain([whole.len() - 1]) {
        assert!(refused(&whole[..length]).contains("byte") || length == 0, "{length}");
    }
    let mut bytes = whole.clone();
    *bytes.last_mut().unwrap() = 255;
    assert!(refused(&bytes).starts_with(&format!("byte {}: got", whole.len() - 8)), "{}", refused(&bytes));
    assert!(refused(&[whole, vec![0]].concat()).contains("more bytes"));
    assert!(refused(&[0, 1, 255, 255, 255, 255]).contains("4294967295 keys"));
}

/// Files of OpenFHE at a secure ring, and its own decryption of what comes back, at the top and at a lower level.
#[test]
#[ignore = "wants LIMBWISE_OPENFHE, a Python with the wheel openfhe"]
fn openfhe_decrypts_what_comes_back() {
    let Some(python) = std::env::var_os("LIMBWISE_OPENFHE") else {
        eprintln!("SKIPPED: no Python with the wheel openfhe in LIMBWISE_OPENFHE");
        return;
    };
    let folder = std::env::temp_dir().join(format!("limbwise-openfhe-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let script = |words: &[&std::ffi::OsStr]| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/make_openfhe_vector.py");
        let done = std::process::Command::new(&python).arg(path).args(words).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    let options = "--log-n 13 --first 50 --scale 40 --depth 2 --digits 3 --secure --plain".split(' ');
    let make: Vec<&std::ffi::OsStr> =
        [std::ffi::OsStr::new("make"), folder.as_os_str()].into_iter().chain(options.map(AsRef::as_ref)).collect();
    script(&make);
    let document = |name: &str| Document::parse(&std::fs::read(folder.join(format!("{name}.json"))).unwrap()).unwrap();
    let chain = document("galois").chain().unwrap();
    assert_eq!(document("context").chain().unwrap(), chain);
    // OpenFHE's errors have sigma 3.19; the tables begin at 3.2, so the set wants a reason whatever its ring.
    assert!(chain.literal(None).unwrap_err().to_string().contains("sigma >= 3.2"));
    let params = Params::new(&chain.literal(Some("OpenFHE's sigma is 3.19")).unwrap()).unwrap();
    let (dev, binding) = (dev(), Binding::new(&params));
    let keys = ["relin", "galois"].into_iter().flat_map(|name| match document(name).content().unwrap() {
        Content::Keys(keys) => binding.keys(&dev, &keys).unwrap(),
        other => panic!("{}", other.kind()),
    });
    let keys = KeySet::new(&params, keys.collect());
    let a = ciphertext(document("a").content().unwrap());
    let a = binding.ciphertext(&dev, &a, Estimate::exact(2.0)).unwrap();
    let eval = Evaluator::new(&dev, &params, &keys);
    let square = eval.rescale(&eval.relinearize(&eval.square(&a).unwrap()).unwrap()).unwrap();
    let turned = eval.rotate(&square, 3).unwrap();
    let x: Vec<f64> = values(params.max_slots()).iter().map(|x| x.re).collect();
    let wanted: Vec<f64> = (0..x.len()).map(|i| x[(i + 3) % x.len()].powi(2)).collect();
    let form = document("a");
    let roots = form.roots().unwrap();
    for (ours, wanted) in [(&a, &x), (&turned, &wanted)] {
        let out = compare::exported(&dev, &params, ours, &|q| roots.get(&q).copied()).unwrap();
        let path = folder.join("back.json");
        std::fs::write(&path, openfhe_write::replaced(&std::fs::read(folder.join("a.json")).unwrap(), &out).unwrap())
            .unwrap();
        let text = script(&["decrypt".as_ref(), folder.as_os_str(), path.as_os_str()]);
        let got: Vec<f64> = text.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(got.len(), wanted.len());
        let far = got.iter().zip(wanted).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        assert!(far < 1e-6, "largest difference {far:e} at level {}", ours.level);
        eprintln!("OpenFHE's decryption at level {}: largest difference {far:.2e}", ours.level);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
