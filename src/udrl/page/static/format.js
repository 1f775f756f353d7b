// Numbers as a person reads them.

export function number(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const text = size >= 1e6 ? value.toPrecision(3) : value.toFixed(size < 1000 && !Number.isInteger(value) ? 1 : 0);
  return (text === "-0" || text === "-0.0" ? "0" : text).replace("-", "−");
}

// The nearest "round" step for a range: 1, 2 or 5 times a power of ten.
export function roundStep(raw) {
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * ([1, 2, 5].find((factor) => factor * power >= raw * 0.999) ?? 10);
}

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in made) made[key] = value; else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
