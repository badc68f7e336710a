/** The lines of two texts; those outside their longest common subsequence are marked as changed. Pure. */

/** @typedef {{text: string, isChanged: boolean}} MarkedLine */

const MOST = 3000;

/** @param {string} before @param {string} after @returns {[MarkedLine[], MarkedLine[]]} */
export function changedLines(before, after) {
  const [left, right] = [lines(before), lines(after)];
  if (left.length > MOST || right.length > MOST) return [left, right];
  const width = right.length + 1;
  const longest = new Uint16Array((left.length + 1) * width);
  const at = (/** @type {number} */ i, /** @type {number} */ j) => longest[i * width + j] ?? 0;
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      longest[i * width + j] = isSame(left[i], right[j]) ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  for (let i = 0, j = 0; i < left.length && j < right.length; ) {
    const [one, other] = [left[i], right[j]];
    if (one && other && isSame(one, other)) {
      one.isChanged = other.isChanged = false;
      i++;
      j++;
    } else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return [left, right];
}

/** @param {string} text @returns {MarkedLine[]} */
function lines(text) {
  return text.trimEnd().split("\n").map((line) => ({ text: line, isChanged: true }));
}

/** Ignores indentation, which differs between the templates of v1 and v2. @param {MarkedLine | undefined} one @param {MarkedLine | undefined} other */
function isSame(one, other) {
  return one?.text.trim() === other?.text.trim();
}
