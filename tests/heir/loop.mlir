!Z35184370941953_i64 = !mod_arith.int<35184370941953 : i64>
!Z35184371138561_i64 = !mod_arith.int<35184371138561 : i64>
!Z35184372121601_i64 = !mod_arith.int<35184372121601 : i64>
!Z35184372744193_i64 = !mod_arith.int<35184372744193 : i64>
!Z35184373006337_i64 = !mod_arith.int<35184373006337 : i64>
!Z36028797017456641_i64 = !mod_arith.int<36028797017456641 : i64>
#inverse_canonical_encoding = #lwe.inverse_canonical_encoding<scaling_factor = 45>
#inverse_canonical_encoding1 = #lwe.inverse_canonical_encoding<scaling_factor = 90>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 63 }">
#modulus_chain_L5_C0 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184373006337 : i64, 35184370941953 : i64, 35184372744193 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 0>
#modulus_chain_L5_C1 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184373006337 : i64, 35184370941953 : i64, 35184372744193 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 1>
#modulus_chain_L5_C2 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184373006337 : i64, 35184370941953 : i64, 35184372744193 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 2>
#modulus_chain_L5_C3 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184373006337 : i64, 35184370941953 : i64, 35184372744193 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 3>
#modulus_chain_L5_C4 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184373006337 : i64, 35184370941953 : i64, 35184372744193 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 4>
#modulus_chain_L5_C5 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184373006337 : i64, 35184370941953 : i64, 35184372744193 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 5>
#ring_f64_1_x16384 = #polynomial.ring<coefficientType = f64, polynomialModulus = <1 + x**16384>>
!rns_L0 = !rns.rns<!Z36028797017456641_i64>
!rns_L1 = !rns.rns<!Z36028797017456641_i64, !Z35184373006337_i64>
!rns_L2 = !rns.rns<!Z36028797017456641_i64, !Z35184373006337_i64, !Z35184370941953_i64>
!rns_L3 = !rns.rns<!Z36028797017456641_i64, !Z35184373006337_i64, !Z35184370941953_i64, !Z35184372744193_i64>
!rns_L4 = !rns.rns<!Z36028797017456641_i64, !Z35184373006337_i64, !Z35184370941953_i64, !Z35184372744193_i64, !Z35184371138561_i64>
!rns_L5 = !rns.rns<!Z36028797017456641_i64, !Z35184373006337_i64, !Z35184370941953_i64, !Z35184372744193_i64, !Z35184371138561_i64, !Z35184372121601_i64>
#original_type = #tensor_ext.original_type<originalType = tensor<8xf32>, layout = #layout>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>>
!pt1 = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>>
#ring_rns_L0_1_x16384 = #polynomial.ring<coefficientType = !rns_L0, polynomialModulus = <1 + x**16384>>
#ring_rns_L1_1_x16384 = #polynomial.ring<coefficientType = !rns_L1, polynomialModulus = <1 + x**16384>>
#ring_rns_L2_1_x16384 = #polynomial.ring<coefficientType = !rns_L2, polynomialModulus = <1 + x**16384>>
#ring_rns_L3_1_x16384 = #polynomial.ring<coefficientType = !rns_L3, polynomialModulus = <1 + x**16384>>
#ring_rns_L4_1_x16384 = #polynomial.ring<coefficientType = !rns_L4, polynomialModulus = <1 + x**16384>>
#ring_rns_L5_1_x16384 = #polynomial.ring<coefficientType = !rns_L5, polynomialModulus = <1 + x**16384>>
!pkey_L5 = !lwe.lwe_public_key<key = #key, ring = #ring_rns_L5_1_x16384>
!skey_L0 = !lwe.lwe_secret_key<key = #key, ring = #ring_rns_L0_1_x16384>
#ciphertext_space_L0 = #lwe.ciphertext_space<ring = #ring_rns_L0_1_x16384, encryption_type = mix>
#ciphertext_space_L1 = #lwe.ciphertext_space<ring = #ring_rns_L1_1_x16384, encryption_type = mix>
#ciphertext_space_L1_D3 = #lwe.ciphertext_space<ring = #ring_rns_L1_1_x16384, encryption_type = mix, size = 3>
#ciphertext_space_L2 = #lwe.ciphertext_space<ring = #ring_rns_L2_1_x16384, encryption_type = mix>
#ciphertext_space_L2_D3 = #lwe.ciphertext_space<ring = #ring_rns_L2_1_x16384, encryption_type = mix, size = 3>
#ciphertext_space_L3 = #lwe.ciphertext_space<ring = #ring_rns_L3_1_x16384, encryption_type = mix>
#ciphertext_space_L3_D3 = #lwe.ciphertext_space<ring = #ring_rns_L3_1_x16384, encryption_type = mix, size = 3>
#ciphertext_space_L4 = #lwe.ciphertext_space<ring = #ring_rns_L4_1_x16384, encryption_type = mix>
#ciphertext_space_L4_D3 = #lwe.ciphertext_space<ring = #ring_rns_L4_1_x16384, encryption_type = mix, size = 3>
#ciphertext_space_L5 = #lwe.ciphertext_space<ring = #ring_rns_L5_1_x16384, encryption_type = mix>
!ct_L0 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L0, key = #key, modulus_chain = #modulus_chain_L5_C0>
!ct_L1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L5_C1>
!ct_L1_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L5_C1>
!ct_L1_D3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L1_D3, key = #key, modulus_chain = #modulus_chain_L5_C1>
!ct_L2 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L2, key = #key, modulus_chain = #modulus_chain_L5_C2>
!ct_L2_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L2, key = #key, modulus_chain = #modulus_chain_L5_C2>
!ct_L2_D3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L2_D3, key = #key, modulus_chain = #modulus_chain_L5_C2>
!ct_L3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L3, key = #key, modulus_chain = #modulus_chain_L5_C3>
!ct_L3_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L3, key = #key, modulus_chain = #modulus_chain_L5_C3>
!ct_L3_D3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L3_D3, key = #key, modulus_chain = #modulus_chain_L5_C3>
!ct_L4 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L4, key = #key, modulus_chain = #modulus_chain_L5_C4>
!ct_L4_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L4, key = #key, modulus_chain = #modulus_chain_L5_C4>
!ct_L4_D3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L4_D3, key = #key, modulus_chain = #modulus_chain_L5_C4>
!ct_L5 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L5, key = #key, modulus_chain = #modulus_chain_L5_C5>
!ct_L5_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L5, key = #key, modulus_chain = #modulus_chain_L5_C5>
"builtin.module"() ({
  "func.func"() <{function_type = () -> !preprocessing.storage<!pt, !pt1>, sym_name = "loop__preprocessing"}> ({
    %86 = "arith.constant"() <{value = dense<1.000000e+00> : tensor<64xf32>}> : () -> tensor<64xf32>
    %87 = "arith.constant"() <{value = dense<5.000000e-01> : tensor<64xf32>}> : () -> tensor<64xf32>
    %88 = "preprocessing.empty"() : () -> !preprocessing.storage<!pt, !pt1>
    %89 = "lwe.rlwe_encode"(%87) <{encoding = #inverse_canonical_encoding, level = 5 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%89, %88) <{element_type = !pt, site_id = 0 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %90 = "lwe.rlwe_encode"(%87) <{encoding = #inverse_canonical_encoding1, level = 5 : i64, ring = #ring_f64_1_x16384, scale = 90 : i64}> : (tensor<64xf32>) -> !pt1
    "preprocessing.store"(%90, %88) <{element_type = !pt1, site_id = 1 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>) -> ()
    %91 = "lwe.rlwe_encode"(%86) <{encoding = #inverse_canonical_encoding, level = 5 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%91, %88) <{element_type = !pt, site_id = 2 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %92 = "lwe.rlwe_encode"(%87) <{encoding = #inverse_canonical_encoding1, level = 4 : i64, ring = #ring_f64_1_x16384, scale = 90 : i64}> : (tensor<64xf32>) -> !pt1
    "preprocessing.store"(%92, %88) <{element_type = !pt1, site_id = 3 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>) -> ()
    %93 = "lwe.rlwe_encode"(%86) <{encoding = #inverse_canonical_encoding, level = 4 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%93, %88) <{element_type = !pt, site_id = 4 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %94 = "lwe.rlwe_encode"(%87) <{encoding = #inverse_canonical_encoding1, level = 3 : i64, ring = #ring_f64_1_x16384, scale = 90 : i64}> : (tensor<64xf32>) -> !pt1
    "preprocessing.store"(%94, %88) <{element_type = !pt1, site_id = 5 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>) -> ()
    %95 = "lwe.rlwe_encode"(%86) <{encoding = #inverse_canonical_encoding, level = 3 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%95, %88) <{element_type = !pt, site_id = 6 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %96 = "lwe.rlwe_encode"(%87) <{encoding = #inverse_canonical_encoding1, level = 2 : i64, ring = #ring_f64_1_x16384, scale = 90 : i64}> : (tensor<64xf32>) -> !pt1
    "preprocessing.store"(%96, %88) <{element_type = !pt1, site_id = 7 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>) -> ()
    %97 = "lwe.rlwe_encode"(%86) <{encoding = #inverse_canonical_encoding, level = 2 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%97, %88) <{element_type = !pt, site_id = 8 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %98 = "lwe.rlwe_encode"(%87) <{encoding = #inverse_canonical_encoding1, level = 1 : i64, ring = #ring_f64_1_x16384, scale = 90 : i64}> : (tensor<64xf32>) -> !pt1
    "preprocessing.store"(%98, %88) <{element_type = !pt1, site_id = 9 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>) -> ()
    "func.return"(%88) : (!preprocessing.storage<!pt, !pt1>) -> ()
  }) {heir.interface = {entry_arg_indices = array<i64>, func_name = "loop", roles = ["server.preprocessing"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}, {}], function_type = (tensor<1x!ct_L5>, !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0>, sym_name = "loop__preprocessed"}> ({
  ^bb0(%arg13: tensor<1x!ct_L5>, %arg14: !preprocessing.storage<!pt, !pt1>):
    %42 = "arith.constant"() <{value = 0 : index}> : () -> index
    %43 = "preprocessing.load"(%arg14) <{element_type = !pt, site_id = 0 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %44 = "tensor.extract"(%arg13, %42) : (tensor<1x!ct_L5>, index) -> !ct_L5
    %45 = "ckks.mul_plain"(%44, %43) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L5, !pt) -> !ct_L5_1
    %46 = "preprocessing.load"(%arg14) <{element_type = !pt1, site_id = 1 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt1
    %47 = "ckks.add_plain"(%45, %46) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L5_1, !pt1) -> !ct_L5_1
    %48 = "preprocessing.load"(%arg14) <{element_type = !pt, site_id = 2 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %49 = "ckks.mul_plain"(%44, %48) : (!ct_L5, !pt) -> !ct_L5_1
    %50 = "ckks.rescale"(%49) <{to_ring = #ring_rns_L4_1_x16384}> : (!ct_L5_1) -> !ct_L4
    %51 = "ckks.rescale"(%47) <{to_ring = #ring_rns_L4_1_x16384}> : (!ct_L5_1) -> !ct_L4
    %52 = "ckks.mul"(%50, %51) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L4, !ct_L4) -> !ct_L4_D3
    %53 = "ckks.relinearize"(%52) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L4_D3) -> !ct_L4_1
    %54 = "preprocessing.load"(%arg14) <{element_type = !pt1, site_id = 3 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt1
    %55 = "ckks.add_plain"(%53, %54) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L4_1, !pt1) -> !ct_L4_1
    %56 = "ckks.rescale"(%55) <{to_ring = #ring_rns_L3_1_x16384}> : (!ct_L4_1) -> !ct_L3
    %57 = "ckks.level_reduce"(%44) <{levelToDrop = 1 : i64}> : (!ct_L5) -> !ct_L4
    %58 = "preprocessing.load"(%arg14) <{element_type = !pt, site_id = 4 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %59 = "ckks.mul_plain"(%57, %58) : (!ct_L4, !pt) -> !ct_L4_1
    %60 = "ckks.rescale"(%59) <{to_ring = #ring_rns_L3_1_x16384}> : (!ct_L4_1) -> !ct_L3
    %61 = "ckks.mul"(%60, %56) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L3, !ct_L3) -> !ct_L3_D3
    %62 = "ckks.relinearize"(%61) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L3_D3) -> !ct_L3_1
    %63 = "preprocessing.load"(%arg14) <{element_type = !pt1, site_id = 5 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt1
    %64 = "ckks.add_plain"(%62, %63) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L3_1, !pt1) -> !ct_L3_1
    %65 = "ckks.rescale"(%64) <{to_ring = #ring_rns_L2_1_x16384}> : (!ct_L3_1) -> !ct_L2
    %66 = "ckks.level_reduce"(%44) <{levelToDrop = 2 : i64}> : (!ct_L5) -> !ct_L3
    %67 = "preprocessing.load"(%arg14) <{element_type = !pt, site_id = 6 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %68 = "ckks.mul_plain"(%66, %67) : (!ct_L3, !pt) -> !ct_L3_1
    %69 = "ckks.rescale"(%68) <{to_ring = #ring_rns_L2_1_x16384}> : (!ct_L3_1) -> !ct_L2
    %70 = "ckks.mul"(%69, %65) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L2, !ct_L2) -> !ct_L2_D3
    %71 = "ckks.relinearize"(%70) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L2_D3) -> !ct_L2_1
    %72 = "preprocessing.load"(%arg14) <{element_type = !pt1, site_id = 7 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt1
    %73 = "ckks.add_plain"(%71, %72) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L2_1, !pt1) -> !ct_L2_1
    %74 = "ckks.rescale"(%73) <{to_ring = #ring_rns_L1_1_x16384}> : (!ct_L2_1) -> !ct_L1
    %75 = "ckks.level_reduce"(%44) <{levelToDrop = 3 : i64}> : (!ct_L5) -> !ct_L2
    %76 = "preprocessing.load"(%arg14) <{element_type = !pt, site_id = 8 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %77 = "ckks.mul_plain"(%75, %76) : (!ct_L2, !pt) -> !ct_L2_1
    %78 = "ckks.rescale"(%77) <{to_ring = #ring_rns_L1_1_x16384}> : (!ct_L2_1) -> !ct_L1
    %79 = "ckks.mul"(%78, %74) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L1, !ct_L1) -> !ct_L1_D3
    %80 = "ckks.relinearize"(%79) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L1_D3) -> !ct_L1_1
    %81 = "preprocessing.load"(%arg14) <{element_type = !pt1, site_id = 9 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt1
    %82 = "ckks.add_plain"(%80, %81) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L1_1, !pt1) -> !ct_L1_1
    %83 = "tensor.empty"() : () -> tensor<1x!ct_L0>
    %84 = "ckks.rescale"(%82) <{to_ring = #ring_rns_L0_1_x16384}> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L1_1) -> !ct_L0
    %85 = "tensor.insert"(%84, %83, %42) : (!ct_L0, tensor<1x!ct_L0>, index) -> tensor<1x!ct_L0>
    "func.return"(%85) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "loop", roles = ["client.preprocessed", "server.evaluate"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}], function_type = (tensor<1x!ct_L5>) -> tensor<1x!ct_L0>, res_attrs = [{tensor_ext.original_type = #original_type}], sym_name = "loop"}> ({
  ^bb0(%arg12: tensor<1x!ct_L5>):
    %40 = "func.call"() <{callee = @loop__preprocessing}> : () -> !preprocessing.storage<!pt, !pt1>
    %41 = "func.call"(%arg12, %40) <{callee = @loop__preprocessed}> : (tensor<1x!ct_L5>, !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0>
    "func.return"(%41) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "loop", input_types = [tensor<8xf32>], result_types = [tensor<8xf32>], roles = ["entry"]}} : () -> ()
  "func.func"() <{function_type = (tensor<8xf32>, !pkey_L5) -> tensor<1x!ct_L5>, sym_name = "loop__encrypt__arg0"}> ({
  ^bb0(%arg6: tensor<8xf32>, %arg7: !pkey_L5):
    %24 = "arith.constant"() <{value = 0 : index}> : () -> index
    %25 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %26 = "arith.constant"() <{value = 8 : i32}> : () -> i32
    %27 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<1x64xf32>}> : () -> tensor<1x64xf32>
    %28 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %29 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %30 = "scf.for"(%28, %26, %29, %27) ({
    ^bb0(%arg8: i32, %arg9: tensor<1x64xf32>):
      %35 = "scf.for"(%arg8, %25, %26, %arg9) ({
      ^bb0(%arg10: i32, %arg11: tensor<1x64xf32>):
        %36 = "arith.index_cast"(%arg8) : (i32) -> index
        %37 = "tensor.extract"(%arg6, %36) : (tensor<8xf32>, index) -> f32
        %38 = "arith.index_cast"(%arg10) : (i32) -> index
        %39 = "tensor.insert"(%37, %arg11, %24, %38) : (f32, tensor<1x64xf32>, index, index) -> tensor<1x64xf32>
        "scf.yield"(%39) : (tensor<1x64xf32>) -> ()
      }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
      "scf.yield"(%35) : (tensor<1x64xf32>) -> ()
    }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
    %31 = "tensor.extract_slice"(%30) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
    %32 = "lwe.rlwe_encode"(%31) <{encoding = #inverse_canonical_encoding, level = 5 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %33 = "lwe.rlwe_encrypt"(%32, %arg7) : (!pt, !pkey_L5) -> !ct_L5
    %34 = "tensor.from_elements"(%33) : (!ct_L5) -> tensor<1x!ct_L5>
    "func.return"(%34) : (tensor<1x!ct_L5>) -> ()
  }) {heir.interface = {func_name = "loop", index = 0 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x!ct_L0>, !skey_L0) -> tensor<8xf32>, sym_name = "loop__decrypt__result0"}> ({
  ^bb0(%arg0: tensor<1x!ct_L0>, %arg1: !skey_L0):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 8 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %4 = "arith.constant"() <{value = 7 : i32}> : () -> i32
    %5 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %6 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<8xf32>}> : () -> tensor<8xf32>
    %7 = "arith.constant"() <{value = 56 : i32}> : () -> i32
    %8 = "tensor.extract"(%arg0, %0) : (tensor<1x!ct_L0>, index) -> !ct_L0
    %9 = "lwe.rlwe_decrypt"(%8, %arg1) : (!ct_L0, !skey_L0) -> !pt
    %10 = "lwe.rlwe_decode"(%9) <{encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x16384}> : (!pt) -> tensor<1x64xf32>
    %11 = "scf.for"(%5, %2, %3, %6) ({
    ^bb0(%arg2: i32, %arg3: tensor<8xf32>):
      %12 = "arith.subi"(%4, %arg2) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %13 = "scf.for"(%12, %1, %2, %arg3) ({
      ^bb0(%arg4: i32, %arg5: tensor<8xf32>):
        %14 = "arith.addi"(%arg2, %7) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %15 = "arith.floordivsi"(%14, %2) : (i32, i32) -> i32
        %16 = "arith.muli"(%15, %2) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %17 = "arith.addi"(%12, %16) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %18 = "arith.subi"(%arg4, %12) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %19 = "arith.subi"(%17, %18) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %20 = "arith.index_cast"(%19) : (i32) -> index
        %21 = "tensor.extract"(%10, %0, %20) : (tensor<1x64xf32>, index, index) -> f32
        %22 = "arith.index_cast"(%12) : (i32) -> index
        %23 = "tensor.insert"(%21, %arg5, %22) : (f32, tensor<8xf32>, index) -> tensor<8xf32>
        "scf.yield"(%23) : (tensor<8xf32>) -> ()
      }) : (i32, i32, i32, tensor<8xf32>) -> tensor<8xf32>
      "scf.yield"(%13) : (tensor<8xf32>) -> ()
    }) : (i32, i32, i32, tensor<8xf32>) -> tensor<8xf32>
    "func.return"(%11) : (tensor<8xf32>) -> ()
  }) {heir.interface = {func_name = "loop", index = 0 : i64, roles = ["client.decrypt"]}} : () -> ()
}) {backend.openfhe, ckks.schemeParam = #ckks.scheme_param<logN = 14, Q = [36028797017456641, 35184373006337, 35184370941953, 35184372744193, 35184371138561, 35184372121601], P = [1152921504607338497, 1152921504608747521], logDefaultScale = 45>, scheme.actual_slot_count = 8192 : i64, scheme.ckks, scheme.requested_slot_count = 64 : i64} : () -> ()

