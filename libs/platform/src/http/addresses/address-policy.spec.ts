import { AddressPolicy, checkOutboundList, isAddressOfHost, isWithinRanges } from './address-policy';

describe('the addresses that the service may call', () => {
  it.each([
    ['93.184.215.14', true],
    ['2606:2800:21f:cb07:6820:80da:af6b:8b2c', true],
    ['127.0.0.1', false],
    ['10.1.2.3', false],
    ['169.254.169.254', false],
    ['::1', false],
    ['fe80::1', false],
    ['fd00::1', false],
    ['::ffff:10.1.2.3', false],
    ['::ffff:93.184.215.14', true],
    ['64:ff9b::a01:203', false],
    ['4000::1', false],
    ['localhost', false],
  ])('whether %s is public is %s', (address, isPublic) => {
    expect(new AddressPolicy([]).isPublic(address)).toBe(isPublic);
    expect(new AddressPolicy([]).allowsAddress(address)).toBe(isPublic);
  });

  it.each<[string, string, string | undefined, boolean]>([
    ['10.0.0.0/8', '10.255.0.1', undefined, true],
    ['10.0.0.0/8', '192.168.0.1', undefined, false],
    ['10.0.0.0/8', '::ffff:10.0.0.1', undefined, true],
    ['10.1.2.3', '10.1.2.3', undefined, true],
    ['10.1.2.3', '10.1.2.4', undefined, false],
    ['fd00::1', 'fd00::1', undefined, true],
    ['fd00::1', 'fd00::2', undefined, false],
    ['::ffff:10.0.0.0/104', '10.9.9.9', undefined, true],
    ['::ffff:10.1.2.3', '10.1.2.3', undefined, true],
    ['Portal.Example.', '10.1.2.3', 'portal.example', true],
    ['portal.example', '10.1.2.3', 'portal.example.', true],
    ['portal.example', '10.1.2.3', 'other.portal.example', false],
    ['portal.example', '10.1.2.3', undefined, false],
  ])('with %s allowed, whether %s of the host %s may be called is %s', (entry, address, host, allowed) => {
    expect(new AddressPolicy([entry]).allowsAddress(address, host)).toBe(allowed);
  });

  it('each entry of OUTBOUND_ALLOW must be a host, an address or a range', () => {
    const right = ['a.example', 'a_b', '10.0.0.1', '10.0.0.0/8', '::1', 'fd00::/8', 'a.example.'];
    expect(checkOutboundList(right)).toEqual([]);
    const wrong = ['a b', 'https://a.example', '10.0.0.0/33', 'a..b', ''];
    expect(checkOutboundList(wrong)).toHaveLength(wrong.length);
    expect(() => new AddressPolicy(wrong)).toThrow('OUTBOUND_ALLOW');
  });

  it('an IPv4 address is within ranges of IPv4 only, also if it is written as an IPv6 address', () => {
    expect(isWithinRanges('10.1.2.3', ['::/0'])).toBe(false);
    expect(isWithinRanges('10.1.2.3', ['fd00::/8', '10.1.0.0/16'])).toBe(true);
    expect(isWithinRanges('::ffff:10.1.2.3', ['10.1.2.3'])).toBe(true);
    expect(isWithinRanges('nonsense', ['0.0.0.0/0'])).toBe(false);
  });

  it.each([
    ['203.0.113.7', '203.0.113.7', true],
    ['203.0.113.7', '::ffff:203.0.113.7', true],
    ['203.0.113.7', '203.0.113.8', false],
    ['127.0.0.1', '::1', true],
    ['127.0.0.1', '203.0.113.8', false],
    ['203.0.113.7', null, false],
    ['nonsense', '203.0.113.7', false],
  ])('whether the address %s is on the host of the caller %s is %s', (address, from, belongs) => {
    expect(isAddressOfHost(address, from)).toBe(belongs);
  });
});
