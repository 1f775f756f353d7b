// Where a value lies between two ends: evenly, or more densely the farther it is below the top (as the server has it).
import { roundStep } from "./format.js";

export class Scale {
  constructor(low, high, width = null) {
    [this.low, this.high, this.width] = [low, high, width];
  }

  place(value) {
    const { low, high, width } = this;
    if (width === null) return (value - low) / (high - low);
    return 1 - Math.asinh((high - value) / width) / Math.asinh((high - low) / width);
  }

  value(place) {
    const { low, high, width } = this;
    if (width === null) return low + place * (high - low);
    return high - width * Math.sinh((1 - place) * Math.asinh((high - low) / width));
  }

  // A round step that suits the scale at this value.
  step(value) {
    const place = this.place(value);
    return roundStep(Math.max(Math.abs(this.value(place + 0.005) - this.value(place - 0.005)) / 2, 1e-6));
  }

  // Round values from place `from` to place `to`, no two closer than `least` (in places).
  ticks(from, to, least) {
    const [low, high] = [this.value(from), this.value(to)];
    if (this.width === null) {
      const step = roundStep((high - low) * least / (to - from));
      const first = Math.ceil(low / step);
      return Array.from({ length: Math.max(0, Math.floor(high / step) - first + 1) }, (_, i) => (first + i) * step);
    }
    const candidates = [0];
    for (let power = 10 ** Math.ceil(Math.log10(high - low)); power >= 1; power /= 10) {
      for (const factor of [1, 5, 2, 3]) candidates.push(-factor * power, factor * power);
    }
    const chosen = [];
    for (const value of candidates) {
      const place = this.place(value);
      if (place < from || place > to) continue;
      if (chosen.every((other) => Math.abs(this.place(other) - place) >= least)) chosen.push(value);
    }
    return chosen;
  }
}
