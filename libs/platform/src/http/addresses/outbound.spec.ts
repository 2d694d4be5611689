import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Outbound, OutboundFailed, OutboundRefused } from './outbound';

describe('outbound calls', () => {
  let server: Server;
  let port: number;
  let requests: string[] = [];
  const open = new Outbound(['127.0.0.0/8', '::1', 'localhost']);
  const shut = new Outbound([]);

  beforeAll(async () => {
    server = createServer((request, response) => {
      requests.push(`${request.method} ${request.url} ${request.socket.remotePort}`);
      if (request.url === '/redirect') response.writeHead(302, { location: '/elsewhere' }).end();
      else if (request.url === '/hang') return;
      else if (request.url === '/large') response.end(Buffer.alloc(1024 * 1024 + 1));
      else if (request.url === '/trickle') response.write('a');
      else request.pipe(response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => {
    open.onApplicationShutdown();
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => (requests = []));

  it('outbound calls send a body and return the response, several calls on one connection', async () => {
    const post = { url: `http://127.0.0.1:${port}/echo`, method: 'POST', body: '{"a":"ü"}' };
    for (let i = 0; i < 3; i += 1) {
      const { status, body } = await open.fetchBounded(post);
      expect([status, body.toString()]).toEqual([200, '{"a":"ü"}']);
    }
    expect(new Set(requests).size).toBe(1);
  });

  it.each([
    ['loopback', '127.0.0.1'],
    ['loopback as a decimal', '2130706433'],
    ['loopback as hex', '0x7f.0.0.1'],
    ['loopback as octal', '0177.0.0.1'],
    ['loopback, shortened', '127.1'],
    ['loopback in other digits', '①②⑦.0.0.1'],
    ['unspecified', '0.0.0.0'],
    ['IPv6 loopback', '[::1]'],
    ['IPv6 unspecified', '[::]'],
    ['IPv4 mapped to IPv6', '[::ffff:127.0.0.1]'],
    ['IPv4 mapped to IPv6, as hex', '[::ffff:7f00:1]'],
    ['IPv4 compatible', '[::127.0.0.1]'],
    ['IPv4 translated', '[::ffff:0:127.0.0.1]'],
    ['NAT64', '[64:ff9b::10.0.0.1]'],
    ['6to4', '[2002:7f00:1::]'],
    ['teredo', '[2001:0:7f00:1::]'],
    ['unique local', '[fd00:ec2::254]'],
    ['link local', '[fe80::1]'],
    ['site local', '[fec0::1]'],
    ['documentation', '[2001:db8::1]'],
    ['cloud metadata', '169.254.169.254'],
    ['private', '10.0.0.1'],
    ['private', '172.16.0.1'],
    ['private', '192.168.1.1'],
    ['carrier grade', '100.64.0.1'],
    ['benchmarks', '198.18.0.1'],
    ['multicast', '224.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['reserved', '240.0.0.1'],
    ['a name of this machine', 'localhost'],
  ])('outbound calls never reach %s (%s)', async (_, host) => {
    await expect(shut.fetchBounded({ url: `http://${host}:${port}/` })).rejects.toBeInstanceOf(OutboundRefused);
    await expect(shut.checkAddress(`http://${host}:${port}/`)).rejects.toBeInstanceOf(OutboundRefused);
    expect(requests).toEqual([]);
  });

  it.each(['ftp://example.com/', 'file:///etc/passwd', 'gopher://example.com', 'http://', 'nonsense', 'javascript:1'])(
    'outbound calls refuse the URL %s',
    async (url) => {
      await expect(shut.fetchBounded({ url })).rejects.toBeInstanceOf(OutboundRefused);
    },
  );

  it('outbound calls refuse credentials in a URL', async () => {
    await expect(open.fetchBounded({ url: `http://a:b@127.0.0.1:${port}/` })).rejects.toBeInstanceOf(OutboundRefused);
  });

  it('outbound calls refuse a name that resolves to a private address after a successful check', async () => {
    let lookups = 0;
    const rebinding = new Outbound([], () => {
      lookups += 1;
      return Promise.resolve([{ address: lookups === 1 ? '93.184.216.34' : '127.0.0.1', family: 4 }]);
    });
    await rebinding.checkAddress('http://rebind.test/');
    await expect(rebinding.fetchBounded({ url: `http://rebind.test:${port}/` })).rejects.toBeInstanceOf(
      OutboundRefused,
    );
    expect(requests).toEqual([]);
  });

  it('outbound calls never use a private address of a name that also has allowed addresses', async () => {
    const mixed = new Outbound(['192.0.2.0/24'], () =>
      Promise.resolve([
        { address: '127.0.0.1', family: 4 },
        { address: '192.0.2.1', family: 4 },
      ]),
    );
    const call = mixed.fetchBounded({ url: `http://mixed.test:${port}/`, timeoutMs: 300 });
    await expect(call).rejects.toBeInstanceOf(OutboundFailed);
    expect(requests).toEqual([]);
  });

  it('outbound calls reach only hosts, addresses and ranges that the deployment allows', async () => {
    const byHost = new Outbound(['localhost']);
    expect((await byHost.fetchBounded({ url: `http://LOCALHOST:${port}/` })).status).toBe(200);
    await expect(byHost.fetchBounded({ url: `http://127.0.0.1:${port}/` })).rejects.toBeInstanceOf(OutboundRefused);
    const byAddress = new Outbound(['127.0.0.1']);
    expect((await byAddress.fetchBounded({ url: `http://[::ffff:127.0.0.1]:${port}/` })).status).toBe(200);
    await expect(byAddress.fetchBounded({ url: `http://127.0.0.2:${port}/` })).rejects.toBeInstanceOf(OutboundRefused);
    expect(() => new Outbound(['10.0.0.0/99'])).toThrow(/OUTBOUND_ALLOW/);
    byHost.onApplicationShutdown();
    byAddress.onApplicationShutdown();
  });

  it('outbound calls reach an internal address only if the caller who named it is on that host', async () => {
    const named = new Outbound(['127.0.0.0/8', 'localhost', '10.0.0.0/8'], () =>
      Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
    );
    const call = (host: string, namedFrom: string | null) =>
      named.fetchBounded({ url: `http://${host}:${port}/`, namedFrom });
    for (const host of ['127.0.0.1', 'localhost', 'near.localhost']) {
      expect((await call(host, '127.0.0.1')).status).toBe(200);
      expect((await call(host, '::ffff:127.0.0.1')).status).toBe(200);
      for (const from of ['203.0.113.9', '10.0.0.7', null, 'nonsense']) {
        await expect(call(host, from)).rejects.toBeInstanceOf(OutboundRefused);
      }
    }
    await expect(call('10.0.0.7', '10.0.0.8')).rejects.toBeInstanceOf(OutboundRefused);
    expect(requests).toHaveLength(6);
    named.onApplicationShutdown();
  });

  it('outbound calls do not follow redirects', async () => {
    expect((await open.fetchBounded({ url: `http://127.0.0.1:${port}/redirect` })).status).toBe(302);
    expect(requests).toHaveLength(1);
  });

  it('outbound calls time out if no response or only a part of it arrives', async () => {
    for (const path of ['/hang', '/trickle']) {
      const call = open.fetchBounded({ url: `http://127.0.0.1:${port}${path}`, timeoutMs: 200 });
      await expect(call).rejects.toThrow('no answer within 200 ms');
    }
  });

  it('outbound calls fail if the response is larger than 1 MiB', async () => {
    await expect(open.fetchBounded({ url: `http://127.0.0.1:${port}/large` })).rejects.toThrow(/longer than/);
  });

  it('outbound calls fail if no server listens', async () => {
    await expect(open.fetchBounded({ url: 'http://127.0.0.1:1/' })).rejects.toBeInstanceOf(OutboundFailed);
  });

  it('outbound calls are repeated on a new connection if the reused connection was closed', async () => {
    await open.fetchBounded({ url: `http://127.0.0.1:${port}/` });
    server.closeIdleConnections();
    expect((await open.fetchBounded({ url: `http://127.0.0.1:${port}/` })).status).toBe(200);
  });
});
