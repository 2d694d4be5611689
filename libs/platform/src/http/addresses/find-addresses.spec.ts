import { createSocket, type Socket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { Names } from './find-addresses';
import { Outbound, OutboundRefused } from './outbound';

const types = { 1: 'A', 28: 'AAAA' } as const;
type Records = Partial<Record<'A' | 'AAAA', string[]>> | 'silent' | 'none' | 'broken';

describe('the lookup of a host name', () => {
  let server: Socket;
  let servers: string[];
  const zone = new Map<string, Records>();
  const queries: string[] = [];

  beforeAll(async () => {
    server = createSocket('udp4');
    server.on('message', (query, from) => {
      const { name, type, question } = parseDnsQuery(query);
      queries.push(`${type} ${name}`);
      const records = zone.get(name) ?? (name.startsWith('silent') ? 'silent' : 'none');
      if (records === 'silent') return;
      const addresses = typeof records === 'object' && type ? (records[type] ?? []) : [];
      const code = records === 'none' ? 3 : records === 'broken' ? 2 : 0;
      server.send(buildDnsResponse(query, question, code, addresses), from.port, from.address);
    });
    server.bind(0, '127.0.0.1');
    await once(server, 'listening');
    servers = [`127.0.0.1:${server.address().port}`];
  });
  afterAll(() => server.close());
  beforeEach(() => {
    queries.length = 0;
  });

  const names = (more: object = {}) => new Names({ inside: false, servers, ...more });

  it('the lookup of a host name queries both address families and accepts either', async () => {
    zone.set('both.test', { A: ['93.184.216.34', '93.184.216.35'], AAAA: ['2606:2800:220:1::1'] });
    zone.set('six.test', { AAAA: ['2606:2800:220:1::1'] });
    expect(await names().findAddresses('Both.test.')).toEqual([
      { address: '93.184.216.34', family: 4 },
      { address: '93.184.216.35', family: 4 },
      { address: '2606:2800:220:1::1', family: 6 },
    ]);
    expect(await names().findAddresses('six.test')).toEqual([{ address: '2606:2800:220:1::1', family: 6 }]);
  });

  it('a name of this machine is found in the hosts file without a query', async () => {
    expect((await names().findAddresses('LOCALHOST')).map(({ address }) => address)).toContain('127.0.0.1');
    expect(queries).toEqual([]);
  });

  it('the lookup of a host name reports why the name has no address that may be called', async () => {
    zone.set('broken.test', 'broken');
    await expect(names().findAddresses('nobody.test')).rejects.toMatchObject({ code: 'ENOTFOUND' });
    await expect(names().findAddresses('broken.test')).rejects.toMatchObject({ code: 'ESERVFAIL' });
    const outbound = new Outbound([], (hostname) => names().findAddresses(hostname));
    const refused = outbound.checkAddress('https://nobody.test/hook');
    await expect(refused).rejects.toMatchObject({ name: 'OutboundRefused', cause: { code: 'ENOTFOUND' } });
    zone.set('inside.test', { A: ['10.0.0.7'], AAAA: ['fd00::7'] });
    await expect(outbound.checkAddress('https://inside.test/hook')).rejects.toBeInstanceOf(OutboundRefused);
  });

  it('the lookup of an unknown name uses the system’s resolver if internal names are allowed', async () => {
    // The system's resolver reads 127.1 as an IPv4 address.
    expect(await names({ inside: true }).findAddresses('127.1')).toEqual([{ address: '127.0.0.1', family: 4 }]);
    await expect(names().findAddresses('127.1')).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it('the lookup of a host name whose name servers are silent fails in time without delaying other lookups', async () => {
    zone.set('quick.test', { A: ['93.184.216.34'] });
    const silent = Array.from({ length: 40 }, (_, at) => names({ limitMs: 2000 }).findAddresses(`silent-${at}.test`));
    const ended = Promise.allSettled(silent);
    const began = performance.now();
    await Promise.all(Array.from({ length: 40 }, () => names().findAddresses('quick.test')));
    // The slow names occupy no thread of the system's own lookups, so another lookup succeeds at once.
    await Promise.all(Array.from({ length: 8 }, () => lookup('localhost')));
    expect(performance.now() - began).toBeLessThan(1500);
    for (const each of await ended) {
      expect(each).toMatchObject({ status: 'rejected', reason: { code: 'ETIMEOUT' } });
    }
  });

  it('the lookup of a host name returns the addresses of one family if the query for the other is not answered', async () => {
    zone.set('half.test', { A: ['93.184.216.34'] });
    const before = server.listeners('message')[0]!;
    server.removeAllListeners('message');
    server.on('message', (query, from) => {
      if (parseDnsQuery(query).type === 'A') (before as (...args: unknown[]) => void)(query, from);
    });
    try {
      expect(await names().findAddresses('half.test')).toEqual([{ address: '93.184.216.34', family: 4 }]);
    } finally {
      server.removeAllListeners('message');
      server.on('message', before as never);
    }
  });
});

function parseDnsQuery(query: Buffer): { name: string; type?: 'A' | 'AAAA'; question: Buffer } {
  const labels: string[] = [];
  let at = 12;
  for (; query[at] !== 0; at += query[at]! + 1) labels.push(query.toString('latin1', at + 1, at + 1 + query[at]!));
  const code = query.readUInt16BE(at + 1);
  return {
    name: labels.join('.').toLowerCase(),
    type: types[code as keyof typeof types],
    question: query.subarray(12, at + 5),
  };
}

/** Builds the response of a name server: the question again, and a record for each address. */
function buildDnsResponse(query: Buffer, question: Buffer, code: number, addresses: string[]): Buffer {
  const head = Buffer.alloc(12);
  query.copy(head, 0, 0, 2);
  head.writeUInt16BE(0x8180 | code, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(addresses.length, 6);
  const records = addresses.map((address) => {
    const bytes = addressToBytes(address);
    const record = Buffer.alloc(12);
    record.writeUInt16BE(0xc00c, 0);
    record.writeUInt16BE(bytes.length === 4 ? 1 : 28, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt32BE(1, 6);
    record.writeUInt16BE(bytes.length, 10);
    return Buffer.concat([record, bytes]);
  });
  return Buffer.concat([head, question, ...records]);
}

function addressToBytes(address: string): Buffer {
  if (!address.includes(':')) return Buffer.from(address.split('.').map(Number));
  const [before = '', after = ''] = address.split('::');
  const groups = (text: string) => text.split(':').filter(Boolean);
  const zeros = 8 - groups(before).length - groups(after).length;
  const all = [...groups(before), ...Array.from({ length: zeros }, () => '0'), ...groups(after)];
  return Buffer.concat(all.map((word) => Buffer.from(word.padStart(4, '0'), 'hex')));
}
