//! The operations of the seam, one row each. All code that forwards operations is generated from these rows: the
//! methods of [`Device`](crate::Device), `Null`, `Lockstep`, the recorder and its graph's `Op`, and the device chosen
//! at run time.
//!
//! A row of a primitive:
//!
//! ```text
//! /// The effect, and the requirements on the operands.
//! Variant = kind name(operand: (type), …) -> (type) [kept]: shape of the result;
//! ```
//!
//! - `Variant`: name in graphs. Operations of TFHE come last, those with LWE results consecutively.
//! - `kind`: the rows of the result. `input`: from outside, with a role. `fresh`: newly allocated. `view`: shared with
//!   the operands. `in_place`: those of operand 0, which is taken by value or accumulated into.
//! - Types stand in parentheses. `Poly` and `Lwe` are the device's ([`seam_type!`](crate::seam_type)).
//! - `kept`: the operands (other than handles) that a graph records, under this name in files.
//! - The shape is an expression over the operands.
//!
//! A row of a composite has a name, operands and a result: its default body is `composites::name`.

/// Passes the rows of all primitives to a macro.
#[macro_export]
macro_rules! for_each_primitive {
    ($callback:ident) => {
        $callback! {
            // ---- storage ----------------------------------------------------------------------------------------

            /// Uploads a polynomial from the host.
            Upload = input upload(shape: (&Shape), role: (Role), fill: (Fill<'_>)) -> (Poly) [role]: shape.clone();

            /// The zero polynomial.
            Zeros = fresh zeros(shape: (&Shape)) -> (Poly): shape.clone();

            /// A copy of a polynomial in new rows.
            Copy = fresh copy(a: (&Poly)) -> (Poly): a.shape().clone();

            /// Uniform residues from a public seed. Row (batch, prime) is that of [`expand_row`], independent of the
            /// rest of the shape.
            ExpandSeed = input expand_seed(shape: (&Shape), role: (Role), seed: (&Seed)) -> (Poly) [role]: shape.clone();

            // ---- structure: views -------------------------------------------------------------------------------

            /// The limbs in a sub-basis.
            Restrict = view restrict(a: (&Poly), to: (Basis)) -> (Poly): a.shape().with_basis(to);

            /// Joins limbs of disjoint bases; same batch and domain.
            Join = view join(parts: (&[&Poly])) -> (Poly): $crate::ops::joined(parts);

            /// Concatenates batches; same basis and domain.
            Stack = view stack(parts: (&[&Poly])) -> (Poly): $crate::ops::stacked(parts);

            /// The batch entries `from … to − 1`.
            Split = view split(a: (&Poly), from: (usize), to: (usize)) -> (Poly) [from]: a.shape().with_batch(to - from);

            // ---- element-wise: same basis and domain ------------------------------------------------------------

            /// `a + b`.
            Add = fresh add(a: (&Poly), b: (&Poly)) -> (Poly): $crate::ops::together(a, b);

            /// `a − b`.
            Sub = fresh sub(a: (&Poly), b: (&Poly)) -> (Poly): $crate::ops::together(a, b);

            /// `−a`.
            Neg = in_place neg(a: (Poly)) -> (Poly): a.shape().clone();

            /// `a ⊙ b`, in evaluation domain.
            Mul = fresh mul(a: (&Poly), b: (&Poly)) -> (Poly): $crate::ops::together(a, b);

            /// `acc += a ⊙ b`, in evaluation domain; `a` and `b` have the batch of `acc` or one.
            MulAcc = in_place mul_acc(acc: (&mut Poly), a: (&Poly), b: (&Poly)) -> (): acc.shape().clone();

            /// `acc += a`; `a` has the batch of `acc` or one.
            AddAssign = in_place add_assign(acc: (&mut Poly), a: (&Poly)) -> (): acc.shape().clone();

            /// Multiplies each limb by its own constant in [0, q), given in limb order.
            ScaleLimbs = in_place scale_limbs(a: (Poly), constants: (&[u64])) -> (Poly): a.shape().clone();

            /// Adds to every value of a limb its own constant in [0, q): a constant polynomial, in evaluation domain.
            ShiftLimbs = in_place shift_limbs(a: (Poly), constants: (&[u64])) -> (Poly): a.shape().clone();

            // ---- transforms, Galois, change of basis ------------------------------------------------------------

            /// Coefficients → values.
            Ntt = in_place ntt(a: (Poly)) -> (Poly): $crate::ops::transformed(a.shape());

            /// Values → coefficients.
            Intt = in_place intt(a: (Poly)) -> (Poly): $crate::ops::transformed(a.shape());

            /// `a(X) → a(X^g)` for the Galois element g, in either domain.
            Automorphism = fresh automorphism(a: (&Poly), galois: (GaloisElement)) -> (Poly) [galois]: a.shape().clone();

            /// The centered value modulo other primes, coefficient domain: `math::rns::BaseConversion` with the limbs
            /// of `a` as sources. `to` is disjoint from the basis of `a`.
            BasisConvert = fresh basis_convert(a: (&Poly), to: (Basis)) -> (Poly): a.shape().with_basis(to);

            /// The centered lift of one limb (representative in (−q/2, q/2]) to other primes, coefficient domain.
            Reduce = fresh reduce(a: (&Poly), to: (Basis)) -> (Poly): a.shape().with_basis(to);

            // ---- gadget: one limb, coefficient domain -----------------------------------------------------------

            /// `a·X^e` modulo 2N in the exponent, where e is word `word` of the exponents of the same entry, or of the
            /// only entry. The batches are equal, or one of them is 1.
            MonomialMul = fresh monomial_mul(a: (&Poly), exponents: (&Lwe), word: (usize)) -> (Poly) [word]:
                a.shape().with_batch(a.shape().batch.max(exponents.lwe_shape().batch));

            /// The digits of every coefficient as residues: entry `j·batch + i` of the result is digit j of entry i.
            Decompose = fresh decompose(a: (&Poly), gadget: (Gadget)) -> (Poly):
                a.shape().with_batch(a.shape().batch * gadget.len());

            // ---- LWE --------------------------------------------------------------------------------------------

            /// Uploads LWE ciphertexts from the host.
            UploadLwe = input upload_lwe(shape: (LweShape), role: (Role), fill: (LweFill<'_>)) -> (Lwe) [role]: shape;

            /// Concatenates batches of equal dimension and modulus. Copies.
            LweStack = fresh lwe_stack(parts: (&[&Lwe])) -> (Lwe):
                parts[0].lwe_shape().with_batch(parts.iter().map(|p| p.lwe_shape().batch).sum());

            /// The entries `from … to − 1`. Copies.
            LweSplit = fresh lwe_split(a: (&Lwe), from: (usize), to: (usize)) -> (Lwe) [from]:
                a.lwe_shape().with_batch(to - from);

            /// `a + b`; a batch of one broadcasts.
            LweAdd = fresh lwe_add(a: (&Lwe), b: (&Lwe)) -> (Lwe):
                a.lwe_shape().with_batch(a.lwe_shape().batch.max(b.lwe_shape().batch));

            /// `a·c` for every word, c below the modulus.
            LweScale = fresh lwe_scale(a: (&Lwe), c: (u64)) -> (Lwe): a.lwe_shape();

            /// `a + c`: one constant for each entry's body, or one for all, below the modulus.
            LweShift = fresh lwe_shift(a: (&Lwe), constants: (&[u64])) -> (Lwe): a.lwe_shape();

            /// Switches every word to another modulus.
            LweModSwitch = fresh lwe_mod_switch(a: (&Lwe), to: (u64), rounding: (Rounding)) -> (Lwe):
                a.lwe_shape().with_modulus(to);

            /// The digits of every word of the mask as residues: word `i·levels + j` of the result is digit j of word
            /// i. The body is unchanged.
            LweDecompose = fresh lwe_decompose(a: (&Lwe), gadget: (Gadget)) -> (Lwe):
                a.lwe_shape().with_dimension(a.lwe_shape().dimension * gadget.len());

            /// `(0, b) + Σ_i a_i·row_i`, one row for each word of the mask. Words of `a` represent their centered
            /// lifts, of at most 32 bits.
            LweProduct = fresh lwe_product(a: (&Lwe), rows: (&Lwe)) -> (Lwe):
                rows.lwe_shape().with_batch(a.lwe_shape().batch);

            /// Coefficients of the phase of `[b, a_1 … a_k]` (one limb, coefficient domain) as LWE ciphertexts of
            /// dimension k·N: for each batch entry those at the indices `at`, in order.
            SampleExtract = fresh sample_extract(glwe: (&[&Poly]), at: (&[usize])) -> (Lwe):
                $crate::ops::extracted(glwe[0].shape(), glwe.len(), at.len());

            /// Component `part` of the ciphertext `[b, a_1 … a_k]` whose sample 0 is `a` (modulus that of the limb) and
            /// whose body has no other coefficient; coefficient domain. k is the smallest number for which k·N words
            /// hold the mask; if k·N is larger, the last polynomial of the secret ends with zeros.
            LweEmbed = fresh lwe_embed(a: (&Lwe), ring: (&Ring), basis: (Basis), part: (usize)) -> (Poly) [part]:
                $crate::Shape::eval(ring, basis).with_domain($crate::Domain::Coeff).with_batch(a.lwe_shape().batch);
        }
    };
}

/// Passes the rows of all composites to a macro.
#[macro_export]
macro_rules! for_each_composite {
    ($callback:ident) => {
        $callback! {
            /// Extends each digit of `c` (evaluation domain) from its own primes to all of `full`.
            mod_up(c: (&Poly), digits: (&[Basis]), full: (Basis)) -> (Vec<Poly>);

            /// `Σ_i digit_i ⊙ pair_i`, both halves, over QP.
            gadget_product(digits: (&[Poly]), key: (&GadgetKey<Poly>)) -> ([Poly; 2]);

            /// `⌊a·(product of `to`)/(product of a's basis)⌉` over `to`, evaluation domain: divides by the primes that
            /// `to` lacks, and multiplies by those that `a` lacks. It drops at least one prime.
            mod_down(a: (&Poly), to: (Basis)) -> (Poly);

            /// [`Self::mod_down`] by the primes of one level. A single dropped prime needs no base conversion where none is
            /// new.
            rescale(a: (&Poly), to: (Basis)) -> (Poly);

            /// Hybrid key switching of one polynomial: the pair over Q whose phase is `c·s'`.
            key_switch(c: (&Poly), key: (&GadgetKey<Poly>)) -> ([Poly; 2]);

            /// Fused key switch, accumulate and rescale: the pair over `to` whose phase is `(onto + c·s')·(product of
            /// `to`)/(product of c's basis)`, rounded once. `to` has no special prime of the key, and is the basis of `c` or
            /// lacks a prime of it; `onto` is over the basis of `c`, with the batch of the result or one.
            key_switch_onto(c: (&Poly), key: (&GadgetKey<Poly>), onto: ([Option<&Poly>; 2]), to: (Basis)) -> ([Poly; 2]);

            /// A key switch that is not divided by P: the pair over QP whose phase is `onto + P·c·s'`. `onto` is over QP,
            /// with the batch of the result or one.
            key_switch_undivided(c: (&Poly), key: (&GadgetKey<Poly>), onto: ([Option<&Poly>; 2])) -> ([Poly; 2]);

            /// [`Self::weighted_sums`] of rotations of one ciphertext, followed by `more` operands over QP. The rotations are
            /// not divided by P and come from one decomposition of the ciphertext's second half `c`: each is the pair over
            /// QP whose phase is `σ(onto + P·c·s)`, stacked. `onto` is over Q or QP; limbs that it lacks count as zero. All
            /// keys have the same digits and special primes. A device may make the rotations part by part, so that none is
            /// ever whole.
            rotated_sums(c: (&Poly), onto: (&Poly), rotations: (&[Rotation<Poly>]), more: (&[Poly]), sums: (&[Terms<'_, Poly>])) -> (Vec<Poly>);

            /// One limb of coefficients, centered, in evaluation domain over `to`; `to` may contain the limb's own
            /// prime.
            extend_limb(a: (&Poly), to: (Basis)) -> (Poly);

            /// For each sum, `Σ weight ⊙ x[i]` over its terms `(i, weight)`, at least one; a weight's batch is one or
            /// that of x, or the weight is the number one.
            weighted_sums(x: (&[Poly]), sums: (&[Terms<'_, Poly>])) -> (Vec<Poly>);

            /// `2^doublings·(x_0 + x_1·s)(y_0 + y_1·s) + Σ c_k·(t_2k + t_2k+1·s)` as three polynomials in s, in evaluation
            /// domain; without `y` the square of x. Terms are pairs, each with one constant per limb, in [0, q), in limb
            /// order, and with the batch of the product or one; both of a pair have one batch. All share ring and basis. At most
            /// four doublings.
            tensor(x: (&[&Poly]), y: (&[&Poly]), doublings: (usize), terms: (&[&Poly]), constants: (&[Vec<u64>])) -> (Vec<Poly>);

            /// `Σ x_i·c_i` with at least one term. Terms share ring, basis and domain, with the batch of the result or
            /// one. Each term has one constant per limb, in [0, q), in limb order.
            linear_combination(x: (&[&Poly]), constants: (&[Vec<u64>])) -> (Poly);

            /// `out_j = Σ_i w_ji·x_i` for a clear matrix of integers. With M columns the batch of `x` is M·G: entry
            /// `i·G + g` is operand i of group g, and entry `j·G + g` of the result is sum j of group g. Either domain.
            matrix_product(x: (&Poly), matrix: (&IntegerMatrix)) -> (Poly);

            /// The GLWE ciphertext whose phase is that of `c = [b, a_1 … a_k]` times the message of `key`; coefficient
            /// domain. The key's batch is that of `c` or one.
            external_product(c: (&[&Poly]), key: (&Ggsw<Poly>)) -> (Vec<Poly>);

            /// An encryption of `test·X^e` with `e = e_n + Σ e_i·s_i`, where `key` encrypts the bits s_i: one step for
            /// each word of the exponents' masks. A batch of exponents takes as many test polynomials (one limb,
            /// coefficient domain) or one.
            blind_rotate(test: (&Poly), exponents: (&Lwe), key: (&Ggsw<Poly>)) -> (Vec<Poly>);

            /// Switches LWE ciphertexts to another secret.
            lwe_key_switch(a: (&Lwe), key: (&LweSwitchKey<Lwe>)) -> (Lwe);
        }
    };
}

/// Resolves a type in parentheses of the table, in an implementation of [`Device`](crate::Device).
#[macro_export]
macro_rules! seam_type {
    (()) => { () };
    ((Poly)) => { Self::Poly };
    ((&Poly)) => { &Self::Poly };
    ((&mut Poly)) => { &mut Self::Poly };
    ((&[Poly])) => { &[Self::Poly] };
    ((&[&Poly])) => { &[&Self::Poly] };
    (([Poly; 2])) => { [Self::Poly; 2] };
    (([Option<&Poly>; 2])) => { [Option<&Self::Poly>; 2] };
    ((Vec<Poly>)) => { Vec<Self::Poly> };
    ((&[Terms<'_, Poly>])) => { &[$crate::Terms<'_, Self::Poly>] };
    ((&IntegerMatrix)) => { &$crate::IntegerMatrix };
    ((&GadgetKey<Poly>)) => { &$crate::GadgetKey<Self::Poly> };
    ((&[Rotation<Poly>])) => { &[$crate::Rotation<Self::Poly>] };
    ((&Ggsw<Poly>)) => { &$crate::Ggsw<Self::Poly> };
    ((Lwe)) => { Self::Lwe };
    ((&Lwe)) => { &Self::Lwe };
    ((&[&Lwe])) => { &[&Self::Lwe] };
    ((&LweSwitchKey<Lwe>)) => { &$crate::LweSwitchKey<Self::Lwe> };
    (($other:ty)) => { $other };
}
