/**
 * The log of chosen ranks. Lines are drawn without Preact, as text nodes, one for each line in view, so that the cost depends on the
 * lines in view and not on those that arrive.
 */
import { html, useEffect, useMemo, useRef, useState } from "./html.js";
import { clock, count, plural } from "./format.js";
import { LogLines, isTrouble, pieces } from "./log_lines.js";
import { rankFilter, rankNumbers } from "./rank_shades.js";
import { apiUrl } from "./route.js";
import { openStream } from "./streams.js";

const LINE = 18;
/** How many lines are drawn if long ones are wrapped. */
const WRAPPED = 400;
/** Milliseconds between two drawings of new lines. */
const PACE = 100;
/** Seconds back, as in the address, and the title. @type {[string, string][]} */
const SINCE = [["", "all times"], ["600", "last 10 minutes"], ["3600", "last hour"]];

/**
 * @typedef {{job: {namespace: string, kind: string, name: string}, uid: string, rows: import("./wire.js").Rank[], ranks: string, find: string, since: string, onChange: (part: import("./route.js").LogChoice) => void}} Props
 * @typedef {{times: boolean, wrap: boolean, find: string, isMany: boolean}} Look
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
    shown.show(lines);
    if (isNone) {
      setStatus({ total: 0, skipped: 0, dropped: 0, notes: [], state: "refused", message: `this job has no rank ${ranks}` });
      return undefined;
    }
    const close = openStream(apiUrl(path, { ranks: asked, find: query, since, follow: "true" }), {
      onEvent: (name, data) => {
        if (name === "lines") lines.add(data);
        if (name === "end" && data.why) message = data.why;
        shown.drawSoon();
        updateStatus();
      },
      onState: (next, refusal) => {
        // A reconnected stream sends all lines again. There may have been no other state before: the first retry is not reported.
        if (next === "open") shown.show((lines = new LogLines()));
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

/** The lines in view, in a scrolling box. */
class LogBox {
  #lines = new LogLines();
  /** @type {Look} */
  #look = { times: false, wrap: false, find: "", isMany: true };
  #isFollowing = true;
  #isDue = false;
  #isComing = false;
  #drawn = "";
  #drawnAt = -Infinity;
  lastTop = 0;
  #top = document.createElement("div");
  #body = document.createElement("div");

  /** @param {HTMLDivElement} box @param {(follow: boolean) => void} onFollow */
  constructor(box, onFollow) {
    this.box = box;
    this.onFollow = onFollow;
    this.#top.className = "lines";
    this.#top.append(this.#body);
    box.append(this.#top);
    this.onScroll = () => {
      const isAtEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - LINE;
      if (isAtEnd !== this.#isFollowing && (isAtEnd || box.scrollTop < this.lastTop)) this.onFollow((this.#isFollowing = isAtEnd));
      this.lastTop = box.scrollTop;
      this.draw();
    };
    box.addEventListener("scroll", this.onScroll, { passive: true });
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(box);
  }

  close() {
    this.box.removeEventListener("scroll", this.onScroll);
    this.resized.disconnect();
    this.#top.remove();
  }

  /** @param {LogLines} lines their numbers may be the same as those of the lines that are drawn */
  show(lines) {
    this.#lines = lines;
    this.#drawn = "";
    this.draw();
  }

  /** @param {Look} look */
  look(look) {
    this.#look = look;
    this.#drawn = "";
    this.draw();
  }

  /** @param {boolean} isFollowing */
  follow(isFollowing) {
    this.#isFollowing = isFollowing;
    this.draw();
  }

  /** For new lines: draws at once after a pause, and then every `PACE`. */
  drawSoon() {
    if (this.#isComing) return;
    this.#isComing = true;
    setTimeout(() => {
      this.#isComing = false;
      this.draw();
    }, Math.max(0, this.#drawnAt + PACE - performance.now()));
  }

  /** Draws in the next frame. */
  draw() {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#draw();
    });
  }

  #draw() {
    const lines = this.#lines.lines;
    const { wrap } = this.#look;
    const height = this.box.clientHeight;
    // The position is computed: reading it between two changes would cost another layout.
    const top = this.#isFollowing ? Math.max(0, lines.length * LINE - height) : this.box.scrollTop;
    const margin = this.#isFollowing ? 1 : 5;
    const first = wrap ? Math.max(0, lines.length - WRAPPED) : Math.max(0, Math.floor(top / LINE) - margin);
    const shown = wrap ? lines.slice(first) : lines.slice(first, first + Math.ceil(height / LINE) + 2 * margin);
    this.#top.style.height = wrap ? "auto" : `${lines.length * LINE}px`;
    const drawn = `${shown[0]?.number}-${shown.at(-1)?.number}-${first}`;
    if (drawn !== this.#drawn || !lines.length) this.#put(drawn, shown, first);
    if (this.#isFollowing) this.box.scrollTop = wrap ? this.box.scrollHeight : lines.length * LINE;
  }

  /** @param {string} drawn identifies what is drawn @param {import("./log_lines.js").Line[]} shown @param {number} first index of the first of them */
  #put(drawn, shown, first) {
    const { wrap } = this.#look;
    this.#drawn = drawn;
    this.#drawnAt = performance.now();
    this.#body.style.transform = wrap ? "" : `translateY(${first * LINE}px)`;
    this.#body.replaceChildren(...(shown.length ? shown.map((line) => lineNode(line, this.#look)) : [noneNode()]));
  }
}

/** @param {import("./log_lines.js").Line} line @param {Look} look */
function lineNode(line, look) {
  const node = document.createElement("div");
  node.className = isTrouble(line.text) ? "line bad" : "line";
  if (look.isMany) node.append(element("span", "who", String(line.rank ?? line.label)));
  if (look.times && line.time) node.append(element("time", "", clock(line.time)));
  const text = document.createElement("span");
  pieces(line.text, look.find).forEach((piece, index) => text.append(index % 2 ? element("mark", "", piece) : piece));
  node.append(text);
  return node;
}

function noneNode() {
  return element("div", "none", "No lines yet.");
}

/** @param {string} name @param {string} className @param {string} text */
function element(name, className, text) {
  const node = document.createElement(name);
  node.className = className;
  node.textContent = text;
  return node;
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
