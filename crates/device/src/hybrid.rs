//! Two devices that share one program: each operation of a recorded program runs where a placement says, and a value
//! moves to the other device when it is first wanted there.
//!
//! Values are the same residues wherever they are, so results do not depend on the placement. Outside of the program
//! (key generation, encryption, decryption) everything runs at home. Where all of a program runs on one device, that
//! device's own composites run; otherwise composites are divided into their primitives, of which each is placed.

mod value;

pub use value::{Either, EitherLwe};

use crate::{
    composites, for_each_composite, for_each_primitive,
    lwe::{Gadget, LweFill, LweShape, LweSwitchKey, Rounding},
    ops::{Device, Fault, Fill, Handle, HostRead, Role, joined, stacked},
    region::{LeaveRegion, OpenRegion, Region},
    ring::{Basis, Ring, RingError, RingSpec, Shape},
    seam_type,
};
use limbwise_math::{galois::GaloisElement, sampling::Seed};
use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};
use value::How;

/// One of the two devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The device that has all operations, inputs and results.
    Home,
    /// The other device.
    Away,
}

/// What a hybrid does with a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// All of it runs on one device.
    Whole(Half),
    /// The operations in program order, views and inputs left out, by name, and where each runs.
    Each(Vec<(&'static str, Half)>),
    /// Operations take turns, whatever they are, so that values move all the time: for tests.
    Turns,
}

/// What has been done where, and what was moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// Operations of the program at home and away; composites that a device runs itself are not counted.
    pub operations: [u64; 2],
    /// Operations of the program that the placement does not have at that point; they ran at home.
    pub strayed: u64,
    /// Bytes moved from home, and back.
    pub moved_bytes: [u64; 2],
}

/// Two devices with a program between them.
pub struct Hybrid<H, D> {
    home: H,
    away: D,
    state: Mutex<State>,
}

struct State {
    assignment: Assignment,
    /// The next operation of the program, while it runs.
    next: Option<usize>,
    shares: Shares,
    fault: Option<Fault>,
}

impl Default for State {
    fn default() -> Self {
        Self { assignment: Assignment::Whole(Half::Home), next: None, shares: Shares::default(), fault: None }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<H: fmt::Debug, D: fmt::Debug> fmt::Debug for Hybrid<H, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hybrid").field("home", &self.home).field("away", &self.away).finish_non_exhaustive()
    }
}

impl<H, D> Hybrid<H, D> {
    /// Two devices; until something is assigned, everything runs at home.
    #[must_use]
    pub fn new(home: H, away: D) -> Self {
        Self { home, away, state: Mutex::default() }
    }

    /// The device that has all operations.
    #[must_use]
    pub fn home(&self) -> &H {
        &self.home
    }

    /// The other device.
    #[must_use]
    pub fn away(&self) -> &D {
        &self.away
    }

    /// Assigns the program that comes next.
    pub fn assign(&self, assignment: Assignment) {
        let mut state = lock(&self.state);
        state.assignment = assignment;
        state.shares = Shares::default();
    }

    /// Begins the program that was assigned; [`Device::evaluation`] ends it as well.
    pub fn begin(&self) {
        lock(&self.state).next = Some(0);
    }

    /// What has been done where since the last assignment.
    #[must_use]
    pub fn shares(&self) -> Shares {
        lock(&self.state).shares
    }

    /// Where an operation runs. One that is not the next of the placement runs at home and takes nothing from it.
    fn next(&self, op: &'static str) -> Half {
        let mut state = lock(&self.state);
        let Some(at) = state.next else { return Half::Home };
        let half = match &state.assignment {
            Assignment::Whole(half) => Some(*half),
            Assignment::Turns => Some(if at % 2 == 0 { Half::Home } else { Half::Away }),
            Assignment::Each(list) => list.get(at).filter(|(name, _)| *name == op).map(|(_, half)| *half),
        };
        match half {
            Some(half) => {
                state.next = Some(at + 1);
                state.shares.operations[usize::from(half == Half::Away)] += 1;
                half
            }
            None => {
                state.shares.strayed += 1;
                Half::Home
            }
        }
    }

    /// The device on which composites run as they are, if there is one now.
    fn whole(&self) -> Option<Half> {
        let state = lock(&self.state);
        match (&state.assignment, state.next) {
            (_, None) => Some(Half::Home),
            (Assignment::Whole(half), _) => Some(*half),
            (Assignment::Each(_) | Assignment::Turns, _) => None,
        }
    }

    fn moved(&self, from: Half, bytes: u64) {
        lock(&self.state).shares.moved_bytes[usize::from(from == Half::Away)] += bytes;
    }

    /// Keeps the first fault; its words are zeros.
    fn fail(&self, fault: Fault, words: usize) -> Vec<u64> {
        lock(&self.state).fault.get_or_insert(fault);
        vec![0; words]
    }
}

impl<H: Send + Sync, D: Send + Sync> LeaveRegion for Hybrid<H, D> {
    fn leave_region(&self) {
        lock(&self.state).next = None;
    }
}

fn refs<T>(items: &[T]) -> Vec<&T> {
    items.iter().collect()
}

/// An operand on the device that runs the operation.
#[rustfmt::skip] // a line an arm
macro_rules! inward {
    ($self:ident, $side:ident, (Poly), $arg:ident) => { $self.$side().own($arg) };
    ($self:ident, $side:ident, (&Poly), $arg:ident) => { &$self.$side().of($arg) };
    ($self:ident, $side:ident, (&[Poly]), $arg:ident) => { &$arg.iter().map(|p| $self.$side().of(p)).collect::<Vec<_>>() };
    ($self:ident, $side:ident, (&[&Poly]), $arg:ident) => { &refs(&$arg.iter().map(|p| $self.$side().of(p)).collect::<Vec<_>>()) };
    ($self:ident, $side:ident, ([Option<&Poly>; 2]), $arg:ident) => { $arg.map(|p| p.map(|p| $self.$side().of(p))).each_ref().map(Option::as_ref) };
    ($self:ident, $side:ident, (&[Terms<'_, Poly>]), $arg:ident) => { &$self.$side().terms(&$self.$side().weights($arg)) };
    ($self:ident, $side:ident, (&GadgetKey<Poly>), $arg:ident) => { &$self.$side().gadget_key($arg) };
    ($self:ident, $side:ident, (&[Rotation<Poly>]), $arg:ident) => { &$arg.iter().map(|r| $self.$side().rotation(r)).collect::<Vec<_>>() };
    ($self:ident, $side:ident, (&Ggsw<Poly>), $arg:ident) => { &$self.$side().ggsw($arg) };
    ($self:ident, $side:ident, (&Lwe), $arg:ident) => { &$self.$side().lwe($arg) };
    ($self:ident, $side:ident, (&[&Lwe]), $arg:ident) => { &refs(&$arg.iter().map(|l| $self.$side().lwe(l)).collect::<Vec<_>>()) };
    ($self:ident, $side:ident, (&LweSwitchKey<Lwe>), $arg:ident) => { &LweSwitchKey { gadget: $arg.gadget, rows: $self.$side().lwe(&$arg.rows) } };
    ($self:ident, $side:ident, $_other:tt, $arg:ident) => { $arg };
}

/// A result as a value of both.
#[rustfmt::skip] // a line an arm
macro_rules! outward {
    ($self:ident, $side:ident, (Poly), $made:expr) => { $self.$side().made($made) };
    ($self:ident, $side:ident, ([Poly; 2]), $made:expr) => { $made.map(|p| $self.$side().made(p)) };
    ($self:ident, $side:ident, (Vec<Poly>), $made:expr) => { $made.into_iter().map(|p| $self.$side().made(p)).collect() };
    ($self:ident, $side:ident, (Lwe), $made:expr) => { $self.$side().made_lwe($made) };
}

/// The body of a primitive, by its kind and result. An accumulator is taken, so that the device may work in its rows.
macro_rules! body {
    (input, $self:ident, $name:ident, $result:tt, ($($arg:ident: $type:tt),+)) => {
        outward!($self, at_home, $result, $self.home.$name($($arg),+))
    };
    (view, $self:ident, restrict, $result:tt, ($a:ident: $t:tt, $to:ident: $u:tt)) => {
        Either::view($a.shape().with_basis($to), vec![$a.clone()], How::Restrict($to))
    };
    (view, $self:ident, split, $result:tt, ($a:ident: $t:tt, $from:ident: $u:tt, $to:ident: $v:tt)) => {
        Either::view($a.shape().with_batch($to - $from), vec![$a.clone()], How::Split($from, $to))
    };
    (view, $self:ident, join, $result:tt, ($parts:ident: $t:tt)) => {
        Either::view(joined($parts), $parts.iter().map(|&p| p.clone()).collect(), How::Join)
    };
    (view, $self:ident, stack, $result:tt, ($parts:ident: $t:tt)) => {
        Either::view(stacked($parts), $parts.iter().map(|&p| p.clone()).collect(), How::Stack)
    };
    ($kind:ident, $self:ident, $name:ident, (), ($acc:ident: $t:tt, $($arg:ident: $type:tt),+)) => {
        match $self.next(stringify!($name)) {
            Half::Home => {
                let mut sum = $self.at_home().own($acc.take());
                $self.home.$name(&mut sum, $(inward!($self, at_home, $type, $arg)),+);
                *$acc = $self.at_home().made(sum);
            }
            Half::Away => {
                let mut sum = $self.at_away().own($acc.take());
                $self.away.$name(&mut sum, $(inward!($self, at_away, $type, $arg)),+);
                *$acc = $self.at_away().made(sum);
            }
        }
    };
    ($kind:ident, $self:ident, $name:ident, $result:tt, ($($arg:ident: $type:tt),+)) => {
        match $self.next(stringify!($name)) {
            Half::Home => {
                outward!($self, at_home, $result, $self.home.$name($(inward!($self, at_home, $type, $arg)),+))
            }
            Half::Away => {
                outward!($self, at_away, $result, $self.away.$name($(inward!($self, at_away, $type, $arg)),+))
            }
        }
    };
}

macro_rules! primitives {
    ($($(#[$_doc:meta])+ $_op:ident = $kind:ident $name:ident($($arg:ident: $type:tt),+) -> $result:tt $([$_kept:ident])?: $_shape:expr;)+) => {
        $(fn $name(&self, $($arg: seam_type!($type)),+) -> seam_type!($result) {
            body!($kind, self, $name, $result, ($($arg: $type),+))
        })+
    };
}

macro_rules! composites {
    ($($(#[$_doc:meta])* $name:ident($($arg:ident: $type:tt),+) -> $result:tt;)+) => {
        $(fn $name(&self, $($arg: seam_type!($type)),+) -> seam_type!($result) {
            match self.whole() {
                Some(Half::Home) => {
                    outward!(self, at_home, $result, self.home.$name($(inward!(self, at_home, $type, $arg)),+))
                }
                Some(Half::Away) => {
                    outward!(self, at_away, $result, self.away.$name($(inward!(self, at_away, $type, $arg)),+))
                }
                None => composites::$name(self, $($arg),+),
            }
        })+
    };
}

impl<H: HostRead, D: HostRead> Device for Hybrid<H, D> {
    type Poly = Either<H::Poly, D::Poly>;
    type Lwe = EitherLwe<H::Lwe, D::Lwe>;

    fn name(&self) -> String {
        format!("{} with {}", self.home.name(), self.away.name())
    }

    fn ring(&self, spec: &RingSpec) -> Result<Ring, RingError> {
        self.away.ring(spec)?;
        self.home.ring(spec)
    }

    fn sync(&self) -> Result<(), Fault> {
        self.home.sync()?;
        self.away.sync()?;
        lock(&self.state).fault.take().map_or(Ok(()), Err)
    }

    fn scrub(&self) {
        self.home.scrub();
        self.away.scrub();
    }

    fn region(&self, region: impl Into<Region>, index: u32) -> OpenRegion<'_> {
        self.home.region(region, index)
    }

    fn regions(&self) -> Vec<(Region, u32)> {
        self.home.regions()
    }

    fn evaluation(&self) -> OpenRegion<'_> {
        self.begin();
        OpenRegion::reporting_to(self)
    }

    for_each_primitive!(primitives);

    for_each_composite!(composites);
}

impl<H: HostRead, D: HostRead> HostRead for Hybrid<H, D> {
    fn download(&self, a: &Self::Poly) -> Result<Vec<u64>, Fault> {
        self.home.download(&self.at_home().of(a))
    }

    fn each_row(&self, a: &Self::Poly, take: &(dyn Fn(usize, &[u64]) + Sync)) -> Result<(), Fault> {
        self.home.each_row(&self.at_home().of(a), take)
    }

    fn download_lwe(&self, a: &Self::Lwe) -> Result<Vec<u64>, Fault> {
        self.home.download_lwe(&self.at_home().lwe(a))
    }
}
