!Z35184372121601_i64 = !mod_arith.int<35184372121601 : i64>
!Z36028797018652673_i64 = !mod_arith.int<36028797018652673 : i64>
#inverse_canonical_encoding = #lwe.inverse_canonical_encoding<scaling_factor = 45>
#inverse_canonical_encoding1 = #lwe.inverse_canonical_encoding<scaling_factor = 90>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 32 = 0 and 0 <= i0 <= 31 and 0 <= slot <= 63 }">
#layout1 = #tensor_ext.layout<"{ [] -> [ct, slot] : ct = 0 and slot = 0 }">
#modulus_chain_L1_C0 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 0>
#modulus_chain_L1_C1 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 1>
#ring_f64_1_x8192 = #polynomial.ring<coefficientType = f64, polynomialModulus = <1 + x**8192>>
!rns_L0 = !rns.rns<!Z36028797018652673_i64>
!rns_L1 = !rns.rns<!Z36028797018652673_i64, !Z35184372121601_i64>
#original_type = #tensor_ext.original_type<originalType = tensor<32xf32>, layout = #layout>
#original_type1 = #tensor_ext.original_type<originalType = f32, layout = #layout1>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding>>
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
  "func.func"() <{function_type = () -> !preprocessing.storage<!pt>, sym_name = "simple_sum__preprocessing"}> ({
    %45 = "arith.constant"() <{value = dense<[1.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]> : tensor<64xf32>}> : () -> tensor<64xf32>
    %46 = "preprocessing.empty"() : () -> !preprocessing.storage<!pt>
    %47 = "lwe.rlwe_encode"(%45) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%47, %46) <{element_type = !pt, site_id = 0 : i32}> : (!pt, !preprocessing.storage<!pt>) -> ()
    "func.return"(%46) : (!preprocessing.storage<!pt>) -> ()
  }) {heir.interface = {entry_arg_indices = array<i64>, func_name = "simple_sum", roles = ["server.preprocessing"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 32>}, tensor_ext.original_type = #original_type}, {}], function_type = (tensor<1x!ct_L1>, !preprocessing.storage<!pt>) -> tensor<1x!ct_L0>, sym_name = "simple_sum__preprocessed"}> ({
  ^bb0(%arg9: tensor<1x!ct_L1>, %arg10: !preprocessing.storage<!pt>):
    %23 = "arith.constant"() <{value = 16 : index}> : () -> index
    %24 = "arith.constant"() <{value = 8 : index}> : () -> index
    %25 = "arith.constant"() <{value = 4 : index}> : () -> index
    %26 = "arith.constant"() <{value = 2 : index}> : () -> index
    %27 = "arith.constant"() <{value = 1 : index}> : () -> index
    %28 = "arith.constant"() <{value = 0 : index}> : () -> index
    %29 = "tensor.extract"(%arg9, %28) : (tensor<1x!ct_L1>, index) -> !ct_L1
    %30 = "ckks.rotate"(%29, %27) : (!ct_L1, index) -> !ct_L1
    %31 = "ckks.add"(%29, %30) : (!ct_L1, !ct_L1) -> !ct_L1
    %32 = "ckks.rotate"(%31, %26) : (!ct_L1, index) -> !ct_L1
    %33 = "ckks.add"(%31, %32) : (!ct_L1, !ct_L1) -> !ct_L1
    %34 = "ckks.rotate"(%33, %25) : (!ct_L1, index) -> !ct_L1
    %35 = "ckks.add"(%33, %34) : (!ct_L1, !ct_L1) -> !ct_L1
    %36 = "ckks.rotate"(%35, %24) : (!ct_L1, index) -> !ct_L1
    %37 = "ckks.add"(%35, %36) : (!ct_L1, !ct_L1) -> !ct_L1
    %38 = "ckks.rotate"(%37, %23) : (!ct_L1, index) -> !ct_L1
    %39 = "ckks.add"(%37, %38) : (!ct_L1, !ct_L1) -> !ct_L1
    %40 = "preprocessing.load"(%arg10) <{element_type = !pt, site_id = 0 : i32}> : (!preprocessing.storage<!pt>) -> !pt
    %41 = "ckks.mul_plain"(%39, %40) : (!ct_L1, !pt) -> !ct_L1_1
    %42 = "tensor.empty"() : () -> tensor<1x!ct_L0>
    %43 = "ckks.rescale"(%41) <{to_ring = #ring_rns_L0_1_x8192}> : (!ct_L1_1) -> !ct_L0
    %44 = "tensor.insert"(%43, %42, %28) : (!ct_L0, tensor<1x!ct_L0>, index) -> tensor<1x!ct_L0>
    "func.return"(%44) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "simple_sum", roles = ["client.preprocessed", "server.evaluate"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 32>}, tensor_ext.original_type = #original_type}], function_type = (tensor<1x!ct_L1>) -> tensor<1x!ct_L0>, res_attrs = [{tensor_ext.original_type = #original_type1}], sym_name = "simple_sum"}> ({
  ^bb0(%arg8: tensor<1x!ct_L1>):
    %21 = "func.call"() <{callee = @simple_sum__preprocessing}> : () -> !preprocessing.storage<!pt>
    %22 = "func.call"(%arg8, %21) <{callee = @simple_sum__preprocessed}> : (tensor<1x!ct_L1>, !preprocessing.storage<!pt>) -> tensor<1x!ct_L0>
    "func.return"(%22) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "simple_sum", input_types = [tensor<32xf32>], result_types = [f32], roles = ["entry"]}} : () -> ()
  "func.func"() <{function_type = (tensor<32xf32>, !pkey_L1) -> tensor<1x!ct_L1>, sym_name = "simple_sum__encrypt__arg0"}> ({
  ^bb0(%arg2: tensor<32xf32>, %arg3: !pkey_L1):
    %5 = "arith.constant"() <{value = 0 : index}> : () -> index
    %6 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %7 = "arith.constant"() <{value = 32 : i32}> : () -> i32
    %8 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<1x64xf32>}> : () -> tensor<1x64xf32>
    %9 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %10 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %11 = "scf.for"(%9, %7, %10, %8) ({
    ^bb0(%arg4: i32, %arg5: tensor<1x64xf32>):
      %16 = "scf.for"(%arg4, %6, %7, %arg5) ({
      ^bb0(%arg6: i32, %arg7: tensor<1x64xf32>):
        %17 = "arith.index_cast"(%arg4) : (i32) -> index
        %18 = "tensor.extract"(%arg2, %17) : (tensor<32xf32>, index) -> f32
        %19 = "arith.index_cast"(%arg6) : (i32) -> index
        %20 = "tensor.insert"(%18, %arg7, %5, %19) : (f32, tensor<1x64xf32>, index, index) -> tensor<1x64xf32>
        "scf.yield"(%20) : (tensor<1x64xf32>) -> ()
      }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
      "scf.yield"(%16) : (tensor<1x64xf32>) -> ()
    }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
    %12 = "tensor.extract_slice"(%11) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
    %13 = "lwe.rlwe_encode"(%12) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %14 = "lwe.rlwe_encrypt"(%13, %arg3) : (!pt, !pkey_L1) -> !ct_L1
    %15 = "tensor.from_elements"(%14) : (!ct_L1) -> tensor<1x!ct_L1>
    "func.return"(%15) : (tensor<1x!ct_L1>) -> ()
  }) {heir.interface = {func_name = "simple_sum", index = 0 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x!ct_L0>, !skey_L0) -> f32, sym_name = "simple_sum__decrypt__result0"}> ({
  ^bb0(%arg0: tensor<1x!ct_L0>, %arg1: !skey_L0):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "tensor.extract"(%arg0, %0) : (tensor<1x!ct_L0>, index) -> !ct_L0
    %2 = "lwe.rlwe_decrypt"(%1, %arg1) : (!ct_L0, !skey_L0) -> !pt
    %3 = "lwe.rlwe_decode"(%2) <{encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192}> : (!pt) -> tensor<1x64xf32>
    %4 = "tensor.extract"(%3, %0, %0) : (tensor<1x64xf32>, index, index) -> f32
    "func.return"(%4) : (f32) -> ()
  }) {heir.interface = {func_name = "simple_sum", index = 0 : i64, roles = ["client.decrypt"]}} : () -> ()
}) {backend.openfhe, ckks.schemeParam = #ckks.scheme_param<logN = 13, Q = [36028797018652673, 35184372121601], P = [1152921504606994433], logDefaultScale = 45>, scheme.actual_slot_count = 4096 : i64, scheme.ckks, scheme.requested_slot_count = 64 : i64} : () -> ()

