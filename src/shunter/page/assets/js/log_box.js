/**
 * The scrolling box of a log. Lines are drawn without Preact, as text nodes, only those in view and some around them, so that the cost
 * does not depend on those that arrive. The box follows the end, or the line at its top stays there, whatever is added or dropped.
 */
import { clock } from "./format.js";
import { LogLines, isTrouble, pieces } from "./log_lines.js";

const LINE = 18;
/** How many lines are drawn if long ones are wrapped. Their heights are unknown: scrolling near the first or last of them draws others. */
const WRAPPED = 400;
/** How near that is, in lines. */
const NEAR = 100;
/** Milliseconds between two drawings of new lines. */
const PACE = 100;

/**
 * @typedef {import("./log_lines.js").Line} Line
 * @typedef {{times: boolean, wrap: boolean, find: string, isMany: boolean}} Look
 */

export class LogBox {
  #lines = new LogLines();
  /** @type {Look} */
  #look = { times: false, wrap: false, find: "", isMany: true };
  #isFollowing = true;
  /** Unless it follows: the first line in view, and how many pixels of it are above the box. @type {{line: Line, above: number} | null} */
  #reading = null;
  #isDue = false;
  #isComing = false;
  #drawnAt = -Infinity;
  /** What is drawn: lines, whether they are wrapped, whether the last of all is one, and the number of the first line of all. */
  #drawn = { lines: /** @type {Line[]} */ ([]), isWrapped: false, isEnd: true, base: 0 };
  /** Whether that still has the right look. */
  #isDrawn = false;
  lastTop = 0;
  /** The position that was set last. */
  #setTop = 0;
  #top = document.createElement("div");
  #body = document.createElement("div");

  /** @param {HTMLDivElement} box @param {(follow: boolean) => void} onFollow */
  constructor(box, onFollow) {
    this.box = box;
    this.onFollow = onFollow;
    this.#top.className = "lines";
    this.#top.append(this.#body);
    box.append(this.#top);
    this.onScroll = () => {
      const isAtEnd = (this.#drawn.isEnd || !this.#drawn.isWrapped) && box.scrollTop + box.clientHeight >= box.scrollHeight - LINE;
      if (isAtEnd !== this.#isFollowing && (isAtEnd || box.scrollTop < this.lastTop)) this.onFollow((this.#isFollowing = isAtEnd));
      this.lastTop = box.scrollTop;
      if (Math.abs(this.lastTop - this.#setTop) > 1) this.#reading = this.#firstInView();
      this.draw();
    };
    box.addEventListener("scroll", this.onScroll, { passive: true });
    this.resized = new ResizeObserver(() => this.#drawAnew());
    this.resized.observe(box);
  }

  close() {
    this.box.removeEventListener("scroll", this.onScroll);
    this.resized.disconnect();
    this.#top.remove();
  }

  /** @param {LogLines} lines */
  show(lines) {
    this.#lines = lines;
    this.#drawAnew();
  }

  /** @param {Look} look */
  look(look) {
    this.#look = look;
    this.#drawAnew();
  }

  /** @param {boolean} isFollowing */
  follow(isFollowing) {
    if (isFollowing !== this.#isFollowing) this.#reading = this.#firstInView();
    this.#isFollowing = isFollowing;
    this.draw();
  }

  /** For new lines: draws at once after a pause, and then every `PACE`. */
  drawSoon() {
    if (this.#isComing) return;
    this.#isComing = true;
    setTimeout(() => {
      this.#isComing = false;
      this.draw();
    }, Math.max(0, this.#drawnAt + PACE - performance.now()));
  }

  /** Draws in the next frame. */
  draw() {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#draw();
    });
  }

  #drawAnew() {
    this.#isDrawn = false;
    this.draw();
  }

  #firstInView() {
    const top = this.box.scrollTop;
    const { lines, isWrapped, base } = this.#drawn;
    if (!isWrapped) {
      const all = this.#lines.lines;
      const line = all[Math.max(0, base + Math.floor(top / LINE) - (all[0]?.number ?? 0))];
      return line ? { line, above: top % LINE } : null;
    }
    const nodes = /** @type {HTMLElement[]} */ ([...this.#body.children]);
    const at = nodes.findIndex((node) => node.offsetTop + node.offsetHeight > top);
    const line = lines[at];
    return line ? { line, above: top - /** @type {HTMLElement} */ (nodes[at]).offsetTop } : null;
  }

  #draw() {
    const all = this.#lines.lines;
    const { wrap } = this.#look;
    const height = this.box.clientHeight;
    const reading = this.#isFollowing ? null : this.#reading;
    const at = reading ? this.#lines.indexOf(reading.line) : 0;
    // Positions are computed: reading them between two changes would cost another layout.
    const top = reading ? at * LINE + reading.above : Math.max(0, all.length * LINE - height);
    const margin = this.#isFollowing ? 1 : 5;
    const first = wrap ? this.#firstWrapped(at) : Math.max(0, Math.floor(top / LINE) - margin);
    const lines = all.slice(first, first + (wrap ? WRAPPED : Math.ceil(height / LINE) + 2 * margin));
    this.#top.style.height = wrap ? "auto" : `${all.length * LINE}px`;
    this.#body.style.transform = wrap ? "" : `translateY(${first * LINE}px)`;
    const before = this.#drawn;
    const isSame = this.#isDrawn && lines.length === before.lines.length && lines[0] === before.lines[0] && lines.at(-1) === before.lines.at(-1);
    if (!isSame || !all.length) this.#put(lines);
    const base = all[0]?.number ?? 0;
    const hasMoved = !this.#isDrawn || base !== before.base || (wrap && !isSame);
    this.#drawn = { lines, isWrapped: wrap, isEnd: lines.at(-1) === all.at(-1), base };
    this.#isDrawn = true;
    if (this.#isFollowing) this.#scrollTo(wrap ? this.box.scrollHeight : all.length * LINE);
    else if (reading && hasMoved) this.#scrollTo(wrap ? (/** @type {HTMLElement | undefined} */ (this.#body.children[at - first])?.offsetTop ?? 0) + reading.above : top);
  }

  /** Index of the first line to draw if lines are wrapped and the one at the index `at` is read. @param {number} at */
  #firstWrapped(at) {
    const last = Math.max(0, this.#lines.lines.length - WRAPPED);
    if (this.#isFollowing) return last;
    const { lines, isWrapped } = this.#drawn;
    const drawn = isWrapped && lines[0] ? this.#lines.indexOf(lines[0]) : -Infinity;
    const isNear = at < drawn + NEAR || at > drawn + WRAPPED - NEAR;
    return Math.max(0, Math.min(last, isNear ? at - WRAPPED / 2 : drawn));
  }

  /** @param {number} top */
  #scrollTo(top) {
    this.box.scrollTop = top;
    // Not beyond the end.
    this.#setTop = this.#isFollowing ? top : this.box.scrollTop;
  }

  /** @param {Line[]} lines */
  #put(lines) {
    this.#drawnAt = performance.now();
    this.#body.replaceChildren(...(lines.length ? lines.map((line) => lineNode(line, this.#look)) : [noneNode()]));
  }
}

/** @param {Line} line @param {Look} look */
function lineNode(line, look) {
  const node = document.createElement("div");
  node.className = isTrouble(line.text) ? "line bad" : "line";
  if (look.isMany) node.append(element("span", "who", String(line.rank ?? line.label)));
  if (look.times && line.time) node.append(element("time", "", clock(line.time)));
  const text = document.createElement("span");
  pieces(line.text, look.find).forEach((piece, index) => text.append(index % 2 ? element("mark", "", piece) : piece));
  node.append(text);
  return node;
}

function noneNode() {
  return element("div", "none", "No lines yet.");
}

/** @param {string} name @param {string} className @param {string} text */
function element(name, className, text) {
  const node = document.createElement(name);
  node.className = className;
  node.textContent = text;
  return node;
}
