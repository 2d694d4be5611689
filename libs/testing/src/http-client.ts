import { Agent, type IncomingMessage, request, type RequestOptions } from 'node:http';

export interface Answer<T = any> {
  status: number;
  headers: Headers;
  body: T;
  text: string;
}

/** Calls an app like its clients: over HTTP, with a cookie or a key. */
export class HttpClient {
  constructor(
    readonly url: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {}

  withKey(key: string): HttpClient {
    return new HttpClient(this.url, { ...this.headers, 'x-api-key': key });
  }

  /** Returns a client with the same credentials for the app at another URL. */
  at(url: string): HttpClient {
    return new HttpClient(url, this.headers);
  }

  with(headers: Record<string, string>): HttpClient {
    return new HttpClient(this.url, { ...this.headers, ...headers });
  }

  /** Signs in and returns a client with the session. */
  async signIn(email: string, password: string): Promise<HttpClient> {
    const answer = await this.post('/api/auth/login', { email, password });
    if (answer.status !== 200) throw new Error(`sign-in of ${email} answered ${answer.status}: ${answer.text}`);
    return this.with({ cookie: answer.headers.get('set-cookie')!.split(';')[0]! });
  }

  get<T = any>(path: string): Promise<Answer<T>> {
    return this.send('GET', path);
  }
  post<T = any>(path: string, body: unknown = {}): Promise<Answer<T>> {
    return this.send('POST', path, body);
  }
  put<T = any>(path: string, body: unknown): Promise<Answer<T>> {
    return this.send('PUT', path, body);
  }
  patch<T = any>(path: string, body: unknown): Promise<Answer<T>> {
    return this.send('PATCH', path, body);
  }
  delete<T = any>(path: string): Promise<Answer<T>> {
    return this.send('DELETE', path);
  }

  /** A body that is text or bytes is sent unchanged. */
  async send<T = any>(method: string, path: string, body?: unknown): Promise<Answer<T>> {
    const bytes = body === undefined ? undefined : encodeRequestBody(body);
    const { status, headers, text } = await sendRequest(new URL(`${this.url}${path}`), {
      method,
      agent,
      headers: {
        ...(bytes === undefined ? {} : { 'content-type': 'application/json', 'content-length': bytes.length }),
        ...this.headers,
      },
      body: bytes,
    });
    const json = /json/.test(headers.get('content-type') ?? '');
    return { status, headers, body: (json ? JSON.parse(text) : text) as T, text };
  }
}

/** Connections are reused, as in a browser or an SDK. */
const agent = new Agent({ keepAlive: true });

function encodeRequestBody(body: unknown): Uint8Array {
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

/**
 * Uses Node's HTTP client instead of `fetch`, because `fetch` takes three times the processor time and tests send many
 * requests.
 */
function sendRequest(
  url: URL,
  { body, ...options }: RequestOptions & { body: Uint8Array | undefined },
): Promise<{ status: number; headers: Headers; text: string }> {
  return new Promise((resolve, reject) => {
    const call = request(url, options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = new TextDecoder().decode(Buffer.concat(chunks));
        resolve({ status: response.statusCode!, headers: collectResponseHeaders(response), text });
      });
    });
    call.on('error', reject);
    call.end(body);
  });
}

function collectResponseHeaders({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2) headers.append(rawHeaders[at]!, rawHeaders[at + 1]!);
  return headers;
}
