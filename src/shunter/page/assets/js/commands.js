/** The command lines that the page copies: what shows the same in a terminal. Pure. */

/** The words of a command line as a shell takes them; names of Kubernetes need no quotes. @param {string[]} words */
function line(words) {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`)).join(" ");
}

/** What lists the jobs of these namespaces and states in a terminal: a command for each namespace, as `-n` names one. It has no words for the search. @param {import("./wire.js").Session} session @param {import("./route.js").JobFilter} filter */
export function jobsCommand(session, { states, namespaces }) {
  const chosen = states.flatMap((state) => ["--state", state === "Waiting" ? "Created" : state]);
  const shown = namespaces.length ? namespaces : session.namespaces;
  const each = shown.length ? shown.map((namespace) => ["-n", namespace]) : [[]];
  return each.map((where) => `${line(["shunter", "jobs", ...where, ...chosen])}${session.options}`).join("; ");
}

/** What shows a job in a terminal. @param {import("./wire.js").Session} session @param {{namespace: string, kind: string, name: string}} job */
export function jobCommand(session, { namespace, kind, name }) {
  return `${session.kubectl} get ${line([kind.toLowerCase(), name, "-n", namespace])} -o yaml`;
}
