// Answers questions on standard input with what the page's own code says, for a test that asks the server's as well.

import { readFileSync } from "node:fs";

import { measure } from "../../../voice/web/heard.mjs";
import { figure } from "../../../voice/web/percentiles.mjs";
import { Track } from "../../../voice/web/track.mjs";
import { apportion } from "../../../voice/web/waterfall.mjs";

const ANSWERS = {
  apportion: ({ values }) => apportion(values),
  figure: ({ values, rank }) => figure(values, rank),
  measure: ({ rate, user, agent, onset_s: onsetS, end_s: endS }) =>
    measure(tracked(rate, user), tracked(rate, agent), { onsetS, endS }),
};

function tracked(rate, samples) {
  const track = new Track(rate);
  track.feed(Float32Array.from(samples));
  return track;
}

const questions = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(questions.map((question) => ANSWERS[question.ask](question))));
