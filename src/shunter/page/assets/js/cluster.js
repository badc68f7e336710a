/** The cluster: nodes with their resources and jobs, waiting jobs, queues. */
import { html, useEffect } from "./html.js";
import { bytes, count, plural } from "./format.js";
import { useLive, useTick } from "./live.js";
import { Heading, Meter, Notices, Pending, copy } from "./parts.js";
import { apiUrl, jobUrl } from "./route.js";

/** @typedef {import("./wire.js").NodeRow} NodeRow */

/** @param {{onLive: (live: import("./live.js").Live) => void}} props */
export function Cluster({ onLive }) {
  const live = useLive(apiUrl("live", { view: "cluster" }));
  useTick(5);
  useEffect(() => onLive(live), [live]);
  if (!live.session) return html`<${Heading} isHidden=${true}>Cluster<//><${Pending} live=${live} what="cluster" />`;
  const summary = /** @type {import("./wire.js").ClusterSummary | undefined} */ (live.list("cluster")[0]);
  const nodes = /** @type {NodeRow[]} */ ([...live.list("nodes")]).sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  const waiting = /** @type {import("./wire.js").JobRow[]} */ (live.list("waiting"));
  const queues = /** @type {import("./wire.js").QueueRow[]} */ (live.list("queues"));
  const kubectl = live.session.kubectl;
  const hasGpus = nodes.some((node) => node.gpus);
  return html`<${Notices} live=${live} />
    <div class="bar"><${Heading}>Cluster<//><span class="push"></span><button onClick=${() => copy(`${kubectl} describe nodes`)}>Copy as kubectl</button></div>
    ${summary ? html`<${Summary} summary=${summary} />` : null}
    <section class="panel" aria-labelledby="nodes"><header><h2 id="nodes">Nodes</h2></header>
      ${nodes.length
        ? html`<div class="wide" tabindex="0"><table><thead><tr><th>Node</th><th>State</th>${hasGpus ? html`<th>GPUs</th>` : null}<th>CPU</th><th>Memory</th><th>Jobs</th></tr></thead><tbody>
            ${nodes.map((node) => html`<${Node} key=${node.id} node=${node} hasGpus=${hasGpus} />`)}</tbody></table></div>`
        : html`<p class="faint">No nodes are shown.</p>`}</section>
    ${waiting.length
      ? html`<section class="panel" aria-labelledby="waiting"><header><h2 id="waiting">Waiting</h2></header><table><thead><tr><th>Job</th><th>Namespace</th><th class="n">Ranks</th><th>Why</th></tr></thead><tbody>
          ${waiting.map((job) => html`<tr key=${job.id}><td><a href=${jobUrl(job)}>${job.name}</a></td><td>${job.namespace}</td><td class="n">${job.up ?? "?"}/${job.wanted ?? "?"}</td><td>${job.why}</td></tr>`)}</tbody></table></section>`
      : null}
    ${queues.length
      ? html`<section class="panel" aria-labelledby="queues"><header><h2 id="queues">Queues</h2></header><div class="wide" tabindex="0"><table><thead><tr><th>Queue</th><th>Namespace</th><th class="n">Pending</th><th class="n">Admitted</th><th>Usage</th></tr></thead><tbody>
          ${queues.map((queue) => html`<tr key=${queue.id}><td>${queue.name} <span class="faint">${queue.clusterQueue}</span></td><td>${queue.namespace}</td><td class="n">${queue.pending ?? 0}</td><td class="n">${queue.admitted ?? 0}</td>
            <td>${(queue.usage ?? []).map(([resource, used, nominal]) => `${resource} ${used} of ${nominal}`).join(", ")}</td></tr>`)}</tbody></table></div></section>`
      : null}`;
}

/** @param {{summary: import("./wire.js").ClusterSummary}} props */
function Summary({ summary }) {
  const { nodes, ready } = summary;
  return html`<div class="facts">
    <div><b>${nodes === undefined ? "?" : ready === nodes ? nodes : `${ready} of ${nodes}`}</b>${nodes === 1 ? "node" : "nodes"} ready</div>
    ${summary.gpus ? html`<div><b>${summary.gpusAsked ?? "?"} of ${summary.gpus}</b>GPUs requested</div>` : null}
    <div><b>${summary.waitingJobs ?? 0}</b>${summary.waitingJobs === 1 ? "job waits" : "jobs wait"}${summary.waitingGpus ? ` for ${summary.isWaitingMore ? "at least " : ""}${plural(summary.waitingGpus, "GPU")}` : ""}</div>
    ${summary.version ? html`<div><b>${summary.version}</b>Kubernetes</div>` : null}
    ${summary.operator ? html`<div><b class="words">${summary.operator}</b>operator</div>` : null}</div>`;
}

/** @param {{node: NodeRow, hasGpus: boolean}} props */
function Node({ node, hasGpus }) {
  const state = node.isReady ? (node.isSchedulable === false ? "cordoned" : "ready") : "not ready";
  const tone = !node.isReady ? "blocked" : node.isSchedulable === false ? "Suspended" : "finished";
  return html`<tr><td>${node.name}</td><td><span class=${`state ${tone}`}>${state}</span>${node.pressure?.length ? html` <span class="state blocked">${node.pressure.join(", ")}</span>` : null}</td>
    ${hasGpus ? html`<td><${Share} used=${node.gpusAsked} all=${node.gpus ?? 0} text=${count} what="GPUs" /></td>` : null}
    <td><${Share} used=${node.cpuAsked} all=${node.cpu ?? 0} text=${cores} what="cores" /></td>
    <td><${Share} used=${node.memoryAsked} all=${node.memory ?? 0} text=${bytes} what="memory" /></td>
    <td>${(node.jobs ?? []).join(", ") || html`<span class="faint">none</span>`}</td></tr>`;
}

/** `150` for `150 GiB` if the other figure has the same unit. @param {string} one @param {string} other */
function withoutUnit(one, other) {
  const [number, unit] = one.split(" ");
  return unit && other.endsWith(` ${unit}`) ? number : one;
}

/** @param {number} value */
function cores(value) {
  return String(Math.round(value * 10) / 10);
}

/** `used` is undefined if unknown. @param {{used: number | undefined, all: number, text: (n: number) => string, what: string}} props */
function Share({ used, all, text, what }) {
  if (!all) return html`<span class="faint">none</span>`;
  if (used === undefined) return html`<span>? of ${text(all)}</span>`;
  const share = `${withoutUnit(text(used), text(all))} of ${text(all)}`;
  return html`<span class="progress"><${Meter} share=${used / all} tone=${used >= all ? "full" : ""} label=${`${what}: ${share} requested`} /><span>${share}</span></span>`;
}
