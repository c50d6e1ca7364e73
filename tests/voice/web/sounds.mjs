// Tracks made of stretches: `tracked(16000, [[0.5, ROOM], [1.0, VOICE]])`.

import { Track } from "../../../voice/web/track.mjs";

export const SILENT = 0;
export const ROOM = 0.0003;
export const VOICE = 0.2;

export function tracked(rateHz, stretches) {
  const track = new Track(rateHz);
  for (const [seconds, level] of stretches) track.feed(wave(Math.round(seconds * rateHz), level));
  return track;
}

/** Alternating signs: as loud in every block as in any other. */
export function wave(count, level) {
  return Float32Array.from({ length: count }, (_, index) => (index % 2 ? -level : level));
}
