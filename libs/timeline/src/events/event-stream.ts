import type { OrganizationStreamEvent } from '@muster/contracts';
import type { EventFrame } from './event-frame';
import { type EventCursor, encodeEventCursor } from './event-cursor';
import { ReaderConnection, type ReaderOptions } from '../streams/reader-connection';

export interface EventStreamOptions extends ReaderOptions {
  /** The position of the reader in the organization's events. */
  cursor: EventCursor;
  /** The types of events to send; null for all. */
  types: ReadonlySet<OrganizationStreamEvent['type']> | null;
}

/** The connection of one reader of an organization's events. */
export class EventStream extends ReaderConnection {
  /** The position after all events that were sent, or skipped because of their type. */
  cursor: EventCursor;
  /** Whether the stream is up to date, so that it gets new events together with the other streams. */
  live = false;
  private readonly types: EventStreamOptions['types'];
  private sentCursor: string;

  constructor({ cursor, types, ...reader }: EventStreamOptions) {
    super(reader);
    this.cursor = cursor;
    this.types = types;
    this.sentCursor = encodeEventCursor(cursor);
  }

  sendFrames(frames: EventFrame[], cursor: EventCursor): void {
    const bytes = frames
      .filter(({ type }) => !this.types || this.types.has(type))
      .map(({ text }) => text)
      .join('');
    if (bytes === '' || this.write(bytes)) this.cursor = cursor;
  }

  /**
   * Returns a comment with the current cursor. So a reader that gets no events for a long time does not reconnect with
   * an expired cursor.
   */
  protected override buildHeartbeatComment(): string {
    const cursor = encodeEventCursor(this.cursor);
    if (cursor === this.sentCursor) return super.buildHeartbeatComment();
    this.sentCursor = cursor;
    return `id: ${cursor}\n${super.buildHeartbeatComment()}`;
  }
}
