/** The last lines of a log, and how lines are marked. Pure. */

/** How many lines are kept. */
export const KEPT = 5000;
const KEPT_NOTES = 20;

/** @typedef {{rank: number | null, label: string, time: number, text: string, number: number}} Line */

export class LogLines {
  /** @type {Line[]} */
  lines = [];
  /** The number of lines received. */
  total = 0;
  /** The number of lines that the server left out. */
  skipped = 0;
  /** What is missing from the log, and why. @type {string[]} */
  notes = [];

  /** @param {import("./wire.js").LogLines} event */
  add({ lines, skipped, notes }) {
    this.skipped += skipped;
    this.notes = [...new Set([...this.notes, ...notes])].slice(-KEPT_NOTES);
    // Lines that would be dropped at once are not made into objects.
    for (const [rank, label, time, text] of lines.slice(-KEPT)) {
      this.lines.push({ rank, label, time, text, number: this.total++ });
    }
    if (this.lines.length > KEPT * 1.2) this.lines.splice(0, this.lines.length - KEPT);
  }

  /** The number of lines that are no longer kept. */
  get dropped() {
    return this.total - this.lines.length;
  }
}

/** Whether a line looks like an error. @param {string} text */
export function isTrouble(text) {
  return TROUBLE.test(text) || EXCEPTION.test(text);
}
const TROUBLE = /\b(error|exception|traceback|fatal|panic|killed|oom|segmentation fault|nan)\b/i;
/** `ValueError`, `torch.OutOfMemoryError`; not `mean_error`, which is a metric. */
const EXCEPTION = /\b[A-Z]\w*(Error|Exception)\b/;

/** `text` split at occurrences of `find` in upper or lower case, which are at the odd indices. @param {string} text @param {string} find @returns {string[]} */
export function pieces(text, find) {
  if (!find) return [text];
  const lower = text.toLowerCase();
  const lowerFind = find.toLowerCase();
  const found = [];
  let from = 0;
  for (let at = lower.indexOf(lowerFind); at >= 0; at = lower.indexOf(lowerFind, from)) {
    found.push(text.slice(from, at), text.slice(at, at + lowerFind.length));
    from = at + lowerFind.length;
  }
  return [...found, text.slice(from)];
}
