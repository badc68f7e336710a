/** The data of one view, updated by one event stream: rows by id, what is out of date, what is hidden. Renders once per frame. */
import { useEffect, useMemo, useState } from "./html.js";
import { openStream } from "./streams.js";

/**
 * @typedef {import("./wire.js").Session} Session
 * @typedef {import("./wire.js").Hidden} Hidden
 * @typedef {{why: string, since: number, isAway: boolean}} Broken `since`: the time, in seconds of the browser's clock, as of which rows are shown.
 */

export class Live {
  /** @type {Map<string, Map<string, any>>} */
  #rows = new Map();
  /** @type {Map<string, any[]>} */
  #lists = new Map();
  /** @type {Set<() => void>} */
  #listeners = new Set();
  #isDue = false;
  /** The number of changes so far. */
  version = 0;
  /** @type {Session | null} */
  session = null;
  /** @type {Map<string, Broken>} */
  broken = new Map();
  /** @type {Hidden[]} */
  hidden = [];
  /** @type {import("./streams.js").StreamState} */
  state = "connecting";
  /** @type {import("./streams.js").Refusal | null} */
  refusal = null;
  /** Why the server ended the stream. */
  ended = "";
  /** Since when the stream is lost, so that no rows are up to date; 0 while it is open. */
  lost = 0;
  /** When the last event arrived. */
  #lastEvent = 0;
  /** The server's clock minus the browser's, in seconds. */
  #offset = 0;

  /** Rows of a collection, in no particular order; the same array until one of them changes. @param {string} collection */
  list(collection) {
    let list = this.#lists.get(collection);
    if (!list) {
      list = [...(this.#rows.get(collection)?.values() ?? [])];
      this.#lists.set(collection, list);
    }
    return list;
  }

  /** The server's clock, in seconds. */
  now() {
    return Date.now() / 1000 + this.#offset;
  }

  /** Whether the API server of the cluster does not answer. */
  get isAway() {
    return [...this.broken.values()].some((one) => one.isAway);
  }

  /** Seconds since rows (of the collection, or any) were up to date; 0 if they are. @param {string} [collection] */
  staleFor(collection) {
    const broken = collection ? this.broken.get(collection)?.since : Math.min(...[...this.broken.values()].map((one) => one.since));
    const since = Math.min(broken ?? Infinity, this.lost || Infinity);
    return Number.isFinite(since) ? Math.max(1, Date.now() / 1000 - since) : 0;
  }

  /** @param {() => void} listener */
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Applies one event of the stream. @param {string} name @param {any} data */
  take(name, data) {
    this.#lastEvent = Date.now() / 1000;
    if (name === "snapshot") this.#replace(data);
    else if (name === "delta") this.#change(data);
    else if (name === "gone") this.broken.set(data.collection, { why: data.why, isAway: data.isAway, since: Math.min(this.broken.get(data.collection)?.since ?? Infinity, this.#lastEvent - data.since) });
    else if (name === "back") this.broken.delete(data.collection);
    else if (name === "hidden") this.hidden = data;
    else if (name === "end") this.ended = data.why;
    else if (name === "beat") this.#offset = data.now - Date.now() / 1000;
    this.#notify();
  }

  /** @param {import("./streams.js").StreamState} state @param {import("./streams.js").Refusal} [refusal] */
  change(state, refusal) {
    this.state = state;
    this.refusal = refusal ?? null;
    // Only a snapshot brings rows up to date again, and an open stream may have to wait for one.
    if (state !== "open" && (this.session || state === "retrying")) this.lost ||= this.#lastEvent || Date.now() / 1000;
    this.#notify();
  }

  /** @param {{session: Session, rows: Record<string, any[]>}} snapshot */
  #replace({ session, rows }) {
    this.session = session;
    this.lost = 0;
    this.#offset = session.now - Date.now() / 1000;
    this.broken.clear();
    this.hidden = [];
    this.#rows = new Map(Object.entries(rows).map(([collection, list]) => [collection, new Map(list.map((row) => [row.id, row]))]));
    this.#lists.clear();
  }

  /** @param {Record<string, {set?: any[], del?: string[]}>} delta */
  #change(delta) {
    for (const [collection, { set = [], del = [] }] of Object.entries(delta)) {
      const rows = this.#rows.get(collection) ?? new Map();
      for (const row of set) rows.set(row.id, row);
      for (const id of del) rows.delete(id);
      this.#rows.set(collection, rows);
      this.#lists.delete(collection);
    }
  }

  #notify() {
    this.version++;
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      for (const listener of this.#listeners) listener();
    });
  }
}

/** The data of the stream at `url`; renders the component when it changes. @param {string} url @returns {Live} */
export function useLive(url) {
  const live = useMemo(() => new Live(), [url]);
  useChanges(live);
  useEffect(() => openStream(url, { onEvent: (name, data) => live.take(name, data), onState: (state, refusal) => live.change(state, refusal) }), [live]);
  return live;
}

/** Renders the component when `live` changes. @param {Live | null} live */
export function useChanges(live) {
  const [, setVersion] = useState(0);
  useEffect(() => {
    if (!live) return undefined;
    // There may have been changes since the rendering.
    setVersion(live.version);
    return live.subscribe(() => setVersion(live.version));
  }, [live]);
}

/** Renders the component every `seconds`. @param {number} seconds */
export function useTick(seconds) {
  const [, setTick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setTick((n) => n + 1), seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);
}
