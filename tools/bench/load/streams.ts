import { get, type IncomingMessage } from 'node:http';

const ended = '"status":"completed"';

/** Open event streams. Counts the ends of runs that they receive, and the streams that the service closed. */
export class Streams {
  private readonly responses: IncomingMessage[] = [];
  private closing = false;
  endsSeen = 0;
  lost = 0;

  async openAll(urls: string[], headers: Record<string, string>): Promise<void> {
    // Opens the streams in small groups, because the server's backlog of connections is limited.
    for (let at = 0; at < urls.length; at += 50) {
      await Promise.all(urls.slice(at, at + 50).map((url) => this.openOneStream(url, headers)));
    }
  }

  close(): void {
    this.closing = true;
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
        response.on('close', () => (this.lost += this.closing ? 0 : 1));
        resolve();
      }).on('error', reject);
    });
  }

  private parseEvents(text: string): string {
    let from = 0;
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n', from)) {
      const found = text.indexOf(ended, from);
      if (found !== -1 && found < end) this.endsSeen += 1;
      from = end + 2;
    }
    return text.slice(from);
  }
}
