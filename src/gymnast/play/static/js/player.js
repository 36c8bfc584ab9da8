// The page of the player: shows what the server sends, and sends keys and commands back.

import { download, openSocket } from "/web/api.js";
import { decode } from "/web/wire.js";
import { HeldKeys, meaning } from "./held.js";
import { Panels } from "./panels.js";
import { readSeed } from "./texts.js";

const byId = (id) => document.getElementById(id);
const game = byId("game");
const panels = new Panels(byId);
const FRAME = 4; // pixels around the picture
let about = null;
let moment = null;
let role = "watch";
let keys = new HeldKeys([]);
let gameCodes = new Set();
let drawn = 0;
let received = 0;

const socket = openSocket("/api/play", {
  onMessage: (data) => (data instanceof ArrayBuffer ? receive(data) : hear(data)),
  onState: (state, reason) => {
    keys.clear();
    panels.connection(state, moment?.ended, reason);
  },
});

function hear(said) {
  if (said.hello) {
    about = said.hello;
    gameCodes = new Set(about.bindings.flatMap(({ codes }) => codes));
    keys = new HeldKeys(gameCodes);
    panels.introduce(about, command);
  }
  if (said.role) {
    role = said.role;
    panels.showRole(role, said.visitors);
  }
  if (said.notice) panels.notice(said.notice);
}

async function receive(data) {
  if (!about) return;
  const order = ++received;
  const { meta, frames } = decode(data);
  const picture = await frames.bitmap(0);
  if (order < drawn) return picture.close(); // a newer one is shown already
  drawn = order;
  moment = meta;
  if (game.width !== picture.width || game.height !== picture.height) {
    game.width = picture.width;
    game.height = picture.height;
    fit();
  }
  game.getContext("2d").drawImage(picture, 0, 0);
  picture.close();
  panels.show(about, moment);
}

/** As large as fits; small pictures by whole numbers, so that pixels stay square. */
function fit() {
  const room = byId("screen");
  // With room for the frame that says who plays.
  const scale = Math.min((room.clientWidth - 2 * FRAME) / game.width, (room.clientHeight - 2 * FRAME) / game.height);
  const whole = scale > 1 && game.width <= 320 ? Math.max(1, Math.floor(scale * 2) / 2) : scale;
  game.style.width = `${Math.floor(game.width * whole)}px`;
  game.style.height = `${Math.floor(game.height * whole)}px`;
  game.classList.toggle("pixels", game.width <= 320);
}

function command(name, value) {
  if (name === "screenshot") {
    download("/api/screenshot", `${about.env.replaceAll("/", "-")}-${moment.seed}-${moment.step}.png`).catch((error) =>
      panels.notice(error.message),
    );
    return;
  }
  if (role !== "control") {
    panels.notice("another tab has the controls: this one watches");
    return;
  }
  if (name === "restart" && value === undefined) {
    const seed = readSeed(byId("seed").value);
    if (seed === undefined) {
      panels.notice("a seed is a whole number below 2,147,483,648");
      return;
    }
    value = seed;
  }
  socket.send(value === undefined || value === null ? { do: name } : { do: name, value });
  if (name !== "quit") game.focus({ preventScroll: true });
}

/** Whether the keys of this page steer anything. */
const steering = () => Boolean(moment) && (moment.driver === "human" || about.versus);

const typing = (target) => target instanceof HTMLInputElement;

window.addEventListener("keydown", (event) => {
  if (!about) return;
  if (typing(event.target) && event.code === "Enter") {
    command("restart");
    event.preventDefault();
    return;
  }
  const meant = meaning(event, about.controls, gameCodes, typing(event.target));
  if (!meant) return;
  event.preventDefault();
  if (meant.command) {
    if (!event.repeat || meant.command === "step") command(meant.command);
  } else if (keys.press(meant.key)) sendKeys();
});

window.addEventListener("keyup", (event) => {
  if (keys.release(event.code)) sendKeys();
});

function sendKeys() {
  if (role === "control") socket.send({ keys: keys.down });
}

/** Without the keyboard nobody steers: the game must not run on with a key that seems held. */
function lose() {
  keys.clear();
  if (role === "control" && steering()) socket.send({ lost: true });
}

window.addEventListener("blur", lose);
document.addEventListener("visibilitychange", () => document.hidden && lose());
window.addEventListener("resize", fit);
byId("claim").addEventListener("click", () => socket.send({ claim: true }));

// Saying all the time what is held keeps the lease; a tab that hangs falls silent by itself.
setInterval(() => {
  if (role === "control" && steering() && document.hasFocus()) sendKeys();
}, 50);

new ResizeObserver(fit).observe(byId("screen"));
