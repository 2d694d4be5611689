/** Delay before a process that died is started again. It doubles with each death within a minute, up to 10 s. */
export class Backoff {
  private deaths: number[] = [];

  computeNextDelay(now = Date.now()): number {
    this.deaths = [...this.deaths.filter((at) => now - at < 60_000), now];
    return Math.min(250 * 2 ** this.deaths.length, 10_000);
  }

  resetBackoff(): void {
    this.deaths = [];
  }
}
