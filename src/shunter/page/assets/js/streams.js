/**
 * Event streams over fetch: unlike EventSource they tell the status and the words of a refusal. A browser opens six connections to
 * a host, so at most SLOTS streams are open at once in all its tabs, counted by Web Locks; who gets none is told and waits.
 */

export const SLOTS = 5;
const SILENCE = 40_000;
const LONGEST_PAUSE = 8_000;
/** A stream that lived so long had no failure before it: one that breaks at once, again and again, is not asked for at once. */
const LASTING = 5_000;

/**
 * @typedef {{message: string, remedy: string, status: number, url: string}} Refusal
 * @typedef {"connecting" | "open" | "retrying" | "queued" | "refused" | "ended"} StreamState
 *   queued: all connections are taken by other tabs; refused: the server said no and will say so again; ended: the server ended it.
 * @typedef {{onEvent: (name: string, data: any) => void, onState: (state: StreamState, refusal?: Refusal) => void}} Listener
 */

/** Opens `url` until `close` is called; reconnects by itself, and closes while the tab is hidden. @param {string} url @param {Listener} listener */
export function openStream(url, listener) {
  let closed = false;
  let isDone = false;
  /** @type {AbortController | null} */
  let current = null;

  async function run() {
    const control = new AbortController();
    current = control;
    try {
      await withSlot(control.signal, () => listener.onState("queued"), () => keepOpen(url, listener, control));
    } catch (error) {
      if (!control.signal.aborted) throw error;
    } finally {
      if (current === control) current = null;
    }
  }
  function visibility() {
    if (closed || isDone) return;
    if (document.hidden) current?.abort();
    else if (!current || current.signal.aborted) start();
  }
  const start = () => run().then(() => (isDone = isDone || !document.hidden));
  document.addEventListener("visibilitychange", visibility);
  if (!document.hidden) start();
  return () => {
    closed = true;
    document.removeEventListener("visibilitychange", visibility);
    current?.abort();
  };
}

/** Connects again and again, until the server ends the stream or refuses it for good. @param {string} url @param {Listener} listener @param {AbortController} control */
async function keepOpen(url, listener, control) {
  let failures = 0;
  listener.onState("connecting");
  while (!control.signal.aborted) {
    const began = performance.now();
    const outcome = await once(url, listener, control);
    if (performance.now() - began > LASTING) failures = 0;
    if (control.signal.aborted) return;
    if (outcome === "ended") return listener.onState("ended");
    if (outcome !== "broken" && outcome.status >= 400 && outcome.status < 500 && outcome.status !== 429) {
      return listener.onState("refused", outcome);
    }
    // The first try comes at once and quietly: a network interface that appears breaks every connection (ERR_NETWORK_CHANGED).
    if (failures) listener.onState("retrying", outcome === "broken" ? undefined : outcome);
    await pause(failures ? Math.min(LONGEST_PAUSE, 500 * 2 ** (failures - 1)) : 50, control.signal);
    failures++;
  }
}

/** @param {string} url @param {Listener} listener @param {AbortController} control @returns {Promise<"broken" | "ended" | Refusal>} */
async function once(url, listener, control) {
  const request = new AbortController();
  const stop = () => request.abort();
  control.signal.addEventListener("abort", stop);
  let silence = setTimeout(stop, SILENCE);
  try {
    const answer = await fetch(url, { headers: { accept: "text/event-stream" }, signal: request.signal, cache: "no-store" });
    if (!answer.ok || !answer.body) return await refusal(answer);
    listener.onState("open");
    let ended = false;
    const parser = eventParser((name, data) => {
      // A server that stops may come back: rows stay until it does.
      if (name === "end" && data.why === "stopped") return;
      listener.onEvent(name, data);
      if (name === "end") ended = true;
    });
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      clearTimeout(silence);
      if (done) return ended ? "ended" : "broken";
      parser(value);
      if (ended) return "ended";
      silence = setTimeout(stop, SILENCE);
    }
  } catch {
    return "broken";
  } finally {
    clearTimeout(silence);
    control.signal.removeEventListener("abort", stop);
    request.abort();
  }
}

/** A function that takes pieces of an event stream's text and calls back with each whole event. @param {(name: string, data: any) => void} onEvent */
export function eventParser(onEvent) {
  let rest = "";
  return (/** @type {string} */ piece) => {
    // A long event comes in many pieces: only what is new is looked through for its end.
    const from = Math.max(0, rest.length - 1);
    rest += piece;
    if (rest.indexOf("\n\n", from) < 0) return;
    const events = rest.split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      let name = "message";
      let data = "";
      for (const line of event.split("\n")) {
        if (line.startsWith("event:")) name = line.slice(6).trim();
        else if (line.startsWith("data:")) data += line.slice(5);
      }
      if (data) onEvent(name, JSON.parse(data));
    }
  };
}

/** What the server says of a request that it refused. @param {Response} answer @returns {Promise<Refusal>} */
export async function refusal(answer) {
  /** @type {{message?: string, remedy?: string, url?: string}} */
  const said = await answer.json().catch(() => ({}));
  return { status: answer.status, message: said.message || `The server answered ${answer.status} ${answer.statusText}.`, remedy: said.remedy ?? "", url: said.url ?? "" };
}

/** A GET that is tried once more when the network changed below it. @param {string} url */
export async function get(url) {
  try {
    return await fetch(url, { cache: "no-store" });
  } catch {
    return await fetch(url, { cache: "no-store" });
  }
}

/** Runs `work` while it holds one of the slots that all tabs share. @param {AbortSignal} signal @param {() => void} onQueued @param {() => Promise<void>} work */
async function withSlot(signal, onQueued, work) {
  if (!navigator.locks) return work();
  const names = Array.from({ length: SLOTS }, (_, slot) => `shunter-stream-${slot}`);
  for (const name of names) {
    const held = await navigator.locks.request(name, { ifAvailable: true }, async (lock) => {
      if (!lock || signal.aborted) return false;
      await work();
      return true;
    });
    if (held || signal.aborted) return;
  }
  onQueued();
  const queue = new AbortController();
  const give_up = () => queue.abort();
  signal.addEventListener("abort", give_up);
  await new Promise((resolve) => {
    let isTaken = false;
    for (const name of names) {
      navigator.locks
        .request(name, { signal: queue.signal }, async () => {
          if (isTaken || signal.aborted) return;
          isTaken = true;
          queue.abort();
          await work();
          resolve(undefined);
        })
        .catch(() => signal.aborted && resolve(undefined));
    }
  });
  signal.removeEventListener("abort", give_up);
}

/** @param {number} milliseconds @param {AbortSignal} signal */
function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve(undefined)), { once: true });
  });
}
