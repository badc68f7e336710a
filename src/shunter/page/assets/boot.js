// An inline script of the shell. When a network interface appears, such as that of a pod, Chromium aborts what it is loading
// (ERR_NETWORK_CHANGED), and does not retry a module that failed: the page is reloaded, five times at most.
{
  const KEY = "shunter-loads";
  let isDone = false;
  const again = () => {
    const loads = Number(sessionStorage.getItem(KEY) ?? 0);
    if (isDone || loads >= 5) return;
    isDone = true;
    sessionStorage.setItem(KEY, String(loads + 1));
    setTimeout(() => location.reload(), 100 * 2 ** loads);
  };
  addEventListener("error", (event) => (event.target instanceof HTMLLinkElement || event.target instanceof HTMLScriptElement) && again(), true);
  // On a slow network modules take longer than a second; the page itself removes this.
  addEventListener("DOMContentLoaded", () => {
    const app = document.getElementById("app");
    const loading = document.createElement("p");
    loading.className = "loading";
    loading.role = "status";
    setTimeout(() => app.childElementCount === 1 && (app.append(loading), (loading.textContent = "Loading the page.")), 1000);
  });
  addEventListener("DOMContentLoaded", () => import("/assets/js/app.js").catch((error) => (again(), Promise.reject(error))));
  addEventListener("load", () => isDone || sessionStorage.removeItem(KEY));
}
