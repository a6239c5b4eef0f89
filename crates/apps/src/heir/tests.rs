use super::{Heir, HeirClient, Source, act::Act, plain, source::Kind, text::HeirError};
use crate::client::Client as _;
use serde::Deserialize;
use std::{path::PathBuf, sync::Arc};

#[derive(Deserialize)]
struct Values {
    arguments: Vec<Vec<f64>>,
    expected: Vec<Vec<f64>>,
    tolerance: f64,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/heir")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(folder().join(format!("{name}.mlir"))).unwrap()
}

fn values(name: &str) -> Values {
    serde_json::from_slice(&std::fs::read(folder().join(format!("{name}.json"))).unwrap()).unwrap()
}

fn source(text: &str) -> Result<Source, HeirError> {
    Source::new(text.into(), None, &[])
}

/// The program of a text with its clear arguments, and the numbers of the others.
fn program(name: &str) -> (Source, Vec<Vec<f64>>, Values) {
    let (text, values) = (text(name), values(name));
    let arguments = Source::arguments_of(&text, None).unwrap();
    let asked = arguments.iter().filter(|argument| argument.kind != Kind::Zero);
    let (clear, secret): (Vec<_>, Vec<_>) = asked.zip(&values.arguments).partition(|(a, _)| a.kind == Kind::Clear);
    let numbers =
        |pairs: Vec<(_, &Vec<f64>)>| pairs.into_iter().map(|(_, numbers)| numbers.clone()).collect::<Vec<_>>();
    (Source::new(text.into(), None, &numbers(clear)).unwrap(), numbers(secret), values)
}

/// All programs that HEIR compiled give by their clear twin what their definition gives; all have parameters at 128 bits.
#[test]
fn programs_mean_what_they_were_compiled_from() {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".mlir")?.to_owned()))
        .collect();
    names.sort();
    assert!(names.len() >= 30, "{} programs", names.len());
    for name in names {
        let (source, secret, Values { expected, tolerance, .. }) = program(&name);
        let source = Arc::new(source);
        let mut secret = secret.iter();
        let mut inputs = Vec::new();
        for (at, argument) in source.arguments.iter().enumerate() {
            match argument.kind {
                Kind::Clear => {}
                Kind::Zero => inputs.extend(source.pack(at, &[]).unwrap()),
                Kind::Secret => inputs.extend(source.pack(at, secret.next().unwrap()).unwrap()),
            }
        }
        let rows = plain::evaluate(&source, &inputs);
        for (at, (rows, wanted)) in rows.iter().zip(&expected).enumerate() {
            let (_, got) = source.unpack(at, rows).unwrap();
            assert_eq!(got.len(), wanted.len(), "{name}");
            let off = got.iter().zip(wanted).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
            assert!(off < tolerance, "{name}: {off}: {got:?} for {wanted:?}");
        }
        let program = Heir::choose(Arc::clone(&source), 2.0).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(crate::program::Program::params(&program).security().bits >= 128, "{name}");
    }
}

const HEAD: &str = r##"
#enc = #lwe.inverse_canonical_encoding<scaling_factor = 40>
#enc2 = #lwe.inverse_canonical_encoding<scaling_factor = 80>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #r, encoding = #enc>>
!ct1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #r, encoding = #enc>, key = #k, modulus_chain = <elements = <1 : i64, 2 : i64>, current = 1>>
!ct1d = !lwe.lwe_ciphertext<plaintext_space = <ring = #r, encoding = #enc2>, key = #k, modulus_chain = <elements = <1 : i64, 2 : i64>, current = 1>>
!ct0 = !lwe.lwe_ciphertext<plaintext_space = <ring = #r, encoding = #enc>, key = #k, modulus_chain = <elements = <1 : i64, 2 : i64>, current = 0>>
"builtin.module"() ({
"##;

const END: &str = r#"
}) {ckks.schemeParam = #ckks.scheme_param<logN = 12, Q = [0x4000000000001, 1099511480321], P = [1], logDefaultScale = 40>, scheme.requested_slot_count = 8 : i64} : () -> ()
"#;

/// A module of one function @f with this body, whose argument is %x.
fn function(body: &str, gives: &str) -> String {
    format!(
        "{HEAD}  \"func.func\"() <{{function_type = (!ct1) -> {gives}, sym_name = \"f\"}}> ({{\n  ^bb0(%x: !ct1):\n{body}\n  }}) : () -> ()\n{END}"
    )
}

fn acts(text: &str) -> Vec<Act> {
    source(text).unwrap().steps.into_iter().map(|step| step.act).collect()
}

#[test]
fn loops_branches_and_static_shifts_are_unrolled() {
    let body = r#"
    %c0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %c1 = "arith.constant"() <{value = 1 : index}> : () -> index
    %c3 = "arith.constant"() <{value = 3 : index}> : () -> index
    %a = "scf.for"(%c0, %c3, %c1, %x) ({
    ^bb0(%i: index, %s: !ct1):
      %odd = "arith.cmpi"(%i, %c1) <{predicate = 0 : i64}> : (index, index) -> i1
      %t = "scf.if"(%odd) ({
        %u = "ckks.negate"(%s) : (!ct1) -> !ct1
        "scf.yield"(%u) : (!ct1) -> ()
      }, {
        %u = "ckks.rotate"(%s, %i) : (!ct1, index) -> !ct1 loc("here":1:2)
        "scf.yield"(%u) : (!ct1) -> ()
      }) : (i1) -> !ct1
      "scf.yield"(%t) : (!ct1) -> ()
    }) : (index, index, index, !ct1) -> !ct1
    %b = "affine.for"(%a) <{lowerBoundMap = affine_map<() -> (-2)>, operandSegmentSizes = array<i32: 0, 0, 1>, step = 2 : index, upperBoundMap = affine_map<() -> (3)>}> ({
    ^bb0(%i: index, %s: !ct1):
      %t = "ckks.rotate"(%s) <{static_shift = -5 : index}> : (!ct1) -> !ct1
      "affine.yield"(%t) : (!ct1) -> ()
    }) : (!ct1) -> !ct1
    "func.return"(%b) : (!ct1) -> ()"#;
    let wanted = [Act::Rotate(0), Act::Negate, Act::Rotate(2), Act::Rotate(-5), Act::Rotate(-5), Act::Rotate(-5)];
    assert_eq!(acts(&function(body, "!ct1")), wanted);
    let source = source(&function(body, "!ct1")).unwrap();
    assert_eq!((source.header.log_n, &source.header.bits[..], source.header.slots), (12, &[50, 40][..], 8));
    let clear = plain::evaluate(&source, &[(0..8).map(f64::from).collect()]);
    // −x rotated by 2, then three times by −5: 13 to the right, which is 3 to the left of 8.
    let wanted: Vec<f64> = (0..8).map(|i| -f64::from((i + 3) % 8)).collect();
    assert_eq!(clear, [[wanted]]);
}

/// A ring is modulo X^N + 1 with the N of the parameters, and a scale has a logarithm.
#[test]
fn rings_and_scales_are_looked_at() {
    let text = function("\"func.return\"(%x) : (!ct1) -> ()", "!ct1");
    let with = |line: &str| source(&format!("\n{line}{text}")).map(drop).map_err(|e| (e.line, e.to_string()));
    let ring = |modulus: &str| with(&format!("#ring = #polynomial.ring<polynomialModulus = <{modulus}>>"));
    assert_eq!(ring("1 + x**4096"), Ok(()));
    for modulus in ["1 + x**4", "1 + x**4095", "1 + x**134217728", "1 + x", "-1 + x**4096", ""] {
        let (line, said) = ring(modulus).unwrap_err();
        assert!(line == Some(2) && said.contains("wanted 1 + x**4096, as ckks.schemeParam has logN = 12"), "{said}");
    }
    let said = with("#e = #lwe.inverse_canonical_encoding<scaling_factor = 0>").unwrap_err();
    assert!(said.0 == Some(2) && said.1.contains("scaling_factor 0; wanted the logarithm"), "{said:?}");
    let big = source(&text.replace("logN = 12", "logN = 64")).unwrap_err().to_string();
    assert!(big.contains("logN = 64; wanted 1 to 17"), "{big}");
}

/// What `debug=true` makes of a program asks for the secret key.
#[test]
fn a_program_that_asks_for_the_key_is_refused() {
    let debug = function("\"func.return\"(%x) : (!ct1) -> ()", "!ct1")
        .replacen("^bb0(%x: !ct1)", "^bb0(%s: !skey, %x: !ct1)", 1)
        .replacen("(!ct1) -> !ct1, sym_name", "(!skey, !ct1) -> !ct1, sym_name", 1)
        .replacen("\n!pt", "\n!skey = !lwe.lwe_secret_key<key = #k>\n!pt", 1);
    let said = source(&debug).unwrap_err().to_string();
    assert!(said.contains("argument 0 of type !skey, a secret key, as debug=true asks for: compile without"), "{said}");
}

#[test]
fn what_cannot_be_read_is_said_with_its_line() {
    let refused = |body: &str, wanted: &str| {
        let got = source(&function(body, "!ct1")).unwrap_err();
        assert!(got.to_string().contains(wanted), "{got} should say {wanted}");
        got.line
    };
    let end = "\n \"func.return\"(%x) : (!ct1) -> ()";
    let with = |line: &str| format!("{line}{end}");
    let line = refused(
        &with("%a = \"ckks.frobnicate\"(%x) : (!ct1) -> !ct1"),
        "ckks.frobnicate: an operation that is not read",
    );
    assert_eq!(line, Some(11));
    refused(&with("%a = \"ckks.add\"(%x, %y) : (!ct1, !ct1) -> !ct1"), "operand %y, which nothing before it defines");
    refused(&with("%a = \"ckks.add\"(%x) : (!ct1) -> !ct1"), "1 operands, wanted 2");
    refused(&with("%a = \"ckks.add\"(%x, %x) : (!ct1) -> !ct1"), "types of 1 operands");
    refused(
        &with(
            "%c = \"arith.constant\"() <{value = 1 : index}> : () -> index\n%a = \"ckks.add\"(%x, %c) : (!ct1, index) -> !ct1",
        ),
        "wanted a ciphertext, got a whole number",
    );
    refused(&with("%a = \"ckks.negate\"(%x) : (!ct1) -> i32"), "tells no level");
    refused(
        &with("%c = \"arith.constant\"() <{value = dense<\"0x0011\"> : tensor<4xf32>}> : () -> tensor<4xf32>"),
        "2 bytes for 4 numbers",
    );
    refused(
        &with(
            "%c = \"arith.constant\"() <{value = dense<1.0> : tensor<99999999x99999999xf32>}> : () -> tensor<99999999x99999999xf32>",
        ),
        "more than",
    );
    refused(
        &with("%c = \"arith.constant\"() <{value = dense<[1.0, 2.0]> : tensor<3xf32>}> : () -> tensor<3xf32>"),
        "2 numbers for a type of 3",
    );
    refused(&with("%c = \"func.call\"(%x) <{callee = @g}> : (!ct1) -> !ct1"), "function @g, which the text lacks");
    refused(&with("%c = \"func.call\"(%x) <{callee = @f}> : (!ct1) -> !ct1"), "calls itself");
    let endless = "%z = \"arith.constant\"() <{value = 0 : index}> : () -> index\n%n = \"arith.constant\"() <{value = 9000000000000000000 : index}> : () -> index\n%o = \"arith.constant\"() <{value = 1 : index}> : () -> index\n\"scf.for\"(%z, %n, %o) ({\n^bb0(%i: index):\n\"scf.yield\"() : () -> ()\n}) : (index, index, index) -> ()";
    refused(&with(endless), "operations are executed");
    let high = function("\"func.return\"(%x) : (!ct1) -> ()", "!ct1").replace("current = 1", "current = 9");
    assert!(source(&high).unwrap_err().to_string().contains("an argument at level 9 of a chain whose highest is 1"));
    for (text, wanted) in [
        ("", "without an operation"),
        ("%0 = foo.bar %1 : T", "wanted \"\\\"\""),
        ("\"a.b\"() ({", "ends inside of a region"),
        (&"\"a.b\"() ({".repeat(100_000), "nested deeper than 64"),
        (&format!("#a = {}", "<".repeat(100_000)), "a bracket without its end"),
        ("\"builtin.module\"() ({\n}) : () -> ()", "ckks.schemeParam"),
    ] {
        let got = source(text).unwrap_err().to_string();
        assert!(got.contains(wanted), "{got:.300} should say {wanted}");
    }
}

#[test]
fn steps_that_the_parameters_do_not_allow_are_named() {
    let chosen =
        |body: &str, gives: &str| Heir::choose(Arc::new(source(&function(body, gives)).unwrap()), 1.0).map(drop);
    let deep = "%a = \"ckks.mul\"(%x, %x) : (!ct1, !ct1) -> !ct1d\n%b = \"ckks.relinearize\"(%a) : (!ct1d) -> !ct1d\n%c = \"ckks.rescale\"(%b) : (!ct1d) -> !ct0\n%d = \"ckks.rescale\"(%c) : (!ct0) -> !ct0\n\"func.return\"(%d) : (!ct0) -> ()";
    let refused = chosen(deep, "!ct0").unwrap_err();
    assert_eq!(refused.line, Some(14), "{refused}");
    let turned = "%a = \"ckks.mul\"(%x, %x) : (!ct1, !ct1) -> !ct1d\n%b = \"ckks.rotate\"(%a) <{static_shift = 1 : index}> : (!ct1d) -> !ct1d\n\"func.return\"(%b) : (!ct1d) -> ()";
    let refused = chosen(turned, "!ct1d").unwrap_err();
    assert!(refused.line == Some(12) && refused.problem.contains("relinearize"), "{refused}");
    let boots = "%a = \"ckks.bootstrap\"(%x) : (!ct1) -> !ct1\n\"func.return\"(%a) : (!ct1) -> ()";
    let refused = chosen(boots, "!ct1").unwrap_err();
    assert!(refused.line == Some(11) && refused.problem.contains("--preset boot"), "{refused}");
    // With parameters that bootstrap every step can be carried out.
    let boot = limbwise::params::presets::preset("boot").unwrap();
    let program = Heir::new(&boot, Arc::new(source(&function(boots, "!ct1")).unwrap()), 1.0).unwrap();
    assert_eq!(program.plan().map(|plan| plan.slots), Some(8));
}

#[test]
fn numbers_of_another_count_or_beyond_the_bound_are_refused() {
    let (source, secret, _) = program("dot_product_8");
    let program = Heir::choose(Arc::new(source), 1.0).unwrap();
    let says = |secrets: &[Vec<f64>], wanted: &str| {
        let got = HeirClient::new(&program, secrets).unwrap_err().to_string();
        assert!(got.contains(wanted), "{got}");
    };
    says(&[vec![0.0; 8], vec![0.0; 7]], "argument 1 takes 8 numbers ([8]), got 7");
    says(&[vec![0.0; 8], vec![3.0; 8]], "3 is beyond 1; raise --largest");
    says(&[vec![0.0; 8]], "argument 1: no numbers");
    let client = HeirClient::new(&program, &secret).unwrap();
    let got = client.expecting(vec![vec![1.0, 2.0]], 0.1).unwrap_err().to_string();
    assert!(got.contains("[2] numbers for results of [1]"), "{got}");
}

/// 64 slots of 2^45, in a modulus of 55 bits at level 0: the product of two tens has room, that of two forties has not.
#[test]
fn results_that_wrap_around_are_told() {
    let (source, _, _) = program("mult_dep");
    let program = Heir::choose(Arc::new(source), 50.0).unwrap();
    let told = |x: f64| {
        let client = HeirClient::new(&program, &[vec![x]]).unwrap();
        let twin = plain::evaluate(program.source(), &[client.values(0)[0].iter().map(|z| z.re).collect()]);
        let slots = |row: &Vec<f64>| row.iter().map(|&x| x.into()).collect::<Vec<limbwise::Complex64>>();
        let results: Vec<Vec<Vec<_>>> = twin.iter().flatten().map(|row| vec![slots(row)]).collect();
        client.conclude(&results).warnings
    };
    assert_eq!(told(2.0), [""; 0]);
    let warnings = told(10.0).join("");
    assert!(warnings.contains("wrap around the modulus 2^55"), "{warnings}");
}

/// heir-opt may leave an operand out; the numbers that a user gives for it then change nothing.
#[test]
fn arguments_that_no_result_depends_on_are_told() {
    let of_two = |body: &str| {
        let text = function(body, "!ct1").replacen("^bb0(%x: !ct1)", "^bb0(%x: !ct1, %y: !ct1)", 1).replacen(
            "(!ct1) -> !ct1, sym_name",
            "(!ct1, !ct1) -> !ct1, sym_name",
            1,
        );
        source(&text).unwrap()
    };
    let cut = of_two("%a = \"ckks.negate\"(%y) : (!ct1) -> !ct1\n\"func.return\"(%x) : (!ct1) -> ()");
    assert_eq!(cut.unused(), [1]);
    let program = Heir::choose(Arc::new(cut), 1.0).unwrap();
    assert_eq!(crate::program::Program::details(&program)["unused_arguments"], serde_json::json!([1]));
    let client = HeirClient::new(&program, &[vec![1.0; 8], vec![1.0; 8]]).unwrap();
    let warnings = client.conclude(&vec![vec![vec![1.0.into(); 8]]]).warnings;
    assert_eq!(warnings, ["no result depends on argument 1: no step that leads to one reads it"]);
    let whole = of_two("%a = \"ckks.add\"(%x, %y) : (!ct1, !ct1) -> !ct1\n\"func.return\"(%a) : (!ct1) -> ()");
    assert_eq!(whole.unused(), [0; 0]);
}

#[test]
fn blobs_are_read_in_the_form_of_their_type() {
    let read = |of_type: &str, blob: &str| {
        let text = format!(
            "    %c = \"arith.constant\"() <{{value = dense<\"{blob}\"> : tensor<2x{of_type}>}}> : () -> tensor<2x{of_type}>\n    %p = \"arith.constant\"() <{{value = 0 : index}}> : () -> index\n    %e = \"tensor.extract\"(%c, %p) : (tensor<2x{of_type}>, index) -> {of_type}\n    %v = \"arith.CAST\"(%e) : ({of_type}) -> f64\n    %t = \"tensor.splat\"(%v) : (f64) -> tensor<8xf64>\n    %q = \"lwe.rlwe_encode\"(%t) : (tensor<8xf64>) -> !pt\n    %r = \"ckks.add_plain\"(%x, %q) : (!ct1, !pt) -> !ct1\n    \"func.return\"(%r) : (!ct1) -> ()"
        );
        let cast = match of_type {
            "ui8" | "i1" => "uitofp",
            "i8" => "sitofp",
            _ => "extf",
        };
        source(&function(&text.replace("CAST", cast), "!ct1")).unwrap().plains[0].values[0]
    };
    let forms = ["bf16", "f16", "ui8", "i8", "i1"];
    let blobs = ["0x803F0040", "0x003E0000", "0xFF00", "0xFF00", "0x0100"];
    let got: Vec<f64> = forms.into_iter().zip(blobs).map(|(form, blob)| read(form, blob)).collect();
    assert_eq!(got, [1.0, 1.5, 255.0, -1.0, 1.0]);
}
