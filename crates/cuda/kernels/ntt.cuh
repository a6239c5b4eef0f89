// The negacyclic transform: limbwise_math::ntt to the last bit, for N = 2^10 ... 2^17.
//
// Steps of three or four stages take 8 or 16 words a thread through registers; between steps words lie in shared memory. A
// transform of up to 2^12 points is one tile: one pass over device memory. A longer one takes two. Columns: the first s1
// stages, which pair words 2^(log_n - s1) and more apart; a block holds 2^12 words, whole columns of 2^s1. Blocks: 2^12 words
// in a row, for all other stages.
//
// What is left before the last four stages of the longer ones are stretches b of 16 words, each a transform modulo
// X^16 - r^16 with r = psi^(1 + 2 brv(b)). Scaling word k by r^k makes it cyclic, with 16 twiddles that all stretches share,
// in place of 15 each (OF-Twist of [ARK], on the last step alone). r^k comes from two tables, in one of which neighbors
// read neighboring entries and in the other the same.
//
// Tables of Prime: roots, entry 2^m + g for stage m and group g: psi^brv(2^m + g), brv of log_n bits, N entries for one pass
// and N / 16 for two. cyclic: the same of a cyclic transform of 16 points, entries psi^(2N brv_m(g) / 2^(m+1)).
// low[c 16 + k] high[k 64 + d] = r^k for b = c 64 + d. Inverse tables hold inverses; inverse_high is multiplied by 1/N, which
// is entry 0 of inverse_roots as well. Entries are what the prime's field multiplies by: w and floor(w 2^64 / q), or the
// doubles of w in (-q/2, q/2) and of w/q.

// Words of shared memory that neighboring threads read at strides of 4, 16, 64 lie in different banks. Of numbers that have
// no bit in common it is additive.
DEVICE u32 padded(u32 i) { return i + (i >> 4); }

// Transforms of 2^points points, 2^columns of them interleaved, `words` words in all. `done` stages came before their first,
// in which the tile's first transform was stretch `stretch`; 2^spread different stretches follow one another.
struct Tile { u32 words, points, columns, done, stretch, spread; };

// Where the R stages from `stage` on find a task's words, at first + (i << apart), and its twiddles: entry
// (root << k) + (i >> (R - k)) at the k-th. The two parts of a place have no bit in common, and the second is the same for all
// threads: what is made of a place is made of its parts, so that threads do less.
struct Task { u32 first, apart, root; };
DEVICE Task task_of(const Tile& s, u32 stage, u32 stages, u32 task) {
  const u32 apart = s.points - stage - stages + s.columns, group = task >> apart;
  const u32 own = (s.stretch << stage) + (group & ((1u << (stage + s.spread)) - 1));
  return {group << (stages + apart) | (task & ((1u << apart) - 1)), apart, (1u << (s.done + stage)) + own};
}

// R stages in registers. ONES: the first group's twiddles are 1.
template <int R, bool ONES, class Field>
DEVICE void forward_stages(typename Field::Word* x, const Shoup* roots, u32 root, const Field& field) {
  UNROLL for (int k = 0; k < R; ++k)
    UNROLL for (int i = 0; i < 1 << R; ++i)
      if ((i & 1 << (R - 1 - k)) == 0) {
        if (ONES && i >> (R - k) == 0) field.forward_one(x[i], x[i | 1 << (R - 1 - k)]);
        else field.forward(x[i], x[i | 1 << (R - 1 - k)], roots[(root << k) + (i >> (R - k))]);
      }
}
template <int R, bool ONES, class Field>
DEVICE void inverse_stages(typename Field::Word* x, const Shoup* roots, u32 root, const Field& field) {
  UNROLL for (int k = R - 1; k >= 0; --k)
    UNROLL for (int i = 0; i < 1 << R; ++i)
      if ((i & 1 << (R - 1 - k)) == 0) {
        if (ONES && i >> (R - k) == 0) field.inverse_one(x[i], x[i | 1 << (R - 1 - k)]);
        else field.inverse(x[i], x[i | 1 << (R - 1 - k)], roots[(root << k) + (i >> (R - k))]);
      }
}

// R stages from `stage` on. The first step of a tile takes its words from load(first, distance), all others from shared memory; the
// last of `stages` gives them to store(first, distance, word). ONES, as above: where the step is a whole cyclic transform.
template <int R, bool ONES, class Field, class Load, class Store>
DEVICE void forward_step(const Tile& s, u32 stage, u32 stages, const Shoup* roots, const Field& field, const Load& load,
                         const Store& store) {
  EACH_THREAD(t) {
    ROLLED for (u32 task = t; task < s.words >> R; task += blockDim.x) {
      const Task own = task_of(s, stage, R, task);
      const u32 at = padded(own.first);
      typename Field::Word x[1 << R];
      if (stage == 0) {
        UNROLL for (int i = 0; i < 1 << R; ++i) x[i] = load(own.first, i << own.apart);
      } else {
        UNROLL for (int i = 0; i < 1 << R; ++i) x[i] = field.held(shared_words[at + padded(i << own.apart)], FORWARD);
      }
      UNROLL for (int i = 0; i < 1 << R; ++i) x[i] = field.claim(x[i], FORWARD);
      forward_stages<R, ONES>(x, roots, own.root, field);
      if (stage + R == stages) {
        UNROLL for (int i = 0; i < 1 << R; ++i) store(own.first, i << own.apart, x[i]);
      } else {
        UNROLL for (int i = 0; i < 1 << R; ++i) shared_words[at + padded(i << own.apart)] = field.hold(x[i], FORWARD);
      }
    }
  }
  SYNC
}

// The stages stage + R - 1 down to stage, likewise.
template <int R, bool ONES, class Field, class Load, class Store>
DEVICE void inverse_step(const Tile& s, u32 stage, u32 stages, const Shoup* roots, const Field& field, const Load& load,
                         const Store& store) {
  EACH_THREAD(t) {
    ROLLED for (u32 task = t; task < s.words >> R; task += blockDim.x) {
      const Task own = task_of(s, stage, R, task);
      const u32 at = padded(own.first);
      typename Field::Word x[1 << R];
      if (stage + R == stages) {
        UNROLL for (int i = 0; i < 1 << R; ++i) x[i] = load(own.first, i << own.apart);
      } else {
        UNROLL for (int i = 0; i < 1 << R; ++i) x[i] = field.held(shared_words[at + padded(i << own.apart)], INVERSE);
      }
      UNROLL for (int i = 0; i < 1 << R; ++i) x[i] = field.claim(x[i], INVERSE);
      inverse_stages<R, ONES>(x, roots, own.root, field);
      if (stage == 0) {
        UNROLL for (int i = 0; i < 1 << R; ++i) store(own.first, i << own.apart, x[i]);
      } else {
        UNROLL for (int i = 0; i < 1 << R; ++i) shared_words[at + padded(i << own.apart)] = field.hold(x[i], INVERSE);
      }
    }
  }
  SYNC
}

// The first `stages` stages of a tile: steps of one stage less than the most, then steps of the most. (3, 4, 6 and more are
// sums of threes and fours.) ONES: the tile's transforms are cyclic.
template <bool ONES, class Field, class Load, class Store>
DEVICE void forward_tile(const Tile& s, u32 stages, const Shoup* roots, const Field& field, const Load& load,
                         const Store& store) {
  const int most = Field::STAGES;
  const u32 shorter = (most - 1) * ((stages + most - 1) / most * most - stages);
  ROLLED for (u32 stage = 0; stage < shorter; stage += most - 1)
    forward_step<most - 1, false>(s, stage, stages, roots, field, load, store);
  ROLLED for (u32 stage = shorter; stage < stages; stage += most)
    forward_step<most, ONES && most == 4>(s, stage, stages, roots, field, load, store);
}
template <bool ONES, class Field, class Load, class Store>
DEVICE void inverse_tile(const Tile& s, u32 stages, const Shoup* roots, const Field& field, const Load& load,
                         const Store& store) {
  const int most = Field::STAGES;
  const u32 shorter = (most - 1) * ((stages + most - 1) / most * most - stages);
  ROLLED for (u32 stage = stages; stage > shorter; stage -= most)
    inverse_step<most, ONES && most == 4>(s, stage - most, stages, roots, field, load, store);
  ROLLED for (u32 stage = shorter; stage > 0; stage -= most - 1)
    inverse_step<most - 1, false>(s, stage - (most - 1), stages, roots, field, load, store);
}

// A tile's word in shared memory.
DEVICE u64& tile_word(u32 first, u32 d) { return shared_words[padded(first) + padded(d)]; }

// The last four stages of stretches b, b + 1, ... of 16 words: x_k r_b^k, then cyclic transforms.
template <class Field>
DEVICE void forward_twisted(u32 words, u32 b, const Prime& p, const Field& field) {
  forward_tile<true>(
      {words, 4, 0, 0, 0, 0}, 4, p.cyclic, field,
      [&](u32 first, u32 d) {
        const u32 own = b + (first >> 4), k = (first & 15) + d;
        const typename Field::Word x = field.held(tile_word(first, d), FORWARD);
        return field.mul(field.mul(x, p.low[(own >> 6 << 4) + k]), p.high[(k << 6) + (own & 63)]);
      },
      [&](u32 first, u32 d, typename Field::Word x) { tile_word(first, d) = field.hold(x, FORWARD); });
}

// The same backwards, with 1/N, from canonical words.
template <class Field>
DEVICE void inverse_twisted(u32 words, u32 b, const Prime& p, const Field& field) {
  inverse_tile<true>(
      {words, 4, 0, 0, 0, 0}, 4, p.inverse_cyclic, field, [&](u32 first, u32 d) { return field.open(tile_word(first, d)); },
      [&](u32 first, u32 d, typename Field::Word x) {
        const u32 own = b + (first >> 4), k = (first & 15) + d;
        const typename Field::Word y = field.mul(x, p.inverse_low[(own >> 6 << 4) + k]);
        tile_word(first, d) = field.hold(field.mul(y, p.inverse_high[(k << 6) + (own & 63)]), INVERSE);
      });
}
