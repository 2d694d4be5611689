/** Pseudo-random numbers that repeat with the same seed. */
export class SeededRandom {
  constructor(private state: number) {}

  /** Returns a number from 0 to below 1. */
  drawNumber(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  /** Returns a whole number in the range, both ends included. */
  drawInteger(from: number, to: number): number {
    return from + Math.floor(this.drawNumber() * (to - from + 1));
  }

  pickOne<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.drawNumber() * choices.length)]!;
  }

  drawBoolean(probability: number): boolean {
    return this.drawNumber() < probability;
  }
}
