!Z35184372121601_i64 = !mod_arith.int<35184372121601 : i64>
!Z36028797018652673_i64 = !mod_arith.int<36028797018652673 : i64>
#inverse_canonical_encoding = #lwe.inverse_canonical_encoding<scaling_factor = 45>
#inverse_canonical_encoding1 = #lwe.inverse_canonical_encoding<scaling_factor = 90>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 4 = 0 and 0 <= i0 <= 3 and 0 <= slot <= 63 }">
#layout1 = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 63 }">
#modulus_chain_L1_C0 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 0>
#modulus_chain_L1_C1 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 1>
#ring_f64_1_x8192 = #polynomial.ring<coefficientType = f64, polynomialModulus = <1 + x**8192>>
!rns_L0 = !rns.rns<!Z36028797018652673_i64>
!rns_L1 = !rns.rns<!Z36028797018652673_i64, !Z35184372121601_i64>
#original_type = #tensor_ext.original_type<originalType = tensor<4xf32>, layout = #layout>
#original_type1 = #tensor_ext.original_type<originalType = tensor<8xf32>, layout = #layout1>
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
  "func.func"() <{function_type = () -> !preprocessing.storage<!pt, !pt1>, sym_name = "matvec_8x4__preprocessing"}> ({
    %68 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64xf32>}> : () -> tensor<64xf32>
    %69 = "arith.constant"() <{value = dense<[[-1.631000e-01, -0.0834999978, 5.060000e-02, 3.329000e-01, -3.216000e-01, 3.790000e-02, 3.269000e-01, -3.460000e-02, -1.631000e-01, -0.0834999978, 5.060000e-02, 3.329000e-01, -3.216000e-01, 3.790000e-02, 3.269000e-01, -3.460000e-02, -1.631000e-01, -0.0834999978, 5.060000e-02, 3.329000e-01, -3.216000e-01, 3.790000e-02, 3.269000e-01, -3.460000e-02, -1.631000e-01, -0.0834999978, 5.060000e-02, 3.329000e-01, -3.216000e-01, 3.790000e-02, 3.269000e-01, -3.460000e-02, -1.631000e-01, -0.0834999978, 5.060000e-02, 3.329000e-01, -3.216000e-01, 3.790000e-02, 3.269000e-01, -3.460000e-02, -1.631000e-01, -0.0834999978, 5.060000e-02, 3.329000e-01, -3.216000e-01, 3.790000e-02, 3.269000e-01, -3.460000e-02, -1.631000e-01, -0.0834999978, 5.060000e-02, 3.329000e-01, -3.216000e-01, 3.790000e-02, 3.269000e-01, -3.460000e-02, -1.631000e-01, -0.0834999978, 5.060000e-02, 3.329000e-01, -3.216000e-01, 3.790000e-02, 3.269000e-01, -3.460000e-02]]> : tensor<1x64xf32>}> : () -> tensor<1x64xf32>
    %70 = "arith.constant"() <{value = dense<[[-1.631000e-01, -0.0834999978, 5.060000e-02, 3.329000e-01, -3.216000e-01, 3.790000e-02, 3.269000e-01, -3.460000e-02, -1.631000e-01, -0.0834999978, 5.060000e-02, 3.329000e-01, -3.216000e-01, 3.790000e-02, 3.269000e-01, -3.460000e-02, -1.631000e-01, -0.0834999978, 5.060000e-02, 3.329000e-01, -3.216000e-01, 3.790000e-02, 3.269000e-01, -3.460000e-02, -1.631000e-01, -0.0834999978, 5.060000e-02, 3.329000e-01, -3.216000e-01, 3.790000e-02, 3.269000e-01, -3.460000e-02, -1.631000e-01, -0.0834999978, 5.060000e-02, 3.329000e-01, -3.216000e-01, 3.790000e-02, 3.269000e-01, -3.460000e-02, -1.631000e-01, -0.0834999978, 5.060000e-02, 3.329000e-01, -3.216000e-01, 3.790000e-02, 3.269000e-01, -3.460000e-02, -1.631000e-01, -0.0834999978, 5.060000e-02, 3.329000e-01, -3.216000e-01, 3.790000e-02, 3.269000e-01, -3.460000e-02, -1.631000e-01, -0.0834999978, 5.060000e-02, 3.329000e-01, -3.216000e-01, 3.790000e-02]]> : tensor<1x62xf32>}> : () -> tensor<1x62xf32>
    %71 = "arith.constant"() <{value = dense<[[3.269000e-01, -3.460000e-02]]> : tensor<1x2xf32>}> : () -> tensor<1x2xf32>
    %72 = "arith.constant"() <{value = dense<[[-4.108000e-01, -1.154000e-01, -2.718000e-01, 3.230000e-02, 3.878000e-01, 2.838000e-01, -3.511000e-01, -3.533000e-01, -4.108000e-01, -1.154000e-01, -2.718000e-01, 3.230000e-02, 3.878000e-01, 2.838000e-01, -3.511000e-01, -3.533000e-01, -4.108000e-01, -1.154000e-01, -2.718000e-01, 3.230000e-02, 3.878000e-01, 2.838000e-01, -3.511000e-01, -3.533000e-01, -4.108000e-01, -1.154000e-01, -2.718000e-01, 3.230000e-02, 3.878000e-01, 2.838000e-01, -3.511000e-01, -3.533000e-01, -4.108000e-01, -1.154000e-01, -2.718000e-01, 3.230000e-02, 3.878000e-01, 2.838000e-01, -3.511000e-01, -3.533000e-01, -4.108000e-01, -1.154000e-01, -2.718000e-01, 3.230000e-02, 3.878000e-01, 2.838000e-01, -3.511000e-01, -3.533000e-01, -4.108000e-01, -1.154000e-01, -2.718000e-01, 3.230000e-02, 3.878000e-01, 2.838000e-01, -3.511000e-01, -3.533000e-01, -4.108000e-01, -1.154000e-01, -2.718000e-01, 3.230000e-02, 3.878000e-01, 2.838000e-01, -3.511000e-01, -3.533000e-01]]> : tensor<1x64xf32>}> : () -> tensor<1x64xf32>
    %73 = "arith.constant"() <{value = dense<[[-4.108000e-01, -1.154000e-01, -2.718000e-01, 3.230000e-02, 3.878000e-01, 2.838000e-01, -3.511000e-01, -3.533000e-01, -4.108000e-01, -1.154000e-01, -2.718000e-01, 3.230000e-02, 3.878000e-01, 2.838000e-01, -3.511000e-01, -3.533000e-01, -4.108000e-01, -1.154000e-01, -2.718000e-01, 3.230000e-02, 3.878000e-01, 2.838000e-01, -3.511000e-01, -3.533000e-01, -4.108000e-01, -1.154000e-01, -2.718000e-01, 3.230000e-02, 3.878000e-01, 2.838000e-01, -3.511000e-01, -3.533000e-01, -4.108000e-01, -1.154000e-01, -2.718000e-01, 3.230000e-02, 3.878000e-01, 2.838000e-01, -3.511000e-01, -3.533000e-01, -4.108000e-01, -1.154000e-01, -2.718000e-01, 3.230000e-02, 3.878000e-01, 2.838000e-01, -3.511000e-01, -3.533000e-01, -4.108000e-01, -1.154000e-01, -2.718000e-01, 3.230000e-02, 3.878000e-01, 2.838000e-01, -3.511000e-01, -3.533000e-01, -4.108000e-01, -1.154000e-01, -2.718000e-01, 3.230000e-02, 3.878000e-01, 2.838000e-01]]> : tensor<1x62xf32>}> : () -> tensor<1x62xf32>
    %74 = "arith.constant"() <{value = dense<[[-3.511000e-01, -3.533000e-01]]> : tensor<1x2xf32>}> : () -> tensor<1x2xf32>
    %75 = "arith.constant"() <{value = dense<[4.432000e-01, 3.490000e-02, 4.520000e-02, 8.540000e-02, -4.945000e-01, 1.674000e-01, -2.982000e-01, -4.671000e-01, 4.432000e-01, 3.490000e-02, 4.520000e-02, 8.540000e-02, -4.945000e-01, 1.674000e-01, -2.982000e-01, -4.671000e-01, 4.432000e-01, 3.490000e-02, 4.520000e-02, 8.540000e-02, -4.945000e-01, 1.674000e-01, -2.982000e-01, -4.671000e-01, 4.432000e-01, 3.490000e-02, 4.520000e-02, 8.540000e-02, -4.945000e-01, 1.674000e-01, -2.982000e-01, -4.671000e-01, 4.432000e-01, 3.490000e-02, 4.520000e-02, 8.540000e-02, -4.945000e-01, 1.674000e-01, -2.982000e-01, -4.671000e-01, 4.432000e-01, 3.490000e-02, 4.520000e-02, 8.540000e-02, -4.945000e-01, 1.674000e-01, -2.982000e-01, -4.671000e-01, 4.432000e-01, 3.490000e-02, 4.520000e-02, 8.540000e-02, -4.945000e-01, 1.674000e-01, -2.982000e-01, -4.671000e-01, 4.432000e-01, 3.490000e-02, 4.520000e-02, 8.540000e-02, -4.945000e-01, 1.674000e-01, -2.982000e-01, -4.671000e-01]> : tensor<64xf32>}> : () -> tensor<64xf32>
    %76 = "arith.constant"() <{value = dense<[-4.673000e-01, -3.489000e-01, -2.352000e-01, 4.440000e-02, -3.688000e-01, -7.700000e-02, 4.787000e-01, -3.106000e-01, -4.673000e-01, -3.489000e-01, -2.352000e-01, 4.440000e-02, -3.688000e-01, -7.700000e-02, 4.787000e-01, -3.106000e-01, -4.673000e-01, -3.489000e-01, -2.352000e-01, 4.440000e-02, -3.688000e-01, -7.700000e-02, 4.787000e-01, -3.106000e-01, -4.673000e-01, -3.489000e-01, -2.352000e-01, 4.440000e-02, -3.688000e-01, -7.700000e-02, 4.787000e-01, -3.106000e-01, -4.673000e-01, -3.489000e-01, -2.352000e-01, 4.440000e-02, -3.688000e-01, -7.700000e-02, 4.787000e-01, -3.106000e-01, -4.673000e-01, -3.489000e-01, -2.352000e-01, 4.440000e-02, -3.688000e-01, -7.700000e-02, 4.787000e-01, -3.106000e-01, -4.673000e-01, -3.489000e-01, -2.352000e-01, 4.440000e-02, -3.688000e-01, -7.700000e-02, 4.787000e-01, -3.106000e-01, -4.673000e-01, -3.489000e-01, -2.352000e-01, 4.440000e-02, -3.688000e-01, -7.700000e-02, 4.787000e-01, -3.106000e-01]> : tensor<64xf32>}> : () -> tensor<64xf32>
    %77 = "arith.constant"() <{value = dense<[-6.336000e-01, 5.422000e-01, 9.853000e-01, -5.279000e-01, -0.819999992, -9.646000e-01, -2.949000e-01, 4.819000e-01, -6.336000e-01, 5.422000e-01, 9.853000e-01, -5.279000e-01, -0.819999992, -9.646000e-01, -2.949000e-01, 4.819000e-01, -6.336000e-01, 5.422000e-01, 9.853000e-01, -5.279000e-01, -0.819999992, -9.646000e-01, -2.949000e-01, 4.819000e-01, -6.336000e-01, 5.422000e-01, 9.853000e-01, -5.279000e-01, -0.819999992, -9.646000e-01, -2.949000e-01, 4.819000e-01, -6.336000e-01, 5.422000e-01, 9.853000e-01, -5.279000e-01, -0.819999992, -9.646000e-01, -2.949000e-01, 4.819000e-01, -6.336000e-01, 5.422000e-01, 9.853000e-01, -5.279000e-01, -0.819999992, -9.646000e-01, -2.949000e-01, 4.819000e-01, -6.336000e-01, 5.422000e-01, 9.853000e-01, -5.279000e-01, -0.819999992, -9.646000e-01, -2.949000e-01, 4.819000e-01, -6.336000e-01, 5.422000e-01, 9.853000e-01, -5.279000e-01, -0.819999992, -9.646000e-01, -2.949000e-01, 4.819000e-01]> : tensor<64xf32>}> : () -> tensor<64xf32>
    %78 = "preprocessing.empty"() : () -> !preprocessing.storage<!pt, !pt1>
    %79 = "tensor.insert_slice"(%70, %69) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, static_offsets = array<i64: 0, 2>, static_sizes = array<i64: 1, 62>, static_strides = array<i64: 1, 1>}> : (tensor<1x62xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %80 = "tensor.insert_slice"(%71, %79) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 2>, static_strides = array<i64: 1, 1>}> : (tensor<1x2xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %81 = "tensor.insert_slice"(%73, %72) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, static_offsets = array<i64: 0, 2>, static_sizes = array<i64: 1, 62>, static_strides = array<i64: 1, 1>}> : (tensor<1x62xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %82 = "tensor.insert_slice"(%74, %81) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 2>, static_strides = array<i64: 1, 1>}> : (tensor<1x2xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %83 = "lwe.rlwe_encode"(%75) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%83, %78) <{element_type = !pt, site_id = 0 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %84 = "lwe.rlwe_encode"(%68) <{encoding = #inverse_canonical_encoding1, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 90 : i64}> : (tensor<64xf32>) -> !pt1
    "preprocessing.store"(%84, %78) <{element_type = !pt1, site_id = 1 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>) -> ()
    %85 = "lwe.rlwe_encode"(%76) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%85, %78) <{element_type = !pt, site_id = 2 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %86 = "tensor.extract_slice"(%80) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
    %87 = "lwe.rlwe_encode"(%86) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%87, %78) <{element_type = !pt, site_id = 3 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %88 = "tensor.extract_slice"(%82) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
    %89 = "lwe.rlwe_encode"(%88) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%89, %78) <{element_type = !pt, site_id = 4 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %90 = "lwe.rlwe_encode"(%77) <{encoding = #inverse_canonical_encoding1, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 90 : i64}> : (tensor<64xf32>) -> !pt1
    "preprocessing.store"(%90, %78) <{element_type = !pt1, site_id = 5 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>) -> ()
    "func.return"(%78) : (!preprocessing.storage<!pt, !pt1>) -> ()
  }) {heir.interface = {entry_arg_indices = array<i64>, func_name = "matvec_8x4", roles = ["server.preprocessing"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 4>}, tensor_ext.original_type = #original_type}, {}], function_type = (tensor<1x!ct_L1>, !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0>, sym_name = "matvec_8x4__preprocessed"}> ({
  ^bb0(%arg13: tensor<1x!ct_L1>, %arg14: !preprocessing.storage<!pt, !pt1>):
    %42 = "arith.constant"() <{value = 1 : index}> : () -> index
    %43 = "arith.constant"() <{value = 2 : index}> : () -> index
    %44 = "arith.constant"() <{value = 0 : index}> : () -> index
    %45 = "tensor.extract"(%arg13, %44) : (tensor<1x!ct_L1>, index) -> !ct_L1
    %46 = "ckks.rotate"(%45, %42) : (!ct_L1, index) -> !ct_L1
    %47 = "preprocessing.load"(%arg14) <{element_type = !pt, site_id = 0 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %48 = "ckks.mul_plain"(%45, %47) : (!ct_L1, !pt) -> !ct_L1_1
    %49 = "preprocessing.load"(%arg14) <{element_type = !pt1, site_id = 1 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt1
    %50 = "ckks.add_plain"(%48, %49) : (!ct_L1_1, !pt1) -> !ct_L1_1
    %51 = "preprocessing.load"(%arg14) <{element_type = !pt, site_id = 2 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %52 = "ckks.mul_plain"(%46, %51) : (!ct_L1, !pt) -> !ct_L1_1
    %53 = "ckks.add"(%50, %52) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %54 = "ckks.add_plain"(%53, %49) : (!ct_L1_1, !pt1) -> !ct_L1_1
    %55 = "preprocessing.load"(%arg14) <{element_type = !pt, site_id = 3 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %56 = "ckks.mul_plain"(%45, %55) : (!ct_L1, !pt) -> !ct_L1_1
    %57 = "ckks.add_plain"(%56, %49) : (!ct_L1_1, !pt1) -> !ct_L1_1
    %58 = "preprocessing.load"(%arg14) <{element_type = !pt, site_id = 4 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %59 = "ckks.mul_plain"(%46, %58) : (!ct_L1, !pt) -> !ct_L1_1
    %60 = "ckks.add"(%57, %59) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %61 = "ckks.rotate"(%60, %43) : (!ct_L1_1, index) -> !ct_L1_1
    %62 = "ckks.add"(%54, %61) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %63 = "preprocessing.load"(%arg14) <{element_type = !pt1, site_id = 5 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt1
    %64 = "ckks.add_plain"(%62, %63) : (!ct_L1_1, !pt1) -> !ct_L1_1
    %65 = "tensor.empty"() : () -> tensor<1x!ct_L0>
    %66 = "ckks.rescale"(%64) <{to_ring = #ring_rns_L0_1_x8192}> : (!ct_L1_1) -> !ct_L0
    %67 = "tensor.insert"(%66, %65, %44) : (!ct_L0, tensor<1x!ct_L0>, index) -> tensor<1x!ct_L0>
    "func.return"(%67) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "matvec_8x4", roles = ["client.preprocessed", "server.evaluate"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 4>}, tensor_ext.original_type = #original_type}], function_type = (tensor<1x!ct_L1>) -> tensor<1x!ct_L0>, res_attrs = [{tensor_ext.original_type = #original_type1}], sym_name = "matvec_8x4"}> ({
  ^bb0(%arg12: tensor<1x!ct_L1>):
    %40 = "func.call"() <{callee = @matvec_8x4__preprocessing}> : () -> !preprocessing.storage<!pt, !pt1>
    %41 = "func.call"(%arg12, %40) <{callee = @matvec_8x4__preprocessed}> : (tensor<1x!ct_L1>, !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0>
    "func.return"(%41) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "matvec_8x4", input_types = [tensor<4xf32>], result_types = [tensor<8xf32>], roles = ["entry"]}} : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>, !pkey_L1) -> tensor<1x!ct_L1>, sym_name = "matvec_8x4__encrypt__arg0"}> ({
  ^bb0(%arg6: tensor<4xf32>, %arg7: !pkey_L1):
    %24 = "arith.constant"() <{value = 0 : index}> : () -> index
    %25 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %26 = "arith.constant"() <{value = 4 : i32}> : () -> i32
    %27 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<1x64xf32>}> : () -> tensor<1x64xf32>
    %28 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %29 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %30 = "scf.for"(%28, %26, %29, %27) ({
    ^bb0(%arg8: i32, %arg9: tensor<1x64xf32>):
      %35 = "scf.for"(%arg8, %25, %26, %arg9) ({
      ^bb0(%arg10: i32, %arg11: tensor<1x64xf32>):
        %36 = "arith.index_cast"(%arg8) : (i32) -> index
        %37 = "tensor.extract"(%arg6, %36) : (tensor<4xf32>, index) -> f32
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
  }) {heir.interface = {func_name = "matvec_8x4", index = 0 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x!ct_L0>, !skey_L0) -> tensor<8xf32>, sym_name = "matvec_8x4__decrypt__result0"}> ({
  ^bb0(%arg0: tensor<1x!ct_L0>, %arg1: !skey_L0):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 8 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %4 = "arith.constant"() <{value = 7 : i32}> : () -> i32
    %5 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %6 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<8xf32>}> : () -> tensor<8xf32>
    %7 = "arith.constant"() <{value = 56 : i32}> : () -> i32
    %8 = "tensor.extract"(%arg0, %0) : (tensor<1x!ct_L0>, index) -> !ct_L0
    %9 = "lwe.rlwe_decrypt"(%8, %arg1) : (!ct_L0, !skey_L0) -> !pt
    %10 = "lwe.rlwe_decode"(%9) <{encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192}> : (!pt) -> tensor<1x64xf32>
    %11 = "scf.for"(%5, %2, %3, %6) ({
    ^bb0(%arg2: i32, %arg3: tensor<8xf32>):
      %12 = "arith.subi"(%4, %arg2) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %13 = "scf.for"(%12, %1, %2, %arg3) ({
      ^bb0(%arg4: i32, %arg5: tensor<8xf32>):
        %14 = "arith.addi"(%arg2, %7) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %15 = "arith.floordivsi"(%14, %2) : (i32, i32) -> i32
        %16 = "arith.muli"(%15, %2) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %17 = "arith.addi"(%12, %16) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %18 = "arith.subi"(%arg4, %12) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %19 = "arith.subi"(%17, %18) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %20 = "arith.index_cast"(%19) : (i32) -> index
        %21 = "tensor.extract"(%10, %0, %20) : (tensor<1x64xf32>, index, index) -> f32
        %22 = "arith.index_cast"(%12) : (i32) -> index
        %23 = "tensor.insert"(%21, %arg5, %22) : (f32, tensor<8xf32>, index) -> tensor<8xf32>
        "scf.yield"(%23) : (tensor<8xf32>) -> ()
      }) : (i32, i32, i32, tensor<8xf32>) -> tensor<8xf32>
      "scf.yield"(%13) : (tensor<8xf32>) -> ()
    }) : (i32, i32, i32, tensor<8xf32>) -> tensor<8xf32>
    "func.return"(%11) : (tensor<8xf32>) -> ()
  }) {heir.interface = {func_name = "matvec_8x4", index = 0 : i64, roles = ["client.decrypt"]}} : () -> ()
}) {backend.openfhe, ckks.schemeParam = #ckks.scheme_param<logN = 13, Q = [36028797018652673, 35184372121601], P = [1152921504606994433], logDefaultScale = 45>, scheme.actual_slot_count = 4096 : i64, scheme.ckks, scheme.requested_slot_count = 64 : i64} : () -> ()

