/** A plot of curves: axes, lines, the values at the pointer. Dragging over a range zooms into it. */
import { html, useEffect, useMemo, useRef, useState } from "./html.js";
import { figure } from "./format.js";

const HEIGHT = 220;
const LEFT = 56;
const RIGHT = 8;
const TOP = 8;
const BOTTOM = 26;
/** The least distance between two labels of an axis, in pixels. */
const APART_X = 90;
const APART_Y = 45;
/** A shorter movement of the pointer, in pixels, is a click. */
const CLICK = 5;
const HIGHEST = 1e300;
/** The number of classes of lines: c0 and so on. */
const COLOURS = 8;

/**
 * @typedef {{title: string, points: [number, number | null][]}} Curve
 * @typedef {[number, number]} Span from, to
 */

/** @param {{curves: Curve[], xs: number[], unit: string, label: string}} props `xs`: all x that have a value, in order; `unit`: what x counts */
export function Plot({ curves, xs, unit, label }) {
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [width, setWidth] = useState(0);
  const [zoom, setZoom] = useState(/** @type {Span | null} */ (null));
  const [dragged, setDragged] = useState(/** @type {Span | null} */ (null));
  const [pointed, setPointed] = useState(/** @type {number | null} */ (null));
  useEffect(() => {
    const resized = new ResizeObserver(() => setWidth(place.current?.clientWidth ?? 0));
    resized.observe(/** @type {HTMLDivElement} */ (place.current));
    return () => resized.disconnect();
  }, []);
  const inner = Math.max(1, width - LEFT - RIGHT);
  const high = HEIGHT - TOP - BOTTOM;
  const spanX = zoom ?? widened([xs[0] ?? 0, xs.at(-1) ?? 0], 0);
  const spanY = useMemo(() => heightOf(curves, spanX), [curves, spanX[0], spanX[1]]);
  const toX = (/** @type {number} */ x) => ((x - spanX[0]) / (spanX[1] - spanX[0])) * inner;
  const toY = (/** @type {number} */ y) => high - ((y - spanY[0]) / (spanY[1] - spanY[0])) * high;
  const lines = useMemo(() => curves.map((curve, index) => line(curve, index, toX, toY)), [curves, inner, spanX[0], spanX[1], spanY]);
  const onX = ticks(spanX, inner / APART_X);
  const onY = ticks(spanY, high / APART_Y);
  const grid = [...onX.map((x) => `M${toX(x)} 0V${high}`), ...onY.map((y) => `M0 ${toY(y)}H${inner}`)].join("");

  const pixel = (/** @type {PointerEvent} */ event) => Math.min(inner, Math.max(0, event.clientX - /** @type {Element} */ (event.currentTarget).getBoundingClientRect().left - LEFT));
  const valueAt = (/** @type {number} */ at) => spanX[0] + (at / inner) * (spanX[1] - spanX[0]);
  const onMove = (/** @type {PointerEvent} */ event) => {
    setPointed(nearest(xs, valueAt(pixel(event))));
    if (dragged) setDragged([dragged[0], pixel(event)]);
  };
  const onDown = (/** @type {PointerEvent} */ event) => {
    if (event.button || event.pointerType === "touch") return;
    /** @type {Element} */ (event.currentTarget).setPointerCapture(event.pointerId);
    setDragged([pixel(event), pixel(event)]);
  };
  const onUp = () => {
    if (dragged && Math.abs(dragged[1] - dragged[0]) > CLICK) setZoom(widened([valueAt(Math.min(...dragged)), valueAt(Math.max(...dragged))], 0));
    setDragged(null);
  };
  const at = pointed !== null && pointed >= spanX[0] && pointed <= spanX[1] ? pointed : null;
  return html`<div class="curve" ref=${place}>
    <svg width=${width} height=${HEIGHT} role="img" aria-label=${label} onPointerMove=${onMove} onPointerDown=${onDown} onPointerUp=${onUp} onPointerCancel=${() => setDragged(null)} onPointerLeave=${() => setPointed(null)} onDblClick=${() => setZoom(null)}>
      ${onX.map((x) => html`<text key=${`x${x}`} x=${LEFT + toX(x)} y=${HEIGHT - 8} text-anchor="middle">${x.toLocaleString("en-US")}</text>`)}
      ${onY.map((y) => html`<text key=${`y${y}`} x=${LEFT - 8} y=${TOP + toY(y) + 4} text-anchor="end">${figure(y)}</text>`)}
      <svg x=${LEFT} y=${TOP} width=${inner} height=${high}>
        <path class="grid" d=${grid} />
        ${width ? lines : null}
        ${at === null ? null : html`<path class="cursor" d=${`M${toX(at)} 0V${high}`} />`}
        ${dragged ? html`<rect class="dragged" x=${Math.min(...dragged)} width=${Math.abs(dragged[1] - dragged[0])} height=${high} />` : null}
      </svg>
    </svg>
    <div class="legend">${at === null ? null : html`<span>${unit} <b>${at.toLocaleString("en-US")}</b></span>`}
      ${curves.map((curve, index) => html`<span key=${curve.title}><i class=${`c${index % COLOURS}`}></i>${curve.title}${at === null ? null : html` <b>${valueText(curve, at)}</b>`}</span>`)}
      ${zoom ? html`<button class="plain" onClick=${() => setZoom(null)}>Whole curve</button>` : null}</div></div>`;
}

/** @param {Curve} curve @param {number} index @param {(x: number) => number} toX @param {(y: number) => number} toY */
function line({ title, points }, index, toX, toY) {
  /** Segments between values that are not finite, which leave a gap. @type {string[][]} */
  const segments = [[]];
  for (const [x, y] of points) {
    if (y === null) segments.push([]);
    else segments.at(-1)?.push(`${toX(x).toFixed(1)} ${toY(y).toFixed(1)}`);
  }
  const isFew = segments.reduce((sum, one) => sum + one.length, 0) < 3;
  const drawn = isFew ? "" : segments.filter((one) => one.length > 1).map((one) => `M${one.join("L")}`).join("");
  // A line of length 0 with round ends is drawn as a point.
  const alone = segments.filter((one) => isFew || one.length === 1).flat().map((place) => `M${place}h0`).join("");
  return [drawn, alone].map((d, part) => (d ? html`<path key=${`${title} ${part}`} class=${`line c${index % COLOURS} ${part ? "points" : ""}`} d=${d} />` : null));
}

/** @param {Curve} curve @param {number} at */
function valueText(curve, at) {
  const value = curve.points.find(([x]) => x === at)?.[1];
  return value === null || value === undefined ? "-" : figure(value);
}

/** From the lowest to the highest value in a span of x, with a margin. @param {Curve[]} curves @param {Span} span @returns {Span} */
function heightOf(curves, [from, to]) {
  let [low, high] = [Infinity, -Infinity];
  for (const { points } of curves) {
    for (const [x, y] of points) {
      if (y === null || x < from || x > to) continue;
      // The difference of low and high has to be finite as well.
      low = Math.min(low, Math.max(y, -HIGHEST));
      high = Math.max(high, Math.min(y, HIGHEST));
    }
  }
  return low > high ? [0, 1] : widened([low, high], 0.05);
}

/** The span with a margin of this share at both ends; its length is never 0. @param {Span} span @param {number} share @returns {Span} */
function widened([from, to], share) {
  const room = to > from ? (to - from) * share : Math.abs(from) / 10 || 1;
  return [from - room, to + room];
}

/** Round numbers in a span, about `most` of them. @param {Span} span @param {number} most */
export function ticks([from, to], most) {
  const least = (to - from) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * ([1, 2, 5].find((n) => n * power >= least * (1 - 1e-9)) ?? 10);
  const first = Math.ceil(from / step - 1e-9);
  return Array.from({ length: Math.max(0, Math.floor(to / step + 1e-9) - first + 1) }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}

/** The closest of sorted numbers; null if there are none. @param {number[]} sorted @param {number} target */
export function nearest(sorted, target) {
  let [low, high] = [0, sorted.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (/** @type {number} */ (sorted[middle]) < target) low = middle + 1;
    else high = middle;
  }
  const [before, after] = [sorted[low - 1], sorted[low]];
  if (after === undefined) return null;
  return before !== undefined && target - before < after - target ? before : after;
}
