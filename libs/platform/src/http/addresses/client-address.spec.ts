import { getClientAddress } from './client-address';

describe('the address that a request is counted under', () => {
  const addressOf = (ip: string, remoteAddress = '192.0.2.1') =>
    getClientAddress({ ip, socket: { remoteAddress } as never });

  it.each([
    ['203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['203.0.113.9:51234', '203.0.113.9'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::ffff', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::7]:443', '2001:db8:1:2::/64'],
  ])('a request from %s is counted under %s', (reported, counted) => expect(addressOf(reported)).toBe(counted));

  it.each(['', 'unknown', 'anything at all', '1.2.3', 'x'.repeat(5000)])(
    'a request is counted under the address of its connection if the proxies report %p',
    (reported) => expect(addressOf(reported)).toBe('192.0.2.1'),
  );
});
