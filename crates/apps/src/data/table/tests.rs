use super::*;

fn read(text: &str, label: &str) -> Result<DataSet, DataError> {
    let label = label.parse().expect("infallible");
    parse(text, Path::new("t.csv"), &label, Header::Detect)
}

fn error(text: &str, label: &str) -> String {
    read(text, label).unwrap_err().to_string()
}

#[test]
fn every_delimiter_gives_the_same_table() {
    let comma = read("a,b,y\n1,2,0\n3,-4e1,1\n", "last").unwrap();
    assert_eq!(comma.features, [1.0, 2.0, 3.0, -40.0]);
    assert_eq!(comma.labels, [false, true]);
    assert_eq!(comma.feature_names, ["a", "b"]);
    for text in [
        "a;b;y\r\n1;2;0\r\n3;-4e1;1",
        "a\tb\ty\n1\t2\t0\n\n3\t-4e1\t1\n",
        "\u{feff}a b  y\n 1  2 0\n3 -4e1 1 \n",
        "a, b ,y\n1, 2,0\n 3,-4e1,1",
    ] {
        assert_eq!(read(text, "y").unwrap(), comma, "{text:?}");
    }
}

#[test]
fn the_label_is_found_by_name_number_and_place() {
    let text = "y,a\nyes,5\nno,6\n";
    let by_name = read(text, "y").unwrap();
    assert_eq!(by_name.labels, [true, false], "the later word is positive");
    assert_eq!(by_name.classes, ["no", "yes"]);
    assert_eq!(by_name, read(text, "1").unwrap());
    assert_eq!(by_name, read(text, "first").unwrap());
    let long = "x".repeat(60);
    assert_eq!(read(&format!("{long}a 1\n{long}b 2\n{long}a 3\n"), "first").unwrap().labels, [false, true, false]);
    assert_eq!(read("1,5\n-1.0,6\n1.0,7\n", "first").unwrap().labels, [true, false, true]);
    assert_eq!(read("1 5\n0 6\n", "first").unwrap().feature_names, ["column 2"]);
    assert!(
        error(text, "z").contains("no label column \"z\"; wanted first, last, 1 to 2, or a name of the header: y, a")
    );
    assert!(error(text, "0").contains("no label column \"0\""));
    assert!(error(text, "3").contains("no label column \"3\""));
    assert!(error("1,2\n3,4\n", "y").contains("the file has no header"));
}

#[test]
fn bad_cells_are_named_with_line_and_column() {
    let text = error("a,b,y\n1,2,0\n3,four,1\n", "last");
    assert_eq!(
        text,
        "t.csv: line 3, column 2 (b): got \"four\"; wanted a finite decimal number (encode categories as numbers, or name this column as the label)"
    );
    for cell in ["NaN", "inf", "-Infinity", "1e999"] {
        assert!(error(&format!("1,2,0\n{cell},4,1\n"), "last").contains("line 2, column 1 (column 1)"), "{cell}");
    }
    assert!(error("1,2,0\n3,,1\n", "last").contains("a value is missing"));
    assert!(error("1,2,0\n3,4\n", "last").contains("line 2: 2 columns, but the first row has 3"));
    assert!(error("1,2,0\n\n\n3,x,1\n", "last").contains("line 4, column 2"), "blank lines count");
    assert!(error("1 2 0\n\n3 4 5 1\n", "last").contains("line 3: 4 columns, but the first row has 3"));
    assert!(error("0x10,2,0\n3,4,1\n", "last").contains("line 1, column 1"));
}

#[test]
fn empty_files_and_wrong_classes_are_errors() {
    for text in ["", "\n \n", "\u{feff}", "a,b,y\n"] {
        assert!(error(text, "last").contains("has no data row"), "{text:?}");
    }
    assert!(error("1\n2\n", "last").contains("one column"));
    assert!(error("1,0\n2,0\n", "last").contains("only one value in all rows"));
    assert!(error("1,0\n2,1\n3,2\n", "last").contains("a third value \"2\" on line 3 after \"0\" and \"1\""));
    assert!(error("1,0\n2,\n", "last").contains("\"\" on line 2"));
    assert!(error("1,0\n2,nan\n", "last").contains("\"nan\" on line 2"));
}

#[test]
fn a_forced_header_wins_over_its_looks() {
    let label = LabelColumn::Last;
    let set = parse("1,2\n5,0\n6,1\n", Path::new("t.csv"), &label, Header::Present).unwrap();
    assert_eq!((set.rows(), set.feature_names), (2, vec!["1".to_owned()]));
    let absent = parse("a,b\n5,0\n", Path::new("t.csv"), &label, Header::Absent).unwrap_err();
    assert!(absent.to_string().contains("line 1, column 1"));
}

#[test]
fn bytes_that_are_not_text_are_an_error_with_the_line() {
    let path = std::env::temp_dir().join(format!("limbwise-table-{}.csv", std::process::id()));
    std::fs::write(&path, b"1,0\n2,\xff\n").unwrap();
    let text = load(&path, &LabelColumn::Last, Header::Detect).unwrap_err().to_string();
    std::fs::remove_file(&path).unwrap();
    assert!(text.contains("line 2: is not UTF-8 text"), "{text}");
}

#[test]
fn the_public_medical_tables_load() {
    let Some(dir) = crate::data_dir("uci") else { return };
    for (name, rows, cols, positive) in
        [("edin", 1253, 9, 274), ("lbw", 189, 9, 130), ("pcs", 379, 9, 153), ("uis", 575, 8, 428)]
    {
        let set = load(&dir.join(format!("{name}.txt")), &LabelColumn::Last, Header::Detect).unwrap();
        assert_eq!((set.rows(), set.cols()), (rows, cols), "{name}");
        assert_eq!(set.labels.iter().filter(|&&label| label).count(), positive, "{name}");
    }
}

#[test]
fn tables_are_numbers_alone() {
    let folder = std::env::temp_dir().join(format!("limbwise-numbers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let read = |text: &str| {
        let path = folder.join("a.csv");
        std::fs::write(&path, text).unwrap();
        load_numbers(&path).map_err(|e| e.to_string())
    };
    assert_eq!(read("1,2,3\n4,5,6\n"), Ok(vec![vec![1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0]]));
    assert_eq!(read("1\n-2e3\n\n0.5\n"), Ok(vec![vec![1.0], vec![-2000.0], vec![0.5]]));
    assert_eq!(read("1 2\n3 4\n").unwrap().len(), 2);
    for (text, wanted) in [
        ("a,b\n1,2\n", "line 1, column 1 (column 1): got \"a\""),
        ("1,2\n1,nan\n", "line 2, column 2"),
        ("1,2\n1\n", "line 2: 1 columns"),
        ("\n", "has no data row"),
    ] {
        let said = read(text).unwrap_err();
        assert!(said.contains(wanted), "{said}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
