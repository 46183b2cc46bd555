// What distinguishes two texts, word by word.

/** @typedef {{ kind: "same" | "removed" | "added", text: string }} Part */

/** Texts of more characters together are compared line by line. */
const LONG = 200_000;

/** Above so many differences, what lies between the common beginning and the common end counts as replaced. */
const MOST = 2000;

/**
 * Compares two texts.
 * @param {string} before
 * @param {string} after
 * @returns {Part[]} Put together without the added parts they are the one text, without the removed parts the other.
 */
export function differences(before, after) {
  const unit = before.length + after.length > LONG ? /[^\n]*\n|[^\n]+/gu : /[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu;
  const a = before.match(unit) ?? [];
  const b = after.match(unit) ?? [];
  let first = 0;
  while (first < a.length && first < b.length && a[first] === b[first]) first++;
  let end = 0;
  while (end < a.length - first && end < b.length - first && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const middle = shortest(a.slice(first, a.length - end), b.slice(first, b.length - end));
  return joined([
    { kind: "same", text: a.slice(0, first).join("") },
    ...middle,
    { kind: "same", text: a.slice(a.length - end).join("") },
  ]);
}

/**
 * The shortest way from one list to the other, by E. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986).
 * @param {string[]} a
 * @param {string[]} b
 * @returns {Part[]}
 */
function shortest(a, b) {
  const most = Math.min(MOST, a.length + b.length);
  // How far each diagonal reaches in `a`, with the diagonal 0 in the middle.
  const reach = new Int32Array(2 * most + 3).fill(-1);
  const middle = most + 1;
  reach[middle + 1] = 0;
  /** What it was before each number of differences. @type {Int32Array[]} */
  const rounds = [];
  for (let count = 0; count <= most; count++) {
    rounds.push(reach.slice(middle - count - 1, middle + count + 2));
    for (let diagonal = -count; diagonal <= count; diagonal += 2) {
      const at = middle + diagonal;
      let x = isBelow(reach, at, diagonal, count) ? reach[at + 1] : reach[at - 1] + 1;
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x++;
      reach[at] = x;
      if (x >= a.length && x - diagonal >= b.length) return way(rounds, a, b);
    }
  }
  return [{ kind: "removed", text: a.join("") }, { kind: "added", text: b.join("") }];
}

/**
 * Whether a diagonal begins below the one above it, with a word that is added, and not beside the one before it.
 * @param {Int32Array} reach
 * @param {number} at The place of the diagonal in it.
 * @param {number} diagonal
 * @param {number} count
 */
const isBelow = (reach, at, diagonal, count) =>
  diagonal === -count || (diagonal !== count && reach[at - 1] < reach[at + 1]);

/**
 * Goes the shortest way back from its end.
 * @param {Int32Array[]} rounds
 * @param {string[]} a
 * @param {string[]} b
 */
function way(rounds, a, b) {
  /** @type {Part[]} */
  const parts = [];
  let x = a.length;
  let y = b.length;
  for (let count = rounds.length - 1; count > 0; count--) {
    const diagonal = x - y;
    const at = diagonal + count + 1;
    const isAdded = isBelow(rounds[count], at, diagonal, count);
    const fromX = rounds[count][isAdded ? at + 1 : at - 1];
    const fromY = fromX - (isAdded ? diagonal + 1 : diagonal - 1);
    while (x > fromX && y > fromY) {
      parts.push({ kind: "same", text: a[--x] });
      y--;
    }
    if (isAdded) parts.push({ kind: "added", text: b[--y] });
    else parts.push({ kind: "removed", text: a[--x] });
  }
  while (x > 0) parts.push({ kind: "same", text: a[--x] });
  return parts.reverse();
}

/**
 * Joins neighbours of the same kind, and changes that only white space divides: words that were replaced one by one
 * read as one change.
 * @param {Part[]} parts
 */
function joined(parts) {
  /** @type {Part[]} */
  const list = [];
  let removed = "";
  let added = "";
  const flush = () => {
    if (removed) list.push({ kind: "removed", text: removed });
    if (added) list.push({ kind: "added", text: added });
    [removed, added] = ["", ""];
  };
  parts.forEach(({ kind, text }, index) => {
    if (text === "") return;
    const next = parts[index + 1];
    const isBetween = kind === "same" && /^[^\S\n]+$/u.test(text) && (removed !== "" || added !== "") && next && next.kind !== "same";
    if (kind === "removed" || isBetween) removed += text;
    if (kind === "added" || isBetween) added += text;
    if (kind !== "same" || isBetween) return;
    flush();
    const last = list.at(-1);
    if (last?.kind === "same") last.text += text;
    else list.push({ kind, text });
  });
  flush();
  return list;
}
