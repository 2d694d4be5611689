import { Agent, request } from 'node:http';

type Headers = Record<string, string>;

/** JSON over connections that are kept; little beside node:http, because whoever asks shares the cores it measures. */
export class HttpClient {
  /** Those at rest are closed before any server asked here would, so that none is used just as it is. */
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 256, timeout: 30_000 });

  post<A>(url: string, body: object, headers: Headers = {}): Promise<A> {
    return this.send(url, 'POST', headers, JSON.stringify(body));
  }

  get<A>(url: string, headers: Headers = {}): Promise<A> {
    return this.send(url, 'GET', headers);
  }

  private send<A>(url: string, method: string, headers: Headers, body?: string): Promise<A> {
    const about =
      body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    return new Promise((resolve, reject) => {
      const sent = request(url, { method, agent: this.agent, headers: { ...headers, ...about } }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('error', reject);
        answer.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          if (answer.statusCode! < 300) resolve(JSON.parse(text) as A);
          else reject(new Error(`${method} ${url} answered ${answer.statusCode}: ${text}`));
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }
}
