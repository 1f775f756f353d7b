// The numbers of now: what is still desired and obtained, steps left, and what the next action is drawn from.
import { element, number } from "./format.js";

const NAMES = [["desired", "Still desired"], ["obtained", "Obtained"], ["steps", "Steps left"], ["step", "Step"]];

export class Readings {
  constructor(parent) {
    this.parent = parent;
    this.lanes = [];
  }

  configure(lanes) {
    this.lanes = lanes.map(({ about }, i) => {
      const values = {};
      const pairs = NAMES.map(([name, text]) => {
        values[name] = element("dd", { id: `now-${name}${i ? "-b" : ""}` });
        return element("dl", { className: name }, element("dt", {}, text), values[name]);
      });
      const chances = element("div", { className: "chances", role: "group" });
      chances.setAttribute("aria-label", "What the next action is drawn from");
      const title = lanes.length > 1 ? [element("h3", {}, `${"AB"[i]}  ${about.label}`)] : [];
      const root = element("div", { className: "reading" }, ...title, ...pairs, chances);
      return { root, values, chances: bars(chances, about.actions) };
    });
    this.parent.classList.toggle("two", lanes.length > 1);
    this.parent.replaceChildren(...this.lanes.map((lane) => lane.root));
  }

  show(lanes) {
    lanes.forEach(({ rows }, i) => {
      const last = rows.at(-1), view = this.lanes[i];
      if (!last || !view) return;
      const { desired, obtained, steps, step } = view.values;
      [desired.textContent, obtained.textContent, steps.textContent, step.textContent] = [last[1], last[3], last[2], last[0]].map(number);
      view.chances(last, rows.at(-2));
    });
  }
}

function bars(parent, actions) {
  const names = actions.kind === "discrete" ? actions.groups.flat() : actions.names;
  const views = names.slice(0, 18).map((name, i) => {
    const fill = element("i"), taken = element("b", { hidden: true }), title = element("span", { className: "name" }, name);
    const bar = element("div", { className: "bar" }, fill, taken), value = element("span", { className: "number" });
    bar.style.setProperty("--colour", `var(--a${(actions.kind === "discrete" ? i : i + 4) % 6})`);
    parent.append(element("div", { className: "chance" }, title, bar, value));
    return { fill, taken, title, value };
  });
  const show = actions.kind === "discrete" ? showProbabilities : showSpreads;
  return (row, before) => show(views, row, before, actions);
}

function showProbabilities(views, [, , , , likely], before, { groups, start }) {
  if (!likely) return;
  const taken = new Set();
  groups.reduce((first, names, g) => {
    if (before?.[5]) taken.add(first + before[5][g] - start[g]);
    return first + names.length;
  }, 0);
  views.forEach(({ fill, title, value }, i) => {
    title.classList.toggle("taken", taken.has(i));
    fill.style.width = `${100 * likely[i]}%`;
    value.textContent = `${(100 * likely[i]).toFixed(likely[i] > 0.995 || likely[i] < 0.005 ? 1 : 0)} %`;
  });
}

function showSpreads(views, [, , , , likely], before, { low, high }) {
  if (!likely) return;
  views.forEach(({ fill, taken, value }, i) => {
    const place = (number) => 100 * Math.min(1, Math.max(0, (number - low[i]) / (high[i] - low[i])));
    const [mean, spread] = [likely[i], likely[low.length + i]];
    fill.style.left = `${place(mean - spread)}%`;
    fill.style.width = `${Math.max(place(mean + spread) - place(mean - spread), 1)}%`;
    taken.hidden = !before?.[5];
    if (before?.[5]) taken.style.left = `${place(before[5][i])}%`;
    value.textContent = `${mean.toFixed(2).replace("-", "−")} ± ${spread.toFixed(2)}`;
  });
}
