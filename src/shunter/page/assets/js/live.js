/** What one view shows, kept current by one event stream: rows by id, what is stale, what is hidden. `useLive` renders once a frame. */
import { useEffect, useMemo, useState } from "./html.js";
import { openStream } from "./streams.js";

/**
 * @typedef {import("./wire.js").Session} Session
 * @typedef {import("./wire.js").Hidden} Hidden
 * @typedef {{why: string, since: number, isAway: boolean}} Broken `since` in seconds of the browser's clock: what is shown is as of then.
 */

export class Live {
  /** @type {Map<string, Map<string, any>>} */
  #rows = new Map();
  /** @type {Map<string, any[]>} */
  #lists = new Map();
  /** @type {Set<() => void>} */
  #listeners = new Set();
  #isDue = false;
  /** Counts changes. */
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
  /** Since when nothing of what is shown is known to be current; 0 while the stream keeps it so. */
  lost = 0;
  /** When the last event came. */
  #heard = 0;
  /** The server's clock less the browser's, in seconds. */
  #ahead = 0;

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
    return Date.now() / 1000 + this.#ahead;
  }

  /** Whether it is the cluster that does not answer. */
  get isAway() {
    return [...this.broken.values()].some((one) => one.isAway);
  }

  /** Seconds since what is shown was current; 0 where it is. @param {string} [collection] */
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

  /** Takes one event of the stream. @param {string} name @param {any} data */
  take(name, data) {
    this.#heard = Date.now() / 1000;
    if (name === "snapshot") this.#replace(data);
    else if (name === "delta") this.#change(data);
    else if (name === "gone") this.broken.set(data.collection, { why: data.why, isAway: data.isAway, since: Math.min(this.broken.get(data.collection)?.since ?? Infinity, this.#heard - data.since) });
    else if (name === "back") this.broken.delete(data.collection);
    else if (name === "hidden") this.hidden = data;
    else if (name === "end") this.ended = data.why;
    else if (name === "beat") this.#ahead = data.now - Date.now() / 1000;
    this.#tell();
  }

  /** @param {import("./streams.js").StreamState} state @param {import("./streams.js").Refusal} [refusal] */
  change(state, refusal) {
    this.state = state;
    this.refusal = refusal ?? null;
    // Only a snapshot makes rows current again: a stream that is open may have to wait for one.
    if (state !== "open" && (this.session || state === "retrying")) this.lost ||= this.#heard || Date.now() / 1000;
    this.#tell();
  }

  /** @param {{session: Session, rows: Record<string, any[]>}} snapshot */
  #replace({ session, rows }) {
    this.session = session;
    this.lost = 0;
    this.#ahead = session.now - Date.now() / 1000;
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

  #tell() {
    this.version++;
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      for (const listener of this.#listeners) listener();
    });
  }
}

/** What `url` streams; renders the component when it changes. @param {string} url @returns {Live} */
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
    // What came between the rendering and now.
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
