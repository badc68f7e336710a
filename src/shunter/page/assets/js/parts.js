/** Small pieces that several views show: a state, a progress, a command to copy, notices of what is stale, hidden or refused. */
import { html, useEffect, useRef, useState } from "./html.js";
import { age, progressText } from "./format.js";
import { useTick } from "./live.js";

/** In the order of the lists. @type {import("./wire.js").JobRow["state"][]} */
export const STATES = ["Failed", "Restarting", "Waiting", "Running", "Suspended", "Succeeded"];

/** Shape, colour and word. @param {{state: string}} props */
export function State({ state }) {
  return html`<span class=${`state ${state}`}>${state}</span>`;
}

/** A bar of `share`, 0 to 1. @param {{share: number, tone?: string, label: string, isLong?: boolean}} props */
export function Meter({ share, tone = "", label, isLong = false }) {
  const width = `${Math.round(Math.min(1, Math.max(0, share)) * 100)}%`;
  return html`<span class=${`meter ${tone} ${isLong ? "long" : ""}`} role="img" aria-label=${label}><i style=${{ width }}></i></span>`;
}

/** @param {{progress: import("./wire.js").Progress | undefined, state: string}} props */
export function Progress({ progress, state }) {
  const text = progressText(progress, state === "Failed" || state === "Succeeded");
  if (!text) return html`<span class="faint">-</span>`;
  const share = progress?.share;
  const tone = state === "Succeeded" ? "done" : state === "Failed" ? "bad" : "";
  return html`<span class="progress">${share === undefined ? null : html`<${Meter} share=${share} tone=${tone} label=${text} />`}
    <span class="text">${text}</span></span>`;
}

/** @param {string} text */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast(`Copied: ${text}`);
  } catch {
    toast(text);
  }
}

/** Says something for four seconds, to screen readers too. @param {string} text */
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

/** Opens as a modal dialog and calls `onClose` when it is closed in any way. @param {{title: string, onClose: () => void, children: any, isWide?: boolean}} props */
export function Dialog({ title, onClose, children, isWide = false }) {
  const place = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => place.current?.showModal(), []);
  const onClick = (/** @type {MouseEvent} */ event) => event.target === place.current && place.current?.close();
  return html`<dialog ref=${place} class=${isWide ? "wide" : ""} aria-label=${title} onClose=${onClose} onClick=${onClick}>
    <header><h2>${title}</h2><button class="plain" onClick=${() => place.current?.close()} aria-label="Close">${"\u2715"}</button></header>
    ${children}</dialog>`;
}

/** What a view says of its stream above its rows. @param {{live: import("./live.js").Live}} props */
export function Notices({ live }) {
  return html`<${Stale} live=${live} />
    ${live.state === "queued"
      ? html`<div class="notice warn" role="status"><b>Not live in this window.</b><span>A browser opens at most six connections to a
          server, and other windows of this page use them. This one goes on when another is closed or hidden.</span></div>`
      : null}
    ${live.hidden.length ? html`<${HiddenNotice} hidden=${live.hidden} namespaces=${live.session?.namespaces ?? []} />` : null}`;
}

/** @param {{live: import("./live.js").Live}} props */
function Stale({ live }) {
  useTick(1);
  const seconds = live.staleFor();
  if (seconds < 2 || !live.session) return null;
  const why = [...live.broken.values()][0]?.why ?? live.refusal?.message ?? "";
  return html`<div class="notice warn"><b role="status">${live.lost ? "No connection to the server of this page." : "The cluster does not answer."}</b>
    <span>Shown as of ${age(seconds)} ago, retrying.</span>${why ? html`<span class="faint">${why}</span>` : null}</div>`;
}

/** @param {{hidden: import("./wire.js").Hidden[], namespaces: string[]}} props */
function HiddenNotice({ hidden, namespaces }) {
  return html`<div class="notice"><b>${namespaces.length ? `${namespaces.length} ${namespaces.length === 1 ? "namespace" : "namespaces"} shown; others are hidden from you.` : "Some of it is hidden from you."}</b>
    <span class="faint">You may not read ${hidden.map((one) => one.what).join("; ")}.</span>
    ${hidden.map(
      (one) => html`<details key=${one.what}><summary>${one.consequence || one.what}: what would allow it</summary><${Command} text=${one.role} title="A role to give to an administrator" /></details>`,
    )}</div>`;
}

/** In the place of a view whose stream gave no rows yet: nothing for 150 ms, then a skeleton, or why there is none. @param {{live: import("./live.js").Live, what: string}} props */
export function Pending({ live, what }) {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), 150);
    return () => clearTimeout(timer);
  }, []);
  useTick(1);
  if (live.refusal) return html`<${Refused} refusal=${live.refusal} what=${what} />`;
  if (live.state === "queued") return html`<${Notices} live=${live} />`;
  if (live.lost) return html`<div class="notice warn" role="status"><b>No connection to the server of this page.</b><span>Retrying. Does <code>shunter ui</code> still run?</span></div>`;
  return isSlow ? html`<div class="skeleton" role="status" aria-label=${`Loading ${what}`}>${[1, 2, 3, 4, 5, 6].map((n) => html`<i key=${n}></i>`)}</div>` : null;
}

/** @param {{refusal: import("./streams.js").Refusal, what: string}} props */
export function Refused({ refusal, what }) {
  const titles = /** @type {Record<number, string>} */ ({ 403: `You may not read ${what}`, 404: `There is no such ${what}` });
  return html`<div class="empty" role="alert"><h2>${titles[refusal.status] ?? "The server refused this"}</h2><p>${refusal.message}</p>
    ${refusal.remedy ? html`<${Command} text=${refusal.remedy} />` : null}<p><a href="/jobs">All jobs</a></p></div>`;
}
