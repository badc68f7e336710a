/** Filter and order of the list of jobs. Pure. */
import { STATES } from "./parts.js";

/**
 * @typedef {import("./wire.js").JobRow} JobRow
 * @typedef {import("./route.js").JobFilter} JobFilter
 */

/** The columns that the list can be sorted by: title, and the value that is compared. @type {Record<string, {title: string, by: (row: JobRow, now: number) => string | number}>} */
export const COLUMNS = {
  state: { title: "State", by: (row) => STATES.indexOf(row.state) },
  name: { title: "Name", by: (row) => row.name },
  namespace: { title: "Namespace", by: (row) => row.namespace },
  kind: { title: "Kind", by: (row) => row.kind },
  ranks: { title: "Ranks", by: (row) => row.wanted ?? 0 },
  progress: { title: "Progress", by: (row) => row.progress?.percentage ?? -1 },
  age: { title: "Age", by: (row, now) => ageOf(row, now) },
};

/** Seconds since the creation. @param {JobRow} row @param {number} now */
export function ageOf(row, now) {
  return row.created ? now - row.created : 0;
}

/** Jobs that match the search. States are counted over these, so that each counter is the number that a click on it shows. @param {JobRow[]} rows @param {JobFilter} filter */
export function searched(rows, filter) {
  const words = filter.find.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return rows;
  return rows.filter((row) => {
    const text = `${row.namespace}/${row.name} ${row.kind} ${row.why ?? ""} ${row.reason ?? ""}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** @param {JobRow[]} rows @returns {Record<string, number>} */
export function countsByState(rows) {
  const counts = Object.fromEntries(STATES.map((state) => [state, 0]));
  for (const row of rows) counts[row.state] = (counts[row.state] ?? 0) + 1;
  return counts;
}

/** The rows in the states of the filter, in its order; without one, failing first, then the newest. @param {JobRow[]} rows @param {JobFilter} filter @param {number} now */
export function ordered(rows, filter, now) {
  const shown = filter.states.length ? rows.filter((row) => filter.states.includes(row.state)) : [...rows];
  const column = COLUMNS[filter.sort.replace(/^-/, "")];
  const sign = filter.sort.startsWith("-") ? -1 : 1;
  return shown.sort((one, other) => {
    const order = column ? sign * compared(column.by(one, now), column.by(other, now)) : 0;
    return order || compared(STATES.indexOf(one.state), STATES.indexOf(other.state)) || compared(other.created ?? 0, one.created ?? 0) || compared(one.id, other.id);
  });
}

/** @param {string | number} one @param {string | number} other */
function compared(one, other) {
  return one < other ? -1 : one > other ? 1 : 0;
}
