// A small chart: a line of values over time.

import { html } from "../lib/html.js";

/** The size of a chart in its own units. */
const WIDTH = 300;
const HEIGHT = 64;

/**
 * Draws values of the last while. What is unknown is a gap.
 * @param {{ at: number, value: number | null }[]} points
 * @param {number} span In milliseconds.
 * @param {string} label What it shows.
 */
export function drawn(points, span, label) {
  const end = points.at(-1)?.at ?? 0;
  const most = Math.max(1e-9, ...points.map(({ value }) => value ?? 0));
  const x = (/** @type {number} */ at) => (WIDTH - ((end - at) / span) * WIDTH).toFixed(1);
  const y = (/** @type {number} */ value) => (HEIGHT - 2 - (value / most) * (HEIGHT - 6)).toFixed(1);
  let line = "";
  let isOpen = false;
  for (const { at, value } of points) {
    // A value between two gaps is a dot.
    if (value !== null) line += isOpen ? `L${x(at)} ${y(value)}` : `M${x(at)} ${y(value)}h0`;
    isOpen = value !== null;
  }
  const area = areaOf(points, x, y);
  return html`
    <svg class="chart" viewBox="0 0 300 64" preserveAspectRatio="none" role="img" aria-label=${label}>
      <path class="area" d=${area} /><path class="base" d="M0 62H300" /><path class="line" d=${line} />
    </svg>`;
}

/**
 * The areas below the line.
 * @param {{ at: number, value: number | null }[]} points
 * @param {(at: number) => string} x
 * @param {(value: number) => string} y
 */
function areaOf(points, x, y) {
  let area = "";
  let last = "";
  for (const { at, value } of points) {
    if (value === null) {
      if (last) area += `V${HEIGHT - 2}Z`;
      last = "";
      continue;
    }
    area += last ? `L${x(at)} ${y(value)}` : `M${x(at)} ${HEIGHT - 2}V${y(value)}`;
    last = x(at);
  }
  return last ? `${area}V${HEIGHT - 2}Z` : area;
}
