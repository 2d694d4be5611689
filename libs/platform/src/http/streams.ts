import { Injectable } from '@nestjs/common';

/** Open responses that never end by themselves. They are ended first at shutdown; closing waits for them else. */
@Injectable()
export class OpenStreams {
  private readonly ends = new Set<() => void>();
  private ended = false;

  get count(): number {
    return this.ends.size;
  }

  /** Answers the function that takes the stream off the list. One that comes after the end is ended at once. */
  add(end: () => void): () => void {
    this.ends.add(end);
    if (this.ended) this.endAll();
    return () => this.ends.delete(end);
  }

  endAll(): void {
    this.ended = true;
    const ends = [...this.ends];
    this.ends.clear();
    for (const end of ends) end();
  }
}
