import type { Database } from '@muster/database';
import type { OpenStreams, PubSub } from '@muster/platform';
import { type HubOptions, StreamHub } from './stream-hub';
import {
  findAdvancedTimelines,
  type NextEntries,
  readNextEntries,
  type TimelinePosition,
} from '../entries/read-next-entries';
import { formatTimelineFrame } from '../entries/timeline-event';
import type { TimelineStream } from './timeline-stream';

interface Followed extends TimelinePosition {
  streams: Set<TimelineStream>;
}

/**
 * Sends new entries to the open timeline streams of this process. The new entries of an agent are read and formatted
 * once for all of the agent's streams. A stream that starts at an earlier position reads separate pages until it has
 * reached the hub's position.
 *
 * Invariant: a live stream has received every entry up to the hub's position. `catchStreamUp` compares the positions
 * and sets `live` without an `await` in between, and `sendEntriesToStreams` skips entries that the stream already has. So no
 * entry is lost or sent twice.
 */
export class TimelineHub extends StreamHub<TimelineStream, Followed> {
  private readonly followed = new Map<string, Followed>();

  constructor(
    private readonly database: Database,
    pubSub: PubSub,
    openStreams: OpenStreams,
    options: HubOptions,
  ) {
    super(pubSub, openStreams, options, {
      channel: 'timeline',
      look: 'look for timeline entries',
      waits: 'timeline entries',
    });
  }

  /**
   * Adds a stream and sends entries to it until it closes. `head` is the newest known number of the agent's timeline.
   */
  addStream(stream: TimelineStream, head: number): void {
    const { agentId } = stream;
    const agent = this.followed.get(agentId) ?? { agentId, seq: head, streams: new Set() };
    this.followed.set(agentId, agent);
    agent.streams.add(stream);
    this.keepStreamUntilClosed(stream, () => {
      agent.streams.delete(stream);
      if (agent.streams.size > 0) return;
      this.followed.delete(agentId);
      this.due.delete(agent);
    });
    // If this is the agent's first stream in this process, the process received no notifications for entries that were
    // added after `head` was read, so the timeline is read once.
    if (agent.streams.size === 1) this.markSourceDue(agent);
    void this.catchStreamUp(agent, stream);
  }

  protected override handleNotification(agentId: string): void {
    const agent = this.followed.get(agentId);
    if (agent) this.markSourceDue(agent);
  }

  protected override async findMissedEntries(): Promise<Record<string, number>> {
    if (this.followed.size === 0) return {};
    for (const agentId of await findAdvancedTimelines(this.database, [...this.followed.values()]))
      this.handleNotification(agentId);
    return {};
  }

  protected override async readSources(agents: Followed[]): Promise<void> {
    const read = await readNextEntries(this.database, agents);
    for (const agent of agents) this.sendEntriesToStreams(agent, read.get(agent.agentId));
  }

  private async catchStreamUp(agent: Followed, stream: TimelineStream): Promise<void> {
    while (stream.open && stream.seq < agent.seq) {
      await this.runAndLogFailure(async () => {
        const position = { agentId: agent.agentId, seq: stream.seq };
        const read = await this.catchUps.runInTurn(async () =>
          stream.open ? readNextEntries(this.database, [position]) : new Map<string, NextEntries>(),
        );
        const next = read.get(agent.agentId);
        if (next?.rows.length) stream.sendBytes(next.rows.map(formatTimelineFrame).join(''), next.rows.at(-1)!.seq);
        else stream.seq = Math.max(stream.seq, next?.head ?? agent.seq);
        await stream.waitUntilDrained();
      });
    }
    stream.live = true;
  }

  private sendEntriesToStreams(agent: Followed, next: NextEntries | undefined): void {
    if (!next || next.head <= agent.seq) return;
    const { rows, head } = next;
    const before = agent.seq;
    const last = rows.at(-1)?.seq ?? head;
    if (rows.length > 0) {
      const frames = rows.map(formatTimelineFrame);
      const all = Buffer.from(frames.join(''));
      for (const stream of agent.streams) {
        if (!stream.live || stream.seq >= last) continue;
        // Rows that the stream has received already are skipped: it may have become live at a later position.
        const frame = stream.seq <= before ? all : frames.filter((_, at) => rows[at]!.seq > stream.seq).join('');
        stream.sendBytes(frame, last);
      }
    }
    for (const stream of agent.streams) if (stream.live) stream.seq = Math.max(stream.seq, last);
    agent.seq = last;
    if (last < head && agent.streams.size > 0) this.due.add(agent);
  }
}
