/** The YAML of a job, as the API server has it. */
import { html, useEffect, useState } from "./html.js";
import { Dialog, copy } from "./parts.js";
import { apiUrl } from "./route.js";
import { get, refusal } from "./streams.js";

/** @param {{job: import("./wire.js").JobDetail, onClose: () => void}} props */
export function Yaml({ job, onClose }) {
  const [text, setText] = useState("");
  const [trouble, setTrouble] = useState("");
  const [isRevealed, setRevealed] = useState(false);
  useEffect(() => {
    let isCurrent = true;
    get(apiUrl(`yaml/${job.namespace}/${job.kind}/${job.name}`, { reveal: isRevealed ? "true" : undefined }))
      .then(async (answer) => {
        const problem = answer.ok ? "" : (await refusal(answer)).message;
        const body = answer.ok ? await answer.text() : "";
        if (isCurrent) (setText(body), setTrouble(problem));
      })
      .catch(() => isCurrent && setTrouble("No connection to the server of this page."));
    return () => {
      isCurrent = false;
    };
  }, [job.resourceVersion, isRevealed]);
  return html`<${Dialog} title=${`${job.kind} ${job.name}`} onClose=${onClose} isWide=${true}>
    ${trouble ? html`<p role="alert">${trouble}</p>` : html`<pre tabindex="0" aria-label="YAML">${text || "..."}</pre>`}
    <div class="bar"><button aria-pressed=${isRevealed} onClick=${() => setRevealed(!isRevealed)}>Show values that look like credentials</button>
      <button class="primary" disabled=${!text} onClick=${() => copy(text)}>Copy</button></div><//>`;
}
