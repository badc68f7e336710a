/** The strip of ranks: a list box with one tab stop; arrows move in it, Enter chooses a rank's log. */
import { Component, html, useMemo, useState } from "./html.js";
import { SHADES, byRank, levels, rankFacts, rankFilter, rankList, usefulShades } from "./rank_shades.js";

/**
 * @typedef {import("./wire.js").Rank} Rank
 * @typedef {{rows: Rank[], job: import("./wire.js").JobDetail, chosen: string, onChoose: (ranks: string) => void, now: number}} Props
 */

const NUMBERED_BELOW = 64;

/** @param {Props} props */
export function Ranks({ rows, job, chosen, onChoose, now }) {
  const [shade, setShade] = useState("state");
  const [active, setActive] = useState(0);
  const [hovered, setHovered] = useState(/** @type {string | null} */ (null));
  const ranks = useMemo(() => byRank(rows), [rows]);
  const shades = useMemo(() => (shade === "state" ? null : levels(rows, shade)), [rows, shade]);
  const isChosen = useMemo(() => (chosen ? rankFilter(chosen) : () => false), [chosen]);
  if (!ranks.length) return null;
  const isNumbered = ranks.length < NUMBERED_BELOW;
  const index = Math.min(active, ranks.length - 1);
  const inspected = ranks.find((rank) => rank.id === hovered) ?? ranks[index];
  const toggle = (/** @type {Rank} */ rank) => {
    if (rank.rank === undefined) return;
    const now = ranks.map((one) => one.rank).filter((one) => one !== undefined && isChosen(one));
    onChoose(rankList(/** @type {number[]} */ (isChosen(rank.rank) ? now.filter((one) => one !== rank.rank) : [...now, rank.rank])));
  };
  const rankOf = (/** @type {Event} */ event) => {
    const cell = /** @type {HTMLElement} */ (event.target).closest("[data-id]");
    return ranks.find((rank) => rank.id === /** @type {HTMLElement | null} */ (cell)?.dataset.id);
  };
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    const strip = /** @type {HTMLElement} */ (event.currentTarget);
    const next = moved(event.key, index, ranks.length, cellsInRow(strip));
    if (next !== undefined) {
      event.preventDefault();
      setHovered(null);
      setActive(next);
    } else if ((event.key === "Enter" || event.key === " ") && ranks[index]) {
      event.preventDefault();
      toggle(ranks[index]);
    }
  };
  const differing = job.differing ?? [];
  return html`<section class="panel" aria-labelledby="ranks"><header><h2 id="ranks">Ranks</h2>
      <label class="faint">by <select value=${shade} aria-label="Colour ranks by" onChange=${(/** @type {any} */ event) => setShade(event.target.value)}>${usefulShades(rows).map((id) => html`<option key=${id} value=${id}>${SHADES[id]?.title}</option>`)}</select></label>
      ${differing.length ? html`<span class="faint">${differing.length} ${differing.length === 1 ? "differs" : "differ"}:</span>` : null}
      ${differing.slice(0, 8).map((text) => html`<button class="chip" key=${text} onClick=${() => onChoose(/^\d+/.exec(text)?.[0] ?? "")}>${/^\d/.test(text) ? `rank ${text}` : text}</button>`)}
      ${differing.length > 8 ? html`<span class="faint">and ${differing.length - 8} more</span>` : null}
      ${chosen ? html`<button class="plain" onClick=${() => onChoose("")}>Show all ranks</button>` : null}</header>
    <div class=${`strip ${isNumbered ? "cells" : ""} ${shades ? "by-value" : ""}`} role="listbox" aria-multiselectable="true" aria-label="Ranks; arrows move, Enter chooses the log of a rank" tabindex="0"
      aria-activedescendant=${`rank-${index}`} onKeyDown=${onKey} onFocus=${() => setHovered(null)}
      onMouseOver=${(/** @type {Event} */ event) => setHovered(rankOf(event)?.id ?? null)} onMouseLeave=${() => setHovered(null)}
      onClick=${(/** @type {Event} */ event) => { const rank = rankOf(event); if (rank) { setActive(ranks.indexOf(rank)); toggle(rank); } }}>
      ${ranks.map(
        (rank, at) => html`<${Cell} key=${rank.id} rank=${rank} at=${at} isActive=${at === index} isSelected=${rank.rank !== undefined && isChosen(rank.rank)} level=${shades?.get(rank.id) ?? ""} isNumbered=${isNumbered} />`,
      )}</div>
    <div class="inspector">${inspected ? html`<b>rank ${inspected.rank ?? inspected.label}</b> ${rankFacts(inspected, now)}` : null}</div></section>`;
}

/** The fields of a rank that its cell shows; others, such as its usage, change often. @type {(keyof Rank)[]} */
const SHOWN = ["id", "rank", "label", "pod", "node", "state", "reason", "differs", "step"];

class Cell extends Component {
  /** @param {any} next */
  shouldComponentUpdate(next) {
    const old = /** @type {any} */ (this.props);
    if (next.level !== old.level || next.isActive !== old.isActive || next.isSelected !== old.isSelected || next.at !== old.at || next.isNumbered !== old.isNumbered) return true;
    return next.rank !== old.rank && SHOWN.some((field) => next.rank[field] !== old.rank[field]);
  }
  /** @param {any} props */
  render({ rank, at, isActive, isSelected, level, isNumbered }) {
    const /** @type {Rank} */ row = rank;
    // The cell already shows the state.
    const differs = row.differs ? row.differs.replace(new RegExp(`^${row.state}(: |$)`, "i"), "") : "";
    const name = `rank ${row.rank ?? row.label}, ${row.state}${row.differs ? `, ${row.differs}` : ""}`;
    return html`<i id=${`rank-${at}`} data-id=${row.id} role="option" aria-selected=${isSelected} aria-label=${isNumbered ? undefined : name} class=${`${row.state} ${level} ${row.differs ? "differs" : ""} ${isActive ? "active" : ""}`}>
      ${isNumbered ? html`<b><span><span class="sr">${"rank "}</span>${row.rank ?? row.label}</span><span>${row.step === undefined ? row.state : row.state === "Running" ? `step ${row.step}` : row.state}</span></b><span>${differs || row.reason || ending(row.node ?? "") || row.pod || row.label}</span>` : null}</i>`;
  }
}

/** Characters that fit into a cell in wide fonts. */
const CELL = 13;

/** The end of a node's name, where names differ. @param {string} name */
function ending(name) {
  return name.length > CELL ? `\u2026${name.slice(1 - CELL)}` : name;
}

/** Index of the cell that a key leads to, or undefined for other keys. @param {string} key @param {number} index @param {number} total @param {number} inRow */
function moved(key, index, total, inRow) {
  const steps = /** @type {Record<string, number>} */ ({ ArrowRight: 1, ArrowLeft: -1, ArrowDown: inRow, ArrowUp: -inRow, Home: -total, End: total });
  const step = steps[key];
  return step === undefined ? undefined : Math.max(0, Math.min(total - 1, index + step));
}

/** @param {HTMLElement} strip */
function cellsInRow(strip) {
  const cells = /** @type {HTMLElement[]} */ ([...strip.children]);
  const top = cells[0]?.offsetTop;
  const next = cells.findIndex((cell) => cell.offsetTop !== top);
  return next < 0 ? cells.length : next;
}
