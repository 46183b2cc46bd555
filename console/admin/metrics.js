// What the server measures of itself (docs/METRICS.md), and what follows from two such readings.

/** The values of a metric, by the text of its labels. @typedef {Map<string, Map<string, number>>} Metrics */

/**
 * Reads Prometheus' text format.
 * @param {string} text
 * @returns {Metrics}
 */
export function parseMetrics(text) {
  /** @type {Metrics} */
  const metrics = new Map();
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const end = line.lastIndexOf(" ");
    const brace = line.indexOf("{");
    const name = line.slice(0, brace < 0 ? end : brace);
    const labels = brace < 0 ? "" : line.slice(brace + 1, line.lastIndexOf("}"));
    const values = metrics.get(name) ?? new Map();
    values.set(labels, Number(line.slice(end + 1)));
    metrics.set(name, values);
  }
  return metrics;
}

/**
 * The sum of a metric's values.
 * @param {Metrics} metrics
 * @param {string} name
 * @param {string} [label] What the labels must contain.
 */
export function sum(metrics, name, label = "") {
  let total = 0;
  for (const [labels, value] of metrics.get(name) ?? []) if (labels.includes(label)) total += value;
  return total;
}

/**
 * The value that a share of the observations of a histogram between two readings did not exceed. Null without any.
 * @param {Metrics} before
 * @param {Metrics} now
 * @param {string} name
 * @param {number} share
 */
export function quantile(before, now, name, share) {
  /** @type {Map<number, number>} */
  const counts = new Map();
  const earlier = before.get(`${name}_bucket`);
  for (const [labels, value] of now.get(`${name}_bucket`) ?? []) {
    const bound = /(?:^|,)le="([^"]*)"/.exec(labels)?.[1] ?? "+Inf";
    const limit = bound === "+Inf" ? Infinity : Number(bound);
    counts.set(limit, (counts.get(limit) ?? 0) + value - (earlier?.get(labels) ?? 0));
  }
  const limits = [...counts.keys()].sort((one, other) => one - other);
  const all = counts.get(Infinity) ?? 0;
  if (all <= 0) return null;
  const wanted = share * all;
  let below = 0;
  let reached = 0;
  for (const limit of limits) {
    const count = counts.get(limit) ?? 0;
    // Within a bucket they are taken as evenly spread. Beyond the last limit nothing is known.
    if (count >= wanted) return limit === Infinity ? below : below + ((limit - below) * (wanted - reached)) / (count - reached || 1);
    below = limit;
    reached = count;
  }
  return below;
}
