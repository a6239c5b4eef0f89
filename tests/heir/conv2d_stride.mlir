!Z35184372121601_i64 = !mod_arith.int<35184372121601 : i64>
!Z36028797018652673_i64 = !mod_arith.int<36028797018652673 : i64>
#inverse_canonical_encoding = #lwe.inverse_canonical_encoding<scaling_factor = 45>
#inverse_canonical_encoding1 = #lwe.inverse_canonical_encoding<scaling_factor = 90>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [i0, i1, i2, i3] -> [ct, slot] : i0 = 0 and i1 = 0 and ct = 0 and (-4i2 - i3 + slot) mod 16 = 0 and 0 <= i2 <= 3 and 0 <= i3 <= 3 and 0 <= slot <= 63 }">
#layout1 = #tensor_ext.layout<"{ [i0, i1, i2, i3] -> [ct, slot] : i0 = 0 and ct = 0 and (-4i1 - 2i2 - i3 + slot) mod 16 = 0 and 0 <= i1 <= 1 and 0 <= i2 <= 1 and 0 <= i3 <= 1 and 0 <= slot <= 63 }">
#layout2 = #tensor_ext.layout<"{ [i0, i1] -> [ct, slot] : exists (e2: i0 = 0 and ct = 0 and 0 <= i1 <= 63 and 0 <= slot <= 63 and 0 <= e2 <= 1 and -1 + i1 + 4slot - 8*floor((1 + slot)/2) - 16*floor((slot)/16) <= 2e2 <= i1 + 4slot - 8*floor((1 + slot)/2) - 16*floor((slot)/16) and -1 - 2i1 - 7slot + 16*floor((1 + slot)/2) + 16*floor((slot)/16) <= 4e2 <= -2i1 - 7slot + 16*floor((1 + slot)/2) + 16*floor((slot)/16)) }">
#modulus_chain_L1_C0 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 0>
#modulus_chain_L1_C1 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 1>
#ring_f64_1_x8192 = #polynomial.ring<coefficientType = f64, polynomialModulus = <1 + x**8192>>
!rns_L0 = !rns.rns<!Z36028797018652673_i64>
!rns_L1 = !rns.rns<!Z36028797018652673_i64, !Z35184372121601_i64>
#original_type = #tensor_ext.original_type<originalType = tensor<1x1x4x4xf32>, layout = #layout>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding>>
!pt1 = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding1>>
#original_type1 = #tensor_ext.original_type<originalType = tensor<1x2x2x2xf32>, layout = [#layout1, #layout2]>
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
  "func.func"() <{function_type = () -> (), sym_name = "_assign_layout_18039290931913493070", sym_visibility = "private"}> ({
    "func.return"() : () -> ()
  }) {heir.interface = {func_name = "conv2d_stride", roles = ["client.pack"]}} : () -> ()
  "func.func"() <{function_type = () -> !preprocessing.storage<!pt, !pt1>, sym_name = "conv2d_stride__preprocessing"}> ({
    %211 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64xf32>}> : () -> tensor<64xf32>
    %212 = "arith.constant"() <{value = dense<"0x2B8796BD5F070E3E2B8796BD5F070E3E000000000000000000000000000000002B8796BD5F070E3E2B8796BD5F070E3E000000000000000000000000000000002B8796BD5F070E3E2B8796BD5F070E3E000000000000000000000000000000002B8796BD5F070E3E2B8796BD5F070E3E000000000000000000000000000000002B8796BD5F070E3E2B8796BD5F070E3E000000000000000000000000000000002B8796BD5F070E3E2B8796BD5F070E3E000000000000000000000000000000002B8796BD5F070E3E2B8796BD5F070E3E000000000000000000000000000000002B8796BD5F070E3E2B8796BD5F070E3E000000000000000000000000000000001DC9E53D000000001DC9E53D00000000000000000000000000000000000000001DC9E53D000000001DC9E53D00000000000000000000000000000000000000001DC9E53D000000001DC9E53D00000000000000000000000000000000000000001DC9E53D000000001DC9E53D00000000000000000000000000000000000000001DC9E53D000000001DC9E53D00000000000000000000000000000000000000001DC9E53D000000001DC9E53D00000000000000000000000000000000000000001DC9E53D000000001DC9E53D00000000000000000000000000000000000000001DC9E53D000000001DC9E53D00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000764FFE3E00000000764FFE3E0000000000000000000000000000000000000000764FFE3E00000000764FFE3E0000000000000000000000000000000000000000764FFE3E00000000764FFE3E0000000000000000000000000000000000000000764FFE3E00000000764FFE3E0000000000000000000000000000000000000000764FFE3E00000000764FFE3E0000000000000000000000000000000000000000764FFE3E00000000764FFE3E0000000000000000000000000000000000000000764FFE3E00000000764FFE3E0000000000000000000000000000000000000000764FFE3E00000000764FFE3E00000000000000000000000000000000AAF172BFC3F5083FAAF172BFC3F5083F00000000000000000000000000000000AAF172BFC3F5083FAAF172BFC3F5083F00000000000000000000000000000000AAF172BFC3F5083FAAF172BFC3F5083F00000000000000000000000000000000AAF172BFC3F5083FAAF172BFC3F5083F00000000000000000000000000000000AAF172BFC3F5083FAAF172BFC3F5083F00000000000000000000000000000000AAF172BFC3F5083FAAF172BFC3F5083F00000000000000000000000000000000AAF172BFC3F5083FAAF172BFC3F5083F00000000000000000000000000000000AAF172BFC3F5083FAAF172BFC3F5083F000000000000000000000000000000005452173F000000005452173F00000000000000000000000000000000000000005452173F000000005452173F00000000000000000000000000000000000000005452173F000000005452173F00000000000000000000000000000000000000005452173F000000005452173F00000000000000000000000000000000000000005452173F000000005452173F00000000000000000000000000000000000000005452173F000000005452173F00000000000000000000000000000000000000005452173F000000005452173F00000000000000000000000000000000000000005452173F000000005452173F0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000005C8F723F000000005C8F723F00000000000000000000000000000000000000005C8F723F000000005C8F723F00000000000000000000000000000000000000005C8F723F000000005C8F723F00000000000000000000000000000000000000005C8F723F000000005C8F723F00000000000000000000000000000000000000005C8F723F000000005C8F723F00000000000000000000000000000000000000005C8F723F000000005C8F723F00000000000000000000000000000000000000005C8F723F000000005C8F723F00000000000000000000000000000000000000005C8F723F000000005C8F723F00000000000000000000000000000000"> : tensor<16x64xf32>}> : () -> tensor<16x64xf32>
    %213 = "arith.constant"() <{value = 4 : index}> : () -> index
    %214 = "arith.constant"() <{value = 1 : index}> : () -> index
    %215 = "arith.constant"() <{value = 16 : index}> : () -> index
    %216 = "arith.constant"() <{value = dense<[1.000000e+00, 1.000000e+00, 0.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 1.000000e+00]> : tensor<16xf64>}> : () -> tensor<16xf64>
    %217 = "arith.constant"() <{value = 0.000000e+00 : f64}> : () -> f64
    %218 = "arith.constant"() <{value = -4 : index}> : () -> index
    %219 = "arith.constant"() <{value = 64 : index}> : () -> index
    %220 = "arith.constant"() <{value = dense<[-7.350000e-02, 1.387000e-01, -7.350000e-02, 1.387000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -7.350000e-02, 1.387000e-01, -7.350000e-02, 1.387000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -7.350000e-02, 1.387000e-01, -7.350000e-02, 1.387000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -7.350000e-02, 1.387000e-01, -7.350000e-02, 1.387000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -7.350000e-02, 1.387000e-01, -7.350000e-02, 1.387000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -7.350000e-02, 1.387000e-01, -7.350000e-02, 1.387000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -7.350000e-02, 1.387000e-01, -7.350000e-02, 1.387000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -7.350000e-02, 1.387000e-01, -7.350000e-02, 1.387000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]> : tensor<64xf32>}> : () -> tensor<64xf32>
    %221 = "preprocessing.empty"() : () -> !preprocessing.storage<!pt, !pt1>
    %222 = "lwe.rlwe_encode"(%220) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%222, %221) <{element_type = !pt, site_id = 0 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %223 = "lwe.rlwe_encode"(%211) <{encoding = #inverse_canonical_encoding1, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 90 : i64}> : (tensor<64xf32>) -> !pt1
    "preprocessing.store"(%223, %221) <{element_type = !pt1, site_id = 1 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>) -> ()
    "scf.for"(%214, %213, %214) ({
    ^bb0(%arg38: index):
      %256 = "arith.cmpi"(%arg38, %215) <{predicate = 2 : i64}> : (index, index) -> i1
      "scf.if"(%256) ({
        %257 = "tensor.extract"(%216, %arg38) : (tensor<16xf64>, index) -> f64
        %258 = "arith.cmpf"(%257, %217) <{fastmath = #arith.fastmath<none>, predicate = 6 : i64}> : (f64, f64) -> i1
        "scf.if"(%258) ({
          %259 = "tensor.extract_slice"(%212, %arg38) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<16x64xf32>, index) -> tensor<64xf32>
          %260 = "lwe.rlwe_encode"(%259) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
          "preprocessing.store"(%260, %221, %arg38) <{element_type = !pt, site_id = 2 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>, index) -> ()
          "scf.yield"() : () -> ()
        }, {
        }) : (i1) -> ()
        "scf.yield"() : () -> ()
      }, {
      }) : (i1) -> ()
      "scf.yield"() : () -> ()
    }) : (index, index, index) -> ()
    "scf.for"(%214, %213, %214) ({
    ^bb0(%arg36: index):
      %224 = "arith.muli"(%arg36, %213) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %225 = "arith.cmpi"(%224, %215) <{predicate = 2 : i64}> : (index, index) -> i1
      "scf.if"(%225) ({
        %242 = "tensor.extract"(%216, %224) : (tensor<16xf64>, index) -> f64
        %243 = "arith.cmpf"(%242, %217) <{fastmath = #arith.fastmath<none>, predicate = 6 : i64}> : (f64, f64) -> i1
        "scf.if"(%243) ({
          %244 = "tensor.extract_slice"(%212, %224) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<16x64xf32>, index) -> tensor<1x64xf32>
          %245 = "arith.muli"(%arg36, %218) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
          %246 = "arith.remsi"(%245, %219) : (index, index) -> index
          %247 = "arith.addi"(%246, %219) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
          %248 = "arith.remsi"(%247, %219) : (index, index) -> index
          %249 = "arith.subi"(%219, %248) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
          %250 = "tensor.extract_slice"(%212, %224, %248) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, static_offsets = array<i64: -9223372036854775808, 0>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<16x64xf32>, index, index) -> tensor<1x?xf32>
          %251 = "tensor.extract_slice"(%212, %224, %248, %249) <{operandSegmentSizes = array<i32: 1, 2, 1, 0>, static_offsets = array<i64: -9223372036854775808, -9223372036854775808>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<16x64xf32>, index, index, index) -> tensor<1x?xf32>
          %252 = "tensor.insert_slice"(%250, %244, %249, %248) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, static_offsets = array<i64: 0, -9223372036854775808>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<1x?xf32>, tensor<1x64xf32>, index, index) -> tensor<1x64xf32>
          %253 = "tensor.insert_slice"(%251, %252, %249) <{operandSegmentSizes = array<i32: 1, 1, 0, 1, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<1x?xf32>, tensor<1x64xf32>, index) -> tensor<1x64xf32>
          %254 = "tensor.extract_slice"(%253) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
          %255 = "lwe.rlwe_encode"(%254) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
          "preprocessing.store"(%255, %221, %arg36) <{element_type = !pt, site_id = 3 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>, index) -> ()
          "scf.yield"() : () -> ()
        }, {
          "preprocessing.store"(%223, %221, %arg36) <{element_type = !pt1, site_id = 4 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>, index) -> ()
          "scf.yield"() : () -> ()
        }) : (i1) -> ()
        "scf.yield"() : () -> ()
      }, {
        "preprocessing.store"(%223, %221, %arg36) <{element_type = !pt1, site_id = 5 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>, index) -> ()
        "scf.yield"() : () -> ()
      }) : (i1) -> ()
      "scf.for"(%214, %213, %214) ({
      ^bb0(%arg37: index):
        %226 = "arith.addi"(%arg37, %224) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
        %227 = "arith.cmpi"(%226, %215) <{predicate = 2 : i64}> : (index, index) -> i1
        "scf.if"(%227) ({
          %228 = "tensor.extract"(%216, %226) : (tensor<16xf64>, index) -> f64
          %229 = "arith.cmpf"(%228, %217) <{fastmath = #arith.fastmath<none>, predicate = 6 : i64}> : (f64, f64) -> i1
          "scf.if"(%229) ({
            %230 = "tensor.extract_slice"(%212, %226) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<16x64xf32>, index) -> tensor<1x64xf32>
            %231 = "arith.muli"(%arg36, %218) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
            %232 = "arith.remsi"(%231, %219) : (index, index) -> index
            %233 = "arith.addi"(%232, %219) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
            %234 = "arith.remsi"(%233, %219) : (index, index) -> index
            %235 = "arith.subi"(%219, %234) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
            %236 = "tensor.extract_slice"(%212, %226, %234) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, static_offsets = array<i64: -9223372036854775808, 0>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<16x64xf32>, index, index) -> tensor<1x?xf32>
            %237 = "tensor.extract_slice"(%212, %226, %234, %235) <{operandSegmentSizes = array<i32: 1, 2, 1, 0>, static_offsets = array<i64: -9223372036854775808, -9223372036854775808>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<16x64xf32>, index, index, index) -> tensor<1x?xf32>
            %238 = "tensor.insert_slice"(%236, %230, %235, %234) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, static_offsets = array<i64: 0, -9223372036854775808>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<1x?xf32>, tensor<1x64xf32>, index, index) -> tensor<1x64xf32>
            %239 = "tensor.insert_slice"(%237, %238, %235) <{operandSegmentSizes = array<i32: 1, 1, 0, 1, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<1x?xf32>, tensor<1x64xf32>, index) -> tensor<1x64xf32>
            %240 = "tensor.extract_slice"(%239) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
            %241 = "lwe.rlwe_encode"(%240) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
            "preprocessing.store"(%241, %221, %arg36, %arg37) <{element_type = !pt, site_id = 6 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>, index, index) -> ()
            "scf.yield"() : () -> ()
          }, {
          }) : (i1) -> ()
          "scf.yield"() : () -> ()
        }, {
        }) : (i1) -> ()
        "scf.yield"() : () -> ()
      }) : (index, index, index) -> ()
      "scf.yield"() : () -> ()
    }) : (index, index, index) -> ()
    "func.return"(%221) : (!preprocessing.storage<!pt, !pt1>) -> ()
  }) {heir.interface = {entry_arg_indices = array<i64>, func_name = "conv2d_stride", roles = ["server.preprocessing"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 1, 1, 4, 4>}, tensor_ext.original_type = #original_type}, {client.enc_zero_arg = {func_name = "conv2d_stride", index = 0 : i64}}, {}], function_type = (tensor<1x!ct_L1>, !ct_L1_1, !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0>, sym_name = "conv2d_stride__preprocessed"}> ({
  ^bb0(%arg25: tensor<1x!ct_L1>, %arg26: !ct_L1_1, %arg27: !preprocessing.storage<!pt, !pt1>):
    %132 = "arith.constant"() <{value = 0.000000e+00 : f64}> : () -> f64
    %133 = "arith.constant"() <{value = dense<[1.000000e+00, 1.000000e+00, 0.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 1.000000e+00]> : tensor<16xf64>}> : () -> tensor<16xf64>
    %134 = "arith.constant"() <{value = 16 : index}> : () -> index
    %135 = "arith.constant"() <{value = 1 : index}> : () -> index
    %136 = "arith.constant"() <{value = 4 : index}> : () -> index
    %137 = "arith.constant"() <{value = 0 : index}> : () -> index
    "func.call"() <{callee = @_assign_layout_18039290931913493070}> : () -> ()
    %138 = "tensor.empty"() : () -> tensor<4x!ct_L1>
    %139 = "tensor.insert_slice"(%arg25, %138) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, static_offsets = array<i64: 0>, static_sizes = array<i64: 1>, static_strides = array<i64: 1>}> : (tensor<1x!ct_L1>, tensor<4x!ct_L1>) -> tensor<4x!ct_L1>
    %140 = "scf.for"(%135, %136, %135, %139) ({
    ^bb0(%arg34: index, %arg35: tensor<4x!ct_L1>):
      %206 = "tensor.empty"() : () -> tensor<1x!ct_L1>
      %207 = "tensor.extract"(%arg25, %137) : (tensor<1x!ct_L1>, index) -> !ct_L1
      %208 = "ckks.rotate"(%207, %arg34) : (!ct_L1, index) -> !ct_L1
      %209 = "tensor.insert"(%208, %206, %137) : (!ct_L1, tensor<1x!ct_L1>, index) -> tensor<1x!ct_L1>
      %210 = "tensor.insert_slice"(%209, %arg35, %arg34) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808>, static_sizes = array<i64: 1>, static_strides = array<i64: 1>}> : (tensor<1x!ct_L1>, tensor<4x!ct_L1>, index) -> tensor<4x!ct_L1>
      "scf.yield"(%210) : (tensor<4x!ct_L1>) -> ()
    }) : (index, index, index, tensor<4x!ct_L1>) -> tensor<4x!ct_L1>
    %141 = "preprocessing.load"(%arg27) <{element_type = !pt, site_id = 0 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %142 = "tensor.extract"(%140, %137) : (tensor<4x!ct_L1>, index) -> !ct_L1
    %143 = "ckks.mul_plain"(%142, %141) : (!ct_L1, !pt) -> !ct_L1_1
    %144 = "preprocessing.load"(%arg27) <{element_type = !pt1, site_id = 1 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt1
    %145 = "tensor.empty"() : () -> tensor<1x!ct_L1_1>
    %146 = "ckks.add_plain"(%143, %144) : (!ct_L1_1, !pt1) -> !ct_L1_1
    %147 = "tensor.insert"(%146, %145, %137) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
    %148 = "scf.for"(%135, %136, %135, %147) ({
    ^bb0(%arg32: index, %arg33: tensor<1x!ct_L1_1>):
      %195 = "arith.cmpi"(%arg32, %134) <{predicate = 2 : i64}> : (index, index) -> i1
      %196 = "scf.if"(%195) ({
        %197 = "tensor.extract"(%133, %arg32) : (tensor<16xf64>, index) -> f64
        %198 = "arith.cmpf"(%197, %132) <{fastmath = #arith.fastmath<none>, predicate = 6 : i64}> : (f64, f64) -> i1
        %199 = "scf.if"(%198) ({
          %200 = "preprocessing.load"(%arg27, %arg32) <{element_type = !pt, site_id = 2 : i32}> : (!preprocessing.storage<!pt, !pt1>, index) -> !pt
          %201 = "tensor.extract"(%140, %arg32) : (tensor<4x!ct_L1>, index) -> !ct_L1
          %202 = "ckks.mul_plain"(%201, %200) : (!ct_L1, !pt) -> !ct_L1_1
          %203 = "tensor.extract"(%arg33, %137) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
          %204 = "ckks.add"(%203, %202) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
          %205 = "tensor.insert"(%204, %145, %137) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
          "scf.yield"(%205) : (tensor<1x!ct_L1_1>) -> ()
        }, {
          "scf.yield"(%arg33) : (tensor<1x!ct_L1_1>) -> ()
        }) : (i1) -> tensor<1x!ct_L1_1>
        "scf.yield"(%199) : (tensor<1x!ct_L1_1>) -> ()
      }, {
        "scf.yield"(%arg33) : (tensor<1x!ct_L1_1>) -> ()
      }) : (i1) -> tensor<1x!ct_L1_1>
      "scf.yield"(%196) : (tensor<1x!ct_L1_1>) -> ()
    }) : (index, index, index, tensor<1x!ct_L1_1>) -> tensor<1x!ct_L1_1>
    %149 = "tensor.extract"(%148, %137) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
    %150 = "ckks.add_plain"(%149, %144) : (!ct_L1_1, !pt1) -> !ct_L1_1
    %151 = "tensor.insert"(%150, %145, %137) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
    %152 = "scf.for"(%135, %136, %135, %151) ({
    ^bb0(%arg28: index, %arg29: tensor<1x!ct_L1_1>):
      %157 = "arith.muli"(%arg28, %136) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %158 = "arith.cmpi"(%157, %134) <{predicate = 2 : i64}> : (index, index) -> i1
      %159 = "scf.if"(%158) ({
        %183 = "tensor.extract"(%133, %157) : (tensor<16xf64>, index) -> f64
        %184 = "arith.cmpf"(%183, %132) <{fastmath = #arith.fastmath<none>, predicate = 6 : i64}> : (f64, f64) -> i1
        %185 = "scf.if"(%184) ({
          %191 = "preprocessing.load"(%arg27, %arg28) <{element_type = !pt, site_id = 3 : i32}> : (!preprocessing.storage<!pt, !pt1>, index) -> !pt
          %192 = "ckks.mul_plain"(%142, %191) : (!ct_L1, !pt) -> !ct_L1_1
          %193 = "ckks.add_plain"(%192, %144) : (!ct_L1_1, !pt1) -> !ct_L1_1
          %194 = "tensor.insert"(%193, %145, %137) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
          "scf.yield"(%194) : (tensor<1x!ct_L1_1>) -> ()
        }, {
          %186 = "preprocessing.load"(%arg27, %arg28) <{element_type = !pt1, site_id = 4 : i32}> : (!preprocessing.storage<!pt, !pt1>, index) -> !pt1
          %187 = "tensor.splat"(%arg26) : (!ct_L1_1) -> tensor<1x!ct_L1_1>
          %188 = "tensor.extract"(%187, %137) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
          %189 = "lwe.radd_plain"(%188, %186) : (!ct_L1_1, !pt1) -> !ct_L1_1
          %190 = "tensor.insert"(%189, %145, %137) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
          "scf.yield"(%190) : (tensor<1x!ct_L1_1>) -> ()
        }) : (i1) -> tensor<1x!ct_L1_1>
        "scf.yield"(%185) : (tensor<1x!ct_L1_1>) -> ()
      }, {
        %178 = "preprocessing.load"(%arg27, %arg28) <{element_type = !pt1, site_id = 5 : i32}> : (!preprocessing.storage<!pt, !pt1>, index) -> !pt1
        %179 = "tensor.splat"(%arg26) : (!ct_L1_1) -> tensor<1x!ct_L1_1>
        %180 = "tensor.extract"(%179, %137) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
        %181 = "lwe.radd_plain"(%180, %178) : (!ct_L1_1, !pt1) -> !ct_L1_1
        %182 = "tensor.insert"(%181, %145, %137) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
        "scf.yield"(%182) : (tensor<1x!ct_L1_1>) -> ()
      }) : (i1) -> tensor<1x!ct_L1_1>
      %160 = "scf.for"(%135, %136, %135, %159) ({
      ^bb0(%arg30: index, %arg31: tensor<1x!ct_L1_1>):
        %166 = "arith.addi"(%arg30, %157) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
        %167 = "arith.cmpi"(%166, %134) <{predicate = 2 : i64}> : (index, index) -> i1
        %168 = "scf.if"(%167) ({
          %169 = "tensor.extract"(%133, %166) : (tensor<16xf64>, index) -> f64
          %170 = "arith.cmpf"(%169, %132) <{fastmath = #arith.fastmath<none>, predicate = 6 : i64}> : (f64, f64) -> i1
          %171 = "scf.if"(%170) ({
            %172 = "preprocessing.load"(%arg27, %arg28, %arg30) <{element_type = !pt, site_id = 6 : i32}> : (!preprocessing.storage<!pt, !pt1>, index, index) -> !pt
            %173 = "tensor.extract"(%140, %arg30) : (tensor<4x!ct_L1>, index) -> !ct_L1
            %174 = "ckks.mul_plain"(%173, %172) : (!ct_L1, !pt) -> !ct_L1_1
            %175 = "tensor.extract"(%arg31, %137) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
            %176 = "ckks.add"(%175, %174) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
            %177 = "tensor.insert"(%176, %145, %137) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
            "scf.yield"(%177) : (tensor<1x!ct_L1_1>) -> ()
          }, {
            "scf.yield"(%arg31) : (tensor<1x!ct_L1_1>) -> ()
          }) : (i1) -> tensor<1x!ct_L1_1>
          "scf.yield"(%171) : (tensor<1x!ct_L1_1>) -> ()
        }, {
          "scf.yield"(%arg31) : (tensor<1x!ct_L1_1>) -> ()
        }) : (i1) -> tensor<1x!ct_L1_1>
        "scf.yield"(%168) : (tensor<1x!ct_L1_1>) -> ()
      }) : (index, index, index, tensor<1x!ct_L1_1>) -> tensor<1x!ct_L1_1>
      %161 = "tensor.extract"(%160, %137) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
      %162 = "ckks.rotate"(%161, %157) : (!ct_L1_1, index) -> !ct_L1_1
      %163 = "tensor.extract"(%arg29, %137) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
      %164 = "ckks.add"(%163, %162) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
      %165 = "tensor.insert"(%164, %145, %137) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
      "scf.yield"(%165) : (tensor<1x!ct_L1_1>) -> ()
    }) : (index, index, index, tensor<1x!ct_L1_1>) -> tensor<1x!ct_L1_1>
    %153 = "tensor.empty"() : () -> tensor<1x!ct_L0>
    %154 = "tensor.extract"(%152, %137) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
    %155 = "ckks.rescale"(%154) <{to_ring = #ring_rns_L0_1_x8192}> : (!ct_L1_1) -> !ct_L0
    %156 = "tensor.insert"(%155, %153, %137) : (!ct_L0, tensor<1x!ct_L0>, index) -> tensor<1x!ct_L0>
    "func.return"(%156) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "conv2d_stride", roles = ["client.preprocessed", "server.evaluate"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 1, 1, 4, 4>}, tensor_ext.original_type = #original_type}, {client.enc_zero_arg = {func_name = "conv2d_stride", index = 0 : i64}}], function_type = (tensor<1x!ct_L1>, !ct_L1_1) -> tensor<1x!ct_L0>, res_attrs = [{tensor_ext.original_type = #original_type1}], sym_name = "conv2d_stride"}> ({
  ^bb0(%arg23: tensor<1x!ct_L1>, %arg24: !ct_L1_1):
    %130 = "func.call"() <{callee = @conv2d_stride__preprocessing}> : () -> !preprocessing.storage<!pt, !pt1>
    %131 = "func.call"(%arg23, %arg24, %130) <{callee = @conv2d_stride__preprocessed}> : (tensor<1x!ct_L1>, !ct_L1_1, !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0>
    "func.return"(%131) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "conv2d_stride", input_types = [tensor<1x1x4x4xf32>], result_types = [tensor<1x2x2x2xf32>], roles = ["entry"]}} : () -> ()
  "func.func"() <{function_type = (!pkey_L1) -> !ct_L1_1, sym_name = "conv2d_stride__encrypt__zero__0"}> ({
  ^bb0(%arg22: !pkey_L1):
    %127 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64xf64>}> : () -> tensor<64xf64>
    %128 = "lwe.rlwe_encode"(%127) <{encoding = #inverse_canonical_encoding1, level = 1 : i64, ring = #ring_f64_1_x8192}> : (tensor<64xf64>) -> !pt1
    %129 = "lwe.rlwe_encrypt"(%128, %arg22) : (!pt1, !pkey_L1) -> !ct_L1_1
    "func.return"(%129) : (!ct_L1_1) -> ()
  }) {heir.interface = {func_name = "conv2d_stride", index = 0 : i64, roles = ["client.encrypt_zero"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x1x4x4xf32>, !pkey_L1) -> tensor<1x!ct_L1>, sym_name = "conv2d_stride__encrypt__arg0"}> ({
  ^bb0(%arg14: tensor<1x1x4x4xf32>, %arg15: !pkey_L1):
    %106 = "arith.constant"() <{value = 0 : index}> : () -> index
    %107 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %108 = "arith.constant"() <{value = 16 : i32}> : () -> i32
    %109 = "arith.constant"() <{value = 4 : i32}> : () -> i32
    %110 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<1x64xf32>}> : () -> tensor<1x64xf32>
    %111 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %112 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %113 = "scf.for"(%111, %109, %112, %110) ({
    ^bb0(%arg16: i32, %arg17: tensor<1x64xf32>):
      %118 = "scf.for"(%111, %109, %112, %arg17) ({
      ^bb0(%arg18: i32, %arg19: tensor<1x64xf32>):
        %119 = "arith.muli"(%arg16, %109) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %120 = "arith.addi"(%119, %arg18) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %121 = "scf.for"(%120, %107, %108, %arg19) ({
        ^bb0(%arg20: i32, %arg21: tensor<1x64xf32>):
          %122 = "arith.index_cast"(%arg16) : (i32) -> index
          %123 = "arith.index_cast"(%arg18) : (i32) -> index
          %124 = "tensor.extract"(%arg14, %106, %106, %122, %123) : (tensor<1x1x4x4xf32>, index, index, index, index) -> f32
          %125 = "arith.index_cast"(%arg20) : (i32) -> index
          %126 = "tensor.insert"(%124, %arg21, %106, %125) : (f32, tensor<1x64xf32>, index, index) -> tensor<1x64xf32>
          "scf.yield"(%126) : (tensor<1x64xf32>) -> ()
        }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
        "scf.yield"(%121) : (tensor<1x64xf32>) -> ()
      }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
      "scf.yield"(%118) : (tensor<1x64xf32>) -> ()
    }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
    %114 = "tensor.extract_slice"(%113) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
    %115 = "lwe.rlwe_encode"(%114) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %116 = "lwe.rlwe_encrypt"(%115, %arg15) : (!pt, !pkey_L1) -> !ct_L1
    %117 = "tensor.from_elements"(%116) : (!ct_L1) -> tensor<1x!ct_L1>
    "func.return"(%117) : (tensor<1x!ct_L1>) -> ()
  }) {heir.interface = {func_name = "conv2d_stride", index = 0 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x!ct_L0>, !skey_L0) -> tensor<1x2x2x2xf32>, sym_name = "conv2d_stride__decrypt__result0"}> ({
  ^bb0(%arg0: tensor<1x!ct_L0>, %arg1: !skey_L0):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 56 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 63 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<1x2x2x2xf32>}> : () -> tensor<1x2x2x2xf32>
    %4 = "arith.constant"() <{value = 7 : i32}> : () -> i32
    %5 = "arith.constant"() <{value = 16 : i32}> : () -> i32
    %6 = "arith.constant"() <{value = 24 : i32}> : () -> i32
    %7 = "arith.constant"() <{value = 30 : i32}> : () -> i32
    %8 = "arith.constant"() <{value = 15 : i32}> : () -> i32
    %9 = "arith.constant"() <{value = 49 : i32}> : () -> i32
    %10 = "arith.constant"() <{value = 4 : i32}> : () -> i32
    %11 = "arith.constant"() <{value = 9 : i32}> : () -> i32
    %12 = "arith.constant"() <{value = 289 : i32}> : () -> i32
    %13 = "arith.constant"() <{value = 288 : i32}> : () -> i32
    %14 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %15 = "arith.constant"() <{value = 32 : i32}> : () -> i32
    %16 = "arith.constant"() <{value = 3 : i32}> : () -> i32
    %17 = "arith.constant"() <{value = 2 : i32}> : () -> i32
    %18 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %19 = "arith.constant"() <{value = 55 : i32}> : () -> i32
    %20 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %21 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<1x56xf32>}> : () -> tensor<1x56xf32>
    %22 = "arith.constant"() <{value = 59 : i32}> : () -> i32
    %23 = "tensor.extract"(%arg0, %0) : (tensor<1x!ct_L0>, index) -> !ct_L0
    %24 = "lwe.rlwe_decrypt"(%23, %arg1) : (!ct_L0, !skey_L0) -> !pt
    %25 = "lwe.rlwe_decode"(%24) <{encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192}> : (!pt) -> tensor<1x64xf32>
    %26 = "scf.for"(%20, %1, %18, %21) ({
    ^bb0(%arg10: i32, %arg11: tensor<1x56xf32>):
      %50 = "arith.subi"(%19, %arg10) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %51 = "arith.floordivsi"(%50, %17) : (i32, i32) -> i32
      %52 = "arith.muli"(%51, %17) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %53 = "arith.subi"(%50, %52) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %54 = "arith.subi"(%20, %53) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %55 = "arith.addi"(%54, %50) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %56 = "arith.subi"(%55, %16) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %57 = "arith.muli"(%53, %15) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %58 = "arith.subi"(%20, %57) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %59 = "arith.muli"(%50, %14) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %60 = "arith.addi"(%58, %59) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %61 = "arith.addi"(%60, %13) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %62 = "arith.floordivsi"(%61, %12) : (i32, i32) -> i32
      %63 = "arith.maxsi"(%56, %62) : (i32, i32) -> i32
      %64 = "arith.muli"(%53, %17) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %65 = "arith.subi"(%20, %64) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %66 = "arith.addi"(%65, %50) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %67 = "arith.addi"(%66, %11) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %68 = "arith.subi"(%22, %arg10) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %69 = "arith.floordivsi"(%68, %10) : (i32, i32) -> i32
      %70 = "arith.subi"(%51, %69) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %71 = "arith.addi"(%70, %9) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %72 = "arith.minsi"(%67, %71) : (i32, i32) -> i32
      %73 = "arith.addi"(%72, %18) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %74 = "scf.for"(%63, %73, %18, %arg11) ({
      ^bb0(%arg12: i32, %arg13: tensor<1x56xf32>):
        %75 = "arith.subi"(%arg12, %63) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %76 = "arith.subi"(%72, %75) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %77 = "arith.muli"(%76, %10) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %78 = "arith.addi"(%64, %77) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %79 = "arith.addi"(%78, %8) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %80 = "arith.addi"(%76, %18) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %81 = "arith.floordivsi"(%80, %17) : (i32, i32) -> i32
        %82 = "arith.muli"(%81, %17) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %83 = "arith.subi"(%80, %82) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %84 = "arith.muli"(%83, %8) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %85 = "arith.muli"(%50, %10) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %86 = "arith.addi"(%84, %85) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %87 = "arith.cmpi"(%79, %86) <{predicate = 5 : i64}> : (i32, i32) -> i1
        %88 = "arith.addi"(%86, %7) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %89 = "arith.cmpi"(%88, %78) <{predicate = 5 : i64}> : (i32, i32) -> i1
        %90 = "arith.andi"(%87, %89) : (i1, i1) -> i1
        %91 = "arith.muli"(%81, %8) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %92 = "arith.addi"(%53, %91) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %93 = "arith.floordivsi"(%76, %5) : (i32, i32) -> i32
        %94 = "arith.muli"(%93, %6) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %95 = "arith.addi"(%92, %94) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %96 = "arith.muli"(%50, %17) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %97 = "arith.muli"(%76, %4) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %98 = "arith.addi"(%96, %97) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %99 = "arith.cmpi"(%95, %98) <{predicate = 0 : i64}> : (i32, i32) -> i1
        %100 = "arith.andi"(%90, %99) : (i1, i1) -> i1
        %101 = "scf.if"(%100) ({
          %102 = "arith.index_cast"(%76) : (i32) -> index
          %103 = "tensor.extract"(%25, %0, %102) : (tensor<1x64xf32>, index, index) -> f32
          %104 = "arith.index_cast"(%50) : (i32) -> index
          %105 = "tensor.insert"(%103, %arg13, %0, %104) : (f32, tensor<1x56xf32>, index, index) -> tensor<1x56xf32>
          "scf.yield"(%105) : (tensor<1x56xf32>) -> ()
        }, {
          "scf.yield"(%arg13) : (tensor<1x56xf32>) -> ()
        }) : (i1) -> tensor<1x56xf32>
        "scf.yield"(%101) : (tensor<1x56xf32>) -> ()
      }) : (i32, i32, i32, tensor<1x56xf32>) -> tensor<1x56xf32>
      "scf.yield"(%74) : (tensor<1x56xf32>) -> ()
    }) : (i32, i32, i32, tensor<1x56xf32>) -> tensor<1x56xf32>
    %27 = "scf.for"(%20, %17, %18, %3) ({
    ^bb0(%arg2: i32, %arg3: tensor<1x2x2x2xf32>):
      %28 = "arith.subi"(%18, %arg2) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %29 = "scf.for"(%20, %17, %18, %arg3) ({
      ^bb0(%arg4: i32, %arg5: tensor<1x2x2x2xf32>):
        %30 = "arith.subi"(%18, %arg4) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %31 = "scf.for"(%20, %17, %18, %arg5) ({
        ^bb0(%arg6: i32, %arg7: tensor<1x2x2x2xf32>):
          %32 = "arith.subi"(%18, %arg6) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
          %33 = "arith.muli"(%28, %10) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
          %34 = "arith.muli"(%30, %17) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
          %35 = "arith.addi"(%33, %34) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
          %36 = "arith.addi"(%35, %32) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
          %37 = "scf.for"(%36, %14, %5, %arg7) ({
          ^bb0(%arg8: i32, %arg9: tensor<1x2x2x2xf32>):
            %38 = "arith.subi"(%2, %36) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
            %39 = "arith.floordivsi"(%38, %5) : (i32, i32) -> i32
            %40 = "arith.muli"(%39, %5) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
            %41 = "arith.addi"(%36, %40) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
            %42 = "arith.subi"(%arg8, %36) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
            %43 = "arith.subi"(%41, %42) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
            %44 = "arith.index_cast"(%43) : (i32) -> index
            %45 = "tensor.extract"(%26, %0, %44) : (tensor<1x56xf32>, index, index) -> f32
            %46 = "arith.index_cast"(%28) : (i32) -> index
            %47 = "arith.index_cast"(%30) : (i32) -> index
            %48 = "arith.index_cast"(%32) : (i32) -> index
            %49 = "tensor.insert"(%45, %arg9, %0, %46, %47, %48) : (f32, tensor<1x2x2x2xf32>, index, index, index, index) -> tensor<1x2x2x2xf32>
            "scf.yield"(%49) : (tensor<1x2x2x2xf32>) -> ()
          }) : (i32, i32, i32, tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
          "scf.yield"(%37) : (tensor<1x2x2x2xf32>) -> ()
        }) : (i32, i32, i32, tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
        "scf.yield"(%31) : (tensor<1x2x2x2xf32>) -> ()
      }) : (i32, i32, i32, tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
      "scf.yield"(%29) : (tensor<1x2x2x2xf32>) -> ()
    }) : (i32, i32, i32, tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
    "func.return"(%27) : (tensor<1x2x2x2xf32>) -> ()
  }) {heir.interface = {func_name = "conv2d_stride", index = 0 : i64, roles = ["client.decrypt"]}} : () -> ()
}) {backend.openfhe, ckks.schemeParam = #ckks.scheme_param<logN = 13, Q = [36028797018652673, 35184372121601], P = [1152921504606994433], logDefaultScale = 45>, scheme.actual_slot_count = 4096 : i64, scheme.ckks, scheme.requested_slot_count = 64 : i64} : () -> ()

