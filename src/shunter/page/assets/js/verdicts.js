/** Why the job does not train: the doctor's verdicts with their evidence or, without any, the cause that the list shows. */
import { html } from "./html.js";
import { Remedy } from "./parts.js";

/** @param {{verdicts: import("./wire.js").VerdictRow[], job: import("./wire.js").JobDetail, onRank: (rank: number) => void}} props */
export function Verdicts({ verdicts, job, onRank }) {
  if (verdicts.length) return html`<section aria-label="Diagnosis">${verdicts.map((verdict) => html`<${Verdict} key=${verdict.id} verdict=${verdict} job=${job} onRank=${onRank} />`)}</section>`;
  if (!job.why && (!job.message || job.state === "Succeeded" || job.state === "Running")) return null;
  const tone = job.state === "Failed" ? "" : "mild";
  return html`<section aria-label="Diagnosis"><div class=${`verdict ${tone}`}><h2>${job.why || job.message}</h2>${job.remedy ? html`<${Remedy} text=${job.remedy} />` : null}</div></section>`;
}

/** @param {{verdict: import("./wire.js").VerdictRow, job: import("./wire.js").JobDetail, onRank: (rank: number) => void}} props */
function Verdict({ verdict, job, onRank }) {
  const ranks = verdict.ranks ?? [];
  const tone = job.state === "Failed" ? "" : "mild";
  return html`<article class=${`verdict ${tone}`}><h2><span>${verdict.cause || verdict.title}</span><span class="faint">${[verdict.cause && verdict.title.toLowerCase(), verdict.confidence, ranks.length && rankText(ranks)].filter(Boolean).join(", ")}</span></h2>
    ${verdict.evidence?.length
      ? html`<ul class="evidence">${verdict.evidence.map(
          (line, index, all) => html`<li key=${index}><span class="faint" title=${line.source}>${line.source}</span><code>${line.text}</code>${
            line.logRank === undefined || all.findIndex((other) => other.logRank === line.logRank) < index ? html`<span></span>` : html`<button onClick=${() => onRank(/** @type {number} */ (line.logRank))}>${ranks.includes(line.logRank) ? "Log of rank" : "Log of pod"} ${line.logRank}</button>`
          }</li>`,
        )}</ul>`
      : null}
    ${verdict.remedy ? html`<${Remedy} text=${verdict.remedy} />` : null}</article>`;
}

/** `rank 3`, `ranks 3, 4 and 12 others`. @param {number[]} ranks */
export function rankText(ranks) {
  if (ranks.length === 1) return `rank ${ranks[0]}`;
  if (ranks.length <= 4) return `ranks ${ranks.join(", ")}`;
  return `ranks ${ranks.slice(0, 3).join(", ")} and ${ranks.length - 3} others`;
}
