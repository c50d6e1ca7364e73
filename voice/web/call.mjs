// One call, in a worker of its own: audio between the audio thread and the server, and the measuring of every turn.
//
// The thread that draws the page is no place for sound: at the very moment at which a reply begins there are captions
// to lay out and paint, and whoever waits for that is heard later. Here nothing is drawn.
//
// The page sends {open: {rateHz, token}, port} once, where port leads to the audio thread, and {hangUp: true} at last.
// It is told {line}, {event}, {turn} and {level}.

import { measure } from "./heard.mjs";
import { Line } from "./line.mjs";
import { Track } from "./track.mjs";

const LEVEL_EVERY = 4; // packets: twelve times a second is as fluent as a level need be

let line = null;
let audio = null;
let spoken = null;
let heard = null;
let cushion = 0;
let loudest = 0;
let packets = 0;

onmessage = ({ data }) => {
  if (data.open) open(data.open, data.port);
  if (data.hangUp) {
    line.hangUp();
    close();
  }
};

function open({ rateHz, token }, port) {
  audio = port;
  audio.onmessage = ({ data }) => exchange(data);
  line = new Line({
    rateHz,
    token,
    on: {
      open: () => begin(rateHz),
      audio: (samples) => audio.postMessage({ play: samples }, [samples.buffer]),
      event: take,
      broken: (how) => postMessage({ line: how }),
    },
  });
}

/** A new connection is a new conversation to the server, and its audio begins at 0. */
function begin(rateHz) {
  audio.postMessage({ clear: true });
  spoken = new Track(rateHz);
  heard = new Track(rateHz);
  postMessage({ line: "open" });
}

/** Both sides of the same 20 ms. */
function exchange(packet) {
  tellLevel(packet.spoken);
  cushion = packet.cushion;
  if (!line.isOpen || spoken === null) return;
  line.send(packet.spoken);
  spoken.feed(packet.spoken);
  heard.feed(packet.heard);
}

function take(fields) {
  if (fields.type === "clear") audio.postMessage({ clear: true });
  if (fields.type === "turn") {
    postMessage({ turn: { report: fields, heard: listened(fields), cushionMs: (cushion / line.rateHz) * 1000 } });
  }
  postMessage({ event: fields });
}

function listened(report) {
  const found = measure(spoken, heard, { onsetS: report.onset_s, endS: report.speech_end_s });
  // An excuse for a failure is heard as well, and is no answer.
  return report.reported_gap_ms === null ? { ...found, gapMs: null, timingGapMs: null } : found;
}

function tellLevel(samples) {
  loudest = samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), loudest);
  packets += 1;
  if (packets % LEVEL_EVERY > 0) return;
  postMessage({ level: loudest });
  loudest = 0;
}
