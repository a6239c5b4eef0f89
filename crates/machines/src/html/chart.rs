//! Drawings: rooflines, bars by kind, plots of points.

use super::page::{Page, escaped, number};
use crate::report::Report;
use std::fmt::Write as _;

/// Colors but the last, which is for what has none of its own.
const COLORS: usize = 8;
const WIDTH: f64 = 1000.0;

/// Seconds with a unit.
pub(crate) fn seconds_text(x: f64) -> String {
    match x {
        _ if x == 0.0 => "0".into(),
        _ if x >= 1.0 => format!("{} s", number(x)),
        _ if x >= 1e-3 => format!("{} ms", number(x * 1e3)),
        _ => format!("{} µs", number(x * 1e6)),
    }
}

/// An axis: from a number to a place.
struct Axis {
    low: f64,
    high: f64,
    log: bool,
    /// Places of low and high.
    at: [f64; 2],
}

impl Axis {
    /// An axis that holds all of these with a margin; logarithmic where they span more than a factor of twenty.
    fn of(values: impl Iterator<Item = f64> + Clone, at: [f64; 2]) -> Self {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
        let log = low > 0.0 && high / low > 20.0;
        let (low, high) = match log {
            true => (low / 1.3, high * 1.3),
            false => {
                let margin = 0.05 * (high - low).max(0.1 * high.abs()).max(f64::MIN_POSITIVE);
                (if low >= 0.0 { (low - margin).max(0.0) } else { low - margin }, high + margin)
            }
        };
        Self { low, high, log, at }
    }

    fn place(&self, x: f64) -> f64 {
        let share = match self.log {
            true => (x / self.low).ln() / (self.high / self.low).ln(),
            false => (x - self.low) / (self.high - self.low),
        };
        self.at[0] + share * (self.at[1] - self.at[0])
    }

    /// Round numbers along it: 1, 2, 5 times powers of ten.
    fn ticks(&self) -> Vec<f64> {
        if self.log {
            let powers = |factor: f64| {
                let first = (self.low / factor).log10().ceil();
                (0..40).map(move |i| factor * 10f64.powf(first + f64::from(i)))
            };
            let all = |factors: &[f64]| -> Vec<f64> {
                factors.iter().flat_map(|&f| powers(f).take_while(|x| *x <= self.high)).collect()
            };
            let few = all(&[1.0]);
            return if few.len() >= 3 { few } else { all(&[1.0, 2.0, 5.0]) };
        }
        let rough = (self.high - self.low) / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|f| f * power).into_iter().find(|step| *step >= rough).unwrap_or(rough);
        let first = (self.low / step).ceil();
        (0..20).map(|i| (first + f64::from(i)) * step).take_while(|x| *x <= self.high).collect()
    }
}

/// Both axes with their lines and names.
fn frame(svg: &mut String, x: &Axis, y: &Axis, names: [&str; 2]) {
    let ([left, right], [bottom, top]) = (x.at, y.at);
    for tick in x.ticks() {
        let at = x.place(tick);
        let _ = write!(svg, "<path class=\"grid\" d=\"M{at:.1} {top}V{bottom}\"/>");
        let _ = write!(svg, "<text class=\"soft mid\" x=\"{at:.1}\" y=\"{:.1}\">{}</text>", bottom + 16.0, short(tick));
    }
    for tick in y.ticks() {
        let at = y.place(tick);
        let _ = write!(svg, "<path class=\"grid\" d=\"M{left} {at:.1}H{right}\"/>");
        let _ = write!(
            svg,
            "<text class=\"soft end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            left - 6.0,
            at + 4.0,
            short(tick)
        );
    }
    let middle = f64::midpoint(left, right);
    let _ =
        write!(svg, "<text class=\"mid\" x=\"{middle:.1}\" y=\"{:.1}\">{}</text>", bottom + 36.0, escaped(names[0]));
    let _ = write!(svg, "<text x=\"{left}\" y=\"{:.1}\">{}</text>", top - 8.0, escaped(names[1]));
}

/// A number on an axis.
fn short(x: f64) -> String {
    if x == 0.0 || (1e-3..1e5).contains(&x.abs()) {
        let text = format!("{x:.6}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        let text = format!("{x:e}");
        text.split_once('e')
            .map_or(text.clone(), |(digits, exponent)| format!("{:.4}e{exponent}", digits.parse().unwrap_or(0.0)))
            .replace(".0000e", "e")
    }
}

/// Each program's products a second against its products a byte, below what its machine allows.
pub(crate) fn roofline(page: &mut Page, reports: &[&Report]) {
    let known: Vec<_> = reports.iter().filter_map(|r| Some((*r, r.roofline?))).collect();
    if known.is_empty() {
        return;
    }
    let rate = |report: &Report| {
        #[expect(clippy::cast_precision_loss, reason = "for display")]
        let products = report.products as f64;
        products / report.seconds.max(f64::MIN_POSITIVE)
    };
    page.section("Roofline");
    let spread = |x: f64| [x / 8.0, x * 8.0];
    let xs = known.iter().flat_map(|(_, r)| [spread(r.intensity.max(1e-6)), spread(r.ridge)].concat());
    let x = Axis { log: true, ..Axis::of(xs.collect::<Vec<_>>().into_iter(), [70.0, WIDTH - 20.0]) };
    let ys = known.iter().flat_map(|(p, r)| {
        [
            rate(p).max(1.0) / 2.0,
            r.peak_products_s * 2.0,
            r.peak_products_s.min(r.bandwidth_bytes_s * x.low.max(r.ridge / 8.0)),
        ]
    });
    let y = Axis { log: true, ..Axis::of(ys.collect::<Vec<_>>().into_iter(), [380.0, 30.0]) };
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} 430\" role=\"img\" aria-label=\"roofline\">");
    frame(&mut svg, &x, &y, ["products a byte of off-chip memory", "products a second"]);
    let mut legend = Vec::new();
    for (color, (report, roof)) in known.iter().enumerate() {
        let color = color.min(COLORS - 1);
        // The slanted roof begins where it enters the drawing.
        let first = x.low.max(y.low / roof.bandwidth_bytes_s);
        let places = [
            (first, first * roof.bandwidth_bytes_s),
            (roof.ridge, roof.peak_products_s),
            (x.high, roof.peak_products_s),
        ];
        let path: Vec<String> = places.iter().map(|&(i, r)| format!("{:.1} {:.1}", x.place(i), y.place(r))).collect();
        let _ = write!(svg, "<path class=\"c{color} roof\" d=\"M{}\"/>", path.join("L"));
        let (cx, cy) = (x.place(roof.intensity.max(1e-6)), y.place(rate(report)));
        let _ = write!(svg, "<circle class=\"c{color}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"6\"/>");
        let bound = format!("{:?}", roof.bound).to_lowercase();
        legend.push((format!("{}: {} ({bound} bound)", report.machine, seconds_text(report.seconds)), color));
    }
    svg.push_str("</svg>");
    let caption = "A point stands at the program's products a byte that it moves and at the products a second that it reaches; \
                   the roofs are what the memory's bandwidth and the multipliers allow.";
    page.figure(&svg, caption, &legend);
}

/// Bars made of kinds, a row each; these are all kinds, in the order of their colors.
pub(crate) fn bars(page: &mut Page, rows: &[(String, Vec<(String, f64)>)], kinds: &[&str], caption: &str) {
    let sums = rows.iter().map(|(_, parts)| parts.iter().map(|(_, x)| x).sum::<f64>());
    let most = sums.clone().fold(f64::MIN_POSITIVE, f64::max);
    let (left, row_height) = (270.0, 26.0);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"bars\">",
        row_height * rows.len() as f64 + 4.0
    );
    for (row, ((name, parts), sum)) in rows.iter().zip(sums).enumerate() {
        let y = row_height * row as f64;
        let _ = write!(
            svg,
            "<text class=\"end\" x=\"{}\" y=\"{}\">{}</text>",
            left - 8.0,
            y + 15.0,
            escaped(&shortened(name))
        );
        let mut x = left;
        for (kind, amount) in parts {
            let color = kinds.iter().position(|k| k == kind).unwrap_or(COLORS).min(COLORS - 1);
            let width = amount / most * (WIDTH - left - 110.0);
            let title = escaped(&format!("{kind}: {}", number(*amount)));
            let _ = write!(
                svg,
                "<rect class=\"c{color} plain\" x=\"{x:.1}\" y=\"{}\" width=\"{width:.1}\" height=\"18\"><title>{title}</title></rect>",
                y + 2.0
            );
            x += width;
        }
        let _ = write!(svg, "<text class=\"soft\" x=\"{:.1}\" y=\"{}\">{}</text>", x + 6.0, y + 15.0, number(sum));
    }
    svg.push_str("</svg>");
    let is_there = |kind: &str| rows.iter().flat_map(|(_, parts)| parts).any(|(k, _)| k == kind);
    let legend = kinds.iter().enumerate().filter(|(_, kind)| is_there(kind));
    let legend: Vec<(String, usize)> = legend.map(|(i, kind)| ((*kind).to_owned(), i.min(COLORS - 1))).collect();
    page.figure(&svg, caption, &legend);
}

/// The end of a long name tells more than its beginning.
fn shortened(name: &str) -> String {
    const MOST: usize = 40;
    let count = name.chars().count();
    if count <= MOST {
        name.to_owned()
    } else {
        format!("…{}", name.chars().skip(count - MOST + 1).collect::<String>())
    }
}

/// A point of a plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Plotted {
    /// Its place.
    pub at: [f64; 2],
    /// Caption.
    pub what: String,
    /// Whether no other beats it.
    pub on_front: bool,
}

/// Most points off the front that are drawn: a file of many megabytes tells no more.
const MOST_POINTS: usize = 4000;

/// Points in the plane of two numbers, those of the front joined.
pub fn points(page: &mut Page, points: &[Plotted], names: [&str; 2]) {
    if points.is_empty() {
        return;
    }
    let x = Axis::of(points.iter().map(|p| p.at[0]), [70.0, WIDTH - 20.0]);
    let y = Axis::of(points.iter().map(|p| p.at[1]), [420.0, 30.0]);
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} 470\" role=\"img\" aria-label=\"points\">");
    frame(&mut svg, &x, &y, names);
    let others = points.iter().filter(|p| !p.on_front).count();
    let every = others.div_ceil(MOST_POINTS).max(1);
    let shown = points.iter().filter(|p| !p.on_front).step_by(every);
    let mut front: Vec<&Plotted> = points.iter().filter(|p| p.on_front).collect();
    front.sort_by(|a, b| a.at[0].total_cmp(&b.at[0]));
    let place = |p: &Plotted| (x.place(p.at[0]), y.place(p.at[1]));
    let line: Vec<String> = front.iter().map(|p| place(p)).map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
    if line.len() > 1 {
        let _ = write!(svg, "<path class=\"front\" d=\"M{}\"/>", line.join("L"));
    }
    for p in shown.chain(front.iter().copied()) {
        let (class, radius) = if p.on_front { ("c5", 5) } else { ("c0 plain dot", 3) };
        let (cx, cy) = place(p);
        let what = escaped(&p.what);
        let _ = write!(
            svg,
            "<circle class=\"{class}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"{radius}\"><title>{what}</title></circle>"
        );
    }
    svg.push_str("</svg>");
    let left_out = if every > 1 { format!(" Of the others every {every}th is drawn.") } else { String::new() };
    let caption =
        format!("{} points, {} that no other beats. Point at one for its fields.{left_out}", points.len(), front.len());
    page.figure(&svg, &caption, &[("no other beats it".into(), 5), ("others".into(), 0)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_hold_their_points_and_have_round_ticks() {
        for values in [vec![1.0, 2.0, 3.0], vec![1e-3, 5.0, 2e4], vec![7.0], vec![0.0, 1.0], vec![-1.0, 1.0], vec![0.0]]
        {
            let axis = Axis::of(values.iter().copied(), [0.0, 100.0]);
            for x in &values {
                assert!((-1e-9..=100.0 + 1e-9).contains(&axis.place(*x)), "{values:?}: {x} at {}", axis.place(*x));
            }
            let ticks = axis.ticks();
            assert!(
                ticks.len() <= 20 && ticks.iter().all(|t| (axis.low..=axis.high).contains(t)),
                "{values:?}: {ticks:?}"
            );
        }
        assert_eq!(Axis::of([1.0, 1000.0].into_iter(), [0.0, 1.0]).ticks(), [1.0, 10.0, 100.0, 1000.0]);
    }

    #[test]
    fn numbers_on_axes_are_short() {
        assert_eq!([0.0, 0.25, 1500.0, 1e12, 2.5e-7].map(short), ["0", "0.25", "1500", "1e12", "2.5000e-7"]);
    }
}
