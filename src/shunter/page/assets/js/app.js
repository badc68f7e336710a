/** The page: header, the view that the address selects, and keys that work in every view. */
import { html, render, useEffect, useLayoutEffect, useRef, useState } from "./html.js";
import { Cluster } from "./cluster.js";
import { Help } from "./help.js";
import { Job } from "./job.js";
import { Jobs } from "./jobs.js";
import { useChanges } from "./live.js";
import { Login } from "./login.js";
import { Migration } from "./migration.js";
import { JobMigrationView } from "./migration_job.js";
import { Heading, TOO_MANY, toast } from "./parts.js";
import { navigate, parse, restorePlace } from "./route.js";
import { refusal } from "./streams.js";

/**
 * @typedef {import("./live.js").Live} Live
 * @typedef {import("./route.js").Route} Route
 */

/** Address, title, the views under it, the key after g. @type {[string, string, Route["view"][], string][]} */
const PLACES = [
  ["/jobs", "Jobs", ["jobs", "job"], "j"],
  ["/migration", "Migration", ["migration", "jobMigration"], "m"],
  ["/cluster", "Cluster", ["cluster"], "c"],
];

function App() {
  const [route, setRoute] = useState(() => parse(location.pathname, location.search));
  const [live, setLive] = useState(/** @type {Live | null} */ (null));
  const [isHelpOpen, setHelpOpen] = useState(false);
  const previous = useRef(route);
  const leave = useRef(() => {});
  useEffect(() => {
    const change = () => setRoute(parse(location.pathname, location.search));
    addEventListener("popstate", change);
    addEventListener("shunter:navigate", change);
    document.addEventListener("click", followLink);
    return () => {
      removeEventListener("popstate", change);
      removeEventListener("shunter:navigate", change);
      document.removeEventListener("click", followLink);
    };
  }, []);
  useKeys(() => setHelpOpen(true));
  useEffect(() => {
    // These views have no stream.
    if (["jobMigration", "login", "unknown"].includes(route.view)) setLive(null);
  }, [route.view]);
  useEffect(() => {
    document.title = titleOf(route);
    if (keyOf(previous.current) !== keyOf(route)) {
      leave.current();
      leave.current = restorePlace();
      /** @type {HTMLElement | null} */ (document.querySelector("main h1"))?.focus({ preventScroll: true });
    }
    previous.current = route;
  }, [route]);
  const trouble = useLoginTrouble(live);
  return html`<a class="skip" href="#main">Skip to the content</a>
    <${Top} route=${route} live=${live} onHelp=${() => setHelpOpen(true)} />
    <main id="main">${trouble ? html`<${Login} ...${trouble} />` : html`<${View} key=${keyOf(route)} route=${route} onLive=${setLive} />`}</main>
    <div id="toast" class="toast" role="status"></div>
    ${isHelpOpen ? html`<${Help} onClose=${() => setHelpOpen(false)} />` : null}`;
}

/** Why the viewer has to log in again, or null. @param {Live | null} live @returns {{message: string, remedy: string, url: string} | null} */
function useLoginTrouble(live) {
  const [trouble, setTrouble] = useState(/** @type {{message: string, remedy: string, url: string} | null} */ (null));
  useEffect(() => {
    const update = () => {
      if (live?.refusal?.status === 401) setTrouble(live.refusal);
      else if (live?.state === "ended" && live.ended !== TOO_MANY) setTrouble({ message: live.ended === "expired" ? "Your login has expired." : "You are logged out.", remedy: "", url: "" });
    };
    update();
    return live?.subscribe(update);
  }, [live]);
  return trouble;
}

/** @param {{route: Route, onLive: (live: Live) => void}} props */
function View({ route, onLive }) {
  if (route.view === "jobs") return html`<${Jobs} filter=${route.filter} onLive=${onLive} />`;
  if (route.view === "job") return html`<${Job} route=${route} onLive=${onLive} />`;
  if (route.view === "migration") return html`<${Migration} route=${route} onLive=${onLive} />`;
  if (route.view === "jobMigration") return html`<${JobMigrationView} route=${route} />`;
  if (route.view === "login") return html`<${Login} message="" remedy="" url="" />`;
  if (route.view === "cluster") return html`<${Cluster} onLive=${onLive} />`;
  return html`<div class="empty"><${Heading}>There is no such page<//><p><a href="/jobs">All jobs</a></p></div>`;
}

/** @param {{route: Route, live: Live | null, onHelp: () => void}} props */
function Top({ route, live, onHelp }) {
  useChanges(live);
  const last = useRef(live?.session);
  const before = useRef(live);
  // The previous view may have received its session and been closed before this was rendered with it.
  const session = (last.current = live?.session ?? before.current?.session ?? last.current);
  before.current = live ?? before.current;
  const state = live?.state === "open" && !live.broken.size && !live.lost ? "open" : "retrying";
  const words = state === "open" ? "live" : live?.state === "queued" ? "not live" : live?.state === "ended" ? "ended" : live?.state === "open" && !live.lost && live.broken.size && !live.isAway ? "partly live" : live?.session ? "reconnecting" : "connecting";
  return html`<header class="top"><a class="brand" href="/jobs"><img src="/assets/icon.svg" alt="" width="20" height="20" />Shunter</a>
    <nav aria-label="Views">${PLACES.map(([url, title, views]) => html`<a key=${url} href=${url} aria-current=${views.includes(route.view) ? "page" : undefined}>${title}</a>`)}</nav>
    <div class="where">${session ? html`<span title=${session.cluster}>${session.cluster}</span>${session.user ? html`<span title=${session.user}>${session.user}</span>` : null}` : null}
      ${session?.isReadOnly ? html`<span>read only</span>` : null}${live ? html`<span class=${`live ${state}`}>${words}</span>` : null}
      ${session?.canLogOut ? html`<button onClick=${logOut}>Log out</button>` : null}
      <button class="plain" onClick=${onHelp} aria-label="Keys and help">?</button></div></header>`;
}

/** Ends the session, on the server and in this browser. */
async function logOut() {
  const answer = await fetch("/api/logout", { method: "POST", headers: { "content-type": "application/json", "x-shunter": "page" }, body: "{}" }).catch(() => null);
  // 401: the session has already ended.
  if (answer?.ok || answer?.status === 401) location.assign("/login");
  else toast(answer ? (await refusal(answer)).message : "No answer from the server of this page: you are still logged in.");
}

/** Follows links within the page without loading a new one. @param {MouseEvent} event */
function followLink(event) {
  const link = /** @type {HTMLAnchorElement | null} */ (/** @type {HTMLElement} */ (event.target).closest("a[href]"));
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.defaultPrevented) return;
  if (link.origin !== location.origin || link.target || link.hasAttribute("download") || link.getAttribute("href")?.startsWith("#") || link.pathname.startsWith("/api/")) return;
  event.preventDefault();
  navigate(link.pathname + link.search);
}

/** @param {() => void} onHelp */
function useKeys(onHelp) {
  // Not after the next paint: whoever sees the page may press a key.
  useLayoutEffect(() => {
    let isAfterG = false;
    const onKey = (/** @type {KeyboardEvent} */ event) => {
      const target = /** @type {HTMLElement} */ (event.target);
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Escape" && target.matches("input")) return target.blur();
      if (target.matches("input, select, textarea, dialog *")) return;
      const place = isAfterG ? PLACES.find(([, , , key]) => key === event.key) : undefined;
      isAfterG = event.key === "g";
      if (place) {
        event.preventDefault();
        event.stopPropagation();
      }
      if (place) navigate(place[0]);
      else if (event.key === "?") onHelp();
      else if (event.key === "/") {
        event.preventDefault();
        /** @type {HTMLElement | null} */ (document.querySelector("input[type=search]"))?.focus();
      }
    };
    // Handled before the keys of a list, so that the j of "g j" does not move in it.
    addEventListener("keydown", onKey, { capture: true });
    return () => removeEventListener("keydown", onKey, { capture: true });
  }, [onHelp]);
}

/** Identifies a view; the same with other filters. @param {Route} route */
function keyOf(route) {
  return route.view === "job" || route.view === "jobMigration" ? [route.view, route.namespace, route.kind, route.name].join("/") : route.view;
}

/** @param {Route} route */
function titleOf(route) {
  if (route.view === "job" || route.view === "jobMigration") return `${route.name} - Shunter`;
  return `${PLACES.find(([, , views]) => views.includes(route.view))?.[1] ?? "Shunter"} - Shunter`;
}

document.querySelector(".loading")?.remove(); // of boot.js
render(html`<${App} />`, /** @type {HTMLElement} */ (document.getElementById("app")));
