!Z35184371138561_i64 = !mod_arith.int<35184371138561 : i64>
!Z35184372121601_i64 = !mod_arith.int<35184372121601 : i64>
!Z35184372744193_i64 = !mod_arith.int<35184372744193 : i64>
!Z36028797017456641_i64 = !mod_arith.int<36028797017456641 : i64>
#inverse_canonical_encoding = #lwe.inverse_canonical_encoding<scaling_factor = 45>
#inverse_canonical_encoding1 = #lwe.inverse_canonical_encoding<scaling_factor = 90>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 63 }">
#layout1 = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 4 = 0 and 0 <= i0 <= 3 and 0 <= slot <= 63 }">
#modulus_chain_L3_C0 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184372744193 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 0>
#modulus_chain_L3_C1 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184372744193 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 1>
#modulus_chain_L3_C2 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184372744193 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 2>
#modulus_chain_L3_C3 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184372744193 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 3>
#ring_f64_1_x16384 = #polynomial.ring<coefficientType = f64, polynomialModulus = <1 + x**16384>>
!rns_L0 = !rns.rns<!Z36028797017456641_i64>
!rns_L1 = !rns.rns<!Z36028797017456641_i64, !Z35184372744193_i64>
!rns_L2 = !rns.rns<!Z36028797017456641_i64, !Z35184372744193_i64, !Z35184371138561_i64>
!rns_L3 = !rns.rns<!Z36028797017456641_i64, !Z35184372744193_i64, !Z35184371138561_i64, !Z35184372121601_i64>
#original_type = #tensor_ext.original_type<originalType = tensor<8xf32>, layout = #layout>
#original_type1 = #tensor_ext.original_type<originalType = tensor<4xf32>, layout = #layout1>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>>
!pt1 = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>>
#ring_rns_L0_1_x16384 = #polynomial.ring<coefficientType = !rns_L0, polynomialModulus = <1 + x**16384>>
#ring_rns_L1_1_x16384 = #polynomial.ring<coefficientType = !rns_L1, polynomialModulus = <1 + x**16384>>
#ring_rns_L2_1_x16384 = #polynomial.ring<coefficientType = !rns_L2, polynomialModulus = <1 + x**16384>>
#ring_rns_L3_1_x16384 = #polynomial.ring<coefficientType = !rns_L3, polynomialModulus = <1 + x**16384>>
!pkey_L3 = !lwe.lwe_public_key<key = #key, ring = #ring_rns_L3_1_x16384>
!skey_L0 = !lwe.lwe_secret_key<key = #key, ring = #ring_rns_L0_1_x16384>
#ciphertext_space_L0 = #lwe.ciphertext_space<ring = #ring_rns_L0_1_x16384, encryption_type = mix>
#ciphertext_space_L1 = #lwe.ciphertext_space<ring = #ring_rns_L1_1_x16384, encryption_type = mix>
#ciphertext_space_L2 = #lwe.ciphertext_space<ring = #ring_rns_L2_1_x16384, encryption_type = mix>
#ciphertext_space_L2_D3 = #lwe.ciphertext_space<ring = #ring_rns_L2_1_x16384, encryption_type = mix, size = 3>
#ciphertext_space_L3 = #lwe.ciphertext_space<ring = #ring_rns_L3_1_x16384, encryption_type = mix>
!ct_L0 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L0, key = #key, modulus_chain = #modulus_chain_L3_C0>
!ct_L1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L3_C1>
!ct_L1_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L3_C1>
!ct_L2 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L2, key = #key, modulus_chain = #modulus_chain_L3_C2>
!ct_L2_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L2, key = #key, modulus_chain = #modulus_chain_L3_C2>
!ct_L2_D3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L2_D3, key = #key, modulus_chain = #modulus_chain_L3_C2>
!ct_L3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L3, key = #key, modulus_chain = #modulus_chain_L3_C3>
!ct_L3_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L3, key = #key, modulus_chain = #modulus_chain_L3_C3>
"builtin.module"() ({
  "func.func"() <{function_type = () -> !preprocessing.storage<!pt, !pt1>, sym_name = "two_layers__preprocessing"}> ({
    %138 = "arith.constant"() <{value = dense<2.500000e-01> : tensor<64xf32>}> : () -> tensor<64xf32>
    %139 = "arith.constant"() <{value = dense<1.250000e-01> : tensor<64xf32>}> : () -> tensor<64xf32>
    %140 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64xf32>}> : () -> tensor<64xf32>
    %141 = "arith.constant"() <{value = dense<"0xA913D03D4A7B03BEA167B3BC5396613E96438BBD4DF30E3E8FE4723E3A230ABEA913D03D4A7B03BEA167B3BC5396613E96438BBD4DF30E3E8FE4723E3A230ABEA913D03D4A7B03BEA167B3BC5396613E96438BBD4DF30E3E8FE4723E3A230ABEA913D03D4A7B03BEA167B3BC5396613E96438BBD4DF30E3E8FE4723E3A230ABEA913D03D4A7B03BEA167B3BC5396613E96438BBD4DF30E3E8FE4723E3A230ABEA913D03D4A7B03BEA167B3BC5396613E96438BBD4DF30E3E8FE4723E3A230ABEA913D03D4A7B03BEA167B3BC5396613E96438BBD4DF30E3E8FE4723E3A230ABEA913D03D4A7B03BEA167B3BC5396613E96438BBD4DF30E3E8FE4723E3A230ABECE88D2BD6519E2BC3A230ABEF1F4CABD99BB163BC58FB13DC139A3BDE8D92CBECE88D2BD6519E2BC3A230ABEF1F4CABD99BB163BC58FB13DC139A3BDE8D92CBECE88D2BD6519E2BC3A230ABEF1F4CABD99BB163BC58FB13DC139A3BDE8D92CBECE88D2BD6519E2BC3A230ABEF1F4CABD99BB163BC58FB13DC139A3BDE8D92CBECE88D2BD6519E2BC3A230ABEF1F4CABD99BB163BC58FB13DC139A3BDE8D92CBECE88D2BD6519E2BC3A230ABEF1F4CABD99BB163BC58FB13DC139A3BDE8D92CBECE88D2BD6519E2BC3A230ABEF1F4CABD99BB163BC58FB13DC139A3BDE8D92CBECE88D2BD6519E2BC3A230ABEF1F4CABD99BB163BC58FB13DC139A3BDE8D92CBE7E8CB93D6F81843DB8AF03BE8126023ED8F0F4BDB7627FBEB1BF6C3E8FC2F53C7E8CB93D6F81843DB8AF03BE8126023ED8F0F4BDB7627FBEB1BF6C3E8FC2F53C7E8CB93D6F81843DB8AF03BE8126023ED8F0F4BDB7627FBEB1BF6C3E8FC2F53C7E8CB93D6F81843DB8AF03BE8126023ED8F0F4BDB7627FBEB1BF6C3E8FC2F53C7E8CB93D6F81843DB8AF03BE8126023ED8F0F4BDB7627FBEB1BF6C3E8FC2F53C7E8CB93D6F81843DB8AF03BE8126023ED8F0F4BDB7627FBEB1BF6C3E8FC2F53C7E8CB93D6F81843DB8AF03BE8126023ED8F0F4BDB7627FBEB1BF6C3E8FC2F53C7E8CB93D6F81843DB8AF03BE8126023ED8F0F4BDB7627FBEB1BF6C3E8FC2F53C4182623E75021ABD3480B73BF5DB57BEF4FD543D3945C73D9D8066BE10E9773E4182623E75021ABD3480B73BF5DB57BEF4FD543D3945C73D9D8066BE10E9773E4182623E75021ABD3480B73BF5DB57BEF4FD543D3945C73D9D8066BE10E9773E4182623E75021ABD3480B73BF5DB57BEF4FD543D3945C73D9D8066BE10E9773E4182623E75021ABD3480B73BF5DB57BEF4FD543D3945C73D9D8066BE10E9773E4182623E75021ABD3480B73BF5DB57BEF4FD543D3945C73D9D8066BE10E9773E4182623E75021ABD3480B73BF5DB57BEF4FD543D3945C73D9D8066BE10E9773E4182623E75021ABD3480B73BF5DB57BEF4FD543D3945C73D9D8066BE10E9773E3480B73D5AF5393D7E1D383E68B3EA3D780B24BEEEEB403EF54AD9BDD3BC233E3480B73D5AF5393D7E1D383E68B3EA3D780B24BEEEEB403EF54AD9BDD3BC233E3480B73D5AF5393D7E1D383E68B3EA3D780B24BEEEEB403EF54AD9BDD3BC233E3480B73D5AF5393D7E1D383E68B3EA3D780B24BEEEEB403EF54AD9BDD3BC233E3480B73D5AF5393D7E1D383E68B3EA3D780B24BEEEEB403EF54AD9BDD3BC233E3480B73D5AF5393D7E1D383E68B3EA3D780B24BEEEEB403EF54AD9BDD3BC233E3480B73D5AF5393D7E1D383E68B3EA3D780B24BEEEEB403EF54AD9BDD3BC233E3480B73D5AF5393D7E1D383E68B3EA3D780B24BEEEEB403EF54AD9BDD3BC233E0B4665BEAF9425BEB6F37D3ED50968BED6566CBD74B5953DEC2F3BBDE5D0223E0B4665BEAF9425BEB6F37D3ED50968BED6566CBD74B5953DEC2F3BBDE5D0223E0B4665BEAF9425BEB6F37D3ED50968BED6566CBD74B5953DEC2F3BBDE5D0223E0B4665BEAF9425BEB6F37D3ED50968BED6566CBD74B5953DEC2F3BBDE5D0223E0B4665BEAF9425BEB6F37D3ED50968BED6566CBD74B5953DEC2F3BBDE5D0223E0B4665BEAF9425BEB6F37D3ED50968BED6566CBD74B5953DEC2F3BBDE5D0223E0B4665BEAF9425BEB6F37D3ED50968BED6566CBD74B5953DEC2F3BBDE5D0223E0B4665BEAF9425BEB6F37D3ED50968BED6566CBD74B5953DEC2F3BBDE5D0223E304C663E925C7EBE60E5D0BDE78C283E371AC0BDE9486E3EDAACFA3DFA7E2ABE304C663E925C7EBE60E5D0BDE78C283E371AC0BDE9486E3EDAACFA3DFA7E2ABE304C663E925C7EBE60E5D0BDE78C283E371AC0BDE9486E3EDAACFA3DFA7E2ABE304C663E925C7EBE60E5D0BDE78C283E371AC0BDE9486E3EDAACFA3DFA7E2ABE304C663E925C7EBE60E5D0BDE78C283E371AC0BDE9486E3EDAACFA3DFA7E2ABE304C663E925C7EBE60E5D0BDE78C283E371AC0BDE9486E3EDAACFA3DFA7E2ABE304C663E925C7EBE60E5D0BDE78C283E371AC0BDE9486E3EDAACFA3DFA7E2ABE304C663E925C7EBE60E5D0BDE78C283E371AC0BDE9486E3EDAACFA3DFA7E2ABE60E550BE371A40BD6154523E6F12833BB9FC073ECDCC0CBE2653453E7B83AF3D60E550BE371A40BD6154523E6F12833BB9FC073ECDCC0CBE2653453E7B83AF3D60E550BE371A40BD6154523E6F12833BB9FC073ECDCC0CBE2653453E7B83AF3D60E550BE371A40BD6154523E6F12833BB9FC073ECDCC0CBE2653453E7B83AF3D60E550BE371A40BD6154523E6F12833BB9FC073ECDCC0CBE2653453E7B83AF3D60E550BE371A40BD6154523E6F12833BB9FC073ECDCC0CBE2653453E7B83AF3D60E550BE371A40BD6154523E6F12833BB9FC073ECDCC0CBE2653453E7B83AF3D60E550BE371A40BD6154523E6F12833BB9FC073ECDCC0CBE2653453E7B83AF3D"> : tensor<8x64xf32>}> : () -> tensor<8x64xf32>
    %142 = "arith.constant"() <{value = 3 : index}> : () -> index
    %143 = "arith.constant"() <{value = 1 : index}> : () -> index
    %144 = "arith.constant"() <{value = 8 : index}> : () -> index
    %145 = "arith.constant"() <{value = -3 : index}> : () -> index
    %146 = "arith.constant"() <{value = 64 : index}> : () -> index
    %147 = "arith.constant"() <{value = dense<[[2.673000e-01, 4.704000e-01, 1.075000e-01, -1.736000e-01, 3.994000e-01, -3.924000e-01, -3.813000e-01, -7.000000e-04, 2.673000e-01, 4.704000e-01, 1.075000e-01, -1.736000e-01, 3.994000e-01, -3.924000e-01, -3.813000e-01, -7.000000e-04, 2.673000e-01, 4.704000e-01, 1.075000e-01, -1.736000e-01, 3.994000e-01, -3.924000e-01, -3.813000e-01, -7.000000e-04, 2.673000e-01, 4.704000e-01, 1.075000e-01, -1.736000e-01, 3.994000e-01, -3.924000e-01, -3.813000e-01, -7.000000e-04, 2.673000e-01, 4.704000e-01, 1.075000e-01, -1.736000e-01, 3.994000e-01, -3.924000e-01, -3.813000e-01, -7.000000e-04, 2.673000e-01, 4.704000e-01, 1.075000e-01, -1.736000e-01, 3.994000e-01, -3.924000e-01, -3.813000e-01, -7.000000e-04, 2.673000e-01, 4.704000e-01, 1.075000e-01, -1.736000e-01, 3.994000e-01, -3.924000e-01, -3.813000e-01, -7.000000e-04, 2.673000e-01, 4.704000e-01, 1.075000e-01, -1.736000e-01, 3.994000e-01, -3.924000e-01, -3.813000e-01, -7.000000e-04]]> : tensor<1x64xf32>}> : () -> tensor<1x64xf32>
    %148 = "arith.constant"() <{value = dense<[[2.673000e-01, 4.704000e-01, 1.075000e-01, -1.736000e-01, 3.994000e-01, -3.924000e-01, -3.813000e-01, -7.000000e-04, 2.673000e-01, 4.704000e-01, 1.075000e-01, -1.736000e-01, 3.994000e-01, -3.924000e-01, -3.813000e-01, -7.000000e-04, 2.673000e-01, 4.704000e-01, 1.075000e-01, -1.736000e-01, 3.994000e-01, -3.924000e-01, -3.813000e-01, -7.000000e-04, 2.673000e-01, 4.704000e-01, 1.075000e-01, -1.736000e-01, 3.994000e-01, -3.924000e-01, -3.813000e-01, -7.000000e-04, 2.673000e-01, 4.704000e-01, 1.075000e-01, -1.736000e-01, 3.994000e-01, -3.924000e-01, -3.813000e-01, -7.000000e-04, 2.673000e-01, 4.704000e-01, 1.075000e-01, -1.736000e-01, 3.994000e-01, -3.924000e-01, -3.813000e-01, -7.000000e-04, 2.673000e-01, 4.704000e-01, 1.075000e-01, -1.736000e-01, 3.994000e-01, -3.924000e-01, -3.813000e-01, -7.000000e-04, 2.673000e-01, 4.704000e-01, 1.075000e-01, -1.736000e-01, 3.994000e-01, -3.924000e-01]]> : tensor<1x62xf32>}> : () -> tensor<1x62xf32>
    %149 = "arith.constant"() <{value = dense<[[-3.813000e-01, -7.000000e-04]]> : tensor<1x2xf32>}> : () -> tensor<1x2xf32>
    %150 = "arith.constant"() <{value = dense<[[4.057000e-01, 3.948000e-01, 4.722000e-01, -4.386000e-01, 1.090000e-02, -3.800000e-01, -3.944000e-01, -1.656000e-01, 4.057000e-01, 3.948000e-01, 4.722000e-01, -4.386000e-01, 1.090000e-02, -3.800000e-01, -3.944000e-01, -1.656000e-01, 4.057000e-01, 3.948000e-01, 4.722000e-01, -4.386000e-01, 1.090000e-02, -3.800000e-01, -3.944000e-01, -1.656000e-01, 4.057000e-01, 3.948000e-01, 4.722000e-01, -4.386000e-01, 1.090000e-02, -3.800000e-01, -3.944000e-01, -1.656000e-01, 4.057000e-01, 3.948000e-01, 4.722000e-01, -4.386000e-01, 1.090000e-02, -3.800000e-01, -3.944000e-01, -1.656000e-01, 4.057000e-01, 3.948000e-01, 4.722000e-01, -4.386000e-01, 1.090000e-02, -3.800000e-01, -3.944000e-01, -1.656000e-01, 4.057000e-01, 3.948000e-01, 4.722000e-01, -4.386000e-01, 1.090000e-02, -3.800000e-01, -3.944000e-01, -1.656000e-01, 4.057000e-01, 3.948000e-01, 4.722000e-01, -4.386000e-01, 1.090000e-02, -3.800000e-01, -3.944000e-01, -1.656000e-01]]> : tensor<1x64xf32>}> : () -> tensor<1x64xf32>
    %151 = "arith.constant"() <{value = dense<[[4.057000e-01, 3.948000e-01, 4.722000e-01, -4.386000e-01, 1.090000e-02, -3.800000e-01, -3.944000e-01, -1.656000e-01, 4.057000e-01, 3.948000e-01, 4.722000e-01, -4.386000e-01, 1.090000e-02, -3.800000e-01, -3.944000e-01, -1.656000e-01, 4.057000e-01, 3.948000e-01, 4.722000e-01, -4.386000e-01, 1.090000e-02, -3.800000e-01, -3.944000e-01, -1.656000e-01, 4.057000e-01, 3.948000e-01, 4.722000e-01, -4.386000e-01, 1.090000e-02, -3.800000e-01, -3.944000e-01, -1.656000e-01, 4.057000e-01, 3.948000e-01, 4.722000e-01, -4.386000e-01, 1.090000e-02, -3.800000e-01, -3.944000e-01, -1.656000e-01, 4.057000e-01, 3.948000e-01, 4.722000e-01, -4.386000e-01, 1.090000e-02, -3.800000e-01, -3.944000e-01, -1.656000e-01, 4.057000e-01, 3.948000e-01, 4.722000e-01, -4.386000e-01, 1.090000e-02, -3.800000e-01, -3.944000e-01, -1.656000e-01, 4.057000e-01, 3.948000e-01, 4.722000e-01, -4.386000e-01, 1.090000e-02, -3.800000e-01]]> : tensor<1x62xf32>}> : () -> tensor<1x62xf32>
    %152 = "arith.constant"() <{value = dense<[[-3.944000e-01, -1.656000e-01]]> : tensor<1x2xf32>}> : () -> tensor<1x2xf32>
    %153 = "arith.constant"() <{value = dense<[1.016000e-01, -1.284000e-01, -2.190000e-02, 2.203000e-01, -6.800000e-02, 1.396000e-01, 2.372000e-01, -1.349000e-01, 1.016000e-01, -1.284000e-01, -2.190000e-02, 2.203000e-01, -6.800000e-02, 1.396000e-01, 2.372000e-01, -1.349000e-01, 1.016000e-01, -1.284000e-01, -2.190000e-02, 2.203000e-01, -6.800000e-02, 1.396000e-01, 2.372000e-01, -1.349000e-01, 1.016000e-01, -1.284000e-01, -2.190000e-02, 2.203000e-01, -6.800000e-02, 1.396000e-01, 2.372000e-01, -1.349000e-01, 1.016000e-01, -1.284000e-01, -2.190000e-02, 2.203000e-01, -6.800000e-02, 1.396000e-01, 2.372000e-01, -1.349000e-01, 1.016000e-01, -1.284000e-01, -2.190000e-02, 2.203000e-01, -6.800000e-02, 1.396000e-01, 2.372000e-01, -1.349000e-01, 1.016000e-01, -1.284000e-01, -2.190000e-02, 2.203000e-01, -6.800000e-02, 1.396000e-01, 2.372000e-01, -1.349000e-01, 1.016000e-01, -1.284000e-01, -2.190000e-02, 2.203000e-01, -6.800000e-02, 1.396000e-01, 2.372000e-01, -1.349000e-01]> : tensor<64xf32>}> : () -> tensor<64xf32>
    %154 = "arith.constant"() <{value = dense<[-1.068000e-01, 2.469000e-01, -2.243000e-01, -3.189000e-01, 2.800000e-03, -4.696000e-01, -2.813000e-01, 4.033000e-01, -1.068000e-01, 2.469000e-01, -2.243000e-01, -3.189000e-01, 2.800000e-03, -4.696000e-01, -2.813000e-01, 4.033000e-01, -1.068000e-01, 2.469000e-01, -2.243000e-01, -3.189000e-01, 2.800000e-03, -4.696000e-01, -2.813000e-01, 4.033000e-01, -1.068000e-01, 2.469000e-01, -2.243000e-01, -3.189000e-01, 2.800000e-03, -4.696000e-01, -2.813000e-01, 4.033000e-01, -1.068000e-01, 2.469000e-01, -2.243000e-01, -3.189000e-01, 2.800000e-03, -4.696000e-01, -2.813000e-01, 4.033000e-01, -1.068000e-01, 2.469000e-01, -2.243000e-01, -3.189000e-01, 2.800000e-03, -4.696000e-01, -2.813000e-01, 4.033000e-01, -1.068000e-01, 2.469000e-01, -2.243000e-01, -3.189000e-01, 2.800000e-03, -4.696000e-01, -2.813000e-01, 4.033000e-01, -1.068000e-01, 2.469000e-01, -2.243000e-01, -3.189000e-01, 2.800000e-03, -4.696000e-01, -2.813000e-01, 4.033000e-01]> : tensor<64xf32>}> : () -> tensor<64xf32>
    %155 = "arith.constant"() <{value = dense<[-3.902000e-01, 1.698000e-01, 3.157000e-01, -4.202000e-01, 4.315000e-01, 3.377000e-01, 3.606000e-01, 3.518000e-01, -3.902000e-01, 1.698000e-01, 3.157000e-01, -4.202000e-01, 4.315000e-01, 3.377000e-01, 3.606000e-01, 3.518000e-01, -3.902000e-01, 1.698000e-01, 3.157000e-01, -4.202000e-01, 4.315000e-01, 3.377000e-01, 3.606000e-01, 3.518000e-01, -3.902000e-01, 1.698000e-01, 3.157000e-01, -4.202000e-01, 4.315000e-01, 3.377000e-01, 3.606000e-01, 3.518000e-01, -3.902000e-01, 1.698000e-01, 3.157000e-01, -4.202000e-01, 4.315000e-01, 3.377000e-01, 3.606000e-01, 3.518000e-01, -3.902000e-01, 1.698000e-01, 3.157000e-01, -4.202000e-01, 4.315000e-01, 3.377000e-01, 3.606000e-01, 3.518000e-01, -3.902000e-01, 1.698000e-01, 3.157000e-01, -4.202000e-01, 4.315000e-01, 3.377000e-01, 3.606000e-01, 3.518000e-01, -3.902000e-01, 1.698000e-01, 3.157000e-01, -4.202000e-01, 4.315000e-01, 3.377000e-01, 3.606000e-01, 3.518000e-01]> : tensor<64xf32>}> : () -> tensor<64xf32>
    %156 = "preprocessing.empty"() : () -> !preprocessing.storage<!pt, !pt1>
    %157 = "tensor.insert_slice"(%148, %147) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, static_offsets = array<i64: 0, 2>, static_sizes = array<i64: 1, 62>, static_strides = array<i64: 1, 1>}> : (tensor<1x62xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %158 = "tensor.insert_slice"(%149, %157) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 2>, static_strides = array<i64: 1, 1>}> : (tensor<1x2xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %159 = "tensor.insert_slice"(%151, %150) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, static_offsets = array<i64: 0, 2>, static_sizes = array<i64: 1, 62>, static_strides = array<i64: 1, 1>}> : (tensor<1x62xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %160 = "tensor.insert_slice"(%152, %159) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 2>, static_strides = array<i64: 1, 1>}> : (tensor<1x2xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %161 = "lwe.rlwe_encode"(%153) <{encoding = #inverse_canonical_encoding, level = 3 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%161, %156) <{element_type = !pt, site_id = 0 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %162 = "lwe.rlwe_encode"(%140) <{encoding = #inverse_canonical_encoding1, level = 3 : i64, ring = #ring_f64_1_x16384, scale = 90 : i64}> : (tensor<64xf32>) -> !pt1
    "preprocessing.store"(%162, %156) <{element_type = !pt1, site_id = 1 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>) -> ()
    "scf.for"(%143, %142, %143) ({
    ^bb0(%arg28: index):
      %200 = "arith.cmpi"(%arg28, %144) <{predicate = 2 : i64}> : (index, index) -> i1
      "scf.if"(%200) ({
        %201 = "tensor.extract_slice"(%141, %arg28) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<8x64xf32>, index) -> tensor<64xf32>
        %202 = "lwe.rlwe_encode"(%201) <{encoding = #inverse_canonical_encoding, level = 3 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
        "preprocessing.store"(%202, %156, %arg28) <{element_type = !pt, site_id = 2 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>, index) -> ()
        "scf.yield"() : () -> ()
      }, {
      }) : (i1) -> ()
      "scf.yield"() : () -> ()
    }) : (index, index, index) -> ()
    "scf.for"(%143, %142, %143) ({
    ^bb0(%arg26: index):
      %172 = "arith.muli"(%arg26, %142) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %173 = "arith.cmpi"(%172, %144) <{predicate = 2 : i64}> : (index, index) -> i1
      "scf.if"(%173) ({
        %188 = "tensor.extract_slice"(%141, %172) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<8x64xf32>, index) -> tensor<1x64xf32>
        %189 = "arith.muli"(%arg26, %145) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
        %190 = "arith.remsi"(%189, %146) : (index, index) -> index
        %191 = "arith.addi"(%190, %146) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
        %192 = "arith.remsi"(%191, %146) : (index, index) -> index
        %193 = "arith.subi"(%146, %192) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
        %194 = "tensor.extract_slice"(%141, %172, %192) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, static_offsets = array<i64: -9223372036854775808, 0>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<8x64xf32>, index, index) -> tensor<1x?xf32>
        %195 = "tensor.extract_slice"(%141, %172, %192, %193) <{operandSegmentSizes = array<i32: 1, 2, 1, 0>, static_offsets = array<i64: -9223372036854775808, -9223372036854775808>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<8x64xf32>, index, index, index) -> tensor<1x?xf32>
        %196 = "tensor.insert_slice"(%194, %188, %193, %192) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, static_offsets = array<i64: 0, -9223372036854775808>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<1x?xf32>, tensor<1x64xf32>, index, index) -> tensor<1x64xf32>
        %197 = "tensor.insert_slice"(%195, %196, %193) <{operandSegmentSizes = array<i32: 1, 1, 0, 1, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<1x?xf32>, tensor<1x64xf32>, index) -> tensor<1x64xf32>
        %198 = "tensor.extract_slice"(%197) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
        %199 = "lwe.rlwe_encode"(%198) <{encoding = #inverse_canonical_encoding, level = 3 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
        "preprocessing.store"(%199, %156, %arg26) <{element_type = !pt, site_id = 3 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>, index) -> ()
        "scf.yield"() : () -> ()
      }, {
        "preprocessing.store"(%162, %156, %arg26) <{element_type = !pt1, site_id = 4 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>, index) -> ()
        "scf.yield"() : () -> ()
      }) : (i1) -> ()
      "scf.for"(%143, %142, %143) ({
      ^bb0(%arg27: index):
        %174 = "arith.addi"(%arg27, %172) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
        %175 = "arith.cmpi"(%174, %144) <{predicate = 2 : i64}> : (index, index) -> i1
        "scf.if"(%175) ({
          %176 = "tensor.extract_slice"(%141, %174) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<8x64xf32>, index) -> tensor<1x64xf32>
          %177 = "arith.muli"(%arg26, %145) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
          %178 = "arith.remsi"(%177, %146) : (index, index) -> index
          %179 = "arith.addi"(%178, %146) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
          %180 = "arith.remsi"(%179, %146) : (index, index) -> index
          %181 = "arith.subi"(%146, %180) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
          %182 = "tensor.extract_slice"(%141, %174, %180) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, static_offsets = array<i64: -9223372036854775808, 0>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<8x64xf32>, index, index) -> tensor<1x?xf32>
          %183 = "tensor.extract_slice"(%141, %174, %180, %181) <{operandSegmentSizes = array<i32: 1, 2, 1, 0>, static_offsets = array<i64: -9223372036854775808, -9223372036854775808>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<8x64xf32>, index, index, index) -> tensor<1x?xf32>
          %184 = "tensor.insert_slice"(%182, %176, %181, %180) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, static_offsets = array<i64: 0, -9223372036854775808>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<1x?xf32>, tensor<1x64xf32>, index, index) -> tensor<1x64xf32>
          %185 = "tensor.insert_slice"(%183, %184, %181) <{operandSegmentSizes = array<i32: 1, 1, 0, 1, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<1x?xf32>, tensor<1x64xf32>, index) -> tensor<1x64xf32>
          %186 = "tensor.extract_slice"(%185) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
          %187 = "lwe.rlwe_encode"(%186) <{encoding = #inverse_canonical_encoding, level = 3 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
          "preprocessing.store"(%187, %156, %arg26, %arg27) <{element_type = !pt, site_id = 5 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>, index, index) -> ()
          "scf.yield"() : () -> ()
        }, {
        }) : (i1) -> ()
        "scf.yield"() : () -> ()
      }) : (index, index, index) -> ()
      "scf.yield"() : () -> ()
    }) : (index, index, index) -> ()
    %163 = "lwe.rlwe_encode"(%139) <{encoding = #inverse_canonical_encoding1, level = 3 : i64, ring = #ring_f64_1_x16384, scale = 90 : i64}> : (tensor<64xf32>) -> !pt1
    "preprocessing.store"(%163, %156) <{element_type = !pt1, site_id = 6 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>) -> ()
    %164 = "lwe.rlwe_encode"(%154) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%164, %156) <{element_type = !pt, site_id = 7 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %165 = "lwe.rlwe_encode"(%140) <{encoding = #inverse_canonical_encoding1, level = 1 : i64, ring = #ring_f64_1_x16384, scale = 90 : i64}> : (tensor<64xf32>) -> !pt1
    "preprocessing.store"(%165, %156) <{element_type = !pt1, site_id = 8 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>) -> ()
    %166 = "lwe.rlwe_encode"(%155) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%166, %156) <{element_type = !pt, site_id = 9 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %167 = "tensor.extract_slice"(%158) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
    %168 = "lwe.rlwe_encode"(%167) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%168, %156) <{element_type = !pt, site_id = 10 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %169 = "tensor.extract_slice"(%160) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
    %170 = "lwe.rlwe_encode"(%169) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%170, %156) <{element_type = !pt, site_id = 11 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %171 = "lwe.rlwe_encode"(%138) <{encoding = #inverse_canonical_encoding1, level = 1 : i64, ring = #ring_f64_1_x16384, scale = 90 : i64}> : (tensor<64xf32>) -> !pt1
    "preprocessing.store"(%171, %156) <{element_type = !pt1, site_id = 12 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>) -> ()
    "func.return"(%156) : (!preprocessing.storage<!pt, !pt1>) -> ()
  }) {heir.interface = {entry_arg_indices = array<i64>, func_name = "two_layers", roles = ["server.preprocessing"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}, {client.enc_zero_arg = {func_name = "two_layers", index = 0 : i64}}, {}], function_type = (tensor<1x!ct_L3>, !ct_L3_1, !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0>, sym_name = "two_layers__preprocessed"}> ({
  ^bb0(%arg15: tensor<1x!ct_L3>, %arg16: !ct_L3_1, %arg17: !preprocessing.storage<!pt, !pt1>):
    %45 = "arith.constant"() <{value = 4 : index}> : () -> index
    %46 = "arith.constant"() <{value = 8 : index}> : () -> index
    %47 = "arith.constant"() <{value = 1 : index}> : () -> index
    %48 = "arith.constant"() <{value = 3 : index}> : () -> index
    %49 = "arith.constant"() <{value = 2 : index}> : () -> index
    %50 = "arith.constant"() <{value = 0 : index}> : () -> index
    %51 = "tensor.empty"() : () -> tensor<3x!ct_L3>
    %52 = "tensor.insert_slice"(%arg15, %51) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, static_offsets = array<i64: 0>, static_sizes = array<i64: 1>, static_strides = array<i64: 1>}> : (tensor<1x!ct_L3>, tensor<3x!ct_L3>) -> tensor<3x!ct_L3>
    %53 = "scf.for"(%47, %48, %47, %52) ({
    ^bb0(%arg24: index, %arg25: tensor<3x!ct_L3>):
      %133 = "tensor.empty"() : () -> tensor<1x!ct_L3>
      %134 = "tensor.extract"(%arg15, %50) : (tensor<1x!ct_L3>, index) -> !ct_L3
      %135 = "ckks.rotate"(%134, %arg24) : (!ct_L3, index) -> !ct_L3
      %136 = "tensor.insert"(%135, %133, %50) : (!ct_L3, tensor<1x!ct_L3>, index) -> tensor<1x!ct_L3>
      %137 = "tensor.insert_slice"(%136, %arg25, %arg24) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808>, static_sizes = array<i64: 1>, static_strides = array<i64: 1>}> : (tensor<1x!ct_L3>, tensor<3x!ct_L3>, index) -> tensor<3x!ct_L3>
      "scf.yield"(%137) : (tensor<3x!ct_L3>) -> ()
    }) : (index, index, index, tensor<3x!ct_L3>) -> tensor<3x!ct_L3>
    %54 = "preprocessing.load"(%arg17) <{element_type = !pt, site_id = 0 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %55 = "tensor.extract"(%53, %50) : (tensor<3x!ct_L3>, index) -> !ct_L3
    %56 = "ckks.mul_plain"(%55, %54) : (!ct_L3, !pt) -> !ct_L3_1
    %57 = "preprocessing.load"(%arg17) <{element_type = !pt1, site_id = 1 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt1
    %58 = "tensor.empty"() : () -> tensor<1x!ct_L3_1>
    %59 = "ckks.add_plain"(%56, %57) : (!ct_L3_1, !pt1) -> !ct_L3_1
    %60 = "tensor.insert"(%59, %58, %50) : (!ct_L3_1, tensor<1x!ct_L3_1>, index) -> tensor<1x!ct_L3_1>
    %61 = "scf.for"(%47, %48, %47, %60) ({
    ^bb0(%arg22: index, %arg23: tensor<1x!ct_L3_1>):
      %125 = "arith.cmpi"(%arg22, %46) <{predicate = 2 : i64}> : (index, index) -> i1
      %126 = "scf.if"(%125) ({
        %127 = "preprocessing.load"(%arg17, %arg22) <{element_type = !pt, site_id = 2 : i32}> : (!preprocessing.storage<!pt, !pt1>, index) -> !pt
        %128 = "tensor.extract"(%53, %arg22) : (tensor<3x!ct_L3>, index) -> !ct_L3
        %129 = "ckks.mul_plain"(%128, %127) : (!ct_L3, !pt) -> !ct_L3_1
        %130 = "tensor.extract"(%arg23, %50) : (tensor<1x!ct_L3_1>, index) -> !ct_L3_1
        %131 = "ckks.add"(%130, %129) : (!ct_L3_1, !ct_L3_1) -> !ct_L3_1
        %132 = "tensor.insert"(%131, %58, %50) : (!ct_L3_1, tensor<1x!ct_L3_1>, index) -> tensor<1x!ct_L3_1>
        "scf.yield"(%132) : (tensor<1x!ct_L3_1>) -> ()
      }, {
        "scf.yield"(%arg23) : (tensor<1x!ct_L3_1>) -> ()
      }) : (i1) -> tensor<1x!ct_L3_1>
      "scf.yield"(%126) : (tensor<1x!ct_L3_1>) -> ()
    }) : (index, index, index, tensor<1x!ct_L3_1>) -> tensor<1x!ct_L3_1>
    %62 = "tensor.extract"(%61, %50) : (tensor<1x!ct_L3_1>, index) -> !ct_L3_1
    %63 = "ckks.add_plain"(%62, %57) : (!ct_L3_1, !pt1) -> !ct_L3_1
    %64 = "tensor.insert"(%63, %58, %50) : (!ct_L3_1, tensor<1x!ct_L3_1>, index) -> tensor<1x!ct_L3_1>
    %65 = "scf.for"(%47, %48, %47, %64) ({
    ^bb0(%arg18: index, %arg19: tensor<1x!ct_L3_1>):
      %98 = "arith.muli"(%arg18, %48) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %99 = "arith.cmpi"(%98, %46) <{predicate = 2 : i64}> : (index, index) -> i1
      %100 = "scf.if"(%99) ({
        %121 = "preprocessing.load"(%arg17, %arg18) <{element_type = !pt, site_id = 3 : i32}> : (!preprocessing.storage<!pt, !pt1>, index) -> !pt
        %122 = "ckks.mul_plain"(%55, %121) : (!ct_L3, !pt) -> !ct_L3_1
        %123 = "ckks.add_plain"(%122, %57) : (!ct_L3_1, !pt1) -> !ct_L3_1
        %124 = "tensor.insert"(%123, %58, %50) : (!ct_L3_1, tensor<1x!ct_L3_1>, index) -> tensor<1x!ct_L3_1>
        "scf.yield"(%124) : (tensor<1x!ct_L3_1>) -> ()
      }, {
        %116 = "preprocessing.load"(%arg17, %arg18) <{element_type = !pt1, site_id = 4 : i32}> : (!preprocessing.storage<!pt, !pt1>, index) -> !pt1
        %117 = "tensor.splat"(%arg16) : (!ct_L3_1) -> tensor<1x!ct_L3_1>
        %118 = "tensor.extract"(%117, %50) : (tensor<1x!ct_L3_1>, index) -> !ct_L3_1
        %119 = "lwe.radd_plain"(%118, %116) : (!ct_L3_1, !pt1) -> !ct_L3_1
        %120 = "tensor.insert"(%119, %58, %50) : (!ct_L3_1, tensor<1x!ct_L3_1>, index) -> tensor<1x!ct_L3_1>
        "scf.yield"(%120) : (tensor<1x!ct_L3_1>) -> ()
      }) : (i1) -> tensor<1x!ct_L3_1>
      %101 = "scf.for"(%47, %48, %47, %100) ({
      ^bb0(%arg20: index, %arg21: tensor<1x!ct_L3_1>):
        %107 = "arith.addi"(%arg20, %98) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
        %108 = "arith.cmpi"(%107, %46) <{predicate = 2 : i64}> : (index, index) -> i1
        %109 = "scf.if"(%108) ({
          %110 = "preprocessing.load"(%arg17, %arg18, %arg20) <{element_type = !pt, site_id = 5 : i32}> : (!preprocessing.storage<!pt, !pt1>, index, index) -> !pt
          %111 = "tensor.extract"(%53, %arg20) : (tensor<3x!ct_L3>, index) -> !ct_L3
          %112 = "ckks.mul_plain"(%111, %110) : (!ct_L3, !pt) -> !ct_L3_1
          %113 = "tensor.extract"(%arg21, %50) : (tensor<1x!ct_L3_1>, index) -> !ct_L3_1
          %114 = "ckks.add"(%113, %112) : (!ct_L3_1, !ct_L3_1) -> !ct_L3_1
          %115 = "tensor.insert"(%114, %58, %50) : (!ct_L3_1, tensor<1x!ct_L3_1>, index) -> tensor<1x!ct_L3_1>
          "scf.yield"(%115) : (tensor<1x!ct_L3_1>) -> ()
        }, {
          "scf.yield"(%arg21) : (tensor<1x!ct_L3_1>) -> ()
        }) : (i1) -> tensor<1x!ct_L3_1>
        "scf.yield"(%109) : (tensor<1x!ct_L3_1>) -> ()
      }) : (index, index, index, tensor<1x!ct_L3_1>) -> tensor<1x!ct_L3_1>
      %102 = "tensor.extract"(%101, %50) : (tensor<1x!ct_L3_1>, index) -> !ct_L3_1
      %103 = "ckks.rotate"(%102, %98) : (!ct_L3_1, index) -> !ct_L3_1
      %104 = "tensor.extract"(%arg19, %50) : (tensor<1x!ct_L3_1>, index) -> !ct_L3_1
      %105 = "ckks.add"(%104, %103) : (!ct_L3_1, !ct_L3_1) -> !ct_L3_1
      %106 = "tensor.insert"(%105, %58, %50) : (!ct_L3_1, tensor<1x!ct_L3_1>, index) -> tensor<1x!ct_L3_1>
      "scf.yield"(%106) : (tensor<1x!ct_L3_1>) -> ()
    }) : (index, index, index, tensor<1x!ct_L3_1>) -> tensor<1x!ct_L3_1>
    %66 = "preprocessing.load"(%arg17) <{element_type = !pt1, site_id = 6 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt1
    %67 = "tensor.extract"(%65, %50) : (tensor<1x!ct_L3_1>, index) -> !ct_L3_1
    %68 = "ckks.add_plain"(%67, %66) : (!ct_L3_1, !pt1) -> !ct_L3_1
    %69 = "ckks.rescale"(%68) <{to_ring = #ring_rns_L2_1_x16384}> : (!ct_L3_1) -> !ct_L2
    %70 = "ckks.mul"(%69, %69) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L2, !ct_L2) -> !ct_L2_D3
    %71 = "ckks.relinearize"(%70) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L2_D3) -> !ct_L2_1
    %72 = "ckks.rotate"(%71, %47) : (!ct_L2_1, index) -> !ct_L2_1
    %73 = "ckks.rescale"(%71) <{to_ring = #ring_rns_L1_1_x16384}> : (!ct_L2_1) -> !ct_L1
    %74 = "preprocessing.load"(%arg17) <{element_type = !pt, site_id = 7 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %75 = "ckks.mul_plain"(%73, %74) : (!ct_L1, !pt) -> !ct_L1_1
    %76 = "preprocessing.load"(%arg17) <{element_type = !pt1, site_id = 8 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt1
    %77 = "ckks.add_plain"(%75, %76) : (!ct_L1_1, !pt1) -> !ct_L1_1
    %78 = "ckks.rescale"(%72) <{to_ring = #ring_rns_L1_1_x16384}> : (!ct_L2_1) -> !ct_L1
    %79 = "preprocessing.load"(%arg17) <{element_type = !pt, site_id = 9 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %80 = "ckks.mul_plain"(%78, %79) : (!ct_L1, !pt) -> !ct_L1_1
    %81 = "ckks.add"(%77, %80) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %82 = "ckks.add_plain"(%81, %76) : (!ct_L1_1, !pt1) -> !ct_L1_1
    %83 = "preprocessing.load"(%arg17) <{element_type = !pt, site_id = 10 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %84 = "ckks.mul_plain"(%73, %83) : (!ct_L1, !pt) -> !ct_L1_1
    %85 = "ckks.add_plain"(%84, %76) : (!ct_L1_1, !pt1) -> !ct_L1_1
    %86 = "preprocessing.load"(%arg17) <{element_type = !pt, site_id = 11 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %87 = "ckks.mul_plain"(%78, %86) : (!ct_L1, !pt) -> !ct_L1_1
    %88 = "ckks.add"(%85, %87) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %89 = "ckks.rotate"(%88, %49) : (!ct_L1_1, index) -> !ct_L1_1
    %90 = "ckks.add"(%82, %89) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %91 = "ckks.rotate"(%90, %45) : (!ct_L1_1, index) -> !ct_L1_1
    %92 = "preprocessing.load"(%arg17) <{element_type = !pt1, site_id = 12 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt1
    %93 = "ckks.add_plain"(%90, %92) : (!ct_L1_1, !pt1) -> !ct_L1_1
    %94 = "ckks.add"(%93, %91) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %95 = "tensor.empty"() : () -> tensor<1x!ct_L0>
    %96 = "ckks.rescale"(%94) <{to_ring = #ring_rns_L0_1_x16384}> : (!ct_L1_1) -> !ct_L0
    %97 = "tensor.insert"(%96, %95, %50) : (!ct_L0, tensor<1x!ct_L0>, index) -> tensor<1x!ct_L0>
    "func.return"(%97) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "two_layers", roles = ["client.preprocessed", "server.evaluate"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}, {client.enc_zero_arg = {func_name = "two_layers", index = 0 : i64}}], function_type = (tensor<1x!ct_L3>, !ct_L3_1) -> tensor<1x!ct_L0>, res_attrs = [{tensor_ext.original_type = #original_type1}], sym_name = "two_layers"}> ({
  ^bb0(%arg13: tensor<1x!ct_L3>, %arg14: !ct_L3_1):
    %43 = "func.call"() <{callee = @two_layers__preprocessing}> : () -> !preprocessing.storage<!pt, !pt1>
    %44 = "func.call"(%arg13, %arg14, %43) <{callee = @two_layers__preprocessed}> : (tensor<1x!ct_L3>, !ct_L3_1, !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0>
    "func.return"(%44) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "two_layers", input_types = [tensor<8xf32>], result_types = [tensor<4xf32>], roles = ["entry"]}} : () -> ()
  "func.func"() <{function_type = (!pkey_L3) -> !ct_L3_1, sym_name = "two_layers__encrypt__zero__0"}> ({
  ^bb0(%arg12: !pkey_L3):
    %40 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64xf64>}> : () -> tensor<64xf64>
    %41 = "lwe.rlwe_encode"(%40) <{encoding = #inverse_canonical_encoding1, level = 3 : i64, ring = #ring_f64_1_x16384}> : (tensor<64xf64>) -> !pt1
    %42 = "lwe.rlwe_encrypt"(%41, %arg12) : (!pt1, !pkey_L3) -> !ct_L3_1
    "func.return"(%42) : (!ct_L3_1) -> ()
  }) {heir.interface = {func_name = "two_layers", index = 0 : i64, roles = ["client.encrypt_zero"]}} : () -> ()
  "func.func"() <{function_type = (tensor<8xf32>, !pkey_L3) -> tensor<1x!ct_L3>, sym_name = "two_layers__encrypt__arg0"}> ({
  ^bb0(%arg6: tensor<8xf32>, %arg7: !pkey_L3):
    %24 = "arith.constant"() <{value = 0 : index}> : () -> index
    %25 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %26 = "arith.constant"() <{value = 8 : i32}> : () -> i32
    %27 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<1x64xf32>}> : () -> tensor<1x64xf32>
    %28 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %29 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %30 = "scf.for"(%28, %26, %29, %27) ({
    ^bb0(%arg8: i32, %arg9: tensor<1x64xf32>):
      %35 = "scf.for"(%arg8, %25, %26, %arg9) ({
      ^bb0(%arg10: i32, %arg11: tensor<1x64xf32>):
        %36 = "arith.index_cast"(%arg8) : (i32) -> index
        %37 = "tensor.extract"(%arg6, %36) : (tensor<8xf32>, index) -> f32
        %38 = "arith.index_cast"(%arg10) : (i32) -> index
        %39 = "tensor.insert"(%37, %arg11, %24, %38) : (f32, tensor<1x64xf32>, index, index) -> tensor<1x64xf32>
        "scf.yield"(%39) : (tensor<1x64xf32>) -> ()
      }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
      "scf.yield"(%35) : (tensor<1x64xf32>) -> ()
    }) : (i32, i32, i32, tensor<1x64xf32>) -> tensor<1x64xf32>
    %31 = "tensor.extract_slice"(%30) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
    %32 = "lwe.rlwe_encode"(%31) <{encoding = #inverse_canonical_encoding, level = 3 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    %33 = "lwe.rlwe_encrypt"(%32, %arg7) : (!pt, !pkey_L3) -> !ct_L3
    %34 = "tensor.from_elements"(%33) : (!ct_L3) -> tensor<1x!ct_L3>
    "func.return"(%34) : (tensor<1x!ct_L3>) -> ()
  }) {heir.interface = {func_name = "two_layers", index = 0 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x!ct_L0>, !skey_L0) -> tensor<4xf32>, sym_name = "two_layers__decrypt__result0"}> ({
  ^bb0(%arg0: tensor<1x!ct_L0>, %arg1: !skey_L0):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 4 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %4 = "arith.constant"() <{value = 3 : i32}> : () -> i32
    %5 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %6 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<4xf32>}> : () -> tensor<4xf32>
    %7 = "arith.constant"() <{value = 60 : i32}> : () -> i32
    %8 = "tensor.extract"(%arg0, %0) : (tensor<1x!ct_L0>, index) -> !ct_L0
    %9 = "lwe.rlwe_decrypt"(%8, %arg1) : (!ct_L0, !skey_L0) -> !pt
    %10 = "lwe.rlwe_decode"(%9) <{encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x16384}> : (!pt) -> tensor<1x64xf32>
    %11 = "scf.for"(%5, %2, %3, %6) ({
    ^bb0(%arg2: i32, %arg3: tensor<4xf32>):
      %12 = "arith.subi"(%4, %arg2) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %13 = "scf.for"(%12, %1, %2, %arg3) ({
      ^bb0(%arg4: i32, %arg5: tensor<4xf32>):
        %14 = "arith.addi"(%arg2, %7) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %15 = "arith.floordivsi"(%14, %2) : (i32, i32) -> i32
        %16 = "arith.muli"(%15, %2) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %17 = "arith.addi"(%12, %16) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %18 = "arith.subi"(%arg4, %12) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %19 = "arith.subi"(%17, %18) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %20 = "arith.index_cast"(%19) : (i32) -> index
        %21 = "tensor.extract"(%10, %0, %20) : (tensor<1x64xf32>, index, index) -> f32
        %22 = "arith.index_cast"(%12) : (i32) -> index
        %23 = "tensor.insert"(%21, %arg5, %22) : (f32, tensor<4xf32>, index) -> tensor<4xf32>
        "scf.yield"(%23) : (tensor<4xf32>) -> ()
      }) : (i32, i32, i32, tensor<4xf32>) -> tensor<4xf32>
      "scf.yield"(%13) : (tensor<4xf32>) -> ()
    }) : (i32, i32, i32, tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%11) : (tensor<4xf32>) -> ()
  }) {heir.interface = {func_name = "two_layers", index = 0 : i64, roles = ["client.decrypt"]}} : () -> ()
}) {backend.openfhe, ckks.schemeParam = #ckks.scheme_param<logN = 14, Q = [36028797017456641, 35184372744193, 35184371138561, 35184372121601], P = [1152921504607338497, 1152921504608747521], logDefaultScale = 45>, scheme.actual_slot_count = 8192 : i64, scheme.ckks, scheme.requested_slot_count = 64 : i64} : () -> ()

