import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Muster } from './index';

describe('the log that the SDK reads', () => {
  let server: Server;
  let muster: Muster;
  let requests: URL[];
  /** Returns the response body for a URL. An object is sent as JSON, a string as an event stream. */
  let answer: (url: URL) => object | string;

  beforeEach(async () => {
    requests = [];
    server = createServer((request, response) => {
      const url = new URL(request.url!, 'http://127.0.0.1');
      requests.push(url);
      const body = answer(url);
      const isStream = typeof body === 'string';
      response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
      response.end(isStream ? body : JSON.stringify(body));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    muster = new Muster({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const buildEntries = (...ids: number[]) => ids.map((id) => ({ id: String(id), message: `line ${id}` }));
  const collectIds = async (lines: AsyncIterable<{ id: string }>) => {
    const ids: string[] = [];
    for await (const { id } of lines) ids.push(id);
    return ids.join();
  };

  it('the SDK returns the last log lines of an agent even if a page without lines precedes them', async () => {
    const pages = [
      { entries: buildEntries(9) },
      { entries: [], nextCursor: 'one' },
      { entries: buildEntries(5, 4), nextCursor: 'two' },
      { entries: buildEntries(3, 2), nextCursor: 'three' },
    ];
    answer = () => pages.shift()!;
    expect(await collectIds(muster.agents.logs('a', { lines: 3 }))).toBe('3,4,5');
    expect(requests.slice(1).map(({ searchParams }) => searchParams.get('cursor'))).toEqual([null, 'one', 'two']);
    pages.push({ entries: buildEntries(9) }, { entries: buildEntries(2, 1) });
    expect(await collectIds(muster.agents.logs('a'))).toBe('1,2');
  });

  it('the SDK returns every log line of a run that ends while its lines are being read', async () => {
    let status = 'running';
    const formatEvent = (id: number, data: object) =>
      `id: ${id}\ndata: ${JSON.stringify({ jobId: 'j', timestamp: 1, ...data })}\n\n`;
    const formatLogEvent = (id: number) => formatEvent(id, { type: 'log', level: 'info', message: `line ${id}` });
    answer = ({ pathname, searchParams }) => {
      if (pathname === '/api/jobs/j') return { id: 'j', agentId: 'a', status };
      if (pathname === '/api/agents/a/events')
        return formatLogEvent(2) + formatLogEvent(3) + formatEvent(4, { type: 'job', status });
      if (!searchParams.has('jobId')) return { entries: buildEntries(1) };
      status = 'completed';
      return { entries: buildEntries(1, 2) };
    };
    expect(await collectIds(muster.jobs.logs('j', { follow: true }))).toBe('1,2,3');
  });
});
