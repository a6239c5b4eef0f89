//! Results of kernels by definition, for closed-form mode.

use crate::{
    Dpu, DpuFault,
    kernels::{
        frame::Operation,
        image::{Job, low, normalizing_shift},
    },
};
use limbwise_math::{modulus::Modulus, ntt::NttTable};

/// A modulus with its reference transform.
#[derive(Debug)]
pub(crate) struct Definitions {
    q: Modulus,
    transform: NttTable,
}

impl Definitions {
    pub(crate) fn new(q: Modulus, log_n: u32) -> Self {
        Self { q, transform: NttTable::new(q, log_n) }
    }
}

/// Computes a job on words in MRAM.
pub(crate) fn apply(dpu: &mut Dpu, of: &Definitions, op: Operation, job: &Job) -> Result<(), DpuFault> {
    let (q, n) = (of.q, 1 << of.transform.log_n());
    let mut read = |at: u32| -> Result<Vec<u64>, DpuFault> {
        let mut words = vec![0; n];
        dpu.read_mram(at, &mut words)?;
        Ok(words.into_iter().map(u64::from).collect())
    };
    let map = |mut a: Vec<u64>, b: Vec<u64>, f: &dyn Fn(u64, u64) -> u64| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a = f(*a, b));
        a
    };
    let a = read(job[1])?;
    let constant = u64::from(job[3]);
    let results = match op {
        Operation::Ntt | Operation::NttShared => {
            let mut a = a;
            of.transform.forward(&mut a);
            vec![a]
        }
        Operation::Intt | Operation::InttShared => {
            let mut a = a;
            of.transform.inverse(&mut a);
            vec![a]
        }
        Operation::Add => vec![map(a, read(job[2])?, &|a, b| q.add(a, b))],
        Operation::Sub => vec![map(a, read(job[2])?, &|a, b| q.sub(a, b))],
        Operation::Neg => vec![a.into_iter().map(|a| q.neg(a)).collect()],
        Operation::Mul => vec![map(a, read(job[2])?, &|a, b| q.mul(a, b))],
        Operation::MulAcc => {
            let product = map(a, read(job[2])?, &|a, b| q.mul(a, b));
            vec![map(product, read(job[0])?, &|a, b| q.add(a, b))]
        }
        Operation::Scale => {
            let constant = constant >> normalizing_shift(q);
            vec![a.into_iter().map(|a| q.mul(a, constant)).collect()]
        }
        Operation::Shift => vec![a.into_iter().map(|a| q.add(a, constant)).collect()],
        Operation::BgvProduct => {
            let [a0, a1, b0, b1] = [read(job[3])?, read(job[4])?, read(job[5])?, read(job[6])?];
            let product = |a: &[u64], b: &[u64]| a.iter().zip(b).map(|(&a, &b)| q.mul(a, b)).collect::<Vec<_>>();
            let middle = map(product(&a0, &b1), product(&a1, &b0), &|a, b| q.add(a, b));
            vec![product(&a0, &b0), middle, product(&a1, &b1)]
        }
    };
    for (at, result) in job.iter().zip(results) {
        dpu.write_mram(*at, &result.into_iter().map(low).collect::<Vec<_>>())?;
    }
    Ok(())
}
