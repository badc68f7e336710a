/** The command lines that the page copies, which show the same in a terminal. Pure. */

/** A command line for a shell, its words quoted where necessary. @param {string[]} words */
function line(words) {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`)).join(" ");
}

/** Lists the jobs of these namespaces and states: a command for each namespace, as `-n` takes one. The search has no option. @param {import("./wire.js").Session} session @param {import("./route.js").JobFilter} filter */
export function jobsCommand(session, { states, namespaces }) {
  const chosen = states.flatMap((state) => ["--state", state === "Waiting" ? "Created" : state]);
  const shown = namespaces.length ? namespaces : session.namespaces;
  const each = shown.length ? shown.map((namespace) => ["-n", namespace]) : [[]];
  return each.map((where) => `${line(["shunter", "jobs", ...where, ...chosen])}${session.options}`).join("; ");
}

/** Shows a job. @param {import("./wire.js").Session} session @param {{namespace: string, kind: string, name: string}} job */
export function jobCommand(session, { namespace, kind, name }) {
  return `${session.kubectl} get ${line([kind.toLowerCase(), name, "-n", namespace])} -o yaml`;
}
