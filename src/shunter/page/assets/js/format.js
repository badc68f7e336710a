/** Readable numbers, times and sizes. Pure. Times are seconds since 1970; 0: unknown. */

/** `40s`, `12m`, `3h`, `5d`: as `shunter jobs` and kubectl write ages. @param {number} seconds */
export function age(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 120) return `${s}s`;
  if (s < 7200) return `${Math.floor(s / 60)}m`;
  if (s < 172800) return `${Math.floor(s / 3600)}h`;
  return `${Math.floor(s / 86400)}d`;
}

/** Time of day in the browser's zone. @param {number} time */
export function clock(time) {
  return time ? new Date(time * 1000).toLocaleTimeString("en-GB") : "";
}

/** Date and time in the browser's zone. @param {number} time */
export function dateTime(time) {
  return time ? `${new Date(time * 1000).toLocaleDateString("sv-SE")} ${clock(time)}` : "unknown";
}

/** `1,220`; `1.00e+30` for very large numbers. @param {number} value */
export function count(value) {
  return Math.abs(value) < 1e15 ? value.toLocaleString("en-US") : value.toExponential(2);
}

/** `1 job`, `2 jobs`. @param {number} n @param {string} one @param {string} [many] */
export function plural(n, one, many = `${one}s`) {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** `15.9 GiB`. @param {number} bytes */
export function bytes(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value < 10 && unit ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** `41 %` of the whole, rounded down, at most 100. @param {number} part @param {number} whole */
export function percent(part, whole) {
  return `${Math.min(100, Math.floor((part * 100) / whole))} %`;
}

/** Four significant digits. @param {number} value */
export function figure(value) {
  if (value !== 0 && (Math.abs(value) < 0.001 || Math.abs(value) >= 1e7)) return value.toExponential(3);
  return String(Number(value.toPrecision(4)));
}

/** `15m left` if the end is known, and `9m ago` if the report is stale; neither if the job is not running. @param {import("./wire.js").Progress} progress @param {number} now @param {boolean} isRunning */
export function timesOf(progress, now, isRunning) {
  if (!isRunning) return [];
  const parts = [];
  if (progress.ends) parts.push(`${age(progress.ends - now)} left`);
  if (progress.reported && progress.staleAfter && now > progress.staleAfter) parts.push(`${age(now - progress.reported)} ago`);
  return parts;
}

/** `41 %` or `step 1220`, with `timesOf`; empty without progress. @param {import("./wire.js").Progress | undefined} progress @param {number} now @param {boolean} isRunning */
export function progressText(progress, now, isRunning) {
  if (!progress) return "";
  const text = progress.percentage === undefined ? progress.position : `${progress.percentage} %`;
  return [text, ...timesOf(progress, now, isRunning)].filter(Boolean).join("  ");
}
