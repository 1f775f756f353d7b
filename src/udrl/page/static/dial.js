// A dial: a slider on an arc, with the range that the agent has seen marked on it, and an exact number in its middle.
import { number } from "./format.js";
import { Scale } from "./scale.js";

const SVG = "http://www.w3.org/2000/svg";
const SWEEP = 270, MARGIN = 0.11, RADIUS = 76, CENTRE = 100;
const angle = (turn) => (turn - 0.5) * SWEEP;
const point = (turn, radius) => {
  const radians = angle(turn) * Math.PI / 180;
  return [CENTRE + radius * Math.sin(radians), CENTRE - radius * Math.cos(radians)];
};
const arc = (from, to) => {
  const [x0, y0] = point(from, RADIUS), [x1, y1] = point(to, RADIUS);
  return `M${x0} ${y0}A${RADIUS} ${RADIUS} 0 ${(to - from) * SWEEP > 180 ? 1 : 0} 1 ${x1} ${y1}`;
};

export class Dial {
  // `ordered(value)` is called when the person gives an order.
  constructor(parent, { id, label, colour, least = -Infinity, whole = false, ordered }) {
    Object.assign(this, { label, least, whole, ordered, value: 0, scale: new Scale(0, 1), seen: [0, 1] });
    this.root = document.createElement("div");
    this.root.className = "dial";
    this.root.style.setProperty("--colour", `var(--${colour})`);
    this.root.innerHTML = `<div class="face"><svg viewBox="-15 2 230 172" role="slider" tabindex="0" id="${id}-dial" aria-label="${label}">
      <path class="track" d="${arc(0, 1)}"/><path class="seen" d="${arc(MARGIN, 1 - MARGIN)}"/><g class="marks"></g>
      <g class="stills"></g><circle class="grip" r="9"/></svg>
      <div class="middle"><label for="${id}">${label.replace(" ", "<br>")}</label><input id="${id}" type="number" step="any" aria-describedby="${id}-outside"></div></div>
      <div class="outside" id="${id}-outside"></div>`;
    parent.append(this.root);
    this.svg = this.root.querySelector("svg");
    this.input = this.root.querySelector("input");
    this.svg.addEventListener("pointerdown", (event) => this.#drag(event));
    this.svg.addEventListener("keydown", (event) => this.#key(event));
    this.input.addEventListener("change", () => this.#typed());
  }

  // A new agent: its scale and the range it has seen.
  configure(scale, seen) {
    [this.scale, this.seen] = [scale, seen];
    const marks = this.root.querySelector(".marks");
    marks.replaceChildren();
    for (const turn of [MARGIN, 1 - MARGIN]) {
      const [x0, y0] = point(turn, RADIUS - 8), [x1, y1] = point(turn, RADIUS + 8);
      marks.append(make("line", { class: "mark", x1: x0, y1: y0, x2: x1, y2: y1 }));
    }
    for (const value of scale.ticks(0.001, 0.999, 0.11)) {
      const [x, y] = point(this.#turn(value), RADIUS + 15);
      marks.append(make("text", { x, y: y + 3.5, "text-anchor": x < 92 ? "end" : x > 108 ? "start" : "middle" }, number(value)));
    }
    this.svg.setAttribute("aria-valuemin", this.#atPlace(-0.1));
    this.svg.setAttribute("aria-valuemax", this.#atPlace(1.1));
    this.set(this.value);
  }

  set(value) {
    this.value = value;
    const turn = Math.min(1, Math.max(0, this.#turn(value)));
    const [x, y] = point(turn, RADIUS);
    const grip = this.root.querySelector(".grip");
    grip.setAttribute("cx", x);
    grip.setAttribute("cy", y);
    if (document.activeElement !== this.input) this.input.value = String(Number(value.toFixed(1)));
    this.svg.setAttribute("aria-valuenow", value);
    const isOutside = value < this.seen[0] - 1e-6 || value > this.seen[1] + 1e-6;
    this.svg.setAttribute("aria-valuetext", `${number(value)}${isOutside ? ", outside of what it has seen" : ""}`);
    this.root.querySelector(".outside").textContent = isOutside ? `it has seen ${number(this.seen[0])} to ${number(this.seen[1])}` : "";
  }

  // What the server has, unless a hand is on the dial.
  follow(value) { if (!this.svg.onpointermove) this.set(value); }

  // What remains of the order, one mark for each agent.
  setStill(values) {
    const stills = values.map((value, i) => {
      const turn = Math.min(1, Math.max(0, this.#turn(value)));
      const mark = make("path", { class: i ? "still second" : "still", d: "M-4.6 -9 L4.6 -9 L0 -1.5 Z" });
      const [x, y] = point(turn, RADIUS - 13);
      mark.setAttribute("transform", `translate(${x} ${y}) rotate(${angle(turn)}) scale(1 -1) translate(0 4)`);
      return mark;
    });
    this.root.querySelector(".stills").replaceChildren(...stills);
  }

  #turn(value) { return MARGIN + this.scale.place(value) * (1 - 2 * MARGIN); }

  #atPlace(place) { return this.#rounded(this.scale.value(place)); }

  #rounded(value) {
    const step = this.whole ? Math.max(1, this.scale.step(value)) : this.scale.step(value);
    return Math.max(this.least, Number((Math.round(value / step) * step).toPrecision(12)));
  }

  #order(value) {
    this.set(value);
    this.ordered(value);
  }

  #drag(event) {
    event.preventDefault();
    this.svg.focus();
    this.svg.setPointerCapture(event.pointerId);
    const move = ({ clientX, clientY }) => {
      const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(this.svg.getScreenCTM().inverse());
      const degrees = Math.atan2(x - CENTRE, CENTRE - y) * 180 / Math.PI;
      const turn = Math.min(1, Math.max(0, degrees / SWEEP + 0.5));
      const value = this.#atPlace((turn - MARGIN) / (1 - 2 * MARGIN));
      if (value !== this.value) this.#order(value);
    };
    move(event);
    this.svg.onpointermove = move;
    this.svg.onpointerup = this.svg.onpointercancel = () => { this.svg.onpointermove = null; };
  }

  #key(event) {
    const step = this.whole ? Math.max(1, this.scale.step(this.value)) : this.scale.step(this.value);
    const to = {
      ArrowRight: this.value + step, ArrowUp: this.value + step, ArrowLeft: this.value - step, ArrowDown: this.value - step,
      PageUp: this.value + 10 * step, PageDown: this.value - 10 * step, Home: this.seen[0], End: this.seen[1],
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.#order(event.key === "Home" || event.key === "End" ? to : this.#rounded(to));
  }

  #typed() {
    const value = this.input.valueAsNumber;
    // What is no number is sent too: the server answers it with a sentence.
    if (Number.isFinite(value)) this.set(value);
    this.ordered(value);
  }
}

function make(name, attributes, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}
