//! Plots as inline SVG. They need only axes, lines and bars, with colours from the page's style
//! sheet, so that they follow light and dark mode. Plotting crates write colours into each element.

use std::fmt::Write;

/// The width and height of a plot in its own units.
const SIZE: (f64, f64) = (640.0, 270.0);
/// The margins for labels: left, top, right, bottom.
const ROOM: (f64, f64, f64, f64) = (64.0, 12.0, 14.0, 44.0);

/// One of the two axes.
pub struct PlotAxis {
    /// The name of the quantity, with its unit.
    pub name: &'static str,
    /// The labelled values.
    pub ticks: Vec<(f64, String)>,
    /// The smallest and the largest value.
    pub range: (f64, f64),
    /// `true` if the axis is logarithmic.
    pub log: bool,
}

impl PlotAxis {
    /// Creates an axis from 0 to at least `most`, with round ticks.
    pub fn linear(name: &'static str, most: f64, label: impl Fn(f64) -> String) -> PlotAxis {
        let most = if most > 0.0 { most } else { 1.0 };
        let step = round_step(most / 5.0);
        let count = (most / step).ceil().max(1.0);
        let ticks = (0..=count as u32).map(|tick| (f64::from(tick) * step, label(f64::from(tick) * step)));
        PlotAxis { name, ticks: ticks.collect(), range: (0.0, count * step), log: false }
    }

    /// Creates an axis from 0 to exactly `most`, with round ticks, for quantities with a natural
    /// end.
    pub fn until(name: &'static str, most: f64, label: impl Fn(f64) -> String) -> PlotAxis {
        let mut axis = PlotAxis::linear(name, most, label);
        axis.range.1 = if most > 0.0 { most } else { 1.0 };
        axis.ticks.retain(|(value, _)| *value <= most * 1.001);
        axis
    }

    /// Creates a logarithmic axis around the values, with ticks at 1, 2 and 5 of each decade while
    /// there is room.
    pub fn log(name: &'static str, least: f64, most: f64, label: impl Fn(f64) -> String) -> PlotAxis {
        let (low, high) = (least.max(1e-9), most.max(least.max(1e-9) * 1.1));
        let steps: &[f64] = if (high / low).log10() > 2.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let grid = (-9..12).flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
        let grid: Vec<f64> = grid.collect();
        let from = grid.iter().copied().rfind(|tick| *tick <= low).unwrap_or(low);
        let to = grid.iter().copied().find(|tick| *tick >= high).unwrap_or(high);
        let ticks = grid.into_iter().filter(|tick| (from..=to).contains(tick)).map(|tick| (tick, label(tick)));
        PlotAxis { name, ticks: ticks.collect(), range: (from, to), log: true }
    }

    /// Returns the relative position of a value, from 0 to 1.
    fn place(&self, value: f64) -> f64 {
        let (from, to) = self.range;
        let place =
            if self.log { (value.max(from) / from).ln() / (to / from).ln() } else { (value - from) / (to - from) };
        place.clamp(0.0, 1.0)
    }
}

/// Returns 1, 2 or 5 times a power of ten, at least the value.
fn round_step(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * power >= value * 0.999);
    step.unwrap_or(10.0) * power
}

/// A line with gaps where values are missing.
pub struct PlotLine {
    /// The name in the legend.
    pub name: String,
    /// The style sheet's class, which sets the colour.
    pub class: &'static str,
    /// The points in order.
    pub points: Vec<(f64, Option<f64>)>,
}

/// Renders a plot of lines. `title` is for screen readers. The area of the first line is filled if
/// `filled`.
pub fn lines(title: &str, x: &PlotAxis, y: &PlotAxis, lines: &[PlotLine], filled: bool) -> String {
    let (width, height) = SIZE;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\" xmlns=\"http://www.w3.org/2000/svg\">",
        escape_markup(title)
    );
    let grid = PlotGrid { x, y };
    grid.draw(&mut svg);
    for (index, line) in lines.iter().enumerate() {
        grid.draw_line(&mut svg, line, filled && index == 0);
    }
    svg.push_str("</svg>");
    svg
}

/// The axes of a plot, which place its points.
struct PlotGrid<'a> {
    x: &'a PlotAxis,
    y: &'a PlotAxis,
}

impl PlotGrid<'_> {
    /// The height of the horizontal axis.
    const FLOOR: f64 = SIZE.1 - ROOM.3;

    fn at_x(&self, value: f64) -> f64 {
        ROOM.0 + self.x.place(value) * (SIZE.0 - ROOM.0 - ROOM.2)
    }

    fn at_y(&self, value: f64) -> f64 {
        PlotGrid::FLOOR - self.y.place(value) * (SIZE.1 - ROOM.1 - ROOM.3)
    }

    /// Draws the axes with their ticks. Writing to a String can't fail.
    fn draw(&self, svg: &mut String) {
        let ((width, height), (left, _, right, _), floor) = (SIZE, ROOM, PlotGrid::FLOOR);
        for (value, label) in &self.y.ticks {
            let at = self.at_y(*value);
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{left}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text class=\"tick end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                width - right,
                left - 8.0,
                at + 4.0,
                escape_markup(label)
            );
        }
        for (value, label) in &self.x.ticks {
            let at = self.at_x(*value);
            let _ = write!(
                svg,
                "<line class=\"axis\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{floor}\" y2=\"{:.1}\"/>\
                 <text class=\"tick mid\" x=\"{at:.1}\" y=\"{:.1}\">{}</text>",
                floor + 4.0,
                floor + 18.0,
                escape_markup(label)
            );
        }
        let _ = write!(
            svg,
            "<line class=\"axis\" x1=\"{left}\" x2=\"{:.1}\" y1=\"{floor}\" y2=\"{floor}\"/>\
             <text class=\"name end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            width - right,
            width - right,
            height - 6.0,
            escape_markup(self.x.name)
        );
    }

    /// Draws a line, and the area below it if `filled`. Writing to a String can't fail.
    fn draw_line(&self, svg: &mut String, line: &PlotLine, filled: bool) {
        let (class, floor) = (line.class, PlotGrid::FLOOR);
        let (mut path, mut area) = (String::new(), String::new());
        let mut open: Option<f64> = None;
        for (point, value) in &line.points {
            let Some(value) = value else {
                open = None;
                continue;
            };
            let (px, py) = (self.at_x(*point), self.at_y(*value));
            let _ = write!(path, "{}{px:.1} {py:.1}", if open.is_none() { "M" } else { "L" });
            let _ = match open {
                Some(_) => write!(area, "L{px:.1} {py:.1}"),
                None => write!(area, "M{px:.1} {floor}L{px:.1} {py:.1}"),
            };
            open = Some(px);
        }
        if let Some(last) = open.filter(|_| filled) {
            let _ = write!(svg, "<path class=\"area {class}\" d=\"{area}L{last:.1} {floor}Z\"/>");
        }
        let _ = write!(svg, "<path class=\"line {class}\" d=\"{path}\"/>");
        // A single point is drawn as a dot.
        if let [(point, Some(value))] = line.points.as_slice() {
            let (px, py) = (self.at_x(*point), self.at_y(*value));
            let _ = write!(svg, "<circle class=\"dot {class}\" cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"3\"/>");
        }
    }
}

/// Renders the names and colours of the lines.
pub fn legend(lines: &[PlotLine]) -> String {
    let mut out = String::from("<p class=\"legend\">");
    for line in lines {
        let _ = write!(out, "<span><i class=\"{}\"></i>{}</span>", line.class, escape_markup(&line.name));
    }
    out.push_str("</p>");
    out
}

/// A bar of a bar chart.
pub struct PlotBar {
    /// The name of the counted thing.
    pub name: String,
    /// The style sheet's class, which sets the colour.
    pub class: &'static str,
    /// The count.
    pub value: u64,
    /// The count in words.
    pub label: String,
}

/// Renders horizontal bars, each with its name above it.
pub fn bars(title: &str, bars: &[PlotBar]) -> String {
    const EACH: f64 = 40.0;
    let width = SIZE.0;
    let most = bars.iter().map(|bar| bar.value).max().unwrap_or(1).max(1) as f64;
    let height = EACH * bars.len() as f64 + 6.0;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\" xmlns=\"http://www.w3.org/2000/svg\">",
        escape_markup(title)
    );
    for (index, bar) in bars.iter().enumerate() {
        let top = EACH * index as f64;
        let _ = write!(
            svg,
            "<text class=\"bar\" x=\"0\" y=\"{:.1}\">{}</text><text class=\"bar end\" x=\"{width}\" y=\"{:.1}\">{}</text>\
             <rect class=\"track\" x=\"0\" y=\"{:.1}\" width=\"{width}\" height=\"8\" rx=\"4\"/>\
             <rect class=\"{}\" x=\"0\" y=\"{:.1}\" width=\"{:.1}\" height=\"8\" rx=\"4\"/>",
            top + 15.0,
            escape_markup(&bar.name),
            top + 15.0,
            escape_markup(&bar.label),
            top + 22.0,
            bar.class,
            top + 22.0,
            (width * bar.value as f64 / most).max(4.0)
        );
    }
    svg.push_str("</svg>");
    svg
}

/// Escapes a text for markup.
pub fn escape_markup(text: &str) -> String {
    // Characters that XML forbids are left out.
    let clean: String = text.chars().filter(|char| !char.is_control()).collect();
    quick_xml::escape::escape(clean).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_hold_all_values() {
        let axis = PlotAxis::linear("a second", 1234.0, |value| format!("{value}"));
        let ticks: Vec<f64> = axis.ticks.iter().map(|(value, _)| *value).collect();
        assert_eq!(ticks, [0.0, 500.0, 1000.0, 1500.0]);
        assert_eq!(axis.range, (0.0, 1500.0));
        let axis = PlotAxis::log("ms", 0.3, 40.0, |value| format!("{value}"));
        assert!(axis.range.0 <= 0.3 && axis.range.1 >= 40.0);
        assert!((axis.place(axis.range.0), axis.place(axis.range.1)) == (0.0, 1.0));
        let nothing = PlotAxis::linear("", 0.0, |value| format!("{value}"));
        assert!(nothing.place(0.0) == 0.0, "nothing is divided by nothing");
    }

    #[test]
    fn a_gap_in_the_values_is_a_gap_in_the_line() {
        let points = vec![(0.0, Some(1.0)), (1.0, Some(2.0)), (2.0, None), (3.0, Some(1.0)), (4.0, Some(1.0))];
        let axis = |most| PlotAxis::linear("x", most, |value| format!("{value}"));
        let line = PlotLine { name: "a & b".into(), class: "c1", points };
        let svg = lines("<title>", &axis(4.0), &axis(2.0), &[line], false);
        let path = svg.split("class=\"line c1\" d=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        assert_eq!(path.matches('M').count(), 2, "{path}");
        assert!(svg.contains("&lt;title&gt;"));
    }
}
