// What both plots share: a sharp canvas, axes, lines.
import { colour, number } from "./format.js";

export class Plot {
  constructor(canvas, draw) {
    this.canvas = canvas;
    this.draw = draw;
    new ResizeObserver(() => this.now()).observe(canvas);
  }

  // Draw before the next picture of the screen, once.
  soon() {
    this.asked ??= requestAnimationFrame(() => { this.asked = undefined; this.now(); });
  }

  now() {
    const { clientWidth: width, clientHeight: height } = this.canvas, ratio = devicePixelRatio || 1;
    if (!width || !height) return;
    [this.canvas.width, this.canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    const pen = this.canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = "11px system-ui, sans-serif";
    pen.lineJoin = "round";
    this.draw(pen, width, height);
  }
}

export function gridline(pen, x0, y0, x1, y1, name = "line") {
  pen.beginPath();
  pen.moveTo(Math.round(x0) + 0.5, Math.round(y0) + 0.5);
  pen.lineTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
  pen.strokeStyle = colour(name);
  pen.lineWidth = 1;
  pen.stroke();
}

export function label(pen, text, x, y, align = "left", name = "soft") {
  pen.fillStyle = colour(name);
  pen.textAlign = align;
  pen.textBaseline = "middle";
  pen.fillText(typeof text === "number" ? number(text) : text, x, y);
}

export function line(pen, points, name, { dashed = false, width = 1.8 } = {}) {
  pen.beginPath();
  points.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
  pen.setLineDash(dashed ? [5, 4] : []);
  pen.strokeStyle = colour(name);
  pen.lineWidth = width;
  pen.stroke();
  pen.setLineDash([]);
}
