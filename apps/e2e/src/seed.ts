/** Returns a pseudo-random generator. The same seed gives the same numbers, so a failed run can be repeated. */
export function createSeededRandom(seed = Number(process.env['MUSTER_SEED'] ?? Date.now() % 1_000_000)) {
  let state = seed;
  const nextRandom = () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    const mixed = Math.imul(state ^ (state >>> 12), 0x297a2d39);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
  return { seed, between: (low: number, high: number) => low + Math.floor(nextRandom() * (high - low + 1)) };
}
