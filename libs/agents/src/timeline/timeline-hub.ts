import { Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { AppError } from '@muster/contracts';
import type { Database } from '@muster/database';
import { type OpenStreams, Periodic, type PubSub, Semaphore } from '@muster/platform';
import { setTimeout as delay } from 'node:timers/promises';
import { findMoved, type Onward, type Place, readOnward } from './read-onward';
import { frameOf } from './timeline-event';
import type { TimelineStream } from './timeline-stream';

export interface HubOptions {
  maxStreams: number;
  maxStreamsPerOrganization: number;
  heartbeatMs: number;
  /** How often it looks by itself, for notifications that were lost. */
  lookMs: number;
}

interface Followed extends Place {
  streams: Set<TimelineStream>;
}

const agentsAtOnce = 32;
const beatSlots = 15;

/**
 * Follows the timelines that somebody of this process reads. What is new of an agent is read once and written once,
 * for all its streams. A stream that begins further back reads pages of its own until it has met the hub.
 *
 * The one rule: a live stream has all up to the hub's place. It is made live in the same breath in which that was
 * seen, and skips what it has: so there is no gap and no repeat.
 */
export class TimelineHub implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(TimelineHub.name);
  private readonly followed = new Map<string, Followed>();
  private readonly streams = new Map<TimelineStream, number>();
  private readonly streamsOf = new Map<string, number>();
  private readonly due = new Set<Followed>();
  private readonly reads = new Semaphore(4);
  private readonly look: Periodic;
  private reading = false;
  private complained = false;
  private beats?: NodeJS.Timeout;
  private slot = 0;
  private stopListening?: () => void;

  constructor(
    private readonly database: Database,
    private readonly pubSub: PubSub,
    private readonly openStreams: OpenStreams,
    private readonly options: HubOptions,
  ) {
    this.look = new Periodic({
      name: 'look for timeline entries',
      intervalMs: options.lookMs,
      runOnce: () => this.lookAround(),
    });
  }

  onApplicationBootstrap(): void {
    this.stopListening = this.pubSub.subscribe('timeline', (agentId) => this.markDue(this.followed.get(agentId)));
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
    const { maxStreams, maxStreamsPerOrganization } = this.options;
    if ((this.streamsOf.get(organizationId) ?? 0) >= maxStreamsPerOrganization) {
      throw new AppError('rate_limited', {
        detail: `The organization has ${maxStreamsPerOrganization} streams open here; close one of them first.`,
        headers: { 'retry-after': '10' },
      });
    }
    if (this.streams.size >= maxStreams) {
      throw new AppError('service_unavailable', { detail: 'There are too many streams here; try again in a moment.' });
    }
  }

  /** Feeds the stream until it closes. `head` is the newest number known of its agent. */
  add(stream: TimelineStream, head: number): void {
    const { agentId, organizationId } = stream;
    const agent = this.followed.get(agentId) ?? { agentId, seq: head, streams: new Set() };
    this.followed.set(agentId, agent);
    agent.streams.add(stream);
    this.streams.set(stream, this.slot);
    this.streamsOf.set(organizationId, (this.streamsOf.get(organizationId) ?? 0) + 1);
    const takeOff = this.openStreams.add(() => stream.end());
    stream.onceClosed(() => {
      takeOff();
      this.remove(agent, stream);
    });
    // What was written since the head was read had nobody here to tell.
    if (agent.streams.size === 1) this.markDue(agent);
    void this.catchUp(agent, stream);
  }

  private remove(agent: Followed, stream: TimelineStream): void {
    const { agentId, organizationId } = stream;
    agent.streams.delete(stream);
    if (agent.streams.size === 0) {
      this.followed.delete(agentId);
      this.due.delete(agent);
    }
    this.streams.delete(stream);
    const left = this.streamsOf.get(organizationId)! - 1;
    if (left > 0) this.streamsOf.set(organizationId, left);
    else this.streamsOf.delete(organizationId);
  }

  private async catchUp(agent: Followed, stream: TimelineStream): Promise<void> {
    while (stream.open && stream.seq < agent.seq) {
      try {
        const place = { agentId: agent.agentId, seq: stream.seq };
        const read = await this.reads.run(async () => (stream.open ? readOnward(this.database, [place]) : new Map()));
        const onward = read.get(agent.agentId) as Onward | undefined;
        if (onward?.rows.length) stream.send(onward.rows.map(frameOf).join(''), onward.rows.at(-1)!.seq);
        else stream.seq = Math.max(stream.seq, onward?.head ?? agent.seq);
        await stream.drained();
      } catch (error) {
        this.complain(error as Error);
        await delay(this.options.lookMs, undefined, { ref: false });
      }
    }
    stream.live = true;
  }

  private markDue(agent: Followed | undefined): void {
    if (!agent) return;
    this.due.add(agent);
    if (this.reading) return;
    this.reading = true;
    // What is told in one go is read in one go.
    setImmediate(() => void this.readDue());
  }

  /** One reading at a time, of many agents. After one that failed the next look finds what is due. */
  private async readDue(): Promise<void> {
    try {
      while (this.due.size > 0) {
        const agents = [...this.due].slice(0, agentsAtOnce);
        for (const agent of agents) this.due.delete(agent);
        const read = await readOnward(this.database, agents);
        this.complained = false;
        for (const agent of agents) this.pass(agent, read.get(agent.agentId));
      }
    } catch (error) {
      this.due.clear();
      this.complain(error as Error);
    } finally {
      this.reading = false;
    }
  }

  private pass(agent: Followed, onward: Onward | undefined): void {
    if (!onward || onward.head <= agent.seq) return;
    const { rows, head } = onward;
    const before = agent.seq;
    const last = rows.at(-1)?.seq ?? head;
    if (rows.length > 0) {
      const frames = rows.map(frameOf);
      const all = Buffer.from(frames.join(''));
      for (const stream of agent.streams) {
        if (!stream.live || stream.seq >= last) continue;
        // One that met the hub further on has the first of them.
        const frame = stream.seq <= before ? all : frames.filter((_, at) => rows[at]!.seq > stream.seq).join('');
        stream.send(frame, last);
      }
    }
    for (const stream of agent.streams) if (stream.live) stream.seq = Math.max(stream.seq, last);
    agent.seq = last;
    if (last < head && agent.streams.size > 0) this.due.add(agent);
  }

  private async lookAround(): Promise<Record<string, number>> {
    if (this.followed.size === 0) return {};
    const moved = await findMoved(this.database, [...this.followed.values()]);
    for (const agentId of moved) this.markDue(this.followed.get(agentId));
    return {};
  }

  /** The streams take turns, so that thousands of them don't all speak at once. */
  private beat(): void {
    this.slot = (this.slot + 1) % beatSlots;
    for (const [stream, slot] of this.streams) if (slot === this.slot) stream.beat();
  }

  private complain(error: Error): void {
    if (!this.complained) this.logger.warn(`timelines wait for the database: ${error.message}`);
    this.complained = true;
  }
}
