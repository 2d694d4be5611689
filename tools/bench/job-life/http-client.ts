import { Agent, request } from 'node:http';

type Headers = Record<string, string>;

/** JSON over keep-alive connections. It uses only node:http, because the client runs on the cores that are measured. */
export class HttpClient {
  /** Idle sockets are closed earlier than any measured server closes them, so that no request uses a closing socket. */
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
