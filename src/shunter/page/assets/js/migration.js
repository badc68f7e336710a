/** The migration from v1 to v2: the waves of a plan, or the inventory. It only reads, and shows commands to copy. */
import { html, useEffect } from "./html.js";
import { count, percent } from "./format.js";
import { useLive } from "./live.js";
import { Command, Heading, Meter, Notices, Pending, State, copy } from "./parts.js";
import { apiUrl, jobMigrationUrl, navigate } from "./route.js";

/**
 * @typedef {import("./wire.js").JobMigration} JobMigration
 * @typedef {Extract<import("./route.js").Route, {view: "migration"}>} MigrationRoute
 */

/** @param {{route: MigrationRoute, onLive: (live: import("./live.js").Live) => void}} props */
export function Migration({ route, onLive }) {
  const live = useLive(apiUrl("live", { view: "migration", namespace: route.namespaces }));
  useEffect(() => onLive(live), [live]);
  if (!live.session) return html`<${Heading} isHidden=${true}>Migration<//><${Pending} live=${live} what="migration" />`;
  const summary = /** @type {import("./wire.js").MigrationSummary | undefined} */ (live.list("migration")[0]);
  const waves = /** @type {import("./wire.js").Wave[]} */ ([...live.list("waves")]).sort((a, b) => a.number - b.number);
  const migrations = /** @type {JobMigration[]} */ (live.list("moves"));
  const shown = route.state ? migrations.filter((migration) => migration.state === route.state) : migrations;
  const total = summary?.v1Total ?? 0;
  const left = summary?.v1Left ?? 0;
  const choose = (/** @type {string} */ state) => {
    const query = new URLSearchParams(route.namespaces.map((one) => ["namespace", one]));
    if (state !== route.state) query.set("state", state);
    navigate(`/migration${query.size ? `?${query}` : ""}`);
  };
  return html`<${Notices} live=${live} />
    <div class="bar"><${Heading}>Migration <span class="faint">${summary?.plan || "no plan yet"}</span><//>
      <div class="chips" role="group" aria-label="Show only">${(summary?.counts ?? []).map(
        ([state, number]) => html`<button key=${state} class=${number ? "" : "none"} aria-pressed=${route.state === state} onClick=${() => choose(state)}><${State} state=${state} /> <b>${count(number)}</b></button>`,
      )}</div></div>
    ${total ? html`<div class="moved"><span>${count(left)} of ${count(total)} v1 jobs left</span><${Meter} share=${1 - left / total} tone="done" isLong=${true} label=${`${percent(total - left, total)} moved`} /></div>` : null}
    ${migrations.length
      ? html`${shown.length ? null : html`<div class="empty"><h2>No job is ${route.state}</h2><p><button onClick=${() => choose(route.state)}>Show all jobs</button></p></div>`}${waves.map((wave) => html`<${WaveSection} key=${wave.id} wave=${wave} migrations=${shown.filter((migration) => migration.wave === wave.number)} />`)}`
      : html`<div class="empty"><h2>No v1 jobs</h2><p>You can read no jobs of kubeflow.org/v1: there is nothing to migrate.</p></div>`}
    ${summary?.commands?.length ? html`<section class="panel" aria-labelledby="commands"><header><h2 id="commands">Next steps</h2></header>${summary.commands.map(([title, text]) => html`<${Command} key=${text} title=${title} text=${text} />`)}</section>` : null}`;
}

/** @param {{wave: import("./wire.js").Wave, migrations: JobMigration[]}} props */
function WaveSection({ wave, migrations }) {
  if (!migrations.length) return null;
  const [name, ...reason] = wave.title.split(": ");
  return html`<section class="wave" aria-label=${wave.title}><header><h2>${name}</h2><span class="faint">${[...reason, `${wave.done} of ${wave.total} done`].join("; ")}</span></header>
    <table class="list"><thead><tr><th class="m-state">State</th><th class="m-name">Job</th><th class="m-kind fold">Kind</th><th>What is left</th><th class="m-proof fold">Proof</th><th class="m-next fold"><span class="sr">Next step</span></th></tr></thead><tbody>
      ${migrations.map((migration) => html`<tr class="row" key=${migration.id}><td class="c-state m-state"><${State} state=${migration.state} /></td>
          <td class="c-name m-name"><a href=${jobMigrationUrl(migration)} title=${`${migration.namespace}/${migration.name}`}>${migration.name}</a> <span class="faint">${migration.namespace}</span></td>
          <td class="fold m-kind">${migration.kind}</td>
          <td class="c-why">${migration.first || [migration.twin ? `TrainJob ${migration.twin}` : "", migration.next].filter(Boolean).join(": ")}${(migration.blocking ?? 0) > 1 ? html` <span class="faint">and ${(migration.blocking ?? 0) - 1} more</span>` : null}</td>
          <td class="fold m-proof" title=${migration.proof}>${migration.proof?.split(":")[0]}</td>
          <td class="fold m-next">${migration.command ? html`<button title=${migration.command} onClick=${() => copy(migration.command ?? "")}>Copy command</button>` : null}</td></tr>`)}</tbody></table></section>`;
}
