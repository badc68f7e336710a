/** The list of jobs. Only rows in view are rendered: 1,000 rows would take a second of layout. */
import { Component, html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./html.js";
import { jobCommand, jobsCommand } from "./commands.js";
import { age, count, progressText } from "./format.js";
import { COLUMNS, ageOf, countsByState, ordered, searched } from "./job_list.js";
import { useLive, useTick } from "./live.js";
import { Command, Heading, Notices, Pending, Progress, STATES, State, copy } from "./parts.js";
import { apiUrl, jobUrl, jobsUrl, navigate } from "./route.js";

/** Rows rendered above and below those in view. */
const MARGIN = 8;

/** @param {{filter: import("./route.js").JobFilter, onLive: (live: import("./live.js").Live) => void}} props */
export function Jobs({ filter, onLive }) {
  const live = useLive(apiUrl("live", { view: "jobs", namespace: filter.namespaces }));
  useTick(5);
  useEffect(() => onLive(live), [live]);
  const session = live.session;
  if (!session) return html`<${Heading} isHidden=${true}>Jobs<//><${Pending} live=${live} what="jobs" />`;
  const all = /** @type {import("./wire.js").JobRow[]} */ (live.list("jobs"));
  const now = Math.floor(live.now());
  const found = searched(all, filter);
  const change = (/** @type {Partial<import("./route.js").JobFilter>} */ part, replace = false) => navigate(jobsUrl({ ...filter, ...part }), { replace });
  return html`<${Notices} live=${live} />
    <div class="bar"><${Heading}>Jobs <span class="faint">${count(all.length)}</span><//>
      <${Counters} counts=${countsByState(found)} filter=${filter} change=${change} />
      ${filter.namespaces.map((one) => html`<button key=${one} onClick=${() => change({ namespaces: filter.namespaces.filter((other) => other !== one) })} aria-label=${`Stop showing only namespace ${one}`}>namespace ${one} ${"\u2715"}</button>`)}
      <div class="bar searching push"><input id="search" class="search" type="search" aria-label="Search jobs by name, namespace, kind or cause" placeholder="Search   /" value=${filter.find}
        onInput=${(/** @type {any} */ event) => change({ find: event.target.value }, true)} /><button class="copies" onClick=${() => copyList(session, filter)}>Copy as command</button></div></div>
    ${all.length ? html`<${Table} rows=${found} session=${session} filter=${filter} now=${now} change=${change} isStale=${live.staleFor("jobs") > 2} />` : html`<${NoJobs} isHidden=${live.hidden.length > 0} namespaces=${filter.namespaces} options=${session.options} />`}`;
}

/** @param {import("./wire.js").Session} session @param {import("./route.js").JobFilter} filter */
function copyList(session, filter) {
  void copy(jobsCommand(session, filter), filter.find.trim() ? "the search" : "");
}

/** @param {{counts: Record<string, number>, filter: import("./route.js").JobFilter, change: Function}} props */
function Counters({ counts, filter, change }) {
  const toggled = (/** @type {string} */ state) => (filter.states.includes(state) ? filter.states.filter((other) => other !== state) : [...filter.states, state]);
  return html`<div class="chips" role="group" aria-label="Show only">${STATES.map(
    (state) => html`<button key=${state} class=${counts[state] ? "" : "none"} aria-pressed=${filter.states.includes(state)} onClick=${() => change({ states: toggled(state) })}>
      <${State} state=${state} /> <b>${count(counts[state] ?? 0)}</b></button>`,
  )}</div>`;
}

/** @param {{rows: import("./wire.js").JobRow[], session: import("./wire.js").Session, filter: import("./route.js").JobFilter, now: number, change: Function, isStale: boolean}} props */
function Table({ rows, session, filter, now, change, isStale }) {
  const minute = filter.sort.endsWith("age") ? now : 0;
  const shown = useMemo(() => ordered(rows, filter, now), [rows, filter, minute]);
  const body = useRef(/** @type {HTMLTableSectionElement | null} */ (null));
  const { first, last, height } = useRowsInView(body, shown.length);
  useListKeys(body, shown, height, (job) => (job ? copy(jobCommand(session, job)) : copyList(session, filter)));
  if (!shown.length) {
    return html`<div class="empty"><h2>No job matches</h2><p><button onClick=${() => change({ find: "", states: [] })}>Show all jobs</button></p></div>`;
  }
  const sortOf = (/** @type {string} */ id) => (filter.sort === id ? "ascending" : filter.sort === `-${id}` ? "descending" : undefined);
  const next = (/** @type {string} */ id) => (filter.sort === id ? `-${id}` : filter.sort === `-${id}` ? "" : id);
  return html`<table class=${`list ${isStale ? "stale" : ""}`} aria-rowcount=${shown.length + 1}>
    <thead><tr>${Object.entries(COLUMNS).map(
      ([id, { title }]) => html`<th key=${id} class=${`c-${id} ${id === "ranks" || id === "age" ? "n" : ""}`} aria-sort=${sortOf(id)}><button onClick=${() => change({ sort: next(id) })}>${title}${sortOf(id) ? html`<span aria-hidden="true">${filter.sort[0] === "-" ? "\u2193" : "\u2191"}</span>` : null}</button></th>`,
    )}<th class="c-why">Why</th></tr></thead>
    <tbody ref=${body}>
      <${Space} rows=${first} height=${height} />
      ${shown.slice(first, last).map((row, index) => html`<${Row} key=${row.id} row=${row} now=${now} index=${first + index} />`)}
      <${Space} rows=${shown.length - last} height=${height} />
    </tbody></table>`;
}

/** @param {{rows: number, height: number}} props */
function Space({ rows, height }) {
  return html`<tr class="space" aria-hidden="true"><td style=${{ height: `${Math.max(0, rows) * height}px` }}></td></tr>`;
}

/** A row keeps its rendered cells when only its place in the list changes. */
class Row extends Component {
  /** @type {unknown[] | null} */
  cells = null;
  /** @param {any} next */
  shouldComponentUpdate(next) {
    const { row, now, index } = /** @type {any} */ (this.props);
    const times = (/** @type {number} */ at) => [age(ageOf(row, at)), progressText(row.progress, at, row.state === "Running")].join();
    if (next.row !== row || (next.now !== now && times(next.now) !== times(now))) this.cells = null;
    return !this.cells || next.index !== index;
  }
  /** @param {any} props */
  render({ row, now, index }) {
    this.cells ??= cellsOf(row, now);
    return html`<tr class=${`row ${row.state}`} aria-rowindex=${index + 2} data-index=${index}>${this.cells}</tr>`;
  }
}

/** @param {import("./wire.js").JobRow} job @param {number} now @returns {any} */
function cellsOf(job, now) {
  const ranks = !job.wanted ? "-" : job.finished ? count(job.wanted) : `${job.up === undefined ? "?" : count(job.up)}/${count(job.wanted)}`;
  return html`<td class="c-state"><${State} state=${job.state} /></td>
    <td class="c-name"><a href=${jobUrl(job)} title=${job.name}>${job.name}</a></td>
    <td class="c-namespace">${job.namespace}</td><td class="c-kind">${job.kind}</td>
    <td class="c-ranks n">${ranks}</td>
    <td class="c-progress"><${Progress} progress=${job.progress} state=${job.state} now=${now} /></td>
    <td class="c-age n">${job.created ? age(ageOf(job, now)) : ""}</td>
    <td class="c-why" title=${job.why}>${job.why}</td>
    <td class="under" aria-hidden="true">${ranks} ${"\u00b7"} ${job.kind} ${"\u00b7"} ${job.namespace}</td>`;
}

/** Index of the first row to render, index after the last, and the height of a row in pixels. @param {{current: HTMLElement | null}} body @param {number} total */
function useRowsInView(body, total) {
  const narrow = useMemo(() => matchMedia("(max-width: 900px)"), []);
  const measure = () => {
    const height = narrow.matches ? 64 : 32;
    const above = body.current ? -body.current.getBoundingClientRect().top : 0;
    const first = Math.max(0, Math.floor(above / height) - MARGIN);
    return { first: first - (first % MARGIN), count: Math.ceil(innerHeight / height) + 3 * MARGIN, height };
  };
  const [view, setView] = useState(measure);
  useLayoutEffect(() => {
    const onScroll = () => setView((old) => {
      const next = matchMedia("print").matches ? { ...old, first: 0, count: total } : measure();
      return next.first === old.first && next.count === old.count && next.height === old.height ? old : next;
    });
    onScroll();
    addEventListener("scroll", onScroll, { passive: true });
    addEventListener("resize", onScroll);
    addEventListener("beforeprint", onScroll);
    return () => {
      removeEventListener("scroll", onScroll);
      removeEventListener("resize", onScroll);
      removeEventListener("beforeprint", onScroll);
    };
  }, [total]);
  const first = Math.min(view.first, Math.max(0, total - view.count));
  return { first, last: Math.min(total, first + view.count), height: view.height };
}

/** j and k, or the arrows, move between rows; the row's link has the focus, so that Enter opens it. c copies the command for that job, or the list. @param {{current: HTMLElement | null}} body @param {import("./wire.js").JobRow[]} shown @param {number} height @param {(job: import("./wire.js").JobRow | undefined) => void} onCopy */
function useListKeys(body, shown, height, onCopy) {
  const copies = useRef(onCopy);
  copies.current = onCopy;
  // The row that gets the focus in the next frame: keys can repeat faster.
  const next = useRef(/** @type {number | null} */ (null));
  useLayoutEffect(() => {
    const onKey = (/** @type {KeyboardEvent} */ event) => {
      const target = /** @type {HTMLElement} */ (event.target);
      if (event.ctrlKey || event.metaKey || event.altKey || target.matches("input, select, textarea, dialog *, pre")) return;
      const step = event.key === "j" || event.key === "ArrowDown" ? 1 : event.key === "k" || event.key === "ArrowUp" ? -1 : 0;
      const row = /** @type {HTMLElement | null} */ (target.closest("tr[data-index]"));
      if (event.key === "c") copies.current(row ? shown[Number(row.dataset.index)] : undefined);
      const from = next.current ?? (row ? Number(row.dataset.index) : null);
      if (!step || (event.key.startsWith("Arrow") && from === null)) return;
      event.preventDefault();
      const index = Math.max(0, Math.min(shown.length - 1, from === null ? 0 : from + step));
      next.current = index;
      const top = (body.current?.getBoundingClientRect().top ?? 0) + scrollY + index * height;
      if (top < scrollY + 2 * height) scrollTo(0, top - 2 * height);
      else if (top > scrollY + innerHeight - 2 * height) scrollTo(0, top - innerHeight + 2 * height);
      requestAnimationFrame(() => {
        if (next.current !== index) return;
        next.current = null;
        /** @type {HTMLElement | null | undefined} */ (body.current?.querySelector(`tr[data-index="${index}"] a`))?.focus({ preventScroll: true });
      });
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [shown, height]);
}

/** @param {{isHidden: boolean, namespaces: string[], options: string}} props `options`: options that a command needs for this cluster */
function NoJobs({ isHidden, namespaces, options }) {
  const more = `${namespaces[0] ? ` -n ${namespaces[0]}` : ""}${options}`;
  if (isHidden) return html`<div class="empty"><h2>No jobs that you may read</h2><p>Others may be hidden from you; see above for the missing permissions.</p></div>`;
  return html`<div class="empty"><h2>No jobs yet${namespaces.length ? ` in ${namespaces.join(", ")}` : ""}</h2><p>This page shows PyTorchJob, TFJob, MPIJob, XGBoostJob, JAXJob, PaddleJob and TrainJob as soon as there are any.</p>
    <${Command} title="Try it: a job with two ranks that count" text=${`${FIRST_JOB}${more}`} />
    <${Command} title="Or your own script, or a manifest" text=${`shunter run train.py --nodes 2${more}`} /></div>`;
}

const FIRST_JOB = `cat > hello.py <<'END'
import os, time
for step in range(1, 201):
    print(f"rank {os.environ['RANK']} step {step}/200 loss {3 / step:.4f}", flush=True)
    time.sleep(0.3)
END
shunter run hello.py --nodes 2`;
