/** The migration of one job: findings with their remedies, both YAMLs side by side, pods rank by rank, the proof. */
import { Fragment, html, useEffect, useMemo, useState } from "./html.js";
import { changedLines } from "./changed_lines.js";
import { clock } from "./format.js";
import { Login } from "./login.js";
import { Command, Heading, Refused, stateClass } from "./parts.js";
import { apiUrl } from "./route.js";
import { get, refusal } from "./streams.js";

/**
 * @typedef {import("./wire.js").JobMigrationDetail} JobMigrationDetail
 * @typedef {Extract<import("./route.js").Route, {view: "jobMigration"}>} JobMigrationRoute
 */

/** @param {{route: JobMigrationRoute}} props */
export function JobMigrationView({ route }) {
  const { namespace, kind, name } = route;
  const [detail, setDetail] = useState(/** @type {JobMigrationDetail | null} */ (null));
  const [refused, setRefused] = useState(/** @type {import("./streams.js").Refusal | null} */ (null));
  const [read, setRead] = useState({ at: 0, times: 0 });
  const again = () => setRead(({ at, times }) => ({ at, times: times + 1 }));
  useEffect(() => {
    const onShown = () => document.hidden || again();
    document.addEventListener("visibilitychange", onShown);
    return () => document.removeEventListener("visibilitychange", onShown);
  }, []);
  useEffect(() => {
    let isCurrent = true;
    get(apiUrl(`migration/${namespace}/${kind}/${name}`))
      .then(async (answer) => {
        const body = answer.ok ? await answer.json() : await refusal(answer);
        if (!isCurrent) return;
        setRefused(answer.ok ? null : body);
        if (answer.ok) (setDetail(body), setRead(({ times }) => ({ at: Date.now() / 1000, times })));
      })
      .catch(() => isCurrent && setRefused({ status: 0, message: "No connection to the server of this page.", remedy: "", url: "" }));
    return () => {
      isCurrent = false;
    };
  }, [namespace, kind, name, read.times]);
  const crumb = html`<div class="crumb"><a href="/migration">Migration</a> / ${namespace}</div><${Heading}>${name}<small>${kind}${detail?.move.twin ? ` \u2192 TrainJob ${detail.move.twin}` : ""}</small><//>`;
  if (refused?.status === 401) return html`<${Login} ...${refused} />`;
  if (refused) return html`<header class="head"><div>${crumb}</div></header><${Refused} refusal=${refused} what="migration" />`;
  if (!detail) return html`<header class="head"><div>${crumb}</div></header>`;
  return html`<header class="head"><div>${crumb}</div><div class="bar"><span class="faint">as of ${clock(read.at)}</span><button onClick=${again}>Refresh</button></div></header>
    <div class="facts"><div><b class=${stateClass(detail.move.state)}>${detail.move.state}</b>${detail.move.wave ? `wave ${detail.move.wave}` : "no wave"}</div>
      <div><b>${detail.move.blocking ?? 0}</b>blocking ${detail.move.blocking === 1 ? "finding" : "findings"}</div>
      <div><b>${detail.move.findings ?? 0}</b>findings in total</div></div>
    <${Proof} stages=${detail.proof} />
    <${Findings} findings=${detail.findings} />
    ${detail.commands.length ? html`<section class="panel" aria-labelledby="commands"><header><h2 id="commands">Next steps</h2></header>${detail.commands.map(([title, text]) => html`<${Command} key=${text} title=${title} text=${text} />`)}</section>` : null}
    <${Sides} before=${detail.before} after=${detail.after} />
    <${Pods} pods=${detail.pods} />
    ${detail.comparison.length ? html`<section class="panel" aria-labelledby="comparison"><header><h2 id="comparison">Comparison of the runs</h2></header><table><thead><tr><th>Metric</th><th class="n">v1</th><th class="n">v2</th><th>Verdict</th></tr></thead><tbody>
      ${detail.comparison.map(([metric, before, after, verdict]) => html`<tr key=${metric}><td>${metric}</td><td class="n">${before}</td><td class="n">${after}</td><td>${verdict}</td></tr>`)}</tbody></table></section>` : null}`;
}

/** @param {{stages: import("./wire.js").Stage[]}} props */
function Proof({ stages }) {
  if (!stages.length) return null;
  const explained = stages.filter((stage) => stage.text);
  return html`<section class="panel" aria-labelledby="proof"><header><h2 id="proof">Proof</h2></header>
    <ol class="proof-stages">${stages.map((stage) => html`<li key=${stage.name}><span class=${`stage ${stage.status.replace(" ", "-")}`}>${stage.name}<span class="sr">: ${stage.status}</span></span></li>`)}</ol>
    ${explained.map((stage) => html`<p key=${stage.name}><b>${stage.name}</b> <span class="faint">${stage.status}:</span> ${stage.text}</p>`)}</section>`;
}

/** @param {{findings: import("./wire.js").FindingText[]}} props */
function Findings({ findings }) {
  if (!findings.length) return null;
  const sorted = [...findings].sort((a, b) => Number(b.isBlocking && !b.isSuppressed) - Number(a.isBlocking && !a.isSuppressed));
  return html`<section class="panel" aria-labelledby="findings"><header><h2 id="findings">Findings</h2></header>
    ${sorted.map((finding, index) => html`<article class=${`finding ${finding.isBlocking && !finding.isSuppressed ? "blocking" : finding.severity}`} key=${index}><h3>${finding.title}</h3>
        <p>${finding.message}</p>${finding.remedy ? html`<p class="remedy"><b>What to do</b><span>${finding.remedy}</span></p>` : null}
        <p class="faint">${finding.field ? html`<code>${finding.field}</code>  ` : null}${finding.isBlocking ? "blocking" : finding.severity}${finding.isSuppressed ? ", suppressed" : ""}, ${finding.id}</p></article>`)}</section>`;
}

/** @param {{before: string, after: string}} props */
function Sides({ before, after }) {
  const [left, right] = useMemo(() => changedLines(before, after), [before, after]);
  if (!before && !after) return null;
  const side = (/** @type {string} */ title, /** @type {import("./changed_lines.js").MarkedLine[]} */ lines) => html`<div><h3>${title}</h3><pre tabindex="0" aria-label=${title}>${lines.map(
    ({ text, isChanged }, index) => html`<span key=${index} class=${`l ${isChanged ? "changed" : ""}`}>${text}${"\n"}</span>`,
  )}</pre></div>`;
  return html`<section class="panel" aria-labelledby="sides"><header><h2 id="sides">Before and after</h2><span class="faint">lines that only one side has are marked</span></header>
    <div class="sides">${side("v1", left)}${side("v2", right)}</div></section>`;
}

/** @param {{pods: import("./wire.js").PodPair[]}} props */
function Pods({ pods }) {
  if (!pods.length) return null;
  return html`<section class="panel" aria-labelledby="pods"><header><h2 id="pods">Pods, rank by rank</h2></header><table><thead><tr><th>Rank</th><th>v1</th><th>v2</th><th>Differences</th></tr></thead><tbody>
    ${pods.map((pod) => html`<tr key=${pod.rank}><td>${pod.rank}</td><td>${pod.before}</td><td>${pod.after}</td><td>${pod.differences.length ? pod.differences.map((one, index) => html`<${Fragment} key=${index}>${index ? html`<br />` : null}${one}<//>`) : html`<span class="state finished">none</span>`}</td></tr>`)}</tbody></table></section>`;
}

