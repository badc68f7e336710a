/** The keys, over the page. */
import { html } from "./html.js";
import { Dialog } from "./parts.js";

/** Keys -> what they do. @type {[string[], string][]} */
const KEYS = [
  [["/"], "Search, in jobs or in the log"],
  [["j", "k"], "Next and previous job; the arrows too, once one has the focus"],
  [["Enter"], "Open the job; in the ranks, choose the log of one"],
  [["l"], "Of a job: its log"],
  [["y"], "Of a job: its YAML"],
  [["c"], "Copy the command that shows the job, or those that list the jobs"],
  [["g", "j"], "Jobs"],
  [["g", "m"], "Migration"],
  [["g", "c"], "Cluster"],
  [["Esc"], "Leave the search, close this, or go back from a job"],
  [["?"], "These keys"],
];

/** @param {{onClose: () => void}} props */
export function Help({ onClose }) {
  return html`<${Dialog} title="Keys" onClose=${onClose}><dl class="keys">${KEYS.map(
    ([keys, text]) => [html`<dt key=${`k${text}`}>${keys.map((key) => html`<kbd key=${key}>${key}</kbd> `)}</dt>`, html`<dd key=${text}>${text}</dd>`],
  )}</dl><p class="faint">Every view has an address that can be kept and sent. What is shown, <code>shunter jobs</code>, <code>describe</code> and <code>logs</code> show in a terminal too.</p><//>`;
}
