!Z35184372121601_i64 = !mod_arith.int<35184372121601 : i64>
!Z36028797018652673_i64 = !mod_arith.int<36028797018652673 : i64>
#inverse_canonical_encoding = #lwe.inverse_canonical_encoding<scaling_factor = 45>
#inverse_canonical_encoding1 = #lwe.inverse_canonical_encoding<scaling_factor = 90>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 4 and 0 <= slot <= 63 }">
#layout1 = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 4 = 0 and 0 <= i0 <= 2 and 0 <= slot <= 63 }">
#modulus_chain_L1_C0 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 0>
#modulus_chain_L1_C1 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 1>
#ring_f64_1_x8192 = #polynomial.ring<coefficientType = f64, polynomialModulus = <1 + x**8192>>
!rns_L0 = !rns.rns<!Z36028797018652673_i64>
!rns_L1 = !rns.rns<!Z36028797018652673_i64, !Z35184372121601_i64>
#original_type = #tensor_ext.original_type<originalType = tensor<5xf32>, layout = #layout>
#original_type1 = #tensor_ext.original_type<originalType = tensor<3xf32>, layout = #layout1>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding>>
!pt1 = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding1>>
#ring_rns_L0_1_x8192 = #polynomial.ring<coefficientType = !rns_L0, polynomialModulus = <1 + x**8192>>
#ring_rns_L1_1_x8192 = #polynomial.ring<coefficientType = !rns_L1, polynomialModulus = <1 + x**8192>>
!pkey_L1 = !lwe.lwe_public_key<key = #key, ring = #ring_rns_L1_1_x8192>
!skey_L0 = !lwe.lwe_secret_key<key = #key, ring = #ring_rns_L0_1_x8192>
#ciphertext_space_L0 = #lwe.ciphertext_space<ring = #ring_rns_L0_1_x8192, encryption_type = mix>
#ciphertext_space_L1 = #lwe.ciphertext_space<ring = #ring_rns_L1_1_x8192, encryption_type = mix>
!ct_L0 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L0, key = #key, modulus_chain = #modulus_chain_L1_C0>
!ct_L1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L1_C1>
!ct_L1_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L1_C1>
"builtin.module"() ({
  "func.func"() <{function_type = () -> !preprocessing.storage<!pt, !pt1>, sym_name = "matvec_3x5__preprocessing"}> ({
    %73 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64xf32>}> : () -> tensor<64xf32>
    %74 = "arith.constant"() <{value = dense<[[4.066000e-01, 4.813000e-01, -2.732000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -0.0794999971, 0.000000e+00, 4.066000e-01, 4.813000e-01, -2.732000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -0.0794999971, 0.000000e+00, 4.066000e-01, 4.813000e-01, -2.732000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -0.0794999971, 0.000000e+00, 4.066000e-01, 4.813000e-01, -2.732000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -0.0794999971, 0.000000e+00, 4.066000e-01, 4.813000e-01, -2.732000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -0.0794999971, 0.000000e+00, 4.066000e-01, 4.813000e-01, -2.732000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -0.0794999971, 0.000000e+00, 4.066000e-01, 4.813000e-01, -2.732000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -0.0794999971, 0.000000e+00, 4.066000e-01, 4.813000e-01, -2.732000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -0.0794999971, 0.000000e+00]]> : tensor<1x64xf32>}> : () -> tensor<1x64xf32>
    %75 = "arith.constant"() <{value = dense<[[4.066000e-01, 4.813000e-01, -2.732000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -0.0794999971, 0.000000e+00, 4.066000e-01, 4.813000e-01, -2.732000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -0.0794999971, 0.000000e+00, 4.066000e-01, 4.813000e-01, -2.732000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -0.0794999971, 0.000000e+00, 4.066000e-01, 4.813000e-01, -2.732000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -0.0794999971, 0.000000e+00, 4.066000e-01, 4.813000e-01, -2.732000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -0.0794999971, 0.000000e+00, 4.066000e-01, 4.813000e-01, -2.732000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -0.0794999971, 0.000000e+00, 4.066000e-01, 4.813000e-01, -2.732000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -0.0794999971, 0.000000e+00, 4.066000e-01, 4.813000e-01, -2.732000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00]]> : tensor<1x62xf32>}> : () -> tensor<1x62xf32>
    %76 = "arith.constant"() <{value = dense<[[-0.0794999971, 0.000000e+00]]> : tensor<1x2xf32>}> : () -> tensor<1x2xf32>
    %77 = "arith.constant"() <{value = dense<[[-2.273000e-01, 2.096000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.616000e-01, 5.910000e-02, 0.000000e+00, -2.273000e-01, 2.096000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.616000e-01, 5.910000e-02, 0.000000e+00, -2.273000e-01, 2.096000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.616000e-01, 5.910000e-02, 0.000000e+00, -2.273000e-01, 2.096000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.616000e-01, 5.910000e-02, 0.000000e+00, -2.273000e-01, 2.096000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.616000e-01, 5.910000e-02, 0.000000e+00, -2.273000e-01, 2.096000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.616000e-01, 5.910000e-02, 0.000000e+00, -2.273000e-01, 2.096000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.616000e-01, 5.910000e-02, 0.000000e+00, -2.273000e-01, 2.096000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.616000e-01, 5.910000e-02, 0.000000e+00]]> : tensor<1x64xf32>}> : () -> tensor<1x64xf32>
    %78 = "arith.constant"() <{value = dense<[[-2.273000e-01, 2.096000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.616000e-01, 5.910000e-02, 0.000000e+00, -2.273000e-01, 2.096000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.616000e-01, 5.910000e-02, 0.000000e+00, -2.273000e-01, 2.096000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.616000e-01, 5.910000e-02, 0.000000e+00, -2.273000e-01, 2.096000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.616000e-01, 5.910000e-02, 0.000000e+00, -2.273000e-01, 2.096000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.616000e-01, 5.910000e-02, 0.000000e+00, -2.273000e-01, 2.096000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.616000e-01, 5.910000e-02, 0.000000e+00, -2.273000e-01, 2.096000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.616000e-01, 5.910000e-02, 0.000000e+00, -2.273000e-01, 2.096000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.616000e-01]]> : tensor<1x62xf32>}> : () -> tensor<1x62xf32>
    %79 = "arith.constant"() <{value = dense<[[5.910000e-02, 0.000000e+00]]> : tensor<1x2xf32>}> : () -> tensor<1x2xf32>
    %80 = "arith.constant"() <{value = dense<[-6.800000e-03, -0.0970999971, -3.061000e-01, 0.000000e+00, -2.336000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -6.800000e-03, -0.0970999971, -3.061000e-01, 0.000000e+00, -2.336000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -6.800000e-03, -0.0970999971, -3.061000e-01, 0.000000e+00, -2.336000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -6.800000e-03, -0.0970999971, -3.061000e-01, 0.000000e+00, -2.336000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -6.800000e-03, -0.0970999971, -3.061000e-01, 0.000000e+00, -2.336000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -6.800000e-03, -0.0970999971, -3.061000e-01, 0.000000e+00, -2.336000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -6.800000e-03, -0.0970999971, -3.061000e-01, 0.000000e+00, -2.336000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, -6.800000e-03, -0.0970999971, -3.061000e-01, 0.000000e+00, -2.336000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00]> : tensor<64xf32>}> : () -> tensor<64xf32>
    %81 = "arith.constant"() <{value = dense<[4.557000e-01, -1.779000e-01, 1.355000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 4.557000e-01, -1.779000e-01, 1.355000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 4.557000e-01, -1.779000e-01, 1.355000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 4.557000e-01, -1.779000e-01, 1.355000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 4.557000e-01, -1.779000e-01, 1.355000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 4.557000e-01, -1.779000e-01, 1.355000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 4.557000e-01, -1.779000e-01, 1.355000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 4.557000e-01, -1.779000e-01, 1.355000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]> : tensor<64xf32>}> : () -> tensor<64xf32>
    %82 = "arith.constant"() <{value = dense<[7.464000e-01, 1.730000e-01, -0.842599987, 0.000000e+00, 7.464000e-01, 1.730000e-01, -0.842599987, 0.000000e+00, 7.464000e-01, 1.730000e-01, -0.842599987, 0.000000e+00, 7.464000e-01, 1.730000e-01, -0.842599987, 0.000000e+00, 7.464000e-01, 1.730000e-01, -0.842599987, 0.000000e+00, 7.464000e-01, 1.730000e-01, -0.842599987, 0.000000e+00, 7.464000e-01, 1.730000e-01, -0.842599987, 0.000000e+00, 7.464000e-01, 1.730000e-01, -0.842599987, 0.000000e+00, 7.464000e-01, 1.730000e-01, -0.842599987, 0.000000e+00, 7.464000e-01, 1.730000e-01, -0.842599987, 0.000000e+00, 7.464000e-01, 1.730000e-01, -0.842599987, 0.000000e+00, 7.464000e-01, 1.730000e-01, -0.842599987, 0.000000e+00, 7.464000e-01, 1.730000e-01, -0.842599987, 0.000000e+00, 7.464000e-01, 1.730000e-01, -0.842599987, 0.000000e+00, 7.464000e-01, 1.730000e-01, -0.842599987, 0.000000e+00, 7.464000e-01, 1.730000e-01, -0.842599987, 0.000000e+00]> : tensor<64xf32>}> : () -> tensor<64xf32>
    %83 = "preprocessing.empty"() : () -> !preprocessing.storage<!pt, !pt1>
    %84 = "tensor.insert_slice"(%75, %74) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, static_offsets = array<i64: 0, 2>, static_sizes = array<i64: 1, 62>, static_strides = array<i64: 1, 1>}> : (tensor<1x62xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %85 = "tensor.insert_slice"(%76, %84) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 2>, static_strides = array<i64: 1, 1>}> : (tensor<1x2xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %86 = "tensor.insert_slice"(%78, %77) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, static_offsets = array<i64: 0, 2>, static_sizes = array<i64: 1, 62>, static_strides = array<i64: 1, 1>}> : (tensor<1x62xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %87 = "tensor.insert_slice"(%79, %86) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 2>, static_strides = array<i64: 1, 1>}> : (tensor<1x2xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %88 = "lwe.rlwe_encode"(%80) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%88, %83) <{element_type = !pt, site_id = 0 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %89 = "lwe.rlwe_encode"(%73) <{encoding = #inverse_canonical_encoding1, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 90 : i64}> : (tensor<64xf32>) -> !pt1
    "preprocessing.store"(%89, %83) <{element_type = !pt1, site_id = 1 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>) -> ()
    %90 = "lwe.rlwe_encode"(%81) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%90, %83) <{element_type = !pt, site_id = 2 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %91 = "tensor.extract_slice"(%85) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
    %92 = "lwe.rlwe_encode"(%91) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%92, %83) <{element_type = !pt, site_id = 3 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %93 = "tensor.extract_slice"(%87) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
    %94 = "lwe.rlwe_encode"(%93) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%94, %83) <{element_type = !pt, site_id = 4 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %95 = "lwe.rlwe_encode"(%82) <{encoding = #inverse_canonical_encoding1, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 90 : i64}> : (tensor<64xf32>) -> !pt1
    "preprocessing.store"(%95, %83) <{element_type = !pt1, site_id = 5 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>) -> ()
    "func.return"(%83) : (!preprocessing.storage<!pt, !pt1>) -> ()
  }) {heir.interface = {entry_arg_indices = array<i64>, func_name = "matvec_3x5", roles = ["server.preprocessing"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 5>}, tensor_ext.original_type = #original_type}, {}], function_type = (tensor<1x!ct_L1>, !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0>, sym_name = "matvec_3x5__preprocessed"}> ({
  ^bb0(%arg13: tensor<1x!ct_L1>, %arg14: !preprocessing.storage<!pt, !pt1>):
    %44 = "arith.constant"() <{value = 4 : index}> : () -> index
    %45 = "arith.constant"() <{value = 1 : index}> : () -> index
    %46 = "arith.constant"() <{value = 2 : index}> : () -> index
    %47 = "arith.constant"() <{value = 0 : index}> : () -> index
    %48 = "tensor.extract"(%arg13, %47) : (tensor<1x!ct_L1>, index) -> !ct_L1
    %49 = "ckks.rotate"(%48, %45) : (!ct_L1, index) -> !ct_L1
    %50 = "preprocessing.load"(%arg14) <{element_type = !pt, site_id = 0 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %51 = "ckks.mul_plain"(%48, %50) : (!ct_L1, !pt) -> !ct_L1_1
    %52 = "preprocessing.load"(%arg14) <{element_type = !pt1, site_id = 1 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt1
    %53 = "ckks.add_plain"(%51, %52) : (!ct_L1_1, !pt1) -> !ct_L1_1
    %54 = "preprocessing.load"(%arg14) <{element_type = !pt, site_id = 2 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %55 = "ckks.mul_plain"(%49, %54) : (!ct_L1, !pt) -> !ct_L1_1
    %56 = "ckks.add"(%53, %55) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %57 = "ckks.add_plain"(%56, %52) : (!ct_L1_1, !pt1) -> !ct_L1_1
    %58 = "preprocessing.load"(%arg14) <{element_type = !pt, site_id = 3 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %59 = "ckks.mul_plain"(%48, %58) : (!ct_L1, !pt) -> !ct_L1_1
    %60 = "ckks.add_plain"(%59, %52) : (!ct_L1_1, !pt1) -> !ct_L1_1
    %61 = "preprocessing.load"(%arg14) <{element_type = !pt, site_id = 4 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %62 = "ckks.mul_plain"(%49, %61) : (!ct_L1, !pt) -> !ct_L1_1
    %63 = "ckks.add"(%60, %62) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %64 = "ckks.rotate"(%63, %46) : (!ct_L1_1, index) -> !ct_L1_1
    %65 = "ckks.add"(%57, %64) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %66 = "ckks.rotate"(%65, %44) : (!ct_L1_1, index) -> !ct_L1_1
    %67 = "preprocessing.load"(%arg14) <{element_type = !pt1, site_id = 5 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt1
    %68 = "ckks.add_plain"(%65, %67) : (!ct_L1_1, !pt1) -> !ct_L1_1
    %69 = "ckks.add"(%68, %66) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %70 = "tensor.empty"() : () -> tensor<1x!ct_L0>
    %71 = "ckks.rescale"(%69) <{to_ring = #ring_rns_L0_1_x8192}> : (!ct_L1_1) -> !ct_L0
    %72 = "tensor.insert"(%71, %70, %47) : (!ct_L0, tensor<1x!ct_L0>, index) -> tensor<1x!ct_L0>
    "func.return"(%72) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "matvec_3x5", roles = ["client.preprocessed", "server.evaluate"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 5>}, tensor_ext.original_type = #original_type}], function_type = (tensor<1x!ct_L1>) -> tensor<1x!ct_L0>, res_attrs = [{tensor_ext.original_type = #original_type1}], sym_name = "matvec_3x5"}> ({
  ^bb0(%arg12: tensor<1x!ct_L1>):
    %42 = "func.call"() <{callee = @matvec_3x5__preprocessing}> : () -> !preprocessing.storage<!pt, !pt1>
    %43 = "func.call"(%arg12, %42) <{callee = @matvec_3x5__preprocessed}> : (tensor<1x!ct_L1>, !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0>
    "func.return"(%43) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "matvec_3x5", input_types = [tensor<5xf32>], result_types = [tensor<3xf32>], roles = ["entry"]}} : () -> ()
  "func.func"() <{function_type = (tensor<5xf32>, !pkey_L1) -> tensor<1x!ct_L1>, sym_name = "matvec_3x5__encrypt__arg0"}> ({
  ^bb0(%arg6: tensor<5xf32>, %arg7: !pkey_L1):
    %25 = "arith.constant"() <{value = 0 : index}> : () -> index
    %26 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %27 = "arith.constant"() <{value = 8 : i32}> : () -> i32
    %28 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<1x64xf32>}> : () -> tensor<1x64xf32>
    %29 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %30 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %31 = "arith.constant"() <{value = 5 : i32}> : () -> i32
    %32 = "scf.for"(%29, %31, %30, %28) ({
    ^bb0(%arg8: i32, %arg9: tensor<1x64xf32>):
      %37 = "scf.for"(%arg8, %26, %27, %arg9) ({
      ^bb0(%arg10: i32, %arg11: tensor<1x64xf32>):
        %38 = "arith.index_cast"(%arg8) : (i32) -> index
        %39 = "tensor.extract"(%arg6, %38) : (tensor<5xf32>, index) -> f32
        %40 = "arith.index_cast"(%arg10) : (i32) -> index
        %41 = "tensor.insert"(%39, %arg11, %25, %40) : (f32, tensor<1x64xf32>, index, index) -> tensor<1x64xf32>
        "scf.yield"(%41) : (tensor<1x64xf32>) -> ()
      }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
      "scf.yield"(%37) : (tensor<1x64xf32>) -> ()
    }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
    %33 = "tensor.extract_slice"(%32) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
    %34 = "lwe.rlwe_encode"(%33) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %35 = "lwe.rlwe_encrypt"(%34, %arg7) : (!pt, !pkey_L1) -> !ct_L1
    %36 = "tensor.from_elements"(%35) : (!ct_L1) -> tensor<1x!ct_L1>
    "func.return"(%36) : (tensor<1x!ct_L1>) -> ()
  }) {heir.interface = {func_name = "matvec_3x5", index = 0 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x!ct_L0>, !skey_L0) -> tensor<3xf32>, sym_name = "matvec_3x5__decrypt__result0"}> ({
  ^bb0(%arg0: tensor<1x!ct_L0>, %arg1: !skey_L0):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 3 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = 4 : i32}> : () -> i32
    %4 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %5 = "arith.constant"() <{value = 2 : i32}> : () -> i32
    %6 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %7 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<3xf32>}> : () -> tensor<3xf32>
    %8 = "arith.constant"() <{value = 61 : i32}> : () -> i32
    %9 = "tensor.extract"(%arg0, %0) : (tensor<1x!ct_L0>, index) -> !ct_L0
    %10 = "lwe.rlwe_decrypt"(%9, %arg1) : (!ct_L0, !skey_L0) -> !pt
    %11 = "lwe.rlwe_decode"(%10) <{encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192}> : (!pt) -> tensor<1x64xf32>
    %12 = "scf.for"(%6, %2, %4, %7) ({
    ^bb0(%arg2: i32, %arg3: tensor<3xf32>):
      %13 = "arith.subi"(%5, %arg2) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %14 = "scf.for"(%13, %1, %3, %arg3) ({
      ^bb0(%arg4: i32, %arg5: tensor<3xf32>):
        %15 = "arith.addi"(%arg2, %8) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %16 = "arith.floordivsi"(%15, %3) : (i32, i32) -> i32
        %17 = "arith.muli"(%16, %3) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %18 = "arith.addi"(%13, %17) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %19 = "arith.subi"(%arg4, %13) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %20 = "arith.subi"(%18, %19) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %21 = "arith.index_cast"(%20) : (i32) -> index
        %22 = "tensor.extract"(%11, %0, %21) : (tensor<1x64xf32>, index, index) -> f32
        %23 = "arith.index_cast"(%13) : (i32) -> index
        %24 = "tensor.insert"(%22, %arg5, %23) : (f32, tensor<3xf32>, index) -> tensor<3xf32>
        "scf.yield"(%24) : (tensor<3xf32>) -> ()
      }) : (i32, i32, i32, tensor<3xf32>) -> tensor<3xf32>
      "scf.yield"(%14) : (tensor<3xf32>) -> ()
    }) : (i32, i32, i32, tensor<3xf32>) -> tensor<3xf32>
    "func.return"(%12) : (tensor<3xf32>) -> ()
  }) {heir.interface = {func_name = "matvec_3x5", index = 0 : i64, roles = ["client.decrypt"]}} : () -> ()
}) {backend.openfhe, ckks.schemeParam = #ckks.scheme_param<logN = 13, Q = [36028797018652673, 35184372121601], P = [1152921504606994433], logDefaultScale = 45>, scheme.actual_slot_count = 4096 : i64, scheme.ckks, scheme.requested_slot_count = 64 : i64} : () -> ()

