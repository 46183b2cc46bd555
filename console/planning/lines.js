// Lines of a plan, of a topic or of an item: what they hold, and the dividers between that.

/** @typedef {{ kind: "divider", id: string, position: number, title: string }} Divider */

/**
 * Dividers and other lines in their common order.
 * @template {{ position: number }} T
 * @param {T[]} others The first ones; all of them with `isComplete`.
 * @param {any[]} dividers As a reply has them: all.
 * @param {boolean} isComplete
 * @returns {(T | Divider)[]}
 */
export function inOrder(others, dividers, isComplete) {
  const last = isComplete ? Infinity : (others.at(-1)?.position ?? -1);
  const shown = dividers
    .filter(({ position }) => position <= last)
    .map(({ id, title, position }) => /** @type {Divider} */ ({ kind: "divider", id, title, position }));
  return [...others, ...shown].sort((one, other) => one.position - other.position);
}

/**
 * The lines with one of them at an index among the others.
 * @template {{ id: string }} T
 * @param {T[]} lines
 * @param {string} id
 * @param {number} to
 */
export function placed(lines, id, to) {
  const line = lines.filter((one) => one.id === id);
  const others = lines.filter((one) => one.id !== id);
  return [...others.slice(0, to), ...line, ...others.slice(to)];
}
