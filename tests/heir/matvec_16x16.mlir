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
  "func.func"() <{function_type = () -> !preprocessing.storage<!pt, !pt1>, sym_name = "matvec_16x16__preprocessing"}> ({
    %110 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64xf32>}> : () -> tensor<64xf32>
    %111 = "arith.constant"() <{value = dense<"0x99BB16BDCAC3423E42CF86BE857C903E6F12033BA857CABDE10B133EB072883E5C8F423E6B2B763DE71DA73B7AA56C3EC1A8A43C4182A23E66F7643E006F813C99BB16BDCAC3423E42CF86BE857C903E6F12033BA857CABDE10B133EB072883E5C8F423E6B2B763DE71DA73B7AA56C3EC1A8A43C4182A23E66F7643E006F813C99BB16BDCAC3423E42CF86BE857C903E6F12033BA857CABDE10B133EB072883E5C8F423E6B2B763DE71DA73B7AA56C3EC1A8A43C4182A23E66F7643E006F813C99BB16BDCAC3423E42CF86BE857C903E6F12033BA857CABDE10B133EB072883E5C8F423E6B2B763DE71DA73B7AA56C3EC1A8A43C4182A23E66F7643E006F813C1DC9653DE9B76F3E6E34E03E4260C5BE075FB8BE006F01BDA69BA43E16FBEBBEAC1C9ABEBC96103D1973573E39B4C8BDD3DE203E7FFBBABE560E6D3EF46CD63D1DC9653DE9B76F3E6E34E03E4260C5BE075FB8BE006F01BDA69BA43E16FBEBBEAC1C9ABEBC96103D1973573E39B4C8BDD3DE203E7FFBBABE560E6D3EF46CD63D1DC9653DE9B76F3E6E34E03E4260C5BE075FB8BE006F01BDA69BA43E16FBEBBEAC1C9ABEBC96103D1973573E39B4C8BDD3DE203E7FFBBABE560E6D3EF46CD63D1DC9653DE9B76F3E6E34E03E4260C5BE075FB8BE006F01BDA69BA43E16FBEBBEAC1C9ABEBC96103D1973573E39B4C8BDD3DE203E7FFBBABE560E6D3EF46CD63DAAF1F2BE7446943D8E0690BEAF25A4BE2FDD843E8A1FA33E547464BE984CF5BED7346FBD158CEA3E9A99F93E2DB29DBE6ABC34BE5986B83DD95FD6BED93D39BEAAF1F2BE7446943D8E0690BEAF25A4BE2FDD843E8A1FA33E547464BE984CF5BED7346FBD158CEA3E9A99F93E2DB29DBE6ABC34BE5986B83DD95FD6BED93D39BEAAF1F2BE7446943D8E0690BEAF25A4BE2FDD843E8A1FA33E547464BE984CF5BED7346FBD158CEA3E9A99F93E2DB29DBE6ABC34BE5986B83DD95FD6BED93D39BEAAF1F2BE7446943D8E0690BEAF25A4BE2FDD843E8A1FA33E547464BE984CF5BED7346FBD158CEA3E9A99F93E2DB29DBE6ABC34BE5986B83DD95FD6BED93D39BEE258973E728A4E3E1D5AE43D029A883E8B6C673ED95FD6BE6B9AF7BE643BFF3E0B24A83E14D0E4BE17D98E3E174850BEB1BFEC3D76711BBE1AC09B3E5F98CCBDE258973E728A4E3E1D5AE43D029A883E8B6C673ED95FD6BE6B9AF7BE643BFF3E0B24A83E14D0E4BE17D98E3E174850BEB1BFEC3D76711BBE1AC09B3E5F98CCBDE258973E728A4E3E1D5AE43D029A883E8B6C673ED95FD6BE6B9AF7BE643BFF3E0B24A83E14D0E4BE17D98E3E174850BEB1BFEC3D76711BBE1AC09B3E5F98CCBDE258973E728A4E3E1D5AE43D029A883E8B6C673ED95FD6BE6B9AF7BE643BFF3E0B24A83E14D0E4BE17D98E3E174850BEB1BFEC3D76711BBE1AC09B3E5F98CCBDEA95F23EAA6014BEF7E421BEA2B4973E1EA7683D1826D33E10E9F73E9318A4BE4B59863BEC5178BE022B873C835189BE9BE69D3DBDE3943EED0D9E3E0F9CD33EEA95F23EAA6014BEF7E421BEA2B4973E1EA7683D1826D33E10E9F73E9318A4BE4B59863BEC5178BE022B873C835189BE9BE69D3DBDE3943EED0D9E3E0F9CD33EEA95F23EAA6014BEF7E421BEA2B4973E1EA7683D1826D33E10E9F73E9318A4BE4B59863BEC5178BE022B873C835189BE9BE69D3DBDE3943EED0D9E3E0F9CD33EEA95F23EAA6014BEF7E421BEA2B4973E1EA7683D1826D33E10E9F73E9318A4BE4B59863BEC5178BE022B873C835189BE9BE69D3DBDE3943EED0D9E3E0F9CD33E96218E3D29CB50BEA835EDBE8B6C873EE926B1BD295C0F3DEBE2B63E66F784BE1C7CA13E0A68A2BE5227A0BECB10C7BD986E923D17B7113E44FA8D3EA4DF9E3E96218E3D29CB50BEA835EDBE8B6C873EE926B1BD295C0F3DEBE2B63E66F784BE1C7CA13E0A68A2BE5227A0BECB10C7BD986E923D17B7113E44FA8D3EA4DF9E3E96218E3D29CB50BEA835EDBE8B6C873EE926B1BD295C0F3DEBE2B63E66F784BE1C7CA13E0A68A2BE5227A0BECB10C7BD986E923D17B7113E44FA8D3EA4DF9E3E96218E3D29CB50BEA835EDBE8B6C873EE926B1BD295C0F3DEBE2B63E66F784BE1C7CA13E0A68A2BE5227A0BECB10C7BD986E923D17B7113E44FA8D3EA4DF9E3E5B427E3EC8983BBD61C3B33EDE02893E1C7C813E5F29CBBD98DD13BE5C8F42BE3F57FB3E43AD893ECA32A4BE143F06BE39B4C8BE9643ABBE45D830BE3CBDF23E5B427E3EC8983BBD61C3B33EDE02893E1C7C813E5F29CBBD98DD13BE5C8F42BE3F57FB3E43AD893ECA32A4BE143F06BE39B4C8BE9643ABBE45D830BE3CBDF23E5B427E3EC8983BBD61C3B33EDE02893E1C7C813E5F29CBBD98DD13BE5C8F42BE3F57FB3E43AD893ECA32A4BE143F06BE39B4C8BE9643ABBE45D830BE3CBDF23E5B427E3EC8983BBD61C3B33EDE02893E1C7C813E5F29CBBD98DD13BE5C8F42BE3F57FB3E43AD893ECA32A4BE143F06BE39B4C8BE9643ABBE45D830BE3CBDF23EC3F5883E32E66EBEB684FC3D5E4B08BE50FC18BE27A009BB29ED8DBE75029A3E61C3F33EB5157B3E27C2E63E759318BE12A57D3E5249BD3EF1F4CABE583994BEC3F5883E32E66EBEB684FC3D5E4B08BE50FC18BE27A009BB29ED8DBE75029A3E61C3F33EB5157B3E27C2E63E759318BE12A57D3E5249BD3EF1F4CABE583994BEC3F5883E32E66EBEB684FC3D5E4B08BE50FC18BE27A009BB29ED8DBE75029A3E61C3F33EB5157B3E27C2E63E759318BE12A57D3E5249BD3EF1F4CABE583994BEC3F5883E32E66EBEB684FC3D5E4B08BE50FC18BE27A009BB29ED8DBE75029A3E61C3F33EB5157B3E27C2E63E759318BE12A57D3E5249BD3EF1F4CABE583994BE211F74BEE3A51B3C7671BB3EE926713EA9A4AE3E0456EE3E9BE69D3EE8D9CCBE21B032BE7B83AF3EEC2F9BBEE17AF4BEFE43DA3EB22E6EBE00917EBEA08930BD211F74BEE3A51B3C7671BB3EE926713EA9A4AE3E0456EE3E9BE69D3EE8D9CCBE21B032BE7B83AF3EEC2F9BBEE17AF4BEFE43DA3EB22E6EBE00917EBEA08930BD211F74BEE3A51B3C7671BB3EE926713EA9A4AE3E0456EE3E9BE69D3EE8D9CCBE21B032BE7B83AF3EEC2F9BBEE17AF4BEFE43DA3EB22E6EBE00917EBEA08930BD211F74BEE3A51B3C7671BB3EE926713EA9A4AE3E0456EE3E9BE69D3EE8D9CCBE21B032BE7B83AF3EEC2F9BBEE17AF4BEFE43DA3EB22E6EBE00917EBEA08930BDD9CE77BE9CC4A03E5F29AB3E925CFE3ED712D23E5474643EF163AC3EACAD18BE94F6863EBC74933ED0B3F9BED5E78ABE85EBD1BDCBA185BE5917B7BD3411D6BED9CE77BE9CC4A03E5F29AB3E925CFE3ED712D23E5474643EF163AC3EACAD18BE94F6863EBC74933ED0B3F9BED5E78ABE85EBD1BDCBA185BE5917B7BD3411D6BED9CE77BE9CC4A03E5F29AB3E925CFE3ED712D23E5474643EF163AC3EACAD18BE94F6863EBC74933ED0B3F9BED5E78ABE85EBD1BDCBA185BE5917B7BD3411D6BED9CE77BE9CC4A03E5F29AB3E925CFE3ED712D23E5474643EF163AC3EACAD18BE94F6863EBC74933ED0B3F9BED5E78ABE85EBD1BDCBA185BE5917B7BD3411D6BE2D211FBE7B14CE3E71AC8B3E58A8353E1283403E7B83AFBE08AC9C3D4F1E96BDA857CABEBD52963DC7BA38BEB37BF2BC9487E53E6900AF3EDA1BFC3D8BFD25BE2D211FBE7B14CE3E71AC8B3E58A8353E1283403E7B83AFBE08AC9C3D4F1E96BDA857CABEBD52963DC7BA38BEB37BF2BC9487E53E6900AF3EDA1BFC3D8BFD25BE2D211FBE7B14CE3E71AC8B3E58A8353E1283403E7B83AFBE08AC9C3D4F1E96BDA857CABEBD52963DC7BA38BEB37BF2BC9487E53E6900AF3EDA1BFC3D8BFD25BE2D211FBE7B14CE3E71AC8B3E58A8353E1283403E7B83AFBE08AC9C3D4F1E96BDA857CABEBD52963DC7BA38BEB37BF2BC9487E53E6900AF3EDA1BFC3D8BFD25BE5BD3FC3E57ECAFBDD42B65BE13F2A13E8126423E95D4093E7E8CB93E52B89E3DCDCC4C3EB1E169BD363CBDBE17B7113E65AA60BED0D5D6BE1FF4EC3D423EA8BE5BD3FC3E57ECAFBDD42B65BE13F2A13E8126423E95D4093E7E8CB93E52B89E3DCDCC4C3EB1E169BD363CBDBE17B7113E65AA60BED0D5D6BE1FF4EC3D423EA8BE5BD3FC3E57ECAFBDD42B65BE13F2A13E8126423E95D4093E7E8CB93E52B89E3DCDCC4C3EB1E169BD363CBDBE17B7113E65AA60BED0D5D6BE1FF4EC3D423EA8BE5BD3FC3E57ECAFBDD42B65BE13F2A13E8126423E95D4093E7E8CB93E52B89E3DCDCC4C3EB1E169BD363CBDBE17B7113E65AA60BED0D5D6BE1FF4EC3D423EA8BEDE9347BEE7FBE9BE16FBAB3E97900FBEB98D863EBBB88D3CD8F0F43CE8D9CC3ED3BCE3BDCF66153EFB3A30BEC0ECFEBE13F2C1BDB81E053D8195C33EFE65F73CDE9347BEE7FBE9BE16FBAB3E97900FBEB98D863EBBB88D3CD8F0F43CE8D9CC3ED3BCE3BDCF66153EFB3A30BEC0ECFEBE13F2C1BDB81E053D8195C33EFE65F73CDE9347BEE7FBE9BE16FBAB3E97900FBEB98D863EBBB88D3CD8F0F43CE8D9CC3ED3BCE3BDCF66153EFB3A30BEC0ECFEBE13F2C1BDB81E053D8195C33EFE65F73CDE9347BEE7FBE9BE16FBAB3E97900FBEB98D863EBBB88D3CD8F0F43CE8D9CC3ED3BCE3BDCF66153EFB3A30BEC0ECFEBE13F2C1BDB81E053D8195C33EFE65F73C2CD41ABE11C7FABEE2E995BCAF94E53DEBE276BE6519C23EC520303E6154F23EA835ADBED93DB9BE0B46C53E7FFB3ABECEAA4F3E6E3480BE6DC57EBECBA1C5BE2CD41ABE11C7FABEE2E995BCAF94E53DEBE276BE6519C23EC520303E6154F23EA835ADBED93DB9BE0B46C53E7FFB3ABECEAA4F3E6E3480BE6DC57EBECBA1C5BE2CD41ABE11C7FABEE2E995BCAF94E53DEBE276BE6519C23EC520303E6154F23EA835ADBED93DB9BE0B46C53E7FFB3ABECEAA4F3E6E3480BE6DC57EBECBA1C5BE2CD41ABE11C7FABEE2E995BCAF94E53DEBE276BE6519C23EC520303E6154F23EA835ADBED93DB9BE0B46C53E7FFB3ABECEAA4F3E6E3480BE6DC57EBECBA1C5BE1D5AA43E759398BD71AC0BBDA089303E780BA4BE58CAB23DDBF9BEBEB3EAF33D17D94EBE80483FBDCF6695BE54E365BE696F303EC3F5A8BDD0B3D9BE5227603E1D5AA43E759398BD71AC0BBDA089303E780BA4BE58CAB23DDBF9BEBEB3EAF33D17D94EBE80483FBDCF6695BE54E365BE696F303EC3F5A8BDD0B3D9BE5227603E1D5AA43E759398BD71AC0BBDA089303E780BA4BE58CAB23DDBF9BEBEB3EAF33D17D94EBE80483FBDCF6695BE54E365BE696F303EC3F5A8BDD0B3D9BE5227603E1D5AA43E759398BD71AC0BBDA089303E780BA4BE58CAB23DDBF9BEBEB3EAF33D17D94EBE80483FBDCF6695BE54E365BE696F303EC3F5A8BDD0B3D9BE5227603E2EFFA1BDE926B13D9FAB2DBE4A7B833D6688833EF016E8BE2E9060BE516B9A3D9D11A53D136143BE6ABCB43E27C2E63E4013A1BE158CAABED0D5F6BECE1951BE2EFFA1BDE926B13D9FAB2DBE4A7B833D6688833EF016E8BE2E9060BE516B9A3D9D11A53D136143BE6ABCB43E27C2E63E4013A1BE158CAABED0D5F6BECE1951BE2EFFA1BDE926B13D9FAB2DBE4A7B833D6688833EF016E8BE2E9060BE516B9A3D9D11A53D136143BE6ABCB43E27C2E63E4013A1BE158CAABED0D5F6BECE1951BE2EFFA1BDE926B13D9FAB2DBE4A7B833D6688833EF016E8BE2E9060BE516B9A3D9D11A53D136143BE6ABCB43E27C2E63E4013A1BE158CAABED0D5F6BECE1951BE"> : tensor<16x64xf32>}> : () -> tensor<16x64xf32>
    %112 = "arith.constant"() <{value = 4 : index}> : () -> index
    %113 = "arith.constant"() <{value = 1 : index}> : () -> index
    %114 = "arith.constant"() <{value = 16 : index}> : () -> index
    %115 = "arith.constant"() <{value = -4 : index}> : () -> index
    %116 = "arith.constant"() <{value = 64 : index}> : () -> index
    %117 = "arith.constant"() <{value = dense<[-3.680000e-02, 1.902000e-01, -2.633000e-01, 2.822000e-01, 2.000000e-03, -9.880000e-02, 1.436000e-01, 2.665000e-01, 1.900000e-01, 6.010000e-02, 5.100000e-03, 2.311000e-01, 2.010000e-02, 3.174000e-01, 2.236000e-01, 1.580000e-02, -3.680000e-02, 1.902000e-01, -2.633000e-01, 2.822000e-01, 2.000000e-03, -9.880000e-02, 1.436000e-01, 2.665000e-01, 1.900000e-01, 6.010000e-02, 5.100000e-03, 2.311000e-01, 2.010000e-02, 3.174000e-01, 2.236000e-01, 1.580000e-02, -3.680000e-02, 1.902000e-01, -2.633000e-01, 2.822000e-01, 2.000000e-03, -9.880000e-02, 1.436000e-01, 2.665000e-01, 1.900000e-01, 6.010000e-02, 5.100000e-03, 2.311000e-01, 2.010000e-02, 3.174000e-01, 2.236000e-01, 1.580000e-02, -3.680000e-02, 1.902000e-01, -2.633000e-01, 2.822000e-01, 2.000000e-03, -9.880000e-02, 1.436000e-01, 2.665000e-01, 1.900000e-01, 6.010000e-02, 5.100000e-03, 2.311000e-01, 2.010000e-02, 3.174000e-01, 2.236000e-01, 1.580000e-02]> : tensor<64xf32>}> : () -> tensor<64xf32>
    %118 = "arith.constant"() <{value = dense<[-7.350000e-02, 1.122000e-01, -9.490000e-01, 5.911000e-01, 0.94749999, 1.387000e-01, 4.967000e-01, 5.350000e-01, -4.769000e-01, -4.839000e-01, -3.108000e-01, 9.876000e-01, -3.898000e-01, -3.023000e-01, 6.420000e-01, -1.582000e-01, -7.350000e-02, 1.122000e-01, -9.490000e-01, 5.911000e-01, 0.94749999, 1.387000e-01, 4.967000e-01, 5.350000e-01, -4.769000e-01, -4.839000e-01, -3.108000e-01, 9.876000e-01, -3.898000e-01, -3.023000e-01, 6.420000e-01, -1.582000e-01, -7.350000e-02, 1.122000e-01, -9.490000e-01, 5.911000e-01, 0.94749999, 1.387000e-01, 4.967000e-01, 5.350000e-01, -4.769000e-01, -4.839000e-01, -3.108000e-01, 9.876000e-01, -3.898000e-01, -3.023000e-01, 6.420000e-01, -1.582000e-01, -7.350000e-02, 1.122000e-01, -9.490000e-01, 5.911000e-01, 0.94749999, 1.387000e-01, 4.967000e-01, 5.350000e-01, -4.769000e-01, -4.839000e-01, -3.108000e-01, 9.876000e-01, -3.898000e-01, -3.023000e-01, 6.420000e-01, -1.582000e-01]> : tensor<64xf32>}> : () -> tensor<64xf32>
    %119 = "preprocessing.empty"() : () -> !preprocessing.storage<!pt, !pt1>
    %120 = "lwe.rlwe_encode"(%117) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
    "preprocessing.store"(%120, %119) <{element_type = !pt, site_id = 0 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %121 = "lwe.rlwe_encode"(%110) <{encoding = #inverse_canonical_encoding1, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 90 : i64}> : (tensor<64xf32>) -> !pt1
    "preprocessing.store"(%121, %119) <{element_type = !pt1, site_id = 1 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>) -> ()
    "scf.for"(%113, %112, %113) ({
    ^bb0(%arg28: index):
      %151 = "arith.cmpi"(%arg28, %114) <{predicate = 2 : i64}> : (index, index) -> i1
      "scf.if"(%151) ({
        %152 = "tensor.extract_slice"(%111, %arg28) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<16x64xf32>, index) -> tensor<64xf32>
        %153 = "lwe.rlwe_encode"(%152) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
        "preprocessing.store"(%153, %119, %arg28) <{element_type = !pt, site_id = 2 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>, index) -> ()
        "scf.yield"() : () -> ()
      }, {
      }) : (i1) -> ()
      "scf.yield"() : () -> ()
    }) : (index, index, index) -> ()
    "scf.for"(%113, %112, %113) ({
    ^bb0(%arg26: index):
      %123 = "arith.muli"(%arg26, %112) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %124 = "arith.cmpi"(%123, %114) <{predicate = 2 : i64}> : (index, index) -> i1
      "scf.if"(%124) ({
        %139 = "tensor.extract_slice"(%111, %123) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<16x64xf32>, index) -> tensor<1x64xf32>
        %140 = "arith.muli"(%arg26, %115) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
        %141 = "arith.remsi"(%140, %116) : (index, index) -> index
        %142 = "arith.addi"(%141, %116) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
        %143 = "arith.remsi"(%142, %116) : (index, index) -> index
        %144 = "arith.subi"(%116, %143) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
        %145 = "tensor.extract_slice"(%111, %123, %143) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, static_offsets = array<i64: -9223372036854775808, 0>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<16x64xf32>, index, index) -> tensor<1x?xf32>
        %146 = "tensor.extract_slice"(%111, %123, %143, %144) <{operandSegmentSizes = array<i32: 1, 2, 1, 0>, static_offsets = array<i64: -9223372036854775808, -9223372036854775808>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<16x64xf32>, index, index, index) -> tensor<1x?xf32>
        %147 = "tensor.insert_slice"(%145, %139, %144, %143) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, static_offsets = array<i64: 0, -9223372036854775808>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<1x?xf32>, tensor<1x64xf32>, index, index) -> tensor<1x64xf32>
        %148 = "tensor.insert_slice"(%146, %147, %144) <{operandSegmentSizes = array<i32: 1, 1, 0, 1, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<1x?xf32>, tensor<1x64xf32>, index) -> tensor<1x64xf32>
        %149 = "tensor.extract_slice"(%148) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
        %150 = "lwe.rlwe_encode"(%149) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
        "preprocessing.store"(%150, %119, %arg26) <{element_type = !pt, site_id = 3 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>, index) -> ()
        "scf.yield"() : () -> ()
      }, {
        "preprocessing.store"(%121, %119, %arg26) <{element_type = !pt1, site_id = 4 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>, index) -> ()
        "scf.yield"() : () -> ()
      }) : (i1) -> ()
      "scf.for"(%113, %112, %113) ({
      ^bb0(%arg27: index):
        %125 = "arith.addi"(%arg27, %123) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
        %126 = "arith.cmpi"(%125, %114) <{predicate = 2 : i64}> : (index, index) -> i1
        "scf.if"(%126) ({
          %127 = "tensor.extract_slice"(%111, %125) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<16x64xf32>, index) -> tensor<1x64xf32>
          %128 = "arith.muli"(%arg26, %115) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
          %129 = "arith.remsi"(%128, %116) : (index, index) -> index
          %130 = "arith.addi"(%129, %116) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
          %131 = "arith.remsi"(%130, %116) : (index, index) -> index
          %132 = "arith.subi"(%116, %131) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
          %133 = "tensor.extract_slice"(%111, %125, %131) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, static_offsets = array<i64: -9223372036854775808, 0>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<16x64xf32>, index, index) -> tensor<1x?xf32>
          %134 = "tensor.extract_slice"(%111, %125, %131, %132) <{operandSegmentSizes = array<i32: 1, 2, 1, 0>, static_offsets = array<i64: -9223372036854775808, -9223372036854775808>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<16x64xf32>, index, index, index) -> tensor<1x?xf32>
          %135 = "tensor.insert_slice"(%133, %127, %132, %131) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, static_offsets = array<i64: 0, -9223372036854775808>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<1x?xf32>, tensor<1x64xf32>, index, index) -> tensor<1x64xf32>
          %136 = "tensor.insert_slice"(%134, %135, %132) <{operandSegmentSizes = array<i32: 1, 1, 0, 1, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, -9223372036854775808>, static_strides = array<i64: 1, 1>}> : (tensor<1x?xf32>, tensor<1x64xf32>, index) -> tensor<1x64xf32>
          %137 = "tensor.extract_slice"(%136) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 64>, static_strides = array<i64: 1, 1>}> : (tensor<1x64xf32>) -> tensor<64xf32>
          %138 = "lwe.rlwe_encode"(%137) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<64xf32>) -> !pt
          "preprocessing.store"(%138, %119, %arg26, %arg27) <{element_type = !pt, site_id = 5 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>, index, index) -> ()
          "scf.yield"() : () -> ()
        }, {
        }) : (i1) -> ()
        "scf.yield"() : () -> ()
      }) : (index, index, index) -> ()
      "scf.yield"() : () -> ()
    }) : (index, index, index) -> ()
    %122 = "lwe.rlwe_encode"(%118) <{encoding = #inverse_canonical_encoding1, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 90 : i64}> : (tensor<64xf32>) -> !pt1
    "preprocessing.store"(%122, %119) <{element_type = !pt1, site_id = 6 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>) -> ()
    "func.return"(%119) : (!preprocessing.storage<!pt, !pt1>) -> ()
  }) {heir.interface = {entry_arg_indices = array<i64>, func_name = "matvec_16x16", roles = ["server.preprocessing"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}, tensor_ext.original_type = #original_type}, {client.enc_zero_arg = {func_name = "matvec_16x16", index = 0 : i64}}, {}], function_type = (tensor<1x!ct_L1>, !ct_L1_1, !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0>, sym_name = "matvec_16x16__preprocessed"}> ({
  ^bb0(%arg15: tensor<1x!ct_L1>, %arg16: !ct_L1_1, %arg17: !preprocessing.storage<!pt, !pt1>):
    %45 = "arith.constant"() <{value = 16 : index}> : () -> index
    %46 = "arith.constant"() <{value = 1 : index}> : () -> index
    %47 = "arith.constant"() <{value = 4 : index}> : () -> index
    %48 = "arith.constant"() <{value = 0 : index}> : () -> index
    %49 = "tensor.empty"() : () -> tensor<4x!ct_L1>
    %50 = "tensor.insert_slice"(%arg15, %49) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, static_offsets = array<i64: 0>, static_sizes = array<i64: 1>, static_strides = array<i64: 1>}> : (tensor<1x!ct_L1>, tensor<4x!ct_L1>) -> tensor<4x!ct_L1>
    %51 = "scf.for"(%46, %47, %46, %50) ({
    ^bb0(%arg24: index, %arg25: tensor<4x!ct_L1>):
      %105 = "tensor.empty"() : () -> tensor<1x!ct_L1>
      %106 = "tensor.extract"(%arg15, %48) : (tensor<1x!ct_L1>, index) -> !ct_L1
      %107 = "ckks.rotate"(%106, %arg24) : (!ct_L1, index) -> !ct_L1
      %108 = "tensor.insert"(%107, %105, %48) : (!ct_L1, tensor<1x!ct_L1>, index) -> tensor<1x!ct_L1>
      %109 = "tensor.insert_slice"(%108, %arg25, %arg24) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808>, static_sizes = array<i64: 1>, static_strides = array<i64: 1>}> : (tensor<1x!ct_L1>, tensor<4x!ct_L1>, index) -> tensor<4x!ct_L1>
      "scf.yield"(%109) : (tensor<4x!ct_L1>) -> ()
    }) : (index, index, index, tensor<4x!ct_L1>) -> tensor<4x!ct_L1>
    %52 = "preprocessing.load"(%arg17) <{element_type = !pt, site_id = 0 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %53 = "tensor.extract"(%51, %48) : (tensor<4x!ct_L1>, index) -> !ct_L1
    %54 = "ckks.mul_plain"(%53, %52) : (!ct_L1, !pt) -> !ct_L1_1
    %55 = "preprocessing.load"(%arg17) <{element_type = !pt1, site_id = 1 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt1
    %56 = "tensor.empty"() : () -> tensor<1x!ct_L1_1>
    %57 = "ckks.add_plain"(%54, %55) : (!ct_L1_1, !pt1) -> !ct_L1_1
    %58 = "tensor.insert"(%57, %56, %48) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
    %59 = "scf.for"(%46, %47, %46, %58) ({
    ^bb0(%arg22: index, %arg23: tensor<1x!ct_L1_1>):
      %97 = "arith.cmpi"(%arg22, %45) <{predicate = 2 : i64}> : (index, index) -> i1
      %98 = "scf.if"(%97) ({
        %99 = "preprocessing.load"(%arg17, %arg22) <{element_type = !pt, site_id = 2 : i32}> : (!preprocessing.storage<!pt, !pt1>, index) -> !pt
        %100 = "tensor.extract"(%51, %arg22) : (tensor<4x!ct_L1>, index) -> !ct_L1
        %101 = "ckks.mul_plain"(%100, %99) : (!ct_L1, !pt) -> !ct_L1_1
        %102 = "tensor.extract"(%arg23, %48) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
        %103 = "ckks.add"(%102, %101) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
        %104 = "tensor.insert"(%103, %56, %48) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
        "scf.yield"(%104) : (tensor<1x!ct_L1_1>) -> ()
      }, {
        "scf.yield"(%arg23) : (tensor<1x!ct_L1_1>) -> ()
      }) : (i1) -> tensor<1x!ct_L1_1>
      "scf.yield"(%98) : (tensor<1x!ct_L1_1>) -> ()
    }) : (index, index, index, tensor<1x!ct_L1_1>) -> tensor<1x!ct_L1_1>
    %60 = "tensor.extract"(%59, %48) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
    %61 = "ckks.add_plain"(%60, %55) : (!ct_L1_1, !pt1) -> !ct_L1_1
    %62 = "tensor.insert"(%61, %56, %48) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
    %63 = "scf.for"(%46, %47, %46, %62) ({
    ^bb0(%arg18: index, %arg19: tensor<1x!ct_L1_1>):
      %70 = "arith.muli"(%arg18, %47) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %71 = "arith.cmpi"(%70, %45) <{predicate = 2 : i64}> : (index, index) -> i1
      %72 = "scf.if"(%71) ({
        %93 = "preprocessing.load"(%arg17, %arg18) <{element_type = !pt, site_id = 3 : i32}> : (!preprocessing.storage<!pt, !pt1>, index) -> !pt
        %94 = "ckks.mul_plain"(%53, %93) : (!ct_L1, !pt) -> !ct_L1_1
        %95 = "ckks.add_plain"(%94, %55) : (!ct_L1_1, !pt1) -> !ct_L1_1
        %96 = "tensor.insert"(%95, %56, %48) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
        "scf.yield"(%96) : (tensor<1x!ct_L1_1>) -> ()
      }, {
        %88 = "preprocessing.load"(%arg17, %arg18) <{element_type = !pt1, site_id = 4 : i32}> : (!preprocessing.storage<!pt, !pt1>, index) -> !pt1
        %89 = "tensor.splat"(%arg16) : (!ct_L1_1) -> tensor<1x!ct_L1_1>
        %90 = "tensor.extract"(%89, %48) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
        %91 = "lwe.radd_plain"(%90, %88) : (!ct_L1_1, !pt1) -> !ct_L1_1
        %92 = "tensor.insert"(%91, %56, %48) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
        "scf.yield"(%92) : (tensor<1x!ct_L1_1>) -> ()
      }) : (i1) -> tensor<1x!ct_L1_1>
      %73 = "scf.for"(%46, %47, %46, %72) ({
      ^bb0(%arg20: index, %arg21: tensor<1x!ct_L1_1>):
        %79 = "arith.addi"(%arg20, %70) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
        %80 = "arith.cmpi"(%79, %45) <{predicate = 2 : i64}> : (index, index) -> i1
        %81 = "scf.if"(%80) ({
          %82 = "preprocessing.load"(%arg17, %arg18, %arg20) <{element_type = !pt, site_id = 5 : i32}> : (!preprocessing.storage<!pt, !pt1>, index, index) -> !pt
          %83 = "tensor.extract"(%51, %arg20) : (tensor<4x!ct_L1>, index) -> !ct_L1
          %84 = "ckks.mul_plain"(%83, %82) : (!ct_L1, !pt) -> !ct_L1_1
          %85 = "tensor.extract"(%arg21, %48) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
          %86 = "ckks.add"(%85, %84) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
          %87 = "tensor.insert"(%86, %56, %48) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
          "scf.yield"(%87) : (tensor<1x!ct_L1_1>) -> ()
        }, {
          "scf.yield"(%arg21) : (tensor<1x!ct_L1_1>) -> ()
        }) : (i1) -> tensor<1x!ct_L1_1>
        "scf.yield"(%81) : (tensor<1x!ct_L1_1>) -> ()
      }) : (index, index, index, tensor<1x!ct_L1_1>) -> tensor<1x!ct_L1_1>
      %74 = "tensor.extract"(%73, %48) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
      %75 = "ckks.rotate"(%74, %70) : (!ct_L1_1, index) -> !ct_L1_1
      %76 = "tensor.extract"(%arg19, %48) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
      %77 = "ckks.add"(%76, %75) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
      %78 = "tensor.insert"(%77, %56, %48) : (!ct_L1_1, tensor<1x!ct_L1_1>, index) -> tensor<1x!ct_L1_1>
      "scf.yield"(%78) : (tensor<1x!ct_L1_1>) -> ()
    }) : (index, index, index, tensor<1x!ct_L1_1>) -> tensor<1x!ct_L1_1>
    %64 = "preprocessing.load"(%arg17) <{element_type = !pt1, site_id = 6 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt1
    %65 = "tensor.extract"(%63, %48) : (tensor<1x!ct_L1_1>, index) -> !ct_L1_1
    %66 = "ckks.add_plain"(%65, %64) : (!ct_L1_1, !pt1) -> !ct_L1_1
    %67 = "tensor.empty"() : () -> tensor<1x!ct_L0>
    %68 = "ckks.rescale"(%66) <{to_ring = #ring_rns_L0_1_x8192}> : (!ct_L1_1) -> !ct_L0
    %69 = "tensor.insert"(%68, %67, %48) : (!ct_L0, tensor<1x!ct_L0>, index) -> tensor<1x!ct_L0>
    "func.return"(%69) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "matvec_16x16", roles = ["client.preprocessed", "server.evaluate"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}, tensor_ext.original_type = #original_type}, {client.enc_zero_arg = {func_name = "matvec_16x16", index = 0 : i64}}], function_type = (tensor<1x!ct_L1>, !ct_L1_1) -> tensor<1x!ct_L0>, res_attrs = [{tensor_ext.original_type = #original_type}], sym_name = "matvec_16x16"}> ({
  ^bb0(%arg13: tensor<1x!ct_L1>, %arg14: !ct_L1_1):
    %43 = "func.call"() <{callee = @matvec_16x16__preprocessing}> : () -> !preprocessing.storage<!pt, !pt1>
    %44 = "func.call"(%arg13, %arg14, %43) <{callee = @matvec_16x16__preprocessed}> : (tensor<1x!ct_L1>, !ct_L1_1, !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0>
    "func.return"(%44) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "matvec_16x16", input_types = [tensor<16xf32>], result_types = [tensor<16xf32>], roles = ["entry"]}} : () -> ()
  "func.func"() <{function_type = (!pkey_L1) -> !ct_L1_1, sym_name = "matvec_16x16__encrypt__zero__0"}> ({
  ^bb0(%arg12: !pkey_L1):
    %40 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64xf64>}> : () -> tensor<64xf64>
    %41 = "lwe.rlwe_encode"(%40) <{encoding = #inverse_canonical_encoding1, level = 1 : i64, ring = #ring_f64_1_x8192}> : (tensor<64xf64>) -> !pt1
    %42 = "lwe.rlwe_encrypt"(%41, %arg12) : (!pt1, !pkey_L1) -> !ct_L1_1
    "func.return"(%42) : (!ct_L1_1) -> ()
  }) {heir.interface = {func_name = "matvec_16x16", index = 0 : i64, roles = ["client.encrypt_zero"]}} : () -> ()
  "func.func"() <{function_type = (tensor<16xf32>, !pkey_L1) -> tensor<1x!ct_L1>, sym_name = "matvec_16x16__encrypt__arg0"}> ({
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
  }) {heir.interface = {func_name = "matvec_16x16", index = 0 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x!ct_L0>, !skey_L0) -> tensor<16xf32>, sym_name = "matvec_16x16__decrypt__result0"}> ({
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
  }) {heir.interface = {func_name = "matvec_16x16", index = 0 : i64, roles = ["client.decrypt"]}} : () -> ()
}) {backend.openfhe, ckks.schemeParam = #ckks.scheme_param<logN = 13, Q = [36028797018652673, 35184372121601], P = [1152921504606994433], logDefaultScale = 45>, scheme.actual_slot_count = 4096 : i64, scheme.ckks, scheme.requested_slot_count = 64 : i64} : () -> ()

