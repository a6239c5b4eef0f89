!Z35184371138561_i64 = !mod_arith.int<35184371138561 : i64>
!Z35184372121601_i64 = !mod_arith.int<35184372121601 : i64>
!Z36028797017456641_i64 = !mod_arith.int<36028797017456641 : i64>
#inverse_canonical_encoding = #lwe.inverse_canonical_encoding<scaling_factor = 90>
#inverse_canonical_encoding1 = #lwe.inverse_canonical_encoding<scaling_factor = 45>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 63 }">
#layout1 = #tensor_ext.layout<"{ [] -> [ct, slot] : ct = 0 and slot = 0 }">
#modulus_chain_L2_C0 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 0>
#modulus_chain_L2_C1 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 1>
#modulus_chain_L2_C2 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 2>
#ring_f64_1_x16384 = #polynomial.ring<coefficientType = f64, polynomialModulus = <1 + x**16384>>
!rns_L0 = !rns.rns<!Z36028797017456641_i64>
!rns_L1 = !rns.rns<!Z36028797017456641_i64, !Z35184371138561_i64>
!rns_L2 = !rns.rns<!Z36028797017456641_i64, !Z35184371138561_i64, !Z35184372121601_i64>
#original_type = #tensor_ext.original_type<originalType = tensor<8xf32>, layout = #layout>
#original_type1 = #tensor_ext.original_type<originalType = f32, layout = #layout1>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>>
!pt1 = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>>
#ring_rns_L0_1_x16384 = #polynomial.ring<coefficientType = !rns_L0, polynomialModulus = <1 + x**16384>>
#ring_rns_L1_1_x16384 = #polynomial.ring<coefficientType = !rns_L1, polynomialModulus = <1 + x**16384>>
#ring_rns_L2_1_x16384 = #polynomial.ring<coefficientType = !rns_L2, polynomialModulus = <1 + x**16384>>
!pkey_L2 = !lwe.lwe_public_key<key = #key, ring = #ring_rns_L2_1_x16384>
!skey_L0 = !lwe.lwe_secret_key<key = #key, ring = #ring_rns_L0_1_x16384>
#ciphertext_space_L0 = #lwe.ciphertext_space<ring = #ring_rns_L0_1_x16384, encryption_type = mix>
#ciphertext_space_L1 = #lwe.ciphertext_space<ring = #ring_rns_L1_1_x16384, encryption_type = mix>
#ciphertext_space_L2 = #lwe.ciphertext_space<ring = #ring_rns_L2_1_x16384, encryption_type = mix>
#ciphertext_space_L2_D3 = #lwe.ciphertext_space<ring = #ring_rns_L2_1_x16384, encryption_type = mix, size = 3>
!ct_L0 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L0, key = #key, modulus_chain = #modulus_chain_L2_C0>
!ct_L1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L2_C1>
!ct_L1_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L2_C1>
!ct_L2 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L2, key = #key, modulus_chain = #modulus_chain_L2_C2>
!ct_L2_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L2, key = #key, modulus_chain = #modulus_chain_L2_C2>
!ct_L2_D3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L2_D3, key = #key, modulus_chain = #modulus_chain_L2_C2>
"builtin.module"() ({
  "func.func"() <{function_type = () -> !preprocessing.storage<!pt, !pt1>, sym_name = "dot_product_lattigo__preprocessing"}> ({
    %61 = "arith.constant"() <{value = dense<2.500000e-01> : tensor<64xf32>}> : () -> tensor<64xf32>
    %62 = "arith.constant"() <{value = dense<[1.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]> : tensor<64xf32>}> : () -> tensor<64xf32>
    %63 = "preprocessing.empty"() : () -> !preprocessing.storage<!pt, !pt1>
    %64 = "lwe.rlwe_encode"(%61) <{encoding = #inverse_canonical_encoding, level = 2 : i64, ring = #ring_f64_1_x16384, scale = 90 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%64, %63) <{element_type = !pt, site_id = 0 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %65 = "lwe.rlwe_encode"(%62) <{encoding = #inverse_canonical_encoding1, level = 1 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt1
    "preprocessing.store"(%65, %63) <{element_type = !pt1, site_id = 1 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>) -> ()
    "func.return"(%63) : (!preprocessing.storage<!pt, !pt1>) -> ()
  }) {heir.interface = {entry_arg_indices = array<i64>, func_name = "dot_product_lattigo", roles = ["server.preprocessing"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}, {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}, {}], function_type = (tensor<1x!ct_L2>, tensor<1x!ct_L2>, !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0>, sym_name = "dot_product_lattigo__preprocessed"}> ({
  ^bb0(%arg16: tensor<1x!ct_L2>, %arg17: tensor<1x!ct_L2>, %arg18: !preprocessing.storage<!pt, !pt1>):
    %39 = "arith.constant"() <{value = 4 : index}> : () -> index
    %40 = "arith.constant"() <{value = 2 : index}> : () -> index
    %41 = "arith.constant"() <{value = 1 : index}> : () -> index
    %42 = "arith.constant"() <{value = 0 : index}> : () -> index
    %43 = "tensor.extract"(%arg16, %42) : (tensor<1x!ct_L2>, index) -> !ct_L2
    %44 = "tensor.extract"(%arg17, %42) : (tensor<1x!ct_L2>, index) -> !ct_L2
    %45 = "ckks.mul"(%43, %44) : (!ct_L2, !ct_L2) -> !ct_L2_D3
    %46 = "ckks.relinearize"(%45) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L2_D3) -> !ct_L2_1
    %47 = "ckks.rotate"(%46, %41) : (!ct_L2_1, index) -> !ct_L2_1
    %48 = "ckks.add"(%46, %47) : (!ct_L2_1, !ct_L2_1) -> !ct_L2_1
    %49 = "ckks.rotate"(%48, %40) : (!ct_L2_1, index) -> !ct_L2_1
    %50 = "ckks.add"(%48, %49) : (!ct_L2_1, !ct_L2_1) -> !ct_L2_1
    %51 = "ckks.rotate"(%50, %39) : (!ct_L2_1, index) -> !ct_L2_1
    %52 = "preprocessing.load"(%arg18) <{element_type = !pt, site_id = 0 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %53 = "ckks.add_plain"(%50, %52) : (!ct_L2_1, !pt) -> !ct_L2_1
    %54 = "ckks.add"(%53, %51) : (!ct_L2_1, !ct_L2_1) -> !ct_L2_1
    %55 = "ckks.rescale"(%54) <{to_ring = #ring_rns_L1_1_x16384}> : (!ct_L2_1) -> !ct_L1
    %56 = "preprocessing.load"(%arg18) <{element_type = !pt1, site_id = 1 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt1
    %57 = "ckks.mul_plain"(%55, %56) : (!ct_L1, !pt1) -> !ct_L1_1
    %58 = "tensor.empty"() : () -> tensor<1x!ct_L0>
    %59 = "ckks.rescale"(%57) <{to_ring = #ring_rns_L0_1_x16384}> : (!ct_L1_1) -> !ct_L0
    %60 = "tensor.insert"(%59, %58, %42) : (!ct_L0, tensor<1x!ct_L0>, index) -> tensor<1x!ct_L0>
    "func.return"(%60) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "dot_product_lattigo", roles = ["client.preprocessed", "server.evaluate"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}, {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}], function_type = (tensor<1x!ct_L2>, tensor<1x!ct_L2>) -> tensor<1x!ct_L0>, res_attrs = [{tensor_ext.original_type = #original_type1}], sym_name = "dot_product_lattigo"}> ({
  ^bb0(%arg14: tensor<1x!ct_L2>, %arg15: tensor<1x!ct_L2>):
    %37 = "func.call"() <{callee = @dot_product_lattigo__preprocessing}> : () -> !preprocessing.storage<!pt, !pt1>
    %38 = "func.call"(%arg14, %arg15, %37) <{callee = @dot_product_lattigo__preprocessed}> : (tensor<1x!ct_L2>, tensor<1x!ct_L2>, !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0>
    "func.return"(%38) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "dot_product_lattigo", input_types = [tensor<8xf32>, tensor<8xf32>], result_types = [f32], roles = ["entry"]}} : () -> ()
  "func.func"() <{function_type = (tensor<8xf32>, !pkey_L2) -> tensor<1x!ct_L2>, sym_name = "dot_product_lattigo__encrypt__arg0"}> ({
  ^bb0(%arg8: tensor<8xf32>, %arg9: !pkey_L2):
    %21 = "arith.constant"() <{value = 0 : index}> : () -> index
    %22 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %23 = "arith.constant"() <{value = 8 : i32}> : () -> i32
    %24 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<1x64xf32>}> : () -> tensor<1x64xf32>
    %25 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %26 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %27 = "scf.for"(%25, %23, %26, %24) ({
    ^bb0(%arg10: i32, %arg11: tensor<1x64xf32>):
      %32 = "scf.for"(%arg10, %22, %23, %arg11) ({
      ^bb0(%arg12: i32, %arg13: tensor<1x64xf32>):
        %33 = "arith.index_cast"(%arg10) : (i32) -> index
        %34 = "tensor.extract"(%arg8, %33) : (tensor<8xf32>, index) -> f32
        %35 = "arith.index_cast"(%arg12) : (i32) -> index
        %36 = "tensor.insert"(%34, %arg13, %21, %35) : (f32, tensor<1x64xf32>, index, index) -> tensor<1x64xf32>
        "scf.yield"(%36) : (tensor<1x64xf32>) -> ()
      }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
      "scf.yield"(%32) : (tensor<1x64xf32>) -> ()
    }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
    %28 = "tensor.extract_slice"(%27) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
    %29 = "lwe.rlwe_encode"(%28) <{encoding = #inverse_canonical_encoding1, level = 2 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt1
    %30 = "lwe.rlwe_encrypt"(%29, %arg9) : (!pt1, !pkey_L2) -> !ct_L2
    %31 = "tensor.from_elements"(%30) : (!ct_L2) -> tensor<1x!ct_L2>
    "func.return"(%31) : (tensor<1x!ct_L2>) -> ()
  }) {heir.interface = {func_name = "dot_product_lattigo", index = 0 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<8xf32>, !pkey_L2) -> tensor<1x!ct_L2>, sym_name = "dot_product_lattigo__encrypt__arg1"}> ({
  ^bb0(%arg2: tensor<8xf32>, %arg3: !pkey_L2):
    %5 = "arith.constant"() <{value = 0 : index}> : () -> index
    %6 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %7 = "arith.constant"() <{value = 8 : i32}> : () -> i32
    %8 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<1x64xf32>}> : () -> tensor<1x64xf32>
    %9 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %10 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %11 = "scf.for"(%9, %7, %10, %8) ({
    ^bb0(%arg4: i32, %arg5: tensor<1x64xf32>):
      %16 = "scf.for"(%arg4, %6, %7, %arg5) ({
      ^bb0(%arg6: i32, %arg7: tensor<1x64xf32>):
        %17 = "arith.index_cast"(%arg4) : (i32) -> index
        %18 = "tensor.extract"(%arg2, %17) : (tensor<8xf32>, index) -> f32
        %19 = "arith.index_cast"(%arg6) : (i32) -> index
        %20 = "tensor.insert"(%18, %arg7, %5, %19) : (f32, tensor<1x64xf32>, index, index) -> tensor<1x64xf32>
        "scf.yield"(%20) : (tensor<1x64xf32>) -> ()
      }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
      "scf.yield"(%16) : (tensor<1x64xf32>) -> ()
    }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
    %12 = "tensor.extract_slice"(%11) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
    %13 = "lwe.rlwe_encode"(%12) <{encoding = #inverse_canonical_encoding1, level = 2 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt1
    %14 = "lwe.rlwe_encrypt"(%13, %arg3) : (!pt1, !pkey_L2) -> !ct_L2
    %15 = "tensor.from_elements"(%14) : (!ct_L2) -> tensor<1x!ct_L2>
    "func.return"(%15) : (tensor<1x!ct_L2>) -> ()
  }) {heir.interface = {func_name = "dot_product_lattigo", index = 1 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x!ct_L0>, !skey_L0) -> f32, sym_name = "dot_product_lattigo__decrypt__result0"}> ({
  ^bb0(%arg0: tensor<1x!ct_L0>, %arg1: !skey_L0):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "tensor.extract"(%arg0, %0) : (tensor<1x!ct_L0>, index) -> !ct_L0
    %2 = "lwe.rlwe_decrypt"(%1, %arg1) : (!ct_L0, !skey_L0) -> !pt1
    %3 = "lwe.rlwe_decode"(%2) <{encoding = #inverse_canonical_encoding1, ring = #ring_f64_1_x16384}> : (!pt1) -> tensor<1x64xf32>
    %4 = "tensor.extract"(%3, %0, %0) : (tensor<1x64xf32>, index, index) -> f32
    "func.return"(%4) : (f32) -> ()
  }) {heir.interface = {func_name = "dot_product_lattigo", index = 0 : i64, roles = ["client.decrypt"]}} : () -> ()
}) {backend.lattigo, ckks.schemeParam = #ckks.scheme_param<logN = 14, Q = [36028797017456641, 35184371138561, 35184372121601], P = [1152921504607338497, 1152921504608747521], logDefaultScale = 45, encryptionTechnique = extended>, scheme.actual_slot_count = 8192 : i64, scheme.ckks, scheme.requested_slot_count = 64 : i64} : () -> ()

