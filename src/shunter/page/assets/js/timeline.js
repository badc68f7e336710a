/** The timeline of the job, newest entry at the bottom. */
import { html } from "./html.js";
import { clock, dateTime } from "./format.js";

/** @param {{rows: import("./wire.js").TimelineRow[], now: number}} props */
export function Timeline({ rows, now }) {
  const sorted = [...rows].sort((one, other) => one.time - other.time);
  const isOld = sorted[0] !== undefined && now - sorted[0].time > 86400;
  return html`<section class="panel" aria-labelledby="timeline"><header><h2 id="timeline">Timeline</h2></header>
    ${sorted.length
      ? html`<ol class="timeline" tabindex="0" aria-labelledby="timeline">${sorted.map(
          (row) => html`<li key=${row.id} class=${row.tone ?? "plain"}><time datetime=${row.time ? new Date(row.time * 1000).toISOString() : ""} title=${dateTime(row.time)}>${isOld ? dateTime(row.time).slice(5, 16) : clock(row.time)}</time>
            <div>${row.text}${(row.times ?? 1) > 1 ? html` <span class="faint">${row.times} times</span>` : null}${row.lines?.length ? html`<pre tabindex="0" aria-label="Last lines of its log">${row.lines.join("\n")}</pre>` : null}</div></li>`,
        )}</ol>`
      : html`<p class="faint">Nothing was recorded yet.</p>`}</section>`;
}
