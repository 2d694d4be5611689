import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

export function isAddressOrRange(word: string): boolean {
  return ipaddr.isValidCIDR(word) || isIP(word) !== 0;
}

/** Returns an error for each entry of the deployment's list that is not a host, an address or a CIDR. */
export function checkOutboundList(allow: readonly string[]): string[] {
  return allow
    .filter((entry) => !isAddressOrRange(entry) && !/^[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/i.test(entry))
    .map((entry) => `OUTBOUND_ALLOW: ${entry} is not a host, an address or a CIDR`);
}

/**
 * Decides which addresses the service may call: public addresses, and the hosts, addresses and CIDRs of the
 * deployment's list.
 */
export class AddressPolicy {
  private readonly hosts = new Set<string>();
  private readonly ranges: [Address, number][] = [];

  constructor(allow: readonly string[]) {
    const faults = checkOutboundList(allow);
    if (faults.length) throw new Error(faults.join('; '));
    for (const entry of allow) {
      if (ipaddr.isValidCIDR(entry) || ipaddr.isValid(entry)) this.ranges.push(parseAddressRange(entry));
      else this.hosts.add(normalizeHost(entry));
    }
  }

  isAddress(host: string): boolean {
    return ipaddr.isValid(host);
  }

  isPublic(address: string): boolean {
    return ipaddr.isValid(address) && isPublic(ipaddr.process(address));
  }

  /**
   * Whether the service may call the address: because the address itself is allowed, or because it belongs to an
   * allowed host.
   */
  allowsAddress(address: string, host?: string): boolean {
    if (host !== undefined && this.hosts.has(normalizeHost(host))) return true;
    if (!ipaddr.isValid(address)) return false;
    // An IPv4-mapped IPv6 address counts as the IPv4 address.
    const plain = ipaddr.process(address);
    return isPublic(plain) || this.ranges.some((range) => isInRange(plain, range));
  }
}

/**
 * Whether an address belongs to the host that calls from `from`: both addresses are the same, or both belong to this
 * machine.
 */
export function isAddressOfHost(address: string, from: string | null): boolean {
  if (!from || !ipaddr.isValid(address) || !ipaddr.isValid(from)) return false;
  const [one, other] = [ipaddr.process(address), ipaddr.process(from)];
  return one.toNormalizedString() === other.toNormalizedString() || (isLocalAddress(one) && isLocalAddress(other));
}

function isLocalAddress(address: Address): boolean {
  if (address.range() === 'loopback') return true;
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return own.some(({ address: text }) => ipaddr.process(text).toNormalizedString() === address.toNormalizedString());
}

/**
 * Addresses with a special purpose (private, loopback, link-local, mapped, tunnelled, documentation) are not public.
 */
function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4' || address.match(globalUnicast as [ipaddr.IPv4 & ipaddr.IPv6, number]);
}

/**
 * Whether an address equals one of the entries or is in one of their ranges. An IPv4-mapped IPv6 address counts as the
 * IPv4 address.
 */
export function isWithinRanges(address: string, entries: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const plain = ipaddr.process(address);
  return entries.some((entry) => isInRange(plain, parseAddressRange(entry)));
}

/** Parses a CIDR, or an address as a range of one address. An IPv4-mapped IPv6 range becomes the IPv4 range. */
function parseAddressRange(entry: string): [Address, number] {
  const [base, bits]: [Address, number] = ipaddr.isValidCIDR(entry)
    ? ipaddr.parseCIDR(entry)
    : [ipaddr.parse(entry), entry.includes(':') ? 128 : 32];
  const isMapped = base instanceof ipaddr.IPv6 && base.isIPv4MappedAddress() && bits >= 96;
  return isMapped ? [base.toIPv4Address(), bits - 96] : [base, bits];
}

function isInRange(address: Address, [base, bits]: [Address, number]): boolean {
  return address.kind() === base.kind() && address.match(base as ipaddr.IPv4 & ipaddr.IPv6, bits);
}

function normalizeHost(host: string): string {
  return host.toLowerCase().replace(/\.$/, '');
}
