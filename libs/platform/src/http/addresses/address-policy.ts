import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

export function isAddressOrRange(word: string): boolean {
  return ipaddr.isValidCIDR(word) || isIP(word) !== 0;
}

/** What of the deployment's list is no host, no address and no CIDR. */
export function outboundFaults(allow: readonly string[]): string[] {
  return allow
    .filter((entry) => !isAddressOrRange(entry) && !/^[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/i.test(entry))
    .map((entry) => `OUTBOUND_ALLOW: ${entry} is not a host, an address or a CIDR`);
}

/** Which addresses the service may call: public ones, and what the deployment names (hosts, addresses, CIDRs). */
export class AddressPolicy {
  private readonly hosts = new Set<string>();
  private readonly ranges: [Address, number][] = [];

  constructor(allow: readonly string[]) {
    const faults = outboundFaults(allow);
    if (faults.length) throw new Error(faults.join('; '));
    for (const entry of allow) {
      if (ipaddr.isValidCIDR(entry) || ipaddr.isValid(entry)) this.ranges.push(rangeOf(entry));
      else this.hosts.add(plainHost(entry));
    }
  }

  isAddress(host: string): boolean {
    return ipaddr.isValid(host);
  }

  isPublic(address: string): boolean {
    return ipaddr.isValid(address) && isPublic(ipaddr.process(address));
  }

  /** Whether this address may be called, as itself or as one of the host's. */
  allows(address: string, host?: string): boolean {
    if (host !== undefined && this.hosts.has(plainHost(host))) return true;
    if (!ipaddr.isValid(address)) return false;
    // An IPv4 address in IPv6's clothes is the IPv4 address.
    const plain = ipaddr.process(address);
    return isPublic(plain) || this.ranges.some((range) => within(plain, range));
  }
}

/** Whether an address is of the host that calls from there: the same one, or both are of this machine. */
export function isOfHost(address: string, from: string | null): boolean {
  if (!from || !ipaddr.isValid(address) || !ipaddr.isValid(from)) return false;
  const [one, other] = [ipaddr.process(address), ipaddr.process(from)];
  return one.toNormalizedString() === other.toNormalizedString() || (isOurs(one) && isOurs(other));
}

function isOurs(address: Address): boolean {
  if (address.range() === 'loopback') return true;
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return own.some(({ address: text }) => ipaddr.process(text).toNormalizedString() === address.toNormalizedString());
}

/** Everything that has a purpose of its own (private, loopback, link-local, mapped, tunnelled, documentation) is not. */
function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4' || address.match(globalUnicast as [ipaddr.IPv4 & ipaddr.IPv6, number]);
}

/** Whether an address is one of these, or in one of these ranges; an IPv4 address in IPv6's clothes is the IPv4 address. */
export function isWithin(address: string, entries: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const plain = ipaddr.process(address);
  return entries.some((entry) => within(plain, rangeOf(entry)));
}

/** A range, or an address as the range of itself; one of IPv4 in IPv6's clothes is the one of IPv4. */
function rangeOf(entry: string): [Address, number] {
  const [base, bits]: [Address, number] = ipaddr.isValidCIDR(entry)
    ? ipaddr.parseCIDR(entry)
    : [ipaddr.parse(entry), entry.includes(':') ? 128 : 32];
  const isMapped = base instanceof ipaddr.IPv6 && base.isIPv4MappedAddress() && bits >= 96;
  return isMapped ? [base.toIPv4Address(), bits - 96] : [base, bits];
}

function within(address: Address, [base, bits]: [Address, number]): boolean {
  return address.kind() === base.kind() && address.match(base as ipaddr.IPv4 & ipaddr.IPv6, bits);
}

function plainHost(host: string): string {
  return host.toLowerCase().replace(/\.$/, '');
}
