/** The log of chosen ranks: what is chosen, the stream, and what is said under the lines. */
import { html, useEffect, useMemo, useRef, useState } from "./html.js";
import { count, plural } from "./format.js";
import { LogBox } from "./log_box.js";
import { LogLines } from "./log_lines.js";
import { rankFilter, rankNumbers } from "./rank_shades.js";
import { apiUrl } from "./route.js";
import { openStream } from "./streams.js";

/** Milliseconds for which lines stay in view while a reconnected stream sends them again. */
const CATCH_UP = 3000;
/** Seconds back, as in the address, and the title. @type {[string, string][]} */
const SINCE = [["", "all times"], ["600", "last 10 minutes"], ["3600", "last hour"]];

/**
 * @typedef {{job: {namespace: string, kind: string, name: string}, uid: string, rows: import("./wire.js").Rank[], ranks: string, find: string, since: string, onChange: (part: import("./route.js").LogChoice) => void}} Props
 */

/** @param {Props} props */
export function Log({ job, uid, rows, ranks, find, since, onChange }) {
  const [follow, setFollow] = useState(true);
  const [wrap, setWrap] = useState(false);
  const [times, setTimes] = useState(false);
  const [status, setStatus] = useState({ total: 0, skipped: 0, dropped: 0, notes: /** @type {string[]} */ ([]), state: "connecting", message: "" });
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  const box = useRef(/** @type {LogBox | null} */ (null));
  const query = useSettled(find, 300);
  const numbers = useMemo(() => rows.map((row) => row.rank).filter((rank) => rank !== undefined), [rows]);
  const isChosen = rankFilter(ranks);
  const found = ranks ? /** @type {number[]} */ (numbers).filter(isChosen) : [];
  const asked = ranks ? (found.length ? found : rankNumbers(ranks)).join(",") : "";
  const isNone = ranks !== "" && numbers.length > 0 && !found.length;
  const path = `logs/${job.namespace}/${job.kind}/${job.name}`;

  useEffect(() => {
    const shown = new LogBox(/** @type {HTMLDivElement} */ (place.current), setFollow);
    box.current = shown;
    return () => shown.close();
  }, []);
  useEffect(() => {
    const shown = /** @type {LogBox} */ (box.current);
    let lines = new LogLines();
    /** Lines of a reconnected stream, which sends all again; shown once they reach as far as those in view. @type {LogLines | null} */
    let again = null;
    let state = "connecting";
    let message = "";
    let due = false;
    let isOver = false;
    const updateStatus = () => {
      if (due) return;
      due = true;
      setTimeout(() => {
        due = false;
        if (isOver) return;
        setStatus({ total: lines.total, skipped: lines.skipped, dropped: lines.dropped, notes: lines.notes, state, message });
      }, 200);
    };
    const showAgain = (/** @type {LogLines | null} */ which) => {
      if (!again || again !== which) return;
      shown.show((lines = again));
      again = null;
      updateStatus();
    };
    shown.show(lines);
    if (isNone) {
      setStatus({ total: 0, skipped: 0, dropped: 0, notes: [], state: "refused", message: `this job has no rank ${ranks}` });
      return undefined;
    }
    const close = openStream(apiUrl(path, { ranks: asked, find: query, since, follow: "true" }), {
      onEvent: (name, data) => {
        if (name === "lines") (again ?? lines).add(data);
        if (name === "end" && data.why) message = data.why;
        if (name === "end" || again?.reaches(lines)) showAgain(again);
        shown.drawSoon();
        updateStatus();
      },
      onState: (next, refusal) => {
        // There may have been no other state before: the first retry is not reported.
        if (next === "open" && lines.total) {
          const sent = (again = new LogLines());
          setTimeout(() => isOver || showAgain(sent), CATCH_UP);
        }
        state = next;
        message = refusal?.message ?? "";
        updateStatus();
      },
    });
    updateStatus();
    return () => {
      isOver = true;
      close();
    };
    // A job that was created again under the same name has its own log.
  }, [path, uid, asked, isNone, query, since]);
  useEffect(() => box.current?.look({ times, wrap, find: query, isMany: rows.length > 1 }), [times, wrap, query, rows.length > 1]);
  useEffect(() => box.current?.follow(follow), [follow]);

  const file = apiUrl(`${path}.txt`, { ranks: asked, find: query });
  return html`<section class="panel" aria-labelledby="log"><header><h2 id="log">Log</h2>
      <label class="faint">ranks <input size="9" value=${ranks} placeholder="all" aria-label="Ranks whose log is shown, such as 0,3-5" onChange=${(/** @type {any} */ event) => onChange({ ranks: event.target.value.replace(/[^\d,-]/g, "") })} /></label>
      <input class="search" type="search" value=${find} placeholder="Find in the log" aria-label="Show only lines that contain this" onInput=${(/** @type {any} */ event) => onChange({ find: event.target.value })} />
      <select value=${since} aria-label="Since when lines are shown" onChange=${(/** @type {any} */ event) => onChange({ since: event.target.value })}>${SINCE.map(([seconds, title]) => html`<option key=${seconds} value=${seconds}>${title}</option>`)}</select>
      <span class="push"></span>
      <button aria-pressed=${follow} onClick=${() => setFollow(!follow)}>Follow</button>
      <button aria-pressed=${wrap} onClick=${() => setWrap(!wrap)}>Wrap</button>
      <button aria-pressed=${times} onClick=${() => setTimes(!times)}>Times</button>
      <a class="button" href=${file} download=${`${job.name}.log`}>Download</a></header>
    <div class=${`log ${wrap ? "wrap" : ""}`} ref=${place} tabindex="0" role="region" aria-label=${`Log of ${ranks ? `ranks ${ranks}` : "all ranks"}`}></div>
    <p class="faint" role="status">${statusText(status, query)}</p>
    ${status.notes.length ? html`<ul class="notes" role="status" aria-label="What is missing from this log">${status.notes.map((note) => html`<li key=${note}>${note}</li>`)}</ul>` : null}</section>`;
}

/** @param {{total: number, skipped: number, dropped: number, state: string, message: string}} status @param {string} find */
function statusText({ total, skipped, dropped, state, message }, find) {
  const parts = [total || state !== "connecting" ? plural(total, find ? "line found" : "line", find ? "lines found" : "lines") : ""];
  if (skipped) parts.push(`${count(skipped)} not sent: there were too many at once; the download has them all`);
  if (dropped) parts.push(`the last ${count(total - dropped)} are kept here`);
  if (state === "queued") parts.push("other windows use all connections; it continues when one is closed");
  if (state === "retrying") parts.push("connection lost, retrying");
  if (state === "ended") parts.push("end of the log");
  if (message) parts.push(message);
  return parts.filter(Boolean).join("; ");
}

/** `value`, once it has not changed for so long. @template T @param {T} value @param {number} milliseconds */
function useSettled(value, milliseconds) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
