//! The targets: every reader of bytes from outside, and what must hold of it.
//!
//! A target answers with the reader's error as text, or with nothing where the bytes were taken. Nothing may panic. What was
//! taken is written as a file that is taken again and written the same, wherever the kind has a writer.
//!
//! Read in this order: [`scratch`] (loaders that want a path), [`wire`], [`records`], [`text`], [`data`], [`foreign`], [`http`].

pub mod data;
pub mod foreign;
pub mod http;
pub mod records;
pub mod scratch;
pub mod text;
pub mod wire;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// What a reader says of bytes: its error, or that it took them.
pub type Answer = Result<(), String>;

/// The form of a target's files, which says how they are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Limbwise's container: checksums are made right after a change.
    Container,
    Json,
    /// JSON with a checksum, which is made right.
    Sealed,
    /// Lines and words.
    Text,
    Bytes,
    /// Chunks with checksums, which are made right.
    Png,
    /// A length, a header in JSON of that length, numbers.
    Safetensors,
    /// A request: lines, and a body whose length is made right.
    Http,
}

/// A reader under test.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub name: &'static str,
    pub form: Form,
    /// Files that it takes, from the root of the repository; the folder `crates/fuzz/corpus/NAME` comes on top.
    pub seeds: &'static [&'static str],
    pub run: fn(&[u8]) -> Answer,
}

/// A target with its own folder of seeds only.
const fn own(name: &'static str, form: Form, run: fn(&[u8]) -> Answer) -> Target {
    Target { name, form, seeds: &[], run }
}

/// A kind of container, with the fixtures of both versions of the format.
macro_rules! container {
    ($name:literal, $run:path) => {
        container!($name, $run, "crates/limbwise/tests/wire/v1/", "crates/limbwise/tests/wire/v2/")
    };
    ($name:literal, $run:path, $first:literal, $second:literal) => {
        Target {
            name: $name,
            form: Form::Container,
            seeds: &[concat!($first, $name, ".lw"), concat!($second, $name, ".lw")],
            run: $run,
        }
    };
}

/// All targets. The last is the HTTP server, which takes the signals of its process.
pub const TARGETS: &[Target] = &[
    container!("params", wire::params),
    container!("public-key", wire::public_key),
    container!("evaluation-keys", wire::evaluation_keys),
    container!("secret-key", wire::secret_key),
    container!("ciphertext", wire::ciphertext),
    container!("ciphertext-seeded", wire::ciphertext_seeded),
    container!("plaintext", wire::plaintext),
    Target {
        name: "prepared",
        form: Form::Container,
        seeds: &["crates/limbwise/tests/wire/v2/prepared.lw"],
        run: wire::prepared,
    },
    container!("tfhe-params", wire::tfhe_params),
    container!("tfhe-keys", wire::tfhe_keys),
    container!("tfhe-secret-key", wire::tfhe_secret_key),
    container!("tfhe-ciphertext", wire::tfhe_ciphertext),
    container!("bgv-params", wire::bgv_params),
    container!("bgv-ciphertext", wire::bgv_ciphertext),
    container!("bgv-ciphertext-seeded", wire::bgv_ciphertext_seeded),
    container!("to-lwe-key", wire::to_lwe_key),
    container!("graph", wire::graph, "crates/runtime/tests/wire_v1/", "crates/runtime/tests/wire_v2/"),
    container!(
        "machine-report",
        wire::machine_report,
        "crates/runtime/tests/wire_v1/",
        "crates/runtime/tests/wire_v2/"
    ),
    Target {
        name: "inspect",
        form: Form::Container,
        seeds: &["crates/limbwise/tests/wire/v2", "crates/runtime/tests/wire_v2"],
        run: wire::inspect,
    },
    own("description", Form::Json, records::description),
    own("ledger", Form::Sealed, records::ledger),
    own("sweep-journal", Form::Json, records::sweep_journal),
    own("graph-file", Form::Text, text::graph_file),
    own("op-trace", Form::Text, text::op_trace),
    own("params-toml", Form::Text, text::params_toml),
    own("tfhe-params-toml", Form::Text, text::tfhe_params_toml),
    own("bgv-params-toml", Form::Text, text::bgv_params_toml),
    Target { name: "machine-toml", form: Form::Text, seeds: &["crates/machines/specs"], run: text::machine_toml },
    own("sql", Form::Text, text::sql),
    own("onnx", Form::Bytes, data::onnx),
    own("safetensors", Form::Safetensors, data::safetensors),
    Target { name: "nn", form: Form::Bytes, seeds: &["crates/apps/data/nn20_mnist.nn"], run: data::nn },
    Target {
        name: "forest",
        form: Form::Bytes,
        seeds: &["crates/apps/data/forest_breast_cancer.onnx"],
        run: data::forest,
    },
    own("parquet", Form::Bytes, data::parquet),
    own("table", Form::Text, data::table),
    own("labeled-table", Form::Text, data::labeled_table),
    Target { name: "integers", form: Form::Text, seeds: &["crates/apps/data/shop_sales.csv"], run: data::integers },
    own("npy", Form::Bytes, data::npy),
    own("idx-images", Form::Bytes, data::idx_images),
    own("idx-labels", Form::Bytes, data::idx_labels),
    own("png", Form::Png, data::images),
    own("cifar", Form::Bytes, data::images),
    own("openfhe", Form::Json, foreign::openfhe),
    own("lattigo", Form::Bytes, foreign::lattigo_file),
    own("lattigo-params", Form::Json, foreign::lattigo_params),
    own("http", Form::Http, http::request),
];

/// The root of the repository that this was built in.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Target {
    #[must_use]
    pub fn of(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// The stored inputs, sorted by path: a number below their count means the same input everywhere.
    pub fn stored(&self) -> io::Result<Vec<Vec<u8>>> {
        let mut files = Vec::new();
        let own = format!("crates/fuzz/corpus/{}", self.name);
        for seed in self.seeds.iter().copied().chain([&*own]) {
            let path = root().join(seed);
            match path.is_dir() {
                true => files
                    .extend(fs::read_dir(&path)?.map(|entry| entry.map(|e| e.path())).collect::<Result<Vec<_>, _>>()?),
                false if seed == own => {}
                false => files.push(path),
            }
        }
        files.sort();
        files.iter().filter(|path| path.is_file()).map(fs::read).collect()
    }
}

/// What is taken is written as a file that is taken again and written the same.
fn stable<E: std::fmt::Display>(bytes: &[u8], rewritten: impl Fn(&[u8]) -> Result<Vec<u8>, E>) -> Answer {
    let once = rewritten(bytes).map_err(|e| e.to_string())?;
    match rewritten(&once) {
        Ok(twice) => assert!(once == twice, "written differently the second time"),
        Err(error) => panic!("what was written is refused: {error}"),
    }
    Ok(())
}
