import type { OrganizationStreamEvent } from '@muster/contracts';
import type { EventFrame } from './event-frame';
import { type EventPlace, writePlace } from './event-place';
import { ReaderConnection, type ReaderOptions } from '../streams/reader-connection';

export interface EventStreamOptions extends ReaderOptions {
  /** What its reader has seen. */
  place: EventPlace;
  /** What it wants to hear of; everything unless said. */
  types: ReadonlySet<OrganizationStreamEvent['type']> | null;
}

/** One reader of an organization's events. */
export class EventStream extends ReaderConnection {
  /** What was sent, or passed over as none of its types. */
  place: EventPlace;
  /** It is at the end of what there was, and gets what comes with the other readers. */
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

  /** It takes its place along, so that whoever hears nothing for long doesn't come back with one that is too old. */
  protected override comment(): string {
    const place = writePlace(this.place);
    if (place === this.said) return super.comment();
    this.said = place;
    return `id: ${place}\n${super.comment()}`;
  }
}
