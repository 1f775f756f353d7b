// Agents, transport, speed, seed, presets, keys.
import { element } from "./format.js";

const at = (id) => document.getElementById(id);
const MOST = 4; // the end of the slider: as fast as possible

export class Controls {
  constructor({ send, preset }) {
    Object.assign(this, { send, preset, playing: true, agents: [], shown: [] });
    at("play").addEventListener("click", () => send({ type: "play", on: !this.playing }));
    at("step").addEventListener("click", () => send({ type: "step" }));
    at("restart").addEventListener("click", () => send({ type: "restart" }));
    at("seed").addEventListener("change", () => this.#seed(at("seed").valueAsNumber));
    at("speed").addEventListener("input", () => this.#speed());
    at("repeat").addEventListener("change", () => this.#repeat());
    at("fill").addEventListener("click", () => send({ type: "fill", episodes: this.isFilling ? 0 : 50 }));
    for (const select of [at("agent"), at("other")]) select.addEventListener("change", () => this.#choose(select));
    for (const button of document.querySelectorAll("[data-preset]")) button.addEventListener("click", () => preset(button.dataset.preset));
    document.addEventListener("keydown", (event) => this.#key(event));
  }

  list(agents) {
    this.agents = agents;
    at("agent").replaceChildren(...agents.map(({ id, label }) => element("option", { value: String(id) }, label)));
    at("agent").disabled = agents.length < 2;
  }

  configure(abouts) {
    this.shown = abouts.map(({ id }) => id);
    at("agent").value = String(this.shown[0]);
    // What acts in another environment cannot be given the same order.
    const others = this.agents.filter(({ id, environment }) => id !== this.shown[0] && environment === abouts[0].environment);
    const options = others.map(({ id, label }) => element("option", { value: String(id) }, label));
    at("other").replaceChildren(element("option", { value: "" }, "nothing"), ...options);
    at("other").value = this.shown.length > 1 ? String(this.shown[1]) : "";
    at("other").parentElement.hidden = !others.length;
    document.title = `${abouts.map(({ label }) => label).join(" beside ")} – the commander`;
  }

  state({ playing, seed }) {
    this.playing = playing;
    at("play").setAttribute("aria-pressed", String(playing));
    at("play").lastElementChild.textContent = playing ? "Pause" : "Play";
    if (document.activeElement !== at("seed")) at("seed").value = String(seed);
  }

  // A new session is told what the page is set to.
  settings() {
    this.#speed();
    this.#repeat();
  }

  filling({ done, of }) {
    this.isFilling = of > 0 && done < of;
    at("filling").hidden = !this.isFilling;
    at("filling").max = of || 1;
    at("filling").value = done;
    at("filled").textContent = this.isFilling ? `${done} of ${of}` : "";
    at("fill").textContent = this.isFilling ? "Stop" : "Run 50 episodes over the whole range";
  }

  #choose(select) {
    const [agent, other] = [Number(at("agent").value), at("other").value];
    const withOther = other !== "" && Number(other) !== agent && (select === at("other") || this.#isSame(agent, Number(other)));
    this.send({ type: "agents", agents: withOther ? [agent, Number(other)] : [agent] });
  }

  #isSame(a, b) { return this.agents[a]?.environment === this.agents[b]?.environment; }

  #seed(seed) {
    if (Number.isInteger(seed)) this.send({ type: "restart", seed });
  }

  #speed() {
    const place = at("speed").valueAsNumber, times = place >= MOST ? null : 2 ** place;
    const said = times === null ? "full speed" : times === 1 ? "real time" : `${times < 1 ? times.toFixed(2) : Math.round(10 * times) / 10} ×`;
    at("speed-said").textContent = said;
    at("speed").setAttribute("aria-valuetext", said);
    this.send({ type: "speed", times });
  }

  #repeat() { this.send({ type: "repeat", on: at("repeat").checked }); }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog, pre")) return;
    const presets = ["best", "middling", "worst", "evaluation"];
    if (event.key === " " && !event.target.closest("button, summary, a")) this.send({ type: "play", on: !this.playing });
    else if (event.key === ".") this.send({ type: "step" });
    else if (event.key === "r" || event.key === "R") this.send({ type: "restart" });
    else if (event.key === "n" || event.key === "N") this.#seed(at("seed").valueAsNumber + 1);
    else if (["1", "2", "3", "4"].includes(event.key)) this.preset(presets[Number(event.key) - 1]);
    else return;
    event.preventDefault();
  }
}
