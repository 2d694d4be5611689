import type { Database } from '@muster/database';
import type { OpenStreams, PubSub } from '@muster/platform';
import { type HubOptions, StreamHub } from '../streams/stream-hub';
import { formatEventFrames } from './event-frame';
import { type EventCursor, encodeEventCursor } from './event-cursor';
import type { EventStream } from './event-stream';
import { type EventPage, readEventPages, type Reading } from './read-events';

type Group = Reading & { streams: EventStream[] };

/**
 * Sends new events to the open organization streams of this process. Each stream has its own cursor and gets the events
 * after the cursor, so no event is lost or sent twice. One read serves all streams with the same cursor. The streams
 * that are up to date are read with one snapshot, so they have the same cursor afterwards.
 */
export class EventHub extends StreamHub<EventStream, string> {
  private readonly followed = new Map<string, Set<EventStream>>();

  constructor(
    private readonly database: Database,
    pubSub: PubSub,
    openStreams: OpenStreams,
    options: HubOptions,
  ) {
    const labels = {
      channel: 'organization',
      look: 'read new events of organizations',
      waits: 'events of organizations',
    } as const;
    super(pubSub, openStreams, options, labels);
  }

  /** Adds a stream and sends events to it until it closes. */
  addStream(stream: EventStream): void {
    const { organizationId } = stream;
    const streams = this.followed.get(organizationId) ?? new Set();
    this.followed.set(organizationId, streams.add(stream));
    this.keepStreamUntilClosed(stream, () => {
      streams.delete(stream);
      if (streams.size === 0) this.followed.delete(organizationId);
    });
    void this.catchStreamUp(stream);
  }

  protected override handleNotification(organizationId: string): void {
    if (this.followed.has(organizationId)) this.markSourceDue(organizationId);
  }

  protected override findMissedEntries(): Promise<Record<string, number>> {
    for (const id of this.followed.keys()) this.markSourceDue(id);
    return Promise.resolve({});
  }

  protected override async readSources(organizationIds: string[]): Promise<void> {
    const groups = organizationIds.flatMap((id) => this.groupStreamsByCursor(id));
    if (groups.length === 0) return;
    const pages = await readEventPages(this.database, groups);
    for (const [at, group] of groups.entries()) this.sendPageToGroup(group, pages[at]!);
  }

  /** Sends page after page, as fast as the reader reads, until the stream is up to date. */
  private async catchStreamUp(stream: EventStream): Promise<void> {
    const { organizationId } = stream;
    for (let isFull = true; stream.open && isFull;) {
      await this.runAndLogFailure(async () => {
        const { cursor } = stream;
        const [page] = await this.catchUps.runInTurn(() => readEventPages(this.database, [{ organizationId, cursor }]));
        stream.sendFrames(formatEventFrames(cursor, page!), page!.next);
        isFull = page!.isFull;
        await stream.waitUntilDrained();
      });
    }
    stream.live = true;
    // Notifications that arrived while the stream was catching up were handled only for live streams. So the stream is
    // read once more.
    this.handleNotification(organizationId);
  }

  /**
   * Groups the organization's live streams by cursor. Usually there is one group; a stream that has just become live
   * may be in another.
   */
  private groupStreamsByCursor(organizationId: string): Group[] {
    const groups = new Map<string, Group>();
    for (const stream of this.followed.get(organizationId) ?? []) {
      if (!stream.live) continue;
      const name = encodeEventCursor(stream.cursor);
      const group = groups.get(name) ?? { organizationId, cursor: stream.cursor, streams: [] };
      groups.set(name, group);
      group.streams.push(stream);
    }
    return [...groups.values()];
  }

  private sendPageToGroup({ organizationId, cursor, streams }: Group, page: EventPage): void {
    const frames = formatEventFrames(cursor, page);
    for (const stream of streams) if (isAtCursor(stream, cursor)) stream.sendFrames(frames, page.next);
    if (page.isFull) this.due.add(organizationId);
  }
}

function isAtCursor(stream: EventStream, cursor: EventCursor): boolean {
  return stream.cursor === cursor || encodeEventCursor(stream.cursor) === encodeEventCursor(cursor);
}
