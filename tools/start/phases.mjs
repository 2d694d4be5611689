/**
 * The phases of a start. A phase that takes longer than `namedAfterMs` is printed while it runs, and again with its
 * time. The times of all phases are stored. Plain JavaScript without dependencies, because it runs before anything is
 * installed.
 */
export class Phases {
  /** @type {[string, number][]} names with milliseconds */
  times = [];
  #say;
  #namedAfterMs;

  /** @param {(line: string) => void} say */
  constructor(say, namedAfterMs = 1000) {
    this.#say = say;
    this.#namedAfterMs = namedAfterMs;
  }

  /**
   * @template T
   * @param {string} name
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  async runPhase(name, work) {
    const began = performance.now();
    let named = false;
    const timer = setTimeout(() => {
      named = true;
      this.#say(`${name} …`);
    }, this.#namedAfterMs);
    try {
      return await work();
    } finally {
      clearTimeout(timer);
      const ms = performance.now() - began;
      this.times.push([name, ms]);
      if (named) this.#say(`${name}: ${(ms / 1000).toFixed(1)} s`);
    }
  }
}
