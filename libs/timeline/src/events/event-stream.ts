import type { OrganizationStreamEvent } from '@muster/contracts';
import type { EventFrame } from './event-frame';
import { type EventPlace, writePlace } from './event-place';
import { ReaderConnection, type ReaderOptions } from '../streams/reader-connection';

export interface EventStreamOptions extends ReaderOptions {
  /** The position of the reader. */
  place: EventPlace;
  /** The types of events to send; null for all. */
  types: ReadonlySet<OrganizationStreamEvent['type']> | null;
}

/** One reader of an organization's events. */
export class EventStream extends ReaderConnection {
  /** The position after all events that were sent or skipped because of their type. */
  place: EventPlace;
  /** Whether the stream is up to date and gets new events together with the other streams. */
  live = false;
  private readonly types: EventStreamOptions['types'];
  private said: string;

  constructor({ place, types, ...reader }: EventStreamOptions) {
    super(reader);
    this.place = place;
    this.types = types;
    this.said = writePlace(place);
  }

  send(frames: EventFrame[], place: EventPlace): void {
    const bytes = frames
      .filter(({ type }) => !this.types || this.types.has(type))
      .map(({ text }) => text)
      .join('');
    if (bytes === '' || this.write(bytes)) this.place = place;
  }

  /**
   * Contains the current cursor, so that a reader without events for a long time does not reconnect with an expired
   * one.
   */
  protected override comment(): string {
    const place = writePlace(this.place);
    if (place === this.said) return super.comment();
    this.said = place;
    return `id: ${place}\n${super.comment()}`;
  }
}
