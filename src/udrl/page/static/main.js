// The commander: what the server says becomes what is seen, what the person does becomes what the server hears.
import { Connection } from "./connection.js";
import { Controls } from "./controls.js";
import { Course } from "./course.js";
import { Dial } from "./dial.js";
import { number } from "./format.js";
import { Keep } from "./keep.js";
import { Obedience } from "./obedience.js";
import { Readings } from "./readings.js";
import { Scale } from "./scale.js";
import { Stage } from "./stage.js";

const at = (id) => document.getElementById(id);
const stage = new Stage(at("pictures"));
const readings = new Readings(at("readings"));
const course = new Course(at("course-plot"), at("course-legend"), at("course-said"));
const obedience = new Obedience({ canvas: at("obedience-plot"), legend: at("obedience-legend"), said: at("obedience-said"), table: at("points") });

let lanes = [];
let episode = 0;
let order = [0, 1];
let lastSent = 0;
let waiting;

const controls = new Controls({ send: (message) => connection.send(message), preset: (name) => usePreset(name) });
const dials = [
  new Dial(at("dials"), { id: "desired-return", label: "Desired return", colour: "desired", ordered: (value) => give({ desired_return: value }) }),
  new Dial(at("dials"), { id: "desired-horizon", label: "Desired steps", colour: "steps", least: 1, whole: true, ordered: (value) => give({ desired_horizon: value }) }),
];
const keep = new Keep({ send: (message) => connection.send(message), announce });
const connection = new Connection({ document: take, pictures: show, status });

// Orders follow the hand, but not more than thirty a second.
function give(change) {
  if (lanes[0]?.about.horizon_is_return && at("tied").checked && "desired_return" in change) {
    change = { ...change, desired_horizon: Math.max(1, Math.round(change.desired_return)) };
    if (Number.isFinite(change.desired_horizon)) dials[1].set(change.desired_horizon);
  }
  waiting = { ...waiting, ...change };
  const send = () => {
    lastSent = performance.now();
    const { desired_return, desired_horizon } = waiting;
    waiting = undefined;
    connection.send({ type: "order", desired_return: inWords(desired_return), desired_horizon: inWords(desired_horizon) });
  };
  if (performance.now() - lastSent > 33) send();
  else setTimeout(() => waiting && send(), 34);
}

// JSON has no NaN; a word in its place gets the server's sentence.
const inWords = (value) => (Number.isNaN(value) ? "not a number" : value);

function usePreset(name) {
  const preset = lanes[0]?.about.presets[name];
  if (!preset) return;
  preset.forEach((value, i) => dials[i].set(value));
  waiting = undefined;
  connection.send({ type: "order", desired_return: preset[0], desired_horizon: preset[1] });
  announce(`Order: ${number(preset[0])} in ${number(preset[1])} steps.`);
}

const receivers = {
  hello: ({ agents }) => controls.list(agents),
  agents: ({ lanes: abouts }) => configure(abouts),
  state: (state) => {
    controls.state(state);
    if (order[0] !== state.order[0] || order[1] !== state.order[1]) order = state.order;
    if (!waiting) dials.forEach((dial, i) => dial.follow(order[i]));
  },
  point: (point) => {
    obedience.add(point);
    if (point.source === "live") announce(`Episode over: ${number(point.desired)} desired, ${number(point.obtained)} obtained in ${point.steps} steps.`);
  },
  filling: (progress) => controls.filling(progress),
  recording: (progress) => keep.recording(progress),
  lines: ({ text }) => keep.lines(text),
  problem: ({ sentence }) => problem(sentence),
};

function take(message) { receivers[message.type]?.(message); }

function configure(abouts) {
  lanes = abouts.map((about) => ({ about, rows: [], orders: [] }));
  const { scale, seen, horizon_is_return: isTied } = abouts[0];
  const returns = new Scale(scale.low, scale.high, scale.width);
  const [fewest, most] = seen.desired_horizon;
  dials[0].configure(returns, seen.desired_return);
  dials[1].configure(new Scale(fewest < most ? fewest : 0, Math.max(most, 1)), seen.desired_horizon);
  at("tie").hidden = !isTied;
  stage.configure(abouts);
  readings.configure(lanes);
  course.configure(lanes);
  obedience.configure(lanes, returns);
  controls.configure(abouts);
}

async function show(header, pictures) {
  if (header.episode !== episode) {
    episode = header.episode;
    for (const lane of lanes) [lane.rows, lane.orders] = [[], []];
  }
  header.lanes.forEach(({ rows }, i) => rows.forEach((row) => lanes[i] && addRow(lanes[i], row)));
  await stage.draw(pictures);
  readings.show(lanes);
  dials.forEach((dial, i) => dial.setStill(lanes.filter(({ rows }) => rows.length).map(({ rows }) => rows.at(-1)[1 + i])));
  course.plot.soon();
}

// Rows come in the order of time; one that came before may come again, with its action or under a new order.
function addRow(lane, row) {
  const before = lane.rows.at(-1);
  if (before?.[0] === row[0]) {
    if (before[1] !== row[1] || before[2] !== row[2]) lane.orders.push(row[0]);
    lane.rows[lane.rows.length - 1] = row;
  } else if (!before || before[0] < row[0]) lane.rows.push(row);
}

function status(what, reason = "") {
  at("status").textContent = what === "connected" ? "" : `connection lost, trying again… ${reason}`;
  if (what === "connected") {
    episode = 0;
    controls.settings();
  }
}

function problem(sentence) {
  at("problem").firstElementChild.textContent = sentence;
  at("problem").hidden = false;
}

function announce(sentence) { at("announcer").textContent = sentence; }

at("problem").querySelector("button").addEventListener("click", () => { at("problem").hidden = true; });
at("clear").addEventListener("click", () => obedience.clear());
at("theme").addEventListener("click", () => {
  const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  try { localStorage.setItem("theme", theme); } catch { /* it is not kept */ }
});
new MutationObserver(() => { course.plot.soon(); obedience.plot.soon(); }).observe(document.documentElement, { attributeFilter: ["data-theme"] });
setInterval(() => course.say(), 2000);
