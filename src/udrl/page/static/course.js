// The course of the episode: what is still desired and obtained, the steps left, and how actions were chosen.
import { colour, element, number } from "./format.js";
import { Plot, gridline, label, line } from "./plot.js";
import { Scale } from "./scale.js";

const LEFT = 46, RIGHT = 10, GAP = 26;

export class Course {
  constructor(canvas, legend, said) {
    Object.assign(this, { legend, said, lanes: [] });
    this.plot = new Plot(canvas, (pen, width, height) => this.#draw(pen, width, height));
  }

  configure(lanes) {
    this.lanes = lanes;
    const entry = (name, kind, text) => {
      const mark = element("i", { className: kind });
      mark.style.setProperty("--colour", `var(--${name})`);
      return element("li", {}, mark, text);
    };
    const entries = [entry("desired", "", "still desired"), entry("obtained", "", "obtained"), entry("steps", "", "steps left")];
    const { actions } = lanes[0].about;
    if (actions.kind === "discrete" && actions.groups.length === 1) {
      entries.push(...actions.groups[0].slice(0, 6).map((name, i) => entry(`a${i}`, "block", name)));
    } else entries.push(entry(actions.kind === "discrete" ? "a0" : "a4", "block", actions.kind === "discrete" ? "likeliest choices" : "mean and spread of actions"));
    if (lanes.length > 1) entries.push(element("li", {}, "B dashed"));
    this.legend.replaceChildren(...entries);
    this.plot.soon();
  }

  // In words, for those who do not see the plot.
  say() {
    this.said.textContent = this.lanes.map(({ about, rows }) => {
      const last = rows.at(-1);
      return last ? `${about.label}: after ${last[0]} steps ${number(last[3])} obtained, ${number(last[1])} still desired in ${number(last[2])} steps.` : "";
    }).join(" ");
  }

  #draw(pen, width, height) {
    if (!this.lanes.some(({ rows }) => rows.length)) return;
    const steps = this.#steps();
    const x = (t) => LEFT + (width - LEFT - RIGHT) * t / steps;
    const bottom = 18, room = height - bottom - 2 * GAP - 4;
    const tall = room * 0.44, low = room * 0.18, rest = room - tall - low;
    this.#returns(pen, x, 6, tall, width);
    this.#left(pen, x, 6 + tall + GAP, low, width);
    this.#actions(pen, x, 6 + tall + low + 2 * GAP, rest, width);
    for (const t of new Scale(0, steps).ticks(0, 1, 0.12)) label(pen, t, Math.min(x(t), width - 12), height - 7, "center");
  }

  // Up to where time goes: what is left, unless that is far away.
  #steps() {
    return Math.max(20, ...this.lanes.map(({ rows }) => {
      const last = rows.at(-1);
      if (!last) return 20;
      return last[4] === null ? last[0] : Math.min(last[0] + Math.max(last[2] ?? 0, 0), Math.max(100, 2 * last[0]));
    }));
  }

  #panel(pen, values, top, height, width, least) {
    let [low, high] = [Math.min(...values), Math.max(...values)];
    if (high - low < least) [low, high] = [low - least / 2, high + least / 2];
    const scale = new Scale(low, high), y = (value) => top + height * (1 - scale.place(value));
    for (const tick of scale.ticks(0, 1, Math.min(0.5, 26 / height))) {
      gridline(pen, LEFT, y(tick), width - RIGHT, y(tick));
      label(pen, tick, LEFT - 7, y(tick), "right");
    }
    return y;
  }

  #returns(pen, x, top, height, width) {
    const values = this.lanes.flatMap(({ rows }) => rows.flatMap((row) => [row[1], row[3]]));
    const y = this.#panel(pen, [0, ...values], top, height, width, 1);
    this.lanes.forEach(({ rows, orders }, i) => {
      for (const t of orders) if (t) gridline(pen, x(t), top, x(t), top + height, "faint");
      const style = { dashed: i > 0 };
      line(pen, rows.map((row) => [x(row[0]), y(row[1])]), "desired", style);
      line(pen, rows.map((row) => [x(row[0]), y(row[3])]), "obtained", style);
    });
  }

  #left(pen, x, top, height, width) {
    const values = this.lanes.flatMap(({ rows }) => rows.map((row) => row[2]));
    const y = this.#panel(pen, [0, ...values], top, height, width, 1);
    this.lanes.forEach(({ rows }, i) => line(pen, rows.map((row) => [x(row[0]), y(row[2])]), "steps", { dashed: i > 0 }));
  }

  #actions(pen, x, top, height, width) {
    const each = height / this.lanes.length;
    this.lanes.forEach((lane, i) => {
      const place = [top + i * each + (i ? 3 : 0), each - (i ? 3 : 0)];
      if (lane.about.actions.kind === "discrete") this.#probabilities(pen, x, ...place, lane);
      else this.#spreads(pen, x, ...place, lane, width);
      label(pen, this.lanes.length > 1 ? "AB"[i] : "action", LEFT - 7, place[0] + place[1] / 2, "right");
    });
  }

  // One band for each component, of all its choices one above the other.
  #probabilities(pen, x, top, height, { rows, about }) {
    const groups = about.actions.groups.slice(0, 6), band = height / groups.length;
    const likely = rows.filter((row) => row[4]);
    let first = 0;
    groups.forEach((names, g) => {
      const from = top + g * band, tall = band - (groups.length > 1 ? 2 : 0);
      const lows = likely.map(() => 0);
      names.forEach((_, choice) => {
        pen.beginPath();
        likely.forEach((row, k) => {
          const high = lows[k] + row[4][first + choice];
          const right = likely[k + 1]?.[0] ?? row[0] + 1;
          pen.rect(x(row[0]), from + tall * (1 - high), x(right) - x(row[0]) + 0.4, tall * (high - lows[k]));
          lows[k] = high;
        });
        pen.fillStyle = colour(`a${choice % 6}`);
        pen.globalAlpha = 0.82;
        pen.fill();
        pen.globalAlpha = 1;
      });
      first += names.length;
    });
  }

  #spreads(pen, x, top, height, { rows, about }, width) {
    const { low, high } = about.actions, k = low.length, shown = Math.min(k, 4), band = height / shown;
    for (let i = 0; i < shown; i++) {
      const from = top + i * band, tall = band - 4;
      const y = (value) => from + tall * (1 - (Math.min(high[i], Math.max(low[i], value)) - low[i]) / (high[i] - low[i]));
      gridline(pen, LEFT, y((low[i] + high[i]) / 2), width - RIGHT, y((low[i] + high[i]) / 2));
      const likely = rows.filter((row) => row[4]);
      pen.beginPath();
      likely.forEach((row) => pen.lineTo(x(row[0]), y(row[4][i] + row[4][k + i])));
      likely.toReversed().forEach((row) => pen.lineTo(x(row[0]), y(row[4][i] - row[4][k + i])));
      pen.fillStyle = colour(`a${(i + 4) % 6}`);
      pen.globalAlpha = 0.25;
      pen.fill();
      pen.globalAlpha = 1;
      line(pen, likely.map((row) => [x(row[0]), y(row[4][i])]), `a${(i + 4) % 6}`, { width: 1.4 });
    }
  }
}
