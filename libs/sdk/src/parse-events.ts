export interface EventPiece {
  /** Data of the event. Absent if the stream only sends an id or a retry time. */
  data?: string;
  /** Id of the event, if the stream sent one. */
  id?: string;
  /** Time to wait before reconnecting, if the stream sent one. */
  retryMs?: number;
}

/** Parses server-sent events from text that arrives in arbitrary chunks. */
export class EventParser {
  private rest = '';
  private data: string[] = [];
  private piece: EventPiece = {};

  *parseText(text: string): Generator<EventPiece> {
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop()!;
    for (const line of lines) {
      if (this.parseLine(line.endsWith('\r') ? line.slice(0, -1) : line)) continue;
      const piece = this.data.length ? { ...this.piece, data: this.data.join('\n') } : this.piece;
      this.data = [];
      this.piece = {};
      if (Object.keys(piece).length) yield piece;
    }
  }

  /** Parses one line. Returns false at the end of an event. */
  private parseLine(line: string): boolean {
    if (line === '') return false;
    const colon = line.indexOf(':');
    const [field, value] = colon < 0 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
    if (field === 'data') this.data.push(value);
    else if (field === 'id') this.piece.id = value;
    else if (field === 'retry' && /^\d+$/.test(value)) this.piece.retryMs = Number(value);
    return true;
  }
}
