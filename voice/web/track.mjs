// How loud one side of the conversation was, in blocks of 5 ms, over its last five minutes. Pure.
//
// The page keeps levels and not sound: that is all its gaps need, and nobody's voice lies around. Sample 0 of both
// tracks is the first sample that was sent over this connection, so both share one clock: the sound card's.

export const AUDIBLE_DB = -45;
export const BLOCKS_PER_S = 200;
const KEPT = 300 * BLOCKS_PER_S;
const AUDIBLE = 10 ** (AUDIBLE_DB / 20);
const NONE = 0xffff;

export class Track {
  constructor(rateHz) {
    this.rateHz = rateHz;
    /** Samples so far, and whole blocks so far. */
    this.samples = 0;
    this.blocks = 0;
    this.powers = new Float32Array(KEPT);
    this.firsts = new Uint16Array(KEPT);
    this.begin();
  }

  /** The sample at which a block begins: at 44.1 kHz they are not all of one length, and must not drift. */
  startOf(block) {
    return Math.floor((block * this.rateHz) / BLOCKS_PER_S);
  }

  blockOf(sample) {
    const block = Math.floor((sample * BLOCKS_PER_S) / this.rateHz);
    return this.startOf(block + 1) <= sample ? block + 1 : block;
  }

  feed(samples) {
    for (const sample of samples) {
      if (this.first === NONE && Math.abs(sample) > AUDIBLE) this.first = this.samples - this.start;
      this.energy += sample * sample;
      this.samples += 1;
      if (this.samples === this.end) this.close();
    }
  }

  /** The mean square of a block; undefined where it has been forgotten or is not there yet. */
  power(block) {
    return block < 0 || block >= this.blocks || block < this.blocks - KEPT ? undefined : this.powers[block % KEPT];
  }

  /** Whether the block can be heard. */
  audible(block) {
    return (this.power(block) ?? 0) > AUDIBLE ** 2;
  }

  /** The first sample of an audible block that is itself above the level. */
  firstOf(block) {
    return this.startOf(block) + this.firsts[block % KEPT];
  }

  begin() {
    this.start = this.startOf(this.blocks);
    this.end = this.startOf(this.blocks + 1);
    this.energy = 0;
    this.first = NONE;
  }

  close() {
    this.powers[this.blocks % KEPT] = this.energy / (this.end - this.start);
    this.firsts[this.blocks % KEPT] = this.first;
    this.blocks += 1;
    this.begin();
  }
}

/** Mean square as dBFS; digital silence counts as -100. */
export function decibels(power) {
  return 10 * Math.log10(Math.max(power, 1e-10));
}
