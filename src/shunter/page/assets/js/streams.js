/**
 * Event streams over fetch, which, unlike EventSource, give status and body of an error. A browser opens six connections to a host,
 * so at most SLOTS streams are open at once in all tabs, counted by Web Locks; others wait ("queued").
 */

export const SLOTS = 5;
/** A request without an answer for so long is given up. */
const PATIENCE = 40_000;
/** So is a stream without an event for so long: the server sends one every 15 s. */
const SILENCE = 25_000;
const LONGEST_PAUSE = 8_000;
/** A stream that was open for longer resets the pause before reconnecting; one that breaks at once again and again, or never opens, does not. */
const LASTING = 5_000;

/**
 * @typedef {{message: string, remedy: string, status: number, url: string}} Refusal
 * @typedef {"connecting" | "open" | "retrying" | "queued" | "refused" | "ended"} StreamState
 *   queued: other tabs use all connections; refused: the server answered with an error that a retry would not change; ended: the
 *   server ended the stream.
 * @typedef {{onEvent: (name: string, data: any) => void, onState: (state: StreamState, refusal?: Refusal) => void}} Listener
 */

/** Opens `url` and reconnects until the returned function is called; closed while the tab is hidden. @param {string} url @param {Listener} listener */
export function openStream(url, listener) {
  let closed = false;
  let isDone = false;
  /** @type {AbortController | null} */
  let current = null;

  async function start() {
    const control = new AbortController();
    current = control;
    try {
      await withSlot(control.signal, () => listener.onState("queued"), () => keepOpen(url, listener, control));
    } catch (error) {
      if (!control.signal.aborted) throw error;
    } finally {
      if (current === control) current = null;
    }
    // Not if it was closed because the tab was hidden: it may be visible again by now, with another stream.
    isDone ||= !control.signal.aborted;
  }
  function visibility() {
    if (closed || isDone) return;
    if (document.hidden) current?.abort();
    else if (!current || current.signal.aborted) void start();
  }
  document.addEventListener("visibilitychange", visibility);
  if (!document.hidden) void start();
  return () => {
    closed = true;
    document.removeEventListener("visibilitychange", visibility);
    current?.abort();
  };
}

/** Connects and reconnects until the server ends the stream or refuses it. @param {string} url @param {Listener} listener @param {AbortController} control */
async function keepOpen(url, listener, control) {
  let failures = 0;
  listener.onState("connecting");
  while (!control.signal.aborted) {
    let opened = Infinity;
    const onState = (/** @type {StreamState} */ state) => ((opened = performance.now()), listener.onState(state));
    const outcome = await once(url, { onEvent: listener.onEvent, onState }, control);
    if (performance.now() - opened > LASTING) failures = 0;
    if (control.signal.aborted) return;
    if (outcome === "ended") return listener.onState("ended");
    const refused = typeof outcome === "string" ? undefined : outcome;
    if (refused && refused.status >= 400 && refused.status < 500 && refused.status !== 429) return listener.onState("refused", refused);
    // The first retry is immediate and not reported: a network interface that appears breaks all connections (ERR_NETWORK_CHANGED).
    // After a silence what is shown is already old.
    if (failures || outcome === "silent") listener.onState("retrying", refused);
    await pause(failures ? Math.min(LONGEST_PAUSE, 500 * 2 ** (failures - 1)) : 50, control.signal);
    failures++;
  }
}

/** @param {string} url @param {Listener} listener @param {AbortController} control @returns {Promise<"broken" | "silent" | "ended" | Refusal>} */
async function once(url, listener, control) {
  const request = new AbortController();
  const stop = () => request.abort();
  control.signal.addEventListener("abort", stop);
  let isSilent = false;
  const giveUp = () => ((isSilent = true), stop());
  let silence = setTimeout(giveUp, PATIENCE);
  try {
    const answer = await fetch(url, { headers: { accept: "text/event-stream" }, signal: request.signal, cache: "no-store" });
    if (!answer.ok || !answer.body) return await refusal(answer);
    listener.onState("open");
    clearTimeout(silence);
    silence = setTimeout(giveUp, SILENCE);
    let ended = false;
    const parser = eventParser((name, data) => {
      // A server that stops may be restarted: rows stay until then.
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
      silence = setTimeout(giveUp, SILENCE);
    }
  } catch {
    return isSilent ? "silent" : "broken";
  } finally {
    clearTimeout(silence);
    control.signal.removeEventListener("abort", stop);
    request.abort();
  }
}

/** Returns a function that takes the text of an event stream piece by piece, and calls `onEvent` for each complete event. @param {(name: string, data: any) => void} onEvent */
export function eventParser(onEvent) {
  let rest = "";
  return (/** @type {string} */ piece) => {
    // A long event comes in many pieces: its end is searched only in the new one.
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

/** The error in an answer. @param {Response} answer @returns {Promise<Refusal>} */
export async function refusal(answer) {
  /** @type {{message?: string, remedy?: string, url?: string}} */
  const body = await answer.json().catch(() => ({}));
  return { status: answer.status, message: body.message || `The server answered ${answer.status} ${answer.statusText}.`, remedy: body.remedy ?? "", url: body.url ?? "" };
}

/** A GET that is retried once, as a network change fails all requests. @param {string} url */
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
  const leaveQueue = () => queue.abort();
  signal.addEventListener("abort", leaveQueue);
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
  signal.removeEventListener("abort", leaveQueue);
}

/** @param {number} milliseconds @param {AbortSignal} signal */
function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve(undefined)), { once: true });
  });
}
