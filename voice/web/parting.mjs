// What it means that the line broke, in words for people, and how soon to try again. Pure.

const FIRST_MS = 500;
const LONGEST_MS = 10_000;

/** Whether there is any point in trying again, and what to tell. `reached`: the server answers other requests. */
export function explain({ code, opened, reached, reason = "" }) {
  if (code === 1013) return { again: true, says: `The server is full: ${reason || "try again later"}.` };
  if (code === 1008) return { again: false, says: `The server ended the conversation: ${reason || "not allowed"}.` };
  if (code === 1011) return { again: true, says: `Something failed in the server: ${reason || "no reason given"}.` };
  if (code === 1001) return { again: true, says: "The server is shutting down." };
  if (code === 4000) return { again: true, says: "The line is too slow to carry the sound." };
  if (code === 1000 && reason) return { again: false, says: `The server ended the conversation: ${reason}.` };
  if (opened) return { again: true, says: "The connection to the server was lost." };
  if (reached) return { again: false, says: "The server is there, but refuses this page. Does it ask for a token?" };
  return { again: true, says: "The server can't be reached." };
}

/** Each failure doubles the wait, and chance spreads it, lest all pages come back at the same moment. */
export function backoffMs(failures, chance) {
  const wait = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.max(0, failures - 1));
  return wait * (0.75 + 0.5 * chance);
}
