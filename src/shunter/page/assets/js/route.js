/** URLs of the page, parsed and built. Pure, except `navigate`, `restorePlace` and `goBack`. */

/**
 * @typedef {{view: "jobs", filter: JobFilter}
 *   | {view: "job", namespace: string, kind: string, name: string, ranks: string, find: string, since: string, isAtLog: boolean}
 *   | {view: "migration", namespaces: string[], state: string}
 *   | {view: "jobMigration", namespace: string, kind: string, name: string}
 *   | {view: "cluster"}
 *   | {view: "login"}
 *   | {view: "unknown"}} Route
 * @typedef {{ranks?: string, find?: string, since?: string}} LogChoice `since`: seconds back.
 * @typedef {{states: string[], namespaces: string[], find: string, sort: string}} JobFilter
 *   `sort`: a column, with `-` before it for descending; empty: failing first.
 */

/** @param {string} path @param {string} search @returns {Route} */
export function parse(path, search) {
  const query = new URLSearchParams(search);
  const [view = "", ...rest] = path.split("/").filter(Boolean).map(decoded);
  const [namespace, kind, name, more] = rest;
  const isJob = namespace !== undefined && kind !== undefined && name !== undefined && more === undefined;
  if (view === "" || (view === "jobs" && !rest.length)) {
    return {
      view: "jobs",
      filter: {
        // In upper or lower case, such as `failed`.
        states: query.getAll("state").map((state) => state.slice(0, 1).toUpperCase() + state.slice(1).toLowerCase()),
        namespaces: query.getAll("namespace"),
        find: query.get("find") ?? "",
        sort: query.get("sort") ?? "",
      },
    };
  }
  if (view === "jobs" && isJob) {
    return { view: "job", namespace, kind, name, ranks: query.get("ranks") ?? "", find: query.get("find") ?? "", since: /^\d{1,7}$/.exec(query.get("since") ?? "")?.[0] ?? "", isAtLog: query.get("tab") === "logs" };
  }
  if (view === "migration" && !rest.length) return { view: "migration", namespaces: query.getAll("namespace"), state: query.get("state") ?? "" };
  if (view === "migration" && isJob) return { view: "jobMigration", namespace, kind, name };
  if (view === "cluster" && !rest.length) return { view: "cluster" };
  if (view === "login") return { view: "login" };
  return { view: "unknown" };
}

/** @param {JobFilter} filter */
export function jobsUrl(filter) {
  const query = new URLSearchParams();
  for (const state of filter.states) query.append("state", state);
  for (const namespace of filter.namespaces) query.append("namespace", namespace);
  if (filter.find) query.set("find", filter.find);
  if (filter.sort) query.set("sort", filter.sort);
  return withQuery("/jobs", query);
}

/** @param {{namespace: string, kind: string, name: string}} job @param {LogChoice} [log] */
export function jobUrl({ namespace, kind, name }, log = {}) {
  const query = new URLSearchParams();
  if (log.ranks) query.set("ranks", log.ranks);
  if (log.find) query.set("find", log.find);
  if (log.since) query.set("since", log.since);
  return withQuery(`/jobs/${[namespace, kind, name].map(encodeURIComponent).join("/")}`, query);
}

/** @param {{namespace: string, kind: string, name: string}} migration */
export function jobMigrationUrl({ namespace, kind, name }) {
  return `/migration/${[namespace, kind, name].map(encodeURIComponent).join("/")}`;
}

/** A route of the API. @param {string} path segments, not encoded @param {Record<string, string | string[] | undefined>} [parameters] */
export function apiUrl(path, parameters = {}) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) for (const one of [value ?? ""].flat()) if (one) query.append(key, one);
  return withQuery(`/api/${path.split("/").map(encodeURIComponent).join("/")}`, query);
}

/**
 * Shows another URL; with `replace` without a new history entry, such as for each letter typed. The entry that is left keeps where one
 * was in it, for `restorePlace`. @param {string} url @param {{replace?: boolean}} [how] */
export function navigate(url, { replace = false } = {}) {
  if (url === location.pathname + location.search) return;
  if (replace) history.replaceState(history.state, "", url);
  else {
    history.replaceState({ ...history.state, left: { top: scrollY, url } }, "");
    history.pushState({ isFollowed: true }, "", url);
  }
  dispatchEvent(new Event("shunter:navigate"));
}

/** Where a view was left: how far it was scrolled, in pixels, and the URL of the link that was followed. @typedef {{top: number, url: string}} LeftAt */

/**
 * Scrolls back to where this entry of the history was left, as soon as the view is long enough, and focuses the link that was followed;
 * to the top of an entry that is new. Ends when the returned function is called, or the viewer does something else.
 */
export function restorePlace() {
  const left = /** @type {LeftAt | undefined} */ (history.state?.left);
  scrollTo(0, 0);
  if (!left) return () => undefined;
  const over = new AbortController();
  const end = () => over.abort();
  const focusLink = () => {
    const link = [...document.querySelectorAll("main a[href]")].find((one) => one.getAttribute("href") === left.url);
    if (link && !over.signal.aborted) /** @type {HTMLElement} */ (link).focus({ preventScroll: true });
    end();
  };
  const observer = new ResizeObserver(() => {
    if (document.documentElement.scrollHeight - innerHeight < left.top) return;
    observer.disconnect();
    scrollTo(0, left.top);
    // Rows that have come into view are there in the second frame.
    requestAnimationFrame(() => requestAnimationFrame(focusLink));
  });
  observer.observe(document.body);
  over.signal.addEventListener("abort", () => observer.disconnect());
  for (const name of ["wheel", "touchmove", "pointerdown", "keydown"]) addEventListener(name, end, { signal: over.signal, passive: true });
  return end;
}

/** Shows the previous view, or `url` if this is the first view of the window. @param {string} url */
export function goBack(url) {
  if (history.state?.isFollowed) history.back();
  else navigate(url);
}

/** @param {string} path @param {URLSearchParams} query */
function withQuery(path, query) {
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

/** @param {string} segment */
function decoded(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
