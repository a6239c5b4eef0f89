!Z35184371138561_i64 = !mod_arith.int<35184371138561 : i64>
!Z35184372121601_i64 = !mod_arith.int<35184372121601 : i64>
!Z36028797017456641_i64 = !mod_arith.int<36028797017456641 : i64>
#inverse_canonical_encoding = #lwe.inverse_canonical_encoding<scaling_factor = 45>
#inverse_canonical_encoding1 = #lwe.inverse_canonical_encoding<scaling_factor = 90>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [i0, i1] -> [ct, slot] : ct = 0 and (-4i0 + 3i1 + slot) mod 12 = 0 and 0 <= i0 <= 2 and 0 <= i1 <= 3 and 0 <= slot <= 63 }">
#layout1 = #tensor_ext.layout<"{ [i0, i1] -> [ct, slot] : ct = 0 and (5i0 - 6i1 + slot) mod 15 = 0 and 0 <= i0 <= 2 and 0 <= i1 <= 4 and 0 <= slot <= 63 }">
#modulus_chain_L2_C0 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 0>
#modulus_chain_L2_C1 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 1>
#modulus_chain_L2_C2 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 2>
#ring_f64_1_x16384 = #polynomial.ring<coefficientType = f64, polynomialModulus = <1 + x**16384>>
!rns_L0 = !rns.rns<!Z36028797017456641_i64>
!rns_L1 = !rns.rns<!Z36028797017456641_i64, !Z35184371138561_i64>
!rns_L2 = !rns.rns<!Z36028797017456641_i64, !Z35184371138561_i64, !Z35184372121601_i64>
#original_type = #tensor_ext.original_type<originalType = tensor<3x4xf32>, layout = #layout>
#original_type1 = #tensor_ext.original_type<originalType = tensor<3x5xf32>, layout = #layout1>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>>
#ring_rns_L0_1_x16384 = #polynomial.ring<coefficientType = !rns_L0, polynomialModulus = <1 + x**16384>>
#ring_rns_L1_1_x16384 = #polynomial.ring<coefficientType = !rns_L1, polynomialModulus = <1 + x**16384>>
#ring_rns_L2_1_x16384 = #polynomial.ring<coefficientType = !rns_L2, polynomialModulus = <1 + x**16384>>
!pkey_L2 = !lwe.lwe_public_key<key = #key, ring = #ring_rns_L2_1_x16384>
!skey_L0 = !lwe.lwe_secret_key<key = #key, ring = #ring_rns_L0_1_x16384>
#ciphertext_space_L0 = #lwe.ciphertext_space<ring = #ring_rns_L0_1_x16384, encryption_type = mix>
#ciphertext_space_L1 = #lwe.ciphertext_space<ring = #ring_rns_L1_1_x16384, encryption_type = mix>
#ciphertext_space_L2 = #lwe.ciphertext_space<ring = #ring_rns_L2_1_x16384, encryption_type = mix>
!ct_L0 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L0, key = #key, modulus_chain = #modulus_chain_L2_C0>
!ct_L1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L2_C1>
!ct_L1_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L2_C1>
!ct_L2 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L2, key = #key, modulus_chain = #modulus_chain_L2_C2>
!ct_L2_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L2, key = #key, modulus_chain = #modulus_chain_L2_C2>
"builtin.module"() ({
  "func.func"() <{function_type = () -> !preprocessing.storage<!pt>, sym_name = "matmul_clear__preprocessing"}> ({
    %87 = "arith.constant"() <{value = dense<[6.650000e-02, 1.946000e-01, 4.307000e-01, -6.149000e-01, -1.106000e-01, -5.855000e-01, -9.656000e-01, -4.503000e-01, 3.709000e-01, 5.384000e-01, -9.613000e-01, -8.912000e-01, -4.325000e-01, -1.937000e-01, 6.085000e-01, 4.684000e-01, -0.995299994, -0.951699972, 3.346000e-01, -3.418000e-01, 6.650000e-02, 1.946000e-01, 4.307000e-01, -6.149000e-01, -1.106000e-01, -5.855000e-01, -9.656000e-01, -4.503000e-01, 3.709000e-01, 5.384000e-01, -9.613000e-01, -8.912000e-01, -4.325000e-01, -1.937000e-01, 6.085000e-01, 4.684000e-01, -0.995299994, -0.951699972, 3.346000e-01, -3.418000e-01, 6.650000e-02, 1.946000e-01, 4.307000e-01, -6.149000e-01, -1.106000e-01, -5.855000e-01, -9.656000e-01, -4.503000e-01, 3.709000e-01, 5.384000e-01, -9.613000e-01, -8.912000e-01, -4.325000e-01, -1.937000e-01, 6.085000e-01, 4.684000e-01, -0.995299994, -0.951699972, 3.346000e-01, -3.418000e-01, 6.650000e-02, 1.946000e-01, 4.307000e-01, -6.149000e-01]> : tensor<64xf32>}> : () -> tensor<64xf32>
    %88 = "arith.constant"() <{value = dense<[4.684000e-01, -0.995299994, -0.951699972, 3.346000e-01, -3.418000e-01, 6.650000e-02, 1.946000e-01, 4.307000e-01, -6.149000e-01, -1.106000e-01, -5.855000e-01, -9.656000e-01, -4.503000e-01, 3.709000e-01, 5.384000e-01, -9.613000e-01, -8.912000e-01, -4.325000e-01, -1.937000e-01, 6.085000e-01, 4.684000e-01, -0.995299994, -0.951699972, 3.346000e-01, -3.418000e-01, 6.650000e-02, 1.946000e-01, 4.307000e-01, -6.149000e-01, -1.106000e-01, -5.855000e-01, -9.656000e-01, -4.503000e-01, 3.709000e-01, 5.384000e-01, -9.613000e-01, -8.912000e-01, -4.325000e-01, -1.937000e-01, 6.085000e-01, 4.684000e-01, -0.995299994, -0.951699972, 3.346000e-01, -3.418000e-01, 6.650000e-02, 1.946000e-01, 4.307000e-01, -6.149000e-01, -1.106000e-01, -5.855000e-01, -9.656000e-01, -4.503000e-01, 3.709000e-01, 5.384000e-01, -9.613000e-01, -8.912000e-01, -4.325000e-01, -1.937000e-01, 6.085000e-01, 4.684000e-01, -0.995299994, -0.951699972, 3.346000e-01]> : tensor<64xf32>}> : () -> tensor<64xf32>
    %89 = "arith.constant"() <{value = dense<[3.709000e-01, 5.384000e-01, -9.613000e-01, -8.912000e-01, -4.325000e-01, -1.937000e-01, -9.613000e-01, -8.912000e-01, -4.325000e-01, -1.937000e-01, 6.085000e-01, 4.684000e-01, -0.995299994, -0.951699972, 3.346000e-01, -3.418000e-01, 6.650000e-02, 1.946000e-01, 4.307000e-01, -6.149000e-01, -1.106000e-01, -5.855000e-01, -9.656000e-01, -4.503000e-01, 3.709000e-01, 5.384000e-01, -9.613000e-01, -8.912000e-01, -4.325000e-01, -1.937000e-01, 6.085000e-01, 4.684000e-01, -0.995299994, -0.951699972, 3.346000e-01, -3.418000e-01, 6.650000e-02, 1.946000e-01, 4.307000e-01, -6.149000e-01, -1.106000e-01, -5.855000e-01, -9.656000e-01, -4.503000e-01, 3.709000e-01, 5.384000e-01, -9.613000e-01, -8.912000e-01, -4.325000e-01, -1.937000e-01, 6.085000e-01, 4.684000e-01, -0.995299994, -0.951699972, 3.346000e-01, -3.418000e-01, 6.650000e-02, 1.946000e-01, 4.307000e-01, -6.149000e-01, -1.106000e-01, -5.855000e-01, -9.656000e-01, -4.503000e-01]> : tensor<64xf32>}> : () -> tensor<64xf32>
    %90 = "arith.constant"() <{value = dense<[-6.149000e-01, -1.106000e-01, -5.855000e-01, -9.656000e-01, -4.503000e-01, 3.709000e-01, -5.855000e-01, -9.656000e-01, -4.503000e-01, 3.709000e-01, 5.384000e-01, -9.613000e-01, -8.912000e-01, -4.325000e-01, -1.937000e-01, 6.085000e-01, 4.684000e-01, -0.995299994, -0.951699972, 3.346000e-01, -3.418000e-01, 6.650000e-02, 1.946000e-01, 4.307000e-01, -6.149000e-01, -1.106000e-01, -5.855000e-01, -9.656000e-01, -4.503000e-01, 3.709000e-01, 5.384000e-01, -9.613000e-01, -8.912000e-01, -4.325000e-01, -1.937000e-01, 6.085000e-01, 4.684000e-01, -0.995299994, -0.951699972, 3.346000e-01, -3.418000e-01, 6.650000e-02, 1.946000e-01, 4.307000e-01, -6.149000e-01, -1.106000e-01, -5.855000e-01, -9.656000e-01, -4.503000e-01, 3.709000e-01, 5.384000e-01, -9.613000e-01, -8.912000e-01, -4.325000e-01, -1.937000e-01, 6.085000e-01, 4.684000e-01, -0.995299994, -0.951699972, 3.346000e-01, -3.418000e-01, 6.650000e-02, 1.946000e-01, 4.307000e-01]> : tensor<64xf32>}> : () -> tensor<64xf32>
    %91 = "arith.constant"() <{value = dense<[1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]> : tensor<64xf32>}> : () -> tensor<64xf32>
    %92 = "arith.constant"() <{value = dense<[0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00]> : tensor<64xf32>}> : () -> tensor<64xf32>
    %93 = "preprocessing.empty"() : () -> !preprocessing.storage<!pt>
    %94 = "lwe.rlwe_encode"(%87) <{encoding = #inverse_canonical_encoding, level = 2 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%94, %93) <{element_type = !pt, site_id = 0 : i32}> : (!pt, !preprocessing.storage<!pt>) -> ()
    %95 = "lwe.rlwe_encode"(%88) <{encoding = #inverse_canonical_encoding, level = 2 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%95, %93) <{element_type = !pt, site_id = 1 : i32}> : (!pt, !preprocessing.storage<!pt>) -> ()
    %96 = "lwe.rlwe_encode"(%89) <{encoding = #inverse_canonical_encoding, level = 2 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%96, %93) <{element_type = !pt, site_id = 2 : i32}> : (!pt, !preprocessing.storage<!pt>) -> ()
    %97 = "lwe.rlwe_encode"(%90) <{encoding = #inverse_canonical_encoding, level = 2 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%97, %93) <{element_type = !pt, site_id = 3 : i32}> : (!pt, !preprocessing.storage<!pt>) -> ()
    %98 = "lwe.rlwe_encode"(%91) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%98, %93) <{element_type = !pt, site_id = 4 : i32}> : (!pt, !preprocessing.storage<!pt>) -> ()
    %99 = "lwe.rlwe_encode"(%92) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%99, %93) <{element_type = !pt, site_id = 5 : i32}> : (!pt, !preprocessing.storage<!pt>) -> ()
    "func.return"(%93) : (!preprocessing.storage<!pt>) -> ()
  }) {heir.interface = {entry_arg_indices = array<i64>, func_name = "matmul_clear", roles = ["server.preprocessing"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 3, 4>}, tensor_ext.original_type = #original_type}, {}], function_type = (tensor<1x!ct_L2>, !preprocessing.storage<!pt>) -> tensor<1x!ct_L0>, sym_name = "matmul_clear__preprocessed"}> ({
  ^bb0(%arg13: tensor<1x!ct_L2>, %arg14: !preprocessing.storage<!pt>):
    %58 = "arith.constant"() <{value = 19 : index}> : () -> index
    %59 = "arith.constant"() <{value = 6 : index}> : () -> index
    %60 = "arith.constant"() <{value = 3 : index}> : () -> index
    %61 = "arith.constant"() <{value = 0 : index}> : () -> index
    %62 = "preprocessing.load"(%arg14) <{element_type = !pt, site_id = 0 : i32}> : (!preprocessing.storage<!pt>) -> !pt
    %63 = "tensor.extract"(%arg13, %61) : (tensor<1x!ct_L2>, index) -> !ct_L2
    %64 = "ckks.mul_plain"(%63, %62) : (!ct_L2, !pt) -> !ct_L2_1
    %65 = "ckks.rotate"(%63, %60) : (!ct_L2, index) -> !ct_L2
    %66 = "preprocessing.load"(%arg14) <{element_type = !pt, site_id = 1 : i32}> : (!preprocessing.storage<!pt>) -> !pt
    %67 = "ckks.mul_plain"(%65, %66) : (!ct_L2, !pt) -> !ct_L2_1
    %68 = "preprocessing.load"(%arg14) <{element_type = !pt, site_id = 2 : i32}> : (!preprocessing.storage<!pt>) -> !pt
    %69 = "ckks.mul_plain"(%63, %68) : (!ct_L2, !pt) -> !ct_L2_1
    %70 = "preprocessing.load"(%arg14) <{element_type = !pt, site_id = 3 : i32}> : (!preprocessing.storage<!pt>) -> !pt
    %71 = "ckks.mul_plain"(%65, %70) : (!ct_L2, !pt) -> !ct_L2_1
    %72 = "ckks.add"(%69, %71) : (!ct_L2_1, !ct_L2_1) -> !ct_L2_1
    %73 = "ckks.rotate"(%72, %59) : (!ct_L2_1, index) -> !ct_L2_1
    %74 = "ckks.add"(%64, %67) : (!ct_L2_1, !ct_L2_1) -> !ct_L2_1
    %75 = "ckks.add"(%74, %73) : (!ct_L2_1, !ct_L2_1) -> !ct_L2_1
    %76 = "ckks.rescale"(%75) <{to_ring = #ring_rns_L1_1_x16384}> : (!ct_L2_1) -> !ct_L1
    %77 = "preprocessing.load"(%arg14) <{element_type = !pt, site_id = 4 : i32}> : (!preprocessing.storage<!pt>) -> !pt
    %78 = "ckks.mul_plain"(%76, %77) : (!ct_L1, !pt) -> !ct_L1_1
    %79 = "ckks.rotate"(%75, %58) : (!ct_L2_1, index) -> !ct_L2_1
    %80 = "ckks.rescale"(%79) <{to_ring = #ring_rns_L1_1_x16384}> : (!ct_L2_1) -> !ct_L1
    %81 = "preprocessing.load"(%arg14) <{element_type = !pt, site_id = 5 : i32}> : (!preprocessing.storage<!pt>) -> !pt
    %82 = "ckks.mul_plain"(%80, %81) : (!ct_L1, !pt) -> !ct_L1_1
    %83 = "ckks.add"(%78, %82) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %84 = "tensor.empty"() : () -> tensor<1x!ct_L0>
    %85 = "ckks.rescale"(%83) <{to_ring = #ring_rns_L0_1_x16384}> : (!ct_L1_1) -> !ct_L0
    %86 = "tensor.insert"(%85, %84, %61) : (!ct_L0, tensor<1x!ct_L0>, index) -> tensor<1x!ct_L0>
    "func.return"(%86) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "matmul_clear", roles = ["client.preprocessed", "server.evaluate"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 3, 4>}, tensor_ext.original_type = #original_type}], function_type = (tensor<1x!ct_L2>) -> tensor<1x!ct_L0>, res_attrs = [{tensor_ext.original_type = #original_type1}], sym_name = "matmul_clear"}> ({
  ^bb0(%arg12: tensor<1x!ct_L2>):
    %56 = "func.call"() <{callee = @matmul_clear__preprocessing}> : () -> !preprocessing.storage<!pt>
    %57 = "func.call"(%arg12, %56) <{callee = @matmul_clear__preprocessed}> : (tensor<1x!ct_L2>, !preprocessing.storage<!pt>) -> tensor<1x!ct_L0>
    "func.return"(%57) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "matmul_clear", input_types = [tensor<3x4xf32>], result_types = [tensor<3x5xf32>], roles = ["entry"]}} : () -> ()
  "func.func"() <{function_type = (tensor<3x4xf32>, !pkey_L2) -> tensor<1x!ct_L2>, sym_name = "matmul_clear__encrypt__arg0"}> ({
  ^bb0(%arg8: tensor<3x4xf32>, %arg9: !pkey_L2):
    %41 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<1x64xf32>}> : () -> tensor<1x64xf32>
    %42 = "arith.constant"() <{value = 0 : index}> : () -> index
    %43 = "arith.constant"() <{value = 1 : index}> : () -> index
    %44 = "arith.constant"() <{value = 64 : index}> : () -> index
    %45 = "arith.constant"() <{value = 3 : index}> : () -> index
    %46 = "arith.constant"() <{value = 4 : index}> : () -> index
    %47 = "scf.for"(%42, %44, %43, %41) ({
    ^bb0(%arg10: index, %arg11: tensor<1x64xf32>):
      %52 = "arith.remsi"(%arg10, %45) : (index, index) -> index
      %53 = "arith.remsi"(%arg10, %46) : (index, index) -> index
      %54 = "tensor.extract"(%arg8, %52, %53) : (tensor<3x4xf32>, index, index) -> f32
      %55 = "tensor.insert"(%54, %arg11, %42, %arg10) : (f32, tensor<1x64xf32>, index, index) -> tensor<1x64xf32>
      "scf.yield"(%55) : (tensor<1x64xf32>) -> ()
    }) : (index, index, index, tensor<1x64xf32>) -> tensor<1x64xf32>
    %48 = "tensor.extract_slice"(%47) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
    %49 = "lwe.rlwe_encode"(%48) <{encoding = #inverse_canonical_encoding, level = 2 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %50 = "lwe.rlwe_encrypt"(%49, %arg9) : (!pt, !pkey_L2) -> !ct_L2
    %51 = "tensor.from_elements"(%50) : (!ct_L2) -> tensor<1x!ct_L2>
    "func.return"(%51) : (tensor<1x!ct_L2>) -> ()
  }) {heir.interface = {func_name = "matmul_clear", index = 0 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x!ct_L0>, !skey_L0) -> tensor<3x5xf32>, sym_name = "matmul_clear__decrypt__result0"}> ({
  ^bb0(%arg0: tensor<1x!ct_L0>, %arg1: !skey_L0):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 4 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = 3 : i32}> : () -> i32
    %4 = "arith.constant"() <{value = 15 : i32}> : () -> i32
    %5 = "arith.constant"() <{value = 29 : i32}> : () -> i32
    %6 = "arith.constant"() <{value = 6 : i32}> : () -> i32
    %7 = "arith.constant"() <{value = 5 : i32}> : () -> i32
    %8 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %9 = "arith.constant"() <{value = 2 : i32}> : () -> i32
    %10 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %11 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<3x5xf32>}> : () -> tensor<3x5xf32>
    %12 = "arith.constant"() <{value = 14 : i32}> : () -> i32
    %13 = "arith.constant"() <{value = 49 : i32}> : () -> i32
    %14 = "tensor.extract"(%arg0, %0) : (tensor<1x!ct_L0>, index) -> !ct_L0
    %15 = "lwe.rlwe_decrypt"(%14, %arg1) : (!ct_L0, !skey_L0) -> !pt
    %16 = "lwe.rlwe_decode"(%15) <{encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x16384}> : (!pt) -> tensor<1x64xf32>
    %17 = "scf.for"(%10, %3, %8, %11) ({
    ^bb0(%arg2: i32, %arg3: tensor<3x5xf32>):
      %18 = "arith.subi"(%9, %arg2) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %19 = "scf.for"(%10, %7, %8, %arg3) ({
      ^bb0(%arg4: i32, %arg5: tensor<3x5xf32>):
        %20 = "arith.subi"(%2, %arg4) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %21 = "arith.muli"(%18, %7) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %22 = "arith.muli"(%20, %6) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %23 = "arith.subi"(%21, %22) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %24 = "arith.addi"(%23, %5) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %25 = "arith.floordivsi"(%24, %4) : (i32, i32) -> i32
        %26 = "arith.muli"(%25, %4) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %27 = "arith.subi"(%24, %26) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %28 = "arith.subi"(%12, %27) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %29 = "scf.for"(%28, %1, %4, %arg5) ({
        ^bb0(%arg6: i32, %arg7: tensor<3x5xf32>):
          %30 = "arith.addi"(%27, %13) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
          %31 = "arith.floordivsi"(%30, %4) : (i32, i32) -> i32
          %32 = "arith.muli"(%31, %4) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
          %33 = "arith.addi"(%28, %32) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
          %34 = "arith.subi"(%arg6, %28) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
          %35 = "arith.subi"(%33, %34) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
          %36 = "arith.index_cast"(%35) : (i32) -> index
          %37 = "tensor.extract"(%16, %0, %36) : (tensor<1x64xf32>, index, index) -> f32
          %38 = "arith.index_cast"(%18) : (i32) -> index
          %39 = "arith.index_cast"(%20) : (i32) -> index
          %40 = "tensor.insert"(%37, %arg7, %38, %39) : (f32, tensor<3x5xf32>, index, index) -> tensor<3x5xf32>
          "scf.yield"(%40) : (tensor<3x5xf32>) -> ()
        }) : (i32, i32, i32, tensor<3x5xf32>) -> tensor<3x5xf32>
        "scf.yield"(%29) : (tensor<3x5xf32>) -> ()
      }) : (i32, i32, i32, tensor<3x5xf32>) -> tensor<3x5xf32>
      "scf.yield"(%19) : (tensor<3x5xf32>) -> ()
    }) : (i32, i32, i32, tensor<3x5xf32>) -> tensor<3x5xf32>
    "func.return"(%17) : (tensor<3x5xf32>) -> ()
  }) {heir.interface = {func_name = "matmul_clear", index = 0 : i64, roles = ["client.decrypt"]}} : () -> ()
}) {backend.openfhe, ckks.schemeParam = #ckks.scheme_param<logN = 14, Q = [36028797017456641, 35184371138561, 35184372121601], P = [1152921504607338497, 1152921504608747521], logDefaultScale = 45>, scheme.actual_slot_count = 8192 : i64, scheme.ckks, scheme.requested_slot_count = 64 : i64} : () -> ()

