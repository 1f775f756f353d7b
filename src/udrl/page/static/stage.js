// The pictures, side by side where two agents are compared.
import { element } from "./format.js";

export class Stage {
  constructor(parent) {
    this.parent = parent;
    this.views = [];
  }

  configure(abouts) {
    this.views = abouts.map((about, i) => {
      const canvas = element("canvas", { role: "img" });
      canvas.setAttribute("aria-label", `${about.label} in ${about.environment}`);
      const letter = abouts.length > 1 ? `${"AB"[i]}  ` : "";
      const why = about.draws ? "" : ` — drawn from what it observes: ${about.why_not}`;
      const caption = element("figcaption", {}, `${letter}${about.label}${why}`);
      if (abouts.length === 1 && about.draws) caption.className = "unseen";
      return { canvas, figure: element("figure", {}, canvas, caption) };
    });
    this.parent.replaceChildren(...this.views.map((view) => view.figure));
  }

  async draw(pictures) {
    const bitmaps = await Promise.all(pictures.map((picture) => createImageBitmap(picture)));
    bitmaps.forEach((bitmap, i) => {
      const view = this.views[i];
      if (view) {
        const { canvas, figure } = view;
        if (canvas.width !== bitmap.width || canvas.height !== bitmap.height) {
          [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
          const shape = Math.min(2, bitmap.width / bitmap.height);
          figure.style.aspectRatio = `${Math.max(this.views.length > 1 ? 0.9 : 1.5, shape)}`;
          canvas.classList.toggle("small", bitmap.width < 240);
        }
        canvas.getContext("2d").drawImage(bitmap, 0, 0);
      }
      bitmap.close();
    });
  }
}
