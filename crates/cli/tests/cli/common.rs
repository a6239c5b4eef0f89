//! Running the program in a folder of its own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// A folder that goes away with its test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("limbwise-cli-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    /// Names of all files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = entries.collect();
        names.sort();
        names
    }

    /// The program in this folder, ready to start.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_limbwise"));
        command.args(arguments).current_dir(&self.0).env_remove("LIMBWISE_ISA").stdin(Stdio::null());
        // Nothing is measured in tests, whose seconds would be those of a busy host; the user's own cache is left alone.
        command.env("LIMBWISE_RATES", repository(RATES)).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Rates of some host: two threads of an Intel Xeon.
pub(crate) const RATES: &str = "crates/cli/tests/fixtures/rates.json";

/// A file of the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// TFHE on a small ring with few steps: seconds where a real one takes minutes.
pub(crate) const TINY_TFHE: &str = "log_n = 10
masks = 1
prime = 48
glwe_sigma = 3.2
lwe_dimension = 60
log_lwe_modulus = 32
lwe_sigma = 3.2
message_bits = 2
norm = 5.0
log2_failure = -40.0

[bootstrap]
base_log = 16
levels = 2

[key_switch]
base_log = 4
levels = 5

[insecure]
reason = \"a test of the command line\"
";

/// The same with bootstrapping: two levels between two of them.
pub(crate) const TINY_BOOT: &str = "log_n = 11
levels = [[50], [32], [32], [40], [40], [30, 29], [50], [50], [50], [50], [50], [50], [50], [50], [46], [46]]
special = [50, 50, 50, 50, 50]
dnum = 4
log_scale = 40

[insecure]
reason = \"a test of the command line\"

[bootstrapping]
slot-to-coeff = 2
coeff-to-slot = 2
message-ratio = 7
ephemeral-weight = 32
eval-mod = { range = 16, degree = 31, double-angles = 3, sine = { exponential = { harmonics = 2 } } }
";

/// Parameters that are too small to be secure, and say so: a run takes a second.
pub(crate) const TINY: &str = "log_n = 11
levels = [[50], [40], [40], [40], [40], [40], [40], [40]]
special = [50, 50]
dnum = 4
log_scale = 40

[insecure]
reason = \"a test of the command line\"
";

/// TFHE with four message bits on a small ring, for questions to tables.
pub(crate) fn tiny_tfhe_of_four_bits() -> String {
    TINY_TFHE.replace("message_bits = 2", "message_bits = 4")
}

/// CKKS that a bridge of flags may end at, on a small ring: four levels behind it.
pub(crate) const TINY_BRIDGE: &str = "log_n = 11
levels = [[46], [40], [40], [40], [40], [26, 26], [46], [46], [46], [46], [46], [46], [46], [43], [43]]
special = [50, 50, 50]
dnum = 6
log_scale = 40

[insecure]
reason = \"a test of the command line\"

[bootstrapping]
slot-to-coeff = 1
coeff-to-slot = 2
message-ratio = 2
ephemeral-weight = 32
eval-mod = { range = 16, degree = 31, double-angles = 3, sine = { cosine = { arcsine = 0 } } }
";
