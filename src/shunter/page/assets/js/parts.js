/** Components of several views: state, progress, a command to copy, and notices of what is out of date, hidden or refused. */
import { Component, html, useEffect, useRef, useState } from "./html.js";
import { age, plural, progressText } from "./format.js";
import { useTick } from "./live.js";

/** In the order of the lists. @type {import("./wire.js").JobRow["state"][]} */
export const STATES = ["Failed", "Restarting", "Waiting", "Running", "Suspended", "Succeeded"];

/** Classes of an element that shows a state. @param {string} state */
export function stateClass(state) {
  return `state ${state.replaceAll(" ", "-")}`;
}

/** Shape, colour and word. @param {{state: string}} props */
export function State({ state }) {
  return html`<span class=${stateClass(state)}>${state}</span>`;
}

/** A bar of `share`, 0 to 1. @param {{share: number, tone?: string, label: string, isLong?: boolean}} props */
export function Meter({ share, tone = "", label, isLong = false }) {
  const width = `${Math.round(Math.min(1, Math.max(0, share)) * 100)}%`;
  return html`<span class=${`meter ${tone} ${isLong ? "long" : ""}`} role="img" aria-label=${label}><i style=${{ width }}></i></span>`;
}

/** @param {{progress: import("./wire.js").Progress | undefined, state: string, now: number}} props */
export function Progress({ progress, state, now }) {
  const text = progressText(progress, now, state === "Running");
  if (!text) return html`<span class="faint">-</span>`;
  const percentage = progress?.percentage;
  const tone = state === "Succeeded" ? "done" : state === "Failed" ? "bad" : "";
  return html`<span class="progress">${percentage === undefined ? null : html`<${Meter} share=${percentage / 100} tone=${tone} label=${text} />`}
    <span class="text">${text}</span></span>`;
}

/** The heading of a view. It has the focus after a navigation, and takes over the focus of a heading that it replaces. */
export class Heading extends Component {
  /** @type {HTMLElement | null} */
  #element = null;
  componentDidMount() {
    if (isFocusLeft) this.#element?.focus({ preventScroll: true });
    isFocusLeft = false;
  }
  componentWillUnmount() {
    isFocusLeft = document.activeElement === this.#element;
  }
  /** @param {any} props */
  render({ children, isHidden }) {
    return html`<h1 ref=${(/** @type {HTMLElement | null} */ node) => (this.#element = node ?? this.#element)} class=${isHidden ? "sr" : ""} tabindex="-1">${children}</h1>`;
  }
}
let isFocusLeft = false;

/** @param {string} text @param {string} [without] the part of the filter that the command has no option for */
export async function copy(text, without = "") {
  try {
    await navigator.clipboard.writeText(text);
    toast(`Copied${without && ` without ${without}`}: ${text}`);
  } catch {
    toast(without ? `Without ${without}: ${text}` : text);
  }
}

/** Shows a message for four seconds, also to screen readers. @param {string} text */
export function toast(text) {
  const place = document.getElementById("toast");
  if (!place) return;
  place.textContent = text;
  clearTimeout(hiding);
  hiding = setTimeout(() => (place.textContent = ""), 4000);
}
let hiding = 0;

/** A command line with a button that copies it. @param {{text: string, title?: string}} props */
export function Command({ text, title }) {
  return html`${title ? html`<p class="faint">${title}</p>` : null}
    <div class="command"><pre tabindex="0" aria-label=${title ?? "Command"}>${text}</pre><button onClick=${() => copy(text)}>Copy</button></div>`;
}

/** A remedy; one that is a command line can be copied. @param {{text: string}} props */
export function Remedy({ text }) {
  const [, words, command] = /^(?:([^:`]{1,60}): )?((?:shunter|kubectl) .+)$/.exec(text) ?? [];
  // Not if more words follow, which are not part of the command.
  if (command && !/[,;] |\. |\.$/.test(command)) return html`<${Command} text=${command} title=${words ? `What to do: ${words}` : "What to do"} />`;
  return html`<p class="remedy"><b>What to do</b><span>${text}</span></p>`;
}

/** Opens as a modal dialog and calls `onClose` when it is closed in any way. @param {{title: string, onClose: () => void, children: any, isWide?: boolean}} props */
export function Dialog({ title, onClose, children, isWide = false }) {
  const place = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => place.current?.showModal(), []);
  const onClick = (/** @type {MouseEvent} */ event) => event.target === place.current && place.current?.close();
  return html`<dialog ref=${place} class=${isWide ? "wide" : ""} aria-label=${title} onClose=${onClose} onClick=${onClick}>
    <header><h2>${title}</h2><button class="plain" onClick=${() => place.current?.close()} aria-label="Close">${"\u2715"}</button></header>
    ${children}</dialog>`;
}

/** Notices about the stream, above the rows of a view. @param {{live: import("./live.js").Live}} props */
export function Notices({ live }) {
  return html`<${Stale} live=${live} />
    ${live.state === "queued"
      ? html`<div class="notice warn" role="status"><b>Not live in this window.</b><span>A browser opens at most six connections to a
          server, and other windows of this page use them. This one continues when another is closed or hidden.</span></div>`
      : null}
    ${live.ended === TOO_MANY ? html`<${TooMany} />` : null}
    ${live.hidden.length ? html`<${HiddenNotice} hidden=${live.hidden} namespaces=${live.session?.namespaces ?? []} />` : null}`;
}

/** The reason with which the server ends a stream beyond the limit of the viewer. */
export const TOO_MANY = "too many streams";

function TooMany() {
  return html`<div class="notice warn" role="status"><b>You have too many windows of this page open: close one and reload.</b></div>`;
}

/** @param {{live: import("./live.js").Live}} props */
function Stale({ live }) {
  useTick(1);
  const seconds = live.staleFor();
  if (seconds < 2 || !live.session) return null;
  const isOver = live.state === "refused" || live.state === "ended";
  const why = [...live.broken.values()][0]?.why ?? live.refusal?.message ?? "";
  return html`<div class="notice warn"><b role="status">${staleTitle(live)}</b>
    <span>Shown as of ${age(seconds)} ago${isOver ? "" : ", retrying"}.</span>${why ? html`<span class="faint">${why}</span>` : null}</div>`;
}

const NOT_ALL = "Not everything could be read.";

/** @param {import("./live.js").Live} live */
function staleTitle(live) {
  if (live.state === "refused") return "The server rejected the request.";
  if (live.state === "ended" || live.state === "queued") return "This is not current.";
  if (live.broken.size && (live.state === "open" || !live.lost)) return live.isAway ? "The cluster does not answer." : NOT_ALL;
  return live.state === "open" ? "Waiting for the server of this page." : "No connection to the server of this page.";
}

/** What the viewer may not read, with the roles that would allow it, and what could not be shown (without a role). @param {{hidden: import("./wire.js").Hidden[], namespaces: string[]}} props */
function HiddenNotice({ hidden, namespaces }) {
  const refused = hidden.filter((one) => one.role);
  const unshown = hidden.filter((one) => !one.role);
  return html`${unshown.map((one) => html`<div class="notice warn" key=${one.what}><b>Could not be shown: ${one.what}.</b><span class="faint">${one.consequence}</span></div>`)}
    ${refused.length ? html`<${Forbidden} refused=${refused} namespaces=${namespaces} />` : null}`;
}

/** @param {{refused: import("./wire.js").Hidden[], namespaces: string[]}} props */
function Forbidden({ refused, namespaces }) {
  const all = refused.map((one) => one.what).join("; ");
  const title = refused.some((one) => one.isSubject) ? "You may not read this; whether it exists is unknown." : namespaces.length ? `${plural(namespaces.length, "namespace")} shown; others are hidden from you.` : "Some of it is hidden from you.";
  return html`<div class="notice"><b>${title}</b>
    ${all.length < LONG ? html`<span class="faint">You may not read ${all}.</span>` : null}
    ${refused.map(
      (one) => html`<details key=${one.what + one.consequence}><summary>${(one.consequence || one.what).replace(/\.$/, "")}: what would allow it</summary>
        ${all.length < LONG ? null : html`<p class="faint">You may not read ${one.what}.</p>`}<${Command} text=${one.role} title="A role to give to an administrator" /></details>`,
    )}</div>`;
}

/** Longer texts, in characters, are shown with the details. */
const LONG = 160;

/** Shown before a view has its first rows: nothing for 150 ms, then a skeleton, or why there are no rows. @param {{live: import("./live.js").Live, what: string}} props */
export function Pending({ live, what }) {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), 150);
    return () => clearTimeout(timer);
  }, []);
  useTick(1);
  if (live.refusal) return html`<${Refused} refusal=${live.refusal} what=${what} />`;
  if (live.state === "queued") return html`<${Notices} live=${live} />`;
  if (live.ended === TOO_MANY) return html`<${TooMany} />`;
  if (live.broken.size && live.state === "open") return html`<div class="notice warn" role="status"><b>${live.isAway ? "The cluster does not answer." : NOT_ALL}</b><span>Retrying.</span><span class="faint">${[...live.broken.values()][0]?.why}</span></div>`;
  if (live.lost && live.state !== "open") return html`<div class="notice warn" role="status"><b>No connection to the server of this page.</b><span>Retrying. Is <code>shunter ui</code> still running?</span></div>`;
  return isSlow ? html`<div class="skeleton" role="status" aria-label=${`Loading ${what}`}>${[1, 2, 3, 4, 5, 6].map((n) => html`<i key=${n}></i>`)}</div>` : null;
}

/** @param {{refusal: import("./streams.js").Refusal, what: string}} props */
export function Refused({ refusal, what }) {
  const titles = /** @type {Record<number, string>} */ ({ 403: `You may not read ${what}`, 404: `There is no such ${what}` });
  return html`<div class="empty" role="alert"><h2>${titles[refusal.status] ?? "The server rejected the request"}</h2><p>${refusal.message}</p>
    ${refusal.remedy ? html`<${Remedy} text=${refusal.remedy} />` : null}<p><a href="/jobs">All jobs</a></p></div>`;
}
