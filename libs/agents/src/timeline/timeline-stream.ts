import { OutgoingMessage } from 'node:http';

/** As much as a reader may leave lying in its connection before it is let go. */
const maxUnreadBytes = 1024 * 1024;
const comment = Buffer.from(': still here\n\n');

export interface StreamOptions {
  agentId: string;
  organizationId: string;
  /** What its reader has seen. */
  seq: number;
  connection: OutgoingMessage;
  /** Whether the reader may still read; it throws where nobody can tell at the moment. */
  mayStay: () => Promise<boolean>;
}

/** One reader of an agent's timeline. */
export class TimelineStream {
  readonly agentId: string;
  readonly organizationId: string;
  /** The last entry that was sent, or whose absence is known. */
  seq: number;
  /** Has met the hub, and gets what the hub reads. */
  live = false;
  private readonly connection: OutgoingMessage;
  private readonly mayStay: () => Promise<boolean>;
  private beats = 0;
  private stalledAtLastBeat = false;

  constructor({ agentId, organizationId, seq, connection, mayStay }: StreamOptions) {
    this.agentId = agentId;
    this.organizationId = organizationId;
    this.seq = seq;
    this.connection = connection;
    this.mayStay = mayStay;
    connection.on('drain', () => (this.stalledAtLastBeat = false));
    connection.on('error', () => undefined);
  }

  get open(): boolean {
    return !this.connection.destroyed && !this.connection.writableEnded;
  }

  onceClosed(work: () => void): void {
    this.connection.once('close', work);
  }

  send(bytes: Buffer | string, seq: number): void {
    if (!this.open) return;
    // It comes again with its Last-Event-ID and reads on from the database, at its own pace.
    if (this.connection.writableLength > maxUnreadBytes) return void this.connection.destroy();
    this.connection.write(bytes);
    this.seq = seq;
  }

  /** Answers when there is room for more, or nobody to have it. */
  async drained(): Promise<void> {
    if (!this.open || !this.connection.writableNeedDrain) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        this.connection.off('drain', done).off('close', done);
        resolve();
      };
      this.connection.on('drain', done).on('close', done);
    });
  }

  /** A word from time to time, which also finds out who is gone, stands still, or may not read any more. */
  beat(): void {
    if (!this.open) return;
    const stalled = this.connection.writableNeedDrain;
    if (stalled && this.stalledAtLastBeat) return void this.connection.destroy();
    this.stalledAtLastBeat = stalled;
    this.connection.write(comment);
    this.beats += 1;
    if (this.beats % 2 === 0) void this.checkAccess();
  }

  end(): void {
    if (!this.open) return;
    this.connection.end();
    // Who does not read cannot hold up the end.
    if (this.connection.writableLength > 0) setTimeout(() => this.connection.destroy(), 1000).unref();
  }

  private async checkAccess(): Promise<void> {
    // A database that does not answer takes nobody's access away; the next beat asks again.
    if (!(await this.mayStay().catch(() => true))) this.end();
  }
}
