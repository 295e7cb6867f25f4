//! The plot: a circle for each file, to the right the more often it has changed, higher the more complex it is. Its area is
//! the number of lines.

use std::fmt::Write as _;

use super::{escape, highest_score};
use crate::report::hotspots::{Hotspot, HotspotReport};

/// The most circles; more would only slow the browser down. The ones that are left out have the lowest scores.
const MAX_CIRCLES: usize = 2000;
/// The most files whose names are written beside their circles.
const MAX_LABELS: usize = 12;

const WIDTH: f64 = 1080.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = WIDTH - 24.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = HEIGHT - 48.0;

/// The radius of the file with most lines, and of one with hardly any.
const LARGEST: f64 = 22.0;
const SMALLEST: f64 = 3.5;

/// What a character of a label takes; an estimate that is rather too large, so that labels do not meet.
const CHARACTER_WIDTH: f64 = 6.3;
const LABEL_HEIGHT: f64 = 14.0;
const MAX_LABEL_CHARACTERS: usize = 32;

/// Labels on an axis are at least so far apart.
const TICK_DISTANCE: f64 = 34.0;

/// Values to pixels. Both ends of the pixels are inside the frame.
struct Scales {
    most_commits: f64,
    most_complexity: f64,
    most_lines: f64,
    highest_score: f64,
}

impl Scales {
    fn new(hotspots: &[Hotspot]) -> Self {
        let most = |figure: fn(&Hotspot) -> f64| hotspots.iter().map(figure).fold(1.0, f64::max);
        Self {
            most_commits: most(|hotspot| count(hotspot.commit_count)),
            // Some room above the highest circle.
            most_complexity: most(|hotspot| hotspot.complexity_score) * 1.1,
            most_lines: most(|hotspot| f64::from(hotspot.code_lines)),
            highest_score: highest_score(hotspots),
        }
    }

    /// By the square root: most files have few changes and would otherwise all be at the edge.
    fn x(&self, commits: f64) -> f64 {
        LEFT + LARGEST + (RIGHT - LEFT - 2.0 * LARGEST) * (commits / self.most_commits).sqrt()
    }

    fn y(&self, complexity: f64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * (complexity / self.most_complexity)
    }

    fn radius(&self, hotspot: &Hotspot) -> f64 {
        (LARGEST * (f64::from(hotspot.code_lines) / self.most_lines).sqrt()).max(SMALLEST)
    }
}

/// The plot as an SVG element.
pub(super) fn plot(report: &HotspotReport) -> String {
    let shown = &report.hotspots[..report.hotspots.len().min(MAX_CIRCLES)];
    let scales = Scales::new(shown);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"Files by number of commits and complexity\">\n"
    );
    write_axes(&mut svg, &scales);
    let mut by_size: Vec<&Hotspot> = shown.iter().collect();
    // The largest first, so that none covers a smaller one.
    by_size.sort_by_key(|hotspot| std::cmp::Reverse(hotspot.code_lines));
    for hotspot in by_size {
        write_circle(&mut svg, &scales, hotspot);
    }
    write_labels(&mut svg, &scales, shown);
    svg + "</svg>\n"
}

fn write_axes(svg: &mut String, scales: &Scales) {
    let (width, height) = (RIGHT - LEFT, BOTTOM - TOP);
    let mut last = f64::NEG_INFINITY;
    for value in ticks(scales.most_commits) {
        let x = scales.x(value);
        if x - last < TICK_DISTANCE {
            continue;
        }
        last = x;
        let below = BOTTOM + 17.0;
        let _ = writeln!(svg, "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{BOTTOM}\"/>");
        let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{below}\" text-anchor=\"middle\">{value}</text>");
    }
    let step = if scales.most_complexity > 40.0 { 10.0 } else { 5.0 };
    let values = std::iter::successors(Some(0.0), |value| Some(value + step));
    for value in values.take_while(|value| *value <= scales.most_complexity) {
        let (y, left) = (scales.y(value), LEFT - 8.0);
        let _ = writeln!(svg, "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{RIGHT}\" y2=\"{y:.1}\"/>");
        let _ = writeln!(svg, "<text x=\"{left}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>", y + 4.0);
    }
    let middle = f64::midpoint(TOP, BOTTOM);
    let _ = writeln!(
        svg,
        "<rect class=\"frame\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{width}\" height=\"{height}\"/>\n\
         <text class=\"axis\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">commits (square root scale)</text>\n\
         <text class=\"axis\" x=\"14\" y=\"{middle:.1}\" text-anchor=\"middle\" \
         transform=\"rotate(-90 14 {middle:.1})\">complexity score</text>\n\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">area: lines of code</text>",
        f64::midpoint(LEFT, RIGHT),
        HEIGHT - 8.0,
        RIGHT,
        HEIGHT - 8.0
    );
}

/// 0, 1, 2, 5, 10, 20, 50 … up to a value.
fn ticks(most: f64) -> impl Iterator<Item = f64> {
    let powers = std::iter::successors(Some(1.0), |power| Some(power * 10.0));
    let all = powers.flat_map(|power| [power, 2.0 * power, 5.0 * power]);
    std::iter::once(0.0).chain(all).take_while(move |value| *value <= most)
}

fn write_circle(svg: &mut String, scales: &Scales, hotspot: &Hotspot) {
    let (x, y) = (scales.x(count(hotspot.commit_count)), scales.y(hotspot.complexity_score));
    let (radius, heat) = (scales.radius(hotspot), hotspot.hotspot_score / scales.highest_score * 100.0);
    let _ = writeln!(
        svg,
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" style=\"--heat:{heat:.0}%\"><title>{}\n\
         {} commits, complexity {:.2}, {} lines, score {:.2}\nmost complex: {}, line {}</title></circle>",
        escape(&hotspot.path),
        hotspot.commit_count,
        hotspot.complexity_score,
        hotspot.code_lines,
        hotspot.hotspot_score,
        escape(&hotspot.worst_function),
        hotspot.worst_line
    );
}

/// A rectangle that a label takes.
struct LabelBox {
    left: f64,
    top: f64,
    width: f64,
}

impl LabelBox {
    fn meets(&self, other: &Self) -> bool {
        self.left < other.left + other.width
            && other.left < self.left + self.width
            && (self.top - other.top).abs() < LABEL_HEIGHT
    }

    fn is_inside(&self) -> bool {
        self.left >= LEFT && self.left + self.width <= RIGHT && self.top >= TOP && self.top + LABEL_HEIGHT <= BOTTOM
    }
}

/// Writes the names of the worst files. One that finds no free place is left out; its circle has a tooltip.
fn write_labels(svg: &mut String, scales: &Scales, worst_first: &[Hotspot]) {
    let mut taken: Vec<LabelBox> = Vec::new();
    for hotspot in worst_first.iter().take(MAX_LABELS) {
        let name = label(&hotspot.path);
        let width = count(name.chars().count() as u64) * CHARACTER_WIDTH;
        let (x, y) = (scales.x(count(hotspot.commit_count)), scales.y(hotspot.complexity_score));
        let gap = scales.radius(hotspot) + 4.0;
        let middle = y - LABEL_HEIGHT / 2.0;
        let places = [
            (x + gap, middle),
            (x - gap - width, middle),
            (x - width / 2.0, y - gap - LABEL_HEIGHT),
            (x - width / 2.0, y + gap),
        ];
        let boxes = places.into_iter().map(|(left, top)| LabelBox { left, top, width });
        let is_free = |place: &LabelBox| place.is_inside() && !taken.iter().any(|other| place.meets(other));
        let Some(place) = boxes.into_iter().find(is_free) else { continue };
        let (left, baseline) = (place.left, place.top + 11.0);
        let _ = writeln!(svg, "<text class=\"label\" x=\"{left:.1}\" y=\"{baseline:.1}\">{}</text>", escape(&name));
        taken.push(place);
    }
}

/// The last two names of a path, as the last may be `mod.rs`, shortened at their beginning: the end tells more.
fn label(path: &str) -> String {
    let name = path.rmatch_indices('/').nth(1).map_or(path, |(at, _)| &path[at + 1..]);
    let excess = name.chars().count().saturating_sub(MAX_LABEL_CHARACTERS);
    if excess == 0 { name.to_owned() } else { format!("…{}", name.chars().skip(excess + 1).collect::<String>()) }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn count(count: u64) -> f64 {
    count as f64
}
