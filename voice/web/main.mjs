// The page: its buttons, and what they set going. One conversation at a time.

import { Captions } from "./captions.mjs";
import { Conversation } from "./conversation.mjs";
import { byId } from "./dom.mjs";
import { showInForce } from "./force_view.mjs";
import { health } from "./line.mjs";
import { PushButton } from "./push.mjs";
import { Recordings } from "./recordings.mjs";
import { SoundError } from "./sound.mjs";
import { Turns } from "./turns.mjs";

const captions = new Captions();
const turns = new Turns();
let conversation = null;
let listening = false; // whether there is a microphone in it
let broken = false;

const push = new PushButton(byId("push"), (on) => conversation?.sound.talk(on));
const recordings = new Recordings({ play: playIn });

function say(state, text) {
  byId("state").dataset.state = state;
  byId("state").textContent = text;
}

function complain(text) {
  byId("problem").textContent = text;
}

const on = {
  line(state) {
    if (state === "open") {
      say("live", "Connected");
      complain("");
      byId("token-entry").hidden = true;
      if (broken) captions.part("Connected again. The agent has forgotten what was said before.");
      broken = false;
      return;
    }
    broken ||= captions.log.children.length > 0;
    const wait = state.inMs === null ? "" : ` Trying again in ${(state.inMs / 1000).toFixed(1)} s.`;
    complain(state.says + wait);
    say("broken", state.again ? "Reconnecting" : "Not connected");
    if (!state.again) {
      byId("token-entry").hidden = !state.says.includes("token");
      stop({ quietly: true });
    }
  },
  sound(state) {
    if (state === "unplugged") complain("The microphone is gone. Stop, and start again with another one.");
    else if (state !== "running") complain("The browser has paused the sound. Press anywhere on the page to go on.");
    else if (byId("problem").textContent.startsWith("The browser has paused")) complain("");
  },
  event(fields) {
    if (fields.type === "error") complain(`${fields.message}. ${fields.remedy ?? ""}`);
    captions.event(fields);
  },
  turn(turn) {
    turns.add(turn);
  },
  level(peak) {
    // -50 dBFS is an empty bar, 0 a full one. Scaled, not sized: nothing has to be laid out anew.
    const share = (20 * Math.log10(peak + 1e-9) + 50) / 50;
    byId("level").style.transform = `scaleX(${Math.max(0, Math.min(1, share))})`;
  },
};

async function start({ microphone }) {
  await stop({ quietly: false });
  complain("");
  say("busy", "Connecting");
  const started = new Conversation({ token: token(), on });
  try {
    await started.open({ microphone, echoCancellation: byId("echo").checked });
  } catch (error) {
    if (!(error instanceof SoundError)) throw error;
    complain(error.message);
    say("idle", "Not connected");
    return null;
  }
  conversation = started;
  listening = microphone;
  byId("start").textContent = microphone ? "Stop" : "Start talking";
  applyMode();
  return started;
}

async function stop({ quietly }) {
  const ended = conversation;
  conversation = null;
  listening = broken = false;
  byId("start").textContent = "Start talking";
  byId("level").style.transform = "scaleX(0)";
  applyMode();
  await ended?.close();
  if (ended !== null && !quietly) say("idle", "Not connected");
}

/** Play a recording in, over the connection that is there or one of its own. The microphone is deaf meanwhile. */
async function playIn(encoded) {
  const running = conversation ?? (await start({ microphone: false }));
  if (running === null) return;
  running.sound.talk(false);
  try {
    await running.sound.playIn(encoded);
  } catch (error) {
    if (!(error instanceof SoundError)) throw error;
    complain(error.message);
  } finally {
    if (running === conversation) applyMode();
  }
}

function applyMode() {
  const pushing = document.querySelector("[name=mode]:checked").value === "push";
  byId("push").hidden = byId("push-how").hidden = !(pushing && listening);
  conversation?.sound.talk(pushing ? push.pressed : true);
}

/** After a #, where it reaches no log, or typed in. */
function token() {
  return byId("token").value || new URLSearchParams(location.hash.slice(1)).get("token") || "";
}

byId("start").addEventListener("click", () => (listening ? stop({ quietly: false }) : start({ microphone: true })));
byId("token-use").addEventListener("click", () => start({ microphone: true }));
byId("echo").addEventListener("change", () => listening && start({ microphone: true }));
for (const mode of document.querySelectorAll("[name=mode]")) mode.addEventListener("change", applyMode);
document.addEventListener("pointerdown", () => conversation?.sound.context?.resume());

const said = await health();
if (said === null) complain("The server can't be reached.");
else showInForce(said);
await recordings.list();
document.body.dataset.ready = "true";
