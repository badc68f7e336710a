// Stands in the shell itself. A network interface that appears, such as that of a pod, makes Chromium fail what it is loading
// (ERR_NETWORK_CHANGED), and a module that failed stays failed in its page: the page is loaded again, five times at most.
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
  addEventListener("DOMContentLoaded", () => import("/assets/js/app.js").catch((error) => (again(), Promise.reject(error))));
  addEventListener("load", () => isDone || sessionStorage.removeItem(KEY));
}
