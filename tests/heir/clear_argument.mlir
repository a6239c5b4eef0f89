!Z35184372121601_i64 = !mod_arith.int<35184372121601 : i64>
!Z36028797018652673_i64 = !mod_arith.int<36028797018652673 : i64>
#inverse_canonical_encoding = #lwe.inverse_canonical_encoding<scaling_factor = 45>
#inverse_canonical_encoding1 = #lwe.inverse_canonical_encoding<scaling_factor = 90>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 16 = 0 and 0 <= i0 <= 15 and 0 <= slot <= 63 }">
#modulus_chain_L1_C0 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 0>
#modulus_chain_L1_C1 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 1>
#ring_f64_1_x8192 = #polynomial.ring<coefficientType = f64, polynomialModulus = <1 + x**8192>>
!rns_L0 = !rns.rns<!Z36028797018652673_i64>
!rns_L1 = !rns.rns<!Z36028797018652673_i64, !Z35184372121601_i64>
#original_type = #tensor_ext.original_type<originalType = tensor<16xf32>, layout = #layout>
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
  "func.func"() <{function_type = (tensor<16xf32>) -> tensor<1x64xf32>, sym_name = "_assign_layout_17953209168982092138", sym_visibility = "private"}> ({
  ^bb0(%arg18: tensor<16xf32>):
    %55 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %56 = "arith.constant"() <{value = 0 : index}> : () -> index
    %57 = "arith.constant"() <{value = 16 : i32}> : () -> i32
    %58 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<1x64xf32>}> : () -> tensor<1x64xf32>
    %59 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %60 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %61 = "scf.for"(%59, %57, %60, %58) ({
    ^bb0(%arg19: i32, %arg20: tensor<1x64xf32>):
      %62 = "scf.for"(%arg19, %55, %57, %arg20) ({
      ^bb0(%arg21: i32, %arg22: tensor<1x64xf32>):
        %63 = "arith.index_cast"(%arg19) : (i32) -> index
        %64 = "tensor.extract"(%arg18, %63) : (tensor<16xf32>, index) -> f32
        %65 = "arith.index_cast"(%arg21) : (i32) -> index
        %66 = "tensor.insert"(%64, %arg22, %56, %65) : (f32, tensor<1x64xf32>, index, index) -> tensor<1x64xf32>
        "scf.yield"(%66) : (tensor<1x64xf32>) -> ()
      }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
      "scf.yield"(%62) : (tensor<1x64xf32>) -> ()
    }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
    "func.return"(%61) : (tensor<1x64xf32>) -> ()
  }) {heir.interface = {func_name = "clear_argument", roles = ["client.pack"]}} : () -> ()
  "func.func"() <{function_type = (tensor<16xf32>) -> !preprocessing.storage<!pt>, sym_name = "clear_argument__preprocessing"}> ({
  ^bb0(%arg17: tensor<16xf32>):
    %51 = "preprocessing.empty"() : () -> !preprocessing.storage<!pt>
    %52 = "func.call"(%arg17) <{callee = @_assign_layout_17953209168982092138}> : (tensor<16xf32>) -> tensor<1x64xf32>
    %53 = "tensor.extract_slice"(%52) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
    %54 = "lwe.rlwe_encode"(%53) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%54, %51) <{element_type = !pt, site_id = 0 : i32}> : (!pt, !preprocessing.storage<!pt>) -> ()
    "func.return"(%51) : (!preprocessing.storage<!pt>) -> ()
  }) {heir.interface = {entry_arg_indices = array<i64: 0>, func_name = "clear_argument", roles = ["server.preprocessing"]}} : () -> ()
  "func.func"() <{arg_attrs = [{}, {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}, tensor_ext.original_type = #original_type}, {}], function_type = (tensor<16xf32>, tensor<1x!ct_L1>, !preprocessing.storage<!pt>) -> tensor<1x!ct_L0>, sym_name = "clear_argument__preprocessed"}> ({
  ^bb0(%arg14: tensor<16xf32>, %arg15: tensor<1x!ct_L1>, %arg16: !preprocessing.storage<!pt>):
    %42 = "arith.constant"() <{value = 0 : index}> : () -> index
    %43 = "func.call"(%arg14) <{callee = @_assign_layout_17953209168982092138}> : (tensor<16xf32>) -> tensor<1x64xf32>
    %44 = "preprocessing.load"(%arg16) <{element_type = !pt, site_id = 0 : i32}> : (!preprocessing.storage<!pt>) -> !pt
    %45 = "tensor.extract"(%arg15, %42) : (tensor<1x!ct_L1>, index) -> !ct_L1
    %46 = "ckks.sub_plain"(%45, %44) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}} : (!ct_L1, !pt) -> !ct_L1
    %47 = "ckks.mul_plain"(%46, %44) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}} : (!ct_L1, !pt) -> !ct_L1_1
    %48 = "tensor.empty"() : () -> tensor<1x!ct_L0>
    %49 = "ckks.rescale"(%47) <{to_ring = #ring_rns_L0_1_x8192}> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}} : (!ct_L1_1) -> !ct_L0
    %50 = "tensor.insert"(%49, %48, %42) : (!ct_L0, tensor<1x!ct_L0>, index) -> tensor<1x!ct_L0>
    "func.return"(%50) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "clear_argument", roles = ["client.preprocessed", "server.evaluate"]}} : () -> ()
  "func.func"() <{arg_attrs = [{}, {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}, tensor_ext.original_type = #original_type}], function_type = (tensor<16xf32>, tensor<1x!ct_L1>) -> tensor<1x!ct_L0>, res_attrs = [{tensor_ext.original_type = #original_type}], sym_name = "clear_argument"}> ({
  ^bb0(%arg12: tensor<16xf32>, %arg13: tensor<1x!ct_L1>):
    %40 = "func.call"(%arg12) <{callee = @clear_argument__preprocessing}> : (tensor<16xf32>) -> !preprocessing.storage<!pt>
    %41 = "func.call"(%arg12, %arg13, %40) <{callee = @clear_argument__preprocessed}> : (tensor<16xf32>, tensor<1x!ct_L1>, !preprocessing.storage<!pt>) -> tensor<1x!ct_L0>
    "func.return"(%41) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "clear_argument", input_types = [tensor<16xf32>, tensor<16xf32>], result_types = [tensor<16xf32>], roles = ["entry"]}} : () -> ()
  "func.func"() <{function_type = (tensor<16xf32>, !pkey_L1) -> tensor<1x!ct_L1>, sym_name = "clear_argument__encrypt__arg1"}> ({
  ^bb0(%arg6: tensor<16xf32>, %arg7: !pkey_L1):
    %24 = "arith.constant"() <{value = 0 : index}> : () -> index
    %25 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %26 = "arith.constant"() <{value = 16 : i32}> : () -> i32
    %27 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<1x64xf32>}> : () -> tensor<1x64xf32>
    %28 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %29 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %30 = "scf.for"(%28, %26, %29, %27) ({
    ^bb0(%arg8: i32, %arg9: tensor<1x64xf32>):
      %35 = "scf.for"(%arg8, %25, %26, %arg9) ({
      ^bb0(%arg10: i32, %arg11: tensor<1x64xf32>):
        %36 = "arith.index_cast"(%arg8) : (i32) -> index
        %37 = "tensor.extract"(%arg6, %36) : (tensor<16xf32>, index) -> f32
        %38 = "arith.index_cast"(%arg10) : (i32) -> index
        %39 = "tensor.insert"(%37, %arg11, %24, %38) : (f32, tensor<1x64xf32>, index, index) -> tensor<1x64xf32>
        "scf.yield"(%39) : (tensor<1x64xf32>) -> ()
      }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
      "scf.yield"(%35) : (tensor<1x64xf32>) -> ()
    }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
    %31 = "tensor.extract_slice"(%30) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
    %32 = "lwe.rlwe_encode"(%31) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %33 = "lwe.rlwe_encrypt"(%32, %arg7) : (!pt, !pkey_L1) -> !ct_L1
    %34 = "tensor.from_elements"(%33) : (!ct_L1) -> tensor<1x!ct_L1>
    "func.return"(%34) : (tensor<1x!ct_L1>) -> ()
  }) {heir.interface = {func_name = "clear_argument", index = 1 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x!ct_L0>, !skey_L0) -> tensor<16xf32>, sym_name = "clear_argument__decrypt__result0"}> ({
  ^bb0(%arg0: tensor<1x!ct_L0>, %arg1: !skey_L0):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 16 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %4 = "arith.constant"() <{value = 15 : i32}> : () -> i32
    %5 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %6 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<16xf32>}> : () -> tensor<16xf32>
    %7 = "arith.constant"() <{value = 48 : i32}> : () -> i32
    %8 = "tensor.extract"(%arg0, %0) : (tensor<1x!ct_L0>, index) -> !ct_L0
    %9 = "lwe.rlwe_decrypt"(%8, %arg1) : (!ct_L0, !skey_L0) -> !pt
    %10 = "lwe.rlwe_decode"(%9) <{encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192}> : (!pt) -> tensor<1x64xf32>
    %11 = "scf.for"(%5, %2, %3, %6) ({
    ^bb0(%arg2: i32, %arg3: tensor<16xf32>):
      %12 = "arith.subi"(%4, %arg2) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %13 = "scf.for"(%12, %1, %2, %arg3) ({
      ^bb0(%arg4: i32, %arg5: tensor<16xf32>):
        %14 = "arith.addi"(%arg2, %7) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %15 = "arith.floordivsi"(%14, %2) : (i32, i32) -> i32
        %16 = "arith.muli"(%15, %2) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %17 = "arith.addi"(%12, %16) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %18 = "arith.subi"(%arg4, %12) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %19 = "arith.subi"(%17, %18) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %20 = "arith.index_cast"(%19) : (i32) -> index
        %21 = "tensor.extract"(%10, %0, %20) : (tensor<1x64xf32>, index, index) -> f32
        %22 = "arith.index_cast"(%12) : (i32) -> index
        %23 = "tensor.insert"(%21, %arg5, %22) : (f32, tensor<16xf32>, index) -> tensor<16xf32>
        "scf.yield"(%23) : (tensor<16xf32>) -> ()
      }) : (i32, i32, i32, tensor<16xf32>) -> tensor<16xf32>
      "scf.yield"(%13) : (tensor<16xf32>) -> ()
    }) : (i32, i32, i32, tensor<16xf32>) -> tensor<16xf32>
    "func.return"(%11) : (tensor<16xf32>) -> ()
  }) {heir.interface = {func_name = "clear_argument", index = 0 : i64, roles = ["client.decrypt"]}} : () -> ()
}) {backend.openfhe, ckks.schemeParam = #ckks.scheme_param<logN = 13, Q = [36028797018652673, 35184372121601], P = [1152921504606994433], logDefaultScale = 45>, scheme.actual_slot_count = 4096 : i64, scheme.ckks, scheme.requested_slot_count = 64 : i64} : () -> ()

