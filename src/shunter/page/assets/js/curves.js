/** Curves of one metric at a time, from reports or logs, with the same values as a table for screen readers. */
import { html, useMemo, useState } from "./html.js";
import { count, figure, plural } from "./format.js";
import { Plot } from "./plot.js";

/** @typedef {import("./wire.js").SeriesRow} SeriesRow */

/** @param {{series: SeriesRow[], wanted: number, isUnread: boolean}} props `wanted`: how many ranks the job requests; 0 if unknown. `isUnread`: logs could not be read. */
export function Curves({ series, wanted, isUnread }) {
  const names = useMemo(() => [...new Set([...series].sort((a, b) => (a.order ?? 0) - (b.order ?? 0)).map((one) => one.name))], [series]);
  const [chosen, setChosen] = useState("");
  const [isOfAll, setOfAll] = useState(true);
  const name = names.includes(chosen) ? chosen : (names[0] ?? "");
  const known = useMemo(() => series.filter((one) => one.name === name && one.points?.length).sort((a, b) => (a.rank ?? -1) - (b.rank ?? -1)), [series, name]);
  const shown = useMemo(() => (isOfAll ? known : known.slice(0, 1)), [known, isOfAll]);
  const curves = useMemo(() => shown.map((one) => ({ title: title(one), points: one.points ?? [] })), [shown]);
  const xs = useMemo(() => [...new Set(shown.flatMap((one) => (one.points ?? []).map(([x]) => x)))].sort((a, b) => a - b), [shown]);
  const unit = shown[0]?.isCounted ? "report" : "step";
  const source = shown[0]?.source === "trainerStatus" ? "reported by the job" : "from its log";
  const isPart = shown[0]?.rank !== undefined && wanted > shown.length;
  return html`<section class="panel" aria-labelledby="curve"><header><h2 id="curve">${names.length ? "Curve of" : "Curves"}</h2>
      ${names.length ? html`<select value=${name} aria-label="Metric" onChange=${(/** @type {any} */ event) => setChosen(event.target.value)}>${names.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}</select><span class="faint">${source}${isPart ? `; ${count(shown.length)} of ${plural(wanted, "rank")}` : ""}</span>` : null}
      ${known.length > 1 ? html`<button class="push" aria-pressed=${isOfAll} onClick=${() => setOfAll(!isOfAll)}>All ranks</button>` : null}</header>
    ${shown.length ? html`<${Plot} key=${`${name} ${isOfAll}`} curves=${curves} xs=${xs} unit=${unit} label=${described(shown)} />${gaps(shown).map((text) => html`<p class="gap" key=${text}>${text}</p>`)}<${Values} series=${shown} xs=${xs} />` : html`<p class="faint">${isUnread ? "No metrics were reported, and logs could not be read." : "No metrics yet: none reported, and none in the log."}</p>`}</section>`;
}

/** Sentences about values that the picture cannot show: NaN and infinite ones. @param {SeriesRow[]} series */
export function gaps(series) {
  return series.flatMap((one) => {
    const points = one.points ?? [];
    const first = points.find(([, y]) => y === null);
    if (!first) return [];
    const isLast = points.at(-1)?.[1] === null;
    const since = isLast ? points[points.findLastIndex(([, y]) => y !== null) + 1] : first;
    const where = `${one.isCounted ? "report" : "step"} ${count(since?.[0] ?? 0)}`;
    return [`${title(one)} is NaN or infinite ${isLast ? `since ${where}` : `in places, first at ${where}`}.`];
  });
}

/** @param {SeriesRow} one */
function title(one) {
  return one.rank === undefined ? one.name : `rank ${one.rank}`;
}

/** A description of the curves for screen readers. @param {SeriesRow[]} series */
function described(series) {
  return series
    .map((one) => {
      const points = one.points ?? [];
      const [first, last] = [points[0], points.at(-1)];
      return first && last ? `${title(one)}: from ${figure(first[1] ?? NaN)} at ${first[0]} to ${figure(last[1] ?? NaN)} at ${last[0]}` : title(one);
    })
    .join("; ");
}

/** The values of the curves as a table; rendered only when it is opened. @param {{series: SeriesRow[], xs: number[]}} props */
function Values({ series, xs }) {
  const [isOpen, setOpen] = useState(false);
  const columns = useMemo(() => (isOpen ? series.map((one) => new Map(one.points)) : []), [isOpen, series]);
  return html`<details onToggle=${(/** @type {any} */ event) => setOpen(event.target.open)}><summary class="faint">Values as a table</summary>
    ${isOpen
      ? html`<div class="timeline" tabindex="0"><table><thead><tr><th class="n">${series[0]?.isCounted ? "Report" : "Step"}</th>${series.map((one) => html`<th class="n" key=${one.id}>${title(one)}</th>`)}</tr></thead>
          <tbody>${xs.map((x) => html`<tr key=${x}><td class="n">${x}</td>${columns.map((values, column) => html`<td class="n" key=${column}>${valueText(values.get(x))}</td>`)}</tr>`)}</tbody></table></div>`
      : null}</details>`;
}

/** @param {number | null | undefined} value */
function valueText(value) {
  return value === null || value === undefined ? "-" : figure(value);
}
