// Desired against obtained, a point for each finished episode, with the diagonal on which an obedient agent lies.
import { colour, element, number } from "./format.js";
import { Plot, gridline, label } from "./plot.js";

const LEFT = 56, RIGHT = 14, TOP = 8, BOTTOM = 34, MOST_IN_TABLE = 100;

export class Obedience {
  constructor({ canvas, legend, said, table }) {
    Object.assign(this, { legend, said, table, points: new Map(), lanes: [] });
    this.plot = new Plot(canvas, (pen, width, height) => this.#draw(pen, width, height));
  }

  configure(lanes, scale) {
    [this.lanes, this.scale] = [lanes, scale];
    this.#tell();
  }

  add({ agent, desired, obtained, steps, source }) {
    if (!this.points.has(agent)) this.points.set(agent, []);
    this.points.get(agent).push({ desired, obtained, steps, source });
    this.#tell();
  }

  clear() {
    for (const { about } of this.lanes) this.points.delete(about.id);
    this.#tell();
  }

  of(lane) { return this.points.get(lane.about.id) ?? []; }

  #tell() {
    const sentences = this.lanes.map((lane, i) => {
      const points = this.of(lane), r = correlation(points), name = this.lanes.length > 1 ? `${"AB"[i]}: ` : "";
      const count = `${points.length} ${points.length === 1 ? "episode" : "episodes"}`;
      return `${name}${count}${r === null ? "" : `, correlation ${r.toFixed(2).replace("-", "−")}`}`;
    });
    this.said.textContent = `${sentences.join(" · ")}.`;
    const rows = this.lanes.flatMap((lane) => this.of(lane).slice(-MOST_IN_TABLE).map((point) => element("tr", {},
      element("td", {}, lane.about.label), ...[point.desired, point.obtained, point.steps].map((value) => element("td", {}, number(value))))));
    this.table.replaceChildren(...rows);
    const entries = this.lanes.map((lane, i) => {
      const mark = element("i", { className: "dot" });
      mark.style.setProperty("--colour", `var(--${i ? "second" : "obtained"})`);
      return element("li", {}, mark, this.lanes.length > 1 ? `${"AB"[i]} ${lane.about.label}` : "watched; hollow: in the background");
    });
    this.legend.replaceChildren(...entries);
    this.plot.soon();
  }

  #draw(pen, width, height) {
    if (!this.scale) return;
    const all = this.lanes.flatMap((lane) => this.of(lane));
    const places = all.flatMap(({ desired, obtained }) => [this.scale.place(desired), this.scale.place(obtained)]);
    const [from, to] = [Math.min(0, ...places) - 0.03, Math.max(1, ...places) + 0.03];
    const across = width - LEFT - RIGHT, up = height - TOP - BOTTOM;
    const x = (value) => LEFT + across * (this.scale.place(value) - from) / (to - from);
    const y = (value) => TOP + up * (1 - (this.scale.place(value) - from) / (to - from));
    const ticks = (least) => this.scale.ticks(from, to, least * (to - from));
    for (const tick of ticks(Math.min(0.3, 46 / across))) {
      gridline(pen, x(tick), TOP, x(tick), TOP + up);
      label(pen, tick, x(tick), TOP + up + 11, "center");
    }
    for (const tick of ticks(Math.min(0.3, 26 / up))) {
      gridline(pen, LEFT, y(tick), LEFT + across, y(tick));
      label(pen, tick, LEFT - 7, y(tick), "right");
    }
    label(pen, "desired return", LEFT + across, height - 7, "right");
    pen.save();
    pen.translate(9, TOP);
    pen.rotate(-Math.PI / 2);
    label(pen, "obtained", 0, 0, "right");
    pen.restore();
    pen.beginPath();
    pen.moveTo(LEFT, TOP + up);
    pen.lineTo(LEFT + across, TOP);
    pen.setLineDash([2, 4]);
    pen.strokeStyle = colour("soft");
    pen.stroke();
    pen.setLineDash([]);
    this.lanes.forEach((lane, i) => this.#dots(pen, this.of(lane), x, y, i));
  }

  #dots(pen, points, x, y, lane) {
    const name = colour(lane ? "second" : "obtained");
    for (const { desired, obtained, source } of points) {
      const [cx, cy, r] = [x(desired), y(obtained), source === "live" ? 4.2 : 3.4];
      pen.beginPath();
      if (lane) {
        pen.moveTo(cx, cy - r - 1); pen.lineTo(cx + r + 1, cy); pen.lineTo(cx, cy + r + 1); pen.lineTo(cx - r - 1, cy); pen.closePath();
      } else pen.arc(cx, cy, r, 0, 7);
      pen.globalAlpha = 0.85;
      pen.fillStyle = pen.strokeStyle = name;
      pen.lineWidth = 1.5;
      if (source === "live") pen.fill(); else pen.stroke();
      pen.globalAlpha = 1;
    }
  }
}

// Pearson's.
export function correlation(points) {
  const n = points.length;
  if (n < 3) return null;
  const mean = (pick) => points.reduce((sum, point) => sum + pick(point), 0) / n;
  const [mx, my] = [mean((p) => p.desired), mean((p) => p.obtained)];
  const sum = (pick) => points.reduce((total, p) => total + pick(p.desired - mx, p.obtained - my), 0);
  const spread = Math.sqrt(sum((a) => a * a) * sum((_, b) => b * b));
  return spread > 1e-9 ? sum((a, b) => a * b) / spread : null;
}
