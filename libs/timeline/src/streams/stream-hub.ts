import { Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { type OpenStreams, Periodic, type PubSub, Semaphore } from '@muster/platform';
import { setTimeout as delay } from 'node:timers/promises';
import type { ReaderConnection } from './reader-connection';
import type { StreamRoom } from './stream-room';

export interface HubOptions {
  room: StreamRoom;
  heartbeatMs: number;
  /** Interval in milliseconds at which new entries are polled for, in case a notification is lost. */
  lookMs: number;
}

interface HubLabels {
  /** Redis channel on which the ids of sources with new entries are published. */
  channel: Parameters<PubSub['subscribe']>[0];
  /** Name of the loop that polls for new entries. */
  look: string;
  /** Text that names the new entries in the log line about a failed read. */
  waits: string;
}

const readBatchSize = 32;
const beatSlots = 15;

/**
 * Sends new entries to the open streams of this process. A source is an agent or an organization; its new entries are
 * read once for all of its streams.
 */
export abstract class StreamHub<Stream extends ReaderConnection, Source>
  implements OnApplicationBootstrap, OnApplicationShutdown
{
  /** Sources with new entries that were not read yet. */
  protected readonly due = new Set<Source>();
  /** Limits the concurrent reads for streams that are still catching up. */
  protected readonly catchUps = new Semaphore(4);
  private readonly logger = new Logger(this.constructor.name);
  private readonly slots = new Map<Stream, number>();
  private readonly look: Periodic;
  private reading = false;
  private failureLogged = false;
  private beats?: NodeJS.Timeout;
  private slot = 0;
  private stopListening?: () => void;

  constructor(
    private readonly pubSub: PubSub,
    private readonly openStreams: OpenStreams,
    private readonly options: HubOptions,
    private readonly labels: HubLabels,
  ) {
    this.look = new Periodic({
      name: labels.look,
      intervalMs: options.lookMs,
      runOnce: () => this.findMissedEntries(),
    });
  }

  onApplicationBootstrap(): void {
    this.stopListening = this.pubSub.subscribe(this.labels.channel, (id) => this.handleNotification(id));
    this.look.start();
    this.beats = setInterval(() => this.sendHeartbeats(), Math.ceil(this.options.heartbeatMs / beatSlots));
  }

  async onApplicationShutdown(): Promise<void> {
    this.stopListening?.();
    clearInterval(this.beats);
    await this.look.stop();
  }

  /** Throws if the maximum number of open streams is reached. */
  requireFreeStream(organizationId: string): void {
    this.options.room.requireFreeStreamSlot(organizationId);
  }

  /** Handles a notification that the source with this id has new entries. */
  protected abstract handleNotification(id: string): void;

  /** Finds sources with new entries for which no notification arrived. */
  protected abstract findMissedEntries(): Promise<Record<string, number>>;

  /** Reads the new entries of the sources and sends them to their streams. */
  protected abstract readSources(sources: Source[]): Promise<void>;

  /** Counts the stream and sends heartbeats to it until it closes. */
  protected keepStreamUntilClosed(stream: Stream, leave: () => void): void {
    this.slots.set(stream, this.slot);
    const leaveRoom = this.options.room.takeStreamSlot(stream.organizationId);
    const takeOff = this.openStreams.addStream(() => stream.end());
    stream.runOnceClosed(() => {
      takeOff();
      leaveRoom();
      this.slots.delete(stream);
      leave();
    });
  }

  protected markSourceDue(source: Source): void {
    this.due.add(source);
    if (this.reading) return;
    this.reading = true;
    // Waits one turn of the event loop, so that sources that are notified at the same time are read together.
    setImmediate(() => void this.readDueSources());
  }

  /** Runs a step. If the step fails, logs the error and waits for the poll interval. */
  protected async runAndLogFailure(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      this.logFailure(error as Error);
      await delay(this.options.lookMs, undefined, { ref: false });
    }
  }

  /**
   * Reads the sources with new entries, one batch at a time. If a read fails, the next poll finds these sources again.
   */
  private async readDueSources(): Promise<void> {
    try {
      while (this.due.size > 0) {
        const some = [...this.due].slice(0, readBatchSize);
        for (const source of some) this.due.delete(source);
        await this.readSources(some);
        this.failureLogged = false;
      }
    } catch (error) {
      this.due.clear();
      this.logFailure(error as Error);
    } finally {
      this.reading = false;
    }
  }

  /**
   * Sends heartbeats to a part of the streams at a time, so that the process does not write to thousands of streams at
   * once.
   */
  private sendHeartbeats(): void {
    this.slot = (this.slot + 1) % beatSlots;
    for (const [stream, slot] of this.slots) if (slot === this.slot) stream.sendHeartbeat();
  }

  private logFailure(error: Error): void {
    if (!this.failureLogged) this.logger.warn(`could not read new ${this.labels.waits}; retrying: ${error.message}`);
    this.failureLogged = true;
  }
}
