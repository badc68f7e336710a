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

  /** Whether the last line is not older than that of `other`. @param {LogLines} other */
  reaches(other) {
    const [last, otherLast] = [this.lines.at(-1), other.lines.at(-1)];
    return last !== undefined && (otherLast === undefined || last.time > otherLast.time || isSame(last, otherLast));
  }

  /** Index of this line, which may be another stream's; without it, of the first line. @param {Line} line */
  indexOf(line) {
    const first = this.lines[0]?.number ?? 0;
    const own = this.lines[line.number - first];
    return own === line ? line.number - first : Math.max(0, this.lines.findLastIndex((one) => isSame(one, line)));
  }

  /** The number of lines that are no longer kept. */
  get dropped() {
    return this.total - this.lines.length;
  }
}

/** @param {Line} one @param {Line} other */
function isSame(one, other) {
  return one.time === other.time && one.label === other.label && one.text === other.text;
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
  // Not by the lower case of both, which may have another length: that of \u0130 has two characters.
  return text.split(new RegExp(`(${find.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")})`, "giu"));
}
