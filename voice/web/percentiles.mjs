// The spread of a figure over the turns so far, by the same rules as the server's reports. Pure.

export const TOO_FEW = "~";

/** The percentile by nearest rank; null of nothing. */
export function percentile(values, rank) {
  const ordered = [...values].sort((one, other) => one - other);
  return ordered.length === 0 ? null : ordered[Math.max(0, Math.ceil((rank * ordered.length) / 100) - 1)];
}

/** Whether so many values are enough for a percentile: at least one of them lies beyond it. */
export function supports(count, rank) {
  return count * (100 - rank) >= 100;
}

/** A percentile for people: whole, marked where there are too few values for it, a dash where there are none. */
export function figure(values, rank) {
  const known = values.filter((value) => value !== null);
  const value = percentile(known, rank);
  if (value === null) return "–";
  return (supports(known.length, rank) ? "" : TOO_FEW) + value.toFixed(0);
}
