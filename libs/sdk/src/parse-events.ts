export interface EventPiece {
  /** None, where the stream only says where it is. */
  data?: string;
  /** Its number, and how long to wait before coming back, where the stream said so. */
  id?: string;
  retryMs?: number;
}

/** Server-sent events, out of text that comes in any pieces. */
export class EventParser {
  private rest = '';
  private data: string[] = [];
  private piece: EventPiece = {};

  *push(text: string): Generator<EventPiece> {
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop()!;
    for (const line of lines) {
      if (this.take(line.endsWith('\r') ? line.slice(0, -1) : line)) continue;
      const piece = this.data.length ? { ...this.piece, data: this.data.join('\n') } : this.piece;
      this.data = [];
      this.piece = {};
      if (Object.keys(piece).length) yield piece;
    }
  }

  /** Answers false at the end of an event. */
  private take(line: string): boolean {
    if (line === '') return false;
    const colon = line.indexOf(':');
    const [field, value] = colon < 0 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
    if (field === 'data') this.data.push(value);
    else if (field === 'id') this.piece.id = value;
    else if (field === 'retry' && /^\d+$/.test(value)) this.piece.retryMs = Number(value);
    return true;
  }
}
