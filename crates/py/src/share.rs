//! What a session shares of what it decrypts: counted, in memory or beside the secret key's file, and flooded with noise.

use crate::{
    buffer::{Lie, numbers, unpack},
    error::{exception, of_runtime, of_scheme},
};
use limbwise::{Complex64, ckks::Estimate, wire::Fingerprint};
use limbwise_apps::{Array, program::Numbers};
use limbwise_math::sampling::Seed;
use limbwise_runtime::{
    ledger::{Ledger, Shared},
    share::{Sharing, shared},
};
use pyo3::prelude::{Bound, PyAny, PyResult};
use std::{
    cell::Cell,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What was shared under a key: one book for all sides of a client.
#[derive(Clone, Default)]
pub(crate) struct Book(Arc<Mutex<Pages>>);

struct Pages {
    /// What this process knows of, whatever became of the files.
    shared: Option<Shared>,
    /// One beside each file of the secret key that this context wrote or was read from.
    ledgers: Vec<Ledger>,
    /// Memory is copied by a fork; files are not.
    process: u32,
}

impl Default for Pages {
    fn default() -> Self {
        Self { shared: None, ledgers: Vec::new(), process: std::process::id() }
    }
}

impl Pages {
    /// What was shared, by all that is known.
    fn shared(&self) -> limbwise_runtime::Result<Option<Shared>> {
        self.ledgers.iter().try_fold(self.shared, |known, ledger| Shared::both(known, ledger.shared()?))
    }

    /// Counts one more, first of all in the files.
    fn count(&mut self, sharing: Sharing) -> limbwise_runtime::Result<Shared> {
        let known = self.shared()?;
        let mut after = None;
        for ledger in &self.ledgers {
            // The first takes its turn with other processes; the rest follow it.
            let one = if after.is_none() { 1 } else { 0 };
            after = Some(ledger.share(sharing, one, after.or(known))?);
        }
        let after = after.map_or_else(|| Shared::after(known, sharing, 1), Ok)?;
        self.shared = Some(after);
        Ok(after)
    }
}

impl Book {
    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For how much the noise is sized: as is said, else as for what was shared before.
    pub(crate) fn sharing(&self, bits: Option<u32>, results: Option<u32>) -> PyResult<Sharing> {
        let sharing = Shared::sharing(self.pages().shared().map_err(of_runtime)?, bits, results);
        if (1..=128).contains(&sharing.statistical_bits) && (1..=1_000_000).contains(&sharing.results) {
            return Ok(sharing);
        }
        let text = "statistical_bits: give 1 to 128; shared_results: give 1 to 1000000";
        Err(exception("ParamsError", text))
    }

    /// Writes messages into an array with noise on its numbers, once they are counted; what was shared, as JSON.
    pub(crate) fn flood(
        &self,
        (messages, lie): (&[Vec<Complex64>], &Lie),
        (array, complex): (&Bound<'_, PyAny>, bool),
        estimate: Estimate,
        sharing: Sharing,
    ) -> PyResult<String> {
        let mut pages = self.pages();
        if pages.ledgers.is_empty() && pages.process != std::process::id() {
            let text = "share: this process was forked, and its parent may share as well; nobody would count both: save the key first, context.save_secret(path), so that they count in its ledger";
            return Err(exception("LimbwiseError", text));
        }
        let before = pages.shared().map_err(of_runtime)?;
        Shared::after(before, sharing, 1).map_err(of_runtime)?;
        unpack(messages, array, complex, lie)?;
        let width = if complex { 2 } else { 1 };
        let clear = numbers(array, |all| {
            let part = |pair: &[Cell<f64>], at: usize| pair.get(at).map_or(0.0, Cell::get);
            let values = all.chunks(width).map(|pair| Complex64::new(part(pair, 0), part(pair, 1))).collect();
            all.iter().for_each(|x| x.set(0.0)); // whatever fails now, nothing that was decrypted is left in the array
            let numbers = if complex { Numbers::Complex } else { Numbers::Real };
            Ok(Array { name: "result".into(), shape: vec![all.len() / width], values, numbers })
        })?;
        let seed = Seed::from_os().map_err(|e| of_scheme(e.into()))?;
        let (fit, report) = shared(&clear, estimate, sharing, &seed).map_err(of_runtime)?;
        let after = pages.count(sharing).map_err(of_runtime)?;
        numbers(array, |all| {
            for (pair, z) in all.chunks(width).zip(&fit.values) {
                pair.iter().zip([z.re, z.im]).for_each(|(x, part)| x.set(part));
            }
            Ok(())
        })?;
        Ok(serde_json::json!({ "flooded": report, "shared": after }).to_string())
    }

    /// Counts in a file beside the secret key's from now on; what was counted in memory is counted there.
    pub(crate) fn keep(&self, secret: &Path, keys: Fingerprint) -> PyResult<()> {
        let mut pages = self.pages();
        let ledger = Ledger::beside(secret, keys).map_err(of_runtime)?;
        let known = Shared::both(pages.shared().map_err(of_runtime)?, ledger.shared().map_err(of_runtime)?);
        if let Some(shared) = known.map_err(of_runtime)? {
            ledger.share(shared.sharing, 0, Some(shared)).map_err(of_runtime)?;
            pages.shared = Some(shared);
        }
        pages.ledgers.push(ledger);
        Ok(())
    }
}
