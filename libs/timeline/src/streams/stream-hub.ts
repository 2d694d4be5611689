import { Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { type OpenStreams, Periodic, type PubSub, Semaphore } from '@muster/platform';
import { setTimeout as delay } from 'node:timers/promises';
import type { ReaderConnection } from './reader-connection';
import type { StreamRoom } from './stream-room';

export interface HubOptions {
  room: StreamRoom;
  heartbeatMs: number;
  /** How often it looks by itself, for notifications that were lost. */
  lookMs: number;
}

interface HubWords {
  /** Where it is told by their ids what has news. */
  channel: Parameters<PubSub['subscribe']>[0];
  look: string;
  /** What waits while the database is away. */
  waits: string;
}

const readAtOnce = 32;
const beatSlots = 15;

/** Follows what somebody of this process reads: what is told to have news is read once, for all of its streams. */
export abstract class StreamHub<Stream extends ReaderConnection, Source>
  implements OnApplicationBootstrap, OnApplicationShutdown
{
  /** What has news that nobody here has read. */
  protected readonly due = new Set<Source>();
  /** Streams that read by themselves until they have met the others. */
  protected readonly catchUps = new Semaphore(4);
  private readonly logger = new Logger(this.constructor.name);
  private readonly slots = new Map<Stream, number>();
  private readonly look: Periodic;
  private reading = false;
  private complained = false;
  private beats?: NodeJS.Timeout;
  private slot = 0;
  private stopListening?: () => void;

  constructor(
    private readonly pubSub: PubSub,
    private readonly openStreams: OpenStreams,
    private readonly options: HubOptions,
    private readonly words: HubWords,
  ) {
    this.look = new Periodic({ name: words.look, intervalMs: options.lookMs, runOnce: () => this.lookAround() });
  }

  onApplicationBootstrap(): void {
    this.stopListening = this.pubSub.subscribe(this.words.channel, (id) => this.told(id));
    this.look.start();
    this.beats = setInterval(() => this.beat(), Math.ceil(this.options.heartbeatMs / beatSlots));
  }

  async onApplicationShutdown(): Promise<void> {
    this.stopListening?.();
    clearInterval(this.beats);
    await this.look.stop();
  }

  /** Throws where there are too many streams for one more. */
  requireRoom(organizationId: string): void {
    this.options.room.require(organizationId);
  }

  /** There is news of it. */
  protected abstract told(id: string): void;

  /** Marks what has news of which nothing was told. */
  protected abstract lookAround(): Promise<Record<string, number>>;

  /** Reads what is new of them, and sends it to their streams. */
  protected abstract read(sources: Source[]): Promise<void>;

  /** Has room and a beat until it closes. */
  protected keep(stream: Stream, leave: () => void): void {
    this.slots.set(stream, this.slot);
    const leaveRoom = this.options.room.take(stream.organizationId);
    const takeOff = this.openStreams.add(() => stream.end());
    stream.onceClosed(() => {
      takeOff();
      leaveRoom();
      this.slots.delete(stream);
      leave();
    });
  }

  protected markDue(source: Source): void {
    this.due.add(source);
    if (this.reading) return;
    this.reading = true;
    // What is told in one go is read in one go.
    setImmediate(() => void this.readDue());
  }

  /** After a fault there is a pause. */
  protected async attempt(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      this.complain(error as Error);
      await delay(this.options.lookMs, undefined, { ref: false });
    }
  }

  /** One reading at a time, of many sources. After one that failed the next look finds what is due. */
  private async readDue(): Promise<void> {
    try {
      while (this.due.size > 0) {
        const some = [...this.due].slice(0, readAtOnce);
        for (const source of some) this.due.delete(source);
        await this.read(some);
        this.complained = false;
      }
    } catch (error) {
      this.due.clear();
      this.complain(error as Error);
    } finally {
      this.reading = false;
    }
  }

  /** The streams take turns, so that thousands of them don't all speak at once. */
  private beat(): void {
    this.slot = (this.slot + 1) % beatSlots;
    for (const [stream, slot] of this.slots) if (slot === this.slot) stream.beat();
  }

  private complain(error: Error): void {
    if (!this.complained) this.logger.warn(`${this.words.waits} wait for the database: ${error.message}`);
    this.complained = true;
  }
}
