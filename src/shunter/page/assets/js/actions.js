/** The actions on a job. Each shows its command line first, and is refused if the job has changed since then. */
import { html, useState } from "./html.js";
import { Command, Dialog, toast } from "./parts.js";
import { apiUrl, navigate } from "./route.js";
import { refusal } from "./streams.js";

/** @typedef {import("./wire.js").Action} Action */

/** @type {Record<Action["name"], {title: string, effect: string}>} */
const TEXTS = {
  suspend: { title: "Suspend", effect: "Its pods are deleted; the job stays and can be resumed. What was not saved in a checkpoint is lost." },
  resume: { title: "Resume", effect: "Its pods are created again, and the training continues from its last checkpoint, if there is one." },
  rerun: { title: "Rerun", effect: "A new job with the same specification is created; this one stays." },
  delete: { title: "Delete", effect: "The job and its pods are deleted, with their logs. This cannot be undone." },
};

/** @param {{job: import("./wire.js").JobDetail, isReadOnly: boolean}} props */
export function Actions({ job, isReadOnly }) {
  const [asked, setAsked] = useState(/** @type {{action: Action, shown: import("./wire.js").JobDetail} | null} */ (null));
  if (isReadOnly) return null;
  return html`${(job.actions ?? []).map(
      (action) => html`<button key=${action.name} class=${action.name === "delete" ? "danger" : ""} onClick=${() => setAsked({ action, shown: job })}>${TEXTS[action.name].title}</button>`,
    )}${asked ? html`<${Confirmation} action=${asked.action} job=${asked.shown} onClose=${() => setAsked(null)} />` : null}`;
}

/** @param {{action: Action, job: import("./wire.js").JobDetail, onClose: () => void}} props */
function Confirmation({ action, job, onClose }) {
  const [typed, setTyped] = useState("");
  const [trouble, setTrouble] = useState("");
  const [isBusy, setBusy] = useState(false);
  const { title, effect } = TEXTS[action.name];
  const act = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    const outcome = await send(action, job);
    setBusy(false);
    if (outcome.trouble) return setTrouble(outcome.trouble);
    onClose();
    toast(outcome.message);
    if (outcome.url) navigate(outcome.url);
    return undefined;
  };
  return html`<${Dialog} title=${`${title} ${job.name}?`} onClose=${onClose}><form onSubmit=${act}>
    <p>${effect}</p><${Command} title="The same as a command" text=${action.command} />
    ${action.asksName ? html`<label>Type <b>${job.name}</b> to confirm<input autocomplete="off" spellcheck=${false} value=${typed} onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} /></label>` : null}
    ${trouble ? html`<p class="state Failed" role="alert">${trouble}</p>` : null}
    <div class="bar"><button type="button" onClick=${onClose}>Cancel</button>
      <button class=${action.name === "delete" ? "danger" : "primary"} disabled=${isBusy || (action.asksName && typed !== job.name)}>${title}</button></div></form><//>`;
}

/** @param {Action} action @param {import("./wire.js").JobDetail} job @returns {Promise<{message: string, url: string, trouble: string}>} */
async function send(action, job) {
  /** @type {import("./wire.js").ActionRequest} */
  const body = { kind: job.kind, namespace: job.namespace, name: job.name, uid: job.uid, resourceVersion: job.resourceVersion, generation: job.generation ?? 0, state: job.state };
  try {
    const answer = await fetch(apiUrl(`actions/${action.name}`), { method: "POST", headers: { "content-type": "application/json", "x-shunter": "page" }, body: JSON.stringify(body) });
    if (!answer.ok) {
      const { message, remedy } = await refusal(answer);
      return { message: "", url: "", trouble: [message, remedy].filter(Boolean).join(" ") };
    }
    const { message, url } = /** @type {import("./wire.js").Answer} */ (await answer.json());
    return { message, url, trouble: "" };
  } catch {
    return { message: "", url: "", trouble: "No answer from the server of this page: check whether it was done before you try again." };
  }
}
