/** Curves of one metric at a time, as reported or as logs tell, drawn by uPlot; the same values as a table for screen readers. */
import { html, useEffect, useMemo, useRef, useState } from "./html.js";
import { figure } from "./format.js";
import { toast } from "./parts.js";

/** @typedef {import("./wire.js").SeriesRow} SeriesRow */

const COLOURS = ["--run", "--warn", "--ok", "--bad", "--link", "--wait", "--text", "--strong-line"];
const HEIGHT = 220;

/** @param {{series: SeriesRow[]}} props */
export function Curves({ series }) {
  const names = useMemo(() => [...new Set(series.map((one) => one.name))].sort(), [series]);
  const [chosen, setChosen] = useState("");
  const name = names.includes(chosen) ? chosen : (names.find((one) => /loss/i.test(one)) ?? names[0] ?? "");
  const shown = useMemo(() => series.filter((one) => one.name === name && one.points?.length).sort((a, b) => (a.rank ?? -1) - (b.rank ?? -1)), [series, name]);
  const source = shown[0]?.source === "trainerStatus" ? "as the job reports it" : "as its log says";
  return html`<section class="panel" aria-labelledby="curve"><header><h2 id="curve">${names.length ? "Curve of" : "Curves"}</h2>
      ${names.length ? html`<select value=${name} aria-label="Metric" onChange=${(/** @type {any} */ event) => setChosen(event.target.value)}>${names.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}</select><span class="faint">${source}</span>` : null}</header>
    ${shown.length ? html`<${Plot} series=${shown} /><${Values} series=${shown} />` : html`<p class="faint">No metric yet: none was reported, and the log names none.</p>`}</section>`;
}

/** Columns for uPlot: x, then each series' values at it, null where it has none. @param {SeriesRow[]} series @returns {(number | null)[][]} */
export function columns(series) {
  const xs = [...new Set(series.flatMap((one) => (one.points ?? []).map(([x]) => x)))].sort((a, b) => a - b);
  return [xs, ...series.map((one) => {
    const values = new Map(one.points);
    return xs.map((x) => values.get(x) ?? null);
  })];
}

/** @param {SeriesRow} one */
function title(one) {
  return one.rank === undefined ? one.name : `rank ${one.rank}`;
}

/**
 * uPlot, asked for with the first curve. What fails to load, as when a network interface appears, is asked for again, five times at
 * most; a module that failed stays failed under its address.
 * @param {number} [tries] @returns {Promise<any>}
 */
async function loaded(tries = 0) {
  try {
    return (await import(`/assets/vendor/uplot.js${tries ? `?again=${tries}` : ""}`)).default;
  } catch (error) {
    if (tries === 5) throw error;
    await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** tries));
    return loaded(tries + 1);
  }
}

/** @type {Promise<any> | null} */
let asked = null;

/** The class that draws; null until it is loaded. */
function useUPlot() {
  const [drawing, setDrawing] = useState(/** @type {any} */ (null));
  useEffect(() => {
    asked ??= loaded();
    asked.then((found) => setDrawing(() => found), () => toast("The curve could not be loaded: reload the page. Its values are in the table."));
  }, []);
  return drawing;
}

/** @param {{series: SeriesRow[]}} props */
function Plot({ series }) {
  const UPlot = useUPlot();
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  const plot = useRef(/** @type {any} */ (null));
  const isDark = useDark();
  const shape = series.map((one) => one.id).join("|");
  useEffect(() => {
    const node = place.current;
    if (!node || !UPlot) return undefined;
    const css = getComputedStyle(document.documentElement);
    const colour = (/** @type {string} */ name) => css.getPropertyValue(name).trim();
    const axis = { stroke: colour("--faint"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), size: 4 }, font: "12px system-ui, sans-serif" };
    plot.current = new UPlot(
      {
        width: node.clientWidth,
        height: HEIGHT,
        scales: { x: { time: false } },
        axes: [{ ...axis, size: 30 }, { ...axis, size: 56, values: (/** @type {any} */ _, /** @type {number[]} */ ticks) => ticks.map(figure) }],
        cursor: { drag: { x: true, y: false } },
        // Values stand in the legend only while there is a place on the curve that they belong to.
        hooks: { setCursor: [(/** @type {any} */ drawn) => drawn.root.classList.toggle("is-pointed", typeof drawn.cursor.idx === "number")] },
        series: [
          { label: series[0]?.isCounted ? "report" : "step" },
          ...series.map((one, index) => ({ label: title(one), stroke: colour(COLOURS[index % COLOURS.length] ?? "--run"), width: 1.75, spanGaps: true, points: { show: (one.points?.length ?? 0) < 3 }, value: (/** @type {any} */ _, /** @type {number | null} */ value) => (value === null ? "-" : figure(value)) })),
        ],
      },
      columns(series),
      node,
    );
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: node.clientWidth, height: HEIGHT }));
    resized.observe(node);
    return () => {
      resized.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [UPlot, shape, isDark]);
  useEffect(() => plot.current?.setData(columns(series)), [series]);
  return html`<div class="curve" ref=${place} role="img" aria-label=${described(series)}></div>`;
}

/** One sentence for those who do not see the curve. @param {SeriesRow[]} series */
function described(series) {
  return series
    .map((one) => {
      const points = one.points ?? [];
      const [first, last] = [points[0], points.at(-1)];
      return first && last ? `${title(one)}: from ${figure(first[1] ?? NaN)} at ${first[0]} to ${figure(last[1] ?? NaN)} at ${last[0]}` : title(one);
    })
    .join("; ");
}

/** The values behind the curve; made only when it is opened. @param {{series: SeriesRow[]}} props */
function Values({ series }) {
  const [isOpen, setOpen] = useState(false);
  const [xs = [], ...rest] = useMemo(() => (isOpen ? columns(series) : []), [isOpen, series]);
  return html`<details onToggle=${(/** @type {any} */ event) => setOpen(event.target.open)}><summary class="faint">Values as a table</summary>
    ${isOpen
      ? html`<div class="timeline" tabindex="0"><table><thead><tr><th class="n">${series[0]?.isCounted ? "Report" : "Step"}</th>${series.map((one) => html`<th class="n" key=${one.id}>${title(one)}</th>`)}</tr></thead>
          <tbody>${xs.map((x, row) => html`<tr key=${x}><td class="n">${x}</td>${rest.map((values, column) => html`<td class="n" key=${column}>${values[row] === null || values[row] === undefined ? "-" : figure(/** @type {number} */ (values[row]))}</td>`)}</tr>`)}</tbody></table></div>`
      : null}</details>`;
}

function useDark() {
  const query = useMemo(() => matchMedia("(prefers-color-scheme: dark)"), []);
  const [isDark, setDark] = useState(query.matches);
  useEffect(() => {
    const change = () => setDark(query.matches);
    query.addEventListener("change", change);
    return () => query.removeEventListener("change", change);
  }, [query]);
  return isDark;
}
