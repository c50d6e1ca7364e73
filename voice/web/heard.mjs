// The gap of a turn as this page recorded it, to be set beside the one that the server reports. Pure.
//
// From the last voiced sample that the microphone gave to the first audible sample that went to the loudspeaker, both
// counted by the same sound card. The definitions are the server's:
//
// * last voiced: the end of the last 10 ms block, from 0.4 s before to 0.3 s after where the server puts the end of the
//   speech, whose level is above both the noise floor + 8 dB and the loud parts - 30 dB;
// * first audible: in the first 5 ms block above -45 dBFS, the first sample above that level.
//
// Two errors can part the gaps, and each has its figure: where the speech ended, and the timing, for which both gaps
// are counted from the same sample of the user.

import { BLOCKS_PER_S, decibels } from "./track.mjs";

const BACK_S = 0.4;
const AHEAD_S = 0.3;
const ROOM_S = 1.0; // heard before the onset, for the noise floor
const HOLE = 0.25 * BLOCKS_PER_S; // longer than the pause of a comma: another stretch of the reply

/**
 * Measure the turn that the server reports with `onsetS` and `endS`, in seconds of the audio that it was sent.
 * What is unknown is null. `cutIn`: the reply began before the user had finished, and went on; its gap is negative.
 */
export function measure(microphone, loudspeaker, { onsetS, endS }) {
  const rate = microphone.rateHz;
  if (endS === null || microphone.power(microphone.blockOf(Math.round(onsetS * rate))) === undefined) {
    return { gapMs: null, timingGapMs: null, speechEndErrorMs: null, cutIn: false };
  }
  const believed = Math.round(endS * rate);
  const onset = Math.round(onsetS * rate);
  const reply = firstAudible(loudspeaker, onset, believed);
  const last = lastVoiced(microphone, { onset, near: believed, before: reply.at ?? Infinity }) ?? believed;
  const ms = (samples) => (samples / rate) * 1000;
  return {
    gapMs: reply.at === null ? null : ms(reply.at - last),
    timingGapMs: reply.at === null ? null : ms(reply.at - believed),
    speechEndErrorMs: ms(believed - last),
    cutIn: reply.cutIn,
  };
}

/** The end of the speech near `near`; null where all is quiet. The reply, from `before` on, is not searched. */
export function lastVoiced(track, { onset, near, before }) {
  const tens = (sample) => Math.floor(track.blockOf(Math.max(0, sample)) / 2);
  const from = tens(onset - ROOM_S * track.rateHz);
  const search = tens(near - BACK_S * track.rateHz);
  const end = tens(Math.min(near + AHEAD_S * track.rateHz, before, track.samples));
  const levels = [];
  for (let ten = from; ten < end; ten += 1) levels.push(tenLevel(track, ten));
  const threshold = thresholdDb(percentile(levels, 10), percentile(levels, 95));
  for (let ten = end - 1; ten >= Math.max(search, from); ten -= 1) {
    if (levels[ten - from] > threshold) return track.startOf(2 * (ten + 1));
  }
  return null;
}

/** What a block must exceed to count as voiced; where nothing but speech was heard, loud parts count all the same. */
function thresholdDb(floorDb, loudDb) {
  return Math.max(Math.min(floorDb + 8, loudDb - 3), loudDb - 30);
}

function tenLevel(track, ten) {
  return decibels(((track.power(2 * ten) ?? 0) + (track.power(2 * ten + 1) ?? 0)) / 2);
}

/** Between the two nearest values, as numpy does it. */
function percentile(values, rank) {
  const ordered = [...values].sort((one, other) => one - other);
  const place = ((ordered.length - 1) * rank) / 100;
  const below = ordered[Math.floor(place)];
  return below + (ordered[Math.ceil(place)] - below) * (place % 1);
}

/** The reply to a turn: the first stretch that begins after its end, or one that began within it and went on past it. */
function firstAudible(track, onset, end) {
  let block = track.blockOf(onset);
  let lastLoud = -Infinity;
  for (let before = Math.max(0, block - HOLE); before < block; before += 1) {
    if (track.audible(before)) lastLoud = before; // there before the user began: it was the user who broke in
  }
  let begun = null;
  for (; block < track.blocks; block += 1) {
    if (!track.audible(block)) continue;
    if (block - lastLoud > HOLE) begun = track.firstOf(block);
    lastLoud = block;
    if (begun !== null && track.startOf(block + 1) > end) return { at: begun, cutIn: begun < end };
  }
  return { at: null, cutIn: false };
}
