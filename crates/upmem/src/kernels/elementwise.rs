//! Element-wise kernels: all tasklets share all chunks of all jobs.

use super::{
    Writer,
    frame::{BUFFERS, CHUNK, Operation, fetch_job},
    routines::{add_mod, barrett, sub_mod},
};

/// Transfers of a kernel: words of the job read into the buffers, in the buffers' order, and (buffer, word) pairs written back.
struct Traffic {
    reads: &'static [u32],
    writes: &'static [(u32, u32)],
}

fn traffic(op: Operation) -> Traffic {
    match op {
        Operation::Add | Operation::Sub | Operation::Mul => Traffic { reads: &[1, 2], writes: &[(0, 0)] },
        Operation::MulAcc => Traffic { reads: &[1, 2, 0], writes: &[(0, 0)] },
        Operation::BgvProduct => Traffic { reads: &[3, 4, 5, 6], writes: &[(0, 0), (1, 1), (2, 2)] },
        _ => Traffic { reads: &[1], writes: &[(0, 0)] },
    }
}

const KERNELS: [Operation; 8] = [
    Operation::Add,
    Operation::Sub,
    Operation::Neg,
    Operation::Mul,
    Operation::MulAcc,
    Operation::Scale,
    Operation::Shift,
    Operation::BgvProduct,
];

/// Writes all element-wise kernels.
pub fn write(w: &mut Writer) {
    for op in KERNELS {
        kernel(w, op);
    }
}

/// The loop over chunks: chunk r18, job r18 >> (log n − 7), byte offset r20 in the sub-polynomial.
fn kernel(w: &mut Writer, op: Operation) {
    let (name, bytes, log_chunk) = (op.name(), 4 * CHUNK, CHUNK.trailing_zeros());
    w.lines(&format!(
        "k_{name}:
        lw r14, r22, H_V
        lw r0, r22, C_JOBS
        lw r1, r22, H_LOG_N
        sub r1, r1, {log_chunk}
        lsl r0, r0, r1
        sw r22, L_TOTAL, r0
        move r18, id
        chunk_{name}:
        lw r1, r22, L_TOTAL
        sub zero, r18, r1, geu, next_command
        lw r1, r22, H_LOG_N
        sub r1, r1, {log_chunk}
        lsr r10, r18, r1
        lsl r3, r10, r1
        sub r20, r18, r3
        lsl r20, r20, {}",
        bytes.trailing_zeros()
    ));
    fetch_job(w);
    let traffic = traffic(op);
    for (buffer, word) in (0..).zip(traffic.reads) {
        move_chunk(w, "ldma", buffer, *word);
    }
    w.lines(&format!(
        "move r19, r22
        add r12, r22, {bytes}
        lw r16, r22, J_3
        word_{name}:"
    ));
    body(w, op);
    w.lines(&format!(
        "add r19, r19, 4
        sub zero, r19, r12, ltu, word_{name}"
    ));
    for (buffer, word) in traffic.writes {
        move_chunk(w, "sdma", *buffer, *word);
    }
    w.lines(&format!(
        "lw r1, r22, H_TASKLETS
        add r18, r18, r1
        jump chunk_{name}"
    ));
}

/// One DMA transfer of a chunk at offset r20 of the sub-polynomial that a word of the job addresses.
fn move_chunk(w: &mut Writer, op: &str, buffer: u32, word: u32) {
    assert!(4 * CHUNK * (buffer + 1) <= BUFFERS, "a tasklet has four buffers");
    w.lines(&format!(
        "lw r1, r22, J_{word}
        add r1, r1, r20
        add r2, r22, {}
        {op} r2, r1, {}",
        4 * CHUNK * buffer,
        CHUNK / 2 - 1
    ));
}

/// Computes one word; operands are at r19 and at multiples of a chunk after it.
fn body(w: &mut Writer, op: Operation) {
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| 4 * CHUNK * i);
    let product = |w: &mut Writer, x: u32, y: u32| {
        w.lines(&format!("lw r0, r19, {x}\nlsl r0, r0, r17\nlw r1, r19, {y}"));
        barrett(w);
    };
    match op {
        Operation::Add => {
            w.lines(&format!("lw r9, r19, {a}\nlw r4, r19, {b}"));
            add_mod(w, "r4", "r9", "r4");
        }
        Operation::Sub => {
            w.lines(&format!("lw r9, r19, {a}\nlw r4, r19, {b}"));
            sub_mod(w, "r4", "r9", "r4");
        }
        Operation::Neg => {
            w.lines(&format!("move r9, 0\nlw r4, r19, {a}"));
            sub_mod(w, "r4", "r9", "r4");
        }
        Operation::Shift => {
            w.lines(&format!("lw r9, r19, {a}"));
            add_mod(w, "r4", "r9", "r16");
        }
        Operation::Scale => {
            w.lines(&format!("move r0, r16\nlw r1, r19, {a}"));
            barrett(w);
        }
        Operation::Mul => product(w, a, b),
        Operation::MulAcc => {
            product(w, a, b);
            w.lines(&format!("lw r9, r19, {c}"));
            add_mod(w, "r4", "r9", "r4");
        }
        _ => {
            // a0 a1 b0 b1; all four are read before one is overwritten.
            product(w, a, d);
            w.lines("move r21, r4");
            product(w, b, c);
            add_mod(w, "r8", "r21", "r4");
            product(w, a, c);
            w.lines("move r16, r4");
            product(w, b, d);
            w.lines(&format!("sw r19, {a}, r16\nsw r19, {b}, r8\nsw r19, {c}, r4"));
            return;
        }
    }
    w.lines(&format!("sw r19, {a}, r4"));
}
