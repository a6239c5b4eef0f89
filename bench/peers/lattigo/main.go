// Measures Lattigo, on one thread unless a question says otherwise: one question of bench/peers/README.md a line of
// standard input, one answer a line of standard output.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"sort"
	"time"

	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/ring"
	"github.com/tuneinsight/lattigo/v6/schemes/ckks"
)

// question asks for one operation on one shape.
type question struct {
	Op          string `json:"op"`
	N           int    `json:"n"`
	PrimeBits   int    `json:"prime_bits"`
	ChainBits   []int  `json:"chain_bits"`
	SpecialBits []int  `json:"special_bits"`
	// Parameters is the name of a set of Lattigo's own, for "bootstrap".
	Parameters string `json:"parameters"`
	// Threads is how many the Go runtime may use, 1 unless said.
	Threads int `json:"threads"`
}

// answer is a row, or the reason why there is none.
type answer struct {
	Name          string  `json:"name,omitempty"`
	Seconds       float64 `json:"seconds,omitempty"`
	MedianSeconds float64 `json:"median_seconds,omitempty"`
	Library       string  `json:"library"`
	Version       string  `json:"version,omitempty"`
	Parameters    string  `json:"parameters,omitempty"`
	Absent        string  `json:"absent,omitempty"`
	*bootstrapped
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var q question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			fmt.Fprintln(os.Stderr, "lattigo: a question that is no JSON:", err)
			os.Exit(2)
		}
		runtime.GOMAXPROCS(max(q.Threads, 1))
		a := answer{Library: "Lattigo", Version: version()}
		var times []float64
		var parameters string
		var err error
		if q.Op == "bootstrap" {
			a.bootstrapped, times, parameters, err = bootstrap(q.Parameters)
		} else {
			times, parameters, err = measure(q)
		}
		if err != nil {
			a.Absent = err.Error()
		} else {
			sort.Float64s(times)
			a.Name, a.Parameters = q.Op, parameters
			a.Seconds, a.MedianSeconds = times[0], times[len(times)/2]
		}
		if err := out.Encode(a); err != nil {
			os.Exit(1)
		}
	}
}

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/tuneinsight/lattigo/v6" {
			return module.Version
		}
	}
	return ""
}

// measure gives the seconds of several runs, ascending, and the parameters in words.
func measure(q question) ([]float64, string, error) {
	if q.Op == "ntt" || q.Op == "intt" {
		return transform(q)
	}
	if len(q.ChainBits) == 0 {
		return nil, "", fmt.Errorf("no such operation here")
	}
	if q.Op == "bgv_multiply" || q.Op == "bgv_ntt" {
		return integers(q)
	}
	return scheme(q)
}

// several runs f for about half a second, at least 5 times, after one run that warms up.
func several(f func() error) ([]float64, error) {
	if err := f(); err != nil {
		return nil, err
	}
	var times []float64
	for begin := time.Now(); len(times) < 5 || (time.Since(begin) < time.Second/2 && len(times) < 2000); {
		start := time.Now()
		if err := f(); err != nil {
			return nil, err
		}
		times = append(times, time.Since(start).Seconds())
	}
	sort.Float64s(times)
	return times, nil
}

func transform(q question) ([]float64, string, error) {
	primes := ring.NewNTTFriendlyPrimesGenerator(uint64(q.PrimeBits), uint64(2*q.N))
	prime, err := primes.NextDownstreamPrime()
	if err != nil {
		return nil, "", err
	}
	r, err := ring.NewRing(q.N, []uint64{prime})
	if err != nil {
		return nil, "", err
	}
	limb := make([]uint64, q.N)
	for i := range limb {
		limb[i] = uint64(i) * 0x9e3779b97f4a7c15 % prime
	}
	run := func() error { r.SubRings[0].NTT(limb, limb); return nil }
	if q.Op == "intt" {
		run = func() error { r.SubRings[0].INTT(limb, limb); return nil }
	}
	times, err := several(run)
	return times, fmt.Sprintf("one limb of %.0f bits", math.Log2(float64(prime))), err
}

// scheme measures an operation on fresh ciphertexts at the top level, results written to ciphertexts that are there.
func scheme(q question) ([]float64, string, error) {
	params, err := ckks.NewParametersFromLiteral(ckks.ParametersLiteral{
		LogN:            int(math.Log2(float64(q.N))),
		LogQ:            q.ChainBits,
		LogP:            q.SpecialBits,
		LogDefaultScale: q.PrimeBits,
	})
	if err != nil {
		return nil, "", err
	}
	keygen := rlwe.NewKeyGenerator(params)
	secret := keygen.GenSecretKeyNew()
	var keys rlwe.EvaluationKeySet
	switch q.Op {
	case "rotate":
		keys = rlwe.NewMemEvaluationKeySet(nil, keygen.GenGaloisKeyNew(params.GaloisElement(1), secret))
	case "multiply_relinearize", "multiply_relinearize_rescale":
		keys = rlwe.NewMemEvaluationKeySet(keygen.GenRelinearizationKeyNew(secret))
	}
	values := make([]complex128, params.MaxSlots())
	for i := range values {
		values[i] = complex(0.5, -0.5)
	}
	plain := ckks.NewPlaintext(params, params.MaxLevel())
	if err := ckks.NewEncoder(params).Encode(values, plain); err != nil {
		return nil, "", err
	}
	a, err := rlwe.NewEncryptor(params, secret).EncryptNew(plain)
	if err != nil {
		return nil, "", err
	}
	eval := ckks.NewEvaluator(params, keys)
	out := ckks.NewCiphertext(params, 1, params.MaxLevel())
	run, err := operation(q.Op, eval, a, plain, out)
	if err != nil {
		return nil, "", err
	}
	times, err := several(run)
	digits := (len(q.ChainBits) + len(q.SpecialBits) - 1) / len(q.SpecialBits)
	words := fmt.Sprintf("%d limbs, log Q %.0f, log P %.0f, dnum %d",
		params.QCount(), params.LogQ(), params.LogP(), digits)
	return times, words, err
}

func operation(
	op string, eval *ckks.Evaluator, a *rlwe.Ciphertext, plain *rlwe.Plaintext, out *rlwe.Ciphertext,
) (func() error, error) {
	switch op {
	case "multiply_relinearize":
		return func() error { return eval.MulRelin(a, a, out) }, nil
	case "rotate":
		return func() error { return eval.Rotate(a, 1, out) }, nil
	case "mul_plain":
		return func() error { return eval.Mul(a, plain, out) }, nil
	case "mul_scalar":
		return func() error { return eval.Mul(a, 0.5, out) }, nil
	case "add":
		return func() error { return eval.Add(a, a, out) }, nil
	case "rescale":
		product, err := eval.MulNew(a, plain)
		if err != nil {
			return nil, err
		}
		return func() error { return eval.Rescale(product, out) }, nil
	case "multiply_relinearize_rescale":
		product := ckks.NewCiphertext(*eval.GetParameters(), 1, a.Level())
		return func() error {
			if err := eval.MulRelin(a, a, product); err != nil {
				return err
			}
			return eval.Rescale(product, out)
		}, nil
	}
	return nil, fmt.Errorf("no such operation here")
}
