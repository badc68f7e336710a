/** The last lines of a log, bounded, and how they are cut and marked. Pure. */

export const KEPT = 5000;
const KEPT_NOTES = 20;

/** @typedef {{rank: number | null, label: string, time: number, text: string, number: number}} Line */

export class LogLines {
  /** @type {Line[]} */
  lines = [];
  /** All that came, shown or not. */
  total = 0;
  /** Those that the server left out. */
  skipped = 0;
  /** What the server says of the log: whose lines are missing, and why. @type {string[]} */
  notes = [];

  /** @param {import("./wire.js").LogLines} event */
  add({ lines, skipped, notes }) {
    this.skipped += skipped;
    this.notes = [...new Set([...this.notes, ...notes])].slice(-KEPT_NOTES);
    // Of more than are kept, only the last are made into objects.
    for (const [rank, label, time, text] of lines.slice(-KEPT)) {
      this.lines.push({ rank, label, time, text, number: this.total++ });
    }
    if (this.lines.length > KEPT * 1.2) this.lines.splice(0, this.lines.length - KEPT);
  }

  /** Lines that are no longer kept. */
  get dropped() {
    return this.total - this.lines.length;
  }
}

/** Whether a line reads like trouble. @param {string} text */
export function isTrouble(text) {
  return TROUBLE.test(text) || EXCEPTION.test(text);
}
const TROUBLE = /\b(error|exception|traceback|fatal|panic|killed|oom|segmentation fault|nan)\b/i;
/** `ValueError`, `torch.OutOfMemoryError`; not `mean_error`, which is a metric. */
const EXCEPTION = /\b[A-Z]\w*(Error|Exception)\b/;

/** Pieces of `text`, those equal to `find` (in any case) at the odd places. @param {string} text @param {string} find @returns {string[]} */
export function pieces(text, find) {
  if (!find) return [text];
  const lower = text.toLowerCase();
  const wanted = find.toLowerCase();
  const found = [];
  let from = 0;
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, from)) {
    found.push(text.slice(from, at), text.slice(at, at + wanted.length));
    from = at + wanted.length;
  }
  return [...found, text.slice(from)];
}
