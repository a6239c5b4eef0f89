!Z35184372121601_i64 = !mod_arith.int<35184372121601 : i64>
!Z36028797018652673_i64 = !mod_arith.int<36028797018652673 : i64>
#inverse_canonical_encoding = #lwe.inverse_canonical_encoding<scaling_factor = 45>
#inverse_canonical_encoding1 = #lwe.inverse_canonical_encoding<scaling_factor = 90>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [] -> [ct, slot] : ct = 0 and 0 <= slot <= 63 }">
#modulus_chain_L1_C0 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 0>
#modulus_chain_L1_C1 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 1>
#ring_f64_1_x8192 = #polynomial.ring<coefficientType = f64, polynomialModulus = <1 + x**8192>>
!rns_L0 = !rns.rns<!Z36028797018652673_i64>
!rns_L1 = !rns.rns<!Z36028797018652673_i64, !Z35184372121601_i64>
#original_type = #tensor_ext.original_type<originalType = f32, layout = #layout>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding>>
#ring_rns_L0_1_x8192 = #polynomial.ring<coefficientType = !rns_L0, polynomialModulus = <1 + x**8192>>
#ring_rns_L1_1_x8192 = #polynomial.ring<coefficientType = !rns_L1, polynomialModulus = <1 + x**8192>>
!pkey_L1 = !lwe.lwe_public_key<key = #key, ring = #ring_rns_L1_1_x8192>
!skey_L0 = !lwe.lwe_secret_key<key = #key, ring = #ring_rns_L0_1_x8192>
#ciphertext_space_L0 = #lwe.ciphertext_space<ring = #ring_rns_L0_1_x8192, encryption_type = mix>
#ciphertext_space_L1 = #lwe.ciphertext_space<ring = #ring_rns_L1_1_x8192, encryption_type = mix>
#ciphertext_space_L1_D3 = #lwe.ciphertext_space<ring = #ring_rns_L1_1_x8192, encryption_type = mix, size = 3>
!ct_L0 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L0, key = #key, modulus_chain = #modulus_chain_L1_C0>
!ct_L1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L1_C1>
!ct_L1_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L1_C1>
!ct_L1_D3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L1_D3, key = #key, modulus_chain = #modulus_chain_L1_C1>
"builtin.module"() ({
  "func.func"() <{function_type = () -> !preprocessing.storage<!pt>, sym_name = "cmux__preprocessing"}> ({
    %33 = "arith.constant"() <{value = dense<1.000000e+00> : tensor<64xf32>}> : () -> tensor<64xf32>
    %34 = "preprocessing.empty"() : () -> !preprocessing.storage<!pt>
    %35 = "lwe.rlwe_encode"(%33) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%35, %34) <{element_type = !pt, site_id = 0 : i32}> : (!pt, !preprocessing.storage<!pt>) -> ()
    "func.return"(%34) : (!preprocessing.storage<!pt>) -> ()
  }) {heir.interface = {entry_arg_indices = array<i64>, func_name = "cmux", roles = ["server.preprocessing"]}} : () -> ()
  "func.func"() <{arg_attrs = [{tensor_ext.original_type = #original_type}, {tensor_ext.original_type = #original_type}, {tensor_ext.original_type = #original_type}, {}], function_type = (tensor<1x!ct_L1>, tensor<1x!ct_L1>, tensor<1x!ct_L1>, !preprocessing.storage<!pt>) -> tensor<1x!ct_L0>, sym_name = "cmux__preprocessed"}> ({
  ^bb0(%arg11: tensor<1x!ct_L1>, %arg12: tensor<1x!ct_L1>, %arg13: tensor<1x!ct_L1>, %arg14: !preprocessing.storage<!pt>):
    %19 = "arith.constant"() <{value = 0 : index}> : () -> index
    %20 = "tensor.extract"(%arg11, %19) : (tensor<1x!ct_L1>, index) -> !ct_L1
    %21 = "tensor.extract"(%arg13, %19) : (tensor<1x!ct_L1>, index) -> !ct_L1
    %22 = "ckks.mul"(%20, %21) : (!ct_L1, !ct_L1) -> !ct_L1_D3
    %23 = "ckks.relinearize"(%22) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L1_D3) -> !ct_L1_1
    %24 = "preprocessing.load"(%arg14) <{element_type = !pt, site_id = 0 : i32}> : (!preprocessing.storage<!pt>) -> !pt
    %25 = "ckks.sub_plain"(%24, %21) : (!pt, !ct_L1) -> !ct_L1
    %26 = "tensor.extract"(%arg12, %19) : (tensor<1x!ct_L1>, index) -> !ct_L1
    %27 = "ckks.mul"(%26, %25) : (!ct_L1, !ct_L1) -> !ct_L1_D3
    %28 = "ckks.relinearize"(%27) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L1_D3) -> !ct_L1_1
    %29 = "ckks.add"(%23, %28) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %30 = "tensor.empty"() : () -> tensor<1x!ct_L0>
    %31 = "ckks.rescale"(%29) <{to_ring = #ring_rns_L0_1_x8192}> : (!ct_L1_1) -> !ct_L0
    %32 = "tensor.insert"(%31, %30, %19) : (!ct_L0, tensor<1x!ct_L0>, index) -> tensor<1x!ct_L0>
    "func.return"(%32) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "cmux", roles = ["client.preprocessed", "server.evaluate"]}} : () -> ()
  "func.func"() <{arg_attrs = [{tensor_ext.original_type = #original_type}, {tensor_ext.original_type = #original_type}, {tensor_ext.original_type = #original_type}], function_type = (tensor<1x!ct_L1>, tensor<1x!ct_L1>, tensor<1x!ct_L1>) -> tensor<1x!ct_L0>, res_attrs = [{tensor_ext.original_type = #original_type}], sym_name = "cmux"}> ({
  ^bb0(%arg8: tensor<1x!ct_L1>, %arg9: tensor<1x!ct_L1>, %arg10: tensor<1x!ct_L1>):
    %17 = "func.call"() <{callee = @cmux__preprocessing}> : () -> !preprocessing.storage<!pt>
    %18 = "func.call"(%arg8, %arg9, %arg10, %17) <{callee = @cmux__preprocessed}> : (tensor<1x!ct_L1>, tensor<1x!ct_L1>, tensor<1x!ct_L1>, !preprocessing.storage<!pt>) -> tensor<1x!ct_L0>
    "func.return"(%18) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "cmux", input_types = [f32, f32, f32], result_types = [f32], roles = ["entry"]}} : () -> ()
  "func.func"() <{function_type = (f32, !pkey_L1) -> tensor<1x!ct_L1>, sym_name = "cmux__encrypt__arg0"}> ({
  ^bb0(%arg6: f32, %arg7: !pkey_L1):
    %13 = "tensor.splat"(%arg6) : (f32) -> tensor<64xf32>
    %14 = "lwe.rlwe_encode"(%13) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %15 = "lwe.rlwe_encrypt"(%14, %arg7) : (!pt, !pkey_L1) -> !ct_L1
    %16 = "tensor.from_elements"(%15) : (!ct_L1) -> tensor<1x!ct_L1>
    "func.return"(%16) : (tensor<1x!ct_L1>) -> ()
  }) {heir.interface = {func_name = "cmux", index = 0 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (f32, !pkey_L1) -> tensor<1x!ct_L1>, sym_name = "cmux__encrypt__arg1"}> ({
  ^bb0(%arg4: f32, %arg5: !pkey_L1):
    %9 = "tensor.splat"(%arg4) : (f32) -> tensor<64xf32>
    %10 = "lwe.rlwe_encode"(%9) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %11 = "lwe.rlwe_encrypt"(%10, %arg5) : (!pt, !pkey_L1) -> !ct_L1
    %12 = "tensor.from_elements"(%11) : (!ct_L1) -> tensor<1x!ct_L1>
    "func.return"(%12) : (tensor<1x!ct_L1>) -> ()
  }) {heir.interface = {func_name = "cmux", index = 1 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (f32, !pkey_L1) -> tensor<1x!ct_L1>, sym_name = "cmux__encrypt__arg2"}> ({
  ^bb0(%arg2: f32, %arg3: !pkey_L1):
    %5 = "tensor.splat"(%arg2) : (f32) -> tensor<64xf32>
    %6 = "lwe.rlwe_encode"(%5) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %7 = "lwe.rlwe_encrypt"(%6, %arg3) : (!pt, !pkey_L1) -> !ct_L1
    %8 = "tensor.from_elements"(%7) : (!ct_L1) -> tensor<1x!ct_L1>
    "func.return"(%8) : (tensor<1x!ct_L1>) -> ()
  }) {heir.interface = {func_name = "cmux", index = 2 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x!ct_L0>, !skey_L0) -> f32, sym_name = "cmux__decrypt__result0"}> ({
  ^bb0(%arg0: tensor<1x!ct_L0>, %arg1: !skey_L0):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "tensor.extract"(%arg0, %0) : (tensor<1x!ct_L0>, index) -> !ct_L0
    %2 = "lwe.rlwe_decrypt"(%1, %arg1) : (!ct_L0, !skey_L0) -> !pt
    %3 = "lwe.rlwe_decode"(%2) <{encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192}> : (!pt) -> tensor<1x64xf32>
    %4 = "tensor.extract"(%3, %0, %0) : (tensor<1x64xf32>, index, index) -> f32
    "func.return"(%4) : (f32) -> ()
  }) {heir.interface = {func_name = "cmux", index = 0 : i64, roles = ["client.decrypt"]}} : () -> ()
}) {backend.openfhe, ckks.schemeParam = #ckks.scheme_param<logN = 13, Q = [36028797018652673, 35184372121601], P = [1152921504606994433], logDefaultScale = 45>, scheme.actual_slot_count = 4096 : i64, scheme.ckks, scheme.requested_slot_count = 64 : i64} : () -> ()

