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
#ciphertext_space_L1_D3 = #lwe.ciphertext_space<ring = #ring_rns_L1_1_x8192, encryption_type = mix, size = 3>
!ct_L0 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L0, key = #key, modulus_chain = #modulus_chain_L1_C0>
!ct_L1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L1_C1>
!ct_L1_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L1_C1>
!ct_L1_D3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L1_D3, key = #key, modulus_chain = #modulus_chain_L1_C1>
"builtin.module"() ({
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}, tensor_ext.original_type = #original_type}], function_type = (tensor<1x!ct_L1>) -> tensor<1x!ct_L0>, res_attrs = [{tensor_ext.original_type = #original_type}], sym_name = "roberts_cross"}> ({
  ^bb0(%arg12: tensor<1x!ct_L1>):
    %40 = "arith.constant"() <{value = 15 : index}> : () -> index
    %41 = "arith.constant"() <{value = 12 : index}> : () -> index
    %42 = "arith.constant"() <{value = 11 : index}> : () -> index
    %43 = "arith.constant"() <{value = 0 : index}> : () -> index
    %44 = "tensor.extract"(%arg12, %43) : (tensor<1x!ct_L1>, index) -> !ct_L1
    %45 = "ckks.rotate"(%44, %42) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}} : (!ct_L1, index) -> !ct_L1
    %46 = "ckks.rotate"(%44, %41) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}} : (!ct_L1, index) -> !ct_L1
    %47 = "ckks.rotate"(%44, %40) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}} : (!ct_L1, index) -> !ct_L1
    %48 = "ckks.sub"(%45, %44) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}} : (!ct_L1, !ct_L1) -> !ct_L1
    %49 = "ckks.sub"(%46, %47) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}} : (!ct_L1, !ct_L1) -> !ct_L1
    %50 = "ckks.mul"(%48, %48) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}} : (!ct_L1, !ct_L1) -> !ct_L1_D3
    %51 = "ckks.relinearize"(%50) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L1_D3) -> !ct_L1_1
    %52 = "ckks.mul"(%49, %49) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}} : (!ct_L1, !ct_L1) -> !ct_L1_D3
    %53 = "ckks.relinearize"(%52) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L1_D3) -> !ct_L1_1
    %54 = "ckks.add"(%51, %53) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}} : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %55 = "tensor.empty"() : () -> tensor<1x!ct_L0>
    %56 = "ckks.rescale"(%54) <{to_ring = #ring_rns_L0_1_x8192}> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}} : (!ct_L1_1) -> !ct_L0
    %57 = "tensor.insert"(%56, %55, %43) : (!ct_L0, tensor<1x!ct_L0>, index) -> tensor<1x!ct_L0>
    "func.return"(%57) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "roberts_cross", input_types = [tensor<16xf32>], result_types = [tensor<16xf32>], roles = ["entry", "server.evaluate"]}} : () -> ()
  "func.func"() <{function_type = (tensor<16xf32>, !pkey_L1) -> tensor<1x!ct_L1>, sym_name = "roberts_cross__encrypt__arg0"}> ({
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
  }) {heir.interface = {func_name = "roberts_cross", index = 0 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x!ct_L0>, !skey_L0) -> tensor<16xf32>, sym_name = "roberts_cross__decrypt__result0"}> ({
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
  }) {heir.interface = {func_name = "roberts_cross", index = 0 : i64, roles = ["client.decrypt"]}} : () -> ()
}) {backend.openfhe, ckks.schemeParam = #ckks.scheme_param<logN = 13, Q = [36028797018652673, 35184372121601], P = [1152921504606994433], logDefaultScale = 45>, scheme.actual_slot_count = 4096 : i64, scheme.ckks, scheme.requested_slot_count = 64 : i64} : () -> ()

