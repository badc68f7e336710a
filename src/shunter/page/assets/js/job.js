/** The view of one job: head, diagnosis, ranks, curves, timeline, log. */
import { html, useEffect, useLayoutEffect, useRef, useState } from "./html.js";
import { Actions } from "./actions.js";
import { Curves } from "./curves.js";
import { age, bytes, count, dateTime, figure, plural, timesOf } from "./format.js";
import { ageOf } from "./job_list.js";
import { useLive, useTick } from "./live.js";
import { Log } from "./log.js";
import { Heading, Notices, Pending, Refused, copy } from "./parts.js";
import { Ranks } from "./ranks.js";
import { apiUrl, goBack, jobUrl, navigate } from "./route.js";
import { Timeline } from "./timeline.js";
import { Verdicts } from "./verdicts.js";
import { Yaml } from "./yaml.js";

/**
 * @typedef {import("./wire.js").JobDetail} JobDetail
 * @typedef {Extract<import("./route.js").Route, {view: "job"}>} JobRoute
 */

/** @param {{route: JobRoute, onLive: (live: import("./live.js").Live) => void}} props */
export function Job({ route, onLive }) {
  const { namespace, kind, name, ranks, find, since } = route;
  const live = useLive(apiUrl("live", { view: "job", namespace, kind, name }));
  const [isYamlOpen, setYamlOpen] = useState(false);
  const [last, setLast] = useState(/** @type {JobDetail | null} */ (null));
  useTick(5);
  useEffect(() => onLive(live), [live]);
  const job = /** @type {JobDetail | undefined} */ (live.list("job")[0]);
  useEffect(() => {
    if (job) setLast(job);
  }, [job]);
  const verdicts = /** @type {import("./wire.js").VerdictRow[]} */ (live.list("verdicts"));
  const isShown = job !== undefined;
  useEffect(() => {
    if (isShown && route.isAtLog) showLog();
  }, [isShown]);
  const setLog = (/** @type {import("./route.js").LogChoice} */ part) => navigate(jobUrl(route, { ranks, find, since, ...part }), { replace: true });
  useFailedRank(job, verdicts, ranks, (rank) => setLog({ ranks: String(rank) }));
  useJobKeys({ y: () => setYamlOpen(true), c: () => job?.kubectl && copy(job.kubectl), l: showLog, Escape: () => goBack("/jobs") });
  if (!live.session) return html`<${Heading} isHidden=${true}>${name}<//><${Pending} live=${live} what="job" />`;
  // A job that the viewer may no longer read is hidden, not shown as gone.
  const isHidden = live.hidden.some((one) => one.isSubject);
  const shown = job ?? (isHidden ? null : last);
  if (!shown && isHidden) return html`<div class="head"><${Heading}>${name}<small>${kind}</small><//></div><${Notices} live=${live} />`;
  if (!shown) return html`<${Heading} isHidden=${true}>${name}<//><${Refused} what="job" refusal=${{ status: 404, message: `${kind} ${name} is not in namespace ${namespace}.`, remedy: "", url: "" }} />`;
  const rows = /** @type {import("./wire.js").Rank[]} */ (live.list("ranks"));
  return html`<${Notices} live=${live} />
    ${job ? null : html`<div class="notice bad" role="status"><b>This job no longer exists.</b><span>Its last known state is shown.</span></div>`}
    <div class=${live.staleFor("job") > 2 ? "stale" : ""}>
      <header class="head"><div><div class="crumb"><a href="/jobs">Jobs</a> / <a href=${`/jobs?namespace=${encodeURIComponent(namespace)}`}>${namespace}</a></div>
        <${Heading}>${name}<small>${kind}</small><//></div>
        <div class="bar">${job ? html`<${Actions} job=${job} isReadOnly=${live.session.isReadOnly} />` : null}
          ${shown.kubectl ? html`<button onClick=${() => copy(shown.kubectl ?? "")}>Copy as kubectl</button>` : null}
          <button onClick=${() => setYamlOpen(true)}>YAML</button></div></header>
      <${Head} job=${shown} now=${live.now()} />
      <${Verdicts} verdicts=${verdicts} job=${shown} onRank=${(/** @type {number} */ rank) => (setLog({ ranks: String(rank) }), showLog())} />
      <${Ranks} rows=${rows} job=${shown} chosen=${ranks} onChoose=${(/** @type {string} */ next) => setLog({ ranks: next })} now=${live.now()} />
      <div class="columns"><${Curves} series=${live.list("series")} wanted=${shown.wanted ?? 0} isUnread=${live.broken.has("reading logs")} /><${Timeline} rows=${live.list("timeline")} now=${live.now()} /></div>
      <${Log} job=${route} uid=${shown.uid} rows=${rows} ranks=${ranks} find=${find} since=${since} onChange=${setLog} />
      <${Details} job=${shown} checkpoints=${live.list("checkpoints")} />
    </div>
    ${isYamlOpen ? html`<${Yaml} job=${shown} onClose=${() => setYamlOpen(false)} />` : null}`;
}

const FOLLOWED = 32;

/** Chooses, once, the rank that failed first if a job has more ranks than the server follows. @param {JobDetail | undefined} job @param {import("./wire.js").VerdictRow[]} verdicts @param {string} ranks @param {(rank: number) => void} choose */
function useFailedRank(job, verdicts, ranks, choose) {
  const isChosen = useRef(false);
  useEffect(() => {
    isChosen.current ||= ranks !== "";
    const rank = verdicts[0]?.logRank;
    if (isChosen.current || rank === undefined || job?.state !== "Failed" || (job.wanted ?? 0) <= FOLLOWED) return;
    isChosen.current = true;
    choose(rank);
  }, [job, verdicts, ranks]);
}

/** @param {Record<string, () => void>} keys the action of each key */
function useJobKeys(keys) {
  const current = useRef(keys);
  current.current = keys;
  useLayoutEffect(() => {
    const onKey = (/** @type {KeyboardEvent} */ event) => {
      const target = /** @type {HTMLElement} */ (event.target);
      if (event.ctrlKey || event.metaKey || event.altKey || target.matches("input, select, textarea") || document.querySelector("dialog[open]")) return;
      const act = current.current[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

function showLog() {
  const log = /** @type {HTMLElement | null} */ (document.querySelector(".log"));
  log?.closest("section")?.scrollIntoView();
  log?.focus({ preventScroll: true });
}

/** The figures under the title. @param {{job: JobDetail, now: number}} props */
function Head({ job, now }) {
  const progress = job.progress;
  const position = progress?.position ?? "";
  const source = progress?.source === "log" ? "from its log" : "";
  const times = progress ? timesOf(progress, now, job.state === "Running") : [];
  const fact = (/** @type {any} */ value, /** @type {string} */ text, tone = "") => html`<div><b class=${tone}>${value}</b>${text}</div>`;
  return html`<div class="facts">
    ${fact(job.state, [job.reason !== job.state && job.reason, job.created && (job.finished ? `${age(job.finished - job.created)} in all` : `${age(ageOf(job, now))} old`)].filter(Boolean).join(", "), `state ${job.state}`)}
    ${job.wanted && job.finished ? fact(count(job.wanted), job.wanted === 1 ? "rank" : "ranks") : job.wanted ? fact(`${job.up === undefined ? "?" : count(job.up)} / ${count(job.wanted)}`, job.up === undefined ? "ranks; how many are up is unknown" : "ranks up") : null}
    ${progress?.percentage !== undefined ? fact(`${progress.percentage} %`, [position, ...times, source].filter(Boolean).join(", ")) : position ? fact(position, [...times, source].filter(Boolean).join(", ") || "progress") : null}
    ${progress?.notFinite ? fact(progress.notFinite, "loss", "state Failed") : progress?.loss !== undefined ? fact(figure(progress.loss), "loss") : null}
    ${job.restarts || job.restartLimit !== undefined ? fact(job.restartLimit === undefined ? job.restarts : `${job.restarts ?? 0} of ${job.restartLimit}`, job.restartLimit === undefined && job.restarts === 1 ? "restart" : "restarts") : null}
    ${progress?.checkpointStep !== undefined ? fact(`step ${count(progress.checkpointStep)}`, progress.checkpointSaved ? `checkpoint, ${age(now - progress.checkpointSaved)} ago` : "last checkpoint") : null}
  </div>`;
}

/** Facts, links, conditions and checkpoints. @param {{job: JobDetail, checkpoints: import("./wire.js").CheckpointRow[]}} props */
function Details({ job, checkpoints }) {
  const facts = job.facts ?? [];
  const conditions = job.conditions ?? [];
  const links = job.links ?? [];
  return html`<div class="columns">
    ${facts.length || links.length
      ? html`<section class="panel" aria-labelledby="facts"><header><h2 id="facts">Details</h2></header><dl class="pairs">
          ${facts.map(([title, text]) => html`<dt key=${`t${title}`}>${title}</dt><dd key=${title}>${text}</dd>`)}
          ${links.map((link) => html`<dt key=${`t${link.url}`}>${link.title}</dt><dd key=${link.url}><${Outside} link=${link} /></dd>`)}</dl></section>`
      : null}
    ${conditions.length
      ? html`<section class="panel" aria-labelledby="conditions"><header><h2 id="conditions">Conditions</h2></header><dl class="pairs">
          ${conditions.map((one) => html`<dt key=${`t${one.type}`}>${one.type}</dt><dd key=${one.type}>${one.status}${one.reason ? `, ${one.reason}` : ""} <span class="faint">${dateTime(one.time)}</span>${one.message ? html`<br />${one.message}` : null}</dd>`)}</dl></section>`
      : null}
    ${checkpoints.length
      ? html`<section class="panel" aria-labelledby="checkpoints"><header><h2 id="checkpoints">Checkpoints</h2><span class="faint">${plural(checkpoints.length, "checkpoint")}</span></header>
          <table><thead><tr><th class="n">Step</th><th>Saved</th><th class="n">Size</th><th>Place</th></tr></thead><tbody>${checkpoints.map(
            (one) => html`<tr key=${one.id}><td class="n">${count(one.step)}</td><td>${dateTime(one.saved ?? 0)}${one.isComplete === false ? ", incomplete" : ""}</td><td class="n">${one.size === undefined ? "" : bytes(one.size)}</td><td><code>${one.place}</code></td></tr>`,
          )}</tbody></table></section>`
      : null}</div>`;
}

/** A link to another site; only http and https addresses become one. @param {{link: import("./wire.js").Link}} props */
function Outside({ link }) {
  if (!/^https?:\/\//i.test(link.url)) return html`<span>${link.url}</span>`;
  return html`<a href=${link.url} target="_blank" rel="noreferrer noopener">${link.host} <span aria-hidden="true">${"\u2197"}</span></a>`;
}
