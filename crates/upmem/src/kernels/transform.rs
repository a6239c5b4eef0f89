//! Cooley–Tukey and Gentleman–Sande transforms, negacyclic, in place, without a pass that reorders.
//!
//! A sub-polynomial is longer than a tasklet's buffers. Outer stages, whose partners lie at least a block apart, are passes
//! over pairs of chunks; the inner eight stages are one pass over blocks. In the forward transform outer stages come first.
//! Each pass reads and writes MRAM once. The first pass reads the source, all others the destination.
//!
//! Pairs or blocks are numbered; a tasklet takes number FIRST and every STEP-th from there. With 0 and 1 it has a
//! sub-polynomial to itself; with its number and the number of tasklets all share one, and wait for each other after each
//! pass.

use super::{
    Writer,
    frame::{BLOCK, CHUNK, fetch_job},
    routines::{add_mod, mul_by_prepared, sub_mod},
};

/// Both transforms, the loops they share, and their butterflies.
pub fn write(w: &mut Writer) {
    for way in [Way::FORWARD, Way::INVERSE] {
        way.start(w);
        way.jobs(w);
        way.outer(w);
        way.inner(w);
    }
    butterflies(w);
}

/// Properties of one direction of the transform.
struct Way {
    name: &'static str,
    forward: bool,
    twiddles: &'static str,
}

impl Way {
    const FORWARD: Self = Self { name: "ntt", forward: true, twiddles: "H_TWIDDLES" };
    const INVERSE: Self = Self { name: "intt", forward: false, twiddles: "H_INVERSE_TWIDDLES" };

    /// Sets FIRST and STEP, the share of a tasklet.
    fn start(&self, w: &mut Writer) {
        let name = self.name;
        w.lines(&format!(
            "k_{name}:
            move r0, 0
            move r1, one
            move r10, id
            lw r3, r22, H_TASKLETS
            jump go_{name}
            k_{name}_shared:
            move r0, id
            lw r1, r22, H_TASKLETS
            move r10, 0
            move r3, one
            go_{name}:
            sw r22, L_FIRST, r0
            sw r22, L_STEP, r1
            sw r22, L_JOB_STEP, r3"
        ));
    }

    /// The loop over jobs: job r10.
    fn jobs(&self, w: &mut Writer) {
        let name = self.name;
        w.lines(&format!(
            "job_{name}:
            lw r1, r22, C_JOBS
            sub zero, r10, r1, geu, next_command
            sw r22, L_JOB, r10"
        ));
        fetch_job(w);
        let log_block = BLOCK.trailing_zeros();
        let first = if self.forward {
            format!("lw r0, r22, H_LOG_N\nsub r0, r0, 1\njump outer_{name}")
        } else {
            format!("move r0, {log_block}\nsw r22, L_LOG_HALF, r0\njump blocks_{name}")
        };
        w.lines(&format!(
            "lw r0, r22, J_0
            sw r22, L_TARGET, r0
            lw r0, r22, J_1
            sw r22, L_SOURCE, r0
            lw r0, r22, H_N
            lsr r0, r0, {log_block}
            sw r22, L_PAIRS, r0
            {first}
            done_{name}:
            lw r10, r22, L_JOB
            lw r1, r22, L_JOB_STEP
            add r10, r10, r1
            jump job_{name}"
        ));
    }

    /// Passes over pairs of chunks: log₂ of the distance of partners is r0, and in L_LOG_HALF.
    fn outer(&self, w: &mut Writer) {
        self.outer_stage(w);
        self.outer_pair(w);
        self.call_outer(w);
        self.outer_end(w);
    }

    /// A stage: distance in bytes, and where the twiddles of its m groups begin: at number m, or at 1 + n − 2m.
    fn outer_stage(&self, w: &mut Writer) {
        let (name, twiddles) = (self.name, self.twiddles);
        let begin = if self.forward {
            "lsl_add r2, r2, r1, 2"
        } else {
            "lw r3, r22, H_N
            lsl_sub r3, r3, r1, 1
            add r3, r3, 1
            lsl_add r2, r2, r3, 2"
        };
        w.lines(&format!(
            "outer_{name}:
            sw r22, L_LOG_HALF, r0
            add r3, r0, 2
            move r1, one
            lsl r4, r1, r3
            sw r22, L_HALF_BYTES, r4
            lw r2, r22, H_LOG_N
            sub r2, r2, 1
            lw r3, r22, L_LOG_HALF
            sub r2, r2, r3
            lsl r1, r1, r2                ; groups m = n / (2 half)
            lw r2, r22, {twiddles}
            {begin}
            sw r22, L_STAGE_TWIDDLES, r2
            lw r10, r22, L_FIRST"
        ));
    }

    /// A pair of chunks, number r10: both and their twiddle into the buffers, and the run of butterflies set up.
    fn outer_pair(&self, w: &mut Writer) {
        let (name, log_chunk, bytes, twiddle) = (self.name, CHUNK.trailing_zeros(), 4 * CHUNK, 4 * BLOCK);
        let (log_bytes, count) = (bytes.trailing_zeros(), bytes / 8 - 1);
        w.lines(&format!(
            "pair_{name}:
            lw r1, r22, L_PAIRS
            sub zero, r10, r1, geu, passed_{name}
            lw r1, r22, L_LOG_HALF
            sub r1, r1, {log_chunk}
            lsr r4, r10, r1               ; group
            lsl r5, r4, r1
            add r5, r5, r10               ; chunk number of its first partner
            lsl r5, r5, {log_bytes}
            lw r2, r22, L_SOURCE
            add r2, r2, r5
            ldma r22, r2, {count}
            lw r3, r22, L_HALF_BYTES
            add r2, r2, r3
            add r7, r22, {bytes}
            ldma r7, r2, {count}
            lw r2, r22, L_TARGET
            add r2, r2, r5
            sw r22, L_X_AT, r2
            add r2, r2, r3
            sw r22, L_Y_AT, r2
            lw r1, r22, L_STAGE_TWIDDLES
            lsl_add r1, r1, r4, 2
            and r2, r1, -8                ; a transfer begins at a multiple of 8
            add r3, r22, {twiddle}
            ldma r3, r2, 0
            and r1, r1, 4
            add r1, r1, r22
            lw r16, r1, {twiddle}
            move r19, r22
            add r21, r22, {bytes}
            move r12, r21"
        ));
    }

    /// Both chunks back, the next pair, the next stage.
    fn outer_end(&self, w: &mut Writer) {
        let (name, bytes, log_block) = (self.name, 4 * CHUNK, BLOCK.trailing_zeros());
        let count = bytes / 8 - 1;
        w.lines(&format!(
            "lw r2, r22, L_X_AT
            sdma r22, r2, {count}
            lw r2, r22, L_Y_AT
            add r7, r22, {bytes}
            sdma r7, r2, {count}
            lw r1, r22, L_STEP
            add r10, r10, r1
            jump pair_{name}
            passed_{name}:
            lw r0, r22, L_TARGET
            sw r22, L_SOURCE, r0"
        ));
        self.meet(w);
        w.lines("lw r0, r22, L_LOG_HALF");
        w.lines(&if self.forward {
            format!("sub r0, r0, 1\nsub zero, r0, {log_block}, geu, outer_{name}")
        } else {
            format!("add r0, r0, 1\nlw r1, r22, H_LOG_N\nsub zero, r0, r1, ltu, outer_{name}\njump done_{name}")
        });
    }

    /// The inverse's last stage multiplies both halves, which takes N^{-1} along.
    fn call_outer(&self, w: &mut Writer) {
        if self.forward {
            return w.lines("call r8, cooley_tukey");
        }
        w.lines(
            "lw r0, r22, L_LOG_HALF
            add r0, r0, 1
            lw r1, r22, H_LOG_N
            sub zero, r0, r1, eq, last_intt
            call r8, gentleman_sande
            jump back_intt
            last_intt:
            lw r20, r22, H_N_INVERSE
            call r8, gentleman_sande_last
            back_intt:",
        );
    }

    /// Where tasklets share a sub-polynomial, they wait after each pass.
    fn meet(&self, w: &mut Writer) {
        let alone = w.label();
        w.lines(&format!(
            "lw r0, r22, L_STEP
            lw r1, r22, L_JOB_STEP
            sub zero, r1, 1, neq, {alone}   ; each has a job of its own
            sub zero, r0, 1, eq, {alone}
            call r23, barrier
            {alone}:"
        ));
    }

    /// The pass over blocks: number r10; r18 ends the block, r0 is log₂ of the distance of partners.
    fn inner(&self, w: &mut Writer) {
        let (name, bytes) = (self.name, 4 * BLOCK);
        let (log_bytes, count) = (bytes.trailing_zeros(), bytes / 8 - 1);
        let first = if self.forward { BLOCK.trailing_zeros() - 1 } else { 0 };
        w.lines(&format!(
            "blocks_{name}:
            lw r10, r22, L_FIRST
            block_{name}:
            lw r1, r22, L_PAIRS
            sub zero, r10, r1, geu, blocked_{name}
            lsl r5, r10, {log_bytes}
            lw r2, r22, L_TARGET
            add r2, r2, r5
            sw r22, L_BLOCK_AT, r2
            lw r2, r22, L_SOURCE
            add r2, r2, r5
            ldma r22, r2, {count}
            add r18, r22, {bytes}
            move r0, {first}"
        ));
        self.inner_twiddles(w);
        self.inner_groups(w);
        w.lines(&format!(
            "lw r2, r22, L_BLOCK_AT
            sdma r22, r2, {count}
            lw r1, r22, L_STEP
            add r10, r10, r1
            jump block_{name}
            blocked_{name}:"
        ));
        self.after_blocks(w);
    }

    /// The twiddles of a stage within a block, m_b = 128 / half of them: from number (n / 256 + b)·m_b on, or from
    /// 1 + n + (b − 2·n / 256)·m_b.
    fn inner_twiddles(&self, w: &mut Writer) {
        let (name, twiddles, bytes, log_inner) = (self.name, self.twiddles, 4 * BLOCK, BLOCK.trailing_zeros() - 1);
        let (blocks, behind) = if self.forward {
            ("add r5, r4, r10", "")
        } else {
            ("lsl_sub r5, r10, r4, 1", "lw r4, r22, H_N\nadd r5, r5, r4\nadd r5, r5, 1")
        };
        w.lines(&format!(
            "stage_{name}:
            sw r22, L_LOG_HALF, r0
            sw r22, L_INDEX, r10
            lw r4, r22, L_PAIRS
            {blocks}
            rsub r1, r0, {log_inner}
            lsl r5, r5, r1
            {behind}
            lw r2, r22, {twiddles}
            lsl_add r2, r2, r5, 2
            and r5, r2, -8
            and r20, r2, 4
            sub r1, r1, 1, pl, long_{name}
            move r1, 0                    ; one twiddle: a transfer has two
            long_{name}:
            move r2, one
            lsl r2, r2, r1
            sub r2, r2, 1
            add r3, r22, {bytes}
            add r20, r20, r3
            lsl_add r3, r3, r2, 24
            ldma r3, r5, 0"
        ));
    }

    /// Group after group of a stage, then the next stage.
    fn inner_groups(&self, w: &mut Writer) {
        let (name, log_block) = (self.name, BLOCK.trailing_zeros());
        let (call, next) = if self.forward {
            ("cooley_tukey", format!("sub r0, r0, 1, pl, stage_{name}"))
        } else {
            ("gentleman_sande", format!("add r0, r0, 1\nsub zero, r0, {log_block}, neq, stage_{name}"))
        };
        w.lines(&format!(
            "add r3, r0, 2
            move r2, one
            lsl r10, r2, r3               ; bytes between partners
            move r19, r22
            group_{name}:
            lw r16, r20, 0
            add r20, r20, 4
            add r21, r19, r10
            move r12, r21
            call r8, {call}
            move r19, r21
            sub zero, r19, r18, ltu, group_{name}
            lw r10, r22, L_INDEX
            lw r0, r22, L_LOG_HALF
            {next}"
        ));
    }

    fn after_blocks(&self, w: &mut Writer) {
        w.lines("lw r0, r22, L_TARGET\nsw r22, L_SOURCE, r0");
        self.meet(w);
        let log_block = BLOCK.trailing_zeros();
        w.lines(&if self.forward { "jump done_ntt".into() } else { format!("move r0, {log_block}\njump outer_intt") });
    }
}

/// Runs of butterflies: x from r19 up to r12, y from r21, one twiddle r16; return by r8.
fn butterflies(w: &mut Writer) {
    w.lines(
        "cooley_tukey:
        lw r1, r21, 0
        move r0, r16",
    );
    mul_by_prepared(w);
    w.lines("lw r9, r19, 0");
    add_mod(w, "r2", "r9", "r4");
    sub_mod(w, "r6", "r9", "r4");
    w.lines("sw r19, 0, r2\nsw r21, 0, r6");
    next_butterfly(w, "cooley_tukey");
    for last in [false, true] {
        let name = if last { "gentleman_sande_last" } else { "gentleman_sande" };
        w.lines(&format!(
            "{name}:
            lw r9, r19, 0
            lw r4, r21, 0"
        ));
        add_mod(w, "r2", "r9", "r4");
        sub_mod(w, "r0", "r9", "r4");
        w.lines("sw r19, 0, r2\nmove r1, r16");
        mul_by_prepared(w);
        w.lines("sw r21, 0, r4");
        if last {
            w.lines("lw r0, r19, 0\nmove r1, r20");
            mul_by_prepared(w);
            w.lines("sw r19, 0, r4");
        }
        next_butterfly(w, name);
    }
}

fn next_butterfly(w: &mut Writer, name: &str) {
    w.lines(&format!(
        "add r19, r19, 4
        add r21, r21, 4
        sub zero, r19, r12, ltu, {name}
        jump r8"
    ));
}
