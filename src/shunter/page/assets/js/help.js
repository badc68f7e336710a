/** The dialog with the keys. */
import { html } from "./html.js";
import { Dialog } from "./parts.js";

/** Keys and their effects. @type {[string[], string][]} */
const KEYS = [
  [["/"], "Search, in jobs or in the log"],
  [["j", "k"], "Next and previous job; also the arrows, once a job has the focus"],
  [["Enter"], "Open the job; among the ranks, show the log of one"],
  [["l"], "Show the log of the job"],
  [["y"], "Show the YAML of the job"],
  [["c"], "Copy the command that shows the job, or those that list the jobs"],
  [["g", "j"], "Jobs"],
  [["g", "m"], "Migration"],
  [["g", "c"], "Cluster"],
  [["Esc"], "Leave the search, close a dialog, or go back from a job"],
  [["?"], "These keys"],
];

/** @param {{onClose: () => void}} props */
export function Help({ onClose }) {
  return html`<${Dialog} title="Keys" onClose=${onClose}><dl class="keys">${KEYS.map(
    ([keys, text]) => [html`<dt key=${`k${text}`}>${keys.map((key) => html`<kbd key=${key}>${key}</kbd> `)}</dt>`, html`<dd key=${text}>${text}</dd>`],
  )}</dl><p class="faint">Every view has its own address, which you can bookmark and share. In a terminal, <code>shunter jobs</code>, <code>describe</code> and <code>logs</code> show the same.</p><//>`;
}
