package main

import (
	"fmt"
	"math"

	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/bgv"
)

// integers measures the product of two BGV ciphertexts, which stays of degree 2, or the transform of one.
func integers(q question) ([]float64, string, error) {
	params, err := bgv.NewParametersFromLiteral(bgv.ParametersLiteral{
		LogN:             int(math.Log2(float64(q.N))),
		LogQ:             q.ChainBits,
		PlaintextModulus: 65537,
	})
	if err != nil {
		return nil, "", err
	}
	values := make([]uint64, params.MaxSlots())
	for i := range values {
		values[i] = uint64(i)
	}
	plain := bgv.NewPlaintext(params, params.MaxLevel())
	if err := bgv.NewEncoder(params).Encode(values, plain); err != nil {
		return nil, "", err
	}
	a, err := rlwe.NewEncryptor(params, rlwe.NewKeyGenerator(params).GenSecretKeyNew()).EncryptNew(plain)
	if err != nil {
		return nil, "", err
	}
	words := fmt.Sprintf("%d limbs, log Q %.0f, log P 0", params.QCount(), params.LogQ())
	if q.Op == "bgv_ntt" {
		r := params.RingQ()
		times, err := several(func() error {
			r.NTT(a.Value[0], a.Value[0])
			r.NTT(a.Value[1], a.Value[1])
			return nil
		})
		return times, words, err
	}
	eval := bgv.NewEvaluator(params, nil)
	out := bgv.NewCiphertext(params, 2, params.MaxLevel())
	times, err := several(func() error { return eval.Mul(a, a, out) })
	return times, words, err
}
