//! The frame of the program: registers and memory of a tasklet, the list of commands, the barrier between them.
//!
//! MRAM begins with a header ([`Header`]); it holds the addresses of commands and jobs. A command is 8 words: operation, number of
//! jobs, address of the jobs. A job is 8 words, a sub-polynomial each: see [`Operation`].
//!
//! Registers that stay: r13 q, r15 q·2^s (32 bits), r14 the reciprocal of the form's reduction, r17 s, r22 the tasklet's
//! frame in WRAM. In the frame: buffers, the header, the command, the job, locals.

use super::{Reduction, Writer};

/// Words of a chunk, the unit of element-wise kernels.
pub const CHUNK: u32 = 128;

/// Words of a block, the unit of the inner stages of a transform.
pub const BLOCK: u32 = 2 * CHUNK;

/// Bytes of a tasklet's buffers.
pub const BUFFERS: u32 = 2048;

/// Bytes of a tasklet's frame.
pub const FRAME_BYTES: u32 = 2304;

/// Bytes before the frames, used by the barrier.
pub const SHARED_BYTES: u32 = 64;

/// Bytes of a command, and of a job.
pub const COMMAND_BYTES: u32 = 32;

/// Words of the header, in order; each is named `H_…` in the program's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Ring degree N.
    pub n: u32,
    /// log₂ N.
    pub log_n: u32,
    /// The modulus q.
    pub modulus: u32,
    /// q·2^s, with the top bit set.
    pub normalized: u32,
    /// s, the shift that gives q·2^s its top bit.
    pub shift: u32,
    /// ⌊(2^64 − 1)/(q·2^s)⌋ − 2^32.
    pub reciprocal: u32,
    /// q^{-1} modulo 2^32.
    pub inverse: u32,
    /// N^{-1} modulo q, prepared for the form's reduction.
    pub n_inverse: u32,
    /// Number of commands in the launch.
    pub commands: u32,
    /// MRAM address of the commands.
    pub commands_at: u32,
    /// MRAM address of the forward twiddles; twiddle i is at `+ 4·i`.
    pub twiddles_at: u32,
    /// MRAM address of the inverse twiddles, in the order of use; twiddle i, from 1, is at `+ 4·i`.
    pub inverse_twiddles_at: u32,
    /// Number of tasklets in the launch.
    pub tasklets: u32,
}

impl Header {
    const NAMES: [&str; 13] = [
        "N",
        "LOG_N",
        "Q",
        "D",
        "S",
        "V",
        "Q_INVERSE",
        "N_INVERSE",
        "COMMANDS",
        "COMMANDS_AT",
        "TWIDDLES",
        "INVERSE_TWIDDLES",
        "TASKLETS",
    ];

    /// The words of the header, padded to 64 bytes.
    #[must_use]
    pub fn words(&self) -> [u32; 16] {
        let Self { n, log_n, modulus, normalized, shift, reciprocal, inverse, n_inverse, .. } = *self;
        let Self { commands, commands_at, twiddles_at, inverse_twiddles_at, tasklets, .. } = *self;
        [
            n,
            log_n,
            modulus,
            normalized,
            shift,
            reciprocal,
            inverse,
            n_inverse,
            commands,
            commands_at,
            twiddles_at,
            inverse_twiddles_at,
            tasklets,
            0,
            0,
            0,
        ]
    }
}

/// Operation of a command on each of its jobs. The words of a job are MRAM addresses: destination, then operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `c = transform of a`; one tasklet per sub-polynomial.
    Ntt,
    /// `c = inverse transform of a`; one tasklet per sub-polynomial.
    Intt,
    /// The forward transform with all tasklets on one sub-polynomial after another.
    NttShared,
    /// The inverse transform with all tasklets on one sub-polynomial after another.
    InttShared,
    /// `c = a + b`. In this and all later operations all tasklets share all chunks.
    Add,
    /// `c = a − b`.
    Sub,
    /// `c = −a`.
    Neg,
    /// `c = a·b`.
    Mul,
    /// `c += a·b`.
    MulAcc,
    /// `c = a·constant`: word 3 of the job, times 2^s.
    Scale,
    /// `c = a + constant`: word 3 of the job.
    Shift,
    /// `(c0, c1, c2) = (a0·b0, a0·b1 + a1·b0, a1·b1)`: three destinations, then a0, a1, b0, b1.
    BgvProduct,
}

impl Operation {
    /// All operations.
    pub const ALL: [Self; 12] = [
        Self::Ntt,
        Self::Intt,
        Self::NttShared,
        Self::InttShared,
        Self::Add,
        Self::Sub,
        Self::Neg,
        Self::Mul,
        Self::MulAcc,
        Self::Scale,
        Self::Shift,
        Self::BgvProduct,
    ];

    /// Name in tables and programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ntt => "ntt",
            Self::Intt => "intt",
            Self::NttShared => "ntt_shared",
            Self::InttShared => "intt_shared",
            Self::Add => "add",
            Self::Sub => "sub",
            Self::Neg => "neg",
            Self::Mul => "mul",
            Self::MulAcc => "mul_acc",
            Self::Scale => "scale",
            Self::Shift => "shift",
            Self::BgvProduct => "bgv_product",
        }
    }

    /// Code in a command.
    #[must_use]
    pub fn code(self) -> u32 {
        (0..).zip(Self::ALL).find(|(_, op)| *op == self).map_or(0, |(code, _)| code)
    }
}

/// Names of the frame's words for locals of kernels.
const LOCALS: [&str; 16] = [
    "COMMAND_INDEX",
    "JOB",
    "JOB_STEP",
    "FIRST",
    "STEP",
    "SOURCE",
    "TARGET",
    "LOG_HALF",
    "HALF_BYTES",
    "STAGE_TWIDDLES",
    "PAIRS",
    "INDEX",
    "X_AT",
    "Y_AT",
    "TOTAL",
    "BLOCK_AT",
];

/// Writes names, the start, the loop over commands, and the barrier.
pub fn write(w: &mut Writer) {
    let header = BUFFERS;
    let command = header + 64;
    let job = command + COMMAND_BYTES;
    let locals = job + COMMAND_BYTES;
    let names = |prefix: &'static str, first: u32, names: &[&str]| {
        let at = |(i, name): (u32, &&str)| format!(".equ {prefix}{name} {}\n", first + 4 * i);
        (0..).zip(names).map(at).collect::<String>()
    };
    w.lines(&names("H_", header, &Header::NAMES));
    w.lines(&names("C_", command, &["OPERATION", "JOBS", "JOBS_AT"]));
    w.lines(&names("J_", job, &["0", "1", "2", "3", "4", "5", "6", "7"]));
    w.lines(&names("L_", locals, &LOCALS));
    let reciprocal = match w.form.reduction {
        Reduction::Barrett => "H_V",
        Reduction::Montgomery => "H_Q_INVERSE",
    };
    w.lines(&format!(
        "start:
        lsl r22, id, 11
        lsl_add r22, r22, id, 8          ; 2304 bytes a tasklet
        add r22, r22, {SHARED_BYTES}
        add r0, r22, {header}
        ldma r0, zero, 7
        lw r13, r22, H_Q
        lw r15, r22, H_D
        lw r17, r22, H_S
        move r0, 0
        sw r22, L_COMMAND_INDEX, r0      ; locals live in the frame
        jump this_command
        next_command:
        call r23, barrier
        lw r0, r22, L_COMMAND_INDEX
        add r0, r0, 1
        sw r22, L_COMMAND_INDEX, r0
        this_command:
        lw r0, r22, L_COMMAND_INDEX
        lw r1, r22, H_COMMANDS
        sub zero, r0, r1, ltu, fetch
        stop
        fetch:
        lw r1, r22, H_COMMANDS_AT
        lsl_add r1, r1, r0, 5
        add r2, r22, {command}
        ldma r2, r1, 3
        lw r14, r22, {reciprocal}
        lw r0, r22, C_OPERATION"
    ));
    for op in Operation::ALL {
        w.lines(&format!("sub zero, r0, {}, eq, k_{}", op.code(), op.name()));
    }
    w.lines("stop");
    write_barrier(w);
}

/// Reads job r10 into the frame. Overwrites r0 to r2.
pub fn fetch_job(w: &mut Writer) {
    w.lines(&format!(
        "lw r1, r22, C_JOBS_AT
        lsl_add r1, r1, r10, 5
        add r2, r22, {}
        ldma r2, r1, 3",
        BUFFERS + 64 + COMMAND_BYTES
    ));
}

/// The barrier: tasklets sleep, so that others have the pipeline, and the last to arrive wakes them. Overwrites r0, r1.
fn write_barrier(w: &mut Writer) {
    w.lines(
        "barrier:
        acquire zero, 0, nz, barrier
        lw r1, zero, 0
        add r1, r1, 1
        lw r0, r22, H_TASKLETS
        sub zero, r1, r0, eq, last
        sw zero, 0, r1
        release zero, 0
        stop
        return
        last:
        sw zero, 0, zero
        release zero, 0
        wake:
        sub r0, r0, 1, mi, woken
        sub zero, r0, id, eq, wake
        falling_asleep:
        resume r0, 0, nz, falling_asleep
        jump wake
        woken:
        return",
    );
}
