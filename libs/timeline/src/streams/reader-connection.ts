import type { OutgoingMessage } from 'node:http';
import type { LastingAccess } from '@muster/access';

/** Number of unread bytes above which the connection of a reader is closed. */
const maxUnreadBytes = 1024 * 1024;

export interface ReaderOptions {
  organizationId: string;
  connection: OutgoingMessage;
  access: LastingAccess;
}

/** The connection of one event stream. A reader that reads too slowly, or not at all, is disconnected. */
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

  runOnceClosed(work: () => void): void {
    this.connection.once('close', work);
  }

  /** Resolves when the connection can take more data or is closed. */
  async waitUntilDrained(): Promise<void> {
    if (!this.open || !this.connection.writableNeedDrain) return;
    await new Promise<void>((resolve) => {
      const finishWait = () => {
        this.connection.off('drain', finishWait).off('close', finishWait);
        resolve();
      };
      this.connection.on('drain', finishWait).on('close', finishWait);
    });
  }

  /**
   * Sends a comment as a heartbeat; with every second heartbeat, checks the reader's access. Closes the connection if
   * the reader has read nothing since the last heartbeat.
   */
  sendHeartbeat(): void {
    if (!this.open) return;
    const stalled = this.connection.writableNeedDrain;
    if (stalled && this.stalledAtLastBeat) return void this.connection.destroy();
    this.stalledAtLastBeat = stalled;
    this.connection.write(this.buildHeartbeatComment());
    this.beats += 1;
    if (this.beats % 2 === 0) void this.checkAccess();
  }

  end(): void {
    if (!this.open) return;
    this.connection.end();
    // The connection is destroyed and not only ended, because a client that does not read would delay its end.
    if (this.connection.writableLength > 0) setTimeout(() => this.connection.destroy(), 1000).unref();
  }

  protected buildHeartbeatComment(): string {
    return ': still here\n\n';
  }

  /** Writes text to the reader. Returns false if the connection is closed. */
  write(bytes: Buffer | string): boolean {
    if (!this.open) return false;
    // The client will reconnect with its Last-Event-ID and catch up from the database as fast as it reads.
    if (this.connection.writableLength > maxUnreadBytes) {
      this.connection.destroy();
      return false;
    }
    this.connection.write(bytes);
    return true;
  }

  private async checkAccess(): Promise<void> {
    // If the database does not answer, the reader stays connected, and a later heartbeat checks the access again.
    if (!(await this.access.holds().catch(() => true))) this.end();
  }
}
