import { get, type IncomingMessage } from 'node:http';
import { readNow } from './streams-load';

/** Many readers of event streams. They count the received events and measure their age. */
export class Readers {
  private readonly responses: IncomingMessage[] = [];
  private latenciesMs: number[] = [];
  private received = 0;
  private wanted = Infinity;
  private done: () => void = () => undefined;

  async openAll(urls: string[], headers: Record<string, string>): Promise<void> {
    // Opens the streams in small groups, because the server's backlog of connections is limited.
    for (let at = 0; at < urls.length; at += 50) {
      await Promise.all(urls.slice(at, at + 50).map((url) => this.openOneStream(url, headers)));
    }
  }

  /** Starts to count, and resolves when `events` events have arrived. */
  waitForEvents(events: number): Promise<{ seconds: number; latenciesMs: number[] }> {
    const began = performance.now();
    this.received = 0;
    this.latenciesMs = [];
    this.wanted = events;
    return new Promise((resolve) => {
      this.done = () => resolve({ seconds: (performance.now() - began) / 1000, latenciesMs: this.latenciesMs });
    });
  }

  close(): void {
    for (const response of this.responses) response.destroy();
  }

  private openOneStream(url: string, headers: Record<string, string>): Promise<void> {
    return new Promise((resolve, reject) => {
      get(url, { headers, agent: false }, (response) => {
        if (response.statusCode !== 200) return reject(new Error(`${url} answered ${response.statusCode}`));
        this.responses.push(response);
        let rest = '';
        response.setEncoding('latin1');
        response.on('data', (text: string) => (rest = this.parseEvents(rest + text)));
        response.on('error', () => undefined);
        resolve();
      }).on('error', reject);
    });
  }

  private parseEvents(text: string): string {
    const at = readNow();
    let from = 0;
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n', from)) {
      const message = text.indexOf('"message":"', from);
      if (message !== -1 && message < end) {
        this.latenciesMs.push(at - Number.parseFloat(text.slice(message + 11, message + 30)));
        this.received += 1;
      }
      from = end + 2;
    }
    if (this.received >= this.wanted) {
      this.wanted = Infinity;
      this.done();
    }
    return text.slice(from);
  }
}
