/** The values by which ranks can be coloured, the facts of a rank as text, and lists of ranks (`0,3-5`). Pure. */
import { age, bytes, count, percent } from "./format.js";

/** @typedef {import("./wire.js").Rank} Rank */

/** The title of each value, and the value of a rank; undefined if unknown. @type {Record<string, {title: string, value: (rank: Rank) => number | undefined}>} */
export const SHADES = {
  state: { title: "state", value: () => undefined },
  restarts: { title: "restarts", value: (rank) => rank.restarts ?? 0 },
  memory: { title: "memory", value: (rank) => (rank.memory !== undefined && rank.memoryLimit ? rank.memory / rank.memoryLimit : rank.memory) },
  cpu: { title: "CPU", value: (rank) => rank.cpu },
  step: { title: "step", value: (rank) => rank.step },
  pace: { title: "step time", value: (rank) => rank.stepSeconds },
};

/** The state, and the values that are known and above 0 for at least one rank. @param {Rank[]} rows */
export function usefulShades(rows) {
  return Object.keys(SHADES).filter((id) => id === "state" || rows.some((row) => (SHADES[id]?.value(row) ?? 0) > 0));
}

/** Class of each rank's cell, by id: `l0` to `l4` between the lowest and the highest, or `unknown`. @param {Rank[]} rows @param {string} shade @returns {Map<string, string>} */
export function levels(rows, shade) {
  const value = SHADES[shade]?.value ?? (() => undefined);
  const values = rows.map(value).filter((one) => one !== undefined);
  const low = values.length ? values.reduce((a, b) => Math.min(a, b)) : 0;
  const high = values.length ? values.reduce((a, b) => Math.max(a, b)) : 0;
  return new Map(
    rows.map((row) => {
      const own = value(row);
      if (own === undefined) return [row.id, "unknown"];
      return [row.id, high > low ? `l${Math.min(4, Math.floor(((own - low) / (high - low)) * 5))}` : "l2"];
    }),
  );
}

/** Rows by rank; those without a number last. @param {Rank[]} rows */
export function byRank(rows) {
  return [...rows].sort((one, other) => (one.rank ?? Infinity) - (other.rank ?? Infinity) || (one.label < other.label ? -1 : 1));
}

/** The facts of a rank in one line. @param {Rank} rank @param {number} now */
export function rankFacts(rank, now) {
  const memory = rank.memory === undefined ? "" : rank.memoryLimit ? `${bytes(rank.memory)} of ${bytes(rank.memoryLimit)} (${percent(rank.memory, rank.memoryLimit)})` : bytes(rank.memory);
  return [
    rank.state,
    rank.differs || rank.reason,
    rank.pod && `pod ${rank.pod}`,
    rank.node && `on ${rank.node}`,
    rank.restarts ? `${rank.restarts} ${rank.restarts === 1 ? "restart" : "restarts"}` : "",
    rank.step !== undefined && `step ${count(rank.step)}`,
    rank.stepSeconds !== undefined && `${rank.stepSeconds.toPrecision(3)} s a step`,
    rank.cpu !== undefined && `${rank.cpu.toFixed(1)} cores`,
    memory,
    rank.gpus ? `${rank.gpus} ${rank.gpus === 1 ? "GPU" : "GPUs"}` : "",
    rank.reported ? `reported ${age(now - rank.reported)} ago` : "",
  ]
    .filter(Boolean)
    .join(", ");
}

/** Whether a rank is in a list such as `0,3-5`; an empty list contains all. @param {string} text @returns {(rank: number | undefined) => boolean} */
export function rankFilter(text) {
  if (!text.trim()) return () => true;
  const spans = text.split(",").map((part) => part.trim().split("-").map(Number));
  return (rank) => rank !== undefined && spans.some(([from, to]) => rank >= (from ?? NaN) && rank <= (to ?? from ?? NaN));
}

const MOST_NAMED = 1000;

/** The numbers in a list such as `0,3-5`, at most a thousand. @param {string} text */
export function rankNumbers(text) {
  const numbers = text.split(",").flatMap((part) => {
    const [from = NaN, to = from] = part.trim().split("-").map(Number);
    return to >= from ? Array.from({ length: Math.min(MOST_NAMED, to - from + 1) }, (_, index) => from + index) : [];
  });
  return [...new Set(numbers)].slice(0, MOST_NAMED);
}

/** `0,3-5` for ranks 0, 3, 4 and 5. @param {number[]} ranks */
export function rankList(ranks) {
  const sorted = [...new Set(ranks)].sort((a, b) => a - b);
  /** @type {[number, number][]} */
  const spans = [];
  for (const rank of sorted) {
    const last = spans.at(-1);
    if (last && last[1] === rank - 1) last[1] = rank;
    else spans.push([rank, rank]);
  }
  return spans.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(",");
}
