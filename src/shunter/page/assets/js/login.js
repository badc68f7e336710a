/** The login: a form for a token, or how to open the page. */
import { html, useEffect, useState } from "./html.js";
import { Command, Heading } from "./parts.js";
import { get, refusal } from "./streams.js";

/** The `url` of a refusal is `/login` if the page accepts tokens. @param {{message: string, remedy: string, url: string}} props */
export function Login({ message, remedy, url }) {
  const [takesToken, setTakesToken] = useState(url === "/login");
  const [token, setToken] = useState("");
  const [trouble, setTrouble] = useState("");
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    if (url) return;
    get("/api/session").then(async (answer) => answer.ok || setTakesToken((await refusal(answer)).url === "/login"), () => undefined);
  }, []);
  const logIn = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    const answer = await fetch("/api/login", { method: "POST", headers: { "content-type": "application/json", "x-shunter": "page" }, body: JSON.stringify({ token: token.trim() }) }).catch(() => null);
    setBusy(false);
    setToken("");
    if (answer?.ok) return location.replace(location.pathname === "/login" ? "/jobs" : location.href);
    setTrouble(answer ? (await refusal(answer)).message : "No answer from the server of this page.");
    return undefined;
  };
  return html`<div class="empty"><${Heading}>Log in<//><p role="alert">${message}</p>
    ${takesToken
      ? html`<form class="login" onSubmit=${logIn}><label>Token<input type="password" autocomplete="off" required value=${token} onInput=${(/** @type {any} */ event) => setToken(event.target.value)} /></label>
          <button class="primary" disabled=${isBusy || !token}>Log in</button>${trouble ? html`<p class="state Failed" role="alert">${trouble}</p>` : null}</form>
          <${Command} title="A token of a service account, to use its permissions" text="kubectl create token NAME -n NAMESPACE" />`
      : html`<p>${remedy}</p><${Command} title="In a terminal on this machine" text="shunter status" />`}</div>`;
}
