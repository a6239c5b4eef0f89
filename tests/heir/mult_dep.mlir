!Z35184371138561_i64 = !mod_arith.int<35184371138561 : i64>
!Z35184372121601_i64 = !mod_arith.int<35184372121601 : i64>
!Z35184372744193_i64 = !mod_arith.int<35184372744193 : i64>
!Z36028797017456641_i64 = !mod_arith.int<36028797017456641 : i64>
#inverse_canonical_encoding = #lwe.inverse_canonical_encoding<scaling_factor = 45>
#inverse_canonical_encoding1 = #lwe.inverse_canonical_encoding<scaling_factor = 90>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [] -> [ct, slot] : ct = 0 and 0 <= slot <= 63 }">
#modulus_chain_L3_C0 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184372744193 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 0>
#modulus_chain_L3_C1 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184372744193 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 1>
#modulus_chain_L3_C2 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184372744193 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 2>
#modulus_chain_L3_C3 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184372744193 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 3>
#ring_f64_1_x16384 = #polynomial.ring<coefficientType = f64, polynomialModulus = <1 + x**16384>>
!rns_L0 = !rns.rns<!Z36028797017456641_i64>
!rns_L1 = !rns.rns<!Z36028797017456641_i64, !Z35184372744193_i64>
!rns_L2 = !rns.rns<!Z36028797017456641_i64, !Z35184372744193_i64, !Z35184371138561_i64>
!rns_L3 = !rns.rns<!Z36028797017456641_i64, !Z35184372744193_i64, !Z35184371138561_i64, !Z35184372121601_i64>
#original_type = #tensor_ext.original_type<originalType = f32, layout = #layout>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>>
#ring_rns_L0_1_x16384 = #polynomial.ring<coefficientType = !rns_L0, polynomialModulus = <1 + x**16384>>
#ring_rns_L1_1_x16384 = #polynomial.ring<coefficientType = !rns_L1, polynomialModulus = <1 + x**16384>>
#ring_rns_L2_1_x16384 = #polynomial.ring<coefficientType = !rns_L2, polynomialModulus = <1 + x**16384>>
#ring_rns_L3_1_x16384 = #polynomial.ring<coefficientType = !rns_L3, polynomialModulus = <1 + x**16384>>
!pkey_L3 = !lwe.lwe_public_key<key = #key, ring = #ring_rns_L3_1_x16384>
!skey_L0 = !lwe.lwe_secret_key<key = #key, ring = #ring_rns_L0_1_x16384>
#ciphertext_space_L0 = #lwe.ciphertext_space<ring = #ring_rns_L0_1_x16384, encryption_type = mix>
#ciphertext_space_L1 = #lwe.ciphertext_space<ring = #ring_rns_L1_1_x16384, encryption_type = mix>
#ciphertext_space_L1_D3 = #lwe.ciphertext_space<ring = #ring_rns_L1_1_x16384, encryption_type = mix, size = 3>
#ciphertext_space_L2 = #lwe.ciphertext_space<ring = #ring_rns_L2_1_x16384, encryption_type = mix>
#ciphertext_space_L2_D3 = #lwe.ciphertext_space<ring = #ring_rns_L2_1_x16384, encryption_type = mix, size = 3>
#ciphertext_space_L3 = #lwe.ciphertext_space<ring = #ring_rns_L3_1_x16384, encryption_type = mix>
#ciphertext_space_L3_D3 = #lwe.ciphertext_space<ring = #ring_rns_L3_1_x16384, encryption_type = mix, size = 3>
!ct_L0 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L0, key = #key, modulus_chain = #modulus_chain_L3_C0>
!ct_L1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L3_C1>
!ct_L1_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L3_C1>
!ct_L1_D3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L1_D3, key = #key, modulus_chain = #modulus_chain_L3_C1>
!ct_L2 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L2, key = #key, modulus_chain = #modulus_chain_L3_C2>
!ct_L2_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L2, key = #key, modulus_chain = #modulus_chain_L3_C2>
!ct_L2_D3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L2_D3, key = #key, modulus_chain = #modulus_chain_L3_C2>
!ct_L3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L3, key = #key, modulus_chain = #modulus_chain_L3_C3>
!ct_L3_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L3, key = #key, modulus_chain = #modulus_chain_L3_C3>
!ct_L3_D3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L3_D3, key = #key, modulus_chain = #modulus_chain_L3_C3>
"builtin.module"() ({
  "func.func"() <{function_type = () -> !preprocessing.storage<!pt>, sym_name = "mult_dep__preprocessing"}> ({
    %29 = "arith.constant"() <{value = dense<1.000000e+00> : tensor<64xf32>}> : () -> tensor<64xf32>
    %30 = "preprocessing.empty"() : () -> !preprocessing.storage<!pt>
    %31 = "lwe.rlwe_encode"(%29) <{encoding = #inverse_canonical_encoding, level = 3 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%31, %30) <{element_type = !pt, site_id = 0 : i32}> : (!pt, !preprocessing.storage<!pt>) -> ()
    "func.return"(%30) : (!preprocessing.storage<!pt>) -> ()
  }) {heir.interface = {entry_arg_indices = array<i64>, func_name = "mult_dep", roles = ["server.preprocessing"]}} : () -> ()
  "func.func"() <{arg_attrs = [{tensor_ext.original_type = #original_type}, {}], function_type = (tensor<1x!ct_L3>, !preprocessing.storage<!pt>) -> tensor<1x!ct_L0>, sym_name = "mult_dep__preprocessed"}> ({
  ^bb0(%arg5: tensor<1x!ct_L3>, %arg6: !preprocessing.storage<!pt>):
    %11 = "arith.constant"() <{value = 0 : index}> : () -> index
    %12 = "tensor.extract"(%arg5, %11) : (tensor<1x!ct_L3>, index) -> !ct_L3
    %13 = "ckks.mul"(%12, %12) : (!ct_L3, !ct_L3) -> !ct_L3_D3
    %14 = "ckks.relinearize"(%13) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L3_D3) -> !ct_L3_1
    %15 = "ckks.rescale"(%14) <{to_ring = #ring_rns_L2_1_x16384}> : (!ct_L3_1) -> !ct_L2
    %16 = "preprocessing.load"(%arg6) <{element_type = !pt, site_id = 0 : i32}> : (!preprocessing.storage<!pt>) -> !pt
    %17 = "ckks.mul_plain"(%12, %16) : (!ct_L3, !pt) -> !ct_L3_1
    %18 = "ckks.rescale"(%17) <{to_ring = #ring_rns_L2_1_x16384}> : (!ct_L3_1) -> !ct_L2
    %19 = "ckks.mul"(%15, %18) : (!ct_L2, !ct_L2) -> !ct_L2_D3
    %20 = "ckks.relinearize"(%19) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L2_D3) -> !ct_L2_1
    %21 = "ckks.rescale"(%20) <{to_ring = #ring_rns_L1_1_x16384}> : (!ct_L2_1) -> !ct_L1
    %22 = "ckks.level_reduce"(%14) <{levelToDrop = 1 : i64}> : (!ct_L3_1) -> !ct_L2_1
    %23 = "ckks.rescale"(%22) <{to_ring = #ring_rns_L1_1_x16384}> : (!ct_L2_1) -> !ct_L1
    %24 = "ckks.mul"(%23, %21) : (!ct_L1, !ct_L1) -> !ct_L1_D3
    %25 = "ckks.relinearize"(%24) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L1_D3) -> !ct_L1_1
    %26 = "tensor.empty"() : () -> tensor<1x!ct_L0>
    %27 = "ckks.rescale"(%25) <{to_ring = #ring_rns_L0_1_x16384}> : (!ct_L1_1) -> !ct_L0
    %28 = "tensor.insert"(%27, %26, %11) : (!ct_L0, tensor<1x!ct_L0>, index) -> tensor<1x!ct_L0>
    "func.return"(%28) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "mult_dep", roles = ["client.preprocessed", "server.evaluate"]}} : () -> ()
  "func.func"() <{arg_attrs = [{tensor_ext.original_type = #original_type}], function_type = (tensor<1x!ct_L3>) -> tensor<1x!ct_L0>, res_attrs = [{tensor_ext.original_type = #original_type}], sym_name = "mult_dep"}> ({
  ^bb0(%arg4: tensor<1x!ct_L3>):
    %9 = "func.call"() <{callee = @mult_dep__preprocessing}> : () -> !preprocessing.storage<!pt>
    %10 = "func.call"(%arg4, %9) <{callee = @mult_dep__preprocessed}> : (tensor<1x!ct_L3>, !preprocessing.storage<!pt>) -> tensor<1x!ct_L0>
    "func.return"(%10) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "mult_dep", input_types = [f32], result_types = [f32], roles = ["entry"]}} : () -> ()
  "func.func"() <{function_type = (f32, !pkey_L3) -> tensor<1x!ct_L3>, sym_name = "mult_dep__encrypt__arg0"}> ({
  ^bb0(%arg2: f32, %arg3: !pkey_L3):
    %5 = "tensor.splat"(%arg2) : (f32) -> tensor<64xf32>
    %6 = "lwe.rlwe_encode"(%5) <{encoding = #inverse_canonical_encoding, level = 3 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %7 = "lwe.rlwe_encrypt"(%6, %arg3) : (!pt, !pkey_L3) -> !ct_L3
    %8 = "tensor.from_elements"(%7) : (!ct_L3) -> tensor<1x!ct_L3>
    "func.return"(%8) : (tensor<1x!ct_L3>) -> ()
  }) {heir.interface = {func_name = "mult_dep", index = 0 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x!ct_L0>, !skey_L0) -> f32, sym_name = "mult_dep__decrypt__result0"}> ({
  ^bb0(%arg0: tensor<1x!ct_L0>, %arg1: !skey_L0):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "tensor.extract"(%arg0, %0) : (tensor<1x!ct_L0>, index) -> !ct_L0
    %2 = "lwe.rlwe_decrypt"(%1, %arg1) : (!ct_L0, !skey_L0) -> !pt
    %3 = "lwe.rlwe_decode"(%2) <{encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x16384}> : (!pt) -> tensor<1x64xf32>
    %4 = "tensor.extract"(%3, %0, %0) : (tensor<1x64xf32>, index, index) -> f32
    "func.return"(%4) : (f32) -> ()
  }) {heir.interface = {func_name = "mult_dep", index = 0 : i64, roles = ["client.decrypt"]}} : () -> ()
}) {backend.openfhe, ckks.schemeParam = #ckks.scheme_param<logN = 14, Q = [36028797017456641, 35184372744193, 35184371138561, 35184372121601], P = [1152921504607338497, 1152921504608747521], logDefaultScale = 45>, scheme.actual_slot_count = 8192 : i64, scheme.ckks, scheme.requested_slot_count = 64 : i64} : () -> ()

