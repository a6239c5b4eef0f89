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
  "func.func"() <{arg_attrs = [{tensor_ext.original_type = #original_type}, {tensor_ext.original_type = #original_type}, {tensor_ext.original_type = #original_type}, {tensor_ext.original_type = #original_type}, {tensor_ext.original_type = #original_type}, {tensor_ext.original_type = #original_type}, {tensor_ext.original_type = #original_type}, {tensor_ext.original_type = #original_type}], function_type = (tensor<1x!ct_L3>, tensor<1x!ct_L3>, tensor<1x!ct_L3>, tensor<1x!ct_L3>, tensor<1x!ct_L3>, tensor<1x!ct_L3>, tensor<1x!ct_L3>, tensor<1x!ct_L3>) -> tensor<1x!ct_L0>, res_attrs = [{tensor_ext.original_type = #original_type}], sym_name = "mult_indep"}> ({
  ^bb0(%arg18: tensor<1x!ct_L3>, %arg19: tensor<1x!ct_L3>, %arg20: tensor<1x!ct_L3>, %arg21: tensor<1x!ct_L3>, %arg22: tensor<1x!ct_L3>, %arg23: tensor<1x!ct_L3>, %arg24: tensor<1x!ct_L3>, %arg25: tensor<1x!ct_L3>):
    %37 = "arith.constant"() <{value = 0 : index}> : () -> index
    %38 = "tensor.extract"(%arg18, %37) : (tensor<1x!ct_L3>, index) -> !ct_L3
    %39 = "tensor.extract"(%arg19, %37) : (tensor<1x!ct_L3>, index) -> !ct_L3
    %40 = "ckks.mul"(%38, %39) : (!ct_L3, !ct_L3) -> !ct_L3_D3
    %41 = "ckks.relinearize"(%40) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L3_D3) -> !ct_L3_1
    %42 = "tensor.extract"(%arg20, %37) : (tensor<1x!ct_L3>, index) -> !ct_L3
    %43 = "tensor.extract"(%arg21, %37) : (tensor<1x!ct_L3>, index) -> !ct_L3
    %44 = "ckks.mul"(%42, %43) : (!ct_L3, !ct_L3) -> !ct_L3_D3
    %45 = "ckks.relinearize"(%44) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L3_D3) -> !ct_L3_1
    %46 = "ckks.rescale"(%41) <{to_ring = #ring_rns_L2_1_x16384}> : (!ct_L3_1) -> !ct_L2
    %47 = "ckks.rescale"(%45) <{to_ring = #ring_rns_L2_1_x16384}> : (!ct_L3_1) -> !ct_L2
    %48 = "ckks.mul"(%46, %47) : (!ct_L2, !ct_L2) -> !ct_L2_D3
    %49 = "ckks.relinearize"(%48) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L2_D3) -> !ct_L2_1
    %50 = "tensor.extract"(%arg22, %37) : (tensor<1x!ct_L3>, index) -> !ct_L3
    %51 = "tensor.extract"(%arg23, %37) : (tensor<1x!ct_L3>, index) -> !ct_L3
    %52 = "ckks.mul"(%50, %51) : (!ct_L3, !ct_L3) -> !ct_L3_D3
    %53 = "ckks.relinearize"(%52) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L3_D3) -> !ct_L3_1
    %54 = "tensor.extract"(%arg24, %37) : (tensor<1x!ct_L3>, index) -> !ct_L3
    %55 = "tensor.extract"(%arg25, %37) : (tensor<1x!ct_L3>, index) -> !ct_L3
    %56 = "ckks.mul"(%54, %55) : (!ct_L3, !ct_L3) -> !ct_L3_D3
    %57 = "ckks.relinearize"(%56) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L3_D3) -> !ct_L3_1
    %58 = "ckks.rescale"(%53) <{to_ring = #ring_rns_L2_1_x16384}> : (!ct_L3_1) -> !ct_L2
    %59 = "ckks.rescale"(%57) <{to_ring = #ring_rns_L2_1_x16384}> : (!ct_L3_1) -> !ct_L2
    %60 = "ckks.mul"(%58, %59) : (!ct_L2, !ct_L2) -> !ct_L2_D3
    %61 = "ckks.relinearize"(%60) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L2_D3) -> !ct_L2_1
    %62 = "ckks.rescale"(%49) <{to_ring = #ring_rns_L1_1_x16384}> : (!ct_L2_1) -> !ct_L1
    %63 = "ckks.rescale"(%61) <{to_ring = #ring_rns_L1_1_x16384}> : (!ct_L2_1) -> !ct_L1
    %64 = "ckks.mul"(%62, %63) : (!ct_L1, !ct_L1) -> !ct_L1_D3
    %65 = "ckks.relinearize"(%64) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L1_D3) -> !ct_L1_1
    %66 = "tensor.empty"() : () -> tensor<1x!ct_L0>
    %67 = "ckks.rescale"(%65) <{to_ring = #ring_rns_L0_1_x16384}> : (!ct_L1_1) -> !ct_L0
    %68 = "tensor.insert"(%67, %66, %37) : (!ct_L0, tensor<1x!ct_L0>, index) -> tensor<1x!ct_L0>
    "func.return"(%68) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "mult_indep", input_types = [f32, f32, f32, f32, f32, f32, f32, f32], result_types = [f32], roles = ["entry", "server.evaluate"]}} : () -> ()
  "func.func"() <{function_type = (f32, !pkey_L3) -> tensor<1x!ct_L3>, sym_name = "mult_indep__encrypt__arg0"}> ({
  ^bb0(%arg16: f32, %arg17: !pkey_L3):
    %33 = "tensor.splat"(%arg16) : (f32) -> tensor<64xf32>
    %34 = "lwe.rlwe_encode"(%33) <{encoding = #inverse_canonical_encoding, level = 3 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %35 = "lwe.rlwe_encrypt"(%34, %arg17) : (!pt, !pkey_L3) -> !ct_L3
    %36 = "tensor.from_elements"(%35) : (!ct_L3) -> tensor<1x!ct_L3>
    "func.return"(%36) : (tensor<1x!ct_L3>) -> ()
  }) {heir.interface = {func_name = "mult_indep", index = 0 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (f32, !pkey_L3) -> tensor<1x!ct_L3>, sym_name = "mult_indep__encrypt__arg1"}> ({
  ^bb0(%arg14: f32, %arg15: !pkey_L3):
    %29 = "tensor.splat"(%arg14) : (f32) -> tensor<64xf32>
    %30 = "lwe.rlwe_encode"(%29) <{encoding = #inverse_canonical_encoding, level = 3 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %31 = "lwe.rlwe_encrypt"(%30, %arg15) : (!pt, !pkey_L3) -> !ct_L3
    %32 = "tensor.from_elements"(%31) : (!ct_L3) -> tensor<1x!ct_L3>
    "func.return"(%32) : (tensor<1x!ct_L3>) -> ()
  }) {heir.interface = {func_name = "mult_indep", index = 1 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (f32, !pkey_L3) -> tensor<1x!ct_L3>, sym_name = "mult_indep__encrypt__arg2"}> ({
  ^bb0(%arg12: f32, %arg13: !pkey_L3):
    %25 = "tensor.splat"(%arg12) : (f32) -> tensor<64xf32>
    %26 = "lwe.rlwe_encode"(%25) <{encoding = #inverse_canonical_encoding, level = 3 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %27 = "lwe.rlwe_encrypt"(%26, %arg13) : (!pt, !pkey_L3) -> !ct_L3
    %28 = "tensor.from_elements"(%27) : (!ct_L3) -> tensor<1x!ct_L3>
    "func.return"(%28) : (tensor<1x!ct_L3>) -> ()
  }) {heir.interface = {func_name = "mult_indep", index = 2 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (f32, !pkey_L3) -> tensor<1x!ct_L3>, sym_name = "mult_indep__encrypt__arg3"}> ({
  ^bb0(%arg10: f32, %arg11: !pkey_L3):
    %21 = "tensor.splat"(%arg10) : (f32) -> tensor<64xf32>
    %22 = "lwe.rlwe_encode"(%21) <{encoding = #inverse_canonical_encoding, level = 3 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %23 = "lwe.rlwe_encrypt"(%22, %arg11) : (!pt, !pkey_L3) -> !ct_L3
    %24 = "tensor.from_elements"(%23) : (!ct_L3) -> tensor<1x!ct_L3>
    "func.return"(%24) : (tensor<1x!ct_L3>) -> ()
  }) {heir.interface = {func_name = "mult_indep", index = 3 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (f32, !pkey_L3) -> tensor<1x!ct_L3>, sym_name = "mult_indep__encrypt__arg4"}> ({
  ^bb0(%arg8: f32, %arg9: !pkey_L3):
    %17 = "tensor.splat"(%arg8) : (f32) -> tensor<64xf32>
    %18 = "lwe.rlwe_encode"(%17) <{encoding = #inverse_canonical_encoding, level = 3 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %19 = "lwe.rlwe_encrypt"(%18, %arg9) : (!pt, !pkey_L3) -> !ct_L3
    %20 = "tensor.from_elements"(%19) : (!ct_L3) -> tensor<1x!ct_L3>
    "func.return"(%20) : (tensor<1x!ct_L3>) -> ()
  }) {heir.interface = {func_name = "mult_indep", index = 4 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (f32, !pkey_L3) -> tensor<1x!ct_L3>, sym_name = "mult_indep__encrypt__arg5"}> ({
  ^bb0(%arg6: f32, %arg7: !pkey_L3):
    %13 = "tensor.splat"(%arg6) : (f32) -> tensor<64xf32>
    %14 = "lwe.rlwe_encode"(%13) <{encoding = #inverse_canonical_encoding, level = 3 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %15 = "lwe.rlwe_encrypt"(%14, %arg7) : (!pt, !pkey_L3) -> !ct_L3
    %16 = "tensor.from_elements"(%15) : (!ct_L3) -> tensor<1x!ct_L3>
    "func.return"(%16) : (tensor<1x!ct_L3>) -> ()
  }) {heir.interface = {func_name = "mult_indep", index = 5 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (f32, !pkey_L3) -> tensor<1x!ct_L3>, sym_name = "mult_indep__encrypt__arg6"}> ({
  ^bb0(%arg4: f32, %arg5: !pkey_L3):
    %9 = "tensor.splat"(%arg4) : (f32) -> tensor<64xf32>
    %10 = "lwe.rlwe_encode"(%9) <{encoding = #inverse_canonical_encoding, level = 3 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %11 = "lwe.rlwe_encrypt"(%10, %arg5) : (!pt, !pkey_L3) -> !ct_L3
    %12 = "tensor.from_elements"(%11) : (!ct_L3) -> tensor<1x!ct_L3>
    "func.return"(%12) : (tensor<1x!ct_L3>) -> ()
  }) {heir.interface = {func_name = "mult_indep", index = 6 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (f32, !pkey_L3) -> tensor<1x!ct_L3>, sym_name = "mult_indep__encrypt__arg7"}> ({
  ^bb0(%arg2: f32, %arg3: !pkey_L3):
    %5 = "tensor.splat"(%arg2) : (f32) -> tensor<64xf32>
    %6 = "lwe.rlwe_encode"(%5) <{encoding = #inverse_canonical_encoding, level = 3 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %7 = "lwe.rlwe_encrypt"(%6, %arg3) : (!pt, !pkey_L3) -> !ct_L3
    %8 = "tensor.from_elements"(%7) : (!ct_L3) -> tensor<1x!ct_L3>
    "func.return"(%8) : (tensor<1x!ct_L3>) -> ()
  }) {heir.interface = {func_name = "mult_indep", index = 7 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x!ct_L0>, !skey_L0) -> f32, sym_name = "mult_indep__decrypt__result0"}> ({
  ^bb0(%arg0: tensor<1x!ct_L0>, %arg1: !skey_L0):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "tensor.extract"(%arg0, %0) : (tensor<1x!ct_L0>, index) -> !ct_L0
    %2 = "lwe.rlwe_decrypt"(%1, %arg1) : (!ct_L0, !skey_L0) -> !pt
    %3 = "lwe.rlwe_decode"(%2) <{encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x16384}> : (!pt) -> tensor<1x64xf32>
    %4 = "tensor.extract"(%3, %0, %0) : (tensor<1x64xf32>, index, index) -> f32
    "func.return"(%4) : (f32) -> ()
  }) {heir.interface = {func_name = "mult_indep", index = 0 : i64, roles = ["client.decrypt"]}} : () -> ()
}) {backend.openfhe, ckks.schemeParam = #ckks.scheme_param<logN = 14, Q = [36028797017456641, 35184372744193, 35184371138561, 35184372121601], P = [1152921504607338497, 1152921504608747521], logDefaultScale = 45>, scheme.actual_slot_count = 8192 : i64, scheme.ckks, scheme.requested_slot_count = 64 : i64} : () -> ()

