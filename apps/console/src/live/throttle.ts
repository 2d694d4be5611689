/** Time in ms after which the next run starts even if the previous run has not finished. */
const longestMs = 10_000;

/**
 * Runs an action at once, and then again only when the last run has finished and the pause is over. Any number of calls
 * in between lead to one more run. Cancelling the run in progress with each call instead would mean that no run ever
 * finishes while many events arrive.
 */
export class Throttle {
  private callCount = 0;
  private isBusy = false;
  private isOver = false;

  constructor(
    private readonly act: () => unknown,
    private readonly pauseMs: number,
  ) {}

  requestCall(): void {
    this.callCount += 1;
    if (!this.isBusy) void this.runCalls();
  }

  stopCalls(): void {
    this.isOver = true;
  }

  private async runCalls(): Promise<void> {
    this.isBusy = true;
    for (let done = 0; done !== this.callCount && !this.isOver;) {
      done = this.callCount;
      const answered = Promise.resolve(this.act()).catch(() => undefined);
      await Promise.all([waitMs(this.pauseMs), waitAtMost(longestMs, answered)]);
    }
    this.isBusy = false;
  }
}

function waitMs(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function waitAtMost(ms: number, work: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    void work.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
