//! The instruction set: operations, conditions, registers, and an instruction as the interpreter holds it.
//!
//! A subset of the DPU's instructions: those that hand-written arithmetic kernels use. Every arithmetic instruction may
//! carry a condition on its result or operands and a jump target, at no cost.
//!
//! Source: \[DRA\]; UPMEM's public manuals.

/// General registers of a tasklet.
pub const REGISTERS: u8 = 24;

/// Bytes of the smallest and the largest DMA transfer; lengths and both addresses are multiples of the smallest.
pub const DMA_BYTES: (u32, u32) = (8, 2048);

/// Hardware mutexes of a DPU.
pub const MUTEXES: usize = 256;

/// Names of the read-only registers, which follow the general ones. Their values are set when a tasklet starts.
pub const CONSTANTS: [&str; 8] = ["zero", "one", "lneg", "mneg", "id", "id2", "id4", "id8"];

/// Register `zero`; as a destination it discards.
pub const ZERO: u8 = REGISTERS;

/// Register of discarded results, after all named ones.
pub(crate) const SINK: u8 = 63;

/// The values of [`CONSTANTS`] for a tasklet.
#[must_use]
pub fn constants(id: u32) -> [u32; 8] {
    [0, 1, u32::MAX, 1 << 31, id, 2 * id, 4 * id, 8 * id]
}

macro_rules! mnemonics {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// All values.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Name in a program's text.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The value of a name, if any.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|x| x.name() == name)
            }
        }
    };
}

mnemonics! {
    /// What an instruction does; c is its destination, a and b are its sources.
    Op {
        /// `c = b`.
        Move = "move",
        /// `c = a + b`; sets the carry.
        Add = "add",
        /// `c = a + b + carry`; sets the carry.
        Addc = "addc",
        /// `c = a − b`; the carry is the borrow.
        Sub = "sub",
        /// `c = a − b − carry`; the carry is the borrow.
        Subc = "subc",
        /// `c = b − a`; the carry is the borrow.
        Rsub = "rsub",
        /// `c = a and b`.
        And = "and",
        /// `c = a or b`.
        Or = "or",
        /// `c = a xor b`.
        Xor = "xor",
        /// `c = a << b`, b modulo 32 (as in all shifts).
        Lsl = "lsl",
        /// `c = a >> b`, zeros from the left.
        Lsr = "lsr",
        /// `c = a >> b`, the sign from the left.
        Asr = "asr",
        /// `c` = a rotated left by b.
        Rol = "rol",
        /// The bits that `a << b` pushes out: `a >> (32 − b)`, nothing for b = 0.
        Lslx = "lslx",
        /// The bits that `a >> b` pushes out: `a << (32 − b)`, nothing for b = 0.
        Lsrx = "lsrx",
        /// `c = a + (b << shift)`; sets the carry of the addition.
        LslAdd = "lsl_add",
        /// `c = a − (b << shift)`; the carry is the borrow.
        LslSub = "lsl_sub",
        /// `c = a + (b >> shift)`; sets the carry of the addition.
        LsrAdd = "lsr_add",
        /// Byte 0 of a times byte 0 of b.
        MulUlUl = "mul_ul_ul",
        /// Byte 0 of a times byte 1 of b.
        MulUlUh = "mul_ul_uh",
        /// Byte 1 of a times byte 0 of b.
        MulUhUl = "mul_uh_ul",
        /// Byte 1 of a times byte 1 of b.
        MulUhUh = "mul_uh_uh",
        /// One step of the native multiplication on a pair (even: sum, odd: multiplier): `if odd is odd, even += a << shift`,
        /// then `odd >>= 1`, which is the result that conditions see.
        MulStep = "mul_step",
        /// One restoring step of the native division on a pair (even: remainder, odd: quotient): `odd <<= 1`, and where
        /// `even ≥ a << shift`, `even −= a << shift, odd += 1`.
        DivStep = "div_step",
        /// The word at `a + offset`.
        Lw = "lw",
        /// Two words at `a + offset` into a pair, the first into the even register.
        Ld = "ld",
        /// The half word at `a + offset`.
        Lhu = "lhu",
        /// The byte at `a + offset`.
        Lbu = "lbu",
        /// b to the word at `a + offset`.
        Sw = "sw",
        /// The pair b to two words at `a + offset`.
        Sd = "sd",
        /// The low half of b to `a + offset`.
        Sh = "sh",
        /// The low byte of b to `a + offset`.
        Sb = "sb",
        /// MRAM at b to WRAM at the low 24 bits of a: `8·(count + (a >> 24) + 1)` bytes.
        Ldma = "ldma",
        /// WRAM to MRAM, with the operands of `ldma`.
        Sdma = "sdma",
        /// Jumps to a label, or to instruction a.
        Jump = "jump",
        /// Jumps like `jump`; c = index of the next instruction.
        Call = "call",
        /// Jumps to instruction r23.
        Return = "return",
        /// Acquires mutex `a + offset`; the result is 1 if it was already taken.
        Acquire = "acquire",
        /// Releases mutex `a + offset`.
        Release = "release",
        /// Puts the tasklet to sleep until it is resumed.
        Stop = "stop",
        /// Wakes tasklet `a + offset`; the result is 1 if it was awake.
        Resume = "resume",
        /// Does nothing.
        Nop = "nop",
    }
}

mnemonics! {
    /// When an instruction jumps; comparisons are of a with b, and belong to `sub`.
    Cond {
        /// Always true.
        True = "true",
        /// The result is zero.
        Z = "z",
        /// The result is not zero.
        Nz = "nz",
        /// The result is even.
        E = "e",
        /// The result is odd.
        O = "o",
        /// The top bit of the result is clear.
        Pl = "pl",
        /// The top bit of the result is set.
        Mi = "mi",
        /// The carry is set.
        C = "c",
        /// The carry is clear.
        Nc = "nc",
        /// a is zero.
        Xz = "xz",
        /// a is not zero.
        Xnz = "xnz",
        /// `a = b`.
        Eq = "eq",
        /// `a ≠ b`.
        Neq = "neq",
        /// `a < b`, unsigned.
        Ltu = "ltu",
        /// `a ≤ b`, unsigned.
        Leu = "leu",
        /// `a > b`, unsigned.
        Gtu = "gtu",
        /// `a ≥ b`, unsigned.
        Geu = "geu",
        /// `a < b`, signed.
        Lts = "lts",
        /// `a ≤ b`, signed.
        Les = "les",
        /// `a > b`, signed.
        Gts = "gts",
        /// `a ≥ b`, signed.
        Ges = "ges",
        /// The product is below 256.
        Small = "small",
        /// The product is at least 256.
        Large = "large",
    }
}

/// Operands of an instruction in a program's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `c, a, b|number`
    Binary,
    /// `c, b|number`
    Unary,
    /// `c, a, b, shift`
    Shifted,
    /// `c (even), a, c, shift`
    Step,
    /// `c, a, offset`
    Load,
    /// `a, offset, b`
    Store,
    /// `a, b, count`
    Dma,
    /// `label|a`
    Jump,
    /// `c, label|a`
    Call,
    /// `a, number`
    Mutex,
    /// No operands.
    Alone,
}

impl Op {
    pub(crate) fn form(self) -> Form {
        match self {
            Self::Move => Form::Unary,
            Self::LslAdd | Self::LslSub | Self::LsrAdd => Form::Shifted,
            Self::MulStep | Self::DivStep => Form::Step,
            Self::Lw | Self::Ld | Self::Lhu | Self::Lbu => Form::Load,
            Self::Sw | Self::Sd | Self::Sh | Self::Sb => Form::Store,
            Self::Ldma | Self::Sdma => Form::Dma,
            Self::Jump => Form::Jump,
            Self::Call => Form::Call,
            Self::Acquire | Self::Release | Self::Resume => Form::Mutex,
            Self::Return | Self::Stop | Self::Nop => Form::Alone,
            _ => Form::Binary,
        }
    }

    /// Whether the instruction can carry a condition.
    #[must_use]
    pub fn takes(self, cond: Cond) -> bool {
        let carries = matches!(self, Self::Add | Self::Addc | Self::Sub | Self::Subc | Self::Rsub)
            || self.form() == Form::Shifted;
        let bytes = matches!(self, Self::MulUlUl | Self::MulUlUh | Self::MulUhUl | Self::MulUhUh);
        let family = matches!(self.form(), Form::Binary | Form::Unary | Form::Shifted);
        match cond {
            Cond::True | Cond::Z | Cond::Nz => {
                family || matches!(self.form(), Form::Step) || matches!(self, Self::Acquire | Self::Resume)
            }
            Cond::C | Cond::Nc => carries,
            Cond::Small | Cond::Large => bytes,
            Cond::Xz | Cond::Xnz => family && self != Self::Move,
            Cond::E | Cond::O | Cond::Pl | Cond::Mi => family && !bytes,
            _ => self == Self::Sub,
        }
    }
}

/// An instruction, decoded. The second operand is `register b + number`: one of the two is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The operation.
    pub op: Op,
    /// Condition of the jump, if any.
    pub cond: Option<Cond>,
    /// Destination, or the even register of the pair that is one.
    pub rc: u8,
    /// Register of the first source.
    pub ra: u8,
    /// Register of the second source.
    pub rb: u8,
    /// Shift of the second source.
    pub shift: u8,
    /// Extra cycles if both sources are in one bank of the register file.
    pub hazard: u8,
    /// Where it jumps to.
    pub target: u32,
    /// Number, offset or count.
    pub number: u32,
}

impl Instruction {
    /// Extra cycles: each bank (even, odd numbers) gives one register a cycle.
    #[must_use]
    pub fn count_hazard(&self) -> u8 {
        let mut sources: Vec<u8> = match self.op.form() {
            Form::Binary | Form::Shifted | Form::Dma => vec![self.ra, self.rb],
            Form::Store if self.op == Op::Sd => vec![self.ra, self.rb, self.rb + 1],
            Form::Store => vec![self.ra, self.rb],
            Form::Unary => vec![self.rb],
            Form::Step => vec![self.ra, self.rc, self.rc + 1],
            _ => vec![self.ra],
        };
        sources.retain(|&r| r < REGISTERS);
        sources.sort_unstable();
        sources.dedup();
        let odd = sources.iter().filter(|&r| r % 2 == 1).count();
        let extra = odd.saturating_sub(1) + (sources.len() - odd).saturating_sub(1);
        u8::try_from(extra).unwrap_or(u8::MAX)
    }
}
