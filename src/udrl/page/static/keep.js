// What a person takes along: videos, and the Python lines.
import { element } from "./format.js";

const at = (id) => document.getElementById(id);

export class Keep {
  constructor({ send, announce }) {
    this.announce = announce;
    for (const button of document.querySelectorAll("[data-record]")) {
      button.addEventListener("click", () => send({ type: "record", format: button.dataset.record }));
    }
    at("lines").addEventListener("click", () => send({ type: "lines" }));
    at("copy").addEventListener("click", () => this.#copy());
  }

  recording({ done, of, name, file }) {
    const isWorking = of > 0 && done < of;
    at("recording").hidden = !isWorking;
    at("recording").max = of || 1;
    at("recording").value = done;
    for (const button of document.querySelectorAll("[data-record]")) button.disabled = isWorking;
    if (name) at("recordings").replaceChildren(element("a", { href: `recordings/${name}`, download: file }, `Save ${file}`));
  }

  lines(text) {
    at("program").querySelector("code").textContent = text;
    at("copy").textContent = "Copy";
    at("program").showModal();
  }

  async #copy() {
    const code = at("program").querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      at("copy").textContent = "Copied";
      this.announce("Copied.");
    } catch { // only pages of this machine may write there: the person does it
      getSelection().selectAllChildren(code);
      at("copy").textContent = "Selected: press Ctrl-C";
    }
  }
}
