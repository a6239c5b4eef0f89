package main

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/tuneinsight/lattigo/v6/circuits/ckks/bootstrapping"
	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/ckks"
	"github.com/tuneinsight/lattigo/v6/utils"
	"github.com/tuneinsight/lattigo/v6/utils/sampling"
)

// bootstrapped is what a row of bootstrapping has beyond the others.
type bootstrapped struct {
	Levels        int     `json:"levels"`
	LevelBits     int     `json:"level_bits"`
	Slots         int     `json:"slots"`
	KeygenSeconds float64 `json:"keygen_seconds"`
	KeyBytes      int     `json:"key_bytes"`
	// MeanBits and MinBits are -log2 of the mean and of the largest absolute error of the real and imaginary parts, as
	// Limbwise counts; PeerMeanBits is Lattigo's own mean, that of -log2 |error| over the slots.
	MeanBits     float64 `json:"mean_bits"`
	MinBits      float64 `json:"min_bits"`
	PeerMeanBits float64 `json:"peer_mean_bits"`
	PeakBytes    uint64  `json:"peak_bytes"`
	Security     string  `json:"security"`
}

// bootstrap runs Lattigo's own parameter set of a name, twice, on random complex slots encrypted under the secret key;
// the residual and the bootstrapping parameters have the same ring, secret and special primes.
func bootstrap(name string) (*bootstrapped, []float64, string, error) {
	literal := bootstrapping.N16QP1767H32768H32
	switch name {
	case "N16QP1767H32768H32", "":
	case "N15QP880H16384H32":
		literal = bootstrapping.N15QP880H16384H32
	default:
		return nil, nil, "", fmt.Errorf("no parameter set %q here", name)
	}
	params, err := ckks.NewParametersFromLiteral(literal.SchemeParams)
	if err != nil {
		return nil, nil, "", err
	}
	circuit := literal.BootstrappingParams
	circuit.LogN = utils.Pointy(params.LogN())
	circuit.Xs = params.Xs()
	circuit.LogP = literal.SchemeParams.LogP
	raised, err := bootstrapping.NewParametersFromLiteral(params, circuit)
	if err != nil {
		return nil, nil, "", err
	}
	// Go's collector lets garbage grow to the size of what lives; a quarter is enough, and the peak nearer to the need.
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	secret := rlwe.NewKeyGenerator(params).GenSecretKeyNew()
	start := time.Now()
	keys, _, err := raised.GenEvaluationKeys(secret)
	if err != nil {
		return nil, nil, "", err
	}
	result := &bootstrapped{
		LevelBits: int(params.LogDefaultScale()), Security: "a set of ePrint 2022/024; the library checks nothing",
		Slots: params.MaxSlots(), KeygenSeconds: time.Since(start).Seconds(), KeyBytes: keys.BinarySize(),
	}
	eval, err := bootstrapping.NewEvaluator(raised, keys)
	if err != nil {
		return nil, nil, "", err
	}
	values := make([]complex128, params.MaxSlots())
	for i := range values {
		values[i] = sampling.RandComplex128(-1, 1)
	}
	var times []float64
	for range 2 {
		out, seconds, err := once(params, eval, secret, values)
		if err != nil {
			return nil, nil, "", err
		}
		times = append(times, seconds)
		result.Levels = out.Level()
		if err := result.compare(params, secret, values, out); err != nil {
			return nil, nil, "", err
		}
	}
	result.PeakBytes = peak()
	inner := raised.BootstrappingParameters
	words := fmt.Sprintf("%s: %d limbs, log Q %.0f, log P %.0f, dnum %d", name,
		inner.QCount(), inner.LogQ(), inner.LogP(), (inner.QCount()+inner.PCount()-1)/inner.PCount())
	return result, times, words, nil
}

// once encrypts at level 0 and bootstraps.
func once(
	params ckks.Parameters, eval *bootstrapping.Evaluator, secret *rlwe.SecretKey, values []complex128,
) (*rlwe.Ciphertext, float64, error) {
	plain := ckks.NewPlaintext(params, 0)
	if err := ckks.NewEncoder(params).Encode(values, plain); err != nil {
		return nil, 0, err
	}
	a, err := rlwe.NewEncryptor(params, secret).EncryptNew(plain)
	if err != nil {
		return nil, 0, err
	}
	start := time.Now()
	out, err := eval.Bootstrap(a)
	return out, time.Since(start).Seconds(), err
}

// compare decrypts and sets the three figures of precision.
func (b *bootstrapped) compare(
	params ckks.Parameters, secret *rlwe.SecretKey, values []complex128, out *rlwe.Ciphertext,
) error {
	encoder, decryptor := ckks.NewEncoder(params), rlwe.NewDecryptor(params, secret)
	got := make([]complex128, len(values))
	if err := encoder.Decode(decryptor.DecryptNew(out), got); err != nil {
		return err
	}
	var sum, most, bits float64
	for i, want := range values {
		for _, e := range []float64{math.Abs(real(got[i] - want)), math.Abs(imag(got[i] - want))} {
			sum, most, bits = sum+e, math.Max(most, e), bits-math.Log2(math.Max(e, 1e-30))
		}
	}
	count := float64(2 * len(values))
	b.MeanBits, b.MinBits, b.PeerMeanBits = -math.Log2(sum/count), -math.Log2(most), bits/count
	return nil
}

// peak is the most memory that this process has held, 0 where the system does not say.
func peak() uint64 {
	status, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(status), "\n") {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmHWM:" {
			kib, _ := strconv.ParseUint(fields[1], 10, 64)
			return 1024 * kib
		}
	}
	return 0
}
