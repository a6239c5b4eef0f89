!Z35184372121601_i64 = !mod_arith.int<35184372121601 : i64>
!Z36028797018652673_i64 = !mod_arith.int<36028797018652673 : i64>
#inverse_canonical_encoding = #lwe.inverse_canonical_encoding<scaling_factor = 45>
#inverse_canonical_encoding1 = #lwe.inverse_canonical_encoding<scaling_factor = 90>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [i0, i1, i2, i3] -> [ct, slot] : i0 = 0 and i1 = 0 and ct = 0 and (-4i2 - i3 + slot) mod 16 = 0 and 0 <= i2 <= 3 and 0 <= i3 <= 3 and 0 <= slot <= 63 }">
#layout1 = #tensor_ext.layout<"{ [i0, i1, i2, i3] -> [ct, slot] : i0 = 0 and i1 = 0 and ct = 0 and (2i2 - i3 + slot) mod 4 = 0 and 0 <= i2 <= 1 and 0 <= i3 <= 1 and 0 <= slot <= 63 }">
#modulus_chain_L1_C0 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 0>
#modulus_chain_L1_C1 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 1>
#ring_f64_1_x8192 = #polynomial.ring<coefficientType = f64, polynomialModulus = <1 + x**8192>>
!rns_L0 = !rns.rns<!Z36028797018652673_i64>
!rns_L1 = !rns.rns<!Z36028797018652673_i64, !Z35184372121601_i64>
#original_type = #tensor_ext.original_type<originalType = tensor<1x1x4x4xf32>, layout = #layout>
#original_type1 = #tensor_ext.original_type<originalType = tensor<1x1x2x2xf32>, layout = #layout1>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding>>
!pt1 = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding1>>
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
  "func.func"() <{function_type = () -> (), sym_name = "_assign_layout_4806229367211712332", sym_visibility = "private"}> ({
    "func.return"() : () -> ()
  }) {heir.interface = {func_name = "conv2d", roles = ["client.pack"]}} : () -> ()
  "func.func"() <{function_type = () -> !preprocessing.storage<!pt, !pt1>, sym_name = "conv2d__preprocessing"}> ({
    %86 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64xf32>}> : () -> tensor<64xf32>
    %87 = "arith.constant"() <{value = dense<[[-9.490000e-01, -9.490000e-01, -7.350000e-02, -7.350000e-02, 1.387000e-01, 1.387000e-01, 5.911000e-01, 5.911000e-01, -4.769000e-01, -4.769000e-01, 4.967000e-01, 4.967000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -9.490000e-01, -9.490000e-01, -7.350000e-02, -7.350000e-02, 1.387000e-01, 1.387000e-01, 5.911000e-01, 5.911000e-01, -4.769000e-01, -4.769000e-01, 4.967000e-01, 4.967000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -9.490000e-01, -9.490000e-01, -7.350000e-02, -7.350000e-02, 1.387000e-01, 1.387000e-01, 5.911000e-01, 5.911000e-01, -4.769000e-01, -4.769000e-01, 4.967000e-01, 4.967000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -9.490000e-01, -9.490000e-01, -7.350000e-02, -7.350000e-02, 1.387000e-01, 1.387000e-01, 5.911000e-01, 5.911000e-01, -4.769000e-01, -4.769000e-01, 4.967000e-01, 4.967000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]]> : tensor<1x64xf32>}> : () -> tensor<1x64xf32>
    %88 = "arith.constant"() <{value = dense<[[-9.490000e-01, -9.490000e-01, -7.350000e-02, -7.350000e-02, 1.387000e-01, 1.387000e-01, 5.911000e-01, 5.911000e-01, -4.769000e-01, -4.769000e-01, 4.967000e-01, 4.967000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -9.490000e-01, -9.490000e-01, -7.350000e-02, -7.350000e-02, 1.387000e-01, 1.387000e-01, 5.911000e-01, 5.911000e-01, -4.769000e-01, -4.769000e-01, 4.967000e-01, 4.967000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -9.490000e-01, -9.490000e-01, -7.350000e-02, -7.350000e-02, 1.387000e-01, 1.387000e-01, 5.911000e-01, 5.911000e-01, -4.769000e-01, -4.769000e-01, 4.967000e-01, 4.967000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -9.490000e-01, -9.490000e-01, -7.350000e-02, -7.350000e-02, 1.387000e-01, 1.387000e-01, 5.911000e-01, 5.911000e-01, -4.769000e-01, -4.769000e-01, 4.967000e-01, 4.967000e-01, 0.000000e+00, 0.000000e+00]]> : tensor<1x62xf32>}> : () -> tensor<1x62xf32>
    %89 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<1x2xf32>}> : () -> tensor<1x2xf32>
    %90 = "arith.constant"() <{value = dense<[[0.000000e+00, 0.000000e+00, 1.122000e-01, 1.122000e-01, 0.000000e+00, 0.000000e+00, 0.94749999, 0.94749999, 0.000000e+00, 0.000000e+00, 5.350000e-01, 5.350000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 1.122000e-01, 1.122000e-01, 0.000000e+00, 0.000000e+00, 0.94749999, 0.94749999, 0.000000e+00, 0.000000e+00, 5.350000e-01, 5.350000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 1.122000e-01, 1.122000e-01, 0.000000e+00, 0.000000e+00, 0.94749999, 0.94749999, 0.000000e+00, 0.000000e+00, 5.350000e-01, 5.350000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 1.122000e-01, 1.122000e-01, 0.000000e+00, 0.000000e+00, 0.94749999, 0.94749999, 0.000000e+00, 0.000000e+00, 5.350000e-01, 5.350000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]]> : tensor<1x64xf32>}> : () -> tensor<1x64xf32>
    %91 = "arith.constant"() <{value = dense<[[0.000000e+00, 0.000000e+00, 1.122000e-01, 1.122000e-01, 0.000000e+00, 0.000000e+00, 0.94749999, 0.94749999, 0.000000e+00, 0.000000e+00, 5.350000e-01, 5.350000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 1.122000e-01, 1.122000e-01, 0.000000e+00, 0.000000e+00, 0.94749999, 0.94749999, 0.000000e+00, 0.000000e+00, 5.350000e-01, 5.350000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 1.122000e-01, 1.122000e-01, 0.000000e+00, 0.000000e+00, 0.94749999, 0.94749999, 0.000000e+00, 0.000000e+00, 5.350000e-01, 5.350000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 1.122000e-01, 1.122000e-01, 0.000000e+00, 0.000000e+00, 0.94749999, 0.94749999, 0.000000e+00, 0.000000e+00, 5.350000e-01, 5.350000e-01, 0.000000e+00, 0.000000e+00]]> : tensor<1x62xf32>}> : () -> tensor<1x62xf32>
    %92 = "arith.constant"() <{value = dense<[-7.350000e-02, -7.350000e-02, 0.000000e+00, 0.000000e+00, 5.911000e-01, 5.911000e-01, -9.490000e-01, -9.490000e-01, 4.967000e-01, 4.967000e-01, 1.387000e-01, 1.387000e-01, 0.000000e+00, 0.000000e+00, -4.769000e-01, -4.769000e-01, -7.350000e-02, -7.350000e-02, 0.000000e+00, 0.000000e+00, 5.911000e-01, 5.911000e-01, -9.490000e-01, -9.490000e-01, 4.967000e-01, 4.967000e-01, 1.387000e-01, 1.387000e-01, 0.000000e+00, 0.000000e+00, -4.769000e-01, -4.769000e-01, -7.350000e-02, -7.350000e-02, 0.000000e+00, 0.000000e+00, 5.911000e-01, 5.911000e-01, -9.490000e-01, -9.490000e-01, 4.967000e-01, 4.967000e-01, 1.387000e-01, 1.387000e-01, 0.000000e+00, 0.000000e+00, -4.769000e-01, -4.769000e-01, -7.350000e-02, -7.350000e-02, 0.000000e+00, 0.000000e+00, 5.911000e-01, 5.911000e-01, -9.490000e-01, -9.490000e-01, 4.967000e-01, 4.967000e-01, 1.387000e-01, 1.387000e-01, 0.000000e+00, 0.000000e+00, -4.769000e-01, -4.769000e-01]> : tensor<64xf32>}> : () -> tensor<64xf32>
    %93 = "arith.constant"() <{value = dense<[1.122000e-01, 1.122000e-01, 0.000000e+00, 0.000000e+00, 0.94749999, 0.94749999, 0.000000e+00, 0.000000e+00, 5.350000e-01, 5.350000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 1.122000e-01, 1.122000e-01, 0.000000e+00, 0.000000e+00, 0.94749999, 0.94749999, 0.000000e+00, 0.000000e+00, 5.350000e-01, 5.350000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 1.122000e-01, 1.122000e-01, 0.000000e+00, 0.000000e+00, 0.94749999, 0.94749999, 0.000000e+00, 0.000000e+00, 5.350000e-01, 5.350000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 1.122000e-01, 1.122000e-01, 0.000000e+00, 0.000000e+00, 0.94749999, 0.94749999, 0.000000e+00, 0.000000e+00, 5.350000e-01, 5.350000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]> : tensor<64xf32>}> : () -> tensor<64xf32>
    %94 = "preprocessing.empty"() : () -> !preprocessing.storage<!pt, !pt1>
    %95 = "tensor.insert_slice"(%88, %87) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, static_offsets = array<i64: 0, 2>, static_sizes = array<i64: 1, 62>, static_strides = array<i64: 1, 1>}> : (tensor<1x62xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %96 = "tensor.insert_slice"(%89, %95) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 2>, static_strides = array<i64: 1, 1>}> : (tensor<1x2xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %97 = "tensor.insert_slice"(%91, %90) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, static_offsets = array<i64: 0, 2>, static_sizes = array<i64: 1, 62>, static_strides = array<i64: 1, 1>}> : (tensor<1x62xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %98 = "tensor.insert_slice"(%89, %97) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 2>, static_strides = array<i64: 1, 1>}> : (tensor<1x2xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %99 = "lwe.rlwe_encode"(%92) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%99, %94) <{element_type = !pt, site_id = 0 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %100 = "lwe.rlwe_encode"(%86) <{encoding = #inverse_canonical_encoding1, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 90 : i64}> : (tensor<64xf32>) -> !pt1
    "preprocessing.store"(%100, %94) <{element_type = !pt1, site_id = 1 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>) -> ()
    %101 = "lwe.rlwe_encode"(%93) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%101, %94) <{element_type = !pt, site_id = 2 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %102 = "tensor.extract_slice"(%96) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
    %103 = "lwe.rlwe_encode"(%102) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%103, %94) <{element_type = !pt, site_id = 3 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %104 = "tensor.extract_slice"(%98) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
    %105 = "lwe.rlwe_encode"(%104) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%105, %94) <{element_type = !pt, site_id = 4 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    "func.return"(%94) : (!preprocessing.storage<!pt, !pt1>) -> ()
  }) {heir.interface = {entry_arg_indices = array<i64>, func_name = "conv2d", roles = ["server.preprocessing"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 1, 1, 4, 4>}, tensor_ext.original_type = #original_type}, {}], function_type = (tensor<1x!ct_L1>, !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0>, sym_name = "conv2d__preprocessed"}> ({
  ^bb0(%arg17: tensor<1x!ct_L1>, %arg18: !preprocessing.storage<!pt, !pt1>):
    %52 = "arith.constant"() <{value = 8 : index}> : () -> index
    %53 = "arith.constant"() <{value = 1 : index}> : () -> index
    %54 = "arith.constant"() <{value = 2 : index}> : () -> index
    %55 = "arith.constant"() <{value = 0 : index}> : () -> index
    "func.call"() <{callee = @_assign_layout_4806229367211712332}> : () -> ()
    %56 = "tensor.extract"(%arg17, %55) : (tensor<1x!ct_L1>, index) -> !ct_L1
    %57 = "ckks.rotate"(%56, %53) : (!ct_L1, index) -> !ct_L1
    %58 = "preprocessing.load"(%arg18) <{element_type = !pt, site_id = 0 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %59 = "ckks.mul_plain"(%56, %58) : (!ct_L1, !pt) -> !ct_L1_1
    %60 = "preprocessing.load"(%arg18) <{element_type = !pt1, site_id = 1 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt1
    %61 = "ckks.add_plain"(%59, %60) : (!ct_L1_1, !pt1) -> !ct_L1_1
    %62 = "preprocessing.load"(%arg18) <{element_type = !pt, site_id = 2 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %63 = "ckks.mul_plain"(%57, %62) : (!ct_L1, !pt) -> !ct_L1_1
    %64 = "ckks.add"(%61, %63) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %65 = "ckks.add_plain"(%64, %60) : (!ct_L1_1, !pt1) -> !ct_L1_1
    %66 = "preprocessing.load"(%arg18) <{element_type = !pt, site_id = 3 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %67 = "ckks.mul_plain"(%56, %66) : (!ct_L1, !pt) -> !ct_L1_1
    %68 = "ckks.add_plain"(%67, %60) : (!ct_L1_1, !pt1) -> !ct_L1_1
    %69 = "preprocessing.load"(%arg18) <{element_type = !pt, site_id = 4 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %70 = "ckks.mul_plain"(%57, %69) : (!ct_L1, !pt) -> !ct_L1_1
    %71 = "ckks.add"(%68, %70) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %72 = "ckks.rotate"(%71, %54) : (!ct_L1_1, index) -> !ct_L1_1
    %73 = "tensor.empty"() : () -> tensor<1x!ct_L1_1>
    %74 = "ckks.add"(%65, %72) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %75 = "tensor.insert"(%74, %73, %55) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
    %76:2 = "scf.for"(%55, %54, %53, %75, %52) ({
    ^bb0(%arg19: index, %arg20: tensor<1x!ct_L1_1>, %arg21: index):
      %81 = "tensor.extract"(%arg20, %55) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
      %82 = "ckks.rotate"(%81, %arg21) : (!ct_L1_1, index) -> !ct_L1_1
      %83 = "ckks.add"(%81, %82) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
      %84 = "tensor.insert"(%83, %73, %55) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
      %85 = "arith.divsi"(%arg21, %54) : (index, index) -> index
      "scf.yield"(%84, %85) : (tensor<1x!ct_L1_1>, index) -> ()
    }) : (index, index, index, tensor<1x!ct_L1_1>, index) -> (tensor<1x!ct_L1_1>, index)
    %77 = "tensor.empty"() : () -> tensor<1x!ct_L0>
    %78 = "tensor.extract"(%76#0, %55) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
    %79 = "ckks.rescale"(%78) <{to_ring = #ring_rns_L0_1_x8192}> : (!ct_L1_1) -> !ct_L0
    %80 = "tensor.insert"(%79, %77, %55) : (!ct_L0, tensor<1x!ct_L0>, index) -> tensor<1x!ct_L0>
    "func.return"(%80) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "conv2d", roles = ["client.preprocessed", "server.evaluate"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 1, 1, 4, 4>}, tensor_ext.original_type = #original_type}], function_type = (tensor<1x!ct_L1>) -> tensor<1x!ct_L0>, res_attrs = [{tensor_ext.original_type = #original_type1}], sym_name = "conv2d"}> ({
  ^bb0(%arg16: tensor<1x!ct_L1>):
    %50 = "func.call"() <{callee = @conv2d__preprocessing}> : () -> !preprocessing.storage<!pt, !pt1>
    %51 = "func.call"(%arg16, %50) <{callee = @conv2d__preprocessed}> : (tensor<1x!ct_L1>, !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0>
    "func.return"(%51) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "conv2d", input_types = [tensor<1x1x4x4xf32>], result_types = [tensor<1x1x2x2xf32>], roles = ["entry"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x1x4x4xf32>, !pkey_L1) -> tensor<1x!ct_L1>, sym_name = "conv2d__encrypt__arg0"}> ({
  ^bb0(%arg8: tensor<1x1x4x4xf32>, %arg9: !pkey_L1):
    %29 = "arith.constant"() <{value = 0 : index}> : () -> index
    %30 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %31 = "arith.constant"() <{value = 16 : i32}> : () -> i32
    %32 = "arith.constant"() <{value = 4 : i32}> : () -> i32
    %33 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<1x64xf32>}> : () -> tensor<1x64xf32>
    %34 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %35 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %36 = "scf.for"(%34, %32, %35, %33) ({
    ^bb0(%arg10: i32, %arg11: tensor<1x64xf32>):
      %41 = "scf.for"(%34, %32, %35, %arg11) ({
      ^bb0(%arg12: i32, %arg13: tensor<1x64xf32>):
        %42 = "arith.muli"(%arg10, %32) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %43 = "arith.addi"(%42, %arg12) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %44 = "scf.for"(%43, %30, %31, %arg13) ({
        ^bb0(%arg14: i32, %arg15: tensor<1x64xf32>):
          %45 = "arith.index_cast"(%arg10) : (i32) -> index
          %46 = "arith.index_cast"(%arg12) : (i32) -> index
          %47 = "tensor.extract"(%arg8, %29, %29, %45, %46) : (tensor<1x1x4x4xf32>, index, index, index, index) -> f32
          %48 = "arith.index_cast"(%arg14) : (i32) -> index
          %49 = "tensor.insert"(%47, %arg15, %29, %48) : (f32, tensor<1x64xf32>, index, index) -> tensor<1x64xf32>
          "scf.yield"(%49) : (tensor<1x64xf32>) -> ()
        }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
        "scf.yield"(%44) : (tensor<1x64xf32>) -> ()
      }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
      "scf.yield"(%41) : (tensor<1x64xf32>) -> ()
    }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
    %37 = "tensor.extract_slice"(%36) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
    %38 = "lwe.rlwe_encode"(%37) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %39 = "lwe.rlwe_encrypt"(%38, %arg9) : (!pt, !pkey_L1) -> !ct_L1
    %40 = "tensor.from_elements"(%39) : (!ct_L1) -> tensor<1x!ct_L1>
    "func.return"(%40) : (tensor<1x!ct_L1>) -> ()
  }) {heir.interface = {func_name = "conv2d", index = 0 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x!ct_L0>, !skey_L0) -> tensor<1x1x2x2xf32>, sym_name = "conv2d__decrypt__result0"}> ({
  ^bb0(%arg0: tensor<1x!ct_L0>, %arg1: !skey_L0):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 4 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = 63 : i32}> : () -> i32
    %4 = "arith.constant"() <{value = 2 : i32}> : () -> i32
    %5 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %6 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %7 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<1x1x2x2xf32>}> : () -> tensor<1x1x2x2xf32>
    %8 = "tensor.extract"(%arg0, %0) : (tensor<1x!ct_L0>, index) -> !ct_L0
    %9 = "lwe.rlwe_decrypt"(%8, %arg1) : (!ct_L0, !skey_L0) -> !pt
    %10 = "lwe.rlwe_decode"(%9) <{encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192}> : (!pt) -> tensor<1x64xf32>
    %11 = "scf.for"(%6, %4, %5, %7) ({
    ^bb0(%arg2: i32, %arg3: tensor<1x1x2x2xf32>):
      %12 = "arith.subi"(%5, %arg2) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %13 = "scf.for"(%6, %4, %5, %arg3) ({
      ^bb0(%arg4: i32, %arg5: tensor<1x1x2x2xf32>):
        %14 = "arith.subi"(%5, %arg4) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %15 = "arith.muli"(%12, %4) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %16 = "arith.addi"(%15, %14) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %17 = "scf.for"(%16, %1, %2, %arg5) ({
        ^bb0(%arg6: i32, %arg7: tensor<1x1x2x2xf32>):
          %18 = "arith.subi"(%3, %16) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
          %19 = "arith.floordivsi"(%18, %2) : (i32, i32) -> i32
          %20 = "arith.muli"(%19, %2) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
          %21 = "arith.addi"(%16, %20) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
          %22 = "arith.subi"(%arg6, %16) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
          %23 = "arith.subi"(%21, %22) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
          %24 = "arith.index_cast"(%23) : (i32) -> index
          %25 = "tensor.extract"(%10, %0, %24) : (tensor<1x64xf32>, index, index) -> f32
          %26 = "arith.index_cast"(%12) : (i32) -> index
          %27 = "arith.index_cast"(%14) : (i32) -> index
          %28 = "tensor.insert"(%25, %arg7, %0, %0, %26, %27) : (f32, tensor<1x1x2x2xf32>, index, index, index, index) -> tensor<1x1x2x2xf32>
          "scf.yield"(%28) : (tensor<1x1x2x2xf32>) -> ()
        }) : (i32, i32, i32, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
        "scf.yield"(%17) : (tensor<1x1x2x2xf32>) -> ()
      }) : (i32, i32, i32, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
      "scf.yield"(%13) : (tensor<1x1x2x2xf32>) -> ()
    }) : (i32, i32, i32, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
    "func.return"(%11) : (tensor<1x1x2x2xf32>) -> ()
  }) {heir.interface = {func_name = "conv2d", index = 0 : i64, roles = ["client.decrypt"]}} : () -> ()
}) {backend.openfhe, ckks.schemeParam = #ckks.scheme_param<logN = 13, Q = [36028797018652673, 35184372121601], P = [1152921504606994433], logDefaultScale = 45>, scheme.actual_slot_count = 4096 : i64, scheme.ckks, scheme.requested_slot_count = 64 : i64} : () -> ()

