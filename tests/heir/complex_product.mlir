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
  "func.func"() <{arg_attrs = [{tensor_ext.original_type = #original_type}, {tensor_ext.original_type = #original_type}, {tensor_ext.original_type = #original_type}, {tensor_ext.original_type = #original_type}], function_type = (tensor<1x!ct_L1>, tensor<1x!ct_L1>, tensor<1x!ct_L1>, tensor<1x!ct_L1>) -> (tensor<1x!ct_L0>, tensor<1x!ct_L0>), res_attrs = [{tensor_ext.original_type = #original_type}, {tensor_ext.original_type = #original_type}], sym_name = "complex_product"}> ({
  ^bb0(%arg12: tensor<1x!ct_L1>, %arg13: tensor<1x!ct_L1>, %arg14: tensor<1x!ct_L1>, %arg15: tensor<1x!ct_L1>):
    %26 = "arith.constant"() <{value = 0 : index}> : () -> index
    %27 = "tensor.extract"(%arg12, %26) : (tensor<1x!ct_L1>, index) -> !ct_L1
    %28 = "tensor.extract"(%arg14, %26) : (tensor<1x!ct_L1>, index) -> !ct_L1
    %29 = "ckks.mul"(%27, %28) : (!ct_L1, !ct_L1) -> !ct_L1_D3
    %30 = "ckks.relinearize"(%29) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L1_D3) -> !ct_L1_1
    %31 = "tensor.extract"(%arg13, %26) : (tensor<1x!ct_L1>, index) -> !ct_L1
    %32 = "tensor.extract"(%arg15, %26) : (tensor<1x!ct_L1>, index) -> !ct_L1
    %33 = "ckks.mul"(%31, %32) : (!ct_L1, !ct_L1) -> !ct_L1_D3
    %34 = "ckks.relinearize"(%33) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L1_D3) -> !ct_L1_1
    %35 = "ckks.sub"(%30, %34) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %36 = "ckks.mul"(%27, %32) : (!ct_L1, !ct_L1) -> !ct_L1_D3
    %37 = "ckks.relinearize"(%36) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L1_D3) -> !ct_L1_1
    %38 = "ckks.mul"(%31, %28) : (!ct_L1, !ct_L1) -> !ct_L1_D3
    %39 = "ckks.relinearize"(%38) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L1_D3) -> !ct_L1_1
    %40 = "ckks.add"(%37, %39) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %41 = "tensor.empty"() : () -> tensor<1x!ct_L0>
    %42 = "ckks.rescale"(%35) <{to_ring = #ring_rns_L0_1_x8192}> : (!ct_L1_1) -> !ct_L0
    %43 = "tensor.insert"(%42, %41, %26) : (!ct_L0, tensor<1x!ct_L0>, index) -> tensor<1x!ct_L0>
    %44 = "ckks.rescale"(%40) <{to_ring = #ring_rns_L0_1_x8192}> : (!ct_L1_1) -> !ct_L0
    %45 = "tensor.insert"(%44, %41, %26) : (!ct_L0, tensor<1x!ct_L0>, index) -> tensor<1x!ct_L0>
    "func.return"(%43, %45) : (tensor<1x!ct_L0>, tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "complex_product", input_types = [f32, f32, f32, f32], result_types = [f32, f32], roles = ["entry", "server.evaluate"]}} : () -> ()
  "func.func"() <{function_type = (f32, !pkey_L1) -> tensor<1x!ct_L1>, sym_name = "complex_product__encrypt__arg0"}> ({
  ^bb0(%arg10: f32, %arg11: !pkey_L1):
    %22 = "tensor.splat"(%arg10) : (f32) -> tensor<64xf32>
    %23 = "lwe.rlwe_encode"(%22) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %24 = "lwe.rlwe_encrypt"(%23, %arg11) : (!pt, !pkey_L1) -> !ct_L1
    %25 = "tensor.from_elements"(%24) : (!ct_L1) -> tensor<1x!ct_L1>
    "func.return"(%25) : (tensor<1x!ct_L1>) -> ()
  }) {heir.interface = {func_name = "complex_product", index = 0 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (f32, !pkey_L1) -> tensor<1x!ct_L1>, sym_name = "complex_product__encrypt__arg1"}> ({
  ^bb0(%arg8: f32, %arg9: !pkey_L1):
    %18 = "tensor.splat"(%arg8) : (f32) -> tensor<64xf32>
    %19 = "lwe.rlwe_encode"(%18) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %20 = "lwe.rlwe_encrypt"(%19, %arg9) : (!pt, !pkey_L1) -> !ct_L1
    %21 = "tensor.from_elements"(%20) : (!ct_L1) -> tensor<1x!ct_L1>
    "func.return"(%21) : (tensor<1x!ct_L1>) -> ()
  }) {heir.interface = {func_name = "complex_product", index = 1 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (f32, !pkey_L1) -> tensor<1x!ct_L1>, sym_name = "complex_product__encrypt__arg2"}> ({
  ^bb0(%arg6: f32, %arg7: !pkey_L1):
    %14 = "tensor.splat"(%arg6) : (f32) -> tensor<64xf32>
    %15 = "lwe.rlwe_encode"(%14) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %16 = "lwe.rlwe_encrypt"(%15, %arg7) : (!pt, !pkey_L1) -> !ct_L1
    %17 = "tensor.from_elements"(%16) : (!ct_L1) -> tensor<1x!ct_L1>
    "func.return"(%17) : (tensor<1x!ct_L1>) -> ()
  }) {heir.interface = {func_name = "complex_product", index = 2 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (f32, !pkey_L1) -> tensor<1x!ct_L1>, sym_name = "complex_product__encrypt__arg3"}> ({
  ^bb0(%arg4: f32, %arg5: !pkey_L1):
    %10 = "tensor.splat"(%arg4) : (f32) -> tensor<64xf32>
    %11 = "lwe.rlwe_encode"(%10) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %12 = "lwe.rlwe_encrypt"(%11, %arg5) : (!pt, !pkey_L1) -> !ct_L1
    %13 = "tensor.from_elements"(%12) : (!ct_L1) -> tensor<1x!ct_L1>
    "func.return"(%13) : (tensor<1x!ct_L1>) -> ()
  }) {heir.interface = {func_name = "complex_product", index = 3 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x!ct_L0>, !skey_L0) -> f32, sym_name = "complex_product__decrypt__result0"}> ({
  ^bb0(%arg2: tensor<1x!ct_L0>, %arg3: !skey_L0):
    %5 = "arith.constant"() <{value = 0 : index}> : () -> index
    %6 = "tensor.extract"(%arg2, %5) : (tensor<1x!ct_L0>, index) -> !ct_L0
    %7 = "lwe.rlwe_decrypt"(%6, %arg3) : (!ct_L0, !skey_L0) -> !pt
    %8 = "lwe.rlwe_decode"(%7) <{encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192}> : (!pt) -> tensor<1x64xf32>
    %9 = "tensor.extract"(%8, %5, %5) : (tensor<1x64xf32>, index, index) -> f32
    "func.return"(%9) : (f32) -> ()
  }) {heir.interface = {func_name = "complex_product", index = 0 : i64, roles = ["client.decrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x!ct_L0>, !skey_L0) -> f32, sym_name = "complex_product__decrypt__result1"}> ({
  ^bb0(%arg0: tensor<1x!ct_L0>, %arg1: !skey_L0):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "tensor.extract"(%arg0, %0) : (tensor<1x!ct_L0>, index) -> !ct_L0
    %2 = "lwe.rlwe_decrypt"(%1, %arg1) : (!ct_L0, !skey_L0) -> !pt
    %3 = "lwe.rlwe_decode"(%2) <{encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192}> : (!pt) -> tensor<1x64xf32>
    %4 = "tensor.extract"(%3, %0, %0) : (tensor<1x64xf32>, index, index) -> f32
    "func.return"(%4) : (f32) -> ()
  }) {heir.interface = {func_name = "complex_product", index = 1 : i64, roles = ["client.decrypt"]}} : () -> ()
}) {backend.openfhe, ckks.schemeParam = #ckks.scheme_param<logN = 13, Q = [36028797018652673, 35184372121601], P = [1152921504606994433], logDefaultScale = 45>, scheme.actual_slot_count = 4096 : i64, scheme.ckks, scheme.requested_slot_count = 64 : i64} : () -> ()

