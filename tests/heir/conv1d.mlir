!Z35184372121601_i64 = !mod_arith.int<35184372121601 : i64>
!Z36028797018652673_i64 = !mod_arith.int<36028797018652673 : i64>
#inverse_canonical_encoding = #lwe.inverse_canonical_encoding<scaling_factor = 45>
#inverse_canonical_encoding1 = #lwe.inverse_canonical_encoding<scaling_factor = 90>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [i0, i1, i2] -> [ct, slot] : i0 = 0 and i1 = 0 and ct = 0 and (-i2 + slot) mod 8 = 0 and 0 <= i2 <= 7 and 0 <= slot <= 63 }">
#layout1 = #tensor_ext.layout<"{ [i0, i1, i2] -> [ct, slot] : i0 = 0 and i1 = 0 and ct = 0 and (-i2 + slot) mod 8 = 0 and 0 <= i2 <= 5 and 0 <= slot <= 63 }">
#modulus_chain_L1_C0 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 0>
#modulus_chain_L1_C1 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 1>
#ring_f64_1_x8192 = #polynomial.ring<coefficientType = f64, polynomialModulus = <1 + x**8192>>
!rns_L0 = !rns.rns<!Z36028797018652673_i64>
!rns_L1 = !rns.rns<!Z36028797018652673_i64, !Z35184372121601_i64>
#original_type = #tensor_ext.original_type<originalType = tensor<1x1x8xf32>, layout = #layout>
#original_type1 = #tensor_ext.original_type<originalType = tensor<1x1x6xf32>, layout = #layout1>
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
  "func.func"() <{function_type = () -> !preprocessing.storage<!pt, !pt1>, sym_name = "conv1d__preprocessing"}> ({
    %125 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64xf32>}> : () -> tensor<64xf32>
    %126 = "arith.constant"() <{value = dense<"0x0000803F0000803F0000803F0000803F0000803F0000803F00000000000000000000803F0000803F0000803F0000803F0000803F0000803F00000000000000000000803F0000803F0000803F0000803F0000803F0000803F00000000000000000000803F0000803F0000803F0000803F0000803F0000803F00000000000000000000803F0000803F0000803F0000803F0000803F0000803F00000000000000000000803F0000803F0000803F0000803F0000803F0000803F00000000000000000000803F0000803F0000803F0000803F0000803F0000803F00000000000000000000803F0000803F0000803F0000803F0000803F0000803F00000000000000000000003F0000003F0000003F0000003F0000003F0000003F00000000000000000000003F0000003F0000003F0000003F0000003F0000003F00000000000000000000003F0000003F0000003F0000003F0000003F0000003F00000000000000000000003F0000003F0000003F0000003F0000003F0000003F00000000000000000000003F0000003F0000003F0000003F0000003F0000003F00000000000000000000003F0000003F0000003F0000003F0000003F0000003F00000000000000000000003F0000003F0000003F0000003F0000003F0000003F00000000000000000000003F0000003F0000003F0000003F0000003F0000003F0000000000000000000080BF000080BF000080BF000080BF000080BF000080BF0000000000000000000080BF000080BF000080BF000080BF000080BF000080BF0000000000000000000080BF000080BF000080BF000080BF000080BF000080BF0000000000000000000080BF000080BF000080BF000080BF000080BF000080BF0000000000000000000080BF000080BF000080BF000080BF000080BF000080BF0000000000000000000080BF000080BF000080BF000080BF000080BF000080BF0000000000000000000080BF000080BF000080BF000080BF000080BF000080BF0000000000000000000080BF000080BF000080BF000080BF000080BF000080BF00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"> : tensor<8x64xf32>}> : () -> tensor<8x64xf32>
    %127 = "arith.constant"() <{value = 3 : index}> : () -> index
    %128 = "arith.constant"() <{value = 1 : index}> : () -> index
    %129 = "arith.constant"() <{value = 8 : index}> : () -> index
    %130 = "arith.constant"() <{value = dense<[1.000000e+00, 1.000000e+00, 1.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]> : tensor<8xf64>}> : () -> tensor<8xf64>
    %131 = "arith.constant"() <{value = 0.000000e+00 : f64}> : () -> f64
    %132 = "arith.constant"() <{value = -3 : index}> : () -> index
    %133 = "arith.constant"() <{value = 64 : index}> : () -> index
    %134 = "arith.constant"() <{value = dense<[1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 0.000000e+00, 0.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 0.000000e+00, 0.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 0.000000e+00, 0.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 0.000000e+00, 0.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 0.000000e+00, 0.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 0.000000e+00, 0.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 0.000000e+00, 0.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 0.000000e+00, 0.000000e+00]> : tensor<64xf32>}> : () -> tensor<64xf32>
    %135 = "preprocessing.empty"() : () -> !preprocessing.storage<!pt, !pt1>
    %136 = "lwe.rlwe_encode"(%134) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%136, %135) <{element_type = !pt, site_id = 0 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %137 = "lwe.rlwe_encode"(%125) <{encoding = #inverse_canonical_encoding1, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 90 : i64}> : (tensor<64xf32>) -> !pt1
    "preprocessing.store"(%137, %135) <{element_type = !pt1, site_id = 1 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>) -> ()
    "scf.for"(%128, %127, %128) ({
    ^bb0(%arg28: index):
      %170 = "arith.cmpi"(%arg28, %129) <{predicate = 2 : i64}> : (index, index) -> i1
      "scf.if"(%170) ({
        %171 = "tensor.extract"(%130, %arg28) : (tensor<8xf64>, index) -> f64
        %172 = "arith.cmpf"(%171, %131) <{fastmath = #arith.fastmath<none>, predicate = 6 : i64}> : (f64, f64) -> i1
        "scf.if"(%172) ({
          %173 = "tensor.extract_slice"(%126, %arg28) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<8x64xf32>, index) -> tensor<64xf32>
          %174 = "lwe.rlwe_encode"(%173) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
          "preprocessing.store"(%174, %135, %arg28) <{element_type = !pt, site_id = 2 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>, index) -> ()
          "scf.yield"() : () -> ()
        }, {
        }) : (i1) -> ()
        "scf.yield"() : () -> ()
      }, {
      }) : (i1) -> ()
      "scf.yield"() : () -> ()
    }) : (index, index, index) -> ()
    "scf.for"(%128, %127, %128) ({
    ^bb0(%arg26: index):
      %138 = "arith.muli"(%arg26, %127) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %139 = "arith.cmpi"(%138, %129) <{predicate = 2 : i64}> : (index, index) -> i1
      "scf.if"(%139) ({
        %156 = "tensor.extract"(%130, %138) : (tensor<8xf64>, index) -> f64
        %157 = "arith.cmpf"(%156, %131) <{fastmath = #arith.fastmath<none>, predicate = 6 : i64}> : (f64, f64) -> i1
        "scf.if"(%157) ({
          %158 = "tensor.extract_slice"(%126, %138) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<8x64xf32>, index) -> tensor<1x64xf32>
          %159 = "arith.muli"(%arg26, %132) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
          %160 = "arith.remsi"(%159, %133) : (index, index) -> index
          %161 = "arith.addi"(%160, %133) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
          %162 = "arith.remsi"(%161, %133) : (index, index) -> index
          %163 = "arith.subi"(%133, %162) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
          %164 = "tensor.extract_slice"(%126, %138, %162) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, static_offsets = array<i64: -9223372036854775808, 0>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<8x64xf32>, index, index) -> tensor<1x?xf32>
          %165 = "tensor.extract_slice"(%126, %138, %162, %163) <{operandSegmentSizes = array<i32: 1, 2, 1, 0>, static_offsets = array<i64: -9223372036854775808, -9223372036854775808>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<8x64xf32>, index, index, index) -> tensor<1x?xf32>
          %166 = "tensor.insert_slice"(%164, %158, %163, %162) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, static_offsets = array<i64: 0, -9223372036854775808>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<1x?xf32>, tensor<1x64xf32>, index, index) -> tensor<1x64xf32>
          %167 = "tensor.insert_slice"(%165, %166, %163) <{operandSegmentSizes = array<i32: 1, 1, 0, 1, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<1x?xf32>, tensor<1x64xf32>, index) -> tensor<1x64xf32>
          %168 = "tensor.extract_slice"(%167) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
          %169 = "lwe.rlwe_encode"(%168) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
          "preprocessing.store"(%169, %135, %arg26) <{element_type = !pt, site_id = 3 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>, index) -> ()
          "scf.yield"() : () -> ()
        }, {
          "preprocessing.store"(%137, %135, %arg26) <{element_type = !pt1, site_id = 4 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>, index) -> ()
          "scf.yield"() : () -> ()
        }) : (i1) -> ()
        "scf.yield"() : () -> ()
      }, {
        "preprocessing.store"(%137, %135, %arg26) <{element_type = !pt1, site_id = 5 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>, index) -> ()
        "scf.yield"() : () -> ()
      }) : (i1) -> ()
      "scf.for"(%128, %127, %128) ({
      ^bb0(%arg27: index):
        %140 = "arith.addi"(%arg27, %138) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
        %141 = "arith.cmpi"(%140, %129) <{predicate = 2 : i64}> : (index, index) -> i1
        "scf.if"(%141) ({
          %142 = "tensor.extract"(%130, %140) : (tensor<8xf64>, index) -> f64
          %143 = "arith.cmpf"(%142, %131) <{fastmath = #arith.fastmath<none>, predicate = 6 : i64}> : (f64, f64) -> i1
          "scf.if"(%143) ({
            %144 = "tensor.extract_slice"(%126, %140) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<8x64xf32>, index) -> tensor<1x64xf32>
            %145 = "arith.muli"(%arg26, %132) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
            %146 = "arith.remsi"(%145, %133) : (index, index) -> index
            %147 = "arith.addi"(%146, %133) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
            %148 = "arith.remsi"(%147, %133) : (index, index) -> index
            %149 = "arith.subi"(%133, %148) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
            %150 = "tensor.extract_slice"(%126, %140, %148) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, static_offsets = array<i64: -9223372036854775808, 0>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<8x64xf32>, index, index) -> tensor<1x?xf32>
            %151 = "tensor.extract_slice"(%126, %140, %148, %149) <{operandSegmentSizes = array<i32: 1, 2, 1, 0>, static_offsets = array<i64: -9223372036854775808, -9223372036854775808>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<8x64xf32>, index, index, index) -> tensor<1x?xf32>
            %152 = "tensor.insert_slice"(%150, %144, %149, %148) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, static_offsets = array<i64: 0, -9223372036854775808>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<1x?xf32>, tensor<1x64xf32>, index, index) -> tensor<1x64xf32>
            %153 = "tensor.insert_slice"(%151, %152, %149) <{operandSegmentSizes = array<i32: 1, 1, 0, 1, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<1x?xf32>, tensor<1x64xf32>, index) -> tensor<1x64xf32>
            %154 = "tensor.extract_slice"(%153) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
            %155 = "lwe.rlwe_encode"(%154) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
            "preprocessing.store"(%155, %135, %arg26, %arg27) <{element_type = !pt, site_id = 6 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>, index, index) -> ()
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
    "func.return"(%135) : (!preprocessing.storage<!pt, !pt1>) -> ()
  }) {heir.interface = {entry_arg_indices = array<i64>, func_name = "conv1d", roles = ["server.preprocessing"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 1, 1, 8>}, tensor_ext.original_type = #original_type}, {client.enc_zero_arg = {func_name = "conv1d", index = 0 : i64}}, {}], function_type = (tensor<1x!ct_L1>, !ct_L1_1, !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0>, sym_name = "conv1d__preprocessed"}> ({
  ^bb0(%arg15: tensor<1x!ct_L1>, %arg16: !ct_L1_1, %arg17: !preprocessing.storage<!pt, !pt1>):
    %46 = "arith.constant"() <{value = 0.000000e+00 : f64}> : () -> f64
    %47 = "arith.constant"() <{value = dense<[1.000000e+00, 1.000000e+00, 1.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]> : tensor<8xf64>}> : () -> tensor<8xf64>
    %48 = "arith.constant"() <{value = 8 : index}> : () -> index
    %49 = "arith.constant"() <{value = 1 : index}> : () -> index
    %50 = "arith.constant"() <{value = 3 : index}> : () -> index
    %51 = "arith.constant"() <{value = 0 : index}> : () -> index
    %52 = "tensor.empty"() : () -> tensor<3x!ct_L1>
    %53 = "tensor.insert_slice"(%arg15, %52) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, static_offsets = array<i64: 0>, static_sizes = array<i64: 1>, static_strides = array<i64: 1>}> : (tensor<1x!ct_L1>, tensor<3x!ct_L1>) -> tensor<3x!ct_L1>
    %54 = "scf.for"(%49, %50, %49, %53) ({
    ^bb0(%arg24: index, %arg25: tensor<3x!ct_L1>):
      %120 = "tensor.empty"() : () -> tensor<1x!ct_L1>
      %121 = "tensor.extract"(%arg15, %51) : (tensor<1x!ct_L1>, index) -> !ct_L1
      %122 = "ckks.rotate"(%121, %arg24) : (!ct_L1, index) -> !ct_L1
      %123 = "tensor.insert"(%122, %120, %51) : (!ct_L1, tensor<1x!ct_L1>, index) -> tensor<1x!ct_L1>
      %124 = "tensor.insert_slice"(%123, %arg25, %arg24) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808>, static_sizes = array<i64: 1>, static_strides = array<i64: 1>}> : (tensor<1x!ct_L1>, tensor<3x!ct_L1>, index) -> tensor<3x!ct_L1>
      "scf.yield"(%124) : (tensor<3x!ct_L1>) -> ()
    }) : (index, index, index, tensor<3x!ct_L1>) -> tensor<3x!ct_L1>
    %55 = "preprocessing.load"(%arg17) <{element_type = !pt, site_id = 0 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %56 = "tensor.extract"(%54, %51) : (tensor<3x!ct_L1>, index) -> !ct_L1
    %57 = "ckks.mul_plain"(%56, %55) : (!ct_L1, !pt) -> !ct_L1_1
    %58 = "preprocessing.load"(%arg17) <{element_type = !pt1, site_id = 1 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt1
    %59 = "tensor.empty"() : () -> tensor<1x!ct_L1_1>
    %60 = "ckks.add_plain"(%57, %58) : (!ct_L1_1, !pt1) -> !ct_L1_1
    %61 = "tensor.insert"(%60, %59, %51) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
    %62 = "scf.for"(%49, %50, %49, %61) ({
    ^bb0(%arg22: index, %arg23: tensor<1x!ct_L1_1>):
      %109 = "arith.cmpi"(%arg22, %48) <{predicate = 2 : i64}> : (index, index) -> i1
      %110 = "scf.if"(%109) ({
        %111 = "tensor.extract"(%47, %arg22) : (tensor<8xf64>, index) -> f64
        %112 = "arith.cmpf"(%111, %46) <{fastmath = #arith.fastmath<none>, predicate = 6 : i64}> : (f64, f64) -> i1
        %113 = "scf.if"(%112) ({
          %114 = "preprocessing.load"(%arg17, %arg22) <{element_type = !pt, site_id = 2 : i32}> : (!preprocessing.storage<!pt, !pt1>, index) -> !pt
          %115 = "tensor.extract"(%54, %arg22) : (tensor<3x!ct_L1>, index) -> !ct_L1
          %116 = "ckks.mul_plain"(%115, %114) : (!ct_L1, !pt) -> !ct_L1_1
          %117 = "tensor.extract"(%arg23, %51) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
          %118 = "ckks.add"(%117, %116) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
          %119 = "tensor.insert"(%118, %59, %51) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
          "scf.yield"(%119) : (tensor<1x!ct_L1_1>) -> ()
        }, {
          "scf.yield"(%arg23) : (tensor<1x!ct_L1_1>) -> ()
        }) : (i1) -> tensor<1x!ct_L1_1>
        "scf.yield"(%113) : (tensor<1x!ct_L1_1>) -> ()
      }, {
        "scf.yield"(%arg23) : (tensor<1x!ct_L1_1>) -> ()
      }) : (i1) -> tensor<1x!ct_L1_1>
      "scf.yield"(%110) : (tensor<1x!ct_L1_1>) -> ()
    }) : (index, index, index, tensor<1x!ct_L1_1>) -> tensor<1x!ct_L1_1>
    %63 = "tensor.extract"(%62, %51) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
    %64 = "ckks.add_plain"(%63, %58) : (!ct_L1_1, !pt1) -> !ct_L1_1
    %65 = "tensor.insert"(%64, %59, %51) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
    %66 = "scf.for"(%49, %50, %49, %65) ({
    ^bb0(%arg18: index, %arg19: tensor<1x!ct_L1_1>):
      %71 = "arith.muli"(%arg18, %50) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %72 = "arith.cmpi"(%71, %48) <{predicate = 2 : i64}> : (index, index) -> i1
      %73 = "scf.if"(%72) ({
        %97 = "tensor.extract"(%47, %71) : (tensor<8xf64>, index) -> f64
        %98 = "arith.cmpf"(%97, %46) <{fastmath = #arith.fastmath<none>, predicate = 6 : i64}> : (f64, f64) -> i1
        %99 = "scf.if"(%98) ({
          %105 = "preprocessing.load"(%arg17, %arg18) <{element_type = !pt, site_id = 3 : i32}> : (!preprocessing.storage<!pt, !pt1>, index) -> !pt
          %106 = "ckks.mul_plain"(%56, %105) : (!ct_L1, !pt) -> !ct_L1_1
          %107 = "ckks.add_plain"(%106, %58) : (!ct_L1_1, !pt1) -> !ct_L1_1
          %108 = "tensor.insert"(%107, %59, %51) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
          "scf.yield"(%108) : (tensor<1x!ct_L1_1>) -> ()
        }, {
          %100 = "preprocessing.load"(%arg17, %arg18) <{element_type = !pt1, site_id = 4 : i32}> : (!preprocessing.storage<!pt, !pt1>, index) -> !pt1
          %101 = "tensor.splat"(%arg16) : (!ct_L1_1) -> tensor<1x!ct_L1_1>
          %102 = "tensor.extract"(%101, %51) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
          %103 = "lwe.radd_plain"(%102, %100) : (!ct_L1_1, !pt1) -> !ct_L1_1
          %104 = "tensor.insert"(%103, %59, %51) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
          "scf.yield"(%104) : (tensor<1x!ct_L1_1>) -> ()
        }) : (i1) -> tensor<1x!ct_L1_1>
        "scf.yield"(%99) : (tensor<1x!ct_L1_1>) -> ()
      }, {
        %92 = "preprocessing.load"(%arg17, %arg18) <{element_type = !pt1, site_id = 5 : i32}> : (!preprocessing.storage<!pt, !pt1>, index) -> !pt1
        %93 = "tensor.splat"(%arg16) : (!ct_L1_1) -> tensor<1x!ct_L1_1>
        %94 = "tensor.extract"(%93, %51) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
        %95 = "lwe.radd_plain"(%94, %92) : (!ct_L1_1, !pt1) -> !ct_L1_1
        %96 = "tensor.insert"(%95, %59, %51) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
        "scf.yield"(%96) : (tensor<1x!ct_L1_1>) -> ()
      }) : (i1) -> tensor<1x!ct_L1_1>
      %74 = "scf.for"(%49, %50, %49, %73) ({
      ^bb0(%arg20: index, %arg21: tensor<1x!ct_L1_1>):
        %80 = "arith.addi"(%arg20, %71) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
        %81 = "arith.cmpi"(%80, %48) <{predicate = 2 : i64}> : (index, index) -> i1
        %82 = "scf.if"(%81) ({
          %83 = "tensor.extract"(%47, %80) : (tensor<8xf64>, index) -> f64
          %84 = "arith.cmpf"(%83, %46) <{fastmath = #arith.fastmath<none>, predicate = 6 : i64}> : (f64, f64) -> i1
          %85 = "scf.if"(%84) ({
            %86 = "preprocessing.load"(%arg17, %arg18, %arg20) <{element_type = !pt, site_id = 6 : i32}> : (!preprocessing.storage<!pt, !pt1>, index, index) -> !pt
            %87 = "tensor.extract"(%54, %arg20) : (tensor<3x!ct_L1>, index) -> !ct_L1
            %88 = "ckks.mul_plain"(%87, %86) : (!ct_L1, !pt) -> !ct_L1_1
            %89 = "tensor.extract"(%arg21, %51) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
            %90 = "ckks.add"(%89, %88) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
            %91 = "tensor.insert"(%90, %59, %51) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
            "scf.yield"(%91) : (tensor<1x!ct_L1_1>) -> ()
          }, {
            "scf.yield"(%arg21) : (tensor<1x!ct_L1_1>) -> ()
          }) : (i1) -> tensor<1x!ct_L1_1>
          "scf.yield"(%85) : (tensor<1x!ct_L1_1>) -> ()
        }, {
          "scf.yield"(%arg21) : (tensor<1x!ct_L1_1>) -> ()
        }) : (i1) -> tensor<1x!ct_L1_1>
        "scf.yield"(%82) : (tensor<1x!ct_L1_1>) -> ()
      }) : (index, index, index, tensor<1x!ct_L1_1>) -> tensor<1x!ct_L1_1>
      %75 = "tensor.extract"(%74, %51) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
      %76 = "ckks.rotate"(%75, %71) : (!ct_L1_1, index) -> !ct_L1_1
      %77 = "tensor.extract"(%arg19, %51) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
      %78 = "ckks.add"(%77, %76) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
      %79 = "tensor.insert"(%78, %59, %51) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
      "scf.yield"(%79) : (tensor<1x!ct_L1_1>) -> ()
    }) : (index, index, index, tensor<1x!ct_L1_1>) -> tensor<1x!ct_L1_1>
    %67 = "tensor.empty"() : () -> tensor<1x!ct_L0>
    %68 = "tensor.extract"(%66, %51) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
    %69 = "ckks.rescale"(%68) <{to_ring = #ring_rns_L0_1_x8192}> : (!ct_L1_1) -> !ct_L0
    %70 = "tensor.insert"(%69, %67, %51) : (!ct_L0, tensor<1x!ct_L0>, index) -> tensor<1x!ct_L0>
    "func.return"(%70) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "conv1d", roles = ["client.preprocessed", "server.evaluate"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 1, 1, 8>}, tensor_ext.original_type = #original_type}, {client.enc_zero_arg = {func_name = "conv1d", index = 0 : i64}}], function_type = (tensor<1x!ct_L1>, !ct_L1_1) -> tensor<1x!ct_L0>, res_attrs = [{tensor_ext.original_type = #original_type1}], sym_name = "conv1d"}> ({
  ^bb0(%arg13: tensor<1x!ct_L1>, %arg14: !ct_L1_1):
    %44 = "func.call"() <{callee = @conv1d__preprocessing}> : () -> !preprocessing.storage<!pt, !pt1>
    %45 = "func.call"(%arg13, %arg14, %44) <{callee = @conv1d__preprocessed}> : (tensor<1x!ct_L1>, !ct_L1_1, !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0>
    "func.return"(%45) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "conv1d", input_types = [tensor<1x1x8xf32>], result_types = [tensor<1x1x6xf32>], roles = ["entry"]}} : () -> ()
  "func.func"() <{function_type = (!pkey_L1) -> !ct_L1_1, sym_name = "conv1d__encrypt__zero__0"}> ({
  ^bb0(%arg12: !pkey_L1):
    %41 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64xf64>}> : () -> tensor<64xf64>
    %42 = "lwe.rlwe_encode"(%41) <{encoding = #inverse_canonical_encoding1, level = 1 : i64, ring = #ring_f64_1_x8192}> : (tensor<64xf64>) -> !pt1
    %43 = "lwe.rlwe_encrypt"(%42, %arg12) : (!pt1, !pkey_L1) -> !ct_L1_1
    "func.return"(%43) : (!ct_L1_1) -> ()
  }) {heir.interface = {func_name = "conv1d", index = 0 : i64, roles = ["client.encrypt_zero"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x1x8xf32>, !pkey_L1) -> tensor<1x!ct_L1>, sym_name = "conv1d__encrypt__arg0"}> ({
  ^bb0(%arg6: tensor<1x1x8xf32>, %arg7: !pkey_L1):
    %25 = "arith.constant"() <{value = 0 : index}> : () -> index
    %26 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %27 = "arith.constant"() <{value = 8 : i32}> : () -> i32
    %28 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<1x64xf32>}> : () -> tensor<1x64xf32>
    %29 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %30 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %31 = "scf.for"(%29, %27, %30, %28) ({
    ^bb0(%arg8: i32, %arg9: tensor<1x64xf32>):
      %36 = "scf.for"(%arg8, %26, %27, %arg9) ({
      ^bb0(%arg10: i32, %arg11: tensor<1x64xf32>):
        %37 = "arith.index_cast"(%arg8) : (i32) -> index
        %38 = "tensor.extract"(%arg6, %25, %25, %37) : (tensor<1x1x8xf32>, index, index, index) -> f32
        %39 = "arith.index_cast"(%arg10) : (i32) -> index
        %40 = "tensor.insert"(%38, %arg11, %25, %39) : (f32, tensor<1x64xf32>, index, index) -> tensor<1x64xf32>
        "scf.yield"(%40) : (tensor<1x64xf32>) -> ()
      }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
      "scf.yield"(%36) : (tensor<1x64xf32>) -> ()
    }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
    %32 = "tensor.extract_slice"(%31) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
    %33 = "lwe.rlwe_encode"(%32) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %34 = "lwe.rlwe_encrypt"(%33, %arg7) : (!pt, !pkey_L1) -> !ct_L1
    %35 = "tensor.from_elements"(%34) : (!ct_L1) -> tensor<1x!ct_L1>
    "func.return"(%35) : (tensor<1x!ct_L1>) -> ()
  }) {heir.interface = {func_name = "conv1d", index = 0 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x!ct_L0>, !skey_L0) -> tensor<1x1x6xf32>, sym_name = "conv1d__decrypt__result0"}> ({
  ^bb0(%arg0: tensor<1x!ct_L0>, %arg1: !skey_L0):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 6 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = 8 : i32}> : () -> i32
    %4 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %5 = "arith.constant"() <{value = 5 : i32}> : () -> i32
    %6 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %7 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<1x1x6xf32>}> : () -> tensor<1x1x6xf32>
    %8 = "arith.constant"() <{value = 58 : i32}> : () -> i32
    %9 = "tensor.extract"(%arg0, %0) : (tensor<1x!ct_L0>, index) -> !ct_L0
    %10 = "lwe.rlwe_decrypt"(%9, %arg1) : (!ct_L0, !skey_L0) -> !pt
    %11 = "lwe.rlwe_decode"(%10) <{encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192}> : (!pt) -> tensor<1x64xf32>
    %12 = "scf.for"(%6, %2, %4, %7) ({
    ^bb0(%arg2: i32, %arg3: tensor<1x1x6xf32>):
      %13 = "arith.subi"(%5, %arg2) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %14 = "scf.for"(%13, %1, %3, %arg3) ({
      ^bb0(%arg4: i32, %arg5: tensor<1x1x6xf32>):
        %15 = "arith.addi"(%arg2, %8) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %16 = "arith.floordivsi"(%15, %3) : (i32, i32) -> i32
        %17 = "arith.muli"(%16, %3) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %18 = "arith.addi"(%13, %17) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %19 = "arith.subi"(%arg4, %13) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %20 = "arith.subi"(%18, %19) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %21 = "arith.index_cast"(%20) : (i32) -> index
        %22 = "tensor.extract"(%11, %0, %21) : (tensor<1x64xf32>, index, index) -> f32
        %23 = "arith.index_cast"(%13) : (i32) -> index
        %24 = "tensor.insert"(%22, %arg5, %0, %0, %23) : (f32, tensor<1x1x6xf32>, index, index, index) -> tensor<1x1x6xf32>
        "scf.yield"(%24) : (tensor<1x1x6xf32>) -> ()
      }) : (i32, i32, i32, tensor<1x1x6xf32>) -> tensor<1x1x6xf32>
      "scf.yield"(%14) : (tensor<1x1x6xf32>) -> ()
    }) : (i32, i32, i32, tensor<1x1x6xf32>) -> tensor<1x1x6xf32>
    "func.return"(%12) : (tensor<1x1x6xf32>) -> ()
  }) {heir.interface = {func_name = "conv1d", index = 0 : i64, roles = ["client.decrypt"]}} : () -> ()
}) {backend.openfhe, ckks.schemeParam = #ckks.scheme_param<logN = 13, Q = [36028797018652673, 35184372121601], P = [1152921504606994433], logDefaultScale = 45>, scheme.actual_slot_count = 4096 : i64, scheme.ckks, scheme.requested_slot_count = 64 : i64} : () -> ()

