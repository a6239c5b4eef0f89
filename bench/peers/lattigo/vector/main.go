// Writes files of Lattigo for the importer's tests, and decrypts what comes back.
//
//	go run ./vector make DIR [LOG_N]
//	go run ./vector decrypt DIR FILE.bin
//
// Slot i of the values is (i mod 17)/16 − 1/2: ct.bin holds them, product.bin their squares, relinearized and divided. The ring
// of 2^10 is below 128 bits: it is a test's data and hides nothing.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/ckks"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type binary interface{ MarshalBinary() ([]byte, error) }

func write(dir string) {
	logN := 10
	if len(os.Args) > 3 {
		n, err := strconv.Atoi(os.Args[3])
		check(err)
		logN = n
	}
	params, err := ckks.NewParametersFromLiteral(ckks.ParametersLiteral{
		LogN: logN, LogQ: []int{36, 30}, LogP: []int{40}, LogDefaultScale: 30,
	})
	check(err)
	text, err := json.Marshal(params)
	check(err)
	check(os.WriteFile(filepath.Join(dir, "params.json"), text, 0o644))
	generator := rlwe.NewKeyGenerator(params)
	secret, public := generator.GenKeyPairNew()
	keys := rlwe.NewMemEvaluationKeySet(
		generator.GenRelinearizationKeyNew(secret), generator.GenGaloisKeyNew(params.GaloisElement(3), secret))
	values := make([]float64, params.MaxSlots())
	for i := range values {
		values[i] = float64(i%17)/16 - 0.5
	}
	plain := ckks.NewPlaintext(params, params.MaxLevel())
	check(ckks.NewEncoder(params).Encode(values, plain))
	a, err := rlwe.NewEncryptor(params, public).EncryptNew(plain)
	check(err)
	evaluator := ckks.NewEvaluator(params, keys)
	product, err := evaluator.MulRelinNew(a, a)
	check(err)
	check(evaluator.Rescale(product, product))
	for name, thing := range map[string]binary{
		"ct": a, "product": product, "secret": secret, "public": public, "keys": keys,
	} {
		bytes, err := thing.MarshalBinary()
		check(err)
		check(os.WriteFile(filepath.Join(dir, name+".bin"), bytes, 0o644))
	}
}

func read(dir, file string) {
	text, err := os.ReadFile(filepath.Join(dir, "params.json"))
	check(err)
	var params ckks.Parameters
	check(json.Unmarshal(text, &params))
	bytes, err := os.ReadFile(filepath.Join(dir, "secret.bin"))
	check(err)
	var secret rlwe.SecretKey
	check(secret.UnmarshalBinary(bytes))
	bytes, err = os.ReadFile(file)
	check(err)
	var ciphertext rlwe.Ciphertext
	check(ciphertext.UnmarshalBinary(bytes))
	values := make([]float64, ciphertext.Slots())
	check(ckks.NewEncoder(params).Decode(rlwe.NewDecryptor(params, &secret).DecryptNew(&ciphertext), values))
	for _, value := range values {
		fmt.Println(value)
	}
}

func main() {
	switch {
	case len(os.Args) >= 3 && os.Args[1] == "make":
		write(os.Args[2])
	case len(os.Args) == 4 && os.Args[1] == "decrypt":
		read(os.Args[2], os.Args[3])
	default:
		fmt.Fprintln(os.Stderr, "make DIR [LOG_N] | decrypt DIR FILE.bin")
		os.Exit(2)
	}
}
