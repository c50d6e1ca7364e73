// PCM16, as it goes over the line: little-endian, mono. Pure.

/** Samples from -1 to 1 as bytes; what is louder is clipped, as the server does. */
export function toPcm16(samples) {
  const view = new DataView(new ArrayBuffer(2 * samples.length));
  samples.forEach((sample, index) => {
    const clipped = Math.max(-1, Math.min(1, sample));
    view.setInt16(2 * index, Math.round(clipped * 32767), true);
  });
  return view.buffer;
}

/** Bytes as samples; an odd byte at the end is no sample. */
export function fromPcm16(buffer) {
  const view = new DataView(buffer);
  const samples = new Float32Array(Math.floor(view.byteLength / 2));
  for (let index = 0; index < samples.length; index += 1) {
    samples[index] = view.getInt16(2 * index, true) / 32768;
  }
  return samples;
}
