/** An answer that takes longer is no longer waited for. */
const longestMs = 10_000;

/**
 * Does something at once, and again no sooner than its answer is there and the pause over: what was asked for meanwhile
 * is done once more then. Requests that newer ones put an end to would never be answered while there is much to hear.
 */
export class Throttle {
  private asked = 0;
  private isBusy = false;
  private isOver = false;

  constructor(
    private readonly act: () => unknown,
    private readonly pauseMs: number,
  ) {}

  call(): void {
    this.asked += 1;
    if (!this.isBusy) void this.run();
  }

  end(): void {
    this.isOver = true;
  }

  private async run(): Promise<void> {
    this.isBusy = true;
    for (let done = 0; done !== this.asked && !this.isOver;) {
      done = this.asked;
      const answered = Promise.resolve(this.act()).catch(() => undefined);
      await Promise.all([wait(this.pauseMs), Promise.race([answered, wait(longestMs)])]);
    }
    this.isBusy = false;
  }
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
