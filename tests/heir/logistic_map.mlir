!Z35184372121601_i64 = !mod_arith.int<35184372121601 : i64>
!Z36028797018652673_i64 = !mod_arith.int<36028797018652673 : i64>
#inverse_canonical_encoding = #lwe.inverse_canonical_encoding<scaling_factor = 45>
#inverse_canonical_encoding1 = #lwe.inverse_canonical_encoding<scaling_factor = 90>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [i0, i1] -> [ct, slot] : ct = 0 and (-4i0 - i1 + slot) mod 16 = 0 and 0 <= i0 <= 3 and 0 <= i1 <= 3 and 0 <= slot <= 63 }">
#modulus_chain_L1_C0 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 0>
#modulus_chain_L1_C1 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 1>
#ring_f64_1_x8192 = #polynomial.ring<coefficientType = f64, polynomialModulus = <1 + x**8192>>
!rns_L0 = !rns.rns<!Z36028797018652673_i64>
!rns_L1 = !rns.rns<!Z36028797018652673_i64, !Z35184372121601_i64>
#original_type = #tensor_ext.original_type<originalType = tensor<4x4xf32>, layout = #layout>
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
  "func.func"() <{function_type = () -> !preprocessing.storage<!pt>, sym_name = "logistic_map__preprocessing"}> ({
    %62 = "arith.constant"() <{value = dense<1.000000e+00> : tensor<64xf32>}> : () -> tensor<64xf32>
    %63 = "preprocessing.empty"() : () -> !preprocessing.storage<!pt>
    %64 = "lwe.rlwe_encode"(%62) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%64, %63) <{element_type = !pt, site_id = 0 : i32}> : (!pt, !preprocessing.storage<!pt>) -> ()
    "func.return"(%63) : (!preprocessing.storage<!pt>) -> ()
  }) {heir.interface = {entry_arg_indices = array<i64>, func_name = "logistic_map", roles = ["server.preprocessing"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 4, 4>}, tensor_ext.original_type = #original_type}, {}], function_type = (tensor<1x!ct_L1>, !preprocessing.storage<!pt>) -> tensor<1x!ct_L0>, sym_name = "logistic_map__preprocessed"}> ({
  ^bb0(%arg17: tensor<1x!ct_L1>, %arg18: !preprocessing.storage<!pt>):
    %53 = "arith.constant"() <{value = 0 : index}> : () -> index
    %54 = "preprocessing.load"(%arg18) <{element_type = !pt, site_id = 0 : i32}> : (!preprocessing.storage<!pt>) -> !pt
    %55 = "tensor.extract"(%arg17, %53) : (tensor<1x!ct_L1>, index) -> !ct_L1
    %56 = "ckks.sub_plain"(%54, %55) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 4, 4>}} : (!pt, !ct_L1) -> !ct_L1
    %57 = "ckks.mul"(%56, %55) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 4, 4>}} : (!ct_L1, !ct_L1) -> !ct_L1_D3
    %58 = "ckks.relinearize"(%57) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L1_D3) -> !ct_L1_1
    %59 = "tensor.empty"() : () -> tensor<1x!ct_L0>
    %60 = "ckks.rescale"(%58) <{to_ring = #ring_rns_L0_1_x8192}> : (!ct_L1_1) -> !ct_L0
    %61 = "tensor.insert"(%60, %59, %53) : (!ct_L0, tensor<1x!ct_L0>, index) -> tensor<1x!ct_L0>
    "func.return"(%61) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "logistic_map", roles = ["client.preprocessed", "server.evaluate"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 4, 4>}, tensor_ext.original_type = #original_type}], function_type = (tensor<1x!ct_L1>) -> tensor<1x!ct_L0>, res_attrs = [{tensor_ext.original_type = #original_type}], sym_name = "logistic_map"}> ({
  ^bb0(%arg16: tensor<1x!ct_L1>):
    %51 = "func.call"() <{callee = @logistic_map__preprocessing}> : () -> !preprocessing.storage<!pt>
    %52 = "func.call"(%arg16, %51) <{callee = @logistic_map__preprocessed}> : (tensor<1x!ct_L1>, !preprocessing.storage<!pt>) -> tensor<1x!ct_L0>
    "func.return"(%52) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "logistic_map", input_types = [tensor<4x4xf32>], result_types = [tensor<4x4xf32>], roles = ["entry"]}} : () -> ()
  "func.func"() <{function_type = (tensor<4x4xf32>, !pkey_L1) -> tensor<1x!ct_L1>, sym_name = "logistic_map__encrypt__arg0"}> ({
  ^bb0(%arg8: tensor<4x4xf32>, %arg9: !pkey_L1):
    %30 = "arith.constant"() <{value = 0 : index}> : () -> index
    %31 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %32 = "arith.constant"() <{value = 16 : i32}> : () -> i32
    %33 = "arith.constant"() <{value = 4 : i32}> : () -> i32
    %34 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<1x64xf32>}> : () -> tensor<1x64xf32>
    %35 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %36 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %37 = "scf.for"(%35, %33, %36, %34) ({
    ^bb0(%arg10: i32, %arg11: tensor<1x64xf32>):
      %42 = "scf.for"(%35, %33, %36, %arg11) ({
      ^bb0(%arg12: i32, %arg13: tensor<1x64xf32>):
        %43 = "arith.muli"(%arg10, %33) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %44 = "arith.addi"(%43, %arg12) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %45 = "scf.for"(%44, %31, %32, %arg13) ({
        ^bb0(%arg14: i32, %arg15: tensor<1x64xf32>):
          %46 = "arith.index_cast"(%arg10) : (i32) -> index
          %47 = "arith.index_cast"(%arg12) : (i32) -> index
          %48 = "tensor.extract"(%arg8, %46, %47) : (tensor<4x4xf32>, index, index) -> f32
          %49 = "arith.index_cast"(%arg14) : (i32) -> index
          %50 = "tensor.insert"(%48, %arg15, %30, %49) : (f32, tensor<1x64xf32>, index, index) -> tensor<1x64xf32>
          "scf.yield"(%50) : (tensor<1x64xf32>) -> ()
        }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
        "scf.yield"(%45) : (tensor<1x64xf32>) -> ()
      }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
      "scf.yield"(%42) : (tensor<1x64xf32>) -> ()
    }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
    %38 = "tensor.extract_slice"(%37) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
    %39 = "lwe.rlwe_encode"(%38) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %40 = "lwe.rlwe_encrypt"(%39, %arg9) : (!pt, !pkey_L1) -> !ct_L1
    %41 = "tensor.from_elements"(%40) : (!ct_L1) -> tensor<1x!ct_L1>
    "func.return"(%41) : (tensor<1x!ct_L1>) -> ()
  }) {heir.interface = {func_name = "logistic_map", index = 0 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x!ct_L0>, !skey_L0) -> tensor<4x4xf32>, sym_name = "logistic_map__decrypt__result0"}> ({
  ^bb0(%arg0: tensor<1x!ct_L0>, %arg1: !skey_L0):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 16 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = 63 : i32}> : () -> i32
    %4 = "arith.constant"() <{value = 4 : i32}> : () -> i32
    %5 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %6 = "arith.constant"() <{value = 3 : i32}> : () -> i32
    %7 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %8 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
    %9 = "tensor.extract"(%arg0, %0) : (tensor<1x!ct_L0>, index) -> !ct_L0
    %10 = "lwe.rlwe_decrypt"(%9, %arg1) : (!ct_L0, !skey_L0) -> !pt
    %11 = "lwe.rlwe_decode"(%10) <{encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192}> : (!pt) -> tensor<1x64xf32>
    %12 = "scf.for"(%7, %4, %5, %8) ({
    ^bb0(%arg2: i32, %arg3: tensor<4x4xf32>):
      %13 = "arith.subi"(%6, %arg2) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %14 = "scf.for"(%7, %4, %5, %arg3) ({
      ^bb0(%arg4: i32, %arg5: tensor<4x4xf32>):
        %15 = "arith.subi"(%6, %arg4) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %16 = "arith.muli"(%13, %4) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %17 = "arith.addi"(%16, %15) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %18 = "scf.for"(%17, %1, %2, %arg5) ({
        ^bb0(%arg6: i32, %arg7: tensor<4x4xf32>):
          %19 = "arith.subi"(%3, %17) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
          %20 = "arith.floordivsi"(%19, %2) : (i32, i32) -> i32
          %21 = "arith.muli"(%20, %2) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
          %22 = "arith.addi"(%17, %21) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
          %23 = "arith.subi"(%arg6, %17) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
          %24 = "arith.subi"(%22, %23) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
          %25 = "arith.index_cast"(%24) : (i32) -> index
          %26 = "tensor.extract"(%11, %0, %25) : (tensor<1x64xf32>, index, index) -> f32
          %27 = "arith.index_cast"(%13) : (i32) -> index
          %28 = "arith.index_cast"(%15) : (i32) -> index
          %29 = "tensor.insert"(%26, %arg7, %27, %28) : (f32, tensor<4x4xf32>, index, index) -> tensor<4x4xf32>
          "scf.yield"(%29) : (tensor<4x4xf32>) -> ()
        }) : (i32, i32, i32, tensor<4x4xf32>) -> tensor<4x4xf32>
        "scf.yield"(%18) : (tensor<4x4xf32>) -> ()
      }) : (i32, i32, i32, tensor<4x4xf32>) -> tensor<4x4xf32>
      "scf.yield"(%14) : (tensor<4x4xf32>) -> ()
    }) : (i32, i32, i32, tensor<4x4xf32>) -> tensor<4x4xf32>
    "func.return"(%12) : (tensor<4x4xf32>) -> ()
  }) {heir.interface = {func_name = "logistic_map", index = 0 : i64, roles = ["client.decrypt"]}} : () -> ()
}) {backend.openfhe, ckks.schemeParam = #ckks.scheme_param<logN = 13, Q = [36028797018652673, 35184372121601], P = [1152921504606994433], logDefaultScale = 45>, scheme.actual_slot_count = 4096 : i64, scheme.ckks, scheme.requested_slot_count = 64 : i64} : () -> ()

