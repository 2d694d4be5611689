import type { OutgoingMessage } from 'node:http';
import type { LastingAccess } from '@muster/access';

/** As much as a reader may leave lying in its connection before it is let go. */
const maxUnreadBytes = 1024 * 1024;

export interface ReaderOptions {
  organizationId: string;
  connection: OutgoingMessage;
  access: LastingAccess;
}

/** A reader of events who stays: what it leaves lying is bounded, and so is for how long. */
export class ReaderConnection {
  readonly organizationId: string;
  private readonly connection: OutgoingMessage;
  private readonly access: LastingAccess;
  private beats = 0;
  private stalledAtLastBeat = false;

  constructor({ organizationId, connection, access }: ReaderOptions) {
    this.organizationId = organizationId;
    this.connection = connection;
    this.access = access;
    connection.on('drain', () => (this.stalledAtLastBeat = false));
    connection.on('error', () => undefined);
    connection.once(
      'close',
      access.onChange(() => void this.checkAccess()),
    );
  }

  get open(): boolean {
    return !this.connection.destroyed && !this.connection.writableEnded;
  }

  onceClosed(work: () => void): void {
    this.connection.once('close', work);
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
    this.connection.write(this.comment());
    this.beats += 1;
    if (this.beats % 2 === 0) void this.checkAccess();
  }

  end(): void {
    if (!this.open) return;
    this.connection.end();
    // Who does not read cannot hold up the end.
    if (this.connection.writableLength > 0) setTimeout(() => this.connection.destroy(), 1000).unref();
  }

  protected comment(): string {
    return ': still here\n\n';
  }

  /** False where nobody has it. */
  protected write(bytes: Buffer | string): boolean {
    if (!this.open) return false;
    // It comes again with its Last-Event-ID and reads on from the database, at its own pace.
    if (this.connection.writableLength > maxUnreadBytes) {
      this.connection.destroy();
      return false;
    }
    this.connection.write(bytes);
    return true;
  }

  private async checkAccess(): Promise<void> {
    // If the database does not answer, the reader stays and a later beat checks again.
    if (!(await this.access.holds().catch(() => true))) this.end();
  }
}
