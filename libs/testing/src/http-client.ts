export interface Answer<T = any> {
  status: number;
  headers: Headers;
  body: T;
  text: string;
}

/** Calls an app as its clients do: over HTTP, with a cookie or a key. */
export class HttpClient {
  constructor(
    readonly url: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {}

  withKey(key: string): HttpClient {
    return new HttpClient(this.url, { ...this.headers, 'x-api-key': key });
  }

  /** The same caller of another app. */
  at(url: string): HttpClient {
    return new HttpClient(url, this.headers);
  }

  with(headers: Record<string, string>): HttpClient {
    return new HttpClient(this.url, { ...this.headers, ...headers });
  }

  /** Signs in and answers a client that carries the session. */
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

  /** A body that is text or bytes goes out as it is. */
  async send<T = any>(method: string, path: string, body?: unknown): Promise<Answer<T>> {
    const raw = typeof body === 'string' || body instanceof Uint8Array;
    const response = await fetch(`${this.url}${path}`, {
      method,
      redirect: 'manual',
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...this.headers },
      ...(body === undefined ? {} : { body: raw ? (body as string) : JSON.stringify(body) }),
    });
    const text = await response.text();
    const json = /json/.test(response.headers.get('content-type') ?? '');
    return { status: response.status, headers: response.headers, body: (json ? JSON.parse(text) : text) as T, text };
  }
}
