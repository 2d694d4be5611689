import type { Database } from '@muster/database';
import type { OpenStreams, PubSub } from '@muster/platform';
import { type HubOptions, StreamHub } from '../streams/stream-hub';
import { framesOf } from './event-frame';
import { type EventPlace, writePlace } from './event-place';
import type { EventStream } from './event-stream';
import { type EventPage, readEvents, type Reading } from './read-events';

type Group = Reading & { streams: EventStream[] };

/**
 * Follows the organizations that somebody of this process reads. Each stream has a place of its own, and is sent what
 * stands behind it: so there is no gap and no repeat, whoever reads it. Streams at the same place are read for once;
 * what is read for all that are at the end is of one snapshot, so that from then on they are at the same place.
 */
export class EventHub extends StreamHub<EventStream, string> {
  private readonly followed = new Map<string, Set<EventStream>>();

  constructor(
    private readonly database: Database,
    pubSub: PubSub,
    openStreams: OpenStreams,
    options: HubOptions,
  ) {
    const words = { channel: 'organization', look: 'look for events of organizations', waits: 'events' } as const;
    super(pubSub, openStreams, options, words);
  }

  /** Feeds the stream until it closes. */
  add(stream: EventStream): void {
    const { organizationId } = stream;
    const streams = this.followed.get(organizationId) ?? new Set();
    this.followed.set(organizationId, streams.add(stream));
    this.keep(stream, () => {
      streams.delete(stream);
      if (streams.size === 0) this.followed.delete(organizationId);
    });
    void this.catchUp(stream);
  }

  protected override told(organizationId: string): void {
    if (this.followed.has(organizationId)) this.markDue(organizationId);
  }

  protected override lookAround(): Promise<Record<string, number>> {
    for (const id of this.followed.keys()) this.markDue(id);
    return Promise.resolve({});
  }

  protected override async read(organizationIds: string[]): Promise<void> {
    const groups = organizationIds.flatMap((id) => this.groupsOf(id));
    if (groups.length === 0) return;
    const pages = await readEvents(this.database, groups);
    for (const [at, group] of groups.entries()) this.pass(group, pages[at]!);
  }

  /** Page by page at the reader's own pace, until it has all there is. */
  private async catchUp(stream: EventStream): Promise<void> {
    const { organizationId } = stream;
    for (let isFull = true; stream.open && isFull;) {
      await this.attempt(async () => {
        const { place } = stream;
        const [page] = await this.catchUps.run(() => readEvents(this.database, [{ organizationId, place }]));
        stream.send(framesOf(place, page!), page!.next);
        isFull = page!.isFull;
        await stream.drained();
      });
    }
    stream.live = true;
    // What came since then had told others alone.
    this.told(organizationId);
  }

  /** The organization's live streams by the place where they are: one place for all of them, but for who just came. */
  private groupsOf(organizationId: string): Group[] {
    const groups = new Map<string, Group>();
    for (const stream of this.followed.get(organizationId) ?? []) {
      if (!stream.live) continue;
      const name = writePlace(stream.place);
      const group = groups.get(name) ?? { organizationId, place: stream.place, streams: [] };
      groups.set(name, group);
      group.streams.push(stream);
    }
    return [...groups.values()];
  }

  private pass({ organizationId, place, streams }: Group, page: EventPage): void {
    const frames = framesOf(place, page);
    for (const stream of streams) if (isAt(stream, place)) stream.send(frames, page.next);
    if (page.isFull) this.due.add(organizationId);
  }
}

function isAt(stream: EventStream, place: EventPlace): boolean {
  return stream.place === place || writePlace(stream.place) === writePlace(place);
}
